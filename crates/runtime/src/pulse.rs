//! How an attempt is heard of while it runs: its heartbeats, and how far it has come.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use steadfast_engine::StepId;
use steadfast_resilience::clock::{Clock, Moment};
use steadfast_resilience::{Kind, Verdict};
use steadfast_store::{Payload, PayloadKey, Store, TaskId};

use crate::error::Error;
use crate::handler::{Caught, Fault};
use crate::scheduler::Inbox;
use crate::shared::Shared;

/// The most bytes that an attempt may tell of how far it has come: it is written again and again.
pub const MAX_PROGRESS: usize = 64 << 10;
/// How often that is stored at most.
const SAVE_EVERY: Duration = Duration::from_secs(1);
/// The kind of an attempt that was not heard of in time.
pub(crate) const NO_HEARTBEAT: Kind = Kind::new("no-heartbeat");

/// How one attempt is heard of. Clones are one and the same.
#[derive(Clone)]
pub struct Pulse {
    beat: Arc<Beat>,
}

struct Beat {
    hears: Arc<dyn Hears>,
    clock: Clock,
    task: TaskId,
    step: StepId,
    attempt: u32,
    heard: Mutex<Heard>,
}

struct Heard {
    /// When it was heard of last.
    at: Moment,
    /// How far it has come.
    progress: Option<Payload>,
    /// Whether that was not sent to be stored.
    unsaved: bool,
    /// When that was sent last.
    saved_at: Option<Moment>,
}

/// Who hears an attempt.
pub(crate) trait Hears: Send + Sync {
    /// How far an attempt has come, for those who look.
    fn show(&self, task: TaskId, step: StepId, progress: Payload);

    /// The same, to be stored.
    fn save(&self, task: TaskId, step: StepId, attempt: u32, progress: Payload);

    /// What was stored last.
    fn saved(&self, task: TaskId, step: StepId) -> Saved<'_>;
}

pub(crate) type Saved<'a> = Pin<Box<dyn Future<Output = Result<Option<Payload>, Error>> + Send + 'a>>;

impl Pulse {
    pub(crate) fn new(
        hears: Arc<dyn Hears>,
        clock: Clock,
        (task, step, attempt): (TaskId, StepId, u32),
    ) -> Self {
        let heard = Mutex::new(Heard { at: clock.now(), progress: None, unsaved: false, saved_at: None });
        Self { beat: Arc::new(Beat { hears, clock, task, step, attempt, heard }) }
    }

    fn heard(&self) -> MutexGuard<'_, Heard> {
        self.beat.heard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The attempt lives.
    pub fn heartbeat(&self) {
        self.heard().at = self.beat.clock.now();
    }

    /// The attempt lives, and has come this far. That can be seen at once, and is stored about once in a second.
    ///
    /// # Errors
    /// It is too large, in words.
    pub fn progress(&self, progress: Payload) -> Result<(), String> {
        if progress.len() > MAX_PROGRESS {
            let bytes = progress.len();
            return Err(format!("the progress has {bytes} bytes, at most {MAX_PROGRESS} are allowed"));
        }
        let Beat { hears, clock, task, step, .. } = &*self.beat;
        hears.show(*task, *step, Arc::clone(&progress));
        let now = clock.now();
        let is_due = {
            let mut heard = self.heard();
            (heard.at, heard.progress, heard.unsaved) = (now, Some(progress), true);
            heard.saved_at.is_none_or(|at| now.since(at) >= SAVE_EVERY)
        };
        if is_due {
            self.save();
        }
        Ok(())
    }

    /// How far this step has come: as an earlier try of this attempt said, or as it was stored last.
    ///
    /// # Errors
    /// The store's.
    pub async fn last_progress(&self) -> Result<Option<Payload>, Error> {
        let told = self.heard().progress.clone();
        if told.is_some() {
            return Ok(told);
        }
        self.beat.hears.saved(self.beat.task, self.beat.step).await
    }

    /// Sends what was not stored yet.
    pub(crate) fn save(&self) {
        let unsaved = {
            let mut heard = self.heard();
            if !std::mem::take(&mut heard.unsaved) {
                return;
            }
            heard.saved_at = Some(self.beat.clock.now());
            heard.progress.clone()
        };
        if let Some(progress) = unsaved {
            let Beat { hears, task, step, attempt, .. } = &*self.beat;
            hears.save(*task, *step, *attempt, progress);
        }
    }

    /// Ends once it was not heard of for this long.
    async fn stops(&self, within: Duration) {
        loop {
            let (now, due) = (self.beat.clock.now(), self.heard().at + within);
            if now >= due {
                return;
            }
            self.beat.clock.sleep(due.since(now)).await;
        }
    }
}

/// A call that is given up when it is not heard of in time, if that is asked for.
pub(crate) async fn heard(called: Caught, pulse: Pulse, within: Option<Duration>) -> Result<Payload, Fault> {
    let Some(within) = within else { return called.await };
    pulse.heartbeat();
    tokio::select! {
        biased;
        done = called => done,
        () = pulse.stops(within) => {
            let message = format!("it was not heard of for {within:?}");
            // It says nothing of the service: one step that hangs must not keep all others from it.
            Err(Fault { verdict: Verdict::neutral(NO_HEARTBEAT), message })
        }
    }
}

impl<S: Store> Hears for Shared<S> {
    fn show(&self, task: TaskId, step: StepId, progress: Payload) {
        self.progress().insert((task, step), progress);
    }

    fn save(&self, task: TaskId, step: StepId, attempt: u32, progress: Payload) {
        self.tell(Inbox::Progress(task, step, attempt, progress));
    }

    fn saved(&self, task: TaskId, step: StepId) -> Saved<'_> {
        let key = PayloadKey { task, step: Some(StepId::of_progress(step)) };
        Box::pin(async move { Ok(self.store.payloads(vec![key]).await?.pop().flatten()) })
    }
}

impl fmt::Debug for Pulse {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pulse").field("attempt", &self.beat.attempt).finish_non_exhaustive()
    }
}
