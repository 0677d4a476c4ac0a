//! The writer: all that waits in one transaction, one sync, and only then the answers.

#[cfg(test)]
mod tests;

use std::any::Any;
use std::fs::File;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rusqlite::{Connection, ErrorCode};
use steadfast_engine::Time;
use steadfast_store::{Error, Kind};

use crate::clock::Clock;
use crate::error::failed;
use crate::held::Held;
use crate::job::Job;
use crate::node;
use crate::queue::Group;

/// How much time is reserved at once: so far a restart may put the clock ahead of the wall, and so long no commit has to
/// write the time beside what it is there for.
const AHEAD: Duration = Duration::from_millis(100);

/// How long SQLite itself waits for others at a time.
const SLICE: Duration = Duration::from_millis(250);
/// After so long it is told that others hold the file.
const TOLD_AFTER: Duration = Duration::from_secs(2);
/// So long a transaction of others is waited for. What is asked for meanwhile waits in memory, which has a limit too; then it
/// fails, and is read again before it is tried again.
const LONGEST: Duration = Duration::from_secs(60);

/// Its parts are dropped in this order: the owner's lock only after the file was closed.
pub(crate) struct Writer {
    connection: Connection,
    _owner: File,
    clock: Arc<Clock>,
    /// No time after this is in the file: the clock starts here when it is opened again.
    reserved: Time,
    counts: Counts,
}

/// What the writer counts, for others to see.
pub(crate) struct Counts {
    pub(crate) commits: Arc<AtomicU64>,
    pub(crate) held: Arc<Held>,
}

/// Jobs, each with what became of it: to be told once nothing is locked.
pub(crate) type Outcome = Vec<(Box<dyn Job>, Result<(), Error>)>;

/// How the jobs of one transaction stand to each other.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Manner {
    /// Without savepoints, which cost a fifth of all processor time: the first that fails takes all with it.
    Together,
    /// Each in a savepoint of its own: what fails is rolled back alone.
    Apart,
}

/// Why nothing of a group was done.
enum Fault {
    Sql(rusqlite::Error),
    /// A job failed, and could not be rolled back alone.
    Job,
    Panic(String),
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self::Sql(error)
    }
}

impl Writer {
    pub(crate) fn new(
        connection: Connection,
        owner: File,
        clock: Arc<Clock>,
        reserved: Time,
        counts: Counts,
    ) -> Self {
        let _ = connection.busy_timeout(SLICE);
        Self { connection, _owner: owner, clock, reserved, counts }
    }

    /// Begins the next transaction, if that needs no waiting: another connection to the file may be writing.
    pub(crate) fn begin_at_once(&self) -> bool {
        let _ = self.connection.busy_timeout(Duration::ZERO);
        let begun = self.execute("BEGIN IMMEDIATE").is_ok();
        let _ = self.connection.busy_timeout(SLICE);
        begun
    }

    /// Begins the next transaction. While somebody else writes the file, all wait: what is asked for is not lost, and goes on as
    /// soon as they have ended. Nobody can write meanwhile, so that no lease can be taken from anybody: all that are running are
    /// made longer by that time.
    fn begin(&self) -> rusqlite::Result<()> {
        let asked = self.clock.now();
        #[expect(
            clippy::disallowed_methods,
            reason = "how long others hold the file is not the store's time"
        )]
        let began = Instant::now();
        let mut told = false;
        let mut busy = false;
        let done = loop {
            match self.execute("BEGIN IMMEDIATE") {
                Err(error) if is_busy(&error) && began.elapsed() < LONGEST => busy = true,
                done => break done,
            }
            self.counts.held.saw();
            if began.elapsed() >= TOLD_AFTER && !told {
                told = true;
                tracing::warn!(
                    "another program's transaction holds the store's file for {:?}: all writes wait until it ends; keep \
                     transactions on this file short, and nothing slow inside of them",
                    began.elapsed()
                );
            }
        };
        if busy {
            self.counts.held.was_for(began.elapsed());
        }
        if told {
            tracing::warn!(waited = ?began.elapsed(), "the store's file was held by another program's transaction");
        }
        done?;
        if busy { node::prolong(&self.connection, asked, self.clock.now()) } else { Ok(()) }
    }

    /// The body of the writer's loop: carries a group out in one transaction. When this returns, all that is `Ok` is
    /// durable, the connection is in no transaction, and nobody was told yet.
    pub(crate) fn carry_out(&mut self, mut group: Group) -> Outcome {
        let mut done = self.attempt(&mut group, Manner::Together);
        if let Err(Fault::Job) = done {
            done = self.attempt(&mut group, Manner::Apart);
        }
        match done {
            Ok(results) => group.into_iter().zip(results).collect(),
            Err(fault) => {
                let error = fault.for_all();
                group.into_iter().map(|job| (job, Err(error()))).collect()
            }
        }
    }

    fn attempt(&mut self, group: &mut Group, manner: Manner) -> Result<Vec<Result<(), Error>>, Fault> {
        // A clock that panics must not end the writer either.
        let done = catch_unwind(AssertUnwindSafe(|| self.transact(group, manner)));
        // Whatever went wrong, the next group begins anew.
        if !self.connection.is_autocommit() {
            let _ = self.execute("ROLLBACK");
        }
        done.unwrap_or_else(|panic| Err(Fault::Panic(words(&*panic))))
    }

    fn transact(&mut self, group: &mut Group, manner: Manner) -> Result<Vec<Result<(), Error>>, Fault> {
        steadfast_store::failpoint!("writer.before_begin");
        if self.connection.is_autocommit() {
            self.begin()?;
        }
        // Not before: others may have held the file for long.
        let now = self.clock.now();
        let reserved = if now > self.reserved { now + AHEAD } else { self.reserved };
        if reserved > self.reserved {
            node::reserve(&self.connection, reserved)?;
        }
        let results =
            group.iter_mut().map(|job| self.run(&mut **job, now, manner)).collect::<Result<_, _>>()?;
        steadfast_store::failpoint!("writer.before_commit");
        self.execute("COMMIT")?;
        steadfast_store::failpoint!("writer.after_commit");
        self.reserved = reserved;
        self.counts.commits.fetch_add(1, Ordering::Relaxed);
        Ok(results)
    }

    fn run(&self, job: &mut dyn Job, now: Time, manner: Manner) -> Result<Result<(), Error>, Fault> {
        if manner == Manner::Apart {
            self.execute("SAVEPOINT job")?;
        }
        let done = catch_unwind(AssertUnwindSafe(|| job.run(&self.connection, now)));
        steadfast_store::failpoint!("writer.between_jobs");
        let result = match done {
            Ok(Ok(())) => Ok(()),
            // SQLite ends the transaction itself when there is no going on: no room, no memory, a broken disk.
            Ok(Err(error)) if self.connection.is_autocommit() => return Err(Fault::Sql(error)),
            _ if manner == Manner::Together => return Err(Fault::Job),
            Ok(Err(error)) => Err(failed(error)),
            Err(panic) => Err(panicked(&words(&*panic))),
        };
        if manner == Manner::Apart {
            if result.is_err() {
                self.execute("ROLLBACK TO job")?;
            }
            self.execute("RELEASE job")?;
        }
        Ok(result)
    }

    fn execute(&self, sql: &str) -> rusqlite::Result<()> {
        self.connection.prepare_cached(sql)?.execute([]).map(drop)
    }
}

impl Fault {
    /// The same error, as often as it is needed.
    fn for_all(self) -> Box<dyn Fn() -> Error> {
        match self {
            Self::Sql(error) => {
                let error = Arc::new(error);
                Box::new(move || failed(Arc::clone(&error)))
            }
            Self::Job => {
                Box::new(|| Error::new(Kind::Unavailable, "another write of the same commit failed"))
            }
            Self::Panic(words) => Box::new(move || panicked(&words)),
        }
    }
}

fn is_busy(error: &rusqlite::Error) -> bool {
    matches!(error.sqlite_error_code(), Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked))
}

fn panicked(words: &str) -> Error {
    Error::new(
        Kind::Unavailable,
        format!("the store failed, and has rolled this back; please report it: {words}"),
    )
}

fn words(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "a panic without words".to_owned())
}
