//! The bare loop.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use super::recording::{Recording, Slot, Stage};
use crate::clock::now;
use anyhow::Result;
use rusqlite::{Connection, Statement};

/// A file with the engine's schema and settings that a bare loop writes.
#[derive(Debug)]
pub struct Floor {
    connection: Connection,
    recording: Recording,
    path: PathBuf,
    began: Instant,
    /// Tasks so far.
    pub tasks: u64,
    /// Rows that were inserted or updated so far, with those of the store's clock.
    pub writes: u64,
}

impl Floor {
    /// Makes the file as the engine makes it.
    ///
    /// # Errors
    /// The file's.
    pub fn new(path: &Path, recording: Recording) -> Result<Self> {
        // The engine's store makes the file; then it is left to the bare loop.
        drop(steadfast_store_sqlite::Sqlite::open(path, || steadfast_engine::Time::from_millis(0))?);
        let connection = Connection::open(path)?;
        for (name, value) in [("journal_mode", "wal"), ("synchronous", "2"), ("foreign_keys", "1")] {
            connection.pragma_update(None, name, value)?;
        }
        Ok(Self { connection, recording, path: path.to_owned(), began: now(), tasks: 0, writes: 0 })
    }

    /// Runs tasks, so many to a commit; how long each batch took.
    ///
    /// # Errors
    /// The file's.
    pub fn run(&mut self, batches: usize, tasks_each: u64) -> Result<Vec<Duration>> {
        let Self { connection, recording, began, .. } = self;
        let mut prepared = Prepared::new(connection, recording)?;
        let mut took = Vec::new();
        for _ in 0..batches {
            let start = now();
            for stage in 0..recording.stages.len() {
                let behind = i64::try_from(now().saturating_duration_since(*began).as_millis())?;
                let now_ms = recording.at_ms + behind;
                self.writes += prepared.commit(stage, self.tasks..self.tasks + tasks_each, now_ms)?;
            }
            took.push(now().saturating_duration_since(start));
            self.tasks += tasks_each;
        }
        Ok(took)
    }

    /// Closes the file; its size.
    ///
    /// # Errors
    /// The file's.
    pub fn close(self) -> Result<u64> {
        self.connection.close().map_err(|(_, error)| error)?;
        crate::engine::bytes(&self.path)
    }
}

/// All statements, prepared once.
struct Prepared<'c> {
    connection: &'c Connection,
    begin: Statement<'c>,
    tick: Statement<'c>,
    commit: Statement<'c>,
    stages: Vec<(&'c Stage, Vec<Statement<'c>>)>,
}

impl<'c> Prepared<'c> {
    fn new(connection: &'c Connection, recording: &'c Recording) -> Result<Self> {
        let prepare = |stage: &'c Stage| {
            let statements = stage.writes.iter().map(|write| connection.prepare(&write.sql));
            Ok((stage, statements.collect::<rusqlite::Result<_>>()?))
        };
        Ok(Self {
            connection,
            begin: connection.prepare("BEGIN IMMEDIATE")?,
            // The store reserves time for 100 ms at once.
            tick: connection.prepare("UPDATE steadfast_clock SET last_ms = ?1 + 100 WHERE last_ms < ?1")?,
            commit: connection.prepare("COMMIT")?,
            stages: recording.stages.iter().map(prepare).collect::<Result<_>>()?,
        })
    }

    /// One transaction: the writes of one stage for all of these tasks; how many rows that were.
    fn commit(&mut self, stage: usize, tasks: std::ops::Range<u64>, now_ms: i64) -> Result<u64> {
        let before = self.connection.total_changes();
        self.begin.execute([])?;
        self.tick.execute([now_ms])?;
        let (stage, statements) = &mut self.stages[stage];
        for task in tasks {
            // Sixteen bytes that grow, as the engine's ids do.
            let id = u128::from(task + 1).to_be_bytes();
            for (write, statement) in stage.writes.iter().zip(&mut *statements) {
                for (nth, slot) in (1..).zip(&write.values) {
                    match slot {
                        Slot::Fixed(value) => statement.raw_bind_parameter(nth, value)?,
                        Slot::Task => statement.raw_bind_parameter(nth, &id[..])?,
                        Slot::Key => statement.raw_bind_parameter(nth, format!("order-{task:08}"))?,
                        Slot::Time(behind) => statement.raw_bind_parameter(nth, now_ms + behind)?,
                    }
                }
                statement.raw_execute()?;
            }
        }
        self.commit.execute([])?;
        Ok(self.connection.total_changes() - before)
    }
}
