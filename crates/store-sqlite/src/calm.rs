//! The log while somebody reads for long, or removes much.
//!
//! What is in the log is copied into the file (a *checkpoint*) by the writer, each time that the log has a thousand pages. Two things
//! make that long. A long read keeps the log from being begun anew: it grows, and the first commit after the read would copy all of
//! it at once, for seconds. And a clean-up changes pages all over the file, whose copy takes the disk tens of milliseconds, in which
//! nobody else commits. So the writer copies less often meanwhile, or not at all, and whoever is the cause copies the log on a
//! connection of its own, while the writer goes on.

use std::future::Future;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rusqlite::Connection;
use steadfast_store::Error;

use crate::Inner;
use crate::beside::wait;
use crate::error::failed;

/// SQLite's own default: at about 4 MiB the log is copied by the writer.
const PAGES: i64 = 1_000;
/// While others copy: at about 64 MiB the writer copies what they have left, which is little, and the log begins anew.
const SELDOM: i64 = 16_000;
/// While somebody reads for long.
const NEVER: i64 = 0;
/// The most rounds in which the log is copied beside the writer. Each leaves what was written during it, a small part of it: a few
/// rounds are enough, and a writer that is always faster would never be caught up with.
const ROUNDS: usize = 4;

/// Who copies the log.
#[derive(Default)]
pub(crate) struct Log {
    /// The connection that copies beside the writer, once that is needed.
    copies: Mutex<Option<Connection>>,
    goes_on: Arc<GoesOn>,
}

/// What goes on beside the writer.
#[derive(Default)]
struct GoesOn {
    /// Whether something is removed.
    removing: AtomicBool,
    /// How many read for long.
    reading: AtomicUsize,
}

impl GoesOn {
    /// At how many pages the writer copies, with all that goes on.
    fn pages(&self) -> i64 {
        match (self.reading.load(Ordering::SeqCst), self.removing.load(Ordering::SeqCst)) {
            (0, false) => PAGES,
            (0, true) => SELDOM,
            _ => NEVER,
        }
    }
}

impl Inner {
    /// Copies the log beside the writer if there is much in it; how many pages are left.
    pub(crate) fn copy_log(&self) -> Result<i64, Error> {
        let mut copies = self.log.copies.lock().unwrap_or_else(PoisonError::into_inner);
        let connection = match &mut *copies {
            Some(connection) => connection,
            none => none.insert(Connection::open(&self.path).map_err(failed)?),
        };
        let mut left = look(connection, "NOOP").map_err(failed)?;
        if left <= PAGES {
            return Ok(left);
        }
        // What is written during one round is left for the next. With nothing left the log begins anew.
        for _ in 0..ROUNDS {
            left = look(connection, "PASSIVE").map_err(failed)?;
            if left <= 0 {
                break;
            }
        }
        Ok(left)
    }

    /// From now on the writer copies the log seldom, since others do.
    pub(crate) fn copies_seldom(&self, connection: &Connection) -> rusqlite::Result<()> {
        if self.log.goes_on.removing.swap(true, Ordering::SeqCst) {
            return Ok(());
        }
        copies_at(connection, self.log.goes_on.pages())
    }

    /// Has the writer copy as all that goes on at its turn asks for.
    fn copies_as_needed(&self) -> impl Future<Output = Result<(), Error>> + Send {
        let goes_on = Arc::clone(&self.log.goes_on);
        self.drive.ask(Ok(()), 0, move |connection, _| copies_at(connection, goes_on.pages()))
    }

    /// It copies the log itself again, unless somebody reads for long.
    pub(crate) async fn copies_again(&self) -> Result<(), Error> {
        if !self.log.goes_on.removing.swap(false, Ordering::SeqCst) {
            return Ok(());
        }
        self.copies_as_needed().await
    }
}

/// Somebody who reads for long. Ends with this: the writer copies its log itself again, if nobody else is the cause.
pub(crate) struct Calm<'a>(&'a Inner);

impl<'a> Calm<'a> {
    pub(crate) fn begin(inner: &'a Inner) -> Result<Self, Error> {
        inner.log.goes_on.reading.fetch_add(1, Ordering::SeqCst);
        let calm = Self(inner);
        wait(inner.copies_as_needed())?;
        Ok(calm)
    }

    /// Copies what has come together.
    pub(crate) fn catch_up(&self) -> Result<(), Error> {
        self.0.copy_log().map(drop)
    }
}

/// Copies the log without keeping the writer waiting, or only looks; how many pages are left.
fn look(connection: &Connection, how: &str) -> rusqlite::Result<i64> {
    connection.query_row(&format!("PRAGMA wal_checkpoint({how})"), [], |row| {
        Ok(row.get::<_, i64>(1)? - row.get::<_, i64>(2)?)
    })
}

fn copies_at(connection: &Connection, pages: i64) -> rusqlite::Result<()> {
    connection.pragma_update(None, "wal_autocheckpoint", pages)
}

impl Drop for Calm<'_> {
    fn drop(&mut self) {
        // Done also if nobody waits for it.
        self.0.log.goes_on.reading.fetch_sub(1, Ordering::SeqCst);
        let _ = wait(self.0.copies_as_needed());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_reads_for_long_and_who_removes_do_not_undo_what_the_other_needs() {
        let goes_on = GoesOn::default();
        assert_eq!(goes_on.pages(), PAGES);
        goes_on.removing.store(true, Ordering::SeqCst);
        assert_eq!(goes_on.pages(), SELDOM);
        goes_on.reading.fetch_add(2, Ordering::SeqCst);
        assert_eq!(goes_on.pages(), NEVER);
        goes_on.removing.store(false, Ordering::SeqCst);
        goes_on.reading.fetch_sub(1, Ordering::SeqCst);
        assert_eq!(goes_on.pages(), NEVER, "one reads on");
        goes_on.reading.fetch_sub(1, Ordering::SeqCst);
        assert_eq!(goes_on.pages(), PAGES);
    }
}
