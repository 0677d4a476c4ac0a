//! What is logged, as a subscriber sees it that wants no details. Fields, closing events and spans: `tests/tracing.rs`.

#![expect(clippy::unwrap_used, reason = "a test's own helpers")]

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use steadfast_resilience::clock::VirtualClock;
use steadfast_resilience::{Breaker, Classify, Kind, Pipeline, Retry, Verdict};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

#[derive(Debug)]
struct Busy;

impl Classify for Busy {
    fn classify(&self) -> Verdict {
        Verdict::throttled(Kind::THROTTLED)
    }

    fn message(&self) -> Option<String> {
        Some("come back later".to_owned())
    }
}

#[derive(Debug)]
struct Declined;

impl Classify for Declined {
    fn classify(&self) -> Verdict {
        Verdict::terminal(Kind::new("declined"))
    }
}

/// Keeps each event as its level and one line of its fields.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<(Level, String)>>>);

struct Line(String);

impl Visit for Line {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        let _ = write!(self.0, "{}={value:?} ", field.name());
    }
}

impl Subscriber for Log {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut line = Line(String::new());
        event.record(&mut line);
        let target = event.metadata().target();
        let about_circuits = line.0.contains("circuit `") || line.0.contains("registry=");
        let about_policies =
            ["rule=", "service=", "policies changed"].iter().any(|text| line.0.contains(text));
        let expected = match () {
            () if about_policies => "steadfast_resilience::policy",
            () if about_circuits => "steadfast_resilience::circuit",
            () => "steadfast_resilience::call",
        };
        assert_eq!(target, expected, "documented: {}", line.0);
        self.0.lock().unwrap().push((*event.metadata().level(), line.0));
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn logged(work: impl FnOnce()) -> Vec<(Level, String)> {
    let log = Log::default();
    tracing::subscriber::with_default(log.clone(), work);
    std::mem::take(&mut log.0.lock().unwrap())
}

fn pipeline() -> steadfast_resilience::pipeline::Builder {
    let retry = Retry::fixed(Duration::from_secs(1)).max_retries(1);
    Pipeline::builder("payments").retry(retry).no_breaker().clock(VirtualClock::new())
}

#[test]
fn failed_attempts_are_warnings_and_the_last_one_is_the_error() {
    let lines = logged(|| {
        let pipeline = pipeline().build().unwrap();
        let _ = pipeline.call().named("charge").run_blocking(|_| Err::<(), _>(Busy));
        pipeline.run_blocking(|_| Ok::<_, Busy>(())).unwrap();
    });
    let levels: Vec<_> = lines.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::WARN, Level::ERROR], "successes are not logged unless asked: {lines:?}");
    for part in [
        "pipeline=\"payments\"",
        "operation=\"charge\"",
        "attempt=0",
        "kind=\"throttled\"",
        "throttled=true",
        "error=\"come back later\"",
        "wait_ms=",
    ] {
        assert!(lines[0].1.contains(part), "{part} in {}", lines[0].1);
    }
    assert!(
        lines[1].1.contains("attempt=1") && lines[1].1.contains("all retries are used"),
        "{}",
        lines[1].1
    );
}

#[test]
fn successes_are_logged_if_asked() {
    let lines =
        logged(|| pipeline().log_successes().build().unwrap().run_blocking(|_| Ok::<_, Busy>(())).unwrap());
    assert_eq!((lines.len(), lines[0].0), (1, Level::INFO));
}

#[test]
fn refusals_are_not_logged_one_by_one_but_the_state_change_is() {
    let lines = logged(|| {
        let pipeline = pipeline().no_retry().breaker(Breaker::consecutive(1)).build().unwrap();
        for _ in 0..100 {
            let _ = pipeline.run_blocking(|_| Err::<(), _>(Busy));
        }
    });
    let trips: Vec<_> = lines
        .iter()
        .filter(|(level, line)| *level == Level::WARN && line.contains("closed -> open"))
        .collect();
    assert_eq!((lines.len(), trips.len()), (2, 1), "one failed call and one trip: {lines:?}");
}

#[test]
fn a_breaker_alone_logs_failed_calls_and_successful_ones_if_asked() {
    let clock = VirtualClock::new();
    let lines = logged(|| {
        let quiet = Breaker::standard().clock(&clock).build("quiet").unwrap();
        let _ = clock.block_on(quiet.run(|| async { Ok::<_, Busy>(()) }));
        let _ = clock.block_on(quiet.run(|| async { Err::<(), _>(Busy) }));
        let chatty = Breaker::standard().log_successes().clock(&clock).build("chatty").unwrap();
        let _ = clock.block_on(chatty.run(|| async { Ok::<_, Busy>(()) }));
    });
    let levels: Vec<_> = lines.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::ERROR, Level::INFO]);
    assert!(
        lines[0].1.contains("breaker=\"quiet\"") && lines[1].1.contains("breaker=\"chatty\""),
        "{lines:?}"
    );
}

#[test]
fn nested_retries_are_warned_of_once() {
    let lines = logged(|| {
        let (outer, inner) = (pipeline().build().unwrap(), pipeline().build().unwrap());
        for _ in 0..3 {
            outer.run_blocking(|_| inner.run_blocking(|_| Ok::<_, Busy>(())).map_err(|_| Busy)).unwrap();
        }
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].0 == Level::WARN && lines[0].1.contains("4 calls"));
}

#[test]
fn an_answer_and_what_a_fallback_saves_are_no_errors() {
    let lines = logged(|| {
        let pipeline = pipeline().no_retry().build().unwrap();
        let _ = pipeline.run_blocking(|_| Err::<(), _>(Declined));
        let _ = pipeline.call().fallback(|_| Ok(7)).run_blocking(|_| Err::<_, Busy>(Busy));
        let _ = pipeline.call().fallback(Err).run_blocking(|_| Err::<(), _>(Declined));
        let _ = pipeline.run_blocking(|_| Err::<(), _>(Busy));
        let breaker = Breaker::standard().build("alone").unwrap();
        let _ = breaker.run_blocking(|| Err::<(), _>(Declined));
    });
    let levels: Vec<_> = lines.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::INFO, Level::WARN, Level::INFO, Level::ERROR, Level::INFO], "{lines:?}");
    assert!(lines[1].1.contains("its fallback is asked"), "{lines:?}");
    assert!(!lines[2].1.contains("fallback"), "it may not stand in for an answer: {lines:?}");
    assert!(lines.iter().all(|(_, line)| !line.contains("operation=")), "not named: {lines:?}");
}

#[test]
fn a_fallback_that_cannot_help_is_an_error_after_all() {
    let lines = logged(|| {
        let pipeline = pipeline().no_retry().build().unwrap();
        let call = pipeline.call().named("charge").fallback(Err);
        let _ = call.run_blocking(|_| Err::<(), _>(Busy));
    });
    let levels: Vec<_> = lines.iter().map(|(level, _)| *level).collect();
    assert_eq!(levels, [Level::WARN, Level::ERROR], "{lines:?}");
    assert!(
        lines[1].1.contains("so did its fallback") && lines[1].1.contains("operation=\"charge\""),
        "{lines:?}"
    );
}

#[test]
fn a_breaker_that_a_call_brings_along_is_named() {
    let lines = logged(|| {
        let pipeline = pipeline().no_retry().build().unwrap();
        let host = Breaker::standard().build("payments/host-a").unwrap();
        let _ = pipeline.call().breaker(&host).run_blocking(|_| Err::<(), _>(Busy));
    });
    assert!(lines[0].1.contains("breaker=\"payments/host-a\""), "{lines:?}");
}

#[test]
fn a_timeout_says_which_limit_ended_it_and_after_how_long() {
    let lines = logged(|| {
        let clock = VirtualClock::new();
        let slow = Pipeline::builder("slow").no_retry().attempt_timeout(Duration::from_secs(2)).clock(&clock);
        let slow = slow.build().unwrap();
        let forever = || std::future::pending::<Result<(), Busy>>();
        let _ = clock.block_on(slow.run(|_| forever()));
        let _ = clock.block_on(slow.call().complete_within(Duration::from_secs(1)).run(|_| forever()));
    });
    assert!(lines[0].1.contains("no answer within 2s (attempt_timeout)"), "{lines:?}");
    assert!(lines[1].1.contains("no answer within 1s (deadline)"), "{lines:?}");
}

#[test]
fn a_full_registry_says_so_once() {
    let lines = logged(|| {
        let hosts = steadfast_resilience::breaker::Registry::builder(Breaker::standard()).max_keys(1);
        let hosts = hosts.build("hosts").unwrap();
        for key in ["a", "b", "c"] {
            drop(hosts.get(key));
        }
    });
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert!(lines[0].1.contains("raise max_keys"), "{lines:?}");
}

#[cfg(feature = "policy")]
mod policies {
    use super::*;
    use steadfast_resilience::policy::{Format, Live, Policies};

    const HURTS: &str = "[service.payments]\nretry = { jitter = \"none\" }\n";

    fn policies(text: &str) -> Policies {
        Policies::parse(text, Format::Toml, "policies.toml").unwrap()
    }

    #[test]
    fn what_hurts_in_a_file_is_told_when_it_is_taken_over_and_once() {
        let mut live = None;
        let opened = logged(|| live = Some(Live::with_clock(policies(HURTS), VirtualClock::new())));
        assert_eq!(opened.len(), 1, "{opened:?}");
        assert_eq!(opened[0].0, Level::WARN);
        assert!(opened[0].1.contains("service.payments: the waits have no jitter [no-jitter]"), "{opened:?}");
        let live = live.unwrap();
        let again = logged(|| drop(live.apply(policies(HURTS))));
        assert_eq!(again, [], "told before");
        let more = logged(|| drop(live.apply(policies(&format!("{HURTS}budget = \"none\"\n")))));
        let warnings: Vec<_> = more.iter().filter(|(level, _)| *level == Level::WARN).collect();
        assert_eq!(warnings.len(), 1, "{more:?}");
        assert!(warnings[0].1.contains("no-budget"), "{more:?}");
    }

    #[test]
    fn a_service_that_is_nearly_one_of_the_file_is_told_once() {
        let live = Live::with_clock(policies("[service.payments]\n"), VirtualClock::new());
        let told =
            logged(|| drop((live.pipeline("paymnets"), live.pipeline("paymnets"), live.pipeline("stock"))));
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].1.contains("no service `paymnets`") && told[0].1.contains("`payments`"), "{told:?}");
    }
}
