//! The same asked of many tasks. Which ones is fixed first; then they are asked one by one, at a rate that grows, by one node at
//! a time. It can be stopped and goes on, also after a crash: each task is asked under an id of its own, which counts once.

mod drive;
mod record;

use steadfast_engine::Action;
use steadfast_store::{AuditId, Bulk, MAX_REASON, PutBulk, Store, TaskId};

pub(crate) use drive::watch;
pub use record::{BulkRecord, BulkState, Wanted};

use crate::error::{Error, ErrorKind};
use crate::find::Find;
use crate::node::Node;
use crate::operate::unsaid;

/// How many tasks are looked for at a time.
const PAGE: usize = 1_000;
/// The fewest tasks a second: one in a quarter of an hour.
const SLOWEST: f64 = 0.001;

/// A bulk that is to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct NewBulk {
    /// Which tasks.
    pub find: Find,
    /// What is asked of each.
    pub wanted: Wanted,
    /// Tasks a second, at most.
    pub rate: f64,
    /// Who asks.
    pub by: String,
    /// Why.
    pub why: String,
}

/// What is known of a bulk, with its id and the number of its tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct BulkStatus {
    /// Its id, in the audit log too once it is over.
    pub id: AuditId,
    /// How many tasks it has.
    pub tasks: u64,
    /// The rest.
    pub record: BulkRecord,
}

impl<S: Store> Node<S> {
    /// Finds the tasks of a bulk and fixes them. Nothing is asked of them before it is begun.
    ///
    /// # Errors
    /// The store's; a rate that makes no sense.
    pub async fn prepare_bulk(&self, new: NewBulk) -> Result<BulkStatus, Error> {
        let NewBulk { find, wanted, rate, by, why } = new;
        let id = AuditId::from_u128(uuid::Uuid::now_v7().as_u128());
        let bytes = by.len() + why.len();
        let wrong = match unsaid(&by, &why) {
            Some(missing) => Some(missing.to_owned()),
            None if bytes > MAX_REASON => Some(format!(
                "who asks, with the reason, has {bytes} bytes, at most {MAX_REASON} are allowed"
            )),
            None if !(rate.is_finite() && rate >= SLOWEST) => Some(format!(
                "a rate of {rate} tasks a second makes no sense: say how many, such as 100, and at least {SLOWEST}"
            )),
            None if needs_more(&wanted) => Some(format!("`{}` cannot be asked of many tasks", wanted.name())),
            None => None,
        };
        if let Some(state) = wrong {
            return Err(ErrorKind::BulkNotNow { id, state }.into());
        }
        let mut record = BulkRecord {
            wanted,
            by,
            why,
            looked_for: find.to_string(),
            rate,
            state: BulkState::Preparing,
            next: 0,
            done: 0,
            refused: Default::default(),
            driver: None,
        };
        let mut bulk = Bulk { id, version: 0, tasks: 0, under_way: false, body: record.pack() };
        let (mut behind, mut left) = (None, find.most.unwrap_or(usize::MAX));
        loop {
            let found = self.find(&find, behind, PAGE.min(left)).await?;
            let more: Vec<_> = found.tasks.iter().map(|stored| stored.id).collect();
            left -= more.len().min(left);
            behind = found.behind.filter(|_| left > 0);
            if behind.is_none() {
                record.state = BulkState::Prepared;
                bulk.body = record.pack();
            }
            let added = u64::try_from(more.len()).unwrap_or(u64::MAX);
            match self.shared().store.put_bulk(bulk.clone(), more).await? {
                PutBulk::Done(version) => (bulk.version, bulk.tasks) = (version, bulk.tasks + added),
                PutBulk::Other(_) => return Err(ErrorKind::UnknownBulk(id).into()),
            }
            if behind.is_none() {
                return Ok(BulkStatus { id, tasks: bulk.tasks, record });
            }
        }
    }

    /// Begins a bulk, or goes on with one that was stopped. When this returns, that is stored.
    ///
    /// # Errors
    /// The store's; a bulk that does not exist, or is over.
    pub async fn begin_bulk(&self, id: AuditId) -> Result<(), Error> {
        self.turn_bulk(id, &[BulkState::Prepared, BulkState::Stopped, BulkState::Running], BulkState::Running)
            .await
    }

    /// Stops a bulk: nothing more is asked once the node that is at it has heard of it. It can be begun again.
    ///
    /// # Errors
    /// The store's; a bulk that does not exist, or is over.
    pub async fn stop_bulk(&self, id: AuditId) -> Result<(), Error> {
        self.turn_bulk(id, &[BulkState::Prepared, BulkState::Running, BulkState::Stopped], BulkState::Stopped)
            .await
    }

    async fn turn_bulk(&self, id: AuditId, from: &[BulkState], to: BulkState) -> Result<(), Error> {
        loop {
            let (bulk, mut record) = self.read_bulk(id).await?;
            if !from.contains(&record.state) {
                let state = match record.state {
                    BulkState::Preparing => {
                        "its tasks are still being looked for; if whoever looked has gone, prepare another"
                    }
                    _ => "it is over",
                };
                return Err(ErrorKind::BulkNotNow { id, state: state.to_owned() }.into());
            }
            if record.state == to {
                return Ok(());
            }
            record.state = to;
            let bulk = record.written_to(&bulk);
            let put = self.shared().store.put_bulk(bulk, Vec::new()).await?;
            if let PutBulk::Done(_) = put {
                self.shared().bulks.notify_one();
                return Ok(());
            }
        }
    }

    async fn read_bulk(&self, id: AuditId) -> Result<(Bulk, BulkRecord), Error> {
        let bulk = self.shared().store.bulk(id).await?;
        let read = bulk.and_then(|bulk| BulkRecord::unpack(&bulk.body).map(|record| (bulk, record)));
        read.ok_or_else(|| ErrorKind::UnknownBulk(id).into())
    }

    /// What is known of a bulk.
    ///
    /// # Errors
    /// The store's; a bulk that does not exist.
    pub async fn bulk(&self, id: AuditId) -> Result<BulkStatus, Error> {
        let (bulk, record) = self.read_bulk(id).await?;
        Ok(BulkStatus { id, tasks: bulk.tasks, record })
    }

    /// The newest bulks, at most so many.
    ///
    /// # Errors
    /// The store's.
    pub async fn bulks(&self, most: usize) -> Result<Vec<BulkStatus>, Error> {
        let bulks = self.shared().store.bulks(most).await?.into_iter();
        let read = |bulk: Bulk| {
            let record = BulkRecord::unpack(&bulk.body)?;
            Some(BulkStatus { id: bulk.id, tasks: bulk.tasks, record })
        };
        Ok(bulks.filter_map(read).collect())
    }

    /// The tasks of a bulk in the order in which they are asked, from this place on, at most so many.
    ///
    /// # Errors
    /// The store's.
    pub async fn bulk_tasks(&self, id: AuditId, from: u64, most: usize) -> Result<Vec<TaskId>, Error> {
        Ok(self.shared().store.bulk_tasks(id, from, most).await?)
    }
}

/// Whether it needs what a bulk does not bring, or is about a step and does not name it.
fn needs_more(wanted: &Wanted) -> bool {
    let whole = [Action::Pause, Action::Resume, Action::Cancel, Action::Undo];
    matches!(wanted, Wanted::Whole(action) if !whole.contains(action) && !matches!(action, Action::Deadline(_)))
}
