//! Replies to those who submitted.

use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use rusqlite::{Connection, OptionalExtension as _, Row, params};
use steadfast_engine::{StepId, Time};
use steadfast_store::{
    Addressed, Error, HandedReplies, Outgoing, Payload, PayloadKey, Replies, Reply, ReplyId, ReplyQueue,
    Settled, TaskId,
};

use crate::codec::{id, millis, time};
use crate::task::{payload, task_id};
use crate::write::number;
use crate::{ROWS, Sqlite};

/// Those whose turn it is, longest due first.
pub(crate) const DUE_REPLIES: &str = "SELECT task, number, at_ms, tries, body, brings FROM steadfast_replies
    WHERE first = 1 AND address = ?1 AND until_ms <= ?2 ORDER BY until_ms, task LIMIT ?3";
/// When there is one again.
pub(crate) const NEXT_REPLY: &str = "SELECT until_ms FROM steadfast_replies
    WHERE first = 1 AND address = ?1 AND until_ms > ?2 ORDER BY until_ms LIMIT 1";

/// What is kept of a task, of to whom it replies.
pub(crate) fn kept(transaction: &Connection, task: TaskId) -> rusqlite::Result<Option<Payload>> {
    payload(transaction, PayloadKey { task, step: Some(StepId::OF_REPLIES) })
}

/// How many wait for an address.
pub(crate) fn waiting(transaction: &Connection, address: &str) -> rusqlite::Result<u64> {
    let sql = "SELECT waiting FROM steadfast_reply_queues WHERE address = ?";
    let found =
        transaction.prepare_cached(sql)?.query_row([address], |row| row.get::<_, i64>(0)).optional()?;
    Ok(found.map_or(0, i64::unsigned_abs))
}

/// Stores a reply, behind all others of its task. What it brings is as this transaction has left it.
pub(crate) fn send(
    transaction: &Connection,
    task: TaskId,
    to: &Addressed,
    message: &Outgoing,
    now: Time,
) -> rusqlite::Result<()> {
    let passes = to.unless.is_some();
    if let Some(most) = to.unless {
        if waiting(transaction, &to.address)? >= most {
            return Ok(());
        }
        pass(transaction, task, &to.address)?;
    }
    let brings = match to.brings {
        Some(place) => payload(transaction, PayloadKey { task, step: Some(place) })?,
        None => None,
    };
    let sql = "INSERT INTO steadfast_replies (task, number, address, at_ms, first, passes, until_ms, body, brings)
               VALUES (?1, ?2, ?3, ?4, NOT EXISTS (SELECT 1 FROM steadfast_replies WHERE task = ?1), ?5, ?4, ?6, ?7)";
    transaction.prepare_cached(sql)?.execute(params![
        id(task.as_u128()),
        number(to.number),
        &*to.address,
        millis(now),
        passes,
        &*message.body,
        brings.as_deref(),
    ])?;
    let sql = "INSERT INTO steadfast_reply_queues (address, waiting) VALUES (?1, 1)
               ON CONFLICT (address) DO UPDATE SET waiting = waiting + 1";
    transaction.prepare_cached(sql)?.execute([&*to.address]).map(drop)
}

/// News that nobody has had yet, and that the next ones make worthless, are gone.
fn pass(transaction: &Connection, task: TaskId, address: &str) -> rusqlite::Result<()> {
    let sql = "DELETE FROM steadfast_replies WHERE task = ? AND passes = 1 AND tries = 0";
    match transaction.prepare_cached(sql)?.execute([id(task.as_u128())])? {
        0 => Ok(()),
        gone => left(transaction, task, address, i64::try_from(gone).unwrap_or(i64::MAX)),
    }
}

/// So many of a task are gone: the next one has its turn.
fn left(transaction: &Connection, task: TaskId, address: &str, gone: i64) -> rusqlite::Result<()> {
    let sql = "UPDATE steadfast_replies SET first = 1
               WHERE task = ?1 AND number = (SELECT min(number) FROM steadfast_replies WHERE task = ?1) AND first = 0";
    transaction.prepare_cached(sql)?.execute([id(task.as_u128())])?;
    let sql = "DELETE FROM steadfast_reply_queues WHERE address = ? AND waiting <= ?";
    transaction.prepare_cached(sql)?.execute(params![address, gone])?;
    let sql = "UPDATE steadfast_reply_queues SET waiting = waiting - ?2 WHERE address = ?1";
    transaction.prepare_cached(sql)?.execute(params![address, gone]).map(drop)
}

fn read(row: &Row<'_>) -> rusqlite::Result<Reply> {
    Ok(Reply {
        id: ReplyId { task: task_id(row, 0)?, number: row.get::<_, i64>(1)?.unsigned_abs() },
        at: time(row.get(2)?),
        tries: row.get(3)?,
        body: Payload::from(row.get::<_, Vec<u8>>(4)?),
        brings: row.get::<_, Option<Vec<u8>>>(5)?.map(Payload::from),
    })
}

/// Whether something is due, and when there is something again: without a write.
pub(crate) fn look(
    transaction: &Connection,
    address: &str,
    now: Time,
) -> rusqlite::Result<(bool, Option<Time>)> {
    let due = transaction.prepare_cached(DUE_REPLIES)?.exists(params![address, millis(now), 1])?;
    Ok((due, next(transaction, address, now)?))
}

fn next(transaction: &Connection, address: &str, now: Time) -> rusqlite::Result<Option<Time>> {
    let mut find = transaction.prepare_cached(NEXT_REPLY)?;
    find.query_row(params![address, millis(now)], |row| row.get(0).map(time)).optional()
}

pub(crate) fn hand_out(
    transaction: &Connection,
    address: &str,
    most: usize,
    now: Time,
    hold: Duration,
) -> rusqlite::Result<HandedReplies> {
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let mut find = transaction.prepare_cached(DUE_REPLIES)?;
    let due = find.query_map(params![address, millis(now), most], read)?;
    let mut replies: Vec<_> = due.collect::<rusqlite::Result<_>>()?;
    let sql = "UPDATE steadfast_replies SET until_ms = ?3, tries = tries + 1 WHERE task = ?1 AND number = ?2";
    let mut hold_it = transaction.prepare_cached(sql)?;
    for reply in &mut replies {
        let ReplyId { task, number: nth } = reply.id;
        hold_it.execute(params![id(task.as_u128()), number(nth), millis(now + hold)])?;
        reply.tries += 1;
    }
    Ok(HandedReplies { replies, next: next(transaction, address, now)? })
}

/// Says what became of one; whether it was there, and handed out.
pub(crate) fn settle(
    transaction: &Connection,
    (reply, settled): (ReplyId, Settled),
) -> rusqlite::Result<bool> {
    let (task, nth) = (id(reply.task.as_u128()), number(reply.number));
    if let Settled::Again(not_before) = settled {
        let sql = "UPDATE steadfast_replies SET until_ms = ?3
                   WHERE task = ?1 AND number = ?2 AND first = 1 AND tries > 0";
        return Ok(transaction.prepare_cached(sql)?.execute(params![task, nth, millis(not_before)])? == 1);
    }
    let sql = "DELETE FROM steadfast_replies WHERE task = ? AND number = ? AND first = 1 AND tries > 0
               RETURNING address";
    let mut delete = transaction.prepare_cached(sql)?;
    let gone = delete.query_map(params![task, nth], |row| row.get::<_, String>(0))?.next().transpose()?;
    match gone {
        Some(address) => left(transaction, reply.task, &address, 1).map(|()| true),
        None => Ok(false),
    }
}

pub(crate) fn queues(transaction: &Connection) -> rusqlite::Result<Vec<ReplyQueue>> {
    let sql = "SELECT address, waiting FROM steadfast_reply_queues ORDER BY address";
    let read = |row: &Row<'_>| {
        let (address, waiting) = (row.get::<_, String>(0)?, row.get::<_, i64>(1)?);
        Ok(ReplyQueue { address: Arc::from(address), waiting: waiting.unsigned_abs() })
    };
    transaction.prepare_cached(sql)?.query_map([], read)?.collect()
}

/// Those who had something are taken to be dead: it is due at once.
pub(crate) fn free_all(connection: &Connection) -> rusqlite::Result<()> {
    let sql = "UPDATE steadfast_replies SET until_ms = at_ms WHERE first = 1 AND tries > 0";
    connection.execute(sql, []).map(drop)
}

impl Replies for Sqlite {
    /// What is not there is found out without a write.
    fn take_replies(
        &self,
        address: Arc<str>,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Result<HandedReplies, Error>> + Send {
        let now = self.inner.clock.now();
        let looked = self.inner.reader.read(|transaction| look(transaction, &address, now)).into_inner();
        async move {
            match looked? {
                (false, next) => Ok(HandedReplies { replies: Vec::new(), next }),
                (true, _) => {
                    let hand_out =
                        move |transaction: &_, now| hand_out(transaction, &address, most, now, hold);
                    self.inner.drive.ask(Ok(()), ROWS, hand_out).await
                }
            }
        }
    }

    fn settle_replies(
        &self,
        batch: Vec<(ReplyId, Settled)>,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.inner.drive.ask(Ok(()), ROWS, move |transaction, _| {
            let settled = batch.iter().map(|one| settle(transaction, *one));
            settled
                .collect::<rusqlite::Result<Vec<_>>>()
                .map(|had| had.into_iter().filter(|had| *had).count())
        })
    }

    fn reply_queues(&self) -> impl Future<Output = Result<Vec<ReplyQueue>, Error>> + Send {
        self.inner.reader.read(queues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_handed_out_is_found_by_its_index() {
        let connection = Connection::open_in_memory().unwrap();
        connection.execute_batch(include_str!("../migrations/0010.sql")).unwrap();
        for sql in [DUE_REPLIES, NEXT_REPLY] {
            let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
            let unset = vec![rusqlite::types::Null; explain.parameter_count()];
            let plan =
                explain.query_map(rusqlite::params_from_iter(unset), |row| row.get::<_, String>(3)).unwrap();
            let plan: Vec<_> = plan.map(Result::unwrap).collect();
            assert!(plan.iter().all(|line| line.contains("steadfast_replies_due")), "{plan:#?}");
        }
    }
}
