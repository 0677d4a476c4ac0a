//! Submissions in the caller's own transaction on the engine's file.

use std::fmt;
use std::marker::PhantomData;

use serde::Serialize;
use steadfast_engine::Time;
use steadfast_runtime::{Node, ReplyTo};
use steadfast_store::TaskId;
use steadfast_store_sqlite::HandIn;
use steadfast_store_sqlite::rusqlite::Connection;

use crate::any_store::AnyStore;
use crate::engine::Engine;
use crate::error::{Code, Error, empty_key};
use crate::submit::{packed, unregistered};
use crate::task::Task;
use crate::workflow::Workflow;

/// A submission that is part of the caller's own transaction: see [`Engine::submit_in`].
#[must_use = "nothing is handed in until it is written"]
pub struct SubmitIn<'e, In, Out> {
    engine: &'e Engine,
    hand_in: Result<HandIn, Error>,
    task: TaskId,
    types: PhantomData<fn(In) -> Out>,
}

impl Engine {
    /// Submits a task in a transaction of your own on the engine's file: your rows and the task are both there once you commit, and
    /// neither is if you roll back or die before. [`write`](SubmitIn::write) it in the transaction; the engine takes it up after the
    /// commit, most often within a tenth of a second. Keep the transaction short: nobody else can write until it ends.
    ///
    /// If the engine cannot take it, since the key was used for another input for instance, the task ends failed with the reason.
    pub fn submit_in<'e, In: Serialize, Out>(
        &'e self,
        workflow: &'e Workflow<In, Out>,
        input: &In,
    ) -> SubmitIn<'e, In, Out> {
        let definition = workflow.inner.definition();
        let task = Node::<AnyStore>::fresh_task();
        let hand_in = match self.node.workflow(definition.name(), definition.version()) {
            None => Err(unregistered(definition)),
            Some(_) => packed(workflow, input)
                .map(|input| HandIn::new(task, definition.name(), &*input).version(definition.version())),
        };
        SubmitIn { engine: self, hand_in, task, types: PhantomData }
    }
}

impl Engine {
    /// The task that was handed in under this id, as soon as the engine has taken it up.
    ///
    /// # Errors
    /// The store's; nothing was handed in under this id: it was rolled back, or its key was used before, for the same input.
    pub async fn handed_in<In, Out>(
        &self,
        workflow: &Workflow<In, Out>,
        task: TaskId,
    ) -> Result<Task<Out>, Error> {
        self.node.taken_up(task).await?;
        self.task(workflow, task).await
    }
}

impl<In, Out> SubmitIn<'_, In, Out> {
    fn with(mut self, with: impl FnOnce(HandIn) -> HandIn) -> Self {
        self.hand_in = self.hand_in.map(with);
        self
    }

    /// The id that the task will have. It is known before the commit: store it with your rows.
    #[must_use]
    pub fn id(&self) -> TaskId {
        self.task
    }

    /// As [`Submit::key`](crate::Submit::key). A submission whose key was used before, for the same input, becomes no task of its own: the
    /// first one goes its way, and the id of this one stands for nothing.
    pub fn key(mut self, key: impl fmt::Display) -> Self {
        let key = key.to_string();
        if key.is_empty() {
            self.hand_in = self.hand_in.and_then(|_| Err(empty_key()));
            return self;
        }
        self.with(|hand_in| hand_in.key(key))
    }

    /// As [`Submit::namespace`](crate::Submit::namespace).
    pub fn namespace(self, namespace: &str) -> Self {
        self.with(|hand_in| hand_in.namespace(namespace))
    }

    /// As [`Submit::priority`](crate::Submit::priority).
    pub fn priority(self, priority: i8) -> Self {
        self.with(|hand_in| hand_in.priority(priority))
    }

    /// As [`Submit::start_at`](crate::Submit::start_at).
    pub fn start_at(self, time: impl Into<Time>) -> Self {
        let time = time.into();
        self.with(|hand_in| hand_in.start_at(time))
    }

    /// As [`Submit::reply_to`](crate::Submit::reply_to).
    pub fn reply_to(self, to: &ReplyTo) -> Self {
        self.with(|hand_in| hand_in.reply_to(to.as_str()))
    }

    /// As [`Submit::correlation`](crate::Submit::correlation).
    pub fn correlation(self, id: impl fmt::Display) -> Self {
        self.with(|hand_in| hand_in.correlation(id.to_string()))
    }

    /// Writes it in the transaction that this connection is in. A `rusqlite::Transaction` can be given as it is.
    ///
    /// # Errors
    /// The connection is not to the engine's file, in no transaction, not in WAL mode, or not with `synchronous = FULL`; something is
    /// too large; the engine has no file.
    pub fn write(self, connection: &Connection) -> Result<TaskId, Error> {
        let hand_in = self.hand_in?;
        match self.engine.node.store() {
            AnyStore::Sqlite(store) => store.is_reached_by(connection)?,
            AnyStore::Memory(_) => {
                let words = "the engine is in memory, where no other transaction can be: open it on a file, `sqlite:PATH`";
                return Err(Error::new(Code::UnfitConnection, words));
            }
        }
        Ok(hand_in.write(connection)?)
    }
}

impl<In, Out> fmt::Debug for SubmitIn<'_, In, Out> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SubmitIn").field("task", &self.task).finish_non_exhaustive()
    }
}
