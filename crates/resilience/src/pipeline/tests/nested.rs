//! Retries inside of retries.

use super::*;
use crate::retry::Nested;

fn inner_calls(nested: Nested) -> (u32, Pipeline, Error<Fault>) {
    let (clock, outer) = bench(|builder| builder);
    let retry = Retry::fixed(s(1)).no_jitter().max_retries(3).when_nested(nested);
    let inner =
        Pipeline::builder("inner").retry(retry).no_budget().no_breaker().clock(&clock).build().unwrap();
    let mut calls = 0;
    let error = clock.block_on(outer.run_mut(async |_| {
        let got = inner.run_mut(async |_| {
            calls += 1;
            Err::<(), _>(Fault::BUSY)
        });
        got.await.map_err(|error| error.into_operation().unwrap())
    }));
    (calls, inner, error.unwrap_err())
}

#[test]
fn three_retries_under_three_retries_are_sixteen_calls_and_are_reported() {
    let (calls, inner, _) = inner_calls(Nested::Report);
    assert_eq!(calls, 16);
    assert_eq!(inner.nested_calls(), Some(16));
}

#[test]
fn an_inner_retry_can_leave_retrying_to_the_outer_one() {
    let (calls, inner, error) = inner_calls(Nested::FailFast);
    assert_eq!(calls, 4);
    assert_eq!(inner.nested_calls(), None);
    assert_eq!(error.story().unwrap().attempts(), 4);
}

#[test]
fn fail_fast_retries_when_nothing_is_around_it() {
    let (_, pipeline) =
        bench(|builder| builder.retry(Retry::fixed(s(1)).max_retries(2).when_nested(Nested::FailFast)));
    let error = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!(error.story().unwrap().attempts(), 3);
}

#[test]
fn nesting_is_seen_through_blocking_and_async_doors_alike() {
    let (clock, outer) = bench(|builder| builder);
    let (_, inner) = bench(|builder| builder);
    let worst =
        |pipeline: &Pipeline| pipeline.run_blocking(|attempt| Ok::<_, Fault>(attempt.worst_case_calls()));
    assert_eq!(outer.run_blocking(|_| worst(&inner)).map_err(|_| ()).unwrap(), 16);
    assert_eq!(clock.block_on(outer.run(|_| async { worst(&inner) })).map_err(|_| ()).unwrap(), 16);
    assert_eq!(worst(&inner).unwrap(), 4, "and it is over when the outer call is");
}

#[test]
fn a_pipelines_error_means_to_the_one_around_it_what_it_meant() {
    let (_, outer) = bench(|builder| builder.breaker(Breaker::consecutive(100)));
    let (_, inner) = bench(|builder| builder.no_retry().breaker(Breaker::consecutive(1).open_for(s(500))));
    let mut calls = 0;
    let error = outer.run_blocking(|_| {
        calls += 1;
        inner.run_blocking(|_| Err::<(), _>(Fault::BUSY))
    });
    let error = error.unwrap_err();
    assert_eq!(calls, 2, "a transient error is tried again; a refusal is not");
    assert_eq!((error.stop(), error.operation().unwrap().is_refused()), (Stop::Neutral, true));
    assert_eq!(outer.breaker().unwrap().report().failures, 1, "and says nothing about the service around it");
    assert!(error.allows_fallback() && error.try_again_in().unwrap() > s(400));
    let (_, once) = bench(Builder::not_idempotent);
    let mut calls = 0;
    let _ = outer.run_blocking(|_| {
        once.run_blocking(|_| {
            calls += 1;
            Err::<(), _>(Fault::BUSY)
        })
    });
    assert_eq!(calls, 1, "what must not be repeated in there is not repeated out here");
    let wrong = outer.run_blocking(|_| outer.run_blocking(|_| Err::<(), _>(Fault::WRONG))).unwrap_err();
    assert_eq!((wrong.stop(), wrong.allows_fallback()), (Stop::Terminal, false));
}

#[test]
fn run_mut_sees_what_its_closure_calls_before_it_awaits() {
    let (clock, outer) = bench(|builder| builder);
    let (_, inner) = bench(|builder| builder);
    let worst = clock.block_on(outer.run_mut(|_: Attempt| {
        let seen = inner.run_blocking(|attempt| Ok::<_, Fault>(attempt.worst_case_calls()));
        std::future::ready(seen)
    }));
    assert_eq!(worst.unwrap(), 16);
}

#[test]
fn calls_in_turn_on_one_thread_do_not_see_each_other() {
    let (clock, one) = bench(|builder| builder);
    let (_, two) = bench(|builder| builder);
    let (timer, other) = (clock.clone(), clock.clone());
    let call = |pipeline: &Pipeline, timer: VirtualClock| {
        let pipeline = pipeline.clone();
        async move {
            pipeline
                .run(|attempt| {
                    let timer = timer.timer(s(1));
                    async move {
                        timer.await;
                        Ok::<_, Fault>(attempt.worst_case_calls())
                    }
                })
                .await
                .unwrap()
        }
    };
    let both = clock.block_on(async { tokio::join!(call(&one, timer), call(&two, other)) });
    assert_eq!(both, (4, 4));
}

#[test]
fn a_spawned_inner_call_can_be_told_what_surrounds_it() {
    let (_, outer) = bench(|builder| builder);
    let (_, inner) = bench(|builder| builder);
    let calls = outer.run_blocking(|attempt| {
        let inner = inner.clone();
        let spawned = std::thread::spawn(move || {
            let unseen = inner.run_blocking(|attempt| Ok::<_, Fault>(attempt.worst_case_calls())).unwrap();
            let told = inner.call().under(&attempt);
            (unseen, told.run_blocking(|attempt| Ok::<_, Fault>(attempt.worst_case_calls())).unwrap())
        });
        Ok::<_, Fault>(spawned.join().unwrap())
    });
    assert_eq!(calls.unwrap(), (4, 16));
}

#[test]
fn an_sdk_that_retries_turns_ours_off_unless_asked_for() {
    let (_, off) = bench(|builder| builder.sdk_retries(2));
    let error = off.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::NoRetry, 1));
    assert_eq!(error.story().unwrap().worst_case_calls(), 3, "the SDK's own");
    assert_eq!(off.warnings()[0].setting, "pipeline.retry", "it was asked for, and has no effect");
    let quiet = Pipeline::builder("payments").sdk_retries(2).build().unwrap();
    assert!(quiet.warnings().is_empty(), "nobody asked for the default");
    let (_, on) = bench(|builder| builder.sdk_retries(2).retry_despite_sdk());
    let error = on.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!(error.story().unwrap().attempts(), 4);
    assert_eq!(error.story().unwrap().worst_case_calls(), 12);
    assert_eq!(on.warnings()[0].code, crate::Code::Multiplied);
    assert!(on.warnings()[0].message.contains("12 calls"), "{:?}", on.warnings());
}
