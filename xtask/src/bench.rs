//! `cargo xtask bench NAME`: builds a benchmark as a release is built, with its peers, and runs it.
//! The names are the binaries of the package steadfast-bench; the exit code is the benchmark's own.

use anyhow::{Result, ensure};

use crate::command::Cmd;
use crate::metadata::Metadata;

const PACKAGE: &str = "steadfast-bench";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which one: a binary of the package steadfast-bench
    name: String,
    /// One line of JSON per figure instead of a table
    #[arg(long)]
    json: bool,
    /// Passed on to the benchmark
    #[arg(last = true)]
    extra: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    let metadata = Metadata::read()?;
    let names = &metadata.package(PACKAGE)?.bins;
    let known = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    ensure!(names.contains(&args.name), "no benchmark `{}`; there are: {known}", args.name);
    command(args).run()
}

fn command(args: &Args) -> Cmd {
    // What changes how the library is built is measured without peers, and the peers without it.
    let features = match &*args.name {
        "shapes" => "engine",
        alone @ ("engine" | "http" | "outage" | "telemetry" | "simulate") => alone,
        "house" => "engine",
        _ => "peers",
    };
    let run = Cmd::cargo("run --locked --profile bench --features").args(&[features, "-p", PACKAGE]);
    let json: &[&str] = if args.json { &["--json"] } else { &[] };
    run.args(&["--bin", &args.name, "--"]).args(json).args(&args.extra)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_follows_the_dashes_goes_to_the_benchmark() {
        let args = Args { name: "jitter".into(), json: true, extra: vec!["--rounds".into(), "3".into()] };
        assert_eq!(
            command(&args).to_string(),
            "cargo run --locked --profile bench --features peers -p steadfast-bench --bin jitter -- --json --rounds 3"
        );
    }
}
