//! Keeping house: retention, backup, verify, export and import.

use std::io::{BufRead, Write};
use std::path::{Path, PathBuf};

use steadfast_runtime::{CleanedUp, Imported, VerifyReport};
use steadfast_store::BackedUp;

use crate::engine::Engine;
use crate::error::Error;
use crate::tasks::Tasks;

impl Engine {
    /// Removes at once what [`Settings::keep`](crate::Settings::keep) and `keep_keys` do not keep any longer: tasks that have completed
    /// or were undone, with their steps, payloads, mail and history. The engine does so by itself each hour. It goes in small writes with
    /// pauses between them, so that work goes on.
    ///
    /// # Errors
    /// The store's. What was removed before stays so.
    pub async fn clean_up(&self) -> Result<CleanedUp, Error> {
        Ok(self.node.clean_up().await?)
    }

    /// Copies the whole file of the store, with tables of your own in it, to a new file, while work goes on. Everything that was
    /// acknowledged before this call is in it. The file appears under its name only when it is whole and durable; when this fails, or
    /// is dropped, nothing is left behind. To restore: give the copy to an engine as its store.
    ///
    /// # Errors
    /// A file of that name is there, a store in memory has none, the disk is full.
    pub async fn backup(&self, to: impl Into<PathBuf>) -> Result<BackedUp, Error> {
        Ok(self.node.back_up(to.into()).await?)
    }

    /// Looks for what contradicts itself: in the file, between the rows of each task, its columns and its history, and between tasks
    /// and their workflows. Nothing is changed, and work goes on.
    ///
    /// # Errors
    /// The store's. What is found is no error: see the report.
    pub async fn verify(&self) -> Result<VerifyReport, Error> {
        Ok(self.node.verify().await?)
    }

    /// Writes tasks as lines of JSON, all that these stand for, newest first; how many there were.
    ///
    /// # Errors
    /// The store's, and what the writer says.
    pub async fn export(&self, mut out: impl Write + Send, tasks: Tasks) -> Result<u64, Error> {
        Ok(self.node.export(&tasks.into_find(), &mut out).await?)
    }

    /// Stores the tasks of an export, and works on those that are open. One that is here already is left as it is; a line that
    /// cannot be stored is told of, and nothing of it is. It may be begun again from the first line.
    ///
    /// # Errors
    /// The store's; what the reader says; a file that is no export of tasks.
    pub async fn import(&self, mut from: impl BufRead + Send) -> Result<Imported, Error> {
        Ok(self.node.import(&mut from).await?)
    }
}

/// Looks at the file of a store that no engine has open, such as a backup, for what contradicts itself. It blocks for as long as that
/// takes, and knows no workflows: [`Engine::verify`] compares tasks with those too.
///
/// # Errors
/// An engine has it open; there is no such file, or it is no store. What is found is no error: see the report.
pub fn verify_file(path: impl AsRef<Path>) -> Result<VerifyReport, Error> {
    let mut report = VerifyReport::default();
    report.add(steadfast_store_sqlite::verify_file(path)?);
    Ok(report)
}
