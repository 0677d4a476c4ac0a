//! What goes wrong with the code of a step.

use std::collections::HashMap;
use std::future::pending;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use steadfast_engine::StepId;
use steadfast_resilience::clock::{Clock, Moment};
use steadfast_resilience::{Attempt, Kind, Verdict};
use steadfast_runtime::{Answered, Fault, Handler, Work, Workflow};
use tokio::sync::Notify;

use super::story::{Trouble, Wrong};

/// How long an effect is late that lands after everything else.
pub(super) const LATE: Duration = Duration::from_secs(3 * 24 * 3600);
/// How long a step is held after what it was held for: in virtual time all that can happen at once has happened then.
const A_MOMENT: Duration = Duration::from_millis(100);

/// Where a step that runs meets what happens to its task meanwhile.
#[derive(Default)]
pub(super) struct Meeting {
    begun: Notify,
    happened: Notify,
}

impl Meeting {
    /// Waits until the step runs.
    pub(super) async fn begun(&self) {
        self.begun.notified().await;
    }

    /// It has happened: the step may go on.
    pub(super) fn happened(&self) {
        self.happened.notify_one();
    }

    async fn hold(&self) {
        self.begun.notify_one();
        self.happened.notified().await;
        Clock::tokio().sleep(A_MOMENT).await;
    }
}

/// The same workflow, in which this goes wrong.
///
/// # Errors
/// What makes no sense, in words.
pub(super) fn troubled(
    workflow: &Workflow,
    trouble: &Trouble,
    meeting: &Arc<Meeting>,
) -> Result<Workflow, String> {
    let sibling = match &trouble.wrong {
        Wrong::SiblingRefused(name) => workflow.definition().step_named(name),
        _ => None,
    };
    let changed = workflow.with_handlers(|step, undo, handler| {
        if (step, undo) == (trouble.id, trouble.undo) {
            wrong(handler, trouble.clone(), Arc::clone(meeting))
        } else if Some(step) == sibling && !undo {
            refused(Arc::clone(meeting))
        } else {
            handler
        }
    });
    match trouble.wrong {
        Wrong::PastDeadline { complete_within } => changed.completing_within(complete_within),
        _ => Ok(changed),
    }
}

/// Code that goes wrong, the first time or each time.
fn wrong(handler: Arc<dyn Handler>, trouble: Trouble, meeting: Arc<Meeting>) -> Arc<dyn Handler> {
    let calls = AtomicU32::new(0);
    Arc::new(move |work: &Arc<Work>, attempt: Attempt| -> Answered {
        if calls.fetch_add(1, Ordering::SeqCst) > 0 && !trouble.each_time {
            return handler.call(work, attempt);
        }
        let (handler, work, meeting) = (Arc::clone(&handler), Arc::clone(work), Arc::clone(&meeting));
        let wrong = trouble.wrong.clone();
        Box::pin(async move {
            let call = || handler.call(&work, attempt);
            match wrong {
                Wrong::Repeated => {
                    let _ = call().await;
                    call().await
                }
                Wrong::FailsBefore => failed(Verdict::transient(Kind::OVERLOADED).without_effect()),
                Wrong::AnswerLost => match call().await {
                    Ok(_) => failed(Verdict::transient(Kind::CONNECTION_LOST)),
                    failed => failed,
                },
                Wrong::SaysNo => failed(Verdict::terminal(Kind::BAD_REQUEST).without_effect()),
                Wrong::HangsBefore => pending().await,
                Wrong::HangsAfter | Wrong::PastDeadline { .. } => {
                    let _ = call().await;
                    pending().await
                }
                Wrong::LandsLate => {
                    tokio::spawn(async move {
                        Clock::tokio().sleep(LATE).await;
                        let _ = handler.call(&work, attempt).await;
                    });
                    pending().await
                }
                Wrong::Cancelled | Wrong::SiblingRefused(_) => {
                    meeting.hold().await;
                    call().await
                }
            }
        })
    })
}

/// Code that is refused for good, once the step beside it runs. A second time it does not wait: that step may have been
/// skipped.
fn refused(meeting: Arc<Meeting>) -> Arc<dyn Handler> {
    let calls = AtomicU32::new(0);
    Arc::new(move |_: &Arc<Work>, _: Attempt| -> Answered {
        let (meeting, first) = (Arc::clone(&meeting), calls.fetch_add(1, Ordering::SeqCst) == 0);
        Box::pin(async move {
            if first {
                meeting.begun().await;
            }
            meeting.happened();
            failed(Verdict::terminal(Kind::BAD_REQUEST).without_effect())
        })
    })
}

fn failed(verdict: Verdict) -> Result<steadfast_store::Payload, Fault> {
    Err(Fault { verdict, message: "the test kit lets it fail".to_owned() })
}

/// When steps began, in a task's own time.
#[derive(Clone, Default)]
pub(super) struct Begins(Arc<Mutex<HashMap<StepId, Moment>>>);

impl Begins {
    /// The same workflow, of which this is kept.
    pub(super) fn kept(&self, workflow: &Workflow) -> Workflow {
        workflow.with_handlers(|step, undo, handler| {
            let begins = self.clone();
            if undo {
                return handler;
            }
            Arc::new(move |work: &Arc<Work>, attempt: Attempt| -> Answered {
                begins.lock().entry(step).or_insert_with(|| Clock::tokio().now());
                handler.call(work, attempt)
            })
        })
    }

    /// How long after the first one a step began; `None` if it did not.
    pub(super) fn of(&self, step: StepId) -> Option<Duration> {
        let begins = self.lock();
        let first = begins.values().min().copied()?;
        begins.get(&step).map(|began| began.since(first))
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, HashMap<StepId, Moment>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
