//! T1, T2: what each retry and each end of a call tells, field by field, and the spans around them.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

mod caught;

use std::time::Duration;

use caught::{Caught, Line, caught};
use steadfast_resilience::clock::VirtualClock;
use steadfast_resilience::retry::Stop;
use steadfast_resilience::{
    Breaker, Cancel, Classify, IdempotencyKey, Kind, Pipeline, Retry, Verdict, pipeline,
};
use tracing::Level;

const CALL: &str = "steadfast_resilience::call";
const ID: &str = "00000000000000000000000000000007";

#[derive(Debug)]
struct Fault(Verdict);

impl Classify for Fault {
    fn classify(&self) -> Verdict {
        self.0
    }

    fn message(&self) -> Option<String> {
        Some(format!("words of {}", self.0.kind()))
    }
}

fn lost() -> Fault {
    Fault(Verdict::transient(Kind::CONNECTION_LOST))
}

fn busy() -> Fault {
    Fault(Verdict::throttled(Kind::THROTTLED))
}

fn declined() -> Fault {
    Fault(Verdict::terminal(Kind::new("declined")))
}

/// Waits of 3 s and 7 s, on a clock that begins at 5 s.
fn pipeline(clock: &VirtualClock) -> pipeline::Builder {
    clock.advance(Duration::from_secs(5));
    let retry = Retry::schedule([3, 7].map(Duration::from_secs)).no_jitter().named("patient");
    Pipeline::builder("payments").retry(retry).no_breaker().clock(clock)
}

/// One call that fails with these in turn, each after 20 ms, then succeeds.
fn scripted(
    most: Level,
    settings: impl FnOnce(pipeline::Builder) -> pipeline::Builder,
    faults: Vec<Fault>,
) -> Caught {
    let clock = VirtualClock::new();
    caught(most, || {
        let payments = settings(pipeline(&clock)).build().unwrap();
        let mut faults = faults.into_iter();
        let call = payments.call().named("charge").key(IdempotencyKey::from_u128(7));
        let _ = call.run_blocking(|_| {
            clock.advance(Duration::from_millis(20));
            faults.next().map_or(Ok(()), Err)
        });
    })
}

fn check(line: &Line, expected: &[(&str, &str)]) {
    for (field, value) in expected {
        assert_eq!(line.get(field), *value, "{field} in {line:?}");
    }
}

fn levels(caught: &Caught) -> Vec<Level> {
    caught.lines.iter().map(|line| line.level).collect()
}

const COMMON: [(&str, &str); 6] = [
    ("pipeline", "payments"),
    ("operation", "charge"),
    ("operation_id", ID),
    ("started_unix_ms", "5000"),
    ("strategy", "schedule"),
    ("policy", "patient"),
];

// T1
#[test]
fn every_retry_is_an_event_with_all_of_its_fields() {
    let caught = scripted(Level::WARN, |settings| settings, vec![lost(), busy()]);
    assert_eq!(levels(&caught), [Level::WARN, Level::WARN]);
    for line in &caught.lines {
        assert_eq!(line.target, CALL);
        check(line, &COMMON);
        check(line, &[("message", "attempt failed, will be tried again")]);
    }
    check(
        &caught.lines[0],
        &[
            ("attempt", "0"),
            ("began_ms", "0"),
            ("ended_ms", "20"),
            ("wait_ms", "3000"),
            ("kind", "connection-lost"),
            ("class", "transient"),
            ("throttled", "false"),
            ("error", "words of connection-lost"),
        ],
    );
    check(
        &caught.lines[1],
        &[
            ("attempt", "1"),
            ("began_ms", "3020"),
            ("ended_ms", "3040"),
            ("wait_ms", "7000"),
            ("kind", "throttled"),
            ("class", "throttled"),
            ("throttled", "true"),
        ],
    );
}

// T1
#[test]
fn success_after_retries_closes_with_time_and_number_of_retries() {
    let caught = scripted(Level::INFO, |settings| settings, vec![lost()]);
    assert_eq!(levels(&caught), [Level::WARN, Level::INFO]);
    check(&caught.lines[1], &COMMON);
    check(
        &caught.lines[1],
        &[("message", "call succeeded"), ("retries", "1"), ("attempt", "1"), ("elapsed_ms", "3040")],
    );
}

// T1
#[test]
fn success_at_once_closes_too_for_those_who_want_details_or_ask() {
    assert!(scripted(Level::INFO, |settings| settings, vec![]).lines.is_empty());
    for (most, ask, level) in [(Level::DEBUG, false, Level::DEBUG), (Level::INFO, true, Level::INFO)] {
        let settings = |settings: pipeline::Builder| if ask { settings.log_successes() } else { settings };
        let caught = scripted(most, settings, vec![]);
        assert_eq!(levels(&caught), [level]);
        check(&caught.lines[0], &COMMON);
        check(&caught.lines[0], &[("message", "call succeeded"), ("retries", "0"), ("elapsed_ms", "20")]);
    }
}

// T2
#[test]
fn the_final_failure_is_the_only_error_and_closes_the_call() {
    let caught = scripted(Level::TRACE, |settings| settings, vec![lost(), busy(), lost()]);
    assert_eq!(levels(&caught), [Level::WARN, Level::WARN, Level::ERROR]);
    check(&caught.lines[2], &COMMON);
    check(
        &caught.lines[2],
        &[
            ("message", "call failed: all retries are used"),
            ("attempt", "2"),
            ("began_ms", "10040"),
            ("ended_ms", "10060"),
            ("elapsed_ms", "10060"),
            ("retries", "2"),
            ("kind", "connection-lost"),
            ("error", "words of connection-lost"),
        ],
    );
    assert!(!caught.lines[2].fields.contains_key("wait_ms"), "no wait follows");
}

// T2
#[test]
fn a_call_that_the_breaker_ends_between_attempts_closes_with_the_one_error() {
    let clock = VirtualClock::new();
    let caught = caught(Level::TRACE, || {
        let payments = pipeline(&clock).breaker(Breaker::standard()).build().unwrap();
        let mut waiting = Box::pin(payments.run(|_| async { Err::<(), _>(lost()) }));
        let waker = std::task::Waker::noop();
        assert!(waiting.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        payments.breaker().unwrap().force_open(None, "test", "while the call waits");
        assert_eq!(clock.block_on(waiting).unwrap_err().stop(), Stop::BreakerOpen);
    });
    let calls: Vec<_> = caught.lines.iter().filter(|line| line.target == CALL).collect();
    let last = calls.last().unwrap();
    assert_eq!(last.level, Level::ERROR, "{calls:?}");
    check(last, &[("retries", "0"), ("elapsed_ms", "3000"), ("kind", "connection-lost")]);
    let errors = calls.iter().filter(|line| line.level == Level::ERROR).count();
    assert_eq!((calls.len(), errors), (2, 1), "{calls:?}");
}

#[test]
fn refused_and_cancelled_calls_close_without_noise() {
    let clock = VirtualClock::new();
    let caught = caught(Level::DEBUG, || {
        let payments = pipeline(&clock).breaker(Breaker::standard()).build().unwrap();
        let cancel = Cancel::new();
        cancel.cancel();
        let _ = payments.call().cancel(&cancel).run_blocking(|_| Ok::<_, Fault>(()));
        let mut dropped = Box::pin(payments.run(|_| std::future::pending::<Result<(), Fault>>()));
        let waker = std::task::Waker::noop();
        assert!(dropped.as_mut().poll(&mut std::task::Context::from_waker(waker)).is_pending());
        drop(dropped);
        payments.breaker().unwrap().force_open(None, "test", "to refuse");
        let _ = payments.run_blocking(|_| Ok::<_, Fault>(()));
    });
    let words: Vec<_> = caught.lines.iter().filter(|line| line.target == CALL).collect();
    assert!(words.iter().all(|line| line.level == Level::DEBUG), "{words:?}");
    let words: Vec<_> = words.iter().map(|line| line.get("message")).collect();
    assert_eq!(words, ["call cancelled", "call cancelled", "call refused: the circuit is open"]);
    assert!(caught.spans.iter().all(|span| span.closed), "{:?}", caught.spans);
}

#[test]
fn without_a_name_the_policy_is_the_pipelines_and_none_is_told_as_such() {
    let caught = caught(Level::ERROR, || {
        let clock = VirtualClock::new();
        let plain = Pipeline::builder("plain").no_retry().clock(&clock).build().unwrap();
        let _ = plain.run_blocking(|_| Err::<(), _>(lost()));
        let growing = Pipeline::builder("growing").retry(Retry::exponential()).no_budget().clock(&clock);
        let _ = growing.build().unwrap().run_blocking(|_| Err::<(), _>(lost()));
    });
    check(&caught.lines[0], &[("strategy", "none"), ("policy", "plain"), ("retries", "0")]);
    check(&caught.lines[1], &[("strategy", "exponential"), ("policy", "growing"), ("retries", "3")]);
    assert_ne!(caught.lines[0].get("operation_id"), caught.lines[1].get("operation_id"));
}

#[test]
fn a_span_for_the_call_and_one_for_each_attempt_carry_what_the_operation_logs() {
    let clock = VirtualClock::new();
    let caught = caught(Level::DEBUG, || {
        let payments = pipeline(&clock).build().unwrap();
        let call = payments.call().named("charge").key(IdempotencyKey::from_u128(7));
        let run = call.run(|attempt| {
            let clock = clock.clone();
            async move {
                clock.timer(Duration::from_millis(5)).await;
                tracing::info!(own = attempt.number(), "from inside");
                if attempt.number() == 0 { Err(lost()) } else { Ok(()) }
            }
        });
        clock.block_on(run).unwrap();
    });
    let names: Vec<_> = caught.spans.iter().map(|span| (span.name.as_str(), span.parent)).collect();
    assert_eq!(names, [("call", None), ("attempt", Some(1)), ("attempt", Some(1))]);
    assert!(caught.spans.iter().all(|span| span.closed && span.level == Level::DEBUG));
    let of = |span: usize, field: &str| caught.spans[span].fields[field].clone();
    assert_eq!((of(0, "operation_id"), of(0, "otel.name")), (ID.to_owned(), "payments charge".to_owned()));
    assert_eq!((of(0, "outcome"), of(0, "retries")), ("succeeded".to_owned(), "1".to_owned()));
    assert_eq!((of(1, "attempt"), of(1, "kind")), ("0".to_owned(), "connection-lost".to_owned()));
    assert_eq!((of(1, "otel.status_code"), of(2, "outcome")), ("ERROR".to_owned(), "succeeded".to_owned()));
    let places: Vec<_> = caught.lines.iter().map(|line| (line.get("message"), line.span)).collect();
    let expected = [
        ("from inside", Some(2)),
        ("attempt failed, will be tried again", Some(1)),
        ("from inside", Some(3)),
        ("call succeeded", Some(1)),
    ];
    assert_eq!(places, expected);
}

#[test]
fn above_debug_there_are_no_spans() {
    let caught = scripted(Level::INFO, |settings| settings, vec![lost()]);
    assert!(caught.spans.is_empty(), "{:?}", caught.spans);
}

#[test]
fn a_terminal_answer_is_no_error_and_closes_too() {
    let caught = scripted(Level::DEBUG, |settings| settings, vec![lost(), declined()]);
    assert_eq!(levels(&caught), [Level::WARN, Level::INFO]);
    check(&caught.lines[1], &[("retries", "1"), ("kind", "declined"), ("class", "terminal")]);
    assert_eq!(caught.spans[0].fields["outcome"], "terminal");
    assert!(!caught.spans[0].fields.contains_key("otel.status_code"));
}
