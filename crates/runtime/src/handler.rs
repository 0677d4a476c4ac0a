//! The code of steps, as an agent calls it.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use steadfast_engine::StepId;
use steadfast_resilience::{Attempt, Classify, IdempotencyKey, Kind, Verdict};
use steadfast_store::{Payload, TaskId};

use crate::callback::CallbackId;
use crate::child::Parent;
use crate::pulse::Pulse;
use crate::trace::Trace;
use crate::workflow::Known;

/// What a handler gives: its output, or how it failed.
pub type Answered = Pin<Box<dyn Future<Output = Result<Payload, Fault>> + Send>>;

/// The code of a step, or of its undo. It is called once for each try.
pub trait Handler: Send + Sync {
    /// One try.
    fn call(&self, work: &Arc<Work>, attempt: Attempt) -> Answered;
}

impl<F> Handler for F
where
    F: Fn(&Arc<Work>, Attempt) -> Answered + Send + Sync,
{
    fn call(&self, work: &Arc<Work>, attempt: Attempt) -> Answered {
        self(work, attempt)
    }
}

/// What an attempt is about.
#[derive(Clone, Debug)]
pub struct Work {
    /// Which task.
    pub task: TaskId,
    /// Which step.
    pub step: StepId,
    /// Whether it is to be undone.
    pub undo: bool,
    /// The number of the attempt; it only grows.
    pub number: u32,
    /// The round of a step that is repeated, from 0.
    pub round: u32,
    /// The same for each attempt of this step, and another for its undo and for each round.
    pub key: IdempotencyKey,
    /// Steps of the task that an operator has begun anew, by name, and how often.
    pub series: Vec<(Arc<str>, u32)>,
    /// The task's input, and the outputs of the steps before this one; for an undo also its own.
    pub known: Known,
    /// The item that it is about, of a step that is made for each item of a list.
    pub item: Option<Item>,
    /// How the attempt is heard of while it runs.
    pub pulse: Pulse,
    /// Who asks, of a step that asks for another task.
    pub parent: Option<Box<Parent>>,
    /// The trace that the task belongs to.
    pub trace: Option<Arc<Trace>>,
    /// Where its service may answer later. A handler that gives an output without a byte has been told so by its service.
    pub callback: Option<CallbackId>,
}

/// An item of a list.
#[derive(Clone, Debug)]
pub struct Item {
    /// Its place in its list, from 0.
    pub place: u16,
    /// What it is, as JSON.
    pub value: Payload,
}

impl Work {
    /// The key that a step of the task has, or had; of the step itself, where it is about an item, the item's.
    #[must_use]
    pub fn key_of(&self, step: &str) -> IdempotencyKey {
        let series = self.series.iter().find(|(name, _)| **name == *step).map_or(0, |(_, series)| *series);
        let key = crate::order::step_key(self.task, step, series);
        let own = self.item.as_ref().map(|item| crate::order::item_key(key, item.place));
        own.filter(|own| self.key == *own || self.key == own.member("undo")).unwrap_or(key)
    }
}

/// How a handler failed.
#[derive(Clone, Debug)]
pub struct Fault {
    /// What it means.
    pub verdict: Verdict,
    /// In words, for people.
    pub message: String,
}

impl Fault {
    /// A failure that trying again cannot mend.
    pub fn terminal(kind: Kind, message: impl Into<String>) -> Self {
        Self { verdict: Verdict::terminal(kind), message: message.into() }
    }
}

impl Classify for Fault {
    fn classify(&self) -> Verdict {
        self.verdict
    }
}

/// The kind of a payload that does not fit its type.
pub const BAD_PAYLOAD: Kind = Kind::new("bad-payload");

/// The kind of a handler's panic.
pub(crate) const PANIC: Kind = Kind::new("panic");

/// A future whose panics are faults: a handler's panic is its own.
pub(crate) struct Caught(pub(crate) Answered);

impl Future for Caught {
    type Output = Result<Payload, Fault>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        catch_unwind(AssertUnwindSafe(|| self.0.as_mut().poll(cx)))
            .unwrap_or_else(|panic| Poll::Ready(Err(Fault::terminal(PANIC, words_of(&*panic)))))
    }
}

/// Calls a handler; a panic in that is a fault too.
pub(crate) fn call(handler: &dyn Handler, work: &Arc<Work>, attempt: Attempt) -> Caught {
    let called = catch_unwind(AssertUnwindSafe(|| handler.call(work, attempt)));
    Caught(called.unwrap_or_else(|panic| {
        let fault = Fault::terminal(PANIC, words_of(&*panic));
        Box::pin(std::future::ready(Err(fault)))
    }))
}

/// What a panic said.
pub(crate) fn words_of(panic: &(dyn std::any::Any + Send)) -> String {
    let words =
        panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(|s| &**s));
    format!("the handler panicked: {}", words.unwrap_or("without words"))
}

static STUCK: AtomicU64 = AtomicU64::new(0);

/// Blocking handlers that still run although nobody waits for them.
pub(crate) fn stuck() -> u64 {
    STUCK.load(Ordering::Relaxed)
}

/// Runs code that blocks, on a thread of its own. When the attempt ends first, the thread cannot be stopped: it is counted
/// until it returns.
pub fn blocking(work: impl FnOnce() -> Result<Payload, Fault> + Send + 'static) -> Answered {
    let left = Arc::new(AtomicU64::new(WAITED_FOR));
    let mut waiter = Waiter { left: Arc::clone(&left) };
    let thread = tokio::task::spawn_blocking(move || {
        let done = work();
        if left.swap(RETURNED, Ordering::AcqRel) == LEFT {
            STUCK.fetch_sub(1, Ordering::Relaxed);
        }
        done
    });
    Box::pin(async move {
        let done = thread.await;
        waiter.done();
        done.unwrap_or_else(|error| match error.try_into_panic() {
            Ok(panic) => Err(Fault::terminal(PANIC, words_of(&*panic))),
            Err(_) => {
                Err(Fault { verdict: Verdict::neutral(Kind::CANCELLED), message: "the program ends".into() })
            }
        })
    })
}

const WAITED_FOR: u64 = 0;
const LEFT: u64 = 1;
const RETURNED: u64 = 2;

/// Tells a blocking handler's thread, when dropped early, that nobody waits any more.
struct Waiter {
    left: Arc<AtomicU64>,
}

impl Waiter {
    fn done(&mut self) {
        self.left.store(RETURNED, Ordering::Release);
    }
}

impl Drop for Waiter {
    fn drop(&mut self) {
        let waited = self.left.compare_exchange(WAITED_FOR, LEFT, Ordering::AcqRel, Ordering::Relaxed);
        if waited.is_ok() {
            STUCK.fetch_add(1, Ordering::Relaxed);
        }
    }
}
