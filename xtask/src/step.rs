//! One step of CI: its name, its work, the time it took and how it ended.
//! A step may leave a note, such as what could not be checked, that the summary repeats.

use std::time::{Duration, Instant};

use anyhow::Result;

/// What the summary says beside a step; may be empty.
pub(crate) type Note = String;

/// A named piece of work.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    work: fn() -> Result<Note>,
}

/// How a step ended.
pub(crate) struct Outcome {
    pub(crate) name: &'static str,
    pub(crate) took: Duration,
    pub(crate) result: Result<Note>,
}

impl Step {
    pub(crate) const fn new(name: &'static str, work: fn() -> Result<Note>) -> Self {
        Self { name, work }
    }

    /// Runs the step between a line that opens it and one that closes it.
    #[expect(
        clippy::disallowed_methods,
        reason = "xtask times real commands for people; no logic waits on it"
    )]
    pub(crate) fn run(&self) -> Outcome {
        eprintln!("\n==> {}", self.name);
        let start = Instant::now();
        let result = (self.work)();
        let outcome = Outcome { name: self.name, took: start.elapsed(), result };
        eprintln!("<== {}", outcome.line());
        outcome
    }

    /// Runs the step by itself.
    pub(crate) fn alone(&self) -> Result<()> {
        self.run().result.map(drop)
    }
}

impl Outcome {
    /// Name, outcome, seconds and note in one line.
    pub(crate) fn line(&self) -> String {
        let (word, note) = match &self.result {
            Ok(note) => ("ok", note.as_str()),
            Err(_) => ("FAILED", ""),
        };
        let line = format!("{:<10} {word:<6} {:>7.1} s  {note}", self.name, self.took.as_secs_f64());
        line.trim_end().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(result: Result<Note>) -> Outcome {
        Outcome { name: "deny", took: Duration::from_millis(1_240), result }
    }

    #[test]
    fn a_line_has_name_outcome_seconds_and_note() {
        assert_eq!(outcome(Ok(String::new())).line(), "deny       ok         1.2 s");
        assert_eq!(outcome(Ok("said".into())).line(), "deny       ok         1.2 s  said");
        assert_eq!(outcome(Err(anyhow::anyhow!("no"))).line(), "deny       FAILED     1.2 s");
    }
}
