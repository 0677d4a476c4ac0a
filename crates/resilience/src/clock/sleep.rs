//! The timer that pipelines wait on: tokio's, or a virtual clock's. No box, so that a call allocates nothing.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::{Moment, nanos};

pin_project! {
    /// Ready once its time has come: see [`Clock::sleep`](super::Clock::sleep).
    #[must_use = "futures do nothing unless awaited"]
    pub struct Sleep {
        #[pin]
        timer: Timer,
    }
}

pin_project! {
    #[project = TimerProjection]
    enum Timer {
        Tokio { #[pin] timer: tokio::time::Sleep },
        Manual { #[pin] timer: ManualTimer },
    }
}

#[cfg(any(test, feature = "test-util"))]
type ManualTimer = super::manual::Timer;
/// Without virtual clocks there is nothing to wait for in that arm.
#[cfg(not(any(test, feature = "test-util")))]
type ManualTimer = std::future::Ready<()>;

impl Sleep {
    #[expect(clippy::disallowed_methods, reason = "this is the clock module")]
    pub(super) fn tokio(wait: Duration) -> Self {
        Self { timer: Timer::Tokio { timer: tokio::time::sleep(wait) } }
    }

    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn manual(timer: ManualTimer) -> Self {
        Self { timer: Timer::Manual { timer } }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.project().timer.project() {
            TimerProjection::Tokio { timer } => timer.poll(cx),
            TimerProjection::Manual { timer } => timer.poll(cx),
        }
    }
}

impl fmt::Debug for Sleep {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sleep").finish_non_exhaustive()
    }
}

#[expect(clippy::disallowed_methods, reason = "this is the clock module")]
pub(super) fn tokio_now() -> Moment {
    // Tokio's clock has no zero of its own: the first look stands at ORIGIN. Paused clocks of other runtimes
    // may show earlier times than that.
    static START: OnceLock<tokio::time::Instant> = OnceLock::new();
    let now = tokio::time::Instant::now();
    let start = *START.get_or_init(|| now);
    match now.checked_duration_since(start) {
        Some(after) => Moment::from_nanos(ORIGIN.saturating_add(nanos(after))),
        None => Moment::from_nanos(ORIGIN.saturating_sub(nanos(start - now))),
    }
}

/// Where the first look at tokio's clock stands on the scale: a day, in nanoseconds, so that earlier instants fit.
const ORIGIN: u64 = 86_400_000_000_000;
