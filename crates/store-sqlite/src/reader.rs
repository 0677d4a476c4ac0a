//! Reads, on a connection of their own: they do not wait for the disk while a commit does.

use std::fmt;
use std::future::{Ready, ready};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::Connection;
use steadfast_store::Error;

use crate::error::failed;

pub(crate) struct Reader(Mutex<Connection>);

impl Reader {
    pub(crate) fn new(connection: Connection) -> Self {
        Self(Mutex::new(connection))
    }

    /// Reads in one transaction, which begins now: it sees all that was answered before.
    pub(crate) fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> rusqlite::Result<T>,
    ) -> Ready<Result<T, Error>> {
        let connection = self.connection();
        let done = Snapshot::of(&connection).and_then(|snapshot| work(snapshot.0));
        ready(done.map_err(failed))
    }

    /// Another number once another connection, the writer's too, has committed something. It reads no page.
    pub(crate) fn version(&self) -> Ready<Result<u64, Error>> {
        let connection = self.connection();
        let read = connection.prepare_cached("PRAGMA data_version");
        let read = read.and_then(|mut read| read.query_row([], |row| row.get::<_, i64>(0)));
        ready(read.map(i64::unsigned_abs).map_err(failed))
    }

    /// Does something with the connection, outside of a transaction.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&Connection) -> T) -> T {
        work(&self.connection())
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Reader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Reader").field(&self.connection().path()).finish()
    }
}

/// A transaction that ends with this, also by a panic. Its statements are kept, unlike those of `Transaction`.
pub(crate) struct Snapshot<'a>(pub(crate) &'a Connection);

impl<'a> Snapshot<'a> {
    pub(crate) fn of(connection: &'a Connection) -> rusqlite::Result<Self> {
        connection.prepare_cached("BEGIN DEFERRED")?.execute([])?;
        Ok(Self(connection))
    }
}

impl Drop for Snapshot<'_> {
    fn drop(&mut self) {
        // Nothing was written, so that there is nothing to lose.
        let _ = self.0.prepare_cached("ROLLBACK").and_then(|mut end| end.execute([]));
    }
}
