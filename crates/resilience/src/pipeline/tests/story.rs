//! The error tells the whole story.

use std::error::Error as _;

use super::*;
use crate::Code;

#[test]
fn the_error_tells_attempts_time_waits_and_the_last_error_as_source() {
    let (clock, pipeline) = bench(|builder| builder.retry(Retry::schedule([s(3), s(7)]).no_jitter()));
    let error = pipeline
        .run_blocking(|attempt| {
            clock.advance(ms(500));
            Err::<(), _>(if attempt.number() == 0 {
                Fault(Verdict::transient(Kind::TIMEOUT))
            } else {
                Fault::BUSY
            })
        })
        .unwrap_err();
    let story = error.story().unwrap();
    assert_eq!(story.attempts(), 3);
    assert_eq!(story.elapsed(), ms(3 * 500 + 10_000));
    assert_eq!(story.waits().collect::<Vec<_>>(), [s(3), s(7)]);
    let tried = story.tried();
    assert_eq!(tried.iter().map(|tried| tried.number).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(tried.iter().map(|tried| tried.began).collect::<Vec<_>>(), [s(0), ms(3500), s(11)]);
    assert!(tried.iter().all(|tried| tried.took == ms(500)));
    assert_eq!(tried[0].failure.kind(), Kind::TIMEOUT);
    assert_eq!((tried[2].wait, story.last().unwrap().number), (None, 2));
    assert_eq!(error.source().unwrap().to_string(), "the service said overloaded");
    assert_eq!(
        error.to_string(),
        "a call to `payments` failed; all retries are used (3 attempts in 11.5s, waits 3.0s 7.0s; last: transient overloaded) [SF302]"
    );
    assert_eq!((error.code(), error.stop()), (Code::Failed, Stop::MaxRetries));
}

#[test]
fn a_first_failure_has_a_story_too() {
    let (_, pipeline) = bench(|builder| builder);
    let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::WRONG)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "a call to `payments` failed; the error is terminal (1 attempt in under 5ms; last: terminal bad-request) [SF302]"
    );
    let hinted = Fault(Verdict::throttled(Kind::THROTTLED).with_hint(s(90)));
    let error = pipeline.run_blocking(|_| Err::<(), _>(hinted.clone())).unwrap_err();
    assert_eq!((error.stop(), error.try_again_in()), (Stop::HintBeyondCap, Some(s(90))));
}

#[test]
fn each_end_has_its_code_and_its_words() {
    let (clock, pipeline) =
        bench(|builder| builder.no_retry().attempt_timeout(s(1)).breaker(Breaker::consecutive(1)));
    let timed_out =
        clock.block_on(pipeline.run(|_| std::future::pending::<Result<(), Fault>>())).unwrap_err();
    assert_eq!(timed_out.code(), Code::TimedOut);
    assert!(
        timed_out.to_string().starts_with("a call to `payments` took too long; it is not retried"),
        "{timed_out}"
    );
    assert!(timed_out.source().is_none() && timed_out.operation().is_none());
    let refused = pipeline.run_blocking(|_| Ok::<_, Fault>(())).unwrap_err();
    assert_eq!(refused.code(), Code::Refused);
    assert!(matches!(refused.cause(), crate::Cause::Refused(_)));
}

#[test]
fn a_story_of_thousands_of_attempts_stays_small() {
    let (_, pipeline) = bench(|builder| builder.retry(Retry::fixed(s(1)).no_jitter().max_retries(5000)));
    let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    let story = error.story().unwrap();
    assert_eq!((story.attempts(), story.tried().len()), (5001, 64));
    let numbers: Vec<_> = story.tried().iter().map(|tried| tried.number).collect();
    assert_eq!(numbers[..16], (0..16).collect::<Vec<_>>());
    assert_eq!(numbers[16..], (5001 - 48..5001).collect::<Vec<_>>());
}

#[test]
fn a_breaker_alone_passes_the_operations_errors_through() {
    let clock = VirtualClock::new();
    clock.advance(s(1));
    let breaker = Breaker::consecutive(2).timeout(s(3)).clock(&clock).build("alone").unwrap();
    assert_eq!(clock.block_on(breaker.run(|| async { Ok::<_, Fault>(7) })).unwrap(), 7);
    let error = clock.block_on(breaker.run(|| async { Err::<(), _>(Fault::BUSY) })).unwrap_err();
    assert_eq!(error.into_operation(), Some(Fault::BUSY));
    let timed_out = clock.block_on(breaker.run(std::future::pending::<Result<(), Fault>>)).unwrap_err();
    assert!(timed_out.is_timed_out());
    assert_eq!(clock.now(), Moment::ZERO + s(4), "a timeout of the breaker's own");
    let refused = clock.block_on(breaker.run(|| async { Ok::<_, Fault>(()) })).unwrap_err();
    assert!(refused.is_refused());
    assert_eq!(breaker.last_trip().unwrap().message.as_deref(), Some("no answer within 3s"));
}

#[test]
fn a_breaker_alone_times_its_calls_for_the_slow_rule() {
    let clock = VirtualClock::new();
    clock.advance(s(1));
    let breaker = Breaker::ratio(0.9).slow(s(2), 0.5).min_calls(2).clock(&clock).build("alone").unwrap();
    for _ in 0..2 {
        let timer = clock.clone();
        clock
            .block_on(breaker.run(async || {
                timer.timer(s(3)).await;
                Ok::<_, Fault>(())
            }))
            .unwrap();
    }
    assert_eq!(breaker.last_trip().unwrap().reason, crate::breaker::Reason::Slow { slow: 2, calls: 2 });
}

#[test]
fn the_trip_remembers_the_error_in_words() {
    let (_, pipeline) = bench(|builder| builder.no_retry().breaker(Breaker::consecutive(1)));
    let _ = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY));
    let refused = pipeline.run_blocking(|_| Ok::<_, Fault>(())).unwrap_err();
    assert!(refused.to_string().contains("the service said overloaded"), "{refused}");
}

#[test]
fn the_error_names_pipeline_and_operation() {
    let (clock, pipeline) = bench(|builder| builder.no_retry().breaker(Breaker::consecutive(1)));
    let failed = pipeline.call().named("charge").run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!((&*failed.name(), failed.operation_name()), ("payments", Some("charge")));
    assert!(failed.to_string().starts_with("a call to `payments` (charge) failed; "), "{failed}");
    let refused = pipeline.run_blocking(|_| Ok::<_, Fault>(())).unwrap_err();
    assert_eq!((&*refused.name(), refused.operation_name()), ("payments", None));
    let breaker = Breaker::standard().clock(&clock).build("printer").unwrap();
    let alone = breaker.run_blocking(|| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!(alone.to_string(), "a call to `printer` failed; it is not retried [SF302]");
}

#[test]
fn a_class_and_a_kind_of_one_name_are_told_once() {
    assert_eq!(Verdict::unclassified().to_string(), "unclassified");
    assert_eq!(Verdict::throttled(Kind::THROTTLED).to_string(), "throttled");
    assert_eq!(Verdict::transient(Kind::TIMEOUT).to_string(), "transient timeout");
}

#[test]
fn a_retry_that_the_breaker_ends_tells_when_the_next_probe_is() {
    let trips = Breaker::consecutive(2).open_for(s(8));
    let (clock, pipeline) = bench(|builder| builder.breaker(trips));
    let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!(error.stop(), Stop::BreakerOpen);
    let next = error.try_again_in().unwrap();
    assert!((s(8)..s(9)).contains(&next), "{next:?}");
    clock.advance(next);
    assert!(pipeline.run_blocking(|_| Ok::<_, Fault>(())).is_ok(), "that was the truth");
}

#[test]
fn a_deadline_that_cuts_the_attempt_reads_like_one() {
    let (clock, pipeline) = bench(|builder| builder);
    let call = pipeline.call().complete_within(s(2));
    let error = clock.block_on(call.run(|_| std::future::pending::<Result<(), Fault>>())).unwrap_err();
    assert!(
        error.to_string().contains("took too long; the deadline leaves no room for another try"),
        "{error}"
    );
}
