//! The rules, one function each.

mod breaker;
mod kind;
mod limit;
mod retry;
mod time;

use std::time::Duration;

use super::{Finding, Severity};
use crate::policy::service::Service;
use crate::problem::Findings;
use crate::retry::Retry;

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
        seen.repeats_effects();
    }
    seen.longer_than_deadline();
    seen.no_deadline();
    seen.nested();
    seen.no_attempt_timeout();
    seen.short_timeout();
    seen.misspelt_kinds();
    match &service.breaker {
        Some(breaker) => {
            seen.never_trips(breaker.settings());
            seen.open_time(breaker.settings());
        }
        None => seen.no_breaker(),
    }
    if let Some(limit) = &service.limit {
        seen.limit_below_traffic(limit);
    }
}

impl Seen<'_> {
    /// Notes a finding of a rule about one key of the service, at that key's place where it has one.
    fn find(
        &mut self,
        severity: Severity,
        (rule, about): (&'static str, &str),
        what: String,
        why: &'static str,
        hint: impl Into<String>,
    ) {
        let (at, key) = (self.service.place(about), self.key.to_owned());
        self.findings.push(Finding { rule, severity, at, key, what, why, hint: hint.into() });
    }
}
