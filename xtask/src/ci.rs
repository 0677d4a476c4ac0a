//! The whole of CI as one list of steps, quick ones first, with a summary at the end.
//! What a step does is in its own file; this one only decides the order and when to stop.

use anyhow::{Result, anyhow};

use crate::step::{Outcome, Step};
use crate::{api, cargo, coverage, crash, deny, docs, layering, readme, shuttle, tools};

const STEPS: [Step; 14] = [
    Step::new("tools", tools::ready),
    Step::new("fmt", cargo::fmt),
    Step::new("clippy", cargo::clippy),
    Step::new("features", cargo::features),
    Step::new("doc", docs::doc),
    Step::new("test", cargo::test),
    Step::new("crash", crash::quick),
    Step::new("api", api::quick),
    Step::new("doctest", docs::doctest),
    Step::new("shuttle", shuttle::run),
    Step::new("layering", layering::run),
    Step::new("deny", deny::run),
    Step::new("coverage", coverage::run),
    Step::new("readme", readme::run),
];

/// Runs the steps in order; with `keep_going` also those after a failure.
pub(crate) fn run(keep_going: bool) -> Result<()> {
    let outcomes = run_all(&STEPS, keep_going);
    summary(&outcomes);
    verdict(outcomes)
}

fn run_all(steps: &[Step], keep_going: bool) -> Vec<Outcome> {
    let mut outcomes = Vec::new();
    for step in steps {
        outcomes.push(step.run());
        let Some(Outcome { result: Err(error), .. }) = outcomes.last() else { continue };
        eprintln!("    {error:#}");
        if !keep_going {
            break;
        }
    }
    outcomes
}

fn summary(outcomes: &[Outcome]) {
    eprintln!("\nstep       end     seconds");
    outcomes.iter().for_each(|outcome| eprintln!("{}", outcome.line()));
    for step in &STEPS[outcomes.len()..] {
        eprintln!("{:<10} not run", step.name);
    }
    eprintln!();
}

/// The first failure, with the way to run that step again.
fn verdict(outcomes: Vec<Outcome>) -> Result<()> {
    let failed: Vec<_> = outcomes.into_iter().filter(|outcome| outcome.result.is_err()).collect();
    let names: Vec<_> = failed.iter().map(|outcome| outcome.name).collect();
    let again: Vec<_> = names.iter().map(|name| format!("`cargo xtask {name}`")).collect();
    let message = format!("{} failed; again: {}", names.join(", "), again.join(", "));
    match failed.into_iter().next() {
        None => Ok(()),
        Some(first) => Err(first.result.err().map_or_else(|| anyhow!("unknown"), |e| e.context(message))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::bail;

    const TOY: [Step; 3] = [
        Step::new("one", || Ok(String::new())),
        Step::new("two", || bail!("broken")),
        Step::new("three", || Ok(String::new())),
    ];

    #[test]
    fn the_first_failure_stops_the_run() {
        assert_eq!(run_all(&TOY, false).len(), 2);
    }

    #[test]
    fn keep_going_runs_every_step_and_still_fails() {
        let outcomes = run_all(&TOY, true);
        assert_eq!(outcomes.len(), 3);
        let error = verdict(outcomes).unwrap_err();
        assert_eq!(format!("{error:#}"), "two failed; again: `cargo xtask two`: broken");
    }

    #[test]
    fn step_names_are_unique() {
        let mut names: Vec<_> = STEPS.iter().map(|step| step.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), STEPS.len());
    }
}
