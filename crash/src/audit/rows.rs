//! The tables, read by SQL of the auditor's own. Nothing of the store's code is used but the form of its blobs.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, bail};
use rusqlite::{Connection, OpenFlags};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use steadfast_engine::{Head, HeadMore, Record, RecordMore, StepId, Task};
use steadfast_store::TaskId;

use crate::world;

/// The first byte of a blob of the form that is known here.
const FORM: u8 = 1;
/// The same with what only some have behind it.
const WITH_MORE: u8 = 5;

/// All that is stored of tasks.
#[derive(Debug, Default)]
pub struct Rows {
    /// By id.
    pub tasks: BTreeMap<String, Row>,
    /// Tasks with a message that waits to be delivered.
    pub telling: BTreeSet<String>,
    /// What SQLite itself, or the rows among each other, say is wrong.
    pub damage: Vec<String>,
}

/// One task.
#[derive(Debug)]
pub struct Row {
    /// Its id.
    pub id: String,
    /// Which workflow.
    pub workflow: String,
    /// The key that it was submitted under.
    pub key: String,
    /// The number in its input.
    pub number: u32,
    /// Its rows.
    pub task: Task,
}

impl Row {
    /// Whether another task has asked for it: nobody submits a saga of that number.
    pub(super) fn is_asked_for(&self) -> bool {
        self.workflow == world::SAGA && world::workflow_of(self.number) == world::PARENT
    }

    pub(super) fn name(&self) -> String {
        format!("{} ({} {})", self.id, self.workflow, self.key)
    }
}

/// What only some rows of a change have, by their place in it.
#[derive(Default, Deserialize)]
struct More {
    head: Option<Box<HeadMore>>,
    steps: Vec<(usize, Box<RecordMore>)>,
}

#[derive(Deserialize)]
struct Change {
    head: Option<Head>,
    steps: Vec<(StepId, Record)>,
}

impl Rows {
    /// Reads a store's file; nobody else may have it open.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn read(path: &Path) -> Result<Self> {
        // Not read-only: after a crash SQLite has to recover its log first. No row is written.
        let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
        let connection = Connection::open_with_flags(path, flags)?;
        connection.pragma_update(None, "query_only", true)?;
        let mut rows = Self::default();
        let health: String = connection.query_row("PRAGMA integrity_check", [], |row| row.get(0))?;
        if health != "ok" {
            rows.damage.push(format!("integrity_check: {health}"));
        }
        if has_tables(&connection)? {
            rows.fill(&connection)?;
        }
        Ok(rows)
    }

    fn fill(&mut self, connection: &Connection) -> Result<()> {
        let sql = "SELECT t.id, t.workflow, coalesce(t.key, ''), t.head, t.revision, p.body, t.at_rest
                   FROM steadfast_tasks t JOIN steadfast_payloads p ON p.task = t.id AND p.ordinal = -1";
        let mut find = connection.prepare(sql)?;
        let mut found = find.query([])?;
        while let Some(row) = found.next()? {
            let id: [u8; 16] = row.get(0)?;
            let (head, revision): (Head, i64) = (head(&row.get::<_, Vec<u8>>(3)?)?, row.get(4)?);
            let at_rest: bool = row.get(6)?;
            let name = TaskId::from_u128(u128::from_be_bytes(id)).to_string();
            if at_rest != head.state.is_at_rest() {
                self.damage.push(format!("task {name}: its columns and its head disagree"));
            }
            let task = Task::from_rows(head, steps(connection, id)?, []);
            let number = String::from_utf8(row.get(5)?)?.parse().context("an input is a number")?;
            let row = Row { id: name.clone(), workflow: row.get(1)?, key: row.get(2)?, number, task };
            self.check_history(connection, id, &row, revision)?;
            self.tasks.insert(name, row);
        }
        let mut find = connection.prepare("SELECT task FROM steadfast_outbox WHERE state = 0")?;
        let tasks = find.query_map([], |row| row.get::<_, Option<[u8; 16]>>(0))?;
        for task in tasks {
            let name = task?.map(|id| TaskId::from_u128(u128::from_be_bytes(id)).to_string());
            self.telling.insert(name.unwrap_or_default());
        }
        let count: i64 =
            connection.query_row("SELECT count(*) FROM steadfast_tasks", [], |row| row.get(0))?;
        if usize::try_from(count) != Ok(self.tasks.len()) {
            self.damage.push(format!("{count} tasks, {} of them with an input", self.tasks.len()));
        }
        Ok(())
    }

    /// The rows are what the history says, and nothing of it is missing. A task that is put aside while its service is away
    /// has writes that change no row of it, and are not in its history.
    fn check_history(
        &mut self,
        connection: &Connection,
        id: [u8; 16],
        row: &Row,
        revision: i64,
    ) -> Result<()> {
        let (name, task, put_aside) = (&row.id, &row.task, row.workflow == world::PARKED);
        let mut find = connection
            .prepare("SELECT revision, packed FROM steadfast_history WHERE task = ? ORDER BY revision")?;
        let mut found = find.query([id])?;
        let (mut folded, mut last) = (task.clone(), 0);
        while let Some(row) = found.next()? {
            let (next, change): (i64, Change) = (row.get(0)?, change(&row.get::<_, Vec<u8>>(1)?)?);
            if next != last + 1 && !(put_aside && next > last) {
                self.damage.push(format!("task {name}: revision {next} follows {last}"));
            }
            last = next;
            folded.put(change.head.as_ref(), &change.steps);
        }
        if last != revision && !(put_aside && last < revision) {
            self.damage.push(format!("task {name}: its history ends with {last}, not {revision}"));
        }
        if folded != *task {
            self.damage.push(format!("task {name}: its rows are not what its history says"));
        }
        Ok(())
    }
}

/// A file whose schema was never written has no tasks.
fn has_tables(connection: &Connection) -> Result<bool> {
    let sql = "SELECT count(*) FROM sqlite_schema WHERE name = 'steadfast_outbox'";
    Ok(connection.query_row(sql, [], |row| row.get::<_, i64>(0))? == 1)
}

fn steps(connection: &Connection, id: [u8; 16]) -> Result<Vec<Record>> {
    let mut find =
        connection.prepare_cached("SELECT record FROM steadfast_steps WHERE task = ? ORDER BY ordinal")?;
    let mut found = find.query([id])?;
    let mut steps = Vec::new();
    while let Some(row) = found.next()? {
        steps.push(record(&row.get::<_, Vec<u8>>(0)?)?);
    }
    Ok(steps)
}

/// A blob, with what only some have behind it.
fn unpack<T: DeserializeOwned, M: DeserializeOwned>(bytes: &[u8]) -> Result<(T, Option<M>)> {
    match bytes.split_first() {
        Some((&FORM, packed)) => Ok((postcard::from_bytes(packed)?, None)),
        Some((&WITH_MORE, packed)) => {
            let (value, rest) = postcard::take_from_bytes(packed)?;
            Ok((value, Some(postcard::from_bytes(rest)?)))
        }
        _ => bail!("a blob of another form"),
    }
}

fn head(bytes: &[u8]) -> Result<Head> {
    let (head, more) = unpack::<Head, HeadMore>(bytes)?;
    Ok(Head { more: more.map(Box::new), ..head })
}

fn record(bytes: &[u8]) -> Result<Record> {
    let (record, more) = unpack::<Record, RecordMore>(bytes)?;
    Ok(Record { more: more.map(Box::new), ..record })
}

fn change(bytes: &[u8]) -> Result<Change> {
    let (mut change, more) = unpack::<Change, More>(bytes)?;
    let more = more.unwrap_or_default();
    if let Some(head) = &mut change.head {
        head.more = more.head;
    }
    for (place, more) in more.steps {
        change.steps.get_mut(place).context("more of a step that is not there")?.1.more = Some(more);
    }
    Ok(change)
}
