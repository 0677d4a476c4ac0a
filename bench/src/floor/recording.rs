//! The rows of one of the engine's tasks after each of its commits, and what was written in between.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Result, ensure};
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags};
use steadfast::Engine;
use steadfast::resilience::clock::Clock;
use tokio::sync::Semaphore;

use crate::engine::{Order, order};

/// The tables that have rows for each task, with the columns that name a row.
pub(crate) const TABLES: [(&str, &[&str]); 5] = [
    ("steadfast_tasks", &["id"]),
    ("steadfast_steps", &["task", "ordinal"]),
    ("steadfast_payloads", &["task", "ordinal"]),
    ("steadfast_mail", &["task", "number"]),
    ("steadfast_history", &["task", "revision"]),
];

/// What one transaction writes for a task.
#[derive(Clone, Debug, Default)]
pub(crate) struct Stage {
    pub(crate) writes: Vec<Write>,
}

/// One statement, with what is bound to it.
#[derive(Clone, Debug)]
pub(crate) struct Write {
    pub(crate) sql: String,
    pub(crate) values: Vec<Slot>,
}

/// A value to bind: the same for all tasks, or another for each.
#[derive(Clone, Debug)]
pub(crate) enum Slot {
    Fixed(Value),
    Task,
    Key,
    /// Milliseconds behind the task's submission.
    Time(i64),
}

/// What the engine writes for a task, transaction by transaction.
#[derive(Clone, Debug)]
pub struct Recording {
    pub(crate) stages: Vec<Stage>,
    /// All rows that it has in the end.
    pub(crate) end: Stage,
    /// When it was submitted, in milliseconds since 1970.
    pub(crate) at_ms: i64,
    /// Rows that the task has in the end.
    pub rows: usize,
    /// Rows that were inserted or updated for it.
    pub writes: usize,
    /// The bytes of all values of its rows in the end.
    pub bytes: usize,
}

impl Recording {
    /// Runs one task of the engine in this file, holding it after each commit.
    ///
    /// # Errors
    /// The engine's and the file's.
    pub async fn of_a_task(path: &Path) -> Result<Self> {
        let gate = Arc::new(Semaphore::new(0));
        let flow = order(Some(&gate))?;
        let address = format!("sqlite:{}", path.display());
        let engine = Engine::builder(address).workflow(&flow).start().await?;
        let task = engine.submit(&flow, &Order::chair()).key("order-00000000").await?;
        let id = task.id().as_u128().to_be_bytes();
        let reader = Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY)?;
        let mut seen = vec![Snapshot::of(&reader, &id)?];
        for completed in 1..=3 {
            gate.add_permits(1);
            while task.history().await?.len() < completed {
                Clock::system().sleep(Duration::from_millis(1)).await;
            }
            seen.push(Snapshot::of(&reader, &id)?);
        }
        drop(reader);
        engine.shut_down().await?;
        Self::between(&seen, &id)
    }

    fn between(seen: &[Snapshot], id: &[u8]) -> Result<Self> {
        let task = Value::Blob(id.to_vec());
        let at_ms = seen[0].tables[0].value(0, "submitted_at_ms");
        let Some(Value::Integer(at_ms)) = at_ms else { anyhow::bail!("the task was not stored") };
        let slot = |column: &str, value: &Value| match value {
            value if *value == task => Slot::Task,
            Value::Integer(time) if column.ends_with("_ms") => Slot::Time(time - at_ms),
            Value::Text(_) if column == "key" => Slot::Key,
            value => Slot::Fixed(value.clone()),
        };
        let mut stages = Vec::new();
        let nothing = Snapshot::default();
        let mut before = &nothing;
        for after in seen {
            stages.push(Stage { writes: after.since(before, &slot) });
            before = after;
        }
        ensure!(stages.len() == 4, "a task of three steps has four commits");
        let rows = before.tables.iter().map(|table| table.rows.len()).sum();
        let bytes = before.tables.iter().flat_map(|table| table.rows.iter().flatten()).map(size).sum();
        let writes = stages.iter().map(|stage: &Stage| stage.writes.len()).sum();
        let end = Stage { writes: before.since(&nothing, &slot) };
        Ok(Self { stages, end, at_ms: *at_ms, rows, writes, bytes })
    }
}

/// As SQLite stores it, without the byte of its type.
fn size(value: &Value) -> usize {
    match value {
        Value::Null | Value::Integer(0 | 1) => 0,
        Value::Integer(number) => match number.unsigned_abs() {
            ..0x80 => 1,
            0x80..0x8000 => 2,
            0x8000..0x80_0000 => 3,
            0x80_0000..0x8000_0000 => 4,
            0x8000_0000..0x8000_0000_0000 => 6,
            _ => 8,
        },
        Value::Real(_) => 8,
        Value::Text(text) => text.len(),
        Value::Blob(blob) => blob.len(),
    }
}

/// All rows of a task.
#[derive(Debug, Default)]
struct Snapshot {
    tables: Vec<Table>,
}

#[derive(Debug)]
struct Table {
    name: &'static str,
    key: &'static [&'static str],
    columns: Vec<String>,
    rows: Vec<Vec<Value>>,
}

impl Snapshot {
    fn of(reader: &Connection, id: &[u8]) -> Result<Self> {
        let tables = TABLES.iter().map(|(name, key)| Table::of(reader, name, key, id));
        Ok(Self { tables: tables.collect::<rusqlite::Result<_>>()? })
    }

    /// What was written since an earlier one: rows that are new, and columns that differ.
    fn since(&self, before: &Self, slot: &impl Fn(&str, &Value) -> Slot) -> Vec<Write> {
        let mut writes = Vec::new();
        for (nth, table) in self.tables.iter().enumerate() {
            for row in &table.rows {
                let same = |old: &&Vec<Value>| table.names_of(old) == table.names_of(row);
                let old = before.tables.get(nth).and_then(|table| table.rows.iter().find(same));
                writes.extend(match old {
                    None => Some(table.insert(row, slot)),
                    Some(old) => table.update(old, row, slot),
                });
            }
        }
        writes
    }
}

impl Table {
    fn of(
        reader: &Connection,
        name: &'static str,
        key: &'static [&'static str],
        id: &[u8],
    ) -> rusqlite::Result<Self> {
        let mut find = reader.prepare(&format!("SELECT * FROM {name} WHERE {} = ? ORDER BY 1, 2", key[0]))?;
        let columns: Vec<_> = find.column_names().map(str::to_owned).collect();
        let width = columns.len();
        let rows = find.query_map([id], |row| (0..width).map(|nth| row.get(nth)).collect())?;
        let rows = rows.collect::<rusqlite::Result<_>>()?;
        Ok(Self { name, key, columns, rows })
    }

    fn value(&self, row: usize, column: &str) -> Option<&Value> {
        let nth = self.columns.iter().position(|name| name == column)?;
        self.rows.get(row)?.get(nth)
    }

    /// What names a row.
    fn names_of<'a>(&self, row: &'a [Value]) -> Vec<&'a Value> {
        let is_key = |(column, _): &(&String, &Value)| self.key.contains(&column.as_str());
        self.columns.iter().zip(row).filter(is_key).map(|(_, value)| value).collect()
    }

    fn insert(&self, row: &[Value], slot: impl Fn(&str, &Value) -> Slot) -> Write {
        let marks = vec!["?"; row.len()].join(", ");
        let sql = format!("INSERT INTO {} ({}) VALUES ({marks})", self.name, self.columns.join(", "));
        let values = self.columns.iter().zip(row).map(|(column, value)| slot(column, value)).collect();
        Write { sql, values }
    }

    fn update(&self, old: &[Value], row: &[Value], slot: impl Fn(&str, &Value) -> Slot) -> Option<Write> {
        let cells = || self.columns.iter().zip(row);
        let changed: Vec<_> =
            cells().zip(old).filter(|((_, new), old)| new != old).map(|(cell, _)| cell).collect();
        if changed.is_empty() {
            return None;
        }
        let key = cells().filter(|(column, _)| self.key.contains(&column.as_str()));
        let list = |cells: &[(&String, &Value)], between: &str| {
            let named: Vec<_> = cells.iter().map(|(column, _)| format!("{column} = ?")).collect();
            named.join(between)
        };
        let key: Vec<_> = key.collect();
        let sql = format!("UPDATE {} SET {} WHERE {}", self.name, list(&changed, ", "), list(&key, " AND "));
        let values = changed.iter().chain(&key).map(|(column, value)| slot(column, value)).collect();
        Some(Write { sql, values })
    }
}
