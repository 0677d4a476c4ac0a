//! An agent makes one attempt: it calls the handler through the service's pipeline until the complete-by, and answers once
//! or falls silent.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::{Answer, Block, Dispatch, Effect, Failure, StepId};
use steadfast_resilience::clock::Moment;
use steadfast_resilience::retry::Stop;
use steadfast_resilience::{Cause, Class, Error, IdempotencyKey, Story};
use steadfast_store::{MAX_PAYLOAD, Payload, Store, TaskId};

use crate::handler::{Fault, PANIC, Work, call};
use crate::scheduler::{Inbox, LONGEST_WAIT, SHORTEST_WAIT};
use crate::shared::Shared;
use crate::stats::count;
use crate::workflow::{Known, Workflow};

/// How long a step waits at least when the service's retry budget is spent: it is delayed, and does not fail.
const BUDGET_WAIT: Duration = Duration::from_secs(10);
/// How far the machine's coarse clock and whole milliseconds can be apart.
const CLOCK_STEP: Duration = Duration::from_millis(10);
/// The most bytes of an error's words that are stored.
const MOST_WORDS: usize = 500;

/// An attempt to make.
pub(crate) struct Order {
    pub(crate) task: TaskId,
    pub(crate) workflow: Arc<Workflow>,
    pub(crate) dispatch: Dispatch,
    /// Calls that were made in attempts before.
    pub(crate) calls_used: u32,
    /// What is in memory of what the handler may read.
    pub(crate) known: Known,
    /// What of the rest has to be read: the input (`None`) and the outputs of steps.
    pub(crate) missing: Vec<Option<StepId>>,
    /// When it may call; `None` for at once.
    pub(crate) begins_at: Option<Moment>,
}

/// How an attempt ended.
pub(crate) struct Ended {
    pub(crate) task: TaskId,
    pub(crate) step: StepId,
    pub(crate) attempt: u32,
    pub(crate) service: Arc<str>,
    /// `None`: silence.
    pub(crate) said: Option<(Answer, Option<Payload>)>,
}

/// Makes an attempt, and tells how it ended. Whatever happens, it does tell: a place at the service is free again.
pub(crate) async fn run<S: Store>(shared: Arc<Shared<S>>, order: Order) {
    let ended = Ended {
        task: order.task,
        step: order.dispatch.step,
        attempt: order.dispatch.attempt,
        service: Arc::from(order.workflow.service(order.dispatch.step).name()),
        said: None,
    };
    let mut teller = Teller { shared: &shared, ended: Some(ended) };
    let said = make(&shared, order).await;
    if let Some(ended) = &mut teller.ended {
        ended.said = said;
    }
}

/// Tells how an attempt ended when it is dropped.
struct Teller<'a, S: Store> {
    shared: &'a Shared<S>,
    ended: Option<Ended>,
}

impl<S: Store> Drop for Teller<'_, S> {
    fn drop(&mut self) {
        if let Some(ended) = self.ended.take() {
            steadfast_store::failpoint!("agent.before_told");
            self.shared.tell(Inbox::Ended(ended));
        }
    }
}

/// Makes it; `None` for silence.
async fn make<S: Store>(shared: &Shared<S>, order: Order) -> Option<(Answer, Option<Payload>)> {
    let Order { task, workflow, dispatch, calls_used, mut known, missing, begins_at } = order;
    known.read(shared, task, missing, dispatch.complete_by).await?;
    let step = workflow.definition().step(dispatch.step);
    let work = Arc::new(Work {
        task,
        step: dispatch.step,
        undo: dispatch.undo,
        number: dispatch.attempt,
        key: key_of(task, step.name(), dispatch.undo),
        known,
    });
    let pipeline = workflow.service(dispatch.step).pipeline();
    if let Some(at) = begins_at.filter(|at| *at > shared.clock.now()) {
        shared.clock.sleep_until(at).await;
    }
    let left = dispatch.complete_by.since(shared.now());
    if left.is_zero() {
        return None;
    }
    let mut calling = pipeline
        .call()
        .named(step.name().to_owned())
        .key(work.key)
        .complete_within(left)
        .longest_wait(shared.settings.longest_wait)
        .retries_used(calls_used);
    if !dispatch.undo && !step.is_idempotent() {
        calling = calling.not_idempotent();
    }
    if let Some(left) = dispatch.calls_left {
        let most = calls_used.saturating_add(left).saturating_sub(1);
        let policys = pipeline.retry().and_then(|retry| retry.max_retries()).unwrap_or(u32::MAX);
        calling = calling.max_retries(most.min(policys));
    }
    let handler = workflow.handler(dispatch.step, dispatch.undo);
    steadfast_store::failpoint!("agent.before_call");
    let called = calling.run(|attempt| call(&**handler, &work, attempt)).await;
    steadfast_store::failpoint!("agent.after_call");
    // At the complete-by an agent falls silent, whatever it knows.
    if shared.now() >= dispatch.complete_by {
        return None;
    }
    match called {
        Ok(output) if output.len() > MAX_PAYLOAD => Some((too_large(output.len()), None)),
        Ok(output) => Some((Answer::Completed, Some(output))),
        // Cut off by the complete-by, which the machine's clock shows a little early.
        Err(error) if error.is_timed_out() && shared.now() + CLOCK_STEP >= dispatch.complete_by => None,
        Err(error) => failed(shared, &error).map(|answer| (answer, None)),
    }
}

/// It happened, and its output cannot be kept.
fn too_large(bytes: usize) -> Answer {
    let words = format!("too-large: the output has {bytes} bytes, at most {MAX_PAYLOAD} are allowed");
    Answer::Failed(Failure { kind: Arc::from(words), calls: 1, effect: Effect::Possible, again: None })
}

/// The key of a step, or of its undo: the same for each attempt, everywhere and always.
fn key_of(task: TaskId, step: &str, undo: bool) -> IdempotencyKey {
    let key = IdempotencyKey::from_u128(task.as_u128()).member(step);
    if undo { key.member("undo") } else { key }
}

/// What a call that did not succeed means for the task; `None` for silence.
fn failed<S: Store>(shared: &Shared<S>, error: &Error<Fault>) -> Option<Answer> {
    let now = shared.now();
    let Some(story) = error.story() else {
        // Nothing was called.
        let wait = error.try_again_in().unwrap_or_default().clamp(SHORTEST_WAIT, LONGEST_WAIT);
        return match error.is_refused() {
            true => Some(Answer::NotMade { block: Block::Breaker, until: None }),
            false => {
                let until = Some(now + wait);
                error.is_limited().then_some(Answer::NotMade { block: Block::Limit, until })
            }
        };
    };
    if error.is_cancelled() {
        return None;
    }
    let verdict = error.failure();
    let kind = verdict.map_or("failed", |verdict| verdict.kind().as_str());
    if kind == PANIC.as_str() {
        count(&shared.counters.panics);
    }
    let words = match error.cause() {
        Cause::Operation(fault) => fault.message.clone(),
        _ => error.to_string(),
    };
    let failure = Failure {
        kind: Arc::from(shortened(format!("{kind}: {words}"))),
        calls: story.attempts(),
        effect: effect_of(error, story),
        again: error.next_try_in().map(|wait| match error.stop() {
            // A first call is not charged to the budget: a step that came back at once would go around it.
            Stop::BudgetSpent => now + wait.max(BUDGET_WAIT),
            _ => now + wait,
        }),
    };
    Some(Answer::Failed(failure))
}

/// Whether any of the calls may have taken effect. A service that says no for good has answered for all of them: they had
/// one key. A handler that panicked has not.
fn effect_of(error: &Error<Fault>, story: &Story) -> Effect {
    if error.failure().is_some_and(|last| last.class() == Class::Terminal && last.kind() != PANIC) {
        return Effect::Refused;
    }
    let all_kept = usize::try_from(story.attempts()) == Ok(story.tried().len());
    let possible = steadfast_resilience::Effect::Possible;
    match !all_kept || story.tried().iter().any(|tried| tried.failure.effect() == possible) {
        true => Effect::Possible,
        false => Effect::None,
    }
}

fn shortened(mut words: String) -> String {
    if words.len() > MOST_WORDS {
        let end = (0..=MOST_WORDS).rev().find(|end| words.is_char_boundary(*end)).unwrap_or(0);
        words.truncate(end);
        words.push_str("...");
    }
    words
}
