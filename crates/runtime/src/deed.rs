//! What operators do that is about no task: a breaker is set by hand, a schedule is paused, a workflow is taken in. It is in the
//! audit log before it is done, since what it changes is not always in the store. Must never do it.

use std::sync::Arc;

use serde_json::{Map, Value};
use steadfast_store::{Audit, AuditId, Payload, Store};

use crate::error::Error;
use crate::node::Node;

/// The most bytes of a reason for which something was not done.
const MOST_REASON: usize = 1_024;

/// Something that an operator does and that is about no task, as it is written to the audit log.
#[derive(Clone, Debug, PartialEq)]
pub struct Deed {
    by: Arc<str>,
    why: Arc<str>,
    action: Arc<str>,
    refused: Option<Arc<str>>,
    detail: Map<String, Value>,
}

impl Deed {
    /// What is done, such as `breaker open`, to what, such as `service payments`, by whom and why.
    #[must_use]
    pub fn new(action: &str, about: &str, by: &str, why: &str) -> Self {
        let detail = Map::from_iter([("about".to_owned(), Value::from(about))]);
        Self { by: Arc::from(by), why: Arc::from(why), action: Arc::from(action), refused: None, detail }
    }

    /// With what was before, or what was given, by its name.
    #[must_use]
    pub fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.detail.insert(name.to_owned(), value.into());
        self
    }

    /// It was not done, for this reason.
    #[must_use]
    pub fn refused(mut self, why: &str) -> Self {
        let end = (0..=MOST_REASON.min(why.len())).rev().find(|end| why.is_char_boundary(*end));
        self.refused = Some(Arc::from(&why[..end.unwrap_or(0)]));
        self
    }

    fn entry(self) -> Audit {
        let Self { by, why, action, refused, detail } = self;
        let id = AuditId::from_u128(uuid::Uuid::now_v7().as_u128());
        let detail = Payload::from(Value::Object(detail).to_string().into_bytes());
        Audit { id, task: None, by, why, action, refused, detail }
    }
}

impl<S: Store> Node<S> {
    /// Writes to the audit log what somebody is about to do, or what was refused. When this returns, it is durable.
    ///
    /// # Errors
    /// The store's; more words than an entry may have. It must not be done then.
    pub async fn note(&self, deed: Deed) -> Result<AuditId, Error> {
        let entry = deed.entry();
        let id = entry.id;
        self.shared().store.log(vec![entry]).await?;
        Ok(id)
    }

    /// Writes to the audit log that what was noted could not be done after all. If that fails, the process's own log has it: who asked has
    /// the reason already.
    pub async fn note_refused(&self, deed: Deed, why: &str) {
        let action = Arc::clone(&deed.action);
        if let Err(error) = self.note(deed.refused(why)).await {
            tracing::error!(%error, %action, "the audit log does not say that this was not done: {why}");
        }
    }
}
