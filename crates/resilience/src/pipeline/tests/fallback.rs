//! Fallbacks: when they stand in, and when not.

use super::*;
use crate::LastGood;

#[test]
fn a_fallback_stands_in_for_refusals_timeouts_and_ended_retries() {
    let (clock, pipeline) = bench(|builder| builder.attempt_timeout(s(1)).breaker(Breaker::consecutive(100)));
    let with = || pipeline.call().fallback(async |error: Error<Fault>| Ok(error.stop()));
    let ended = clock.block_on(with().run(|_| async { Err(Fault::BUSY) })).unwrap();
    assert_eq!(ended, Stop::MaxRetries);
    let timed_out = clock.block_on(with().run(|_| std::future::pending::<Result<Stop, Fault>>())).unwrap();
    assert_eq!(timed_out, Stop::MaxRetries);
    pipeline.breaker().unwrap().force_open(None, "test", "down");
    let refused = clock.block_on(with().run(|_| async { Err(Fault::BUSY) })).unwrap();
    assert_eq!(refused, Stop::BreakerOpen);
    let blocking =
        pipeline.call().fallback(|error: Error<Fault>| Ok(error.stop())).run_blocking(|_| Err(Fault::BUSY));
    assert_eq!(blocking.unwrap(), Stop::BreakerOpen);
}

#[test]
fn a_terminal_error_is_an_answer_and_no_fallback_hides_it() {
    let (clock, pipeline) = bench(|builder| builder);
    let call = pipeline.call().fallback(async |_| panic!("asked") as Result<(), Error<Fault>>);
    let error = clock.block_on(call.run(|_| async { Err::<(), _>(Fault::WRONG) })).unwrap_err();
    assert_eq!(error.into_operation(), Some(Fault::WRONG));
    let call = pipeline.call().fallback(|_| panic!("asked") as Result<(), Error<Fault>>);
    assert!(call.run_blocking(|_| Err::<(), _>(Fault::WRONG)).is_err());
}

#[test]
fn a_success_needs_no_fallback() {
    let (clock, pipeline) = bench(|builder| builder);
    let call = pipeline.call().fallback(async |_| panic!("asked") as Result<u32, Error<Fault>>);
    assert_eq!(clock.block_on(call.run(|attempt| succeed_at(attempt, 1))).unwrap(), 1);
}

#[test]
fn the_last_good_value_another_pipeline_or_the_error_again() {
    let (clock, pipeline) = bench(Builder::no_retry);
    let (_, mirror) = bench(|builder| builder);
    let last = LastGood::new();
    let ask = |fault: Option<Fault>| {
        let (last, pipeline) = (&last, &pipeline);
        async move {
            let call = pipeline.call().fallback(async |error| last.get().map(|value| *value).ok_or(error));
            let got = call.run(|_| async { fault.clone().map_or(Ok(42), Err) }).await;
            if let Ok(value) = &got {
                last.set(*value);
            }
            got
        }
    };
    assert!(clock.block_on(ask(Some(Fault::BUSY))).is_err(), "nothing to give yet: the error again");
    assert_eq!(clock.block_on(ask(None)).unwrap(), 42);
    assert_eq!(clock.block_on(ask(Some(Fault::BUSY))).unwrap(), 42);
    let other = pipeline.call().fallback(async |_| mirror.run(|attempt| succeed_at(attempt, 0)).await);
    assert_eq!(clock.block_on(other.run(|_| async { Err(Fault::BUSY) })).unwrap(), 0);
    assert!(LastGood::<u32>::default().get().is_none());
}

#[test]
fn a_terminal_error_is_an_answer_also_where_nothing_is_retried() {
    let (_, pipeline) = bench(Builder::no_retry);
    let stand_in =
        |fault: Fault| pipeline.call().fallback(|_| Ok(7)).run_blocking(|_| Err::<u32, _>(fault.clone()));
    assert_eq!(stand_in(Fault::WRONG).unwrap_err().into_operation(), Some(Fault::WRONG));
    assert_eq!(stand_in(Fault::BUSY).unwrap(), 7);
    assert_eq!(stand_in(Fault(Verdict::neutral(Kind::REFUSED))).unwrap(), 7, "a pipeline inside was refused");
    assert!(stand_in(Fault(Verdict::neutral(Kind::CANCELLED))).is_err());
}

#[test]
fn an_error_of_a_breaker_alone_says_whether_a_fallback_may_stand_in() {
    let breaker = Breaker::standard().build("printer").unwrap();
    let hinted = Fault(Verdict::throttled(Kind::THROTTLED).with_hint(s(3)));
    let error = breaker.run_blocking(|| Err::<(), _>(hinted.clone())).unwrap_err();
    assert!(error.allows_fallback());
    assert_eq!((error.failure(), error.try_again_in()), (Some(&hinted.0), Some(s(3))));
    assert!(!breaker.run_blocking(|| Err::<(), _>(Fault::WRONG)).unwrap_err().allows_fallback());
}
