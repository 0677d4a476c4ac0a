//! Fills a store with copies of a recorded task, by SQL.

use std::ops::Range;
use std::path::Path;

use anyhow::Result;
use rusqlite::Connection;
use rusqlite::types::Value;

use super::recording::{Recording, Slot, Stage, TABLES, Write};

/// The id of the `i`th copy, and its key.
const ID: &str = "unhex(printf('%032x', i))";
const KEY: &str = "printf('order-%08d', i)";

impl Recording {
    /// Adds copies of the task as it was once it was submitted and its first step ran, with these numbers, submitted at
    /// this time: their attempts are not due for a minute from then.
    ///
    /// # Errors
    /// The file's.
    pub fn add_running(&self, path: &Path, tasks: Range<u64>, at_ms: u64) -> Result<()> {
        add(path, &self.stages[0], tasks, at_ms)
    }

    /// Adds copies of the task as it was in the end.
    ///
    /// # Errors
    /// The file's.
    pub fn add_finished(&self, path: &Path, tasks: Range<u64>, at_ms: u64) -> Result<()> {
        add(path, &self.end, tasks, at_ms)
    }
}

/// All rows of one table in one statement, task after task, as they are ordered in the file.
fn add(path: &Path, rows: &Stage, tasks: Range<u64>, at_ms: u64) -> Result<()> {
    if tasks.is_empty() {
        return Ok(());
    }
    // The engine's store makes the file.
    drop(steadfast_store_sqlite::Sqlite::open(path, || steadfast_engine::Time::from_millis(0))?);
    let connection = Connection::open(path)?;
    // Filling need not survive a loss of power, and has the memory that it needs.
    connection.execute_batch("PRAGMA synchronous = OFF; PRAGMA cache_size = -262144; BEGIN IMMEDIATE")?;
    for (table, _) in TABLES {
        let of_table = format!("INSERT INTO {table} ");
        let writes: Vec<_> = rows.writes.iter().filter(|write| write.sql.starts_with(&of_table)).collect();
        if let Some(first) = writes.first() {
            let into = first.sql.split(" VALUES").next().unwrap_or_default();
            connection.execute_batch(&copies(into, &writes, &tasks, at_ms))?;
        }
    }
    connection.execute_batch("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")?;
    connection.close().map_err(|(_, error)| error)?;
    // What is measured next must not wait until the disk has all of this.
    Ok(std::fs::File::open(path)?.sync_all()?)
}

fn copies(into: &str, writes: &[&Write], tasks: &Range<u64>, at_ms: u64) -> String {
    let row = |write: &&Write| {
        let values: Vec<_> = write.values.iter().map(|slot| literal(slot, at_ms)).collect();
        format!("({})", values.join(", "))
    };
    let rows: Vec<_> = writes.iter().map(row).collect();
    let columns = writes[0].values.iter().enumerate().map(|(nth, slot)| match slot {
        Slot::Task => ID.to_owned(),
        Slot::Key => KEY.to_owned(),
        _ => format!("v.column{}", nth + 1),
    });
    let columns: Vec<_> = columns.collect();
    format!(
        "WITH RECURSIVE n (i) AS (SELECT {} UNION ALL SELECT i + 1 FROM n WHERE i < {})
         {into} SELECT {} FROM n CROSS JOIN (VALUES {}) v",
        tasks.start,
        tasks.end - 1,
        columns.join(", "),
        rows.join(", ")
    )
}

fn literal(slot: &Slot, at_ms: u64) -> String {
    match slot {
        Slot::Fixed(value) => match value {
            Value::Null => "NULL".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => number.to_string(),
            Value::Text(text) => format!("'{}'", text.replace('\'', "''")),
            Value::Blob(blob) => {
                let digits: String = blob.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("x'{digits}'")
            }
        },
        Slot::Time(behind) => format!("{at_ms} + {behind}"),
        Slot::Task | Slot::Key => "NULL".to_owned(),
    }
}
