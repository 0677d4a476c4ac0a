//! Handing a submission in, in the caller's own transaction on the same file: both are there, or neither is.
//!
//! Must never write anything but the one row: whatever else a task needs is made by the engine, in one transaction of its own.

use std::path::Path;

use rusqlite::{Connection, ErrorCode, params};
use steadfast_engine::Time;
use steadfast_store::{Error, Kind, MAX_KEY, MAX_PAYLOAD, TaskId};

use crate::Sqlite;
use crate::codec::{id, millis};

/// A submission that is handed in by a row in the caller's own transaction.
///
/// The engine makes task and steps of it once that is committed, most often within a tenth of a second. If it cannot, since
/// nobody knows the workflow, or the key was used for another input, the task ends failed with the reason.
#[derive(Clone, Debug)]
#[must_use = "nothing is handed in until it is written"]
pub struct HandIn {
    task: TaskId,
    namespace: String,
    workflow: String,
    version: Option<u32>,
    key: Option<String>,
    priority: i8,
    input: Vec<u8>,
    start_at: Option<Time>,
    reply_to: Option<String>,
    correlation: Option<String>,
}

impl HandIn {
    /// A task of this id, a UUID of version 7 that nobody else has, of a workflow, with an input as JSON.
    pub fn new(task: TaskId, workflow: impl Into<String>, input: impl Into<Vec<u8>>) -> Self {
        Self {
            task,
            namespace: String::new(),
            workflow: workflow.into(),
            version: None,
            key: None,
            priority: 0,
            input: input.into(),
            start_at: None,
            reply_to: None,
            correlation: None,
        }
    }

    /// Of this version of the workflow. Default: the newest that the engine knows.
    pub fn version(mut self, version: u32) -> Self {
        self.version = Some(version);
        self
    }

    /// Under the same key the same workflow of the same namespace runs once.
    pub fn key(mut self, key: impl Into<String>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Whose task it is. Default: the empty one.
    pub fn namespace(mut self, namespace: impl Into<String>) -> Self {
        self.namespace = namespace.into();
        self
    }

    /// A higher one goes first. Default: 0.
    pub fn priority(mut self, priority: i8) -> Self {
        self.priority = priority;
        self
    }

    /// Starts at this time. Default: at once.
    pub fn start_at(mut self, time: Time) -> Self {
        self.start_at = Some(time);
        self
    }

    /// To whom it replies: `queue:NAME` or `hook:NAME`.
    pub fn reply_to(mut self, address: impl Into<String>) -> Self {
        self.reply_to = Some(address.into());
        self
    }

    /// What you know it by: it comes back in every reply.
    pub fn correlation(mut self, correlation: impl Into<String>) -> Self {
        self.correlation = Some(correlation.into());
        self
    }

    /// Writes the row, in the transaction that this connection is in. What is committed will be a task, what is rolled back never
    /// was.
    ///
    /// # Errors
    /// The connection is in no transaction, or not in WAL mode, or not with `synchronous = FULL`, or its file has no inbox; what is
    /// handed in is too large, or its key empty; a task of this id was handed in before.
    pub fn write(&self, connection: &Connection) -> Result<TaskId, Error> {
        self.check()?;
        check(connection)?;
        let sql = "INSERT INTO steadfast_inbox
                   (id, namespace, workflow, version, key, priority, input, start_at_ms, reply_to, correlation)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let row = params![
            id(self.task.as_u128()),
            self.namespace,
            self.workflow,
            self.version,
            self.key,
            self.priority,
            self.input,
            self.start_at.map(millis),
            self.reply_to,
            self.correlation,
        ];
        let written = connection.prepare_cached(sql).and_then(|mut insert| insert.execute(row));
        written.map(|_| self.task).map_err(|error| self.refused(error))
    }

    fn check(&self) -> Result<(), Error> {
        let length = |text: &Option<String>| text.as_ref().map_or(0, String::len);
        let sizes = [
            ("the input", self.input.len(), MAX_PAYLOAD),
            ("the key", length(&self.key), MAX_KEY),
            ("the namespace", self.namespace.len(), MAX_KEY),
            ("the reply address", length(&self.reply_to), MAX_KEY),
            ("the correlation id", length(&self.correlation), MAX_KEY),
        ];
        match sizes.into_iter().find(|(_, bytes, most)| bytes > most) {
            Some((what, bytes, most)) => Err(Error::new(
                Kind::TooLarge,
                format!("{what} has {bytes} bytes, at most {most} are allowed"),
            )),
            None if self.key.as_ref().is_some_and(String::is_empty) => {
                Err(Error::new(Kind::Unfit, "the key is empty: give what identifies the work, or none"))
            }
            None => Ok(()),
        }
    }

    fn refused(&self, error: rusqlite::Error) -> Error {
        let words = match error.sqlite_error_code() {
            Some(ErrorCode::ConstraintViolation) => format!(
                "the inbox refuses task {}: it was handed in before, or what is handed in makes no sense: see the cause",
                self.task
            ),
            Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
                let words = "another connection writes the file: begin your transaction with BEGIN IMMEDIATE, with a \
                             busy timeout, and try again";
                return Error::new(Kind::Unavailable, words).because(error);
            }
            _ => "the row could not be written: roll your transaction back, and see the cause".to_owned(),
        };
        Error::new(Kind::Unfit, words).because(error)
    }
}

/// Whether what this connection writes is as safe as what the engine does, and will be seen by it.
fn check(connection: &Connection) -> Result<(), Error> {
    let unfit = |words: String| Error::new(Kind::Unfit, words);
    let failed = |error: rusqlite::Error| {
        unfit("the connection cannot be asked: see the cause".to_owned()).because(error)
    };
    if connection.is_autocommit() {
        let words = "the connection is in no transaction, so that your rows and the submission would not commit together: \
                     begin one with BEGIN IMMEDIATE, and commit it after this";
        return Err(unfit(words.to_owned()));
    }
    let mode: String =
        connection.pragma_query_value(None, "journal_mode", |row| row.get(0)).map_err(failed)?;
    if !mode.eq_ignore_ascii_case("wal") {
        let words =
            format!("the connection's journal_mode is {mode} and must be wal: is it on the engine's file?");
        return Err(unfit(words));
    }
    let level: i64 = connection.pragma_query_value(None, "synchronous", |row| row.get(0)).map_err(failed)?;
    if level < 2 {
        let words = format!(
            "the connection's `synchronous` is {level}, so that the loss of power would take back what you have committed: \
             run `PRAGMA synchronous = FULL` before you begin your transaction"
        );
        return Err(unfit(words));
    }
    let sql = "SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'steadfast_inbox'";
    if !connection.prepare_cached(sql).and_then(|mut find| find.exists([])).map_err(failed)? {
        let file = connection.path().unwrap_or("a database in memory");
        let words = format!(
            "{file} has no table `steadfast_inbox`: connect to the engine's file, and start the engine once before"
        );
        return Err(unfit(words));
    }
    Ok(())
}

impl Sqlite {
    /// Whether a connection is to this very file.
    ///
    /// # Errors
    /// It is to another one.
    pub fn is_reached_by(&self, connection: &Connection) -> Result<(), Error> {
        let own = &self.inner.path;
        let other = connection.path().map(Path::new).and_then(|path| path.canonicalize().ok());
        if other.as_deref() == Some(own) {
            return Ok(());
        }
        let other = connection.path().filter(|path| !path.is_empty()).unwrap_or("a database in memory");
        let words = format!(
            "the connection is to {other}, and the engine works on {}: only what is written there can be one transaction with \
             the submission",
            own.display()
        );
        Err(Error::new(Kind::Unfit, words))
    }
}
