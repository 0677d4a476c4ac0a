//! Breakers as metrics: state, transitions, refusals.

use metrics::{Counter, Key, Label};

use super::cached::Cached;
use super::{METADATA, describe};
use crate::breaker::{Change, State};
use crate::telemetry::metric;

/// The count of one breaker's refusals. Its handle is kept: during an outage every call is one.
#[derive(Debug, Default)]
pub(crate) struct Refusals(Cached<Counter>);

impl Refusals {
    #[inline]
    pub(crate) fn count(&self, breaker: &str) {
        let make = |recorder: &dyn metrics::Recorder| {
            describe(recorder);
            recorder.register_counter(&key(metric::BREAKER_REFUSALS.name, breaker, []), &METADATA)
        };
        self.0.with(make, |refusals| refusals.increment(1));
    }
}

/// Counts a state change and shows the state. Called in the order of the changes.
pub(crate) fn state_changed(change: &Change) {
    let states = [("from", change.from), ("to", change.to)];
    let labels = states.map(|(name, state)| Label::new(name, state.as_str()));
    let key = key(metric::BREAKER_TRANSITIONS.name, &change.breaker, labels);
    metrics::with_recorder(|recorder| {
        describe(recorder);
        recorder.register_counter(&key, &METADATA)
    })
    .increment(1);
    set_state(&change.breaker, change.to);
}

pub(super) fn set_state(breaker: &str, state: State) {
    let key = key(metric::BREAKER_STATE.name, breaker, []);
    metrics::with_recorder(|recorder| recorder.register_gauge(&key, &METADATA)).set(number(state));
}

/// Above 0 not every call goes through; from 2 on none does.
const fn number(state: State) -> f64 {
    match state {
        State::ForcedClosed => -1.0,
        State::Closed => 0.0,
        State::HalfOpen => 1.0,
        State::Open => 2.0,
        State::ForcedOpen => 3.0,
    }
}

fn key<const N: usize>(name: &'static str, breaker: &str, more: [Label; N]) -> Key {
    let mut labels = vec![Label::new("breaker", breaker.to_owned())];
    labels.extend(more);
    Key::from_parts(name, labels)
}
