//! Mail.

use rusqlite::{Connection, OptionalExtension as _, Row};
use steadfast_store::{Mail, MailId, Message, NodeId, Payload, Posted, TaskId};

use crate::audit;
use crate::codec::id;

pub(crate) fn post(transaction: &Connection, message: &Message) -> rusqlite::Result<Posted> {
    let task = id(message.task.as_u128());
    let mut find =
        transaction.prepare_cached("SELECT at_rest, mail_last FROM steadfast_tasks WHERE id = ?")?;
    let found =
        find.query_row([task], |row| Ok((row.get::<_, bool>(0)?, row.get::<_, i64>(1)?))).optional()?;
    let Some((at_rest, last)) = found else { return Ok(Posted::Unknown) };
    match message.asked {
        None if at_rest => return Ok(Posted::AtRest),
        Some(asked) if audit::was_asked(transaction, asked)? => return Ok(Posted::Again),
        _ => {}
    }
    let number = last + 1;
    let insert = "INSERT INTO steadfast_mail (task, number, body, asked) VALUES (?, ?, ?, ?)";
    let asked = message.asked.map(|asked| id(asked.as_u128()));
    transaction.prepare_cached(insert)?.execute((task, number, &*message.body, asked))?;
    // Nobody works on a task at rest, but whoever has claimed it for mail that it has.
    let sql = "UPDATE steadfast_tasks SET mail_last = ?2, owner = iif(at_rest = 1 AND mail_last <= mail_read, NULL, owner)
               WHERE id = ?1";
    transaction.prepare_cached(sql)?.execute((task, number))?;
    Ok(Posted::Done(MailId(number.unsigned_abs())))
}

fn mail(row: &Row<'_>) -> rusqlite::Result<Mail> {
    Ok(Mail {
        task: TaskId::from_u128(u128::from_be_bytes(row.get(0)?)),
        id: MailId(row.get::<_, i64>(1)?.unsigned_abs()),
        body: Payload::from(row.get::<_, Vec<u8>>(2)?),
    })
}

/// Unread mail of one task.
pub(crate) fn unread(transaction: &Connection, task: TaskId) -> rusqlite::Result<Vec<Mail>> {
    let sql = "SELECT m.task, m.number, m.body FROM steadfast_mail m JOIN steadfast_tasks t ON t.id = m.task
               WHERE m.task = ? AND m.number > t.mail_read ORDER BY m.number";
    transaction.prepare_cached(sql)?.query_map([id(task.as_u128())], mail)?.collect()
}

/// Unread mail of all tasks of a node.
pub(crate) fn unread_by(transaction: &Connection, node: NodeId, most: usize) -> rusqlite::Result<Vec<Mail>> {
    // One query for each index: of tasks that are owned, and of those at rest that were written to.
    let sql = "SELECT task, number, body FROM (
                   SELECT m.task, m.number, m.body FROM steadfast_tasks t JOIN steadfast_mail m ON m.task = t.id
                   WHERE t.owner = ?1 AND t.owner IS NOT NULL AND t.at_rest = 0 AND t.mail_last > t.mail_read
                       AND m.number > t.mail_read
                   UNION ALL
                   SELECT m.task, m.number, m.body FROM steadfast_tasks t JOIN steadfast_mail m ON m.task = t.id
                   WHERE t.at_rest = 1 AND t.mail_last > t.mail_read AND t.owner = ?1 AND m.number > t.mail_read)
               ORDER BY task, number LIMIT ?2";
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    transaction.prepare_cached(sql)?.query_map((id(node.as_u128()), most), mail)?.collect()
}
