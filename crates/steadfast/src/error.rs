//! What can go wrong, each with a page that says what to do.

use std::fmt;
use std::time::Duration;

use steadfast_runtime::ErrorKind;
use steadfast_store::{Kind, TaskId};

/// Something that could not be done. It says what to do next, and has a code with a page in `docs/errors`.
pub struct Error {
    code: Code,
    message: String,
    transient: bool,
    again_in: Option<Duration>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

/// Identifies one sort of error; `docs/errors/CODE.md` explains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Code {
    /// SF401: a workflow that makes no sense.
    BadWorkflow,
    /// SF402: an address of a store that nobody understands.
    BadAddress,
    /// SF403: an input or output that does not fit its type.
    BadPayload,
    /// SF404: an input, an output, a key or a message that is too large.
    TooLarge,
    /// SF405: too many tasks are open.
    TooManyOpen,
    /// SF406: a key that was used for another input.
    KeyReused,
    /// SF407: a workflow that this program does not know.
    UnknownWorkflow,
    /// SF408: a task that does not exist.
    UnknownTask,
    /// SF409: a task that has ended, has passed its point of no return, or waits for a signal no more.
    TooLate,
    /// SF410: the engine is shutting down.
    ShuttingDown,
    /// SF411: a key that is empty.
    EmptyKey,
    /// SF412: settings that make no sense.
    BadSettings,
    /// SF413: a signal that no step of the workflow waits for.
    UnknownSignal,
    /// SF414: something that an operator asked for was refused.
    Refused,
    /// SF415: something that an operator asked for is stored, and nobody has acted on it yet.
    NotActedOn,
    /// SF416: a bulk that does not exist.
    UnknownBulk,
    /// SF417: a URL for callbacks that no service was given.
    UnknownCallback,
    /// SF418: a URL for callbacks at which another answer was taken.
    CallbackUsed,
    /// SF419: an answer by callback that comes too late.
    CallbackOver,
    /// SF420: an answer by callback that comes between two attempts.
    CallbackEarly,
    /// SF421: the store does not answer.
    StoreUnavailable,
    /// SF422: the disk is full.
    StoreFull,
    /// SF423: the store cannot be written.
    StoreReadOnly,
    /// SF424: the store is damaged.
    StoreCorrupt,
    /// SF425: the store was made by a newer version.
    StoreNewer,
    /// SF426: another process, or another engine in this one, has the store open.
    StoreOwned,
    /// SF431: a schedule that makes no sense.
    BadSchedule,
    /// SF432: a name that stands for no time zone.
    UnknownTimeZone,
    /// SF433: a schedule that does not exist.
    UnknownSchedule,
    /// SF450: a connection that a submission cannot be handed in by.
    UnfitConnection,
    /// SF451: too many replies wait for those who would be told.
    QueueFull,
    /// SF452: an address that nobody can reply to.
    BadReplyAddress,
    /// SF441: a file of the backup's name is there already.
    BackupExists,
    /// SF442: the store cannot do such a thing.
    Unsupported,
    /// SF443: a file that is no export of tasks.
    BadImport,
    /// SF444: an export could not be written, or an import could not be read.
    TransferFailed,
}

impl Code {
    /// All codes, for the check that each has a page.
    pub const ALL: [Self; 36] = [
        Self::BadWorkflow,
        Self::BadAddress,
        Self::BadPayload,
        Self::TooLarge,
        Self::TooManyOpen,
        Self::KeyReused,
        Self::UnknownWorkflow,
        Self::UnknownTask,
        Self::TooLate,
        Self::ShuttingDown,
        Self::EmptyKey,
        Self::BadSettings,
        Self::UnknownSignal,
        Self::Refused,
        Self::NotActedOn,
        Self::UnknownBulk,
        Self::UnknownCallback,
        Self::CallbackUsed,
        Self::CallbackOver,
        Self::CallbackEarly,
        Self::StoreUnavailable,
        Self::StoreFull,
        Self::StoreReadOnly,
        Self::StoreCorrupt,
        Self::StoreNewer,
        Self::StoreOwned,
        Self::BadSchedule,
        Self::UnknownTimeZone,
        Self::UnknownSchedule,
        Self::UnfitConnection,
        Self::QueueFull,
        Self::BadReplyAddress,
        Self::BackupExists,
        Self::Unsupported,
        Self::BadImport,
        Self::TransferFailed,
    ];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadWorkflow => "SF401",
            Self::BadAddress => "SF402",
            Self::BadPayload => "SF403",
            Self::TooLarge => "SF404",
            Self::TooManyOpen => "SF405",
            Self::KeyReused => "SF406",
            Self::UnknownWorkflow => "SF407",
            Self::UnknownTask => "SF408",
            Self::TooLate => "SF409",
            Self::ShuttingDown => "SF410",
            Self::EmptyKey => "SF411",
            Self::BadSettings => "SF412",
            Self::UnknownSignal => "SF413",
            Self::Refused => "SF414",
            Self::NotActedOn => "SF415",
            Self::UnknownBulk => "SF416",
            Self::UnknownCallback => "SF417",
            Self::CallbackUsed => "SF418",
            Self::CallbackOver => "SF419",
            Self::CallbackEarly => "SF420",
            Self::StoreUnavailable => "SF421",
            Self::StoreFull => "SF422",
            Self::StoreReadOnly => "SF423",
            Self::StoreCorrupt => "SF424",
            Self::StoreNewer => "SF425",
            Self::StoreOwned => "SF426",
            Self::BadSchedule => "SF431",
            Self::UnknownTimeZone => "SF432",
            Self::UnknownSchedule => "SF433",
            Self::UnfitConnection => "SF450",
            Self::QueueFull => "SF451",
            Self::BadReplyAddress => "SF452",
            Self::BackupExists => "SF441",
            Self::Unsupported => "SF442",
            Self::BadImport => "SF443",
            Self::TransferFailed => "SF444",
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl Error {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), transient: false, again_in: None, source: None }
    }

    pub(crate) fn because(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    pub(crate) fn workflow(message: String) -> Self {
        Self::new(Code::BadWorkflow, message)
    }

    /// Which sort of error.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// Whether the same may work later without anybody doing anything.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        self.transient
    }

    /// After how long it may, where that is known.
    #[must_use]
    pub fn try_again_in(&self) -> Option<Duration> {
        self.again_in
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)
    }
}

/// Where the pages of the codes are.
const PAGES: &str = "https://github.com/steadfast-rs/steadfast/blob/main/docs/errors";

/// For people: it is what a `main` prints that returns the error.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}\n  what to do: {PAGES}/{}.md", self.code)?;
        let mut told = self.message.clone();
        let mut next = std::error::Error::source(self);
        while let Some(source) = next {
            let words = source.to_string();
            if !told.contains(&words) {
                write!(f, "\n  because: {words}")?;
                told = words;
            }
            next = source.source();
        }
        Ok(())
    }
}

impl std::error::Error for Error {
    /// What caused it, and is not in its own words already.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let mut next = self.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static));
        while let Some(source) = next.filter(|source| self.message.contains(&source.to_string())) {
            next = source.source();
        }
        next
    }
}

impl From<steadfast_store::Error> for Error {
    fn from(error: steadfast_store::Error) -> Self {
        let mut told = Self::new(code_of(error.kind()), error.to_string());
        told.transient = error.is_transient();
        told.because(error)
    }
}

fn code_of(kind: Kind) -> Code {
    match kind {
        Kind::Full => Code::StoreFull,
        Kind::ReadOnly => Code::StoreReadOnly,
        Kind::Corrupt => Code::StoreCorrupt,
        Kind::Newer => Code::StoreNewer,
        Kind::Owned => Code::StoreOwned,
        Kind::TooLarge => Code::TooLarge,
        Kind::Unfit => Code::UnfitConnection,
        Kind::Exists => Code::BackupExists,
        Kind::Unsupported => Code::Unsupported,
        _ => Code::StoreUnavailable,
    }
}

impl From<steadfast_runtime::Error> for Error {
    fn from(error: steadfast_runtime::Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Store { kind, .. } => code_of(*kind),
            ErrorKind::UnknownWorkflow { .. } => Code::UnknownWorkflow,
            ErrorKind::UnknownTask(_) | ErrorKind::NotHandedIn(_) => Code::UnknownTask,
            ErrorKind::OtherInput(_) => Code::KeyReused,
            ErrorKind::Ended(_) | ErrorKind::NoReturn(_) | ErrorKind::SignalOver { .. } => Code::TooLate,
            ErrorKind::UnknownSignal { .. } => Code::UnknownSignal,
            ErrorKind::Refused { .. } | ErrorKind::BulkNotNow { .. } => Code::Refused,
            ErrorKind::UnknownBulk(_) => Code::UnknownBulk,
            ErrorKind::UnknownCallback => Code::UnknownCallback,
            ErrorKind::CallbackUsed(_) => Code::CallbackUsed,
            ErrorKind::CallbackOver { .. } => Code::CallbackOver,
            ErrorKind::CallbackEarly { .. } => Code::CallbackEarly,
            ErrorKind::NotActedOn { .. } => Code::NotActedOn,
            ErrorKind::TooManyOpen { .. } => Code::TooManyOpen,
            ErrorKind::QueueFull { .. } => Code::QueueFull,
            ErrorKind::BadReply(_) => Code::BadReplyAddress,
            ErrorKind::ShuttingDown => Code::ShuttingDown,
            ErrorKind::BadImport { .. } => Code::BadImport,
            ErrorKind::Transfer(_) => Code::TransferFailed,
            ErrorKind::BadSchedule { .. } => Code::BadSchedule,
            ErrorKind::UnknownSchedule(_) => Code::UnknownSchedule,
            _ => Code::StoreUnavailable,
        };
        let mut told = Self::new(code, error.to_string());
        told.transient = error.is_transient();
        if let ErrorKind::CallbackEarly { again_in, .. } = error.kind() {
            told.again_in = Some(*again_in);
        }
        told.because(error)
    }
}

/// An id that stands for a task of another workflow.
pub(crate) fn other_workflow(task: TaskId, of: &str) -> Error {
    Error::new(Code::UnknownTask, format!("task {task} is one of workflow `{of}`"))
}

/// Something that has to be stored and is too large for that.
pub(crate) fn too_large(what: &str, bytes: usize, most: usize) -> Error {
    Error::new(Code::TooLarge, format!("{what} has {bytes} bytes, at most {most} are allowed"))
}

/// A key that nobody has filled in.
pub(crate) fn empty_key() -> Error {
    let words = "the key is empty, and would make all submissions one: give what identifies the work, or leave \
                 `.key(..)` out";
    Error::new(Code::EmptyKey, words)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_main_prints_is_readable_and_tells_each_cause_once() {
        let disk = std::io::Error::other("the disk is gone");
        let store =
            steadfast_store::Error::new(Kind::Unavailable, "the disk failed: see the cause").because(disk);
        let error = Error::from(steadfast_runtime::Error::from(store));
        assert_eq!(
            format!("{error:?}"),
            "the store failed: the disk failed: see the cause; ask again under the same key or id to be sure [SF421]\n  \
             what to do: https://github.com/steadfast-rs/steadfast/blob/main/docs/errors/SF421.md\n  \
             because: the disk is gone"
        );
        let source = std::error::Error::source(&error).map(ToString::to_string);
        assert_eq!(source.as_deref(), Some("the disk is gone"));
        let plain = Error::new(Code::BadWorkflow, "workflow `w` makes no sense:\n  - step `a`: twice");
        assert!(
            format!("{plain:?}").starts_with("workflow `w` makes no sense:\n  - step `a`: twice [SF401]\n")
        );
    }

    #[test]
    fn every_code_has_a_page_that_says_what_to_do() {
        let pages = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/errors");
        let index = std::fs::read_to_string(pages.join("README.md")).unwrap();
        for code in Code::ALL {
            let page = std::fs::read_to_string(pages.join(format!("{code}.md")));
            let page = page.unwrap_or_else(|_| panic!("docs/errors/{code}.md is missing"));
            for part in [format!("# {code} "), "## Why it happens".into(), "## What to do".into()] {
                assert!(page.contains(&part), "{code}: no `{part}`");
            }
            assert!(index.contains(&format!("[{code}]({code}.md)")), "{code} is not in the index");
        }
    }
}
