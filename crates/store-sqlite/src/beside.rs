//! Long work on a thread of its own, beside the writer and the readers: copies, and looks at the whole file.
//!
//! It is given up when nobody waits for it any more. Where no thread may be started, since a test's clock stands still, it is done
//! by who asks.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Instant;

use rusqlite::{Connection, InterruptHandle};
use steadfast_store::{Error, Kind};

use crate::Inner;
use crate::answer::{Receiver, answer};

/// The thread, as the system shows it.
const NAME: &str = "steadfast-beside";
/// Whether nobody waits any more, and what is to be interrupted then.
#[derive(Clone, Default)]
pub(crate) struct Stop(Arc<Mutex<Stopping>>);

#[derive(Default)]
struct Stopping {
    stopped: bool,
    interrupts: Option<InterruptHandle>,
}

impl Stop {
    /// Has a connection give up what it does once nobody waits for it.
    pub(crate) fn ends(&self, connection: &Connection) {
        let mut stopping = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stopping.interrupts = Some(connection.get_interrupt_handle());
    }

    /// Whether nobody waits any more.
    pub(crate) fn is_told(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).stopped
    }

    fn tell(&self) {
        let mut stopping = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        stopping.stopped = true;
        if let Some(connection) = &stopping.interrupts {
            connection.interrupt();
        }
    }
}

/// What is done beside. Dropped before it was told, it is given up.
#[must_use = "it is given up when nobody waits for it"]
pub(crate) struct Beside<T> {
    receiver: Receiver<T>,
    stop: Stop,
}

/// Has this done.
pub(crate) fn run<T: Send + 'static>(
    inner: &Arc<Inner>,
    work: impl FnOnce(&Inner, &Stop) -> Result<T, Error> + Send + 'static,
) -> Beside<T> {
    let (sender, receiver) = answer();
    let (stop, inner) = (Stop::default(), Arc::clone(inner));
    let by_caller = inner.drive.is_by_caller();
    let own = stop.clone();
    let done = move || {
        let told = work(&inner, &own);
        // The file is let go of before anybody hears of it: they may want to open it anew.
        drop(inner);
        sender.tell(told);
    };
    if by_caller {
        done();
    } else if let Err(error) = std::thread::Builder::new().name(NAME.to_owned()).spawn(done) {
        // The sender went with it, and has told that nobody will answer; this says why.
        tracing::warn!(error = &error as &dyn std::error::Error, "the system gives no more threads");
    }
    Beside { receiver, stop }
}

impl<T> Future for Beside<T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.receiver).poll(context)
    }
}

impl<T> Drop for Beside<T> {
    fn drop(&mut self) {
        self.stop.tell();
    }
}

struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Waits for the writer on this thread.
pub(crate) fn wait<T>(asked: impl Future<Output = Result<T, Error>>) -> Result<T, Error> {
    let mut asked = pin!(asked);
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    loop {
        if let Poll::Ready(told) = asked.as_mut().poll(&mut Context::from_waker(&waker)) {
            return told;
        }
        std::thread::park();
    }
}

/// What was given up, since nobody waits for it.
pub(crate) fn given_up() -> Error {
    Error::new(Kind::Unavailable, "it was given up: nobody waited for it any more")
}

#[expect(clippy::disallowed_methods, reason = "how long the disk takes is not the store's time")]
pub(crate) fn instant() -> Instant {
    Instant::now()
}
