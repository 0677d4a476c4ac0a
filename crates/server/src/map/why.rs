//! Why a task does not move.

use steadfast::{Cause, Change, CircuitState, Held, On, TaskId, Why, rfc3339};
use steadfast_client::wire::breaker::ForcedBy;
use steadfast_client::wire::why;

use super::{state, when};

pub(crate) fn why(task: TaskId, from: &Why) -> why::Why {
    why::Why {
        id: task.to_string(),
        words: from.to_string(),
        now: rfc3339(from.now),
        state: state::task(from.state),
        since: when(from.since),
        deadline: when(from.deadline),
        cause: from.cause.as_ref().map(|cause| cause_word(cause).to_owned()),
        held: from.held.iter().map(|held| self::held(held, from)).collect(),
    }
}

fn held(from: &Held, why: &Why) -> why::Held {
    let (signal, child, circuit) = match &from.on {
        On::Signal { signal, .. } => (Some(signal.clone()), None, None),
        On::Child { task, .. } => (None, task.as_ref().map(|(id, _)| id.to_string()), None),
        On::Breaker { circuit } => (None, None, circuit.as_ref().map(self::circuit)),
        _ => (None, None, None),
    };
    why::Held {
        words: from.in_words(why.now),
        step: (!from.name.is_empty()).then(|| from.name.clone()),
        service: from.service.clone(),
        undo: from.undo,
        on: on_word(&from.on).to_owned(),
        signal,
        child,
        since: when(from.since),
        until: when(from.until),
        change: change_word(&from.change).to_owned(),
        last_failure: from.last_failure.as_deref().map(str::to_owned),
        circuit,
    }
}

fn circuit(from: &steadfast::Circuit) -> why::Circuit {
    let state = match from.state {
        CircuitState::Open => "open",
        CircuitState::Probing => "probing",
        CircuitState::Closed => "closed",
        _ => "other",
    };
    let forced_by = from.forced_by.clone().map(|(by, because)| ForcedBy { by, because });
    why::Circuit {
        state: state.to_owned(),
        since: when(from.since),
        probe_at: when(from.probe_at),
        forced_by,
    }
}

fn cause_word(cause: &Cause) -> &'static str {
    match cause {
        Cause::StepFailed(_) => "step_failed",
        Cause::OutcomeUnknown(_) => "outcome_unknown",
        Cause::OwnerDied(_) => "owner_died",
        Cause::Deadline => "deadline",
        Cause::Cancelled { .. } => "cancelled",
        Cause::NotTaken { .. } => "not_taken",
        _ => "other",
    }
}

fn on_word(on: &On) -> &'static str {
    match on {
        On::Begin => "begin",
        On::Start => "start",
        On::Paused { .. } => "paused",
        On::Workflow { .. } => "workflow",
        On::Turn(_) => "turn",
        On::Answer => "answer",
        On::Node => "node",
        On::Attempt { .. } => "attempt",
        On::Callback { .. } => "callback",
        On::Items { .. } => "items",
        On::Child { .. } => "child",
        On::Place => "place",
        On::Time => "time",
        On::Signal { .. } => "signal",
        On::NextAttempt { .. } => "next_attempt",
        On::NextRound { .. } => "next_round",
        On::Breaker { .. } => "breaker",
        On::Limit => "limit",
        On::Suspect => "suspect",
        On::NoHandler => "no_handler",
        On::GivenUp { .. } => "given_up",
        On::Drain(_) => "drain",
        On::LaterUndo(_) => "later_undo",
        On::Stuck { .. } => "stuck",
        _ => "other",
    }
}

fn change_word(change: &Change) -> &'static str {
    match change {
        Change::Time => "time",
        Change::Answer => "answer",
        Change::Callback => "callback",
        Change::Signal(_) => "signal",
        Change::Room => "room",
        Change::Circuit => "circuit",
        Change::Steps(_) => "steps",
        Change::Items => "items",
        Change::Child => "child",
        Change::Others => "others",
        Change::Node => "node",
        Change::Program => "program",
        Change::Operator => "operator",
        _ => "other",
    }
}
