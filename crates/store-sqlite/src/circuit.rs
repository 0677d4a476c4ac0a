//! What is known of services' circuits.

use std::sync::Arc;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_store::{Circuit, Kept, Payload};

use crate::write::number;

pub(crate) fn all(transaction: &Connection) -> rusqlite::Result<Vec<Circuit>> {
    let sql = "SELECT service, version, body FROM steadfast_circuits ORDER BY service";
    transaction.prepare_cached(sql)?.query_map([], read)?.collect()
}

/// Writes one, if nobody has since it was read.
pub(crate) fn keep(transaction: &Connection, circuit: &Circuit) -> rusqlite::Result<Kept> {
    let sql = match circuit.version {
        0 => {
            "INSERT INTO steadfast_circuits (service, version, body) VALUES (?1, ?2 + 1, ?3) ON CONFLICT DO NOTHING"
        }
        _ => "UPDATE steadfast_circuits SET version = ?2 + 1, body = ?3 WHERE service = ?1 AND version = ?2",
    };
    let mut put = transaction.prepare_cached(sql)?;
    if put.execute(params![&*circuit.service, number(circuit.version), &*circuit.body])? == 1 {
        return Ok(Kept::Done(circuit.version + 1));
    }
    let sql = "SELECT service, version, body FROM steadfast_circuits WHERE service = ?";
    transaction.prepare_cached(sql)?.query_row([&*circuit.service], read).optional().map(Kept::Other)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Circuit> {
    Ok(Circuit {
        service: Arc::from(row.get::<_, String>(0)?),
        version: row.get::<_, i64>(1)?.unsigned_abs(),
        body: Payload::from(row.get::<_, Vec<u8>>(2)?),
    })
}
