//! One answer, from the writer to whoever asked. It needs no runtime.
//!
//! A waker can own the very future that waits here: it is woken and dropped only after the lock was given back.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};

use steadfast_store::{Error, Kind};

enum State<T> {
    /// Nothing was told yet; who wants to know.
    Open(Option<Waker>),
    Told(Result<T, Error>),
    /// Taken by the receiver.
    Over,
}

type Slot<T> = Arc<Mutex<State<T>>>;

fn lock<T>(slot: &Slot<T>) -> MutexGuard<'_, State<T>> {
    slot.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Tells, once. Dropped without a word it tells that nobody will.
pub(crate) struct Sender<T>(Slot<T>);

/// Waits for it. May be dropped at any time: the work is done all the same.
pub(crate) struct Receiver<T>(Slot<T>);

pub(crate) fn answer<T>() -> (Sender<T>, Receiver<T>) {
    let slot = Arc::new(Mutex::new(State::Open(None)));
    (Sender(Arc::clone(&slot)), Receiver(slot))
}

impl<T> Sender<T> {
    pub(crate) fn tell(self, result: Result<T, Error>) {
        put(&self.0, result);
    }
}

impl<T> Drop for Sender<T> {
    fn drop(&mut self) {
        if matches!(*lock(&self.0), State::Open(_)) {
            let words = "the store was closed, or its writer failed, before this was answered: read it again";
            put(&self.0, Err(Error::new(Kind::Unavailable, words)));
        }
    }
}

fn put<T>(slot: &Slot<T>, result: Result<T, Error>) {
    let before = std::mem::replace(&mut *lock(slot), State::Told(result));
    if let State::Open(Some(waker)) = before {
        waker.wake();
    }
}

impl<T> Receiver<T> {
    pub(crate) fn is_told(&self) -> bool {
        !matches!(*lock(&self.0), State::Open(_))
    }
}

impl<T> Future for Receiver<T> {
    type Output = Result<T, Error>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut state = lock(&self.0);
        if let State::Open(waker) = &mut *state {
            let known = waker.as_ref().is_some_and(|waker| waker.will_wake(context.waker()));
            let before = if known { None } else { waker.replace(context.waker().clone()) };
            drop(state);
            drop(before);
            return Poll::Pending;
        }
        match std::mem::replace(&mut *state, State::Over) {
            State::Told(result) => Poll::Ready(result),
            _ => Poll::Pending,
        }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let waker = match &mut *lock(&self.0) {
            State::Open(waker) => waker.take(),
            _ => None,
        };
        drop(waker);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};
    use std::task::Wake;

    use super::*;

    #[derive(Default)]
    struct Count(AtomicU32);

    impl Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }

    fn poll<T>(receiver: &mut Receiver<T>, count: &Arc<Count>) -> Poll<Result<T, Error>> {
        Pin::new(receiver).poll(&mut Context::from_waker(&Waker::from(Arc::clone(count))))
    }

    #[test]
    fn the_last_who_asked_is_woken_and_told_once() {
        let (sender, mut receiver) = answer();
        let (first, last) = (Arc::new(Count::default()), Arc::new(Count::default()));
        assert!(poll(&mut receiver, &first).is_pending());
        assert!(poll(&mut receiver, &last).is_pending());
        sender.tell(Ok(7));
        assert_eq!((first.0.load(Ordering::SeqCst), last.0.load(Ordering::SeqCst)), (0, 1));
        assert!(matches!(poll(&mut receiver, &last), Poll::Ready(Ok(7))));
        assert!(poll(&mut receiver, &last).is_pending(), "there is no second answer");
    }

    #[test]
    fn who_is_forgotten_is_told_so() {
        let (sender, mut receiver) = answer::<()>();
        let count = Arc::new(Count::default());
        assert!(poll(&mut receiver, &count).is_pending());
        drop(sender);
        assert_eq!(count.0.load(Ordering::SeqCst), 1);
        let Poll::Ready(Err(error)) = poll(&mut receiver, &count) else { panic!("not told") };
        assert_eq!(error.kind(), Kind::Unavailable);
    }

    #[test]
    fn nobody_has_to_wait_for_it() {
        let (sender, mut receiver) = answer();
        let count = Arc::new(Count::default());
        assert!(poll(&mut receiver, &count).is_pending());
        drop(receiver);
        assert_eq!(Arc::strong_count(&count), 1, "the waker is given back at once");
        sender.tell(Ok(()));
        assert_eq!(count.0.load(Ordering::SeqCst), 0);
    }

    /// An executor whose tasks own their futures: the waker is the last that holds the future it wakes.
    #[test]
    fn a_waker_may_own_who_it_wakes() {
        struct Owner(Mutex<Option<Receiver<()>>>);
        impl Wake for Owner {
            fn wake(self: Arc<Self>) {}
        }
        let (sender, receiver) = answer::<()>();
        let owner = Arc::new(Owner(Mutex::new(Some(receiver))));
        let waker = Waker::from(Arc::clone(&owner));
        let pending = |owner: &Owner| {
            let mut receiver = owner.0.lock().unwrap();
            Pin::new(receiver.as_mut().unwrap()).poll(&mut Context::from_waker(&waker)).is_pending()
        };
        assert!(pending(&owner));
        drop((owner, waker));
        sender.tell(Ok(()));
    }
}
