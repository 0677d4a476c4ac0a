//! Whether what is in the file contradicts itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use rusqlite::{Connection, Row, params};
use steadfast_engine::{Head, StepId};
use steadfast_store::{Error, Finding, FindingKind, Kind, MAX_FINDINGS, TaskId, Verified};

use crate::codec::{id, millis, state, unpack_head, unpack_record};
use crate::error::{failed_at, is_of_a_row};
use crate::open;
use crate::reader::Snapshot;
use crate::task::task_id;
use crate::{label, whole};

/// Tasks of one look: some twenty milliseconds in which the log is not begun anew.
const LOOKED_AT: i64 = 256;
/// Behind all ids.
const LAST: [u8; 17] = [u8::MAX; 17];
/// Tables whose rows belong to a task.
const OF_TASKS: [(&str, &str); 5] = [
    ("steadfast_steps", "steps"),
    ("steadfast_payloads", "payloads"),
    ("steadfast_mail", "mail"),
    ("steadfast_history", "history"),
    ("steadfast_labels", "labels"),
];

/// What SQLite says of the file.
pub(crate) fn file(connection: &Connection) -> rusqlite::Result<Vec<Finding>> {
    let mut check = connection.prepare(&format!("PRAGMA integrity_check({MAX_FINDINGS})"))?;
    let lines: Vec<String> = check.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(lines.into_iter().filter(|line| line != "ok").map(Finding::of_file).collect())
}

/// Looks at tasks behind an id, and at rows of nobody among them. All that it sees is of one moment.
pub(crate) fn slice(connection: &Connection, behind: Option<TaskId>) -> rusqlite::Result<Verified> {
    let snapshot = Snapshot::of(connection)?;
    let transaction = snapshot.0;
    let from = behind.map(|task| id(task.as_u128()).to_vec()).unwrap_or_default();
    let sql = "SELECT id FROM steadfast_tasks WHERE id > ? ORDER BY id LIMIT ?";
    let mut find = transaction.prepare_cached(sql)?;
    let tasks: Vec<TaskId> =
        find.query_map(params![from, LOOKED_AT], |row| task_id(row, 0))?.collect::<rusqlite::Result<_>>()?;
    let full = i64::try_from(tasks.len()) == Ok(LOOKED_AT);
    let behind = tasks.last().copied().filter(|_| full);
    let mut findings = Vec::new();
    let mut shapes = HashMap::<Shape, Vec<(TaskId, usize)>>::new();
    for task in &tasks {
        match look(transaction, *task, &mut findings) {
            Ok(Some((shape, steps))) => shapes.entry(shape).or_default().push((*task, steps)),
            Ok(None) => {}
            Err(error) if is_of_a_row(&error) => {
                let words = format!("a row of it cannot be read: {error}");
                findings.push(Finding::of_task(FindingKind::Unreadable, *task, words));
            }
            Err(error) => return Err(error),
        }
    }
    incomplete(&shapes, &mut findings);
    let until = behind.map_or_else(|| LAST.to_vec(), |task| id(task.as_u128()).to_vec());
    orphans(transaction, &from, &until, &mut findings)?;
    let looked_at = u64::try_from(tasks.len()).unwrap_or(u64::MAX);
    Ok(Verified { looked_at, findings, behind })
}

/// Workflow, version and shape: tasks that have them in common have as many steps.
type Shape = (String, u32, u64);

/// Looks at one task; its shape, and how many steps it has.
fn look(
    transaction: &Connection,
    task: TaskId,
    findings: &mut Vec<Finding>,
) -> rusqlite::Result<Option<(Shape, usize)>> {
    let Some(whole) = whole::read(transaction, task)? else { return Ok(None) };
    for words in columns(transaction, task)? {
        findings.push(Finding::of_task(FindingKind::Column, task, words));
    }
    for words in step_columns(transaction, task)? {
        findings.push(words);
    }
    let labels = whole.payloads.iter().find(|(place, _)| *place == Some(StepId::OF_LABELS));
    if !label::is_indexed(transaction, id(task.as_u128()), labels.map_or(&[], |(_, labels)| labels))? {
        let words = "the labels by which it is found are not those that it has";
        findings.push(Finding::of_task(FindingKind::Column, task, words));
    }
    findings.extend(whole.check());
    let stored = &whole.stored;
    Ok(Some(((stored.workflow.to_string(), stored.version, stored.shape), stored.task.steps().len())))
}

/// Columns of a task that say otherwise than its packed row.
fn columns(transaction: &Connection, task: TaskId) -> rusqlite::Result<Vec<String>> {
    let sql = "SELECT head, state, at_rest, deadline_ms, ending, owner IS NOT NULL, parked_on FROM steadfast_tasks WHERE id = ?";
    transaction.prepare_cached(sql)?.query_row([id(task.as_u128())], |row| {
        let head: Head = unpack_head(&row.get::<_, Vec<u8>>(0)?)?;
        let mut found = Vec::new();
        let mut compare = |name: &str, says: String, packed: String| {
            if says != packed {
                found.push(format!("its column `{name}` says {says}, its row {packed}"));
            }
        };
        let text = |number: Option<i64>| number.map_or_else(|| "nothing".to_owned(), |one| one.to_string());
        compare("state", row.get::<_, i64>(1)?.to_string(), state(head.state).to_string());
        compare("at_rest", row.get::<_, bool>(2)?.to_string(), head.state.is_at_rest().to_string());
        compare("deadline_ms", text(row.get(3)?), text(head.deadline.map(millis)));
        compare("ending", row.get::<_, bool>(4)?.to_string(), head.ending.is_some().to_string());
        if let (true, Some(service)) = (row.get::<_, bool>(5)?, row.get::<_, Option<String>>(6)?) {
            found.push(format!("it has an owner, and is parked on `{service}`"));
        }
        Ok(found)
    })
}

/// Rows of steps: each in its place, and their columns as the packed row says.
fn step_columns(transaction: &Connection, task: TaskId) -> rusqlite::Result<Vec<Finding>> {
    let sql = "SELECT ordinal, attempt, complete_by_ms, record FROM steadfast_steps WHERE task = ? ORDER BY ordinal";
    let mut find = transaction.prepare_cached(sql)?;
    let mut rows = find.query([id(task.as_u128())])?;
    let (mut found, mut place) = (Vec::new(), 0_i64);
    while let Some(row) = rows.next()? {
        let ordinal: i64 = row.get(0)?;
        // Items have rows once they have begun.
        let is_item = u16::try_from(ordinal).is_ok_and(|place| StepId::at(place).item().is_some());
        if ordinal != place && !is_item {
            let words = format!("step {ordinal} stands where step {place} should: a row is missing");
            found.push(Finding::of_task(FindingKind::Steps, task, words));
            return Ok(found);
        }
        place += 1;
        found
            .extend(step_column(row)?.map(|words| {
                Finding::of_task(FindingKind::Column, task, format!("step {ordinal}: {words}"))
            }));
    }
    Ok(found)
}

fn step_column(row: &Row<'_>) -> rusqlite::Result<Option<String>> {
    let record = unpack_record(&row.get::<_, Vec<u8>>(3)?)?;
    let (attempt, due) = (row.get::<_, u32>(1)?, row.get::<_, Option<i64>>(2)?);
    Ok(if attempt != record.attempt {
        Some(format!("its column `attempt` says {attempt}, its row {}", record.attempt))
    } else if due != record.complete_by.map(millis) {
        Some("its column `complete_by_ms` says otherwise than its row".to_owned())
    } else {
        None
    })
}

/// Tasks that have fewer steps than others of their shape.
fn incomplete(shapes: &HashMap<Shape, Vec<(TaskId, usize)>>, findings: &mut Vec<Finding>) {
    for tasks in shapes.values() {
        let most = tasks.iter().map(|(_, steps)| *steps).max().unwrap_or(0);
        findings.extend(tasks.iter().filter(|(_, steps)| *steps < most).map(|(task, steps)| {
            let words = format!("it has rows of {steps} steps, others of the same workflow have {most}");
            Finding::of_task(FindingKind::Steps, *task, words)
        }));
    }
}

/// Rows of tasks that do not exist.
fn orphans(
    transaction: &Connection,
    from: &[u8],
    until: &[u8],
    findings: &mut Vec<Finding>,
) -> rusqlite::Result<()> {
    for (table, what) in OF_TASKS {
        let sql = format!(
            "SELECT DISTINCT task FROM {table} WHERE task > ?1 AND task <= ?2
                 AND NOT EXISTS (SELECT 1 FROM steadfast_tasks WHERE id = task) LIMIT {MAX_FINDINGS}"
        );
        let mut find = transaction.prepare_cached(&sql)?;
        let mut rows = find.query(params![from, until])?;
        while let Some(row) = rows.next()? {
            let words = format!("there are rows of its {what}, and no such task");
            let task = row.get::<_, Vec<u8>>(0)?.try_into().map(u128::from_be_bytes);
            findings.push(match task {
                Ok(task) => Finding::of_task(FindingKind::Orphan, TaskId::from_u128(task), words),
                Err(_) => Finding::of_file(format!("rows in {table} have no id of a task")),
            });
        }
    }
    Ok(())
}

/// Looks at a file that no engine has open, such as a backup; all of it. Nothing is changed.
///
/// # Errors
/// `Owned` when an engine has it open: ask that one. What the disk says; a file that is no store.
pub fn verify_file(path: impl AsRef<Path>) -> Result<Verified, Error> {
    let path = path.as_ref();
    let failed = |error| failed_at(path, error);
    if !path.is_file() {
        let words = format!("there is no file {}: name one that is there", path.display());
        return Err(Error::new(Kind::ReadOnly, words));
    }
    let owner =
        PathBuf::from([path.as_os_str(), ".owner".as_ref()].into_iter().collect::<std::ffi::OsString>());
    // One that was never opened has none, and is given none.
    let _owner = if owner.is_file() { Some(open::lock(path, path)?) } else { None };
    let connection = open::reader(path).map_err(failed)?;
    let mut whole = Verified { findings: file(&connection).map_err(failed)?, ..Verified::default() };
    loop {
        let part = slice(&connection, whole.behind).map_err(failed)?;
        whole.looked_at += part.looked_at;
        whole.findings.extend(part.findings);
        whole.findings.truncate(MAX_FINDINGS);
        whole.behind = part.behind;
        if whole.behind.is_none() {
            return Ok(whole);
        }
    }
}
