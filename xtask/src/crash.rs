//! `cargo xtask crash`: the crash proof. Drivers die at every point and in the midst of writes, syncs fail, power is lost;
//! the package steadfast-crash does it and prints the summary. This file only builds and starts it.

use anyhow::Result;

use crate::command::Cmd;
use crate::step::Note;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// A slice that takes at most a minute; this is what CI runs
    #[arg(long)]
    quick: bool,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    // Both binaries: the campaign starts the driver that lies beside it.
    build().run()?;
    campaign(args.quick).run()
}

/// The step of CI.
pub(crate) fn quick() -> Result<Note> {
    run(&Args { quick: true })?;
    Ok("a slice; all of it: `cargo xtask crash`".to_owned())
}

fn build() -> Cmd {
    Cmd::cargo("build --locked --profile test -p steadfast-crash --bins --features failpoints")
}

fn campaign(quick: bool) -> Cmd {
    let run = Cmd::cargo(
        "run --quiet --locked --profile test -p steadfast-crash --bin steadfast-crash --features failpoints",
    );
    if quick { run.args(&["--", "--quick"]) } else { run }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_quick_slice_is_asked_for() {
        assert!(campaign(true).to_string().ends_with("--features failpoints -- --quick"));
        assert!(campaign(false).to_string().ends_with("--features failpoints"));
    }
}
