//! Replies to those who submitted: to whom, and how they are had.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use serde::de::DeserializeOwned;
use steadfast_runtime::{Node, QueueStatus, Reply, ReplyError, ReplyTo, Says};
use steadfast_store::ReplyId;

use crate::any_store::AnyStore;
use crate::engine::{Builder, Engine};
use crate::error::{Code, Error};
use crate::submit::Submit;

/// How long replies that were handed out are nobody else's, if nobody says otherwise: longer than most work on one takes.
const LEASE: Duration = Duration::from_secs(30);

/// A queue of replies in the store. They are handed out for a while, and come again until they are acknowledged; of a task, none
/// before the one in front of it is.
///
/// ```
/// # use steadfast::{Engine, Error, Says};
/// # fn tell_customer(order: &str, how: &str) {}
/// # async fn read(engine: &Engine) -> Result<(), Error> {
/// let orders = engine.replies("orders");
/// loop {
///     for reply in orders.wait(100).await? {
///         let order = reply.correlation.as_deref().unwrap_or("?");
///         match &reply.says {
///             Says::Completed { .. } => tell_customer(order, "on its way"),
///             Says::Undone { reason } => tell_customer(order, reason),
///             _ => {}
///         }
///         // Only now: had we died before, it would come again.
///         orders.acknowledge([reply.id]).await?;
///     }
/// }
/// # }
/// ```
#[derive(Clone)]
pub struct Replies {
    node: Arc<Node<AnyStore>>,
    from: ReplyTo,
    lease: Duration,
}

impl Engine {
    /// The queue of replies of this name.
    #[must_use]
    pub fn replies(&self, queue: &str) -> Replies {
        Replies { node: Arc::clone(&self.node), from: ReplyTo::queue(queue), lease: LEASE }
    }

    /// All addresses to which replies wait, with how many and how full that is.
    ///
    /// # Errors
    /// The store's.
    pub async fn reply_queues(&self) -> Result<Vec<QueueStatus>, Error> {
        Ok(self.node.reply_queues().await?)
    }
}

impl Builder {
    /// Calls this function with every reply to [`ReplyTo::hook`] of this name. A function that fails, panics or takes longer than ten
    /// seconds is told again, with growing waits and the same [`Reply::id`], also after a restart, until it has taken it; those
    /// that come after it for the same task wait. Of several functions of one name the last counts.
    pub fn on_reply<F, Fut>(mut self, name: &str, hook: F) -> Self
    where
        F: Fn(Reply) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Result<(), ReplyError>> + Send + 'static,
    {
        let name = name.to_owned();
        self.asked.push(Box::new(move |settings| settings.replies.on_reply(&name, hook)));
        self
    }
}

impl<In, Out> Submit<'_, In, Out> {
    /// Tells this address what becomes of the task: that it was received, how far its attempts have come, and that it has
    /// completed, is undone or has failed. A task that is found under its key goes on telling whom it has told.
    pub fn reply_to(mut self, to: ReplyTo) -> Self {
        self.extra.get_or_insert_default().reply_to = Some(to);
        self
    }

    /// What you know the task by: it comes back in every reply. It has no meaning without [`reply_to`](Self::reply_to).
    pub fn correlation(mut self, id: impl fmt::Display) -> Self {
        self.extra.get_or_insert_default().correlation = Some(Arc::from(id.to_string()));
        self
    }
}

impl Replies {
    /// How long what is handed out is nobody else's. Default: 30 seconds.
    #[must_use]
    pub fn lease(mut self, time: Duration) -> Self {
        self.lease = time;
        self
    }

    /// What is there, longest waiting first, at most so many; it may be nothing.
    ///
    /// # Errors
    /// The store's.
    pub async fn take(&self, most: usize) -> Result<Vec<Reply>, Error> {
        Ok(self.node.take_replies(&self.from, most, self.lease).await?)
    }

    /// The same, once there is at least one.
    ///
    /// # Errors
    /// The store's; the engine has stopped.
    pub async fn wait(&self, most: usize) -> Result<Vec<Reply>, Error> {
        Ok(self.node.wait_for_replies(&self.from, most, self.lease).await?)
    }

    /// Acknowledges replies: they are gone, and the next ones of their tasks can be had. How many of them were still there.
    ///
    /// # Errors
    /// The store's.
    pub async fn acknowledge(&self, replies: impl IntoIterator<Item = ReplyId>) -> Result<usize, Error> {
        Ok(self.node.acknowledge(replies).await?)
    }

    /// Gives replies back that cannot be acted on now: they come again after this long.
    ///
    /// # Errors
    /// The store's.
    pub async fn give_back(
        &self,
        replies: impl IntoIterator<Item = ReplyId>,
        after: Duration,
    ) -> Result<usize, Error> {
        Ok(self.node.give_back(replies, after).await?)
    }

    /// The result that a reply brings, if its task has completed.
    ///
    /// # Errors
    /// It does not fit the type.
    pub fn result<Out: DeserializeOwned>(reply: &Reply) -> Result<Option<Out>, Error> {
        let Says::Completed { result } = &reply.says else { return Ok(None) };
        serde_json::from_slice(result).map(Some).map_err(|error| {
            let message = format!("the result of task {} does not fit its type: {error}", reply.task());
            Error::new(Code::BadPayload, message).because(error)
        })
    }
}

impl fmt::Debug for Replies {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Replies")
            .field("from", &self.from)
            .field("lease", &self.lease)
            .finish_non_exhaustive()
    }
}
