//! Tasks that wait for a service.

use std::sync::Arc;

use rusqlite::{Connection, Row, params};
use steadfast_engine::Time;
use steadfast_store::{Claimed, NodeId};

use crate::aside::Found;
use crate::codec::millis;
use crate::task::{claim_of, task_id};

/// Those that wait for a service, highest priority and nearest deadline first.
pub(crate) const PARKED: &str = "SELECT id FROM steadfast_tasks
    WHERE parked_on = ?1 AND parked_on IS NOT NULL AND owner IS NULL AND at_rest = 0
        AND ifnull(deadline_ms, 9223372036854775807) >= ?2
    ORDER BY priority DESC, ifnull(deadline_ms, 9223372036854775807), id LIMIT ?3";
/// The next service on which something is parked, with how much.
pub(crate) const NEXT_SERVICE: &str = "SELECT parked_on, count(*) FROM steadfast_tasks
    WHERE parked_on > ?1 AND parked_on IS NOT NULL AND owner IS NULL AND at_rest = 0
    GROUP BY parked_on ORDER BY parked_on LIMIT 1";

pub(crate) fn claim(
    transaction: &Connection,
    node: NodeId,
    service: &str,
    from: Time,
    most: usize,
    now: Time,
) -> rusqlite::Result<Found<Claimed>> {
    claim_of(transaction, node, most, now, |room| {
        let mut find = transaction.prepare_cached(PARKED)?;
        find.query_map(params![service, millis(from), room], |row| task_id(row, 0))?.collect()
    })
}

pub(crate) fn services(transaction: &Connection) -> rusqlite::Result<Vec<(Arc<str>, u64)>> {
    let mut find = transaction.prepare_cached(NEXT_SERVICE)?;
    let mut services = Vec::<(Arc<str>, u64)>::new();
    let read = |row: &Row<'_>| Ok((row.get::<_, String>(0)?, row.get::<_, i64>(1)?));
    loop {
        let last = services.last().map_or("", |(service, _)| service);
        match find.query_map([last], read)?.next().transpose()? {
            Some((service, count)) => services.push((Arc::from(service), count.unsigned_abs())),
            None => return Ok(services),
        }
    }
}
