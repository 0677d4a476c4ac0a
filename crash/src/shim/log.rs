//! The shim's record: what was done to the files of a folder, in order.
//!
//! A record is its kind (one byte), a number (8 bytes), the lengths of a name and of bytes (4 each), the name, the bytes;
//! numbers as the machine has them.

use std::path::Path;

use anyhow::{Context, Result, bail};

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// A file was made.
    Created(String),
    /// Bytes were written at a place.
    Written(String, u64, Vec<u8>),
    /// A file got another size.
    Truncated(String, u64),
    /// A file, or the folder (`.`), was synced.
    Synced(String),
    /// A sync failed: what was not on the disk is lost, and the system forgets that it was to be written.
    SyncFailed(String),
    /// A file was removed.
    Removed(String),
    /// A file was renamed.
    Renamed(String, String),
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Log {
    /// In order.
    pub events: Vec<Event>,
}

impl Log {
    /// Reads a record. The last one may be cut short by an abort, and is left out then.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        let (mut rest, mut log) = (bytes.as_slice(), Self::default());
        while let Some((event, after)) = next(rest)? {
            log.events.push(event);
            rest = after;
        }
        Ok(log)
    }

    /// How often a file that satisfies this was synced.
    pub fn syncs(&self, of: impl Fn(&str) -> bool) -> usize {
        self.events.iter().filter(|event| matches!(event, Event::Synced(name) if of(name))).count()
    }
}

/// The first record, and what follows it.
fn next(bytes: &[u8]) -> Result<Option<(Event, &[u8])>> {
    let (Some(at), Some(name), Some(length)) = (number(bytes, 1), short(bytes, 9), short(bytes, 13)) else {
        return Ok(None);
    };
    let body = 17 + name;
    let Some(content) = bytes.get(body..body + length) else { return Ok(None) };
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).context("a name");
    let name = text(&bytes[17..body])?;
    let event = match bytes[0] {
        b'C' => Event::Created(name),
        b'W' => Event::Written(name, at, content.to_vec()),
        b'T' => Event::Truncated(name, at),
        b'S' => Event::Synced(name),
        b'E' => Event::SyncFailed(name),
        b'U' => Event::Removed(name),
        b'R' => Event::Renamed(name, text(content)?),
        other => bail!("a record of an unknown kind: {other}"),
    };
    Ok(Some((event, &bytes[body + length..])))
}

fn number(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map(u64::from_ne_bytes)
}

fn short(bytes: &[u8], at: usize) -> Option<usize> {
    let number = bytes.get(at..at + 4).and_then(|bytes| bytes.try_into().ok()).map(u32::from_ne_bytes)?;
    usize::try_from(number).ok()
}
