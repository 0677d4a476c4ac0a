//! What the store was asked and has not answered yet. The loop itself waits for it: a write is under way as soon as it was
//! asked for, and its answer needs no task between the store and the loop.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::pin::Pin;

use futures_util::stream::{FuturesUnordered, StreamExt};
use futures_util::{FutureExt, future};
use steadfast_store::{Error, Kind};

use super::Inbox;

#[derive(Default)]
pub(super) struct Asked(FuturesUnordered<Pin<Box<dyn Future<Output = Inbox> + Send>>>);

impl Asked {
    /// Asks, and has the answer told. A store that panics has failed: nobody knows what became of what it was asked.
    pub(super) fn ask<T: 'static>(
        &mut self,
        asking: impl Future<Output = Result<T, Error>> + Send + 'static,
        told: impl FnOnce(Result<T, Error>) -> Inbox + Send + 'static,
    ) {
        let caught = AssertUnwindSafe(asking).catch_unwind();
        let panicked = || Error::new(Kind::Unavailable, "the store panicked; please report it");
        self.0.push(Box::pin(caught.map(move |done| told(done.unwrap_or_else(|_| Err(panicked()))))));
    }

    /// The next answer. It waits for ever while nothing is asked.
    pub(super) async fn next(&mut self) -> Inbox {
        match self.0.next().await {
            Some(answer) => answer,
            None => future::pending().await,
        }
    }

    /// An answer that is there already. What was just asked is under way once this has been called.
    pub(super) fn ready(&mut self) -> Option<Inbox> {
        self.0.next().now_or_never().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_store_that_panics_has_failed() {
        let mut asked = Asked::default();
        asked.ask(async { panic!("no disk") }, Inbox::Claimed);
        asked.ask(future::ready(Ok(Vec::new())), Inbox::Holds);
        let mut answers = [asked.next().await, asked.next().await];
        answers.sort_by_key(|answer| matches!(answer, Inbox::Holds(_)));
        let [Inbox::Claimed(Err(error)), Inbox::Holds(Ok(_))] = answers else { panic!("other answers") };
        assert_eq!(error.kind(), Kind::Unavailable);
        assert!(asked.ready().is_none());
    }

    #[tokio::test]
    async fn what_is_asked_is_under_way_at_once() {
        let (begun, begins) = tokio::sync::oneshot::channel();
        let mut asked = Asked::default();
        let asking = async move {
            let _ = begun.send(());
            future::pending::<Result<_, Error>>().await
        };
        asked.ask(asking, Inbox::Mail);
        assert!(asked.ready().is_none());
        begins.await.unwrap();
    }
}
