//! Services that take work on and answer later.

use std::time::Duration;

use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_runtime::{CallbackId, CallbackSays, CalledBack};

use crate::context::Context;
use crate::engine::Engine;
use crate::error::Error;
use crate::step::{Added, StepBuilder};

impl<In, Out, Ref> StepBuilder<'_, In, Out, Ref>
where
    In: DeserializeOwned + Send + Sync + 'static,
    Out: Serialize + DeserializeOwned + Send + 'static,
    Ref: Added,
{
    /// Its service may take the work on and answer later. The code of the step hands [`Context::callback`] over with the call, and
    /// ends with [`Failure::later`](crate::Failure::later) when the service has taken the work on; whoever hears the answer gives it
    /// to [`Engine::call_back`]. That has this long from then on: without an answer the attempt has not answered. No process has to
    /// live meanwhile, and a restart loses nothing.
    pub fn callback(self, within: Duration) -> Self {
        self.with_step(|step| step.callback(within))
    }
}

impl<In> Context<In> {
    /// Where the service may answer later, of a step with a [`callback`](StepBuilder::callback): the same for each try, until an
    /// answer was taken there. Whoever knows it may answer for the step.
    #[must_use]
    pub fn callback(&self) -> Option<CallbackId> {
        self.work().callback
    }
}

impl Engine {
    /// A service answers that had taken work on. When this returns, what it said is durable: it counts, or it is said why not.
    ///
    /// ```
    /// # use steadfast::{CallbackId, CallbackSays, Engine, Error};
    /// # async fn heard(engine: &Engine, id: CallbackId) -> Result<(), Error> {
    /// engine.call_back(id, CallbackSays::Done(br#"{"score":7}"#.as_slice().into())).await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// No service was given this; another answer was taken there; it comes too late, or between two attempts; the store's.
    pub async fn call_back(&self, id: CallbackId, says: CallbackSays) -> Result<CalledBack, Error> {
        Ok(self.node.call_back(id, says).await?)
    }
}
