//! Opening a file: owner's lock, settings, migrations.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use rusqlite::config::DbConfig;
use rusqlite::{Connection, OpenFlags};
use steadfast_engine::Time;
use steadfast_store::{Error, Kind};

use crate::calm::Log;
use crate::clock::Clock;
use crate::drive::Drive;
use crate::error::{failed_at, not_made};
use crate::held::Held;
use crate::reader::Reader;
use crate::writer::{Counts, Writer};
use crate::{Inner, Sqlite, migration, node, outbox, reply};

/// Below this a checkpoint could damage the file (sqlite.org, 3.51.3).
const OLDEST_SQLITE: i32 = 3_051_003;
/// How long a transaction of the user's own on the same file is waited for while the file is opened, and by readers.
pub(crate) const BUSY: Duration = Duration::from_secs(5);
/// How many statements each connection keeps prepared: more than there are.
const STATEMENTS: usize = 64;
/// The bytes of a log in which nothing has been written yet.
const LOG_HEAD: u64 = 32;
/// The settings that a file must have while it is open, each with the value that it must show.
const SETTINGS: [(&str, &str); 5] = [
    ("journal_mode", "wal"),
    ("synchronous", "2"),
    ("foreign_keys", "1"),
    ("trusted_schema", "0"),
    // 64 MiB: a log that has grown while somebody read for long is cut when it begins anew.
    ("journal_size_limit", "67108864"),
];

impl Sqlite {
    /// Opens a file, or makes it. A thread of its own writes.
    ///
    /// Its time comes from this clock, in milliseconds since 1970. The clock must be steady: once the file is open it goes
    /// on at the pace of time and does not jump, whatever is done to the machine's. Where it is behind the times in the
    /// file, because the machine's clock was ahead before a restart, the store stays ahead of it by as much: its time goes
    /// on from what is in the file, and does not stand still.
    ///
    /// # Errors
    /// `Owned` when another process, or another engine in this one, has it open under whatever name, `Newer` when a newer version made it, and what the disk says.
    pub fn open(
        path: impl AsRef<Path>,
        clock: impl Fn() -> Time + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        open(path.as_ref(), clock, Drive::by_thread)
    }

    /// As [`Sqlite::open`], but who waits for an answer writes, with all that waits beside it: for tests with a paused
    /// clock, which a thread of its own would break.
    ///
    /// # Errors
    /// The same.
    pub fn open_inline(
        path: impl AsRef<Path>,
        clock: impl Fn() -> Time + Send + Sync + 'static,
    ) -> Result<Self, Error> {
        open(path.as_ref(), clock, |writer| Ok(Drive::by_caller(writer)))
    }
}

fn open(
    path: &Path,
    wall: impl Fn() -> Time + Send + Sync + 'static,
    drive: impl FnOnce(Writer) -> Result<Drive, Error>,
) -> Result<Sqlite, Error> {
    if path.is_dir() {
        return Err(Error::new(Kind::ReadOnly, format!("{} is a folder: name a file in it", path.display())));
    }
    let failed = |error| failed_at(path, error);
    let file = real(path).map_err(|error| not_made(path, error))?;
    let owner = lock(&file, path)?;
    has_what_its_log_belongs_to(&file, path)?;
    let mut connection = Connection::open(&file).map_err(failed)?;
    prepare(&connection).map_err(failed)??;
    migration::run(&mut connection, path)?;
    // Who holds the lock knows that all earlier owners are dead.
    node::forget_all(&connection).map_err(failed)?;
    outbox::free_all(&connection).map_err(failed)?;
    reply::free_all(&connection).map_err(failed)?;
    steadfast_store::failpoint!("open.migrated");
    let reserved = node::reserved(&connection).map_err(failed)?;
    let reader = reader(&file).map_err(failed)?;
    let (clock, commits) = (Arc::new(Clock::new(wall, reserved)), Arc::new(AtomicU64::new(0)));
    let held = Arc::new(Held::new());
    let counts = Counts { commits: Arc::clone(&commits), held: Arc::clone(&held) };
    let writer = Writer::new(connection, owner, Arc::clone(&clock), reserved, counts);
    let inner = Inner {
        reader: Reader::new(reader),
        keeper: OnceLock::new(),
        log: Log::default(),
        path: file,
        drive: drive(writer)?,
        clock,
        commits,
        held,
    };
    Ok(Sqlite { inner: Arc::new(inner) })
}

/// Refuses a log whose file is gone or empty: SQLite would take the file for a new one and remove the log, with all in it that was
/// acknowledged. A file that is made anew has its first page before its log begins.
fn has_what_its_log_belongs_to(file: &Path, called: &Path) -> Result<(), Error> {
    let size = |path: &Path| path.metadata().map_or(0, |found| found.len());
    let mut log = file.as_os_str().to_owned();
    log.push("-wal");
    if size(file) > 0 || size(Path::new(&log)) <= LOG_HEAD {
        return Ok(());
    }
    let called = called.display();
    let message = format!(
        "{called} is empty or gone, and its log {called}-wal is not: put the file back beside it, or restore both from a backup; to begin \
         anew, move the log away"
    );
    Err(Error::new(Kind::Corrupt, message))
}

/// A second connection, which cannot write.
pub(crate) fn reader(path: &Path) -> rusqlite::Result<Connection> {
    let flags = OpenFlags::default() - OpenFlags::SQLITE_OPEN_READ_WRITE - OpenFlags::SQLITE_OPEN_CREATE;
    let connection = Connection::open_with_flags(path, flags | OpenFlags::SQLITE_OPEN_READ_ONLY)?;
    keep_statements(&connection)?;
    connection.pragma_update(None, "query_only", true)?;
    connection.pragma_update(None, "trusted_schema", false)?;
    Ok(connection)
}

/// Statements are prepared once. Without the planner's guarantee SQLite prepares some of them anew for each value that is
/// bound, since another index could do; ours have all been written for one.
fn keep_statements(connection: &Connection) -> rusqlite::Result<()> {
    connection.busy_timeout(BUSY)?;
    connection.set_prepared_statement_cache_capacity(STATEMENTS);
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).map(drop)
}

/// Where a file is, or would be made: the same for all names that it has through links, so that its owner has one lock.
fn real(path: &Path) -> io::Result<PathBuf> {
    match path.canonicalize() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        found => return found,
    }
    let folder =
        path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or_else(|| Path::new("."));
    match path.read_link() {
        // A link to what is not there yet. The system has found an end to the links, and so will this.
        Ok(target) => real(&folder.join(target)),
        Err(_) => {
            let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
            Ok(folder.canonicalize()?.join(name))
        }
    }
}

/// Locks a file for its owner, who has called it by this name.
pub(crate) fn lock(file: &Path, called: &Path) -> Result<File, Error> {
    let mut name = file.as_os_str().to_owned();
    name.push(".owner");
    let name = PathBuf::from(name);
    let cannot = |error| not_made(&name, error);
    let file = File::options().create(true).truncate(false).write(true).open(&name).map_err(cannot)?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(Error::new(
            Kind::Owned,
            format!(
                "another process, or another engine in this one, has {} open: end that one, or give this one a file of its own",
                called.display()
            ),
        )),
        Err(TryLockError::Error(error)) => Err(cannot(error)),
    }
}

/// Sets what must be set, and looks whether it is.
fn prepare(connection: &Connection) -> rusqlite::Result<Result<(), Error>> {
    if rusqlite::version_number() < OLDEST_SQLITE {
        let version = rusqlite::version();
        let message = format!(
            "this program has SQLite {version}, which can damage files: build it with 3.51.3 or newer"
        );
        return Ok(Err(Error::new(Kind::Unavailable, message)));
    }
    keep_statements(connection)?;
    for (name, value) in SETTINGS {
        // To its end, which `pragma_update` does not wait for: only there is a change of `journal_mode` committed, and a
        // disk that fails then would leave a file without WAL that shows `wal` until it is written.
        let mut set = connection.prepare(&format!("PRAGMA {name} = {value}"))?;
        let mut rows = set.query([])?;
        while rows.next()?.is_some() {}
    }
    for (name, value) in SETTINGS {
        let found = connection.pragma_query_value(None, name, |row| {
            row.get::<_, rusqlite::types::Value>(0).map(|value| match value {
                rusqlite::types::Value::Integer(number) => number.to_string(),
                rusqlite::types::Value::Text(text) => text,
                other => format!("{other:?}"),
            })
        })?;
        if found != value {
            let message =
                format!("the file's `{name}` is {found} and must be {value}: is it on a local disk?");
            return Ok(Err(Error::new(Kind::Unavailable, message)));
        }
    }
    Ok(Ok(()))
}
