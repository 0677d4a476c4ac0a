//! The services' own books, in files that outlive the process. Each line is one write: it is there as a whole or not.

use std::collections::{HashMap, HashSet};
use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Context, Result};
use steadfast_runtime::{CallbackId, Work};

/// The service that is away at first is so for this many calls: the breaker opens, and a probe finds it still away.
pub(crate) const AWAY_FOR: usize = 4;

/// Effects: each happens once for its key, as with a real service. Calls: each is noted.
#[derive(Debug)]
pub struct Ledger {
    books: Mutex<Books>,
    /// Where a service has to call back. It dies with the process: whoever was not called back asks again.
    owed: Mutex<Vec<CallbackId>>,
}

#[derive(Debug)]
struct Books {
    effects: File,
    calls: File,
    /// Calls while the service is away.
    away: File,
    called_away: usize,
    done: HashSet<String>,
    called: HashMap<String, u32>,
}

impl Ledger {
    /// Opens the books in this folder, or makes them.
    ///
    /// # Errors
    /// The disk's.
    pub fn open(folder: &Path) -> Result<Self> {
        let (effects, calls, away) = (folder.join("effects"), folder.join("calls"), folder.join("away"));
        let mut called = HashMap::new();
        for key in keys(&calls)? {
            *called.entry(key).or_insert(0) += 1;
        }
        let done = keys(&effects)?.into_iter().collect();
        let called_away = keys(&away)?.len();
        let (effects, calls, away) = (append(&effects)?, append(&calls)?, append(&away)?);
        let books = Books { effects, calls, away, called_away, done, called };
        Ok(Self { books: Mutex::new(books), owed: Mutex::default() })
    }

    /// Notes a call; how many there were before it under this key.
    pub(super) fn called(&self, work: &Work) -> Result<u32> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        books.calls.write_all(line(work).as_bytes())?;
        let count = books.called.entry(work.key.to_string()).or_insert(0);
        *count += 1;
        Ok(*count - 1)
    }

    /// Whether the service is away that is so at first: for so many calls, whoever makes them.
    pub(super) fn is_away(&self, work: &Work) -> Result<bool> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        let is_away = books.called_away < AWAY_FOR;
        if is_away {
            books.away.write_all(line(work).as_bytes())?;
            books.called_away += 1;
        }
        Ok(is_away)
    }

    /// Somebody is to be called back.
    pub(super) fn owes(&self, url: CallbackId) {
        self.owed.lock().unwrap_or_else(PoisonError::into_inner).push(url);
    }

    /// All who are to be called back; they are owed nothing any more.
    pub(crate) fn owed(&self) -> Vec<CallbackId> {
        std::mem::take(&mut self.owed.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Does it, unless it was done under this key.
    pub(super) fn done(&self, work: &Work) -> Result<()> {
        let mut books = self.books.lock().unwrap_or_else(PoisonError::into_inner);
        if books.done.insert(work.key.to_string()) {
            books.effects.write_all(line(work).as_bytes())?;
        }
        Ok(())
    }
}

fn line(work: &Work) -> String {
    let what = if work.undo { "undo" } else { "run" };
    format!("{} {} {what} {}\n", work.task, work.step.ordinal(), work.key)
}

fn keys(path: &Path) -> Result<Vec<String>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        text => text.with_context(|| path.display().to_string())?,
    };
    Ok(text.lines().filter_map(|line| line.split(' ').next_back().map(str::to_owned)).collect())
}

/// A file that is only ever written at its end.
pub(crate) fn append(path: &Path) -> Result<File> {
    OpenOptions::new().create(true).append(true).open(path).with_context(|| path.display().to_string())
}
