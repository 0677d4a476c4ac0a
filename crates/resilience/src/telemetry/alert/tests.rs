//! T4: when alerts begin and end, from reports made up by the test.

use std::time::Duration;

use super::{Alert, Evaluator, Measure, Rule, State, Threshold, Watcher};
use crate::clock::{Moment, VirtualClock};
use crate::telemetry::Report;
use crate::{Classify, Kind, Pipeline, Retry, Verdict};

const SECOND: Duration = Duration::from_secs(1);

/// Feeds an evaluator with what happens from look to look, five seconds apart.
struct Feed {
    evaluator: Evaluator,
    now: Moment,
    total: Report,
}

impl Feed {
    fn new(rule: Rule) -> Self {
        let mut feed = Self {
            evaluator: Evaluator::new("payments", [rule]),
            now: Moment::ZERO,
            total: Report::default(),
        };
        assert_eq!(feed.evaluator.look(feed.now, &feed.total), []);
        feed
    }

    /// The same in each of so many looks; what was told, with the second of the telling.
    fn looks(&mut self, looks: u32, happened: Report) -> Vec<(u64, Alert)> {
        let mut told = Vec::new();
        for _ in 0..looks {
            self.now = self.now + 5 * SECOND;
            self.total = sum(&self.total, &happened);
            let second = self.now.as_nanos() / 1_000_000_000;
            told.extend(self.evaluator.look(self.now, &self.total).into_iter().map(|alert| (second, alert)));
        }
        told
    }
}

fn sum(one: &Report, other: &Report) -> Report {
    Report {
        succeeded: one.succeeded + other.succeeded,
        failed: one.failed + other.failed,
        terminal: one.terminal + other.terminal,
        refused: one.refused + other.refused,
        limited: one.limited + other.limited,
        cancelled: one.cancelled + other.cancelled,
        attempts: one.attempts + other.attempts,
        retries: one.retries + other.retries,
        hedges: one.hedges + other.hedges,
        throttled: one.throttled + other.throttled,
        time_to_success: one.time_to_success + other.time_to_success,
    }
}

/// So many calls of which so many failed, one attempt each, 10 ms each.
fn calls(calls: u64, failed: u64) -> Report {
    let succeeded = calls - failed;
    let time_to_success = Duration::from_millis(10 * succeeded);
    Report { succeeded, failed, attempts: calls, time_to_success, ..Report::default() }
}

fn failures() -> Rule {
    Rule::new(Measure::FailureRate, Threshold::At(0.05))
}

fn states(told: &[(u64, Alert)]) -> Vec<(u64, State)> {
    told.iter().map(|(second, alert)| (*second, alert.state)).collect()
}

// T4
#[test]
fn an_alert_is_raised_once_when_it_has_lasted_and_cleared_once_when_it_is_over() {
    let mut feed = Feed::new(failures());
    assert_eq!(feed.looks(24, calls(100, 0)), []);
    // From 125 s on 20 % fail. Within the window of 60 s that is 5 % at 135 s, and has lasted 60 s at 195 s.
    let raised = feed.looks(36, calls(100, 20));
    assert_eq!(states(&raised), [(195, State::Raised)]);
    assert!((raised[0].1.value - 0.2).abs() < 0.001 && raised[0].1.calls == 1_200);
    // The window is clean of it at 345 s but for 4 %; it has been better for a minute at 405 s.
    let cleared = feed.looks(36, calls(100, 0));
    assert_eq!(states(&cleared), [(410, State::Cleared)]);
}

#[test]
fn a_short_burst_is_no_alert() {
    let mut feed = Feed::new(failures().within(10 * SECOND));
    feed.looks(24, calls(100, 0));
    assert_eq!(feed.looks(8, calls(100, 50)), []);
    assert_eq!(feed.looks(24, calls(100, 0)), []);
}

#[test]
fn around_the_threshold_it_does_not_flap() {
    let mut feed = Feed::new(failures().within(10 * SECOND).lasting(10 * SECOND));
    let mut told = feed.looks(6, calls(100, 6));
    for _ in 0..50 {
        told.extend(feed.looks(12, calls(1_000, 45)));
        told.extend(feed.looks(12, calls(1_000, 55)));
        // Well below, but not for long.
        told.extend(feed.looks(1, calls(1_000, 0)));
    }
    assert_eq!(states(&told).len(), 1, "4.5 % is not well below 5 %: {told:?}");
    let cleared = feed.looks(6, calls(100, 3));
    assert_eq!(cleared.len(), 1);
}

#[test]
fn few_calls_say_nothing_and_silence_ends_an_alert() {
    let rule = failures().within(10 * SECOND).lasting(10 * SECOND);
    assert_eq!(Feed::new(rule).looks(50, calls(5, 5)), [], "10 calls in the window");
    let mut feed = Feed::new(rule);
    assert_eq!(feed.looks(10, calls(50, 50)).len(), 1);
    let over = feed.looks(10, calls(0, 0));
    assert_eq!((over.len(), over[0].1.state), (1, State::Cleared));
}

#[test]
fn refused_calls_are_failures_and_terminal_answers_are_not() {
    let rule = failures().lasting(Duration::ZERO);
    let refused = Report { refused: 90, succeeded: 10, attempts: 10, ..Report::default() };
    assert_eq!(Feed::new(rule).looks(1, refused).len(), 1);
    let declined = Report { terminal: 90, succeeded: 10, attempts: 100, ..Report::default() };
    assert_eq!(Feed::new(rule).looks(10, declined), []);
    let cancelled = Report { cancelled: 90, succeeded: 100, attempts: 190, ..Report::default() };
    assert_eq!(Feed::new(rule).looks(10, cancelled), []);
}

#[test]
fn retries_and_throttling_have_rules_of_their_own() {
    let at_once = |measure, threshold| Rule::new(measure, Threshold::At(threshold)).lasting(Duration::ZERO);
    let retried = Report { succeeded: 100, attempts: 125, retries: 25, throttled: 5, ..Report::default() };
    let told = Feed::new(at_once(Measure::MeanRetries, 0.25)).looks(1, retried);
    assert!((told[0].1.value - 0.25).abs() < 1e-9);
    assert_eq!(Feed::new(at_once(Measure::MeanRetries, 0.26)).looks(9, retried), []);
    let told = Feed::new(at_once(Measure::ThrottledShare, 0.04)).looks(1, retried);
    assert!((told[0].1.value - 0.04).abs() < 1e-9);
    assert_eq!(Feed::new(at_once(Measure::ThrottledShare, 0.041)).looks(9, retried), []);
}

#[test]
fn slow_is_what_takes_three_times_the_usual_and_the_usual_stands_still_meanwhile() {
    let threshold = Threshold::TimesUsual { factor: 3.0, floor: 0.1 };
    let rule = Rule::new(Measure::TimeToSuccess, threshold).within(10 * SECOND).lasting(10 * SECOND);
    let took = |millis: u64| Report { time_to_success: Duration::from_millis(100 * millis), ..calls(100, 0) };
    let mut feed = Feed::new(rule);
    assert_eq!(feed.looks(1, took(500)), [], "nobody knows yet what is usual");
    let mut feed = Feed::new(rule);
    feed.looks(30, took(50));
    assert_eq!(feed.looks(30, took(140)), [], "below three times");
    let mut feed = Feed::new(rule);
    feed.looks(30, took(50));
    let told = feed.looks(200, took(400));
    assert_eq!(told.len(), 1, "it lasts as long as it is slow: {told:?}");
    assert!((told[0].1.threshold - 0.15).abs() < 0.001, "{told:?}");
    let mut quick = Feed::new(rule);
    quick.looks(30, took(2));
    assert_eq!(quick.looks(30, took(90)), [], "below the floor nobody cares");
}

#[test]
fn an_alert_says_what_is_wrong_and_what_to_look_at() {
    let mut feed = Feed::new(failures().lasting(Duration::ZERO));
    let raised = feed.looks(1, calls(200, 25));
    assert_eq!(
        raised[0].1.to_string(),
        "`payments`: failed calls are 12.5 % over 200 calls in 60s (alert at 5.0 %): look at the kinds of failure and \
         at the breaker's last trip: the service is down, or refuses us, or our own limit is reached"
    );
    let cleared = feed.looks(30, calls(200, 0));
    assert!(cleared[0].1.to_string().ends_with("(alert at 5.0 %): it is over"), "{}", cleared[0].1);
}

#[derive(Debug)]
struct Lost;

impl Classify for Lost {
    fn classify(&self) -> Verdict {
        Verdict::transient(Kind::CONNECTION_LOST)
    }
}

// T4
#[test]
fn a_watcher_tells_of_a_real_pipeline_that_fails_and_recovers() {
    let clock = VirtualClock::new();
    let pipeline =
        Pipeline::builder("stock").retry(Retry::none()).no_breaker().clock(&clock).build().unwrap();
    let told = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut watcher = Watcher::new(Rule::standard()).watch(&pipeline).on_alert({
        let told = std::sync::Arc::clone(&told);
        move |alert| told.lock().unwrap().push((alert.measure, alert.state))
    });
    for second in 0..600 {
        for call in 0..10 {
            let fails = (100..300).contains(&second) && call == 0;
            let _ = pipeline.run_blocking(|_| if fails { Err(Lost) } else { Ok(()) });
        }
        clock.advance(SECOND);
        let alerts = watcher.look(clock.now());
        assert!(alerts.iter().all(|alert| &*alert.pipeline == "stock"));
    }
    let told = told.lock().unwrap();
    assert_eq!(*told, [(Measure::FailureRate, State::Raised), (Measure::FailureRate, State::Cleared)]);
}
