//! Two ways to drive the writer: a thread of its own, or whoever waits for it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::thread::JoinHandle;

use rusqlite::Connection;
use steadfast_engine::Time;
use steadfast_store::{Error, Kind};

use crate::answer::{Receiver, answer};
use crate::job::Work;
use crate::queue::Queue;
use crate::writer::{Outcome, Writer};

/// The writer's thread, as the system shows it.
const NAME: &str = "steadfast-writer";

/// The writer, and who drives it.
pub(crate) struct Drive {
    queue: Arc<Queue>,
    by: By,
}

enum By {
    /// A thread of its own: callers go on while it waits for the disk. `None` once it was waited for.
    Thread(Option<JoinHandle<()>>),
    /// Whoever polls an answer: no thread that a paused clock would not know of.
    Caller(Box<Mutex<Writer>>),
}

impl Drive {
    pub(crate) fn by_thread(mut writer: Writer) -> Result<Self, Error> {
        let queue = Arc::new(Queue::default());
        let jobs = Arc::clone(&queue);
        let turn = move || {
            loop {
                let group = jobs.wait();
                if group.is_empty() {
                    return;
                }
                tell(writer.carry_out(group));
            }
        };
        let thread = std::thread::Builder::new().name(NAME.to_owned()).spawn(turn).map_err(|error| {
            Error::new(Kind::Unavailable, "the store's writer cannot start: the system gives no more threads")
                .because(error)
        })?;
        Ok(Self { queue, by: By::Thread(Some(thread)) })
    }

    pub(crate) fn by_caller(writer: Writer) -> Self {
        Self { queue: Arc::default(), by: By::Caller(Box::new(Mutex::new(writer))) }
    }

    /// Has this done, if it was found well-formed; at once, whether or not the answer is waited for.
    pub(crate) fn ask<T: Send + 'static>(
        &self,
        checked: Result<(), Error>,
        bytes: usize,
        work: impl FnMut(&Connection, Time) -> rusqlite::Result<T> + Send + 'static,
    ) -> Asked<'_, T> {
        let (sender, receiver) = answer();
        let pushed = match checked {
            Ok(()) => self.queue.push(Box::new(Work { work, bytes, done: None, sender })),
            Err(error) => {
                sender.tell(Err(error));
                Ok(())
            }
        };
        if let Err((job, error)) = pushed {
            job.answer(Err(error));
        }
        Asked { receiver, drive: self }
    }

    /// One turn of the loop on this thread, if that is how the writer is driven; whether there was something to do.
    fn turn(&self) -> bool {
        let By::Caller(writer) = &self.by else { return false };
        let done = {
            let mut writer = writer.lock().unwrap_or_else(PoisonError::into_inner);
            match self.queue.take() {
                group if group.is_empty() => return false,
                group => writer.carry_out(group),
            }
        };
        // A waker may ask this store something: nothing is locked any more.
        tell(done);
        true
    }
}

/// What is queued is done before the file is closed.
impl Drop for Drive {
    fn drop(&mut self) {
        self.queue.close();
        match &mut self.by {
            By::Caller(_) => while self.turn() {},
            By::Thread(thread) => {
                // The last clone can go on the writer's own thread, with a waker that held it: it ends by itself then.
                let own = |thread: &JoinHandle<()>| thread.thread().id() == std::thread::current().id();
                if let Some(thread) = thread.take().filter(|thread| !own(thread)) {
                    let _ = thread.join();
                }
            }
        }
    }
}

/// Tells everybody, whatever their wakers do.
fn tell(done: Outcome) {
    steadfast_store::failpoint!("writer.before_answers");
    for (job, result) in done {
        let _ = catch_unwind(AssertUnwindSafe(|| job.answer(result)));
        steadfast_store::failpoint!("writer.between_answers");
    }
}

/// The answer to come. Dropped before, its work is done all the same.
#[must_use = "the store is asked, but nobody hears the answer"]
pub(crate) struct Asked<'a, T> {
    receiver: Receiver<T>,
    drive: &'a Drive,
}

impl<T> Future for Asked<'_, T> {
    type Output = Result<T, Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        // Asked before each turn, so that it is woken if it went along in a turn of another thread.
        loop {
            let answer = Pin::new(&mut self.receiver).poll(context);
            if answer.is_ready() || !self.drive.turn() {
                return answer;
            }
        }
    }
}

impl<T> Drop for Asked<'_, T> {
    fn drop(&mut self) {
        while !self.receiver.is_told() && self.drive.turn() {}
    }
}
