//! The log while somebody reads for long.
//!
//! What is in the log is copied into the file (a *checkpoint*) by the writer, each time that the log has a thousand pages. A long
//! read keeps the log from being begun anew: it grows, and the first commit after the read would copy all of it at once, for
//! seconds. So the writer copies nothing meanwhile, and whoever reads copies it afterwards beside the writer, which goes on.

use rusqlite::Connection;
use steadfast_store::Error;

use crate::Inner;
use crate::beside::wait;
use crate::error::failed;

/// SQLite's own default: at about 4 MiB the log is copied by the writer.
const PAGES: i64 = 1_000;
/// The most rounds in which the log is copied beside the writer. Each leaves what was written during it: a few rounds are enough,
/// and a writer that is always faster would never be caught up with.
const ROUNDS: usize = 8;

/// Ends with this: the writer copies its log itself again.
pub(crate) struct Calm<'a>(&'a Inner);

impl<'a> Calm<'a> {
    pub(crate) fn begin(inner: &'a Inner) -> Result<Self, Error> {
        let calm = Self(inner);
        wait(inner.drive.ask(Ok(()), 0, |connection, _| copies_at(connection, 0)))?;
        Ok(calm)
    }

    /// Copies what has come together, on a connection of its own that may write.
    pub(crate) fn catch_up(&self) -> Result<(), Error> {
        let connection = Connection::open(&self.0.path).map_err(failed)?;
        for _ in 0..ROUNDS {
            if copy(&connection).map_err(failed)? <= PAGES {
                break;
            }
        }
        Ok(())
    }
}

/// Copies the log without keeping the writer waiting; how many pages are left.
fn copy(connection: &Connection) -> rusqlite::Result<i64> {
    connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |row| {
        Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?)
    })
}

fn copies_at(connection: &Connection, pages: i64) -> rusqlite::Result<()> {
    connection.pragma_update(None, "wal_autocheckpoint", pages)
}

impl Drop for Calm<'_> {
    fn drop(&mut self) {
        // Done also if nobody waits for it.
        let _ = wait(self.0.drive.ask(Ok(()), 0, |connection, _| copies_at(connection, PAGES)));
    }
}
