//! The summary for programs: one object. Times are whole numbers, their unit in the name.

use std::time::Duration;

use serde_json::{Value, json};

use super::super::contender::ATTEMPT_TIMEOUT;
use super::super::play::Outcome;
use super::Report;

impl Report {
    pub(crate) fn to_json(&self) -> Value {
        json!({
            "seconds": self.script.length().as_secs(),
            "rate": self.rate,
            "down_ms": millis(self.script.outage()),
            "attempt_timeout_ms": millis(ATTEMPT_TIMEOUT),
            "service_time_us": micros(self.script.service_time(self.rate)),
            "open_for_ms": millis(self.script.open_for()),
            "steadfast": run_json(&self.steadfast),
            "three_attempts": run_json(&self.three_attempts),
        })
    }
}

fn run_json(run: &Outcome) -> Value {
    json!({
        "calls": run.calls.made,
        "ok": run.calls.ok,
        "failed": run.calls.failed,
        "refused": run.calls.refused,
        "refused_while_up": run.calls.refused_while_up,
        "calls_after_return": run.recovery.calls,
        "ok_after_return": run.recovery.ok,
        "recovered": run.recovery.after.is_some(),
        "recovered_after_ms": run.recovery.after.map(millis),
        "retries": run.calls.retries,
        "most_late_ms": millis(run.calls.most_late),
        "until_error_ms": run.until_error_ms(),
        "requests": run.seen.requests,
        "requests_while_down": run.seen.while_down,
        "served": run.seen.served,
        "served_for_nobody": run.seen.for_nobody,
        "queued_at_end": run.seen.waiting(),
        "repeats": run.seen.repeats,
        "carried_out": run.seen.carried_out,
        "took_effect_unseen": run.took_effect_unseen(),
        "breaker": run.breaker.map(|breaker| json!({
            "state": breaker.state.as_str(),
            "trips": breaker.trips,
            "failed_probes": breaker.failed_probes,
            "closed_after_ms": breaker.closed_after.map(millis),
            "last_open_ms": breaker.last_open.map(millis),
        })),
    })
}

pub(super) fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
