//! Workflows that came as texts: files, and what was sent over the network.

use std::future::Future;
use std::sync::Arc;

use steadfast_engine::Time;

use crate::error::Error;
use crate::record::check_size;
use crate::{MAX_KEY, MAX_PAYLOAD};

/// One version of a workflow, as it was written. It never changes: tasks stay on the version that they began with, and the next
/// process has to know what that was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkflowText {
    /// The workflow's name.
    pub name: Arc<str>,
    /// Which version.
    pub version: u32,
    /// What tells whether two texts mean the same; made by whoever reads them.
    pub digest: Arc<str>,
    /// How it is written, such as `yaml`.
    pub format: Arc<str>,
    /// The text.
    pub text: Arc<str>,
    /// When it was stored, by the store's clock.
    pub at: Time,
}

impl WorkflowText {
    /// Whether it is within the limits that all stores have.
    ///
    /// # Errors
    /// What is too large, and by how much.
    pub fn check(&self) -> Result<(), Error> {
        let names = self.name.len().max(self.digest.len()).max(self.format.len());
        check_size("a name of a workflow's text", names, MAX_KEY)?;
        check_size("the text of a workflow", self.text.len(), MAX_PAYLOAD)
    }
}

/// What became of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PutText {
    /// It is stored.
    Done,
    /// There is one of this name and version already, which stays as it is.
    Stands(WorkflowText),
}

/// Workflows that came as texts.
pub trait WorkflowTexts {
    /// All of them, by name and version.
    fn workflow_texts(&self) -> impl Future<Output = Result<Vec<WorkflowText>, Error>> + Send;

    /// Stores texts, each alone: only if there is none of its name and version. When it was stored is the store's to say.
    fn put_texts(&self, batch: Vec<WorkflowText>)
    -> impl Future<Output = Result<Vec<PutText>, Error>> + Send;
}
