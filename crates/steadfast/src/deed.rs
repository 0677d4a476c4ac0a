//! What an operator does beside tasks: to breakers, schedules, workflows, the store. It is in the audit log before it is done.

use std::fmt;
use std::sync::Arc;

use steadfast_runtime::Deed;
use steadfast_store::AuditId;
use tokio::runtime::Handle;

use crate::error::Error;
use crate::operator::Operator;

/// What the log says of a deed that was cut off.
const CUT_OFF: &str = "it was cut off in the middle, and nobody knows whether it was done";

impl Operator {
    /// Something that this person is about to do, and that is about no task: its name, such as `breaker open`, what it is done to,
    /// such as `service payments`, and why.
    #[must_use]
    pub fn deed(&self, action: &str, about: &str, why: &str) -> Deed {
        Deed::new(action, about, self.name(), why)
    }

    /// Writes it to the audit log. When this returns, that is durable.
    ///
    /// # Errors
    /// The store's; more words than an entry may have. It must not be done then.
    pub async fn note(&self, deed: Deed) -> Result<AuditId, Error> {
        Ok(self.node().note(deed).await?)
    }

    /// Writes it to the audit log, and does it then. Nothing is done that is not in the log. What could not be done after all has a
    /// second entry, which says why; so has what was cut off because nobody polls this any more, but for a crash.
    ///
    /// ```
    /// use steadfast::{Engine, Error, Service};
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Error> {
    /// let bank = Service::standard("bank");
    /// let engine = Engine::builder("memory:").start().await?;
    /// let ana = engine.operator("ana");
    /// let deed = ana.deed("breaker open", "service bank", "the bank is being repaired");
    /// ana.does(deed, async {
    ///     let breaker = bank.pipeline().breaker();
    ///     breaker.into_iter().for_each(|breaker| breaker.force_open(None, "ana", "the bank is being repaired"));
    ///     Ok::<_, Error>(())
    /// })
    /// .await?;
    /// let log = ana.audits(None, None, 10).await?;
    /// assert_eq!((&*log[0].audit.action, &*log[0].audit.by), ("breaker open", "ana"));
    /// # engine.shut_down().await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// What it says itself; the store's, and then it was not done.
    pub async fn does<T, E>(&self, deed: Deed, act: impl Future<Output = Result<T, E>>) -> Result<T, E>
    where
        E: From<Error> + fmt::Display,
    {
        self.note(deed.clone()).await?;
        let mut open = Open { operator: self, deed: Some(deed.clone()) };
        let done = act.await;
        if let Err(error) = &done {
            self.node().note_refused(deed, &error.to_string()).await;
        }
        open.deed = None;
        done
    }
}

/// A deed that is noted, and of which nobody knows yet whether it was done.
struct Open<'o> {
    operator: &'o Operator,
    deed: Option<Deed>,
}

/// Whoever asked has gone away, or was sent away, while it was done.
impl Drop for Open<'_> {
    fn drop(&mut self) {
        let (Some(deed), Ok(runtime)) = (self.deed.take(), Handle::try_current()) else { return };
        let node = Arc::clone(self.operator.node());
        drop(runtime.spawn(async move { node.note_refused(deed, CUT_OFF).await }));
    }
}
