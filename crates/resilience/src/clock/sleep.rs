//! The timer that pipelines wait on: tokio's, or a virtual clock's. No box, so that a call allocates nothing.

use std::future::Future;
use std::pin::Pin;
use std::sync::OnceLock;
use std::task::{Context, Poll};
use std::time::Duration;

use pin_project_lite::pin_project;

use super::{Moment, nanos};

pin_project! {
    /// Ready once its time has come.
    #[project = SleepProjection]
    pub(crate) enum Sleep {
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
        Self::Tokio { timer: tokio::time::sleep(wait) }
    }

    #[cfg(any(test, feature = "test-util"))]
    pub(super) fn manual(timer: ManualTimer) -> Self {
        Self::Manual { timer }
    }
}

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        match self.project() {
            SleepProjection::Tokio { timer } => timer.poll(cx),
            SleepProjection::Manual { timer } => timer.poll(cx),
        }
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
