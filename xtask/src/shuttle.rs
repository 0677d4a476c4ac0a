//! Runs the `shuttle_` tests with the breaker's atomics swapped for shuttle's (`--cfg shuttle`).
//! Finding no such test is a failure: a renamed test must not leave the step green and empty.

use anyhow::{Result, ensure};

use crate::command::Cmd;
use crate::step::Note;

/// Unoptimised: building takes longer than exploring.
const TESTS: &str =
    "test --profile dev --locked -p steadfast-resilience --lib --features test-util shuttle_ --";

pub(crate) fn run() -> Result<Note> {
    let count = count_tests(&command().arg("--list").stdout()?);
    ensure!(count > 0, "no test is named shuttle_*, so nothing was explored: {}", command());
    command().run()?;
    Ok(format!("{count} tests"))
}

/// Its own target folder: the cfg would otherwise throw away what the other steps have built.
fn command() -> Cmd {
    Cmd::cargo(TESTS).env("RUSTFLAGS", "--cfg shuttle").env("CARGO_TARGET_DIR", "target/shuttle")
}

/// The harness lists each test as `path::name: test`.
fn count_tests(list: &str) -> usize {
    list.lines().filter(|line| line.ends_with(": test")).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_test_lines_are_counted() {
        assert_eq!(count_tests("a::shuttle_x: test\nb::shuttle_y: test\n\n2 tests, 0 benchmarks\n"), 2);
        assert_eq!(count_tests("0 tests, 0 benchmarks\n"), 0);
    }
}
