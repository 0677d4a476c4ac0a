//! How much an outcome weighs for the breaker: pure.

use std::time::Duration;

use super::settings::Settings;
use super::trip::Reason;
use crate::classify::{Class, Verdict};

/// What an outcome says about the service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Weight {
    Success,
    /// Nothing: the caller's own mistake, a cancelled call, an ignored kind.
    Neutral,
    /// A failure. `at_once` when this one alone trips; `hold` is how long the service asks to be left alone.
    Failure {
        at_once: Option<Reason>,
        hold: Duration,
    },
}

pub(super) fn weigh(verdict: &Verdict, settings: &Settings, probe: bool) -> Weight {
    if settings.ignored.contains(&verdict.kind()) {
        return Weight::Neutral;
    }
    match verdict.class() {
        Class::Success => Weight::Success,
        // A probe asks whether the service answers, and a terminal error is an answer. Otherwise a service that is asked
        // for nothing but missing things would stay half-open for ever.
        Class::Terminal if probe => Weight::Success,
        Class::Neutral | Class::Terminal => Weight::Neutral,
        // Unclassified counts as a failure: a breaker that nobody taught the errors must still trip.
        Class::Transient | Class::Throttled | Class::Lasting | Class::Unclassified => Weight::Failure {
            at_once: at_once(verdict, settings),
            hold: verdict.hint().unwrap_or_default().min(settings.max_hold),
        },
    }
}

fn at_once(verdict: &Verdict, settings: &Settings) -> Option<Reason> {
    if let (Some(least), Some(hint)) = (settings.trip_on_hint, verdict.hint())
        && hint >= least
    {
        return Some(Reason::Hint(hint));
    }
    let tripping = settings.at_once.contains(&verdict.kind())
        || settings.lasting_trips && verdict.class() == Class::Lasting;
    tripping.then_some(Reason::AtOnce)
}
