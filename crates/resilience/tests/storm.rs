//! The storm: a service of 1 000 requests/s with an endless queue is down for ten seconds while callers go on at 90 % of
//! its capacity. Whole pipelines, driven by the simulator.
//!
//! With the defaults the callers must neither feed the outage nor hinder the recovery. "Three attempts, no budget, no
//! breaker" must never recover in the same model: that is how we know that the test can fail.

#![expect(clippy::unwrap_used, reason = "a test's own helpers")]

use std::time::Duration;

use steadfast_resilience::retry::Jitter;
use steadfast_resilience::simulate::{Report, Scenario};
use steadfast_resilience::{Pipeline, Retry, pipeline};

const CALLS_PER_SECOND: u32 = 900;
const CLIENT_TIMEOUT: Duration = Duration::from_secs(1);
const OUTAGE: Duration = Duration::from_secs(10);

fn storm(seed: u64, clients: u32, client: &pipeline::Builder) -> Report {
    let scenario =
        Scenario::outage(OUTAGE).rps(f64::from(CALLS_PER_SECOND)).capacity(1_000.0).clients(clients);
    scenario.answer_time(Duration::ZERO).seed(seed).run(client).unwrap()
}

fn defaults() -> pipeline::Builder {
    Pipeline::builder("client").attempt_timeout(CLIENT_TIMEOUT)
}

fn naive() -> pipeline::Builder {
    let retry = Retry::exponential().min_backoff(Duration::ZERO).delta_backoff(Duration::from_millis(100));
    defaults().retry(retry.jitter(Jitter::Full).max_retries(2)).no_budget().no_breaker()
}

/// Three storms of other chance, each printed with the seed that replays it.
fn weathers(clients: u32) {
    for seed in 1..=3 {
        let report = storm(seed, clients, &defaults());
        println!("seed {seed}, {clients} clients: {report}");
        let offered: u32 = report.seconds().iter().map(|second| second.offered).sum();
        assert!(offered > 80 * CALLS_PER_SECOND, "only {offered} calls: the storm was a breeze");
        let during = report.outage().start + 2..report.outage().end;
        assert!(report.seconds()[during].iter().all(|second| second.served == 0), "the outage was total");
        assert!(report.amplification() <= 1.10, "{report}");
        assert!(report.recovers_within(Duration::from_secs(10)), "{report}");
    }
}

#[test]
fn one_shared_pipeline_with_the_defaults_weathers_the_storm() {
    weathers(1);
}

#[test]
fn two_hundred_clients_with_the_defaults_weather_the_storm() {
    weathers(200);
}

#[test]
fn three_attempts_without_budget_and_breaker_never_recover() {
    for clients in [1, 200] {
        let report = storm(1, clients, &naive());
        assert_eq!(report.recovery(), None, "{report}");
        assert!(report.amplification() > 2.0, "{report}");
    }
}

#[test]
fn the_budget_alone_keeps_retries_to_a_tenth() {
    for clients in [1, 200] {
        let report = storm(1, clients, &defaults().no_breaker());
        println!("budget alone, {clients} clients: {report}");
        assert!(report.amplification() <= 1.10, "{report}");
    }
}
