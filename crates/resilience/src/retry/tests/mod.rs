//! Tests of the retry core: no clock, no waiting.

mod bounds;
mod budget;
mod decision;
mod formula;
mod settings;

use std::time::Duration;

use super::{At, Builder, Decision, Retry, State, Stop};
use crate::classify::{Kind, Verdict};
use crate::clock::Moment;
use crate::random::Rng;

const TIMEOUT: Verdict = Verdict::transient(Kind::TIMEOUT);

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn start(builder: Builder) -> (Retry, State) {
    let retry = builder.build().unwrap();
    let state = retry.start_with(Moment::ZERO, Rng::seeded(1));
    (retry, state)
}

/// The waits after failures that all look like `failure`, until it stops.
fn waits_after(builder: Builder, failure: &Verdict) -> (Vec<Duration>, Stop) {
    let (retry, mut state) = start(builder);
    let mut waits = Vec::new();
    loop {
        match retry.next(&mut state, failure, At::now(Moment::ZERO)) {
            Decision::After(wait) => waits.push(wait),
            Decision::Stop(stop) => return (waits, stop),
        }
        assert!(waits.len() < 10_000, "no end");
    }
}

fn waits(builder: Builder) -> Vec<Duration> {
    waits_after(builder, &TIMEOUT).0
}
