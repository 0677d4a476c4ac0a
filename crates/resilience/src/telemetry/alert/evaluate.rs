//! Whether an alert begins or ends, from reports at moments. Pure: the time is an argument.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use super::rule::{Rule, Threshold};
use super::{Alert, State};
use crate::clock::Moment;
use crate::telemetry::Report;

/// Windows before the present one that say what is usual.
const USUAL_WINDOWS: u32 = 10;
/// Reports kept for each window: the window's edge is as exact as this.
const PER_WINDOW: u32 = 12;

/// The alerts of one pipeline.
#[derive(Clone, Debug)]
pub struct Evaluator {
    pipeline: Arc<str>,
    rules: Vec<Watched>,
}

/// A rule and what it has seen.
#[derive(Clone, Debug)]
struct Watched {
    rule: Rule,
    past: Past,
    phase: Phase,
    /// What the value must not reach, kept from the moment it does until the alert is over.
    threshold: f64,
}

/// Where an alert is.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Phase {
    Quiet,
    /// Too much, but not for long enough.
    Rising(Moment),
    Raised,
    /// Better, but not for long enough.
    Falling(Moment),
}

/// What the value says at one look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    TooMuch,
    /// Neither too much nor well below it.
    Between,
    /// Well below the threshold, or too few calls to tell.
    Fine,
}

impl Evaluator {
    /// For the pipeline of this name.
    #[must_use]
    pub fn new(pipeline: impl Into<Arc<str>>, rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { pipeline: pipeline.into(), rules: rules.into_iter().map(Watched::new).collect() }
    }

    /// Takes a report of this moment and says what has begun and what is over. Look every few seconds: at least some
    /// times in a window.
    pub fn look(&mut self, now: Moment, report: &Report) -> Vec<Alert> {
        let pipeline = &self.pipeline;
        self.rules.iter_mut().filter_map(|watched| watched.look(now, report, pipeline)).collect()
    }
}

impl Watched {
    fn new(rule: Rule) -> Self {
        Self { rule, past: Past::new(rule.window), phase: Phase::Quiet, threshold: f64::INFINITY }
    }

    fn look(&mut self, now: Moment, report: &Report, pipeline: &Arc<str>) -> Option<Alert> {
        self.past.add(now, report);
        let measured = self.rule.measure.of(&self.past.window(now, report));
        let measured = measured.filter(|(_, calls)| *calls >= self.rule.min_calls);
        if self.phase == Phase::Quiet {
            self.threshold = self.threshold_now(now);
        }
        let level = self.level(measured.map(|(value, _)| value));
        let (phase, told) = step(self.phase, level, now, self.rule.lasting);
        self.phase = phase;
        let (value, calls) = measured.unwrap_or_default();
        told.map(|state| Alert {
            pipeline: Arc::clone(pipeline),
            measure: self.rule.measure,
            state,
            value,
            threshold: self.threshold,
            calls,
            window: self.rule.window,
            at: now,
        })
    }

    /// Infinite when nobody knows yet what is usual.
    fn threshold_now(&self, now: Moment) -> f64 {
        match self.rule.threshold {
            Threshold::At(value) => value,
            Threshold::TimesUsual { factor, floor } => {
                let usual = self.rule.measure.of(&self.past.usual(now));
                let usual = usual.filter(|(_, calls)| *calls >= self.rule.min_calls);
                usual.map_or(f64::INFINITY, |(usual, _)| (usual * factor).max(floor))
            }
        }
    }

    fn level(&self, value: Option<f64>) -> Level {
        match value {
            Some(value) if value >= self.threshold => Level::TooMuch,
            Some(value) if value >= self.threshold * self.rule.clear_below => Level::Between,
            _ => Level::Fine,
        }
    }
}

/// The one place where an alert moves. Between the two thresholds everything stays as it is, but for a time that runs:
/// what only just was too much, or better, has to begin anew.
fn step(phase: Phase, level: Level, now: Moment, lasting: Duration) -> (Phase, Option<State>) {
    let over = |since: Moment| now.since(since) >= lasting;
    match (phase, level) {
        (Phase::Quiet, Level::TooMuch) if lasting.is_zero() => (Phase::Raised, Some(State::Raised)),
        (Phase::Quiet, Level::TooMuch) => (Phase::Rising(now), None),
        (Phase::Quiet, _) => (Phase::Quiet, None),
        (Phase::Rising(since), Level::TooMuch) if over(since) => (Phase::Raised, Some(State::Raised)),
        (Phase::Rising(since), Level::TooMuch) => (Phase::Rising(since), None),
        (Phase::Rising(_), _) => (Phase::Quiet, None),
        (Phase::Raised, Level::Fine) if lasting.is_zero() => (Phase::Quiet, Some(State::Cleared)),
        (Phase::Raised, Level::Fine) => (Phase::Falling(now), None),
        (Phase::Raised, _) => (Phase::Raised, None),
        (Phase::Falling(since), Level::Fine) if over(since) => (Phase::Quiet, Some(State::Cleared)),
        (Phase::Falling(since), Level::Fine) => (Phase::Falling(since), None),
        (Phase::Falling(_), _) => (Phase::Raised, None),
    }
}

/// Reports of the recent past, thinned out: a window and the ten before it.
#[derive(Clone, Debug)]
struct Past {
    window: Duration,
    reports: VecDeque<(Moment, Report)>,
}

impl Past {
    fn new(window: Duration) -> Self {
        Self { window, reports: VecDeque::new() }
    }

    fn add(&mut self, now: Moment, report: &Report) {
        let apart = self.window / PER_WINDOW;
        if self.reports.back().is_none_or(|(last, _)| now.since(*last) >= apart) {
            self.reports.push_back((now, *report));
        }
        // The one before the edge stays: it is what the oldest window is counted from.
        let kept = self.window.saturating_mul(USUAL_WINDOWS + 1);
        while self.reports.get(1).is_some_and(|(at, _)| now.since(*at) >= kept) {
            self.reports.pop_front();
        }
    }

    /// What happened within the window that ends now; less when it is younger than that.
    fn window(&self, now: Moment, report: &Report) -> Report {
        report.since(&self.at(now, self.window))
    }

    /// What happened in the windows before that.
    fn usual(&self, now: Moment) -> Report {
        let first = self.reports.front().map(|(_, report)| *report).unwrap_or_default();
        self.at(now, self.window).since(&first)
    }

    /// The newest report that is at least this old, or the oldest of all.
    fn at(&self, now: Moment, ago: Duration) -> Report {
        let old = self.reports.iter().rev().find(|(at, _)| now.since(*at) >= ago);
        old.or_else(|| self.reports.front()).map(|(_, report)| *report).unwrap_or_default()
    }
}
