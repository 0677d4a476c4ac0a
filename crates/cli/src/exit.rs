//! How the program ends: the numbers that scripts go by, and what is said when something went wrong.

use std::fmt;
use std::io;
use std::process::ExitCode;
use std::time::Duration;

use serde_json::json;
use steadfast_client::wire::problem::Wrong;
use steadfast_client::wire::state::TaskState;
use steadfast_client::{Error, Kind};

use crate::talk;

/// The command line makes no sense; clap uses the same.
pub(crate) const BAD_LINE: u8 = 2;
/// The task was undone.
pub(crate) const UNDONE: u8 = 3;
/// The task has failed.
pub(crate) const FAILED: u8 = 4;
/// The task has not ended in time.
pub(crate) const NOT_IN_TIME: u8 = 5;
/// The server cannot be reached, or does not answer.
pub(crate) const UNREACHABLE: u8 = 6;
/// What shells expect of a program that Ctrl-C ended.
pub(crate) const INTERRUPTED: u8 = 130;

/// What a task's end means for a script.
pub(crate) fn of(state: TaskState) -> ExitCode {
    match state {
        TaskState::Completed => ExitCode::SUCCESS,
        TaskState::Undone => ExitCode::from(UNDONE),
        TaskState::Failed => ExitCode::from(FAILED),
        _ => ExitCode::from(NOT_IN_TIME),
    }
}

/// A command line that clap takes and that still makes no sense.
#[derive(Debug)]
pub(crate) struct BadLine(pub(crate) String);

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadLine {}

/// The server took longer than `--timeout` allows.
#[derive(Debug)]
pub(crate) struct Unanswered {
    pub(crate) server: String,
    pub(crate) after: Duration,
}

impl fmt::Display for Unanswered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the server at {} has not answered within {:?}", self.server, self.after)
    }
}

impl std::error::Error for Unanswered {}

/// An error as it is told.
#[derive(Debug)]
struct Told<'a> {
    words: String,
    code: Option<&'a str>,
    places: &'a [Wrong],
    hint: Option<String>,
    page: Option<&'a str>,
    transient: bool,
    exit: u8,
}

/// Says what went wrong, on stderr, and gives the exit code.
pub(crate) fn tell(error: &anyhow::Error, json: bool) -> ExitCode {
    if error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe) {
        // Whoever read the output has seen enough, as `head` does.
        return ExitCode::SUCCESS;
    }
    let told = Told::of(error);
    talk::line(&if json { told.json() } else { told.text() });
    ExitCode::from(told.exit)
}

impl<'a> Told<'a> {
    fn of(error: &'a anyhow::Error) -> Self {
        let words = format!("{error:#}");
        let plain =
            Self { words, code: None, places: &[], hint: None, page: None, transient: false, exit: 1 };
        if error.is::<BadLine>() {
            return Self {
                hint: Some("`--help` shows what can be said".to_owned()),
                exit: BAD_LINE,
                ..plain
            };
        }
        if error.is::<Unanswered>() {
            let hint = "give it longer with `--timeout`, or look whether it is well: is its disk full?";
            return Self { hint: Some(hint.to_owned()), transient: true, exit: UNREACHABLE, ..plain };
        }
        match error.downcast_ref::<Error>() {
            Some(error) => Self::of_server(error),
            None => plain,
        }
    }

    fn of_server(error: &'a Error) -> Self {
        let silent = matches!(error.kind(), Kind::Unreachable | Kind::TimedOut);
        let problem = error.problem();
        let words = match problem {
            Some(problem) if problem.detail.is_empty() => problem.title.clone(),
            Some(problem) => problem.detail.clone(),
            // The client asks the same as the hint.
            None => error.to_string().replace("; is it running, and is this its address?", ""),
        };
        Self {
            words,
            code: error.code(),
            places: problem.map_or(&[], |problem| &problem.errors),
            hint: hint(error, silent),
            page: problem.map(|problem| problem.page.as_str()).filter(|page| !page.is_empty()),
            transient: error.is_transient(),
            exit: if silent { UNREACHABLE } else { 1 },
        }
    }

    fn text(&self) -> String {
        let mut text = format!("error: {}", self.words);
        if let Some(code) = self.code {
            text.push_str(&format!(" [{code}]"));
        }
        for Wrong { place, message } in self.places {
            text.push_str(&format!("\n  {place}: {message}"));
        }
        for (name, words) in [("hint", self.hint.as_deref()), ("page", self.page)] {
            if let Some(words) = words {
                text.push_str(&format!("\n  {name}: {words}"));
            }
        }
        text
    }

    fn json(&self) -> String {
        let told = json!({
            "message": self.words, "code": self.code, "errors": self.places, "hint": self.hint,
            "page": self.page, "transient": self.transient, "exit": self.exit,
        });
        json!({ "error": told }).to_string()
    }
}

/// What to do next, beside what the server says.
fn hint(error: &Error, silent: bool) -> Option<String> {
    if silent {
        let hint =
            "is it running? `steadfast serve` starts it; `--server URL` or STEADFAST_SERVER say where it is";
        return Some(hint.to_owned());
    }
    if !error.is_transient() {
        return None;
    }
    let after = error.retry_after().filter(|after| !after.is_zero());
    Some(after.map_or_else(
        || "it passes by itself: try again".to_owned(),
        |after| format!("it passes by itself: try again in {after:?}"),
    ))
}

#[cfg(test)]
mod tests {
    use steadfast_client::wire::problem::Problem;

    use super::*;

    fn told(error: impl Into<anyhow::Error>) -> (String, u8) {
        let error = error.into();
        let told = Told::of(&error);
        (told.text(), told.exit)
    }

    #[test]
    fn a_problem_is_told_with_code_places_and_page() {
        let problem = Problem::new(422, "SF540", "The body makes no sense", "the body makes no sense")
            .at("body.priority", "expected a number from -128 to 127");
        let (text, exit) = told(Error::from(problem));
        let page = "https://github.com/steadfast-rs/steadfast/blob/main/docs/errors/SF540.md";
        assert_eq!(
            text,
            format!(
                "error: the body makes no sense [SF540]\n  body.priority: expected a number from -128 to 127\n  page: {page}"
            )
        );
        assert_eq!(exit, 1);
    }

    #[test]
    fn what_passes_is_said_to_pass_and_when() {
        let busy = Problem::new(429, "SF546", "Too many requests", "the server is busy");
        let (text, _) = told(Error::from(busy.transient(Duration::from_secs(2))));
        assert!(text.contains("hint: it passes by itself: try again in 2s"), "{text}");
    }

    #[test]
    fn a_bad_line_has_the_exit_code_of_clap() {
        let (text, exit) = told(BadLine("say which".to_owned()));
        assert_eq!((text.as_str(), exit), ("error: say which\n  hint: `--help` shows what can be said", 2));
    }
}
