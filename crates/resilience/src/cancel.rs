//! A caller's wish to stop: seen by blocking calls, and by async ones whose future cannot just be dropped.

use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// Stops the calls it was given to. Clones are one and the same wish.
///
/// ```
/// let cancel = steadfast_resilience::Cancel::new();
/// let theirs = cancel.clone();
/// cancel.cancel();
/// assert!(theirs.is_cancelled());
/// ```
#[derive(Clone, Default)]
pub struct Cancel {
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    wish: Mutex<Wish>,
    changed: Condvar,
}

#[derive(Default)]
struct Wish {
    cancelled: bool,
    wakers: Vec<Waker>,
}

impl Cancel {
    /// A wish not yet made.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes the wish. Waits end at once; attempts under way are dropped (async) or run to their end (blocking).
    pub fn cancel(&self) {
        let mut wish = self.wish();
        wish.cancelled = true;
        let wakers = std::mem::take(&mut wish.wakers);
        drop(wish);
        self.shared.changed.notify_all();
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Whether the wish was made.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.wish().cancelled
    }

    /// Ready once the wish was made.
    pub(crate) fn poll_cancelled(&self, cx: &mut Context<'_>) -> Poll<()> {
        let mut wish = self.wish();
        if wish.cancelled {
            return Poll::Ready(());
        }
        if !wish.wakers.iter().any(|waker| waker.will_wake(cx.waker())) {
            wish.wakers.push(cx.waker().clone());
        }
        Poll::Pending
    }

    pub(crate) fn wait_blocking(&self, wait: Duration) {
        let wish = self.wish();
        let _ = self.shared.changed.wait_timeout_while(wish, wait, |wish| !wish.cancelled);
    }

    fn wish(&self) -> MutexGuard<'_, Wish> {
        self.shared.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cancel").field("cancelled", &self.is_cancelled()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_blocking_wait_ends_when_cancelled() {
        let cancel = Cancel::new();
        let theirs = cancel.clone();
        let waiter = std::thread::spawn(move || theirs.wait_blocking(Duration::from_secs(3600)));
        cancel.cancel();
        waiter.join().unwrap();
    }

    #[test]
    fn one_task_is_kept_as_one_waker() {
        let cancel = Cancel::new();
        let mut cx = Context::from_waker(Waker::noop());
        for _ in 0..100 {
            assert!(cancel.poll_cancelled(&mut cx).is_pending());
        }
        assert_eq!(cancel.wish().wakers.len(), 1);
        cancel.cancel();
        assert!(cancel.poll_cancelled(&mut cx).is_ready());
    }
}
