//! What is wrong with settings: errors that refuse a build, and warnings for what can never take effect.
//!
//! Every finding has a [`Code`] with a page in `docs/errors`, names the setting, and says what to do.

use std::fmt;

/// Identifies one sort of problem; `docs/errors/CODE.md` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// SF101: a ratio or factor that is not a number, or outside of its range.
    BadNumber,
    /// SF102: a duration or count outside of its range.
    OutOfRange,
    /// SF103: two settings that contradict each other.
    Contradiction,
    /// SF104: retries without an end.
    Endless,
    /// SF105: more than one retry without a wait.
    RepeatedImmediate,
    /// SF106: something that must not be empty.
    Empty,
    /// SF107: something that is needed is missing.
    Missing,
    /// SF111: a file that cannot be read.
    Unreadable,
    /// SF112: a text that is not TOML, YAML or JSON.
    Syntax,
    /// SF113: a key that does not exist.
    UnknownKey,
    /// SF114: a value of the wrong type or outside of its range.
    WrongValue,
    /// SF115: a name that stands for nothing.
    UnknownName,
    /// SF116: names that lead back to where they began.
    Circle,
    /// SF201: a setting that can never take effect.
    NoEffect,
    /// SF202: retries that multiply with those of another layer.
    Multiplied,
    /// SF203: a member of a retried group that is not idempotent.
    NotIdempotent,
    /// SF204: a breaker that may never trip.
    NeverTrips,
    /// SF301: refused by a circuit breaker; the operation was not attempted.
    Refused,
    /// SF302: the operation failed and is not tried again.
    Failed,
    /// SF303: the last attempt took longer than it may.
    TimedOut,
    /// SF304: the caller cancelled.
    Cancelled,
    /// SF305: refused by a limit on calls; the operation was not attempted.
    Limited,
}

impl Code {
    /// All codes, for the check that each has a page.
    pub const ALL: [Self; 22] = [
        Self::BadNumber,
        Self::OutOfRange,
        Self::Contradiction,
        Self::Endless,
        Self::RepeatedImmediate,
        Self::Empty,
        Self::Missing,
        Self::Unreadable,
        Self::Syntax,
        Self::UnknownKey,
        Self::WrongValue,
        Self::UnknownName,
        Self::Circle,
        Self::NoEffect,
        Self::Multiplied,
        Self::NotIdempotent,
        Self::NeverTrips,
        Self::Refused,
        Self::Failed,
        Self::TimedOut,
        Self::Cancelled,
        Self::Limited,
    ];

    /// The code as it is printed and filed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadNumber => "SF101",
            Self::OutOfRange => "SF102",
            Self::Contradiction => "SF103",
            Self::Endless => "SF104",
            Self::RepeatedImmediate => "SF105",
            Self::Empty => "SF106",
            Self::Missing => "SF107",
            Self::Unreadable => "SF111",
            Self::Syntax => "SF112",
            Self::UnknownKey => "SF113",
            Self::WrongValue => "SF114",
            Self::UnknownName => "SF115",
            Self::Circle => "SF116",
            Self::NoEffect => "SF201",
            Self::Multiplied => "SF202",
            Self::NotIdempotent => "SF203",
            Self::NeverTrips => "SF204",
            Self::Refused => "SF301",
            Self::Failed => "SF302",
            Self::TimedOut => "SF303",
            Self::Cancelled => "SF304",
            Self::Limited => "SF305",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One finding about one setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Which sort of problem.
    pub code: Code,
    /// The setting, such as `retry.max_backoff`.
    pub setting: &'static str,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} ({})", self.setting, self.message, self.code)
    }
}

/// Settings that make no sense. It lists every problem, not only the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuildError {
    name: String,
    problems: Vec<Problem>,
}

impl BuildError {
    /// What was to be built.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Every problem found.
    #[must_use]
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

impl fmt::Display for BuildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}` cannot be built:", self.name)?;
        if let [problem] = &*self.problems {
            return write!(f, " {problem}");
        }
        self.problems.iter().try_for_each(|problem| write!(f, "\n  - {problem}"))
    }
}

impl std::error::Error for BuildError {}

/// Collects findings while settings are checked.
#[derive(Debug, Default)]
pub(crate) struct Findings {
    errors: Vec<Problem>,
    warnings: Vec<Problem>,
}

impl Findings {
    pub(crate) fn error(&mut self, code: Code, setting: &'static str, message: impl Into<String>) {
        self.errors.push(Problem { code, setting, message: message.into() });
    }

    pub(crate) fn warn(&mut self, code: Code, setting: &'static str, message: impl Into<String>) {
        self.warnings.push(Problem { code, setting, message: message.into() });
    }

    /// Adds an error unless `share` is a number from above 0 to 1.
    pub(crate) fn check_share(&mut self, setting: &'static str, share: f64) {
        if !(share > 0.0 && share <= 1.0) {
            self.error(
                Code::BadNumber,
                setting,
                format!("{share} is not a share: give a number above 0 and up to 1"),
            );
        }
    }

    /// Adds an error for a name that shows nothing.
    pub(crate) fn check_name(&mut self, setting: &'static str, name: &str, purpose: &str) {
        if name.trim().is_empty() {
            self.error(Code::Empty, setting, format!("give it a name: {purpose}"));
        }
    }

    /// The warnings, or every error.
    pub(crate) fn finish(self, name: &str) -> Result<Vec<Problem>, BuildError> {
        if self.errors.is_empty() {
            Ok(self.warnings)
        } else {
            Err(BuildError { name: name.to_owned(), problems: self.errors })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_is_listed_once_and_has_a_page() {
        let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        for code in Code::ALL {
            assert_eq!(Code::ALL.iter().filter(|other| other.as_str() == code.as_str()).count(), 1, "{code}");
            let page = pages.join(format!("{code}.md"));
            let text = std::fs::read_to_string(&page).unwrap_or_else(|e| panic!("{}: {e}", page.display()));
            assert!(text.starts_with(&format!("# {code}")), "{code}: the page opens with its code");
        }
    }

    #[test]
    fn a_build_error_tells_every_problem() {
        let mut findings = Findings::default();
        findings.check_share("breaker.ratio", f64::NAN);
        findings.check_share("breaker.slow_ratio", 1.5);
        findings.check_share("breaker.fine", 1.0);
        let error = findings.finish("payments").unwrap_err();
        assert_eq!(error.problems().len(), 2);
        assert_eq!(error.name(), "payments");
        let text = error.to_string();
        assert!(
            text.starts_with("`payments` cannot be built:\n  - breaker.ratio: NaN")
                && text.contains("\n  - breaker.slow_ratio"),
            "{text}"
        );
        assert!(text.contains("SF101"), "{text}");
    }
}
