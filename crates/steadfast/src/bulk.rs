//! The same asked of many tasks.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Action, Time};
use steadfast_runtime::{BulkState, BulkStatus, NewBulk, Node, Wanted};
use steadfast_store::{AuditId, TaskId};

use crate::any_store::AnyStore;
use crate::error::Error;
use crate::operator::Operator;
use crate::tasks::Tasks;

/// Tasks a second where nothing is said.
const RATE: f64 = 100.0;
/// How often it is looked whether a bulk is over.
const LOOK: Duration = Duration::from_millis(200);

/// Tasks of which the same is to be asked. Say what.
#[must_use = "say what is asked of them"]
pub struct BulkOf<'o> {
    operator: &'o Operator,
    tasks: Tasks,
    rate: f64,
}

/// What is to be asked of many tasks. Say [`because`](Self::because) why, and await that.
#[must_use = "nothing is prepared until it says why and is awaited"]
pub struct BulkAsk<'o> {
    of: BulkOf<'o>,
    wanted: Wanted,
}

/// What is to be asked, with the reason. Await it: that finds the tasks, and fixes them. Nothing is asked of them before the bulk
/// is begun.
#[must_use = "nothing is prepared until it is awaited"]
pub struct BulkAsked<'o> {
    ask: BulkAsk<'o>,
    why: String,
}

/// Many tasks of which an operator asks the same. It goes on whether or not anybody holds this.
#[derive(Clone)]
pub struct Bulk {
    node: Arc<Node<AnyStore>>,
    id: AuditId,
}

impl Operator {
    /// The same for all of these tasks. Which ones is fixed when it is prepared, and can be looked at before it is begun.
    pub fn bulk(&self, tasks: Tasks) -> BulkOf<'_> {
        BulkOf { operator: self, tasks, rate: RATE }
    }
}

impl<'o> BulkOf<'o> {
    /// So many tasks a second at most, 100 where nothing is said. It begins with two, and doubles twice a second.
    pub fn rate(mut self, per_second: f64) -> Self {
        self.rate = per_second;
        self
    }

    /// As [`Operator::resume`].
    pub fn resume(self) -> BulkAsk<'o> {
        self.whole(Action::Resume)
    }

    /// As [`Operator::pause`].
    pub fn pause(self) -> BulkAsk<'o> {
        self.whole(Action::Pause)
    }

    /// As [`Operator::cancel`].
    pub fn cancel(self) -> BulkAsk<'o> {
        self.whole(Action::Cancel)
    }

    /// As [`Operator::undo`].
    pub fn undo(self) -> BulkAsk<'o> {
        self.whole(Action::Undo)
    }

    /// As [`Operator::deadline`].
    pub fn deadline(self, at: Option<Time>) -> BulkAsk<'o> {
        self.whole(Action::Deadline(at))
    }

    /// Anything that can be asked of many.
    pub fn ask(self, wanted: Wanted) -> BulkAsk<'o> {
        BulkAsk { of: self, wanted }
    }

    fn whole(self, action: Action) -> BulkAsk<'o> {
        self.ask(Wanted::Whole(action))
    }
}

impl<'o> BulkAsk<'o> {
    /// Says why. It is kept for ever.
    pub fn because(self, why: impl Into<String>) -> BulkAsked<'o> {
        BulkAsked { ask: self, why: why.into() }
    }
}

impl<'o> IntoFuture for BulkAsked<'o> {
    type Output = Result<Bulk, Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'o>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { ask: BulkAsk { of: BulkOf { operator, tasks, rate }, wanted }, why } = self;
        Box::pin(async move {
            let node = operator.node();
            let new = NewBulk { find: tasks.into_find(), wanted, rate, by: operator.name().to_owned(), why };
            let id = node.prepare_bulk(new).await?.id;
            Ok(Bulk::new(Arc::clone(node), id))
        })
    }
}

impl Bulk {
    pub(crate) fn new(node: Arc<Node<AnyStore>>, id: AuditId) -> Self {
        Self { node, id }
    }

    /// Its id, by which it is found again.
    #[must_use]
    pub fn id(&self) -> AuditId {
        self.id
    }

    /// What is asked, how many tasks it has, and how far it has come.
    ///
    /// # Errors
    /// The store's; there is no such bulk.
    pub async fn status(&self) -> Result<BulkStatus, Error> {
        Ok(self.node.bulk(self.id).await?)
    }

    /// Its tasks in the order in which they are asked, from this place on, at most so many.
    ///
    /// # Errors
    /// The store's.
    pub async fn tasks(&self, from: u64, most: usize) -> Result<Vec<TaskId>, Error> {
        Ok(self.node.bulk_tasks(self.id, from, most).await?)
    }

    /// Begins it, or goes on with one that was stopped.
    ///
    /// # Errors
    /// The store's; it is over.
    pub async fn begin(&self) -> Result<(), Error> {
        Ok(self.node.begin_bulk(self.id).await?)
    }

    /// Stops it, within about a second. It can be begun again, and goes on from where it was.
    ///
    /// # Errors
    /// The store's; it is over.
    pub async fn stop(&self) -> Result<(), Error> {
        Ok(self.node.stop_bulk(self.id).await?)
    }

    /// Waits until all of its tasks were asked, or somebody has stopped it.
    ///
    /// # Errors
    /// The store's; there is no such bulk.
    pub async fn ended(&self) -> Result<BulkStatus, Error> {
        loop {
            let status = self.status().await?;
            if matches!(status.record.state, BulkState::Over | BulkState::Stopped) {
                return Ok(status);
            }
            self.node.clock().sleep(LOOK).await;
        }
    }
}

impl fmt::Debug for BulkOf<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkOf").field("tasks", &self.tasks).field("rate", &self.rate).finish_non_exhaustive()
    }
}

impl fmt::Debug for BulkAsk<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkAsk").field("of", &self.of).field("wanted", &self.wanted).finish()
    }
}

impl fmt::Debug for BulkAsked<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BulkAsked").field("ask", &self.ask).field("why", &self.why).finish()
    }
}

impl fmt::Debug for Bulk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Bulk").field("id", &self.id).finish_non_exhaustive()
    }
}
