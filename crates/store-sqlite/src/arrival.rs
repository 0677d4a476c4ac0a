//! Submissions that others have handed in: read here, and taken in the write that makes tasks of them.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row, params};
use steadfast_engine::Time;
use steadfast_store::{Arrival, ArrivalId, Error, Intake, Payload, TaskId};

use crate::Sqlite;
use crate::codec::time;
use crate::write::number;

pub(crate) fn all(
    transaction: &Connection,
    behind: Option<ArrivalId>,
    most: usize,
) -> rusqlite::Result<Vec<Arrival>> {
    let sql = "SELECT number, id, namespace, workflow, version, key, priority, CAST(input AS BLOB), start_at_ms, reply_to,
               correlation FROM steadfast_inbox WHERE number > ? ORDER BY number LIMIT ?";
    let behind = behind.map_or(0, |behind| number(behind.0));
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    transaction.prepare_cached(sql)?.query_map(params![behind, most], read)?.collect()
}

/// Whatever others have written is read: what is no text is shown as well as it can be.
fn read(row: &Row<'_>) -> rusqlite::Result<Arrival> {
    let text = |column: usize| -> rusqlite::Result<Option<Arc<str>>> {
        Ok(match row.get_ref(column)? {
            ValueRef::Text(bytes) => Some(Arc::from(String::from_utf8_lossy(bytes))),
            _ => None,
        })
    };
    Ok(Arrival {
        id: ArrivalId(row.get::<_, i64>(0)?.unsigned_abs()),
        task: task(row.get_ref(1)?),
        namespace: text(2)?.unwrap_or_default(),
        workflow: text(3)?.unwrap_or_default(),
        version: row.get(4)?,
        key: text(5)?,
        priority: row.get(6)?,
        input: Payload::from(row.get::<_, Vec<u8>>(7)?),
        start_at: row.get::<_, Option<i64>>(8)?.map(time).filter(|at| *at > Time::default()),
        reply_to: text(9)?,
        correlation: text(10)?,
    })
}

fn task(id: ValueRef<'_>) -> Result<Option<TaskId>, String> {
    let bad = |id: &dyn std::fmt::Debug| Err(format!("{id:?} is no UUID: give 16 bytes, or the text of one"));
    match id {
        ValueRef::Null => Ok(None),
        ValueRef::Blob(bytes) => match <[u8; 16]>::try_from(bytes) {
            Ok(bytes) => Ok(Some(TaskId::from_u128(u128::from_be_bytes(bytes)))),
            Err(_) => bad(&bytes),
        },
        ValueRef::Text(bytes) => {
            let text = String::from_utf8_lossy(bytes);
            text.parse().map(Some).or_else(|_| bad(&text))
        }
        other => bad(&other),
    }
}

/// Whether it is still there.
pub(crate) fn is_there(transaction: &Connection, arrival: ArrivalId) -> rusqlite::Result<bool> {
    transaction.prepare_cached("SELECT 1 FROM steadfast_inbox WHERE number = ?")?.exists([number(arrival.0)])
}

/// It is a task now.
pub(crate) fn taken(transaction: &Connection, arrival: ArrivalId) -> rusqlite::Result<()> {
    transaction
        .prepare_cached("DELETE FROM steadfast_inbox WHERE number = ?")?
        .execute([number(arrival.0)])
        .map(drop)
}

impl Intake for Sqlite {
    fn has_outsiders(&self) -> bool {
        true
    }

    fn version(&self) -> impl Future<Output = Result<u64, Error>> + Send {
        self.inner.reader.version()
    }

    fn arrivals(
        &self,
        behind: Option<ArrivalId>,
        most: usize,
    ) -> impl Future<Output = Result<Vec<Arrival>, Error>> + Send {
        self.inner.reader.read(|transaction| all(transaction, behind, most))
    }

    fn held_up(&self) -> Duration {
        self.inner.held.total()
    }

    fn is_held_up(&self) -> bool {
        self.inner.held.is_now()
    }
}
