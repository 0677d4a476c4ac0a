//! What is wrong with services as they were set up, and the codes of everything that goes wrong here.

use std::fmt;

/// Identifies one sort of problem; `docs/errors/CODE.md` explains it. The message of a fault ends with it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// SF520: a service that cannot be called as it was set up.
    BadTarget,
    /// SF521: an `https://` address, in a program without TLS.
    NoTls,
    /// SF522: a service that nobody has set up.
    UnknownService,
    /// SF523: a secret that is not there, or may not go there.
    NoSecret,
    /// SF524: a header that a step may not send.
    BadHeader,
    /// SF525: a method or path that is none.
    BadRequest,
    /// SF526: a request that is too large.
    RequestTooLarge,
    /// SF527: an answer that is too large.
    AnswerTooLarge,
    /// SF528: an answer that cannot be read.
    Unreadable,
    /// SF529: a redirect.
    Redirected,
    /// SF530: a status that was not expected.
    UnexpectedStatus,
    /// SF531: the service answered with a failure.
    Failed,
    /// SF532: no answer came.
    NoAnswer,
    /// SF533: the answer broke off.
    BrokenOff,
}

impl Code {
    /// All codes, for the check that each has a page.
    pub const ALL: [Self; 14] = [
        Self::BadTarget,
        Self::NoTls,
        Self::UnknownService,
        Self::NoSecret,
        Self::BadHeader,
        Self::BadRequest,
        Self::RequestTooLarge,
        Self::AnswerTooLarge,
        Self::Unreadable,
        Self::Redirected,
        Self::UnexpectedStatus,
        Self::Failed,
        Self::NoAnswer,
        Self::BrokenOff,
    ];

    /// The code as it is printed and filed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadTarget => "SF520",
            Self::NoTls => "SF521",
            Self::UnknownService => "SF522",
            Self::NoSecret => "SF523",
            Self::BadHeader => "SF524",
            Self::BadRequest => "SF525",
            Self::RequestTooLarge => "SF526",
            Self::AnswerTooLarge => "SF527",
            Self::Unreadable => "SF528",
            Self::Redirected => "SF529",
            Self::UnexpectedStatus => "SF530",
            Self::Failed => "SF531",
            Self::NoAnswer => "SF532",
            Self::BrokenOff => "SF533",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing that is wrong with one service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which sort of problem.
    pub code: Code,
    /// The service.
    pub service: String,
    /// The setting, such as `base_url`.
    pub setting: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "service `{}`: {}: {} [{}]", self.service, self.setting, self.message, self.code)
    }
}

/// Services that cannot be called as they were set up. It lists every problem, not only the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    problems: Vec<Problem>,
}

impl Error {
    pub(crate) fn of(problems: Vec<Problem>) -> Self {
        Self { problems }
    }

    /// All that is wrong.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (nth, problem) in self.problems.iter().enumerate() {
            write!(f, "{}{problem}", if nth == 0 { "" } else { "\n" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Error {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_has_a_page_that_says_what_to_do() {
        let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        for code in Code::ALL {
            let page = std::fs::read_to_string(pages.join(format!("{code}.md")));
            let page = page.unwrap_or_else(|_| panic!("docs/errors/{code}.md is missing"));
            for part in [format!("# {code} "), "## Why it happens".into(), "## What to do".into()] {
                assert!(page.contains(&part), "{code}: no `{part}`");
            }
        }
    }
}
