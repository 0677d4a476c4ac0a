//! `cargo xtask crash`: the crash proof. Drivers die at every point and in the midst of writes, syncs fail, power is lost;
//! the package steadfast-crash does it and prints the summary. This file only builds and starts it.

use std::path::Path;

use anyhow::Result;

use crate::command::Cmd;
use crate::metadata::Metadata;
use crate::step::Note;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A slice that takes at most a minute; this is what CI runs
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    // The campaign starts the driver that lies beside it.
    build(&Metadata::read()?.tested_features()).run()?;
    campaign(&crate::metadata::target_folder()?, args.quick).run()
}

/// The step of CI.
pub(crate) fn quick() -> Result<Note> {
    run(&Args { quick: true })?;
    Ok("a slice; all of it: `cargo xtask crash`".to_owned())
}

/// Both binaries, which cargo builds with the package's tests: as `cargo xtask test` has them built, so that CI builds them once.
fn build(features: &str) -> Cmd {
    Cmd::cargo("test --no-run --workspace --locked --test crash --features").arg(features)
}

fn campaign(target: &Path, quick: bool) -> Cmd {
    let run = Cmd::program(target.join("debug/steadfast-crash").display().to_string());
    if quick { run.arg("--quick") } else { run }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_slice_is_asked_for() {
        let target = Path::new("built");
        assert_eq!(campaign(target, true).to_string(), "built/debug/steadfast-crash --quick");
        assert_eq!(campaign(target, false).to_string(), "built/debug/steadfast-crash");
    }
}
