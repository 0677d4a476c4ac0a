//! `cargo xtask mutants`: cargo-mutants changes retry, breaker and the engine's rules bit by bit; the tests must notice.
//! Fails under the share asked for, and for any survivor that docs/mutants.md does not accept with a reason.
//!
//! Two rounds: the quick tests find nearly all; what gets away meets those too that take a second and more.

mod accepted;
mod outcome;

use std::fs;

use anyhow::{Context, Result, bail, ensure};

use crate::command::{Cmd, Failed};
use crate::tools::{self, Tool};
use accepted::Accepted;
use outcome::{Count, Outcomes};

const PAGE: &str = "docs/mutants.md";
const OUTPUT: &str = "target/mutants";
/// Tests that take long without optimisation and say nothing about retry, breaker and the engine's rules.
const SKIPPED: [&str; 6] = [
    "policy::tests::bad",
    "policy::tests::corpus",
    "simulate::",
    "limit::",
    "key::tests::keys_are_unique",
    "schedule::",
];
/// Tests that take long and say much: only those mutants meet them that the quick tests miss.
const THOROUGH: [&str; 8] = [
    "decide::tests::actions::every_action_in_every_state",
    "decide::tests::operate::whatever_an_operator_repairs",
    "decide::tests::random::any_event_in_any_state",
    "decide::tests::random::a_thousand_random_workflows",
    "tests::thread::half_open_never_exceeds",
    "tests::thread::a_closed_breaker_loses_no_count",
    "tests::thread::threads_that_fail_together",
    "tests::explorer::every_reachable_state",
];
/// Per cent of the viable mutants that the tests must catch.
const REACH: usize = 90;
/// Exit codes of cargo-mutants that come with outcomes to read: all caught, some missed, some timed out.
const WITH_OUTCOMES: [i32; 3] = [0, 2, 3];

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Only the retry
    #[arg(long)]
    retry: bool,
    /// Only the breaker
    #[arg(long)]
    breaker: bool,
    /// Only the engine's rules
    #[arg(long)]
    engine: bool,
    /// One part of the mutants, such as 0/4 for the first of four
    #[arg(long, value_name = "K/N")]
    shard: Option<String>,
    /// Passed on to cargo-mutants
    #[arg(last = true)]
    extra: Vec<String>,
}

pub(crate) fn run(args: &Args) -> Result<()> {
    tools::need(Tool::Mutants)?;
    let accepted =
        Accepted::parse(&fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?)?;
    fs::create_dir_all(OUTPUT).with_context(|| format!("cannot make {OUTPUT}"))?;
    let mut outcomes = outcomes_of(&command(args, Round::Quick))?;
    let got_away = outcomes.got_away();
    if got_away > 0 {
        let second = outcomes_of(&command(args, Round::Thorough))?;
        let tried = second.0.len();
        ensure!(tried == got_away, "the second round tried {tried} mutants, but {got_away} got away");
        outcomes.settle(second);
    }
    verdict(&outcomes, &accepted)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Round {
    /// Every mutant meets the quick tests.
    Quick,
    /// Those that got away meet all tests.
    Thorough,
}

impl Round {
    /// How many seconds the tests have: many times what they take, so that none is out of time because of other work.
    fn timeout(self) -> &'static str {
        match self {
            Self::Quick => "30",
            Self::Thorough => "300",
        }
    }
}

fn outcomes_of(command: &Cmd) -> Result<Outcomes> {
    let status = command.status()?;
    if !status.code().is_some_and(|code| WITH_OUTCOMES.contains(&code)) {
        return Err(Failed::new(command, status).into());
    }
    let path = format!("{OUTPUT}/mutants.out/outcomes.json");
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
    Outcomes::parse(&text).context("cargo-mutants has changed its form")
}

fn command(args: &Args, round: Round) -> Cmd {
    let all = !(args.retry || args.breaker || args.engine);
    // `--lib`: the tests beside the code find them in seconds; to build those of whole programs takes five times as long.
    let mut command = Cmd::cargo("mutants --all-features --profile mutants -C=--lib -j 2 -o").arg(OUTPUT);
    command = command.arg("--timeout").arg(round.timeout());
    if all || args.retry || args.breaker {
        command = command.args(&["-p", "steadfast-resilience"]);
        // What both hold their counts in.
        command = command.arg("-f").arg("crates/resilience/src/renewable.rs");
        // Tested over a real wire, which `--lib` does not run.
        command = command.arg("-e").arg("crates/resilience/src/breaker/health/http.rs");
    }
    if all || args.engine {
        command = command.args(&["-p", "steadfast-engine"]);
    }
    for (wanted, folder) in [
        (args.retry, "resilience/src/retry"),
        (args.breaker, "resilience/src/breaker"),
        (args.engine, "engine/src/decide"),
        (args.engine, "engine/src/task"),
    ] {
        if wanted || all {
            command = command.arg("-f").arg(format!("crates/{folder}/**"));
        }
    }
    if let Some(shard) = &args.shard {
        command = command.arg("--shard").arg(shard);
    }
    if round == Round::Thorough {
        command = command.args(&["--iterate", "--baseline", "skip"]);
    }
    let later = THOROUGH.iter().filter(|_| round == Round::Quick);
    let skipped = SKIPPED.iter().chain(later).flat_map(|tests| ["--skip", tests]);
    command.args(&args.extra).args(&["--", "--"]).args(&skipped.collect::<Vec<_>>())
}

fn verdict(outcomes: &Outcomes, accepted: &Accepted) -> Result<()> {
    let count = outcomes.count();
    println!(
        "caught {}, missed {}, timeout {}, unviable {}",
        count.caught, count.missed, count.timeout, count.unviable
    );
    println!("{}", share_line(&count));
    for name in accepted.stale(outcomes) {
        println!("{PAGE} lists a mutant that did not survive; remove its row: {name}");
    }
    let open = accepted.open(outcomes);
    open.iter().for_each(|name| println!("survivor without a reason: {name}"));
    ensure!(count.viable() > 0, "no mutant was tried: do the folders still exist?");
    if !open.is_empty() {
        bail!("{} survivors are not in {PAGE}: test them, or list each with its reason", open.len());
    }
    ensure!(reached(&count), "fewer than {REACH} % of the viable mutants were caught");
    Ok(())
}

/// A timeout counts as not caught: a hang tells less than a failing assertion.
fn reached(count: &Count) -> bool {
    count.caught * 100 >= REACH * count.viable()
}

fn share_line(count: &Count) -> String {
    let tenths = count.caught * 1000 / count.viable().max(1);
    format!("{}.{} % of {} viable mutants caught (reach {REACH} %)", tenths / 10, tenths % 10, count.viable())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(caught: usize, missed: usize, timeout: usize) -> Count {
        Count { caught, missed, timeout, unviable: 5 }
    }

    #[test]
    fn the_share_is_of_viable_mutants_and_a_timeout_is_not_caught() {
        assert_eq!(share_line(&count(899, 100, 1)), "89.9 % of 1000 viable mutants caught (reach 90 %)");
        assert!(!reached(&count(899, 100, 1)));
        assert!(reached(&count(9, 1, 0)));
        assert!(!reached(&count(9, 1, 1)));
    }

    fn args(breaker: bool, engine: bool) -> Args {
        Args { retry: false, breaker, engine, shard: Some("0/4".into()), extra: vec!["-j2".into()] }
    }

    #[test]
    fn one_part_can_be_chosen() {
        let line = command(&args(true, false), Round::Quick).to_string();
        assert!(
            line.contains("-f 'crates/resilience/src/breaker/**' --shard 0/4 -j2 -- -- --skip"),
            "{line}"
        );
        assert!(!line.contains("retry") && !line.contains("engine"), "{line}");
        let line = command(&args(false, true), Round::Quick).to_string();
        assert!(line.contains("-p steadfast-engine -f 'crates/engine/src/decide/**'"), "{line}");
        assert!(!line.contains("resilience"), "{line}");
    }

    #[test]
    fn all_parts_are_the_default() {
        let line = command(&args(false, false), Round::Quick).to_string();
        for part in ["src/retry/**", "src/breaker/**", "src/decide/**"] {
            assert!(line.contains(part), "{line}");
        }
    }

    #[test]
    fn what_gets_away_meets_all_tests() {
        let quick = command(&args(false, false), Round::Quick).to_string();
        let thorough = command(&args(false, false), Round::Thorough).to_string();
        assert!(quick.contains("--skip tests::explorer") && !quick.contains("--iterate"), "{quick}");
        assert!(!thorough.contains("tests::explorer") && thorough.contains("--iterate"), "{thorough}");
    }
}
