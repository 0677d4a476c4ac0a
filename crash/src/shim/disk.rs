//! A disk as it is when the power goes: what was synced is there; of the rest nothing, or any part of it.
//!
//! Strict POSIX: bytes and sizes are durable once their file was synced, names once their folder was. A sync that failed
//! has lost what it was to write, and a later one does not bring it back, as on Linux.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Result;

use super::log::Event;

/// The smallest part of a write that a disk makes whole.
const SECTOR: usize = 512;

/// Files by the number under which they were made: names come and go.
#[derive(Clone, Debug, Default)]
pub struct Disk {
    files: Vec<File>,
    names: BTreeMap<String, usize>,
    durable_names: BTreeMap<String, usize>,
}

#[derive(Clone, Debug, Default)]
struct File {
    durable: Vec<u8>,
    /// What was done since the last sync.
    pending: Vec<Change>,
}

#[derive(Clone, Debug)]
enum Change {
    Write(u64, Vec<u8>),
    Truncate(u64),
}

impl Disk {
    /// Goes on by what happened.
    pub fn take(&mut self, event: &Event) {
        match event {
            Event::Created(name) => {
                self.names.insert(name.clone(), self.files.len());
                self.files.push(File::default());
            }
            Event::Written(name, at, bytes) => self.change(name, Change::Write(*at, bytes.clone())),
            Event::Truncated(name, size) => self.change(name, Change::Truncate(*size)),
            Event::Synced(name) if name == "." => self.durable_names.clone_from(&self.names),
            Event::Synced(name) => {
                let Some(file) = self.file(name) else { return };
                for change in std::mem::take(&mut file.pending) {
                    change.apply(&mut file.durable);
                }
            }
            Event::SyncFailed(name) => {
                if let Some(file) = self.file(name) {
                    file.pending.clear();
                }
            }
            Event::Removed(name) => {
                self.names.remove(name);
            }
            Event::Renamed(from, to) => {
                if let Some(file) = self.names.remove(from) {
                    self.names.insert(to.clone(), file);
                }
            }
        }
    }

    fn file(&mut self, name: &str) -> Option<&mut File> {
        self.names.get(name).and_then(|number| self.files.get_mut(*number))
    }

    fn change(&mut self, name: &str, change: Change) {
        if let Some(file) = self.file(name) {
            file.pending.push(change);
        }
    }

    /// Writes the database's files as they are after the loss of power. Without `luck` nothing is there that was not
    /// synced; with it each sector of each write that was not may be, and so may each name.
    ///
    /// # Errors
    /// The disk's.
    pub fn rebuild(&self, folder: &Path, mut luck: Option<&mut fastrand::Rng>) -> Result<()> {
        let all_names = luck.as_mut().is_some_and(|rng| rng.bool());
        let names = if all_names { &self.names } else { &self.durable_names };
        for (name, number) in names.iter().filter(|(name, _)| name.starts_with("db")) {
            let Some(file) = self.files.get(*number) else { continue };
            let mut bytes = file.durable.clone();
            if let Some(rng) = &mut luck {
                file.pending.iter().for_each(|change| change.apply_in_part(&mut bytes, rng));
            }
            std::fs::write(folder.join(name), bytes)?;
        }
        Ok(())
    }
}

impl Change {
    fn apply(self, bytes: &mut Vec<u8>) {
        match self {
            Self::Write(at, content) => put(bytes, place(at), &content),
            Self::Truncate(size) => bytes.resize(place(size), 0),
        }
    }

    fn apply_in_part(&self, bytes: &mut Vec<u8>, rng: &mut fastrand::Rng) {
        match self {
            Self::Write(at, content) => {
                let mut at = place(*at);
                for sector in content.chunks(SECTOR) {
                    if rng.bool() {
                        put(bytes, at, sector);
                    }
                    at += sector.len();
                }
            }
            Self::Truncate(size) if rng.bool() => bytes.resize(place(*size), 0),
            Self::Truncate(_) => {}
        }
    }
}

fn place(at: u64) -> usize {
    usize::try_from(at).unwrap_or(usize::MAX)
}

fn put(bytes: &mut Vec<u8>, at: usize, content: &[u8]) {
    let end = at + content.len();
    if bytes.len() < end {
        bytes.resize(end, 0);
    }
    bytes[at..end].copy_from_slice(content);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::Folder;

    fn after(events: &[Event]) -> Option<Vec<u8>> {
        let (folder, mut disk) = (Folder::new().unwrap(), Disk::default());
        events.iter().for_each(|event| disk.take(event));
        disk.rebuild(folder.path(), None).unwrap();
        std::fs::read(folder.path().join("db")).ok()
    }

    fn created() -> Event {
        Event::Created("db".to_owned())
    }

    fn written(at: u64, bytes: &[u8]) -> Event {
        Event::Written("db".to_owned(), at, bytes.to_vec())
    }

    fn synced(name: &str) -> Event {
        Event::Synced(name.to_owned())
    }

    #[test]
    fn only_what_was_synced_is_there() {
        assert_eq!(after(&[created(), written(0, b"ab"), synced("db")]), None, "its name was not synced");
        let made = [created(), synced("."), written(1, b"ab"), synced("db"), written(0, b"x")];
        assert_eq!(after(&made).unwrap(), b"\0ab");
        assert_eq!(after(&[created(), synced("."), written(0, b"ab"), synced("db-wal")]).unwrap(), b"");
    }

    #[test]
    fn a_truncation_is_a_change_as_any_other() {
        let cut = Event::Truncated("db".to_owned(), 1);
        let events = [created(), synced("."), written(0, b"abc"), synced("db"), cut, written(2, b"z")];
        assert_eq!(after(&events).unwrap(), b"abc");
        let events = [events.as_slice(), &[synced("db")]].concat();
        assert_eq!(after(&events).unwrap(), b"a\0z");
    }

    #[test]
    fn what_a_failed_sync_has_lost_does_not_come_back() {
        let failed = Event::SyncFailed("db".to_owned());
        let events = [created(), synced("."), written(0, b"ab"), failed, written(2, b"c"), synced("db")];
        assert_eq!(after(&events).unwrap(), b"\0\0c");
    }

    #[test]
    fn a_removal_is_durable_with_its_folder() {
        let events =
            [created(), synced("."), written(0, b"a"), synced("db"), Event::Removed("db".to_owned())];
        assert_eq!(after(&events).unwrap(), b"a");
        assert_eq!(after(&[events.as_slice(), &[synced(".")]].concat()), None);
    }
}
