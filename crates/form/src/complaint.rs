//! What is wrong in a file.

use std::fmt;

use crate::tree::Place;

/// The most complaints about one file: nobody reads more at once, and each costs time.
pub const MAX_COMPLAINTS: usize = 100;

/// One thing that does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Complaint {
    /// Where.
    pub at: Place,
    /// The key, with the tables around it: `service.payments.retry`. Empty when the file as a whole is meant.
    pub key: String,
    /// Which sort of problem.
    pub kind: Kind,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl Complaint {
    /// A complaint.
    #[must_use]
    pub fn new(at: Place, key: impl Into<String>, kind: Kind, message: impl Into<String>) -> Self {
        Self { at, key: key.into(), kind, message: message.into() }
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.at)?;
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        f.write_str(&self.message)
    }
}

/// Which sort of problem it is. Those who read files have codes for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// A key that does not exist.
    UnknownKey,
    /// A value of the wrong type or outside of its range.
    WrongValue,
    /// A name that is blank.
    Empty,
    /// A key that is needed is not there.
    Missing,
    /// Keys that exclude each other.
    Contradiction,
}
