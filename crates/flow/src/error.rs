//! What is wrong with a workflow file.

use std::fmt;

use steadfast_form::{Kind, MAX_COMPLAINTS, Place};

use crate::code::Code;

/// One thing that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Complaint {
    /// Where.
    pub at: Place,
    /// The key, with the tables around it: `steps.charge.request.path`. Empty when the file as a whole is meant.
    pub key: String,
    /// Which sort of problem.
    pub code: Code,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Complaint {
    pub(crate) fn new(at: Place, key: impl Into<String>, code: Code, message: impl Into<String>) -> Self {
        Self { at, key: key.into(), code, message: message.into() }
    }

    pub(crate) fn of_form(complaint: steadfast_form::Complaint) -> Self {
        let code = match complaint.kind {
            Kind::UnknownKey => Code::UnknownKey,
            Kind::Empty | Kind::Missing => Code::Missing,
            Kind::Contradiction => Code::Contradiction,
            _ => Code::WrongValue,
        };
        Self { at: complaint.at, key: complaint.key, code, message: complaint.message }
    }

    /// Whether it may follow from something else that does not fit.
    pub(crate) fn is_of_shape(&self) -> bool {
        matches!(self.code, Code::Missing | Code::WrongValue | Code::Contradiction | Code::BadWorkflow)
    }

    /// Whether it is about a place in the file, and not about the file as a whole.
    #[must_use]
    pub fn is_about_a_place(&self) -> bool {
        !matches!(self.code, Code::Unreadable | Code::BadInput)
    }
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// A workflow file that cannot be used: everything that is wrong with it, not only the first. It prints one line for each:
/// `file:line:column: key: message (code)`.
#[derive(Debug)]
pub struct Error {
    file: String,
    complaints: Vec<Complaint>,
    source: Option<std::io::Error>,
}

impl Error {
    /// In the order of the file, each once.
    pub(crate) fn new(file: &str, mut complaints: Vec<Complaint>) -> Self {
        complaints.sort_by(|one, other| (one.at, &one.key).cmp(&(other.at, &other.key)));
        complaints.dedup();
        complaints.truncate(MAX_COMPLAINTS);
        Self { file: file.to_owned(), complaints, source: None }
    }

    pub(crate) fn unreadable(file: &str, message: impl Into<String>, source: Option<std::io::Error>) -> Self {
        let complaint = Complaint::new(Place::START, "", Code::Unreadable, message);
        Self { file: file.to_owned(), complaints: vec![complaint], source }
    }

    /// The file's name.
    #[must_use]
    pub fn file(&self) -> &str {
        &self.file
    }

    /// Everything that is wrong, in the order of the file.
    #[must_use]
    pub fn complaints(&self) -> &[Complaint] {
        &self.complaints
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, complaint) in self.complaints.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            match complaint.is_about_a_place() {
                true => write!(f, "{}:{}: {complaint}", self.file, complaint.at)?,
                false => write!(f, "{}: {complaint}", self.file)?,
            }
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.source.as_ref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}
