//! A breaker's settings, and their check.

use std::time::Duration;

use super::state::OpenTime;
use crate::classify::Kind;
use crate::problem::{Code, Findings};

/// The longest count window: counting reads it whole after each failure, which takes 5 us at this size.
pub(crate) const RING_MAX: usize = 10_000;
/// The most calls a threshold can ask for: buckets count far beyond it.
pub(crate) const CALLS_MAX: u32 = 1_000_000;
/// The most probes at once, and the most successes to close: both fit into 16 bits beside each other.
pub(crate) const PROBES_MAX: u16 = 10_000;
/// The shortest window: the coarse clock moves in steps of up to 4 ms, and a window has ten buckets.
const WINDOW_MIN: Duration = Duration::from_millis(100);

/// The fastest growth of the open time: seconds become minutes with one failed probe.
const GROWTH_MAX: f64 = 100.0;

/// What the breaker looks back on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Span {
    /// The calls of this long.
    Time(Duration),
    /// This many last calls.
    Calls(usize),
}

#[derive(Clone, Debug)]
pub(crate) struct Settings {
    pub(crate) span: Span,
    pub(crate) ratio: Option<f64>,
    pub(crate) min_calls: u32,
    pub(crate) failures: Option<u32>,
    pub(crate) consecutive: Option<u32>,
    pub(crate) slow: Option<Slow>,
    /// Failures of a kind in the window that trip.
    pub(crate) kinds: Vec<(Kind, u32)>,
    pub(crate) at_once: Vec<Kind>,
    pub(crate) ignored: Vec<Kind>,
    pub(crate) lasting_trips: bool,
    /// A hint of this length or more trips at once.
    pub(crate) trip_on_hint: Option<Duration>,
    /// The longest that a service's hint can hold the breaker open.
    pub(crate) max_hold: Duration,
    pub(crate) open: OpenTime,
    pub(crate) permits: u16,
    pub(crate) successes_to_close: u16,
    pub(crate) half_open_limit: Duration,
    pub(crate) timeout: Option<Duration>,
    pub(crate) log_successes: bool,
    /// Whether failures of all instances are added up, see `share`.
    pub(crate) together: bool,
}

/// Calls longer than `over` are slow; `ratio` of them trips.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slow {
    pub(crate) over: Duration,
    pub(crate) ratio: f64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            span: Span::Time(Duration::from_secs(30)),
            ratio: Some(0.5),
            min_calls: 20,
            failures: None,
            consecutive: Some(10),
            slow: None,
            kinds: Vec::new(),
            at_once: Vec::new(),
            ignored: Vec::new(),
            lasting_trips: true,
            trip_on_hint: Some(Duration::from_secs(10)),
            max_hold: Duration::from_secs(600),
            open: OpenTime { first: Duration::from_secs(5), growth: 1.5, cap: Duration::from_secs(60) },
            permits: 1,
            successes_to_close: 3,
            half_open_limit: Duration::from_secs(30),
            timeout: None,
            log_successes: false,
            together: false,
        }
    }
}

impl Settings {
    pub(crate) fn check(&self, findings: &mut Findings) {
        self.check_rules(findings);
        self.check_kinds(findings);
        self.check_times(findings);
        self.check_effects(findings);
    }

    fn check_rules(&self, findings: &mut Findings) {
        if let Some(ratio) = self.ratio {
            findings.check_share("breaker.ratio", ratio);
        }
        if let Some(slow) = self.slow {
            findings.check_share("breaker.slow", slow.ratio);
        }
        count(findings, "breaker.min_calls", self.min_calls);
        for (setting, value) in
            [("breaker.failures", self.failures), ("breaker.consecutive", self.consecutive)]
        {
            if let Some(value) = value {
                count(findings, setting, value);
            }
        }
        for (_, threshold) in &self.kinds {
            count(findings, "breaker.kind", *threshold);
        }
        for (setting, value) in [
            ("breaker.half_open_permits", self.permits),
            ("breaker.successes_to_close", self.successes_to_close),
        ] {
            if value == 0 || value > PROBES_MAX {
                findings.error(Code::OutOfRange, setting, format!("{value} is not from 1 to {PROBES_MAX}"));
            }
        }
        if self.ratio.is_none()
            && self.failures.is_none()
            && self.consecutive.is_none()
            && self.slow.is_none()
            && self.kinds.is_empty()
            && self.at_once.is_empty()
        {
            findings.error(
                Code::Empty,
                "breaker",
                "no rule can trip it: set ratio, failures, consecutive, slow or a kind",
            );
        }
    }

    fn check_kinds(&self, findings: &mut Findings) {
        for kind in &self.ignored {
            if self.at_once.contains(kind) || self.kinds.iter().any(|(other, _)| other == kind) {
                findings.error(
                    Code::Contradiction,
                    "breaker.ignore",
                    format!("`{kind}` is ignored and has a rule of its own: remove one of the two"),
                );
            }
        }
        for (place, (kind, _)) in self.kinds.iter().enumerate() {
            if self.at_once.contains(kind) || self.kinds[..place].iter().any(|(other, _)| other == kind) {
                findings.warn(
                    Code::NoEffect,
                    "breaker.kind",
                    format!("the threshold for `{kind}` is never reached: another rule for it comes first"),
                );
            }
        }
    }

    fn check_times(&self, findings: &mut Findings) {
        match self.span {
            Span::Time(window) if window < WINDOW_MIN => findings.error(
                Code::OutOfRange,
                "breaker.within",
                format!("{window:?} is too short to tell calls apart: give {WINDOW_MIN:?} or more"),
            ),
            Span::Calls(calls) if calls == 0 || calls > RING_MAX => findings.error(
                Code::OutOfRange,
                "breaker.last_calls",
                format!("{calls} is not from 1 to {RING_MAX}: use a time window for more"),
            ),
            _ => {}
        }
        for (setting, time) in [
            ("breaker.open_for", Some(self.open.first)),
            ("breaker.half_open_limit", Some(self.half_open_limit)),
            ("breaker.timeout", self.timeout),
            ("breaker.slow", self.slow.map(|slow| slow.over)),
        ] {
            if time.is_some_and(|time| time.is_zero()) {
                findings.error(
                    Code::OutOfRange,
                    setting,
                    "a time of zero makes no sense here: give a time above 0",
                );
            }
        }
        if !(self.open.growth >= 1.0 && self.open.growth <= GROWTH_MAX) {
            findings.error(
                Code::BadNumber,
                "breaker.growing_by",
                format!("{} is not a growth: give a number from 1 (none) to {GROWTH_MAX}", self.open.growth),
            );
        }
        if self.open.cap < self.open.first {
            findings.error(
                Code::Contradiction,
                "breaker.growing_to",
                format!("the cap {:?} is below open_for {:?}: raise it", self.open.cap, self.open.first),
            );
        }
    }

    fn check_effects(&self, findings: &mut Findings) {
        if let Span::Calls(calls) = self.span
            && (self.ratio.is_some() || self.slow.is_some())
            && usize::try_from(self.min_calls).unwrap_or(usize::MAX) > calls
        {
            findings.warn(
                Code::NeverTrips,
                "breaker.min_calls",
                format!("a window of {calls} calls never holds {} calls: no ratio can trip", self.min_calls),
            );
        }
        if let (Span::Time(window), None, None) = (self.span, self.consecutive, self.failures)
            && (self.ratio.is_some() || self.slow.is_some())
        {
            let rate = f64::from(self.min_calls) / window.as_secs_f64();
            findings.warn(
                Code::NeverTrips,
                "breaker.min_calls",
                format!(
                    "below {rate:.1} calls/s the ratio can never trip: add `consecutive` for quiet times"
                ),
            );
        }
        if let (Some(timeout), Some(slow)) = (self.timeout, self.slow)
            && slow.over >= timeout
        {
            findings.warn(
                Code::NoEffect,
                "breaker.slow",
                "no call lives long enough to be slow: timeout ends it first",
            );
        }
        if self.trip_on_hint.is_some_and(|hint| hint > self.max_hold) {
            findings.warn(
                Code::NoEffect,
                "breaker.max_hold",
                "max_hold is below the hints that trip: every hold is cut short",
            );
        }
    }
}

fn count(findings: &mut Findings, setting: &'static str, value: u32) {
    if value == 0 || value > CALLS_MAX {
        findings.error(Code::OutOfRange, setting, format!("{value} is not from 1 to {CALLS_MAX}"));
    }
}
