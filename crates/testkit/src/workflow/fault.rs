//! What goes wrong with the code of a step.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Attempt, Kind, Verdict};
use steadfast_runtime::{Answered, Fault, Handler, Work};

/// How long an effect is late that lands after everything else.
pub(super) const LATE: Duration = Duration::from_secs(3 * 24 * 3600);

/// What goes wrong with a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrong {
    /// It is made twice.
    Repeated,
    /// It fails, and nothing was done.
    FailsBefore,
    /// It is done, and the answer is lost.
    AnswerLost,
    /// The service says no, for good.
    SaysNo,
    /// It hangs, and nothing was done.
    HangsBefore,
    /// It is done, and hangs.
    HangsAfter,
    /// It hangs, and is done after everything else.
    LandsLate,
}

impl Wrong {
    pub(super) const fn words(self) -> &'static str {
        match self {
            Self::Repeated => "is made twice",
            Self::FailsBefore => "fails without an effect",
            Self::AnswerLost => "is done, and its answer is lost",
            Self::SaysNo => "is refused for good",
            Self::HangsBefore => "hangs, and is not done",
            Self::HangsAfter => "is done, and hangs",
            Self::LandsLate => "hangs, and is done after everything else",
        }
    }
}

/// Code that goes wrong the first so many times.
pub(super) fn wrong(handler: Arc<dyn Handler>, wrong: Wrong, times: u32) -> Arc<dyn Handler> {
    let calls = AtomicU32::new(0);
    Arc::new(move |work: &Arc<Work>, attempt: Attempt| -> Answered {
        if calls.fetch_add(1, Ordering::SeqCst) >= times {
            return handler.call(work, attempt);
        }
        let (handler, work) = (Arc::clone(&handler), Arc::clone(work));
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
                Wrong::HangsAfter => {
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
            }
        })
    })
}

fn failed(verdict: Verdict) -> Result<steadfast_store::Payload, Fault> {
    Err(Fault { verdict, message: "the test kit lets it fail".to_owned() })
}
