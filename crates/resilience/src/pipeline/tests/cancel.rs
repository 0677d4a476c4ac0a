//! Cancellation: by a wish, by dropping the future, by a panic.

use super::*;
use crate::Cancel;

#[test]
fn a_wish_ends_a_wait_at_once_and_the_last_error_comes_back() {
    let (clock, pipeline) = bench(|builder| builder);
    let cancel = Cancel::new();
    let waker = cancel.clone();
    let timer = clock.clone();
    let call = pipeline.call().cancel(&cancel).run(|_| async { Err::<(), _>(Fault::BUSY) });
    let (error, ()) = clock.block_on(async {
        tokio::join!(call, async {
            timer.timer(ms(1500)).await;
            waker.cancel();
        })
    });
    let error = error.unwrap_err();
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::Cancelled, 2));
    assert!(error.is_cancelled());
    assert_eq!((error.operation(), error.code()), (Some(&Fault::BUSY), crate::Code::Cancelled));
    assert_eq!(clock.now(), Moment::ZERO + ms(2500), "in the middle of the second wait");
}

#[test]
fn a_wish_drops_the_attempt_under_way_and_the_breaker_counts_nothing() {
    for door in 0..2 {
        let (clock, pipeline) = bench(|builder| builder.breaker(Breaker::consecutive(1)));
        let breaker = pipeline.breaker().unwrap();
        breaker.half_open("test", "probe");
        let (cancel, timer) = (Cancel::new(), clock.clone());
        let call = pipeline.call().cancel(&cancel);
        let stop = async {
            timer.timer(s(1)).await;
            assert_eq!(breaker.report().probes, 1);
            cancel.cancel();
        };
        let error = clock.block_on(async {
            match door {
                0 => tokio::join!(call.run(|_| std::future::pending::<Result<(), Fault>>()), stop).0,
                _ => {
                    tokio::join!(
                        call.run_mut(async |_| std::future::pending::<Result<(), Fault>>().await),
                        stop
                    )
                    .0
                }
            }
        });
        let error = error.unwrap_err();
        assert!(error.is_cancelled() && error.to_string().contains("may have taken effect"), "{error}");
        assert_eq!((breaker.state(), breaker.report().probes), (State::HalfOpen, 0));
    }
}

#[test]
fn a_wish_made_before_attempts_nothing() {
    let (clock, pipeline) = bench(|builder| builder);
    let cancel = Cancel::new();
    cancel.cancel();
    let blocking = pipeline.call().cancel(&cancel).run_blocking(|_| Ok::<_, Fault>(())).unwrap_err();
    assert!(matches!(blocking.cause(), crate::Cause::Cancelled { under_way: false }));
    assert!(blocking.to_string().contains("before the first try"));
    let call = pipeline.call().cancel(&cancel).run(|_| async { Ok::<_, Fault>(()) });
    assert!(clock.block_on(call).unwrap_err().is_cancelled());
}

#[test]
fn a_blocking_call_stops_between_attempts() {
    let (_, pipeline) = bench(|builder| builder);
    let cancel = Cancel::new();
    let error = pipeline.call().cancel(&cancel).run_blocking(|attempt| {
        if attempt.number() == 1 {
            cancel.cancel();
        }
        Err::<(), _>(Fault::BUSY)
    });
    let error = error.unwrap_err();
    assert_eq!((error.stop(), error.story().unwrap().attempts()), (Stop::Cancelled, 2));
}

#[test]
fn a_dropped_or_panicking_call_gives_its_probe_back() {
    let (_, pipeline) = bench(|builder| builder.breaker(Breaker::consecutive(1)));
    let breaker = pipeline.breaker().unwrap();
    breaker.half_open("test", "probe");
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut call = Box::pin(pipeline.run(|_| std::future::pending::<Result<(), Fault>>()));
    assert!(Future::poll(call.as_mut(), &mut context).is_pending());
    assert_eq!(breaker.report().probes, 1);
    drop(call);
    assert_eq!(breaker.report().probes, 0);
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        pipeline.run_blocking(|_| -> Result<(), Fault> { panic!("in the operation") })
    }));
    assert!(panicked.is_err());
    assert_eq!((breaker.state(), breaker.report().probes), (State::HalfOpen, 0));
}

#[test]
fn an_operations_future_is_gone_before_its_place_is_given_back() {
    struct Alive(Breaker);
    impl Drop for Alive {
        fn drop(&mut self) {
            assert_eq!(self.0.report().probes, 1, "the place was free while the operation lived");
        }
    }
    let (clock, pipeline) = bench(|builder| builder.breaker(Breaker::consecutive(1)));
    let breaker = pipeline.breaker().unwrap();
    breaker.half_open("test", "probe");
    let operation = |_: Attempt| {
        let alive = Alive(breaker.clone());
        async move {
            std::future::pending::<()>().await;
            drop(alive);
            Ok::<_, Fault>(())
        }
    };
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    let mut dropped = Box::pin(pipeline.run(operation));
    assert!(dropped.as_mut().poll(&mut context).is_pending());
    drop(dropped);
    assert_eq!(breaker.report().probes, 0);
    let cancel = Cancel::new();
    let mut kept = Box::pin(pipeline.call().cancel(&cancel).run(operation));
    assert!(kept.as_mut().poll(&mut context).is_pending());
    cancel.cancel();
    assert!(kept.as_mut().poll(&mut context).is_ready());
    assert_eq!(breaker.report().probes, 0, "also while the ended future is kept");
    drop(kept);
    assert!(clock.now() > Moment::ZERO);
}

#[test]
fn a_dropped_wait_gives_the_price_of_its_retry_back() {
    let budget = crate::retry::Budget::share(0.1).reserve(2).build().unwrap();
    let (_, pipeline) = bench(|builder| builder.shared_budget(&budget));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    for _ in 0..5 {
        let mut call = Box::pin(pipeline.run(|_| async { Err::<(), _>(Fault::BUSY) }));
        assert!(call.as_mut().poll(&mut context).is_pending(), "waits for its paid retry");
        assert_eq!(budget.left(pipeline.now()), 1);
    }
    assert_eq!(budget.left(pipeline.now()), 2);
}
