//! An agent makes one attempt: it calls the handler through the service's pipeline until the complete-by, and answers once
//! or falls silent.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use steadfast_engine::{Answer, Block, Effect, Failure, StepId, Time};
use steadfast_resilience::random::Rng;
use steadfast_resilience::retry::Stop;
use steadfast_resilience::{Cause, Class, Error, Pipeline, Story, Verdict};
use steadfast_store::{MAX_PAYLOAD, Payload, Store, TaskId};
use tracing::Instrument as _;

use crate::child::{GONE, UNFIT};
use crate::handler::{Fault, PANIC, call};
use crate::judge::is_done;
use crate::order::{Order, Ready, prepare};
use crate::pulse::{NO_HEARTBEAT, heard};
use crate::scheduler::{Inbox, LONGEST_WAIT, SHORTEST_WAIT};
use crate::shared::Shared;
use crate::stats::count;

/// How long a step waits at least when the service's retry budget is spent: it is delayed, and does not fail.
const BUDGET_WAIT: Duration = Duration::from_secs(10);
/// How long a step waits when its service is away for long, and there is neither a breaker that is open nor a hint.
const LASTING_WAIT: Duration = Duration::from_secs(60);
/// How far the machine's coarse clock and whole milliseconds can be apart.
pub(crate) const CLOCK_STEP: Duration = Duration::from_millis(10);
/// The most bytes of an error's words that are stored.
const MOST_WORDS: usize = 500;

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
/// (What it is asked to do is boxed: each future on the way would have room for all of it otherwise.)
pub(crate) async fn run<S: Store>(shared: Arc<Shared<S>>, order: Box<Order>) {
    let ended = Ended {
        task: order.task,
        step: order.dispatch.step,
        attempt: order.dispatch.attempt,
        service: order.workflow.service(order.step()).shared_name(),
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
            self.shared.forget_progress(ended.task, ended.step);
            steadfast_store::failpoint!("agent.before_told");
            self.shared.tell(Inbox::Ended(ended));
        }
    }
}

/// Makes it; `None` for silence.
async fn make<S: Store>(shared: &Arc<Shared<S>>, order: Box<Order>) -> Option<(Answer, Option<Payload>)> {
    let Ready { workflow, dispatch, step: id, calls_used, work, turn, probes } =
        match prepare(shared, order).await? {
            Ok(ready) => ready,
            Err(answer) => return Some((answer, None)),
        };
    let (step, pulse) = (workflow.definition().step(id), work.pulse.clone());
    let pipeline = workflow.service(id).pipeline();
    if let Some(turn) = turn {
        turn.comes(&shared.clock).await;
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
    let handler = workflow.handler(id, dispatch.undo);
    steadfast_store::failpoint!("agent.before_call");
    let within = step.heartbeat().filter(|_| !dispatch.undo);
    let calls = AtomicU32::new(0);
    let span = shared.settings.spans.of_attempt(&work, workflow.name(), step.name());
    // In one expression: a future that has a name has room of its own, wherever it goes.
    let called = calling
        .run(|attempt| {
            calls.fetch_add(1, Ordering::Relaxed);
            heard(call(&**handler, &work, attempt), pulse.clone(), within)
        })
        .instrument(span)
        .await;
    steadfast_store::failpoint!("agent.after_call");
    // It is stored with what the attempt says, so that the next one can go on from there.
    pulse.save();
    // At the complete-by an agent falls silent, whatever it knows.
    if shared.now() >= dispatch.complete_by {
        return None;
    }
    match called {
        Ok(output) if step.asks_for().is_some() && output.is_empty() => Some((Answer::NotYet, None)),
        // No output of a step is without a byte: it comes later.
        Ok(output) if output.is_empty() && work.callback.is_some() => {
            Some((Answer::Later { calls: calls.into_inner() }, None))
        }
        Ok(output) if output.len() > MAX_PAYLOAD => Some((too_large(output.len()), None)),
        Ok(output) if dispatch.undo => Some((Answer::Completed, Some(output))),
        Ok(output) => Some(match is_done(&workflow, id, &output) {
            Ok(true) => (Answer::Completed, Some(output)),
            Ok(false) => (Answer::NotYet, None),
            Err(why) => (unclear(&why), None),
        }),
        // Cut off by the complete-by, which the machine's clock shows a little early.
        Err(error) if error.is_timed_out() && shared.now() + CLOCK_STEP >= dispatch.complete_by => None,
        Err(error) if error.failure().is_some_and(|last| last.kind() == NO_HEARTBEAT) => {
            Some((Answer::Unheard, None))
        }
        Err(error) => {
            let answer = failed(shared, &error, pipeline, calls_used)?;
            // Where the definition says how many calls there are at most, all of them count.
            let is_free = probes && dispatch.calls_left.is_none();
            Some((if is_free { still_away(answer, &error, pipeline, shared.now()) } else { answer }, None))
        }
    }
}

/// A round is over, and nobody knows whether the step is done.
pub(crate) fn unclear(why: &str) -> Answer {
    let kind = Arc::from(shortened(format!("condition: {why}")));
    Answer::Failed(Failure { kind, calls: 1, effect: Effect::Possible, again: None })
}

/// It happened, and its output cannot be kept.
pub(crate) fn too_large(bytes: usize) -> Answer {
    let words = format!("too-large: the output has {bytes} bytes, at most {MAX_PAYLOAD} are allowed");
    Answer::Failed(Failure { kind: Arc::from(words), calls: 1, effect: Effect::Possible, again: None })
}

/// What a call that did not succeed means for the task; `None` for silence.
fn failed<S: Store>(
    shared: &Shared<S>,
    error: &Error<Fault>,
    pipeline: &Pipeline,
    calls_used: u32,
) -> Option<Answer> {
    let now = shared.now();
    let Some(story) = error.story() else {
        // Nothing was called.
        let wait = error.try_again_in().unwrap_or_default().clamp(SHORTEST_WAIT, LONGEST_WAIT);
        return match error.is_refused() {
            // Where the circuit lets some through and has no place for this one, the gate cannot tell: it would be let go at once.
            true => {
                let until = (!is_shut(pipeline)).then(|| now + SHORTEST_WAIT);
                Some(Answer::NotMade { block: Block::Breaker, until })
            }
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
        again: waits(error, pipeline, calls_used).map(|wait| now + wait),
    };
    Some(Answer::Failed(failure))
}

/// What a probe means that has failed. It was made for all who wait, and costs the one that made it none of its retries: in
/// a long outage few tasks would use them up for all. One that was refused for good is no failure of the service, and one
/// that was followed by other calls of the same attempt pays for those.
fn still_away(answer: Answer, error: &Error<Fault>, pipeline: &Pipeline, now: Time) -> Answer {
    let for_good = error.failure().is_none_or(|last| last.class() == Class::Terminal);
    match answer {
        Answer::Failed(failure) if is_shut(pipeline) && !for_good && failure.calls > 0 => {
            Answer::Failed(Failure {
                calls: failure.calls - 1,
                again: Some(failure.again.unwrap_or(now)),
                ..failure
            })
        }
        answer => answer,
    }
}

/// How long a step waits at least before it is tried again; `None` if it is not.
fn waits(error: &Error<Fault>, pipeline: &Pipeline, calls_used: u32) -> Option<Duration> {
    match error.stop() {
        // A first call is not charged to the budget: a step that came back at once would go around it.
        Stop::BudgetSpent => error.next_try_in().map(|wait| wait.max(BUDGET_WAIT)),
        Stop::Lasting | Stop::HintBeyondCap => waits_for_service(error, pipeline, calls_used),
        _ => error.next_try_in(),
    }
}

/// A service that is away for long, or asks for a long time, is no reason to fail: the step has as many tries as for any other
/// failure, each of them when the service is likely to be back. Where the breaker is open, the gate knows when that is.
fn waits_for_service(error: &Error<Fault>, pipeline: &Pipeline, calls_used: u32) -> Option<Duration> {
    let made = calls_used.saturating_add(error.story()?.attempts());
    if pipeline.retry()?.max_retries().is_some_and(|most| made > most) {
        return None;
    }
    let hint = error.failure().and_then(Verdict::hint);
    match hint.filter(|hint| !hint.is_zero()) {
        // Lengthened by a fifth at most, never shortened: those who heard the same do not come back together.
        Some(hint) => Some(Rng::from_entropy().between(hint, hint.saturating_add(hint / 5))),
        None if is_shut(pipeline) => Some(Duration::ZERO),
        None => Some(LASTING_WAIT),
    }
}

/// Whether the service's circuit lets nobody through: its gate knows that too, and for how long.
fn is_shut(pipeline: &Pipeline) -> bool {
    pipeline.breaker().is_some_and(|breaker| breaker.refuses_for().is_some())
}

/// Whether any of the calls may have taken effect. A service that says no for good has answered for all of them: they had
/// one key. A handler that panicked has not.
fn effect_of(error: &Error<Fault>, story: &Story) -> Effect {
    let answers =
        |last: &Verdict| last.class() == Class::Terminal && ![PANIC, GONE, UNFIT].contains(&last.kind());
    if error.failure().is_some_and(answers) {
        return Effect::Refused;
    }
    let all_kept = usize::try_from(story.attempts()) == Ok(story.tried().len());
    let possible = steadfast_resilience::Effect::Possible;
    match !all_kept || story.tried().iter().any(|tried| tried.failure.effect() == possible) {
        true => Effect::Possible,
        false => Effect::None,
    }
}

pub(crate) fn shortened(mut words: String) -> String {
    if words.len() > MOST_WORDS {
        let end = (0..=MOST_WORDS).rev().find(|end| words.is_char_boundary(*end)).unwrap_or(0);
        words.truncate(end);
        words.push_str("...");
    }
    words
}
