//! What a reload changes, and what it keeps.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use super::*;
use crate::Pipeline;
use crate::breaker::State;
use crate::clock::VirtualClock;
use crate::policy::Live;

fn busy() -> std::io::Error {
    std::io::Error::from(std::io::ErrorKind::TimedOut)
}

fn fails(pipeline: &Pipeline, times: u32) {
    for _ in 0..times {
        let _ = pipeline.call().max_retries(0).run_blocking(|_| Err::<(), _>(busy()));
    }
}

fn succeeds(pipeline: &Pipeline, times: u32) {
    for _ in 0..times {
        pipeline.run_blocking(|_| Ok::<_, std::io::Error>(())).unwrap();
    }
}

#[test]
fn a_reload_reaches_every_pipeline_that_was_handed_out() {
    let clock = VirtualClock::new();
    let live = Live::with_clock(toml("[service.a]\nattempt_timeout = \"2s\"").unwrap(), &clock);
    let (one, other) = (live.pipeline("a"), live.pipeline("a"));
    let limit =
        |pipeline: &Pipeline| pipeline.run_blocking(|a| Ok::<_, std::io::Error>(a.time_left())).unwrap();
    assert_eq!((limit(&one), limit(&live.pipeline("b"))), (Some(s(2)), Some(s(10))));
    let changes =
        live.apply(toml("[service.a]\nattempt_timeout = \"5s\"\n[service.b]\nretry = \"none\"").unwrap());
    assert_eq!(changes.to_string(), "service.a.attempt_timeout: 2s -> 5s; service.b.retry: none (new)");
    assert_eq!((limit(&one), limit(&other)), (Some(s(5)), Some(s(5))));
    assert_eq!(live.pipeline("b").retry().unwrap().max_retries(), Some(0));
    let changes = live.apply(toml("").unwrap());
    assert_eq!(changes.all()[0].to_string(), "service.a.attempt_timeout: 5s (gone)");
    assert_eq!(limit(&one), Some(s(10)), "the default counts again");
    assert!(live.apply(live.policies()).is_empty());
}

#[test]
fn an_open_breaker_stays_open_and_its_handles_stay_true() {
    let clock = VirtualClock::new();
    let live = Live::with_clock(
        toml("[service.a]\nbreaker = { consecutive = 3, open_for = \"20s\" }").unwrap(),
        &clock,
    );
    let pipeline = live.pipeline("a");
    let handle = pipeline.breaker().unwrap();
    fails(&pipeline, 3);
    assert_eq!(handle.state(), State::Open);
    let _ = live.apply(toml("[service.a]\nbreaker = { consecutive = 50, open_for = \"1s\" }").unwrap());
    assert!(pipeline.run_blocking(|_| Ok::<_, std::io::Error>(())).unwrap_err().is_refused());
    assert!(handle.report().open_for.unwrap() >= s(20), "what was decided stays decided");
    handle.force_open(None, "ada", "by a handle from before the reload");
    assert_eq!(live.pipeline("a").breaker().unwrap().state(), State::ForcedOpen);
    handle.reset("ada", "done");
    let _ = live.apply(toml("[service.a]\nbreaker = \"none\"").unwrap());
    assert!(live.pipeline("a").breaker().is_none());
    handle.force_open(None, "ada", "kept while it is not asked");
    let _ = live.apply(toml("").unwrap());
    assert_eq!(pipeline.breaker().unwrap().state(), State::ForcedOpen, "state outlives configuration");
}

#[test]
fn counts_go_on_whatever_changes() {
    for (before, after) in [
        ("failures = 10", "failures = 6"),
        ("failures = 10, window = \"30s\"", "failures = 6, window = \"60s\""),
        ("failures = 10, window = \"30s\"", "failures = 6, window = \"10s\""),
        ("failures = 10, last_calls = 100", "failures = 6, last_calls = 50"),
        ("failures = 10, window = \"30s\"", "failures = 6, last_calls = 50"),
        ("failures = 10, last_calls = 100", "failures = 6, window = \"60s\""),
        ("failures = 10, kinds = { timeout = 9 }", "failures = 60, kinds = { timeout = 6 }, window = \"1m\""),
    ] {
        let clock = VirtualClock::new();
        clock.advance(s(100));
        let file = |rules: &str| {
            toml(&format!("[service.a]\nbreaker = {{ consecutive = \"none\", ratio = \"none\", {rules} }}"))
                .unwrap()
        };
        let live = Live::with_clock(file(before), &clock);
        let pipeline = live.pipeline("a");
        succeeds(&pipeline, 7);
        fails(&pipeline, 5);
        let _ = live.apply(file(after));
        let report = pipeline.breaker().unwrap().report();
        assert_eq!((report.calls, report.failures), (12, 5), "{before} -> {after}");
        fails(&pipeline, 1);
        assert_eq!(pipeline.breaker().unwrap().state(), State::Open, "{before} -> {after}: the sixth in all");
    }
}

#[test]
fn a_budget_keeps_what_was_paid_in_and_taken_out() {
    let clock = VirtualClock::new();
    clock.advance(s(100));
    let live = Live::with_clock(toml("[service.a]\nbudget = { share = 0.5, reserve = 0 }").unwrap(), &clock);
    let pipeline = live.pipeline("a");
    succeeds(&pipeline, 10);
    let left = || pipeline.budget().unwrap().left(clock.now());
    assert!(pipeline.budget().unwrap().withdraw(clock.now()));
    assert_eq!(left(), 4);
    let _ = live.apply(toml("[service.a]\nbudget = { share = 0.3, reserve = 0 }").unwrap());
    assert_eq!(left(), 2);
    let _ = live.apply(toml("[service.a]\nbudget = { share = 0.3, reserve = 0, window = \"60s\" }").unwrap());
    assert_eq!(left(), 2);
    let _ = live.apply(toml("[service.a]\nbudget = \"none\"").unwrap());
    assert!(pipeline.budget().is_none());
    let _ = live.apply(toml("[service.a]\nbudget = { share = 1.0, reserve = 0 }").unwrap());
    assert_eq!(left(), 9);
}

#[test]
fn a_call_ends_by_the_settings_it_began_with() {
    let clock = VirtualClock::new();
    let fixed = |retries: u32| {
        let retry =
            format!("{{ strategy = \"fixed\", wait = \"1s\", max_retries = {retries}, jitter = \"none\" }}");
        toml(&format!("[service.a]\nbudget = \"none\"\nbreaker = \"none\"\nretry = {retry}")).unwrap()
    };
    let live = Live::with_clock(fixed(3), &clock);
    let pipeline = live.pipeline("a");
    let error = pipeline.run_blocking(|attempt| {
        if attempt.number() == 1 {
            let _ = live.apply(fixed(0));
        }
        Err::<(), _>(busy())
    });
    assert_eq!(error.unwrap_err().story().unwrap().attempts(), 4);
    let error = pipeline.run_blocking(|_| Err::<(), _>(busy())).unwrap_err();
    assert_eq!(error.story().unwrap().attempts(), 1);
}

/// Two versions of a file: in each, all values that belong together say which version it is.
fn version(odd: bool) -> Policies {
    let (retries, timeout, ratio) = if odd { (1, "1s", 0.9) } else { (2, "2s", 0.8) };
    let window = if odd { "30s" } else { "60s" };
    toml(&format!(
        "[service.a]\nattempt_timeout = \"{timeout}\"\nserver_timeout = \"{timeout}\"\nbudget = \"none\"\n\
         retry = {{ max_retries = {retries} }}\n\
         breaker = {{ ratio = {ratio}, consecutive = \"none\", window = \"{window}\" }}"
    ))
    .unwrap()
}

#[test]
fn a_hundred_reloads_under_load_lose_no_call_and_mix_no_settings() {
    const THREADS: u64 = 8;
    let live = Live::with_clock(version(true), crate::clock::Clock::system());
    let (calls, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                let pipeline = live.pipeline("a");
                while !stop.load(Ordering::Relaxed) {
                    let seen = pipeline.run_blocking(|attempt| {
                        let (ours, theirs) =
                            (attempt.time_left().unwrap(), attempt.server_timeout().unwrap());
                        let calls = attempt.worst_case_calls();
                        Ok::<_, std::io::Error>((ours, theirs, calls))
                    });
                    let (ours, theirs, worst) = seen.expect("no call is lost");
                    assert_eq!(
                        (ours, u64::from(worst)),
                        (theirs, ours.as_secs() + 1),
                        "one version in one call"
                    );
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            });
        }
        for number in 0..100 {
            let before = calls.load(Ordering::Relaxed);
            let _ = live.apply(version(number % 2 == 1));
            while calls.load(Ordering::Relaxed) < before + 2 * THREADS {
                std::thread::yield_now();
            }
        }
        stop.store(true, Ordering::Relaxed);
    });
    let (made, report) = (calls.load(Ordering::Relaxed), live.pipeline("a").breaker().unwrap().report());
    assert_eq!((report.state, report.failures), (State::Closed, 0));
    // What is counted while a window is moved may fall between the two: a few of each reload, never all. A slice of the
    // window counts to some four million.
    assert!(report.calls * 10 >= made.min(4_000_000) * 9, "{} of {made} calls are counted", report.calls);
}

#[test]
fn what_was_seen_outlives_a_reload() {
    let live = Live::with_clock(toml("").unwrap(), VirtualClock::new());
    let pipeline = live.pipeline("a");
    let _ = pipeline.run_blocking(|_| Err::<(), _>(std::io::Error::other("shelf 7 is missing")));
    let _ = live.apply(toml("[service.a]\nattempt_timeout = \"5s\"").unwrap());
    assert_eq!(pipeline.unclassified().len(), 1);
}

#[test]
fn a_limit_keeps_the_calls_that_are_under_way() {
    let clock = VirtualClock::new();
    let live = Live::with_clock(toml("[service.a]\nlimit = { concurrent = 1 }").unwrap(), &clock);
    let pipeline = live.pipeline("a");
    let call = |pipeline: &Pipeline| pipeline.run_blocking(|_| Ok::<_, std::io::Error>(()));
    let refused_inside =
        || pipeline.run_blocking(|_| Ok::<_, std::io::Error>(call(&live.pipeline("a")).is_err()));
    assert!(refused_inside().unwrap(), "one place, and it is taken");
    let outer = pipeline.run_blocking(|_| {
        live.apply(toml("[service.a]\nlimit = { concurrent = 2 }").unwrap());
        assert_eq!(pipeline.limit().unwrap().in_flight(), 1, "the one that asks");
        Ok::<_, std::io::Error>(call(&pipeline).is_ok())
    });
    assert!(outer.unwrap(), "a second place since the reload");
    let limit = pipeline.limit().unwrap();
    live.apply(toml("[service.a]\n").unwrap());
    assert!(pipeline.limit().is_none());
    assert!((0..9).map(|_| limit.try_enter(clock.now())).all(|place| place.is_ok()), "lifted");
    live.apply(toml("[service.a]\nlimit = { concurrent = 1 }").unwrap());
    assert!(refused_inside().unwrap(), "the same limit again");
}
