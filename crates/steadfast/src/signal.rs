//! A signal on its way to a task.

use std::fmt;
use std::future::IntoFuture;
use std::pin::Pin;
use std::sync::Arc;

use serde::Serialize;
use steadfast_runtime::{Node, Request};
use steadfast_store::{Payload, TaskId};

use crate::any_store::AnyStore;
use crate::error::{Code, Error};

/// A signal to a task. Await it: when that returns, it is stored and will be acted on.
#[must_use = "nothing is sent until it is awaited"]
pub struct Signal<'e> {
    node: &'e Node<AnyStore>,
    task: TaskId,
    name: Arc<str>,
    id: Option<Arc<str>>,
    says: Result<Payload, Error>,
}

impl<'e> Signal<'e> {
    pub(crate) fn new(
        node: &'e Node<AnyStore>,
        task: TaskId,
        name: &str,
        says: &(impl Serialize + ?Sized),
    ) -> Self {
        let says = serde_json::to_vec(says).map(Payload::from).map_err(|error| {
            let message = format!("what signal `{name}` says cannot be written as JSON: {error}");
            Error::new(Code::BadPayload, message).because(error)
        });
        Self { node, task, name: Arc::from(name), id: None, says }
    }

    /// Whatever tells it from other signals to the task: one that is sent twice under the same id counts once. Without it,
    /// each one counts.
    pub fn id(mut self, id: impl fmt::Display) -> Self {
        self.id = Some(Arc::from(id.to_string()));
        self
    }
}

impl<'e> IntoFuture for Signal<'e> {
    type Output = Result<(), Error>;
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'e>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { node, task, name, id, says } = self;
        Box::pin(async move { Ok(node.ask(task, &Request::Signal { name, id, says: says? }).await?) })
    }
}

impl fmt::Debug for Signal<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Signal").field("task", &self.task).field("name", &self.name).finish_non_exhaustive()
    }
}
