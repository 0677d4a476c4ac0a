//! The rules, one function each.

use std::time::Duration;

use super::{Finding, Severity};
use crate::breaker::settings::{Settings as BreakerSettings, Span};
use crate::policy::duration::print;
use crate::policy::service::Service;
use crate::problem::Findings;
use crate::retry::{Jitter, Retry, Strategy};

/// More retries than this at one and the same interval hold a service under load for as long as it is down.
const MANY_FIXED: u32 = 5;
/// Somebody waits for an answer no longer than this, unless told to.
const LONG_CALL: Duration = Duration::from_secs(60);
/// Without facts: an open time below this flaps, above that outlives most faults.
const OPEN_SHORT: Duration = Duration::from_secs(1);
const OPEN_LONG: Duration = Duration::from_secs(300);
/// More calls of one than this is an amplifier.
const MANY_CALLS: u32 = 10;

/// What the rules look at.
struct Seen<'a> {
    key: &'a str,
    service: &'a Service,
    retry: Retry,
    /// The most retries; `None` when only time ends them.
    retries: Option<u32>,
    attempt: Option<Duration>,
    findings: &'a mut Vec<Finding>,
}

pub(super) fn look(key: &str, service: &Service, findings: &mut Vec<Finding>) {
    let retry = service.retry.clone().unwrap_or_else(Retry::standard);
    let retry = retry.build_within(true, &mut Findings::default());
    let off = service.sdk_retries > 0 && !service.retry_despite_sdk;
    let attempt = match service.attempt_timeout {
        Some(limit) => Some(limit),
        None if service.no_attempt_timeout => None,
        None => Some(crate::pipeline::DEFAULT_ATTEMPT_TIMEOUT),
    };
    let retries = if off { Some(0) } else { retry.max_retries() };
    let mut seen = Seen { key, service, retry, retries, attempt, findings };
    if seen.retries != Some(0) {
        seen.no_jitter();
        seen.many_fixed();
        seen.wait_like_timeout();
        seen.no_budget();
        seen.budget_without_limit();
    }
    seen.longer_than_deadline();
    seen.no_deadline();
    seen.nested();
    seen.no_attempt_timeout();
    seen.short_timeout();
    if let Some(breaker) = &service.breaker {
        seen.breaker(breaker.settings());
    }
}

impl Seen<'_> {
    fn find(
        &mut self,
        severity: Severity,
        rule: &'static str,
        what: String,
        why: &'static str,
        hint: impl Into<String>,
    ) {
        let (at, key) = (self.service.at, self.key.to_owned());
        self.findings.push(Finding { rule, severity, at, key, what, why, hint: hint.into() });
    }

    // ---- retry ----

    fn no_jitter(&mut self) {
        let settings = self.retry.settings();
        if settings.jitter == Jitter::None && !matches!(settings.strategy, Strategy::Immediate) {
            self.find(
                Severity::Warning,
                "no-jitter",
                "the waits have no jitter".to_owned(),
                "callers that fail together come back together, in waves, just when the service recovers",
                "remove `jitter = \"none\"`, or set `jitter = \"full\"`",
            );
        }
    }

    fn many_fixed(&mut self) {
        let Strategy::Fixed(wait) = self.retry.settings().strategy else { return };
        let many = self.retries.is_none_or(|retries| retries > MANY_FIXED);
        if many {
            let retries = self.retries.map_or_else(|| "unlimited".to_owned(), |retries| retries.to_string());
            self.find(
                Severity::Warning,
                "many-fixed",
                format!("{retries} retries at a fixed interval of {}", print(wait)),
                "the load on a service that is down never becomes less, for as long as it is down",
                "use `strategy = \"exponential\"`, or at most 5 retries",
            );
        }
    }

    fn wait_like_timeout(&mut self) {
        let Some(attempt) = self.attempt else { return };
        let settings = self.retry.settings();
        // The longest wait that is reached, not the cap that may be far away.
        let last = self.retries.unwrap_or(u32::MAX).saturating_sub(1);
        let wait = match &settings.strategy {
            Strategy::Fixed(_) | Strategy::Exponential { .. } => {
                settings.strategy.longest(last, Jitter::None)
            }
            _ => return,
        };
        if wait >= attempt.mul_f64(0.8) && wait <= attempt.mul_f64(1.25) && settings.jitter != Jitter::Full {
            self.find(
                Severity::Note,
                "wait-like-timeout",
                format!("waits of {} are about as long as an attempt may take ({})", print(wait), print(attempt)),
                "attempts that time out and waits fall into step: half of the callers ask while the other half waits",
                "make the longest wait clearly longer or shorter than attempt_timeout, or set `jitter = \"full\"`",
            );
        }
    }

    /// The longest that a call can take: every attempt times out, every wait is as long as it can be.
    fn worst_case(&self) -> Option<Duration> {
        let retries = self.retries?;
        let all = self.attempt?.saturating_mul(retries.saturating_add(1));
        let whole = all.saturating_add(self.retry.longest_waits(retries));
        Some(match self.retry.settings().max_elapsed {
            // The last wait ends within max_elapsed, and one more attempt follows.
            Some(limit) => whole.min(limit.saturating_add(self.attempt?)),
            None => whole,
        })
    }

    fn longer_than_deadline(&mut self) {
        let (Some(worst), Some(limit)) = (self.worst_case(), self.service.complete_within) else { return };
        let first = self.attempt.unwrap_or_default();
        if worst > limit && self.retries != Some(0) {
            let (severity, fitting) = match first >= limit {
                true => (Severity::Warning, "no retry fits at all when the first attempt times out"),
                false => (Severity::Note, "the last retries may never happen"),
            };
            self.find(
                severity,
                "longer-than-deadline",
                format!("attempts and waits can take {}, complete_within is {}: {fitting}", print(worst), print(limit)),
                "retries that do not fit are only on paper; the caller gets a timeout instead of the real error",
                "shorten attempt_timeout or the waits, or raise complete_within",
            );
        }
    }

    fn no_deadline(&mut self) {
        let Some(worst) = self.worst_case().filter(|_| self.service.complete_within.is_none()) else {
            return;
        };
        if worst > LONG_CALL {
            self.find(
                Severity::Note,
                "no-deadline",
                format!("a call can take {} and has no deadline", print(worst)),
                "somebody who waits for it gives up long before, and the work goes on for nobody",
                "set complete_within where somebody waits for the answer",
            );
        }
    }

    fn nested(&mut self) {
        let (facts, sdk) = (self.service.facts, self.service.sdk_retries);
        let Some(own) = self.retries else { return };
        let layers = [facts.callers_retry, own, sdk];
        let calls =
            layers.iter().fold(1_u32, |calls, retries| calls.saturating_mul(retries.saturating_add(1)));
        if layers.iter().filter(|retries| **retries > 0).count() > 1 && calls > MANY_CALLS {
            let of = |retries: u32| retries.saturating_add(1).to_string();
            self.find(
                Severity::Error,
                "nested-retries",
                format!(
                    "one call can become {calls}: callers {} x here {} x SDK {}",
                    of(facts.callers_retry),
                    of(own),
                    of(sdk)
                ),
                "layers of retries multiply, and all of them add load to a service that is already failing",
                "retry in one layer: `retry = \"none\"` here, or let callers and SDK fail fast",
            );
        }
    }

    fn no_budget(&mut self) {
        if self.service.budget.is_none() && self.retries.is_none_or(|retries| retries > 0) {
            self.find(
                Severity::Warning,
                "no-budget",
                "retries have no budget".to_owned(),
                "limits of one call do not limit the sum: in an outage every call is sent several times",
                "remove `budget = \"none\"`",
            );
        }
    }

    fn budget_without_limit(&mut self) {
        let Some(budget) = &self.service.budget else { return };
        let (share, reserve, window) = budget.values();
        if share > 0.5 {
            self.find(
                Severity::Warning,
                "wide-budget",
                format!("the budget allows retries for {:.0} % of what succeeds", share * 100.0),
                "a service that half works is then asked for nearly twice as much",
                "0.1 is enough for passing faults; 0.2 is much",
            );
        }
        if let Some(rate) = self.service.facts.calls_per_second
            && rate > 0.0
            && f64::from(reserve) >= rate * window.as_secs_f64()
        {
            self.find(
                Severity::Error,
                "idle-budget",
                format!(
                    "the reserve of {reserve} retries in {} is never used up at {rate} calls/s",
                    print(window)
                ),
                "a budget that cannot be spent limits nothing",
                "lower the reserve, or shorten the window",
            );
        }
    }

    // ---- time limits ----

    fn no_attempt_timeout(&mut self) {
        if self.attempt.is_none() && self.service.complete_within.is_none() {
            self.find(
                Severity::Error,
                "no-timeout",
                "neither an attempt nor a call has a time limit".to_owned(),
                "a service that hangs holds its callers for ever, and the breaker never learns of it",
                "set attempt_timeout",
            );
        }
    }

    fn short_timeout(&mut self) {
        let facts = self.service.facts;
        let Some(attempt) = self.attempt else { return };
        if let Some(slowest) = facts.slowest_good.filter(|slowest| attempt < *slowest) {
            self.find(
                Severity::Error,
                "short-timeout",
                format!("attempts end after {}, good calls take up to {}", print(attempt), print(slowest)),
                "good calls are made failures, and their retries are pure load",
                format!("set attempt_timeout to {} or more", print(slowest)),
            );
        } else if let Some(typical) = facts.typical.filter(|typical| attempt < typical.saturating_mul(3)) {
            self.find(
                Severity::Warning,
                "short-timeout",
                format!("attempts end after {}, a typical call takes {}", print(attempt), print(typical)),
                "a little load makes good calls slower than the limit, and retries of them make it worse",
                "leave room for at least three times the typical time",
            );
        }
    }

    // ---- breaker ----

    fn breaker(&mut self, breaker: &BreakerSettings) {
        self.never_trips(breaker);
        self.open_time(breaker);
    }

    fn never_trips(&mut self, breaker: &BreakerSettings) {
        let (Some(rate), Span::Time(window)) = (self.service.facts.calls_per_second, breaker.span) else {
            return;
        };
        let in_window = rate * window.as_secs_f64();
        let by_ratio = breaker.ratio.is_some() && in_window >= f64::from(breaker.min_calls);
        let by_count = breaker.failures.is_some_and(|failures| in_window >= f64::from(failures));
        if !by_ratio && !by_count && breaker.consecutive.is_none() {
            self.find(
                Severity::Error,
                "never-trips",
                format!("at {rate} calls/s the window holds {in_window:.0} calls, fewer than any rule needs"),
                "the breaker looks like protection and is none",
                "add `consecutive`, lower min_calls, or lengthen the window",
            );
        }
    }

    fn open_time(&mut self, breaker: &BreakerSettings) {
        let restart = self.service.facts.restart;
        let (short, long) = match restart {
            Some(restart) => (restart / 10, restart.saturating_mul(4)),
            None => (OPEN_SHORT, OPEN_LONG),
        };
        let fault =
            restart.map_or_else(String::new, |restart| format!(", a restart takes {}", print(restart)));
        if breaker.open.first < short {
            self.find(
                Severity::Warning,
                "flapping",
                format!("the breaker opens for {}{fault}", print(breaker.open.first)),
                "it closes and opens again and again during one fault, with a burst of failures each time",
                format!("open for {} or more", print(short)),
            );
        }
        if breaker.open.first > long {
            self.find(
                Severity::Warning,
                "outlives-fault",
                format!("the breaker opens for {}{fault}", print(breaker.open.first)),
                "the service is refused long after it is back",
                format!("open for {} or less, and let it grow", print(long)),
            );
        }
    }
}
