//! A copy of the whole file, while work goes on.
//!
//! `VACUUM INTO` copies what one reader sees; the stepped backup begins anew with each commit, and would never end. It writes to a
//! name beside the target, which is locked: a copy that a crash has left is overwritten, one that is being made is not. Only when it
//! is whole and durable is it given its name.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rusqlite::{Connection, ErrorCode, OpenFlags};
use steadfast_store::{BackedUp, Error, Kind};

use crate::Inner;
use crate::beside::{Stop, given_up, instant};
use crate::calm::Calm;
use crate::error::{failed, not_made};
use crate::open::BUSY;

/// So many steps of SQLite's machine are made between two pauses: about two milliseconds of work.
const STEPS: i32 = 20_000;
/// How long it pauses, in work: three times as long as it worked. A copy that takes four times as long takes a quarter as much from
/// others; with a pause as long as the work, two processors lost a fifth of their throughput.
const PAUSES: u32 = 3;
/// The longest pause: one slice of work may have waited for others, and that was pause enough.
const LONGEST: Duration = Duration::from_millis(10);
/// So much is given to the disk at a time: all of it at once, in the end, would keep commits waiting.
const FLUSHED: u64 = 8 << 20;
/// The least of the system's priorities: whoever works goes first, and the copy takes what is left.
const LEAST: i32 = 19;

/// Copies the file.
pub(crate) fn back_up(inner: &Inner, to: &Path, stop: &Stop) -> Result<BackedUp, Error> {
    let began = instant();
    refuse_existing(to)?;
    let calm = Calm::begin(inner)?;
    // A thread of the caller's is not ours to slow down.
    if !inner.drive.is_by_caller() {
        give_way();
    }
    let part = Part::new(to)?;
    let copied = copy(inner, &part, stop);
    let caught_up = calm.catch_up();
    drop(calm);
    copied?;
    if let Err(error) = caught_up {
        tracing::warn!(error = &error as &dyn std::error::Error, "the log was not copied after a backup");
    }
    let bytes = part.finish(to)?;
    Ok(BackedUp::new(bytes, began.elapsed()))
}

fn refuse_existing(to: &Path) -> Result<(), Error> {
    match fs::symlink_metadata(to) {
        Ok(_) => Err(exists(to)),
        Err(_) => Ok(()),
    }
}

fn exists(to: &Path) -> Error {
    let words = format!("{} is there already: move it away, or give the backup another name", to.display());
    Error::new(Kind::Exists, words)
}

/// From now on this thread has what others leave.
fn give_way() {
    // Where that is not allowed it goes on as it is.
    let _ = rustix::process::setpriority_process(None, LEAST);
}

fn copy(inner: &Inner, part: &Part, stop: &Stop) -> Result<(), Error> {
    let (from, to) = (&inner.path, &part.path);
    // Not one that may only query: that refuses this too.
    let flags = OpenFlags::default() - OpenFlags::SQLITE_OPEN_READ_WRITE - OpenFlags::SQLITE_OPEN_CREATE;
    let mut connection =
        Connection::open_with_flags(from, flags | OpenFlags::SQLITE_OPEN_READ_ONLY).map_err(failed)?;
    connection.busy_timeout(BUSY).map_err(failed)?;
    stop.ends(&connection);
    if stop.is_told() {
        return Err(given_up());
    }
    if !inner.drive.is_by_caller() {
        let file = part.file.try_clone().map_err(|error| not_made(to, error))?;
        connection.progress_handler(STEPS, Some(gently(file))).map_err(failed)?;
    }
    let name = to.to_str().ok_or_else(|| {
        let words = format!("{} is no text: give the backup a name that is", to.display());
        Error::new(Kind::ReadOnly, words)
    })?;
    connection.execute("VACUUM INTO ?", [name]).map(drop).map_err(|error| match error.sqlite_error_code() {
        Some(ErrorCode::OperationInterrupted) => given_up(),
        _ => failed(error),
    })
}

/// Pauses now and then, and gives what was copied to the disk a part at a time.
fn gently(file: File) -> impl FnMut() -> bool + Send + 'static {
    let (mut began, mut flushed) = (instant(), 0);
    move || {
        let size = file.metadata().map_or(0, |known| known.len());
        if size >= flushed + FLUSHED {
            // Whether it is durable is asked in the end.
            let _ = file.sync_data();
            flushed = size;
        }
        std::thread::park_timeout((began.elapsed() * PAUSES).min(LONGEST));
        began = instant();
        false
    }
}

/// A copy that is being made. Dropped before it is finished, it is gone.
struct Part {
    path: PathBuf,
    /// Locked for as long as it is being made.
    file: File,
}

impl Part {
    fn new(to: &Path) -> Result<Self, Error> {
        let mut name = to.as_os_str().to_owned();
        name.push(".part");
        let path = PathBuf::from(name);
        let cannot = |error| not_made(&path, error);
        let file = File::options().create(true).truncate(false).write(true).open(&path).map_err(cannot)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let words = format!("another backup to {} is being made: wait for it", to.display());
                return Err(Error::new(Kind::Exists, words));
            }
            Err(TryLockError::Error(error)) => return Err(cannot(error)),
        }
        // What a crash has left; SQLite copies into an empty file only.
        file.set_len(0).map_err(cannot)?;
        Ok(Self { path, file })
    }

    /// Makes it durable and gives it its name; how large it is.
    fn finish(self, to: &Path) -> Result<u64, Error> {
        let cannot = |error| not_made(to, error);
        self.file.sync_all().map_err(cannot)?;
        let bytes = self.file.metadata().map_err(cannot)?.len();
        match fs::hard_link(&self.path, to) {
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(exists(to)),
            // A disk without links: what came meanwhile under that name would be lost, and is looked for once more.
            Err(_) => {
                refuse_existing(to)?;
                fs::rename(&self.path, to).map_err(cannot)?;
            }
            Ok(()) => fs::remove_file(&self.path).map_err(cannot)?,
        }
        sync_folder(to).map_err(cannot)?;
        Ok(bytes)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        for tail in ["", "-journal"] {
            let mut name = self.path.as_os_str().to_owned();
            name.push(tail);
            // After a good end there is nothing.
            let _ = fs::remove_file(PathBuf::from(name));
        }
    }
}

/// The name is durable too.
fn sync_folder(of: &Path) -> io::Result<()> {
    let folder =
        of.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    File::open(folder)?.sync_all()
}
