//! The service that dies: it is up, refuses or hangs, and writes every call down.

use std::sync::atomic::{AtomicU8, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use steadfast::Failure;
use steadfast::resilience::clock::{Clock, Moment};

#[cfg(feature = "outage")]
use super::wire::Wire;
use super::{Away, Call, Plan};

/// A service in the same process, or one behind a socket. All else of a drill is the same.
#[derive(Clone)]
pub(super) enum Remote {
    Here(Here),
    #[cfg(feature = "outage")]
    Wire(Wire),
}

/// Seconds since the drill began, on tokio's clock: in virtual time too, and finer than the engine's.
#[derive(Clone)]
pub(super) struct Watch {
    clock: Clock,
    began: Moment,
}

impl Watch {
    pub(super) fn start() -> Self {
        let clock = Clock::tokio();
        let began = clock.now();
        Self { clock, began }
    }

    pub(super) fn at(&self) -> f64 {
        self.clock.now().since(self.began).as_secs_f64()
    }

    pub(super) async fn sleep_until(&self, at: f64) {
        let now = self.at();
        if now < at {
            self.clock.sleep(Duration::from_secs_f64(at - now)).await;
        }
    }

    pub(super) async fn sleep(&self, time: Duration) {
        self.clock.sleep(time).await;
    }
}

impl Remote {
    pub(super) fn start(plan: &Plan, watch: &Watch) -> Result<Self> {
        if plan.wire {
            return Self::wire(plan, watch);
        }
        let (watch, takes) = (watch.clone(), plan.call);
        Ok(Self::Here(Here { watch, takes, state: Arc::default(), book: Arc::default() }))
    }

    #[cfg(feature = "outage")]
    fn wire(plan: &Plan, watch: &Watch) -> Result<Self> {
        Ok(Self::Wire(Wire::start(plan, watch)?))
    }

    #[cfg(not(feature = "outage"))]
    fn wire(_: &Plan, _: &Watch) -> Result<Self> {
        anyhow::bail!("calls over a socket need the feature `outage`")
    }

    /// Makes it go away, or come back.
    pub(super) fn set(&self, away: Option<Away>) {
        match self {
            Self::Here(here) => here.set(away),
            #[cfg(feature = "outage")]
            Self::Wire(wire) => wire.set(away),
        }
    }

    pub(super) async fn call(self, key: String) -> Result<(), Failure> {
        match self {
            Self::Here(here) => here.call(key).await,
            #[cfg(feature = "outage")]
            Self::Wire(wire) => wire.call(key).await,
        }
    }

    /// Every call, in the order in which they began.
    pub(super) fn calls(&self) -> Vec<Call> {
        let mut calls = match self {
            Self::Here(here) => std::mem::take(&mut *locked(&here.book)),
            #[cfg(feature = "outage")]
            Self::Wire(wire) => wire.calls(),
        };
        calls.sort_by(|one, other| one.began.total_cmp(&other.began));
        calls
    }

    /// When calls were sent, by the callers' own time, where that is another than when they came.
    pub(super) fn sent(&self) -> Vec<f64> {
        match self {
            Self::Here(_) => Vec::new(),
            #[cfg(feature = "outage")]
            Self::Wire(wire) => wire.sent(),
        }
    }
}

/// A service in the same process.
#[derive(Clone)]
pub(super) struct Here {
    watch: Watch,
    takes: Duration,
    state: Arc<AtomicU8>,
    book: Arc<Mutex<Vec<Call>>>,
}

const UP: u8 = 0;
const REFUSES: u8 = 1;
const HANGS: u8 = 2;

impl Here {
    fn set(&self, away: Option<Away>) {
        let state = match away {
            None => UP,
            Some(Away::Refusing) => REFUSES,
            Some(Away::Hanging) => HANGS,
        };
        self.state.store(state, Ordering::SeqCst);
    }

    fn note(&self, began: f64, key: String, done: bool) {
        locked(&self.book).push(Call { began, key, done });
    }

    async fn call(self, key: String) -> Result<(), Failure> {
        let began = self.watch.at();
        match self.state.load(Ordering::SeqCst) {
            REFUSES => {
                self.note(began, key, false);
                Err(Failure::refused("unreachable", "the connection was refused"))
            }
            HANGS => {
                self.note(began, key, false);
                std::future::pending().await
            }
            _ => {
                self.watch.sleep(self.takes).await;
                self.note(began, key, true);
                Ok(())
            }
        }
    }
}

pub(super) fn locked<T>(of: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}
