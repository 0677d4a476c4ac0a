//! The orders' own table, in the same file as the engine's. An order and its task are one transaction: both are there, or
//! neither is.
//!
//! Must never touch the engine's tables but for the row in `steadfast_inbox`, which `HandIn` writes.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use steadfast::rusqlite::{self, Connection, Row as SqlRow, Transaction, TransactionBehavior};
use steadfast::{HandIn, TaskId};
use tokio::sync::broadcast;

use crate::error::Error;
use crate::order::{Order, Row, Status, Wanted};
use crate::shop::{QUEUE, ReplySeen, WORKFLOW};

/// How long to wait while others write the file: the engine commits within milliseconds.
const BUSY: Duration = Duration::from_secs(10);
/// News that a slow listener may be behind; then it looks at the whole list.
const NEWS: usize = 1_024;
/// How many orders are written in one transaction at the most: the engine waits while it lasts.
pub const MAX_BURST: usize = 100;

const TABLE: &str = "
    CREATE TABLE IF NOT EXISTS orders (
        number INTEGER PRIMARY KEY AUTOINCREMENT,
        sku TEXT NOT NULL,
        quantity INTEGER NOT NULL CHECK (quantity > 0),
        card TEXT NOT NULL,
        total_cents INTEGER NOT NULL CHECK (total_cents > 0),
        status TEXT NOT NULL CHECK (status IN ('placed', 'received', 'completed', 'undone', 'failed')),
        words TEXT NOT NULL DEFAULT '',
        told INTEGER NOT NULL DEFAULT 0,
        task TEXT NOT NULL UNIQUE,
        placed_at_ms INTEGER NOT NULL,
        changed_at_ms INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX IF NOT EXISTS orders_by_status ON orders (status);";

/// The time by SQLite's own clock.
const NOW_MS: &str = "CAST(unixepoch('subsec') * 1000 AS INTEGER)";

/// The orders. Clones are one and the same.
#[derive(Clone, Debug)]
pub struct Orders {
    writer: Arc<Mutex<Connection>>,
    reader: Arc<Mutex<Connection>>,
    news: broadcast::Sender<News>,
}

/// An order's status has changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct News {
    /// Which order.
    pub number: i64,
    /// How far it has come.
    pub status: Status,
}

impl Orders {
    /// Opens the table in the engine's file, and makes it if it is not there.
    ///
    /// # Errors
    /// The file cannot be used.
    pub async fn open(file: &Path) -> Result<Self, Error> {
        let (writer, reader) = (file.to_owned(), file.to_owned());
        let writer = blocking(move || {
            let connection = connect(&writer)?;
            connection.execute_batch(TABLE)?;
            Ok(connection)
        });
        let writer = Arc::new(Mutex::new(writer.await?));
        let reader = Arc::new(Mutex::new(blocking(move || Ok(connect(&reader)?)).await?));
        Ok(Self { writer, reader, news: broadcast::Sender::new(NEWS) })
    }

    /// Writes an order and its task, in one transaction.
    ///
    /// # Errors
    /// Neither was written.
    pub async fn place(&self, wanted: Wanted) -> Result<Order, Error> {
        let placed = self.place_all(vec![wanted]).await?;
        placed.into_iter().next().ok_or(Error::Closing)
    }

    /// Writes orders and their tasks, all in one transaction. At most [`MAX_BURST`].
    ///
    /// # Errors
    /// None of them was written.
    pub async fn place_all(&self, wanted: Vec<Wanted>) -> Result<Vec<Order>, Error> {
        if wanted.len() > MAX_BURST {
            let words = format!("{} orders are too many at once: at most {MAX_BURST}", wanted.len());
            return Err(Error::BadOrder(words));
        }
        let placed = self
            .write(move |transaction| {
                wanted.into_iter().map(|wanted| place_in(transaction, wanted)).collect::<Result<Vec<_>, _>>()
            })
            .await?;
        for order in &placed {
            let _ = self.news.send(News { number: order.order, status: Status::Placed });
        }
        Ok(placed)
    }

    /// Writes what replies say. One that comes twice, or late, changes nothing.
    ///
    /// # Errors
    /// Nothing was written.
    pub async fn apply(&self, replies: Vec<ReplySeen>) -> Result<(), Error> {
        let news = self.write(move |transaction| {
            replies
                .iter()
                .filter_map(|reply| apply_in(transaction, reply).transpose())
                .collect::<Result<Vec<_>, _>>()
        });
        for news in news.await? {
            let _ = self.news.send(news);
        }
        Ok(())
    }

    /// The newest orders, at most so many.
    ///
    /// # Errors
    /// The database's.
    pub async fn newest(&self, most: usize) -> Result<Vec<Row>, Error> {
        let most = i64::try_from(most).unwrap_or(i64::MAX);
        self.read(move |connection| select(connection, "ORDER BY number DESC LIMIT ?", [most])).await
    }

    /// All orders, the oldest first.
    ///
    /// # Errors
    /// The database's.
    pub async fn all(&self) -> Result<Vec<Row>, Error> {
        self.read(|connection| select(connection, "ORDER BY number", [])).await
    }

    /// How many orders there are of each status.
    ///
    /// # Errors
    /// The database's.
    pub async fn counts(&self) -> Result<BTreeMap<Status, u64>, Error> {
        self.read(|connection| {
            let mut find =
                connection.prepare_cached("SELECT status, count(*) FROM orders GROUP BY status")?;
            let rows = find.query_map([], |row| Ok((status(row, 0)?, row.get::<_, i64>(1)?)))?;
            rows.map(|row| row.map(|(status, count)| (status, count.unsigned_abs()))).collect()
        })
        .await
    }

    /// The orders of this status, the oldest first.
    ///
    /// # Errors
    /// The database's.
    pub async fn with_status(&self, status: Status) -> Result<Vec<Row>, Error> {
        self.read(move |connection| select(connection, "WHERE status = ? ORDER BY number", [status.name()]))
            .await
    }

    /// The time by the clock that the table's times are of, in milliseconds since 1970.
    ///
    /// # Errors
    /// The database's.
    pub async fn now_ms(&self) -> Result<i64, Error> {
        self.read(|connection| connection.query_row(&format!("SELECT {NOW_MS}"), [], |row| row.get(0))).await
    }

    /// Every change from now on.
    #[must_use]
    pub fn news(&self) -> broadcast::Receiver<News> {
        self.news.subscribe()
    }

    async fn read<T: Send + 'static>(
        &self,
        read: impl FnOnce(&Connection) -> Result<T, rusqlite::Error> + Send + 'static,
    ) -> Result<T, Error> {
        let reader = Arc::clone(&self.reader);
        blocking(move || Ok(read(&reader.lock().unwrap_or_else(PoisonError::into_inner))?)).await
    }

    async fn write<T: Send + 'static>(
        &self,
        write: impl FnOnce(&Transaction<'_>) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let writer = Arc::clone(&self.writer);
        blocking(move || {
            let mut connection = writer.lock().unwrap_or_else(PoisonError::into_inner);
            // Dropped without a commit, it is rolled back.
            let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
            let written = write(&transaction)?;
            transaction.commit()?;
            Ok(written)
        })
        .await
    }
}

/// Writes an order and its task in a transaction of yours: both are there once you commit, and neither is if you roll back.
///
/// # Errors
/// Something could not be written: roll back.
pub fn place_in(transaction: &Transaction<'_>, wanted: Wanted) -> Result<Order, Error> {
    let task = TaskId::from_u128(uuid::Uuid::now_v7().as_u128());
    let mut order = wanted.into_order(0);
    let sql = format!(
        "INSERT INTO orders (sku, quantity, card, total_cents, status, task, placed_at_ms, changed_at_ms)
         VALUES (?, ?, ?, ?, 'placed', ?, {NOW_MS}, {NOW_MS}) RETURNING number"
    );
    let row = (&order.sku, order.quantity, &order.card, order.total_cents, task.to_string());
    order.order = transaction.prepare_cached(&sql)?.query_row(row, |row| row.get(0))?;
    let input = serde_json::to_vec(&order).map_err(|error| Error::HandIn(error.into()))?;
    HandIn::new(task, WORKFLOW, input)
        .key(format!("order-{}", order.order))
        .reply_to(format!("queue:{QUEUE}"))
        .correlation(order.order.to_string())
        .write(transaction)
        .map_err(|error| Error::HandIn(error.into()))?;
    Ok(order)
}

/// What a reply changes, if it changes something.
fn apply_in(transaction: &Transaction<'_>, reply: &ReplySeen) -> Result<Option<News>, Error> {
    let Some(status) = reply.says else { return Ok(None) };
    let Ok(number) = reply.correlation.parse::<i64>() else { return Ok(None) };
    let nth = i64::try_from(reply.id.number).unwrap_or(i64::MAX);
    let sql = format!(
        "UPDATE orders SET status = ?, words = ?, told = ?, changed_at_ms = {NOW_MS}
         WHERE number = ? AND task = ? AND told < ?"
    );
    let row = (status.name(), &reply.words, nth, number, reply.id.task.to_string(), nth);
    let changed = transaction.prepare_cached(&sql)?.execute(row)?;
    Ok((changed > 0).then_some(News { number, status }))
}

fn connect(file: &Path) -> Result<Connection, rusqlite::Error> {
    let connection = Connection::open(file)?;
    connection.busy_timeout(BUSY)?;
    connection.pragma_update(None, "synchronous", "FULL")?;
    Ok(connection)
}

fn select(
    connection: &Connection,
    which: &str,
    params: impl rusqlite::Params,
) -> Result<Vec<Row>, rusqlite::Error> {
    let sql = format!(
        "SELECT number, sku, quantity, card, total_cents, status, words, task, placed_at_ms, changed_at_ms
         FROM orders {which}"
    );
    connection.prepare_cached(&sql)?.query_map(params, row)?.collect()
}

fn row(row: &SqlRow<'_>) -> Result<Row, rusqlite::Error> {
    let order = Order {
        order: row.get(0)?,
        sku: row.get(1)?,
        quantity: row.get(2)?,
        card: row.get(3)?,
        total_cents: row.get(4)?,
    };
    let task: String = row.get(7)?;
    let task = task.parse().map_err(|bad| unreadable(7, bad))?;
    let (placed_at_ms, changed_at_ms) = (row.get(8)?, row.get(9)?);
    Ok(Row { order, status: status(row, 5)?, words: row.get(6)?, task, placed_at_ms, changed_at_ms })
}

fn status(row: &SqlRow<'_>, column: usize) -> Result<Status, rusqlite::Error> {
    let name: String = row.get(column)?;
    Status::named(&name).ok_or_else(|| unreadable(column, Error::BadOrder(format!("its status is `{name}`"))))
}

fn unreadable(column: usize, error: impl std::error::Error + Send + Sync + 'static) -> rusqlite::Error {
    rusqlite::Error::FromSqlConversionFailure(column, rusqlite::types::Type::Text, Box::new(error))
}

/// Runs what waits for the disk on a thread where that is allowed.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> Result<T, Error> {
    tokio::task::spawn_blocking(work).await.unwrap_or(Err(Error::Closing))
}
