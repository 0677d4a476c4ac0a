//! What a service says when it calls back, and what that means for its step.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Answer, Effect, Failure, StepId, Task, Time};
use steadfast_resilience::retry::{At, Decision, Stop};
use steadfast_resilience::{Kind, Verdict};
use steadfast_store::Payload;

use crate::agent::{shortened, too_large, unclear};
use crate::handler::{Work, words_of};
use crate::judge::is_done;
use crate::workflow::Workflow;

/// What a service says when it calls back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallbackSays {
    /// It is done, and this is what it gives, as JSON.
    Done(Payload),
    /// It is not.
    Failed {
        /// Whether it may work when it is tried again.
        transient: bool,
        /// In words, for people.
        message: String,
        /// How long to wait at least before it is tried again.
        retry_after: Option<Duration>,
    },
}

/// The kind of a failure that was told by callback.
const CALLED_BACK: Kind = Kind::new("called-back");

impl CallbackSays {
    /// A number made of all of it: the same said twice has the same.
    pub(super) fn digest(&self) -> u64 {
        // FNV-1a. Nobody gains by another answer with the same number: whoever could send it could have sent it first.
        let mut hash = 0xCBF2_9CE4_8422_2325_u64;
        let mut mix = |bytes: &[u8]| {
            for byte in bytes.iter().chain(&[0xFF]) {
                hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
        };
        match self {
            Self::Done(output) => mix(output),
            Self::Failed { transient, message, retry_after } => {
                mix(if *transient { b"transient" } else { b"terminal" });
                mix(message.as_bytes());
                mix(&retry_after.map_or(0, |time| time.as_millis()).to_le_bytes());
            }
        }
        hash
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Done(output) => output.len(),
            Self::Failed { message, .. } => message.len(),
        }
    }
}

/// What it means: the answer, and what belongs beside it.
pub(super) fn meaning(
    says: &CallbackSays,
    workflow: &Workflow,
    task: &Task,
    work: &Arc<Work>,
    now: Time,
) -> (Answer, Option<Payload>) {
    let step = task.step_of(work.step);
    match says {
        CallbackSays::Done(body) => match output(workflow, step, work, body) {
            Err(why) => (unkept(&why), None),
            Ok(output) if output.len() > steadfast_store::MAX_PAYLOAD => (too_large(output.len()), None),
            Ok(output) => match is_done(workflow, step, &output) {
                Ok(true) => (Answer::Completed, Some(output)),
                Ok(false) => (Answer::NotYet, None),
                Err(why) => (unclear(&why), None),
            },
        },
        CallbackSays::Failed { transient, message, retry_after } => {
            let again = match transient {
                true => again(workflow, task, work.step, *retry_after, now),
                false => None,
            };
            let effect = if *transient { Effect::None } else { Effect::Refused };
            let kind = Arc::from(shortened(format!("{}: {message}", CALLED_BACK.as_str())));
            (Answer::Failed(Failure { kind, calls: 1, effect, again }), None)
        }
    }
}

/// What the step gives, of what the service gave.
fn output(workflow: &Workflow, step: StepId, work: &Arc<Work>, body: &Payload) -> Result<Payload, String> {
    let Some(later) = workflow.later(step) else { return Ok(Arc::clone(body)) };
    catch_unwind(AssertUnwindSafe(|| later(work, body))).unwrap_or_else(|panic| Err(words_of(&*panic)))
}

/// It happened, and what it gave cannot be kept: nobody must take that for "nothing was done".
fn unkept(why: &str) -> Answer {
    let kind = Arc::from(shortened(format!("bad-output: {why}")));
    Answer::Failed(Failure { kind, calls: 1, effect: Effect::Possible, again: None })
}

/// When the retry policy wants another attempt, as it would after a call that failed so.
fn again(
    workflow: &Workflow,
    task: &Task,
    step: StepId,
    retry_after: Option<Duration>,
    now: Time,
) -> Option<Time> {
    let pipeline = workflow.service(task.step_of(step)).pipeline();
    let (retry, moment) = (pipeline.retry()?, pipeline.now());
    let verdict = Verdict::transient(CALLED_BACK).without_effect();
    let verdict = match retry_after {
        Some(time) => verdict.with_hint(time),
        None => verdict,
    };
    let mut state = retry.resume(moment, task.step(step).calls, Duration::ZERO);
    match retry.next(&mut state, &verdict, At::now(moment)) {
        Decision::After(wait) => Some(now + wait),
        // A service that asks for a long time is no reason to fail.
        Decision::Stop(Stop::HintBeyondCap) => retry_after.map(|time| now + time),
        Decision::Stop(_) => None,
    }
}
