//! Workflows that come while the node works.
//!
//! A workflow is known only once everything around its services is there: what the store knows of their circuits, their gates,
//! and who tells of them. Before that nobody can submit or claim a task of it, so that none finds a door without a gate.

use std::collections::HashSet;
use std::sync::Arc;

use steadfast_store::{PutText, Store, WorkflowText};
use tokio::sync::oneshot;

use crate::alert;
use crate::error::Error;
use crate::node::Node;
use crate::scheduler::Inbox;
use crate::service::Service;
use crate::workflow::{Workflow, Workflows};

impl<S: Store> Node<S> {
    /// Takes on one more workflow, and those of the tasks that its steps ask for. When this returns, tasks of it can be submitted; those
    /// that waited for it go on within a minute. One that is known already is left as it is.
    ///
    /// # Errors
    /// Another one of the same name and version, or another service of the same name with other limits; the node has stopped.
    pub async fn register(&self, workflow: Arc<Workflow>) -> Result<(), String> {
        let shared = &self.shared;
        let _one_at_a_time = shared.registering.lock().await;
        let before = shared.workflows.load_full();
        let after = with(&before, workflow)?;
        let known: HashSet<_> = before.services().into_iter().map(Service::name).collect();
        let new: Vec<_> =
            after.services().into_iter().filter(|new| !known.contains(new.name())).cloned().collect();
        if !new.is_empty() {
            let (told, heard) = oneshot::channel();
            shared.board.add(&new, told);
            self.unless_stopped(heard).await?;
            let (told, made) = oneshot::channel();
            shared.tell(Inbox::Services(new.clone(), told));
            self.unless_stopped(made).await?;
            alert::listen(shared, &new, &before.services());
        }
        shared.workflows.store(Arc::new(after));
        Ok(())
    }

    /// Whether [`register`](Self::register) would take it on.
    ///
    /// # Errors
    /// Another one of the same name and version, or another service of the same name with other limits.
    pub fn would_register(&self, workflow: &Arc<Workflow>) -> Result<(), String> {
        with(&self.shared.workflows.load(), Arc::clone(workflow)).map(drop)
    }

    /// Waits for one of the loops; one that has ended answers nobody.
    async fn unless_stopped(&self, told: oneshot::Receiver<()>) -> Result<(), String> {
        let told = tokio::select! {
            told = told => told.is_ok(),
            () = self.shared.inbox.closed() => false,
        };
        told.then_some(()).ok_or_else(|| "the node has stopped".to_owned())
    }

    /// Workflows that came as texts, as they are stored, by name and version.
    ///
    /// # Errors
    /// The store's.
    pub async fn workflow_texts(&self) -> Result<Vec<WorkflowText>, Error> {
        Ok(self.shared.store.workflow_texts().await?)
    }

    /// Stores the text of a workflow, if there is none of its name and version; otherwise says what stands.
    ///
    /// # Errors
    /// The store's, a text that is too large.
    pub async fn put_text(&self, text: WorkflowText) -> Result<PutText, Error> {
        let put = self.shared.store.put_texts(vec![text]).await?;
        Ok(put.into_iter().next().unwrap_or(PutText::Done))
    }

    /// All workflows that it knows, in all versions.
    #[must_use]
    pub fn workflows(&self) -> Vec<Arc<Workflow>> {
        self.shared.workflows.load().all().cloned().collect()
    }
}

/// All workflows, with one more.
fn with(known: &Workflows, one_more: Arc<Workflow>) -> Result<Workflows, String> {
    let mut all = known.clone();
    all.add(one_more)?;
    all.check()?;
    Ok(all)
}
