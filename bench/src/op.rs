//! The operations that are wrapped: one that is ready at once, and one that waits for nothing but its next turn.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::task::{Context, Poll};

use steadfast_resilience::{Classify, Kind, Verdict};

/// The error of an operation: none of those measured returns it, but those that open breakers do.
#[derive(Clone, Copy, Debug)]
pub struct Failure;

impl Classify for Failure {
    fn classify(&self) -> Verdict {
        Verdict::transient(Kind::UNREACHABLE)
    }
}

/// What every case wraps.
pub trait Operation: Copy + Send + Sync + 'static {
    /// One call.
    fn call(self, input: u64) -> impl Future<Output = Result<u64, Failure>> + Send + 'static;
}

/// Ready when first polled.
#[derive(Clone, Copy, Debug)]
pub struct Ready;

/// Pends once: it wakes its task and asks for another turn.
#[derive(Clone, Copy, Debug)]
pub struct Pending;

/// Fails at once, to open breakers.
#[derive(Clone, Copy, Debug)]
pub struct Failing;

impl Operation for Ready {
    #[inline]
    fn call(self, input: u64) -> impl Future<Output = Result<u64, Failure>> + Send + 'static {
        ready(input)
    }
}

impl Operation for Pending {
    #[inline]
    fn call(self, input: u64) -> impl Future<Output = Result<u64, Failure>> + Send + 'static {
        pending(input)
    }
}

impl Operation for Failing {
    fn call(self, _: u64) -> impl Future<Output = Result<u64, Failure>> + Send + 'static {
        std::future::ready(Err(Failure))
    }
}

#[inline(never)]
async fn ready(input: u64) -> Result<u64, Failure> {
    Ok(work(input))
}

#[inline(never)]
async fn pending(input: u64) -> Result<u64, Failure> {
    Turn { taken: false }.await;
    Ok(work(input))
}

/// The work itself, which no wrapper may be compiled into.
#[inline(never)]
fn work(input: u64) -> u64 {
    black_box(input)
}

struct Turn {
    taken: bool,
}

impl Future for Turn {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.taken {
            return Poll::Ready(());
        }
        self.taken = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
