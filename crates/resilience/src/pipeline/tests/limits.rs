//! Time limits: attempts, deadlines, what is sent to the service.

use super::*;

#[test]
fn an_attempt_that_takes_too_long_is_cut_off_and_tried_again() {
    let (clock, pipeline) = bench(|builder| builder.attempt_timeout(s(5)));
    let timer = clock.clone();
    let got = clock.block_on(pipeline.run(|attempt| {
        let timer = timer.timer(if attempt.number() < 2 { s(100) } else { s(4) });
        async move {
            timer.await;
            Ok::<_, Fault>(attempt.previous())
        }
    }));
    assert_eq!(got.unwrap(), Some(Kind::TIMEOUT));
    assert_eq!(clock.now(), Moment::ZERO + s(1) + s(5 + 1 + 5 + 1 + 4));
}

#[test]
fn a_timeout_is_a_failure_for_the_breaker() {
    let (clock, pipeline) =
        bench(|builder| builder.attempt_timeout(s(5)).no_retry().breaker(Breaker::consecutive(1)));
    let error = clock.block_on(pipeline.run(|_| std::future::pending::<Result<(), Fault>>())).unwrap_err();
    assert!(error.is_timed_out());
    assert_eq!(pipeline.breaker().unwrap().state(), State::Open);
    assert_eq!(pipeline.breaker().unwrap().last_trip().unwrap().failure.kind(), Kind::TIMEOUT);
}

#[test]
fn the_deadline_cuts_the_last_attempt_and_no_wait_passes_it() {
    let (clock, pipeline) = bench(|builder| builder.attempt_timeout(s(5)).complete_within(s(8)));
    let error = clock.block_on(pipeline.run(|_| std::future::pending::<Result<(), Fault>>())).unwrap_err();
    // 5 s, a wait of 1 s, then the 2 s that are left.
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::Deadline, 2));
    assert_eq!(error.story().unwrap().tried()[1].took, s(2));
    assert_eq!(clock.now(), Moment::ZERO + s(9));
}

#[test]
fn a_wait_that_does_not_fit_is_not_begun_and_the_real_error_comes_back_at_once() {
    let (clock, pipeline) = bench(|builder| builder);
    let began = clock.now();
    let error =
        clock.block_on(pipeline.call().complete_within(ms(900)).run(|_| async { Err::<(), _>(Fault::BUSY) }));
    let error = error.unwrap_err();
    assert_eq!((error.stop(), error.operation()), (Stop::Deadline, Some(&Fault::BUSY)));
    assert_eq!(clock.now(), began, "at once");
}

#[test]
fn a_deadline_that_has_passed_attempts_nothing() {
    let (clock, pipeline) = bench(|builder| builder);
    let call = pipeline.call().deadline(pipeline.now());
    let error = clock.block_on(call.run(|_| async { panic!("attempted") as Result<(), Fault> })).unwrap_err();
    assert!(error.is_timed_out() && error.story().is_none());
    assert_eq!(error.to_string(), "a call to `payments` was not tried; its deadline had passed [SF303]");
    assert_eq!(error.stop(), Stop::Deadline);
}

#[test]
fn the_earlier_of_two_deadlines_holds() {
    let (_, pipeline) = bench(|builder| builder.complete_within(s(10)));
    for (own, expected) in [(s(5), s(5)), (s(20), s(10))] {
        let deadline = pipeline.now() + own;
        let seen = pipeline
            .call()
            .deadline(deadline)
            .run_blocking(|attempt| Ok::<_, Fault>(attempt.deadline()))
            .unwrap();
        assert_eq!(seen, Some(pipeline.now() + expected));
    }
}

#[test]
fn an_attempt_knows_its_time_and_what_to_ask_of_the_service() {
    let (clock, pipeline) =
        bench(|builder| builder.attempt_timeout(s(5)).server_timeout(s(4)).complete_within(s(8)));
    let mut seen = Vec::new();
    let _ = pipeline.run_blocking(|attempt| {
        seen.push((attempt.time_left().unwrap(), attempt.server_timeout().unwrap()));
        clock.advance(s(4));
        Err::<(), _>(Fault::BUSY)
    });
    assert_eq!(seen, [(s(5), s(4)), (s(3), s(3))], "never more than the deadline leaves");
    let own = pipeline.call().attempt_timeout(s(2)).server_timeout(s(1));
    let seen =
        own.run_blocking(|attempt| Ok::<_, Fault>((attempt.time_left(), attempt.server_timeout()))).unwrap();
    assert_eq!(seen, (Some(s(2)), Some(s(1))));
    let (_, bare) = bench(Builder::no_attempt_timeout);
    let seen =
        bare.run_blocking(|attempt| Ok::<_, Fault>((attempt.time_left(), attempt.server_timeout()))).unwrap();
    assert_eq!(seen, (None, None));
}

#[test]
fn one_call_can_have_other_limits_than_its_pipeline() {
    let (clock, pipeline) = bench(|builder| builder);
    let attempts = |error: Error<Fault>| error.story().unwrap().attempts();
    let fail = |_: Attempt| Err::<(), _>(Fault::BUSY);
    assert_eq!(attempts(pipeline.run_blocking(fail).unwrap_err()), 4);
    assert_eq!(attempts(pipeline.call().max_retries(1).run_blocking(fail).unwrap_err()), 2);
    assert_eq!(attempts(pipeline.call().max_elapsed(ms(2500)).run_blocking(fail).unwrap_err()), 3);
    let other = Retry::fixed(s(7)).no_jitter().max_retries(2).build().unwrap();
    let before = clock.now();
    assert_eq!(attempts(pipeline.call().retry(&other).run_blocking(fail).unwrap_err()), 3);
    assert_eq!(clock.now().since(before), s(14));
}

#[test]
fn a_call_starts_when_it_is_first_driven_not_when_its_future_is_made() {
    let (clock, pipeline) =
        bench(|builder| builder.breaker(Breaker::standard().slow(s(2), 0.1).min_calls(1)));
    let call = pipeline
        .call()
        .complete_within(s(1))
        .run(|attempt| async move { Ok::<_, Fault>(attempt.time_left()) });
    clock.advance(s(10));
    assert_eq!(clock.block_on(call).unwrap(), Some(s(1)), "its time began with its first poll");
    assert!(pipeline.breaker().unwrap().is_closed(), "and the time before does not make it slow");
    let late = pipeline
        .call()
        .deadline(pipeline.now() + s(1))
        .run(|_| async { panic!("attempted") as Result<(), Fault> });
    clock.advance(s(10));
    assert_eq!(clock.block_on(late).unwrap_err().stop(), Stop::Deadline);
}

#[test]
fn an_impatient_caller_does_not_trip_the_breaker_for_the_patient() {
    let (clock, pipeline) =
        bench(|builder| builder.no_retry().attempt_timeout(s(10)).breaker(Breaker::consecutive(3)));
    let forever = || std::future::pending::<Result<(), Fault>>();
    let cut = |after: Duration| {
        let error = clock.block_on(pipeline.call().complete_within(after).run(|_| forever())).unwrap_err();
        assert!(error.is_timed_out());
    };
    (0..10).for_each(|_| cut(ms(999)));
    let report = pipeline.breaker().unwrap().report();
    assert_eq!((report.state, report.failures), (State::Closed, 0), "less than a tenth of an attempt's time");
    (0..3).for_each(|_| cut(s(1)));
    assert_eq!(pipeline.breaker().unwrap().state(), State::Open, "a service that hangs is found out");
}

#[test]
fn an_impatient_probe_gives_its_place_back() {
    let (clock, pipeline) = bench(|builder| {
        builder.no_retry().attempt_timeout(s(10)).breaker(Breaker::consecutive(1).successes_to_close(1))
    });
    let _ = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY));
    clock.advance(s(60));
    let call = pipeline.call().complete_within(ms(10));
    assert!(clock.block_on(call.run(|_| std::future::pending::<Result<(), Fault>>())).is_err());
    assert_eq!(pipeline.breaker().unwrap().state(), State::HalfOpen);
    pipeline.run_blocking(|_| Ok::<_, Fault>(())).unwrap();
    assert!(pipeline.breaker().unwrap().is_closed());
}

#[test]
fn a_call_can_ask_to_wait_for_the_breaker() {
    let (clock, pipeline) = bench(|builder| builder.no_retry().breaker(Breaker::consecutive(1)));
    let _ = pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY));
    let call = || pipeline.call().complete_within(s(60));
    assert!(call().run_blocking(|_| Ok::<_, Fault>(())).unwrap_err().is_refused());
    assert!(call().wait_for_breaker().run_blocking(|_| Ok::<_, Fault>(())).is_ok());
    assert!(clock.now() >= Moment::ZERO + s(6), "it waited");
}

#[test]
fn long_waits_are_left_to_the_caller_who_goes_on_with_the_retries_that_are_left() {
    let waits = Retry::incremental(s(1), s(10)).jitter(crate::retry::Jitter::None).max_retries(2);
    let clock = VirtualClock::new();
    let builder = Pipeline::builder("p").no_breaker().no_budget().retry(waits).clock(&clock);
    let pipeline = builder.build().unwrap();
    let call = |used| {
        pipeline
            .call()
            .longest_wait(s(5))
            .retries_used(used)
            .complete_within(s(30))
            .run(|_| async { Err::<(), _>(Fault::BUSY) })
    };
    let error = clock.block_on(call(0)).unwrap_err();
    // The first wait is made in place, the second is too long for that.
    assert_eq!((error.stop(), error.next_try_in()), (Stop::LongWait, Some(s(11))));
    assert_eq!((error.story().unwrap().attempts(), clock.now()), (2, Moment::ZERO + s(1)));
    let error = clock.block_on(call(2)).unwrap_err();
    assert_eq!((error.stop(), error.next_try_in()), (Stop::MaxRetries, None));
    // A wait that would end after the deadline is too long as well.
    let late = pipeline.call().longest_wait(s(5)).complete_within(ms(500));
    let error = clock.block_on(late.run(|_| async { Err::<(), _>(Fault::BUSY) })).unwrap_err();
    assert_eq!((error.stop(), error.next_try_in()), (Stop::LongWait, Some(s(1))));
}
