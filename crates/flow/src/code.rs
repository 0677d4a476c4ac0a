//! Codes of what is wrong with workflow files.

use std::fmt;

/// Identifies one sort of problem; `docs/errors/CODE.md` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// SF501: a file that cannot be read.
    Unreadable,
    /// SF502: a text that is not YAML or JSON.
    Syntax,
    /// SF503: a key that does not exist.
    UnknownKey,
    /// SF504: a value of the wrong type or outside of its range.
    WrongValue,
    /// SF505: a key that is needed is missing.
    Missing,
    /// SF506: keys that exclude each other, or belong to one that is not there.
    Contradiction,
    /// SF507: a step that does not exist, or does not come before.
    UnknownStep,
    /// SF508: an expression that makes no sense.
    BadExpression,
    /// SF509: an expression that is too large.
    LargeExpression,
    /// SF510: a request that cannot be sent as it stands.
    BadRequest,
    /// SF511: a service that nobody has named.
    UnknownService,
    /// SF512: a workflow that nobody knows.
    UnknownWorkflow,
    /// SF513: a retry policy that nobody has named.
    UnknownRetry,
    /// SF514: a workflow that makes no sense as a whole.
    BadWorkflow,
    /// SF515: an input schema that is none.
    BadSchema,
    /// SF516: an input that does not fit the workflow's schema.
    BadInput,
    /// SF517: an expression that failed while a task ran.
    FailedExpression,
    /// SF518: a secret that comes out of an expression.
    SecretMade,
}

impl Code {
    /// All codes, for the check that each has a page.
    pub const ALL: [Self; 18] = [
        Self::Unreadable,
        Self::Syntax,
        Self::UnknownKey,
        Self::WrongValue,
        Self::Missing,
        Self::Contradiction,
        Self::UnknownStep,
        Self::BadExpression,
        Self::LargeExpression,
        Self::BadRequest,
        Self::UnknownService,
        Self::UnknownWorkflow,
        Self::UnknownRetry,
        Self::BadWorkflow,
        Self::BadSchema,
        Self::BadInput,
        Self::FailedExpression,
        Self::SecretMade,
    ];

    /// The code as it is printed and filed.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Unreadable => "SF501",
            Self::Syntax => "SF502",
            Self::UnknownKey => "SF503",
            Self::WrongValue => "SF504",
            Self::Missing => "SF505",
            Self::Contradiction => "SF506",
            Self::UnknownStep => "SF507",
            Self::BadExpression => "SF508",
            Self::LargeExpression => "SF509",
            Self::BadRequest => "SF510",
            Self::UnknownService => "SF511",
            Self::UnknownWorkflow => "SF512",
            Self::UnknownRetry => "SF513",
            Self::BadWorkflow => "SF514",
            Self::BadSchema => "SF515",
            Self::BadInput => "SF516",
            Self::FailedExpression => "SF517",
            Self::SecretMade => "SF518",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
