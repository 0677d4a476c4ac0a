//! The log while somebody reads for long, or removes much.
//!
//! What is in the log is copied into the file (a *checkpoint*) by the writer, each time that the log has a thousand pages. Two things
//! make that long. A long read keeps the log from being begun anew: it grows, and the first commit after the read would copy all of
//! it at once, for seconds. And a clean-up changes pages all over the file, whose copy takes the disk tens of milliseconds, in which
//! nobody else commits. So the writer copies less often meanwhile, or not at all, and whoever is the cause copies the log on a
//! connection of its own, while the writer goes on.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use rusqlite::Connection;
use steadfast_store::Error;

use crate::Inner;
use crate::beside::wait;
use crate::error::failed;

/// SQLite's own default: at about 4 MiB the log is copied by the writer.
const PAGES: i64 = 1_000;
/// While others copy: at about 64 MiB the writer copies what they have left, which is little, and the log begins anew.
const SELDOM: i64 = 16_000;
/// The most rounds in which the log is copied beside the writer. Each leaves what was written during it, a small part of it: a few
/// rounds are enough, and a writer that is always faster would never be caught up with.
const ROUNDS: usize = 4;

/// Who copies the log.
#[derive(Default)]
pub(crate) struct Log {
    /// The connection that copies beside the writer, once that is needed.
    copies: Mutex<Option<Connection>>,
    /// Whether the writer copies seldom.
    seldom: AtomicBool,
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
        if self.log.seldom.swap(true, Ordering::Relaxed) {
            return Ok(());
        }
        copies_at(connection, SELDOM)
    }

    /// It copies the log itself again.
    pub(crate) async fn copies_again(&self) -> Result<(), Error> {
        if !self.log.seldom.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.drive.ask(Ok(()), 0, |connection, _| copies_at(connection, PAGES)).await?;
        self.log.seldom.store(false, Ordering::Relaxed);
        Ok(())
    }
}

/// Ends with this: the writer copies its log itself again.
pub(crate) struct Calm<'a>(&'a Inner);

impl<'a> Calm<'a> {
    pub(crate) fn begin(inner: &'a Inner) -> Result<Self, Error> {
        let calm = Self(inner);
        wait(inner.drive.ask(Ok(()), 0, |connection, _| copies_at(connection, 0)))?;
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
        let _ = wait(self.0.drive.ask(Ok(()), 0, |connection, _| copies_at(connection, PAGES)));
    }
}
