//! A caller's wish to stop: seen by blocking calls, and by async ones whose future cannot just be dropped.

use std::collections::HashMap;
use std::fmt;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::Waker;
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
    next_id: u64,
    /// One for each call that waits. A call takes its own away when it ends: a wish may outlive millions of calls.
    wakers: HashMap<u64, Waker>,
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
        wakers.into_values().for_each(Waker::wake);
    }

    /// Whether the wish was made.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.wish().cancelled
    }

    pub(crate) fn wait_blocking(&self, wait: Duration) {
        let wish = self.wish();
        let _ = self.shared.changed.wait_timeout_while(wish, wait, |wish| !wish.cancelled);
    }

    fn wish(&self) -> MutexGuard<'_, Wish> {
        self.shared.wish.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// One call's ear for the wish.
#[derive(Debug)]
pub(crate) struct Listener {
    cancel: Cancel,
    id: u64,
}

impl Listener {
    pub(crate) fn new(cancel: &Cancel) -> Self {
        let mut wish = cancel.wish();
        let id = wish.next_id;
        wish.next_id += 1;
        drop(wish);
        Self { cancel: cancel.clone(), id }
    }

    pub(crate) fn cancel(&self) -> &Cancel {
        &self.cancel
    }

    /// Ready once the wish was made.
    #[cfg(feature = "tokio")]
    pub(crate) fn poll_cancelled(&self, cx: &mut std::task::Context<'_>) -> std::task::Poll<()> {
        let mut wish = self.cancel.wish();
        if wish.cancelled {
            return std::task::Poll::Ready(());
        }
        let before = wish.wakers.insert(self.id, cx.waker().clone());
        // A waker's drop is foreign code, which may come back here: not under the lock.
        drop(wish);
        drop(before);
        std::task::Poll::Pending
    }
}

impl Clone for Listener {
    fn clone(&self) -> Self {
        Self::new(&self.cancel)
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        let waker = self.cancel.wish().wakers.remove(&self.id);
        drop(waker);
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
    fn a_wish_that_outlives_its_calls_keeps_nothing_of_them() {
        let cancel = Cancel::new();
        let mut cx = std::task::Context::from_waker(Waker::noop());
        let waiting = Listener::new(&cancel);
        for _ in 0..100 {
            assert!(waiting.poll_cancelled(&mut cx).is_pending());
            assert!(Listener::new(&cancel).poll_cancelled(&mut cx).is_pending());
            assert!(waiting.clone().poll_cancelled(&mut cx).is_pending());
        }
        assert_eq!(cancel.wish().wakers.len(), 1);
        cancel.cancel();
        assert!(waiting.poll_cancelled(&mut cx).is_ready());
        drop(waiting);
        assert_eq!(cancel.wish().wakers.len(), 0);
    }
}
