//! What is wrong with a policy file.

use std::fmt;

pub(super) use steadfast_form::MAX_COMPLAINTS;
use steadfast_form::{Kind, Place};

use crate::problem::Code;

/// One thing that is wrong in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Complaint {
    /// Where.
    pub at: Place,
    /// The key, with the tables around it: `service.payments.retry`. Empty when the file as a whole is meant.
    pub key: String,
    /// Which sort of problem.
    pub code: Code,
    /// What is wrong, and what to do.
    pub message: String,
}

impl Complaint {
    /// Whether it is about a place in the file, and not about the file as a whole.
    #[must_use]
    pub fn is_about_a_place(&self) -> bool {
        !matches!(self.code, Code::Unreadable | Code::UnknownName) || !self.key.is_empty()
    }
}

/// What does not fit, with the codes that it has here.
pub(super) fn of_form(complaints: Vec<steadfast_form::Complaint>) -> Vec<Complaint> {
    let of_one = |complaint: steadfast_form::Complaint| {
        let code = match complaint.kind {
            Kind::UnknownKey => Code::UnknownKey,
            Kind::Empty => Code::Empty,
            Kind::Missing => Code::Missing,
            Kind::Contradiction => Code::Contradiction,
            _ => Code::WrongValue,
        };
        Complaint { at: complaint.at, key: complaint.key, code, message: complaint.message }
    };
    complaints.into_iter().map(of_one).collect()
}

impl fmt::Display for Complaint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.key.is_empty() {
            write!(f, "{}: ", self.key)?;
        }
        write!(f, "{} ({})", self.message, self.code)
    }
}

/// A policy file that cannot be used: everything that is wrong with it, not only the first.
#[derive(Debug)]
pub struct Error {
    file: String,
    complaints: Vec<Complaint>,
    source: Option<std::io::Error>,
}

impl Error {
    pub(super) fn new(file: &str, complaints: Vec<Complaint>) -> Self {
        Self { file: file.to_owned(), complaints, source: None }
    }

    /// The file cannot be read at all.
    pub(super) fn unreadable(file: &str, message: String, source: Option<std::io::Error>) -> Self {
        let complaint = Complaint { at: Place::START, key: String::new(), code: Code::Unreadable, message };
        Self { file: file.to_owned(), complaints: vec![complaint], source }
    }

    /// The file has nothing of this name.
    pub(super) fn unknown_name(file: &str, message: String) -> Self {
        let complaint = Complaint { at: Place::START, key: String::new(), code: Code::UnknownName, message };
        Self { file: file.to_owned(), complaints: vec![complaint], source: None }
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
