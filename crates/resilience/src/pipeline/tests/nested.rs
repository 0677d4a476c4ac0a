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

#[test]
fn an_inner_call_has_no_more_time_than_the_outer_one() {
    let (clock, outer) = bench(|builder| builder.no_retry().complete_within(s(1)));
    let inner =
        Pipeline::builder("inner").no_retry().attempt_timeout(s(5)).server_timeout(s(4)).clock(&clock);
    let inner = inner.breaker(Breaker::consecutive(1)).build().unwrap();
    let seen = std::sync::Mutex::new(None);
    let hangs = || {
        inner.run(|attempt| {
            *seen.lock().unwrap() = Some((attempt.time_left(), attempt.server_timeout()));
            std::future::pending::<Result<(), Fault>>()
        })
    };
    let error = clock.block_on(outer.run(|_| hangs())).unwrap_err();
    assert_eq!(*seen.lock().unwrap(), Some((Some(s(1)), Some(s(1)))));
    let cause = error.into_operation().expect("the inner call ended by itself");
    assert!(cause.is_timed_out());
    assert_eq!(inner.breaker().unwrap().state(), State::Open, "and counted");
}

#[test]
fn an_inner_call_on_another_clock_keeps_its_own_time() {
    let (clock, outer) = bench(|builder| builder.no_retry().complete_within(s(1)));
    let elsewhere = Pipeline::builder("elsewhere").clock(VirtualClock::new()).build().unwrap();
    let told = outer.run_blocking(|attempt| {
        let left = |call: crate::pipeline::Call<'_>| {
            call.run_blocking(|inner| Ok::<_, Fault>(inner.time_left())).unwrap()
        };
        Ok::<_, Fault>((left(elsewhere.call()), left(outer.call().under(&attempt)), attempt.time_left()))
    });
    assert_eq!(told.unwrap(), (Some(s(10)), Some(s(1)), Some(s(1))));
    drop(clock);
}
