//! Limits on calls, as whole pipelines keep them.

use std::cell::Cell;

use super::*;
use crate::cancel::Cancel;
use crate::error::Cause;
use crate::limit::{self, By, Limit};
use crate::problem::Code;

fn limited(limit: limit::Builder) -> (VirtualClock, Pipeline) {
    bench(|builder| builder.limit(limit))
}

/// Where the clock stands when a test begins.
fn start() -> Moment {
    Moment::ZERO + s(1)
}

/// A call that takes this long, and notes how many were inside with it.
async fn busy(
    clock: &VirtualClock,
    inside: &Cell<u32>,
    most: &Cell<u32>,
    time: Duration,
) -> Result<(), Fault> {
    inside.set(inside.get() + 1);
    most.set(most.get().max(inside.get()));
    clock.timer(time).await;
    inside.set(inside.get() - 1);
    Ok(())
}

#[test]
fn no_more_than_the_limit_are_under_way_and_the_rest_wait_in_their_order() {
    let (clock, pipeline) = limited(Limit::concurrent(2).waiting(10).max_wait(s(60)));
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let call = || pipeline.run(|_| busy(&clock, &inside, &most, s(1)));
    let done = clock.block_on(async { tokio::join!(call(), call(), call(), call(), call()) });
    assert!([done.0, done.1, done.2, done.3, done.4].iter().all(Result::is_ok));
    assert_eq!(most.get(), 2);
    assert_eq!(clock.now(), start() + s(3), "five calls of a second, two at once");
    let limit = pipeline.limit().unwrap();
    assert_eq!((limit.in_flight(), limit.waiting(), limit.refused()), (0, 0, 0));
}

#[test]
fn a_call_without_room_is_refused_at_once_and_says_so() {
    let (clock, pipeline) = limited(Limit::concurrent(1));
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let call = || pipeline.run(|_| busy(&clock, &inside, &most, s(1)));
    let (first, second) = clock.block_on(async { tokio::join!(call(), call()) });
    assert!(first.is_ok());
    let error = second.unwrap_err();
    assert!(error.is_limited() && !error.is_refused() && error.story().is_none());
    assert_eq!((error.stop(), error.code()), (Stop::Limited, Code::Limited));
    assert!(error.allows_fallback());
    assert!(matches!(error.cause(), Cause::Limited(limited) if limited.by == By::Concurrency));
    let name = pipeline.name();
    assert_eq!(
        error.to_string(),
        format!("a call to `{name}` was not tried; too many calls are under way [SF305]")
    );
    assert_eq!(pipeline.limit().unwrap().refused(), 1);
}

#[test]
fn who_waits_too_long_or_until_its_deadline_is_refused_by_the_limit() {
    let (clock, pipeline) = limited(Limit::concurrent(1).waiting(10).max_wait(s(2)));
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let long = || pipeline.run(|_| busy(&clock, &inside, &most, s(9)));
    let hurried = || pipeline.call().complete_within(s(1)).run(|_| busy(&clock, &inside, &most, s(9)));
    let (first, second, third) = clock.block_on(async {
        tokio::join!(long(), async { (long().await, clock.now()) }, async { (hurried().await, clock.now()) })
    });
    assert!(first.is_ok());
    assert_eq!((second.0.unwrap_err().stop(), second.1), (Stop::Limited, start() + s(2)));
    let (third, at) = (third.0.unwrap_err(), third.1);
    assert_eq!((third.stop(), third.code(), at), (Stop::Limited, Code::Limited, start() + s(1)));
    assert_eq!(pipeline.limit().unwrap().waiting(), 0);
}

#[test]
fn a_place_is_not_held_while_a_call_waits_for_its_retry() {
    let (clock, pipeline) = limited(Limit::concurrent(1));
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let (failing, other) = clock.block_on(async {
        tokio::join!(
            pipeline
                .run(|attempt| async move { if attempt.number() == 0 { Err(Fault::BUSY) } else { Ok(()) } }),
            pipeline.run(|_| busy(&clock, &inside, &most, ms(500))),
        )
    });
    assert!(failing.is_ok() && other.is_ok(), "the other one ran in the first one's wait of a second");
}

#[test]
fn a_retry_without_room_ends_with_the_real_error() {
    let (clock, pipeline) = limited(Limit::concurrent(1));
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let (failing, other) = clock.block_on(async {
        tokio::join!(
            pipeline.run(|_| async { Err::<(), _>(Fault::BUSY) }),
            pipeline.run(|_| busy(&clock, &inside, &most, s(5))),
        )
    });
    assert!(other.is_ok());
    let error = failing.unwrap_err();
    assert_eq!((error.stop(), error.operation()), (Stop::Limited, Some(&Fault::BUSY)));
}

#[test]
fn an_open_breaker_refuses_before_anybody_waits_or_uses_a_turn() {
    let limit = Limit::concurrent(1).waiting(10).rate(1.0).burst(1).max_wait(s(60));
    let (clock, pipeline) = bench(|builder| builder.limit(limit).breaker(Breaker::standard()));
    pipeline.breaker().unwrap().force_open(None, "test", "test");
    for _ in 0..10 {
        let refused = clock.block_on(pipeline.run(|_| async { Ok::<_, Fault>(()) })).unwrap_err();
        assert!(refused.is_refused());
    }
    assert_eq!(clock.now(), start());
    pipeline.breaker().unwrap().reset("test", "test");
    assert!(clock.block_on(pipeline.run(|_| async { Ok::<_, Fault>(()) })).is_ok());
    assert_eq!(clock.now(), start(), "the first turn was still there");
}

#[test]
fn calls_keep_to_the_rate_by_waiting_their_turn() {
    let (clock, pipeline) = limited(Limit::rate(10.0).burst(1).max_wait(s(60)));
    for number in 0..20 {
        clock.block_on(pipeline.run(|_| async { Ok::<_, Fault>(()) })).unwrap();
        assert_eq!(clock.now(), start() + ms(100) * number);
    }
}

#[test]
fn beyond_the_rate_a_call_is_refused_with_the_time_of_its_turn() {
    let (clock, pipeline) = limited(Limit::rate(0.1).burst(1));
    assert!(clock.block_on(pipeline.run(|_| async { Ok::<_, Fault>(()) })).is_ok());
    let error = clock.block_on(pipeline.run(|_| async { Ok::<_, Fault>(()) })).unwrap_err();
    assert_eq!((error.stop(), error.try_again_in()), (Stop::Limited, Some(s(10))));
}

#[test]
fn a_call_that_is_cancelled_in_the_queue_leaves_it_and_gives_its_turn_back() {
    let limit = Limit::concurrent(1).waiting(10).rate(1.0).burst(2).max_wait(s(60));
    let (clock, pipeline) = limited(limit);
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let cancel = Cancel::new();
    let (first, second, ()) = clock.block_on(async {
        tokio::join!(
            pipeline.run(|_| busy(&clock, &inside, &most, s(5))),
            pipeline.call().cancel(&cancel).run(|_| busy(&clock, &inside, &most, s(5))),
            async {
                clock.timer(ms(10)).await;
                assert_eq!(pipeline.limit().unwrap().waiting(), 1);
                cancel.cancel();
            }
        )
    });
    assert!(first.is_ok() && second.unwrap_err().is_cancelled());
    assert_eq!(pipeline.limit().unwrap().waiting(), 0);
    drop(pipeline.run(|_| async { Ok::<_, Fault>(()) }));
    assert_eq!(pipeline.limit().unwrap().in_flight(), 0);
}

#[test]
fn a_dropped_or_panicking_call_gives_its_place_to_the_next() {
    let (clock, pipeline) = limited(Limit::concurrent(1).waiting(1).max_wait(s(60)));
    let panicked = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
        clock.block_on(pipeline.run(|_| async { if true { panic!("bug") } else { Ok::<(), Fault>(()) } }))
    }));
    assert!(panicked.is_err());
    assert_eq!(pipeline.limit().unwrap().in_flight(), 0);
    let (dropped, next) = clock.block_on(async {
        tokio::join!(
            async {
                let hanging = pipeline.run(|_| std::future::pending::<Result<(), Fault>>());
                tokio::select! { _ = hanging => true, () = clock.timer(s(1)) => false }
            },
            pipeline.run(|_| async { Ok::<_, Fault>(()) }),
        )
    });
    assert!(!dropped && next.is_ok());
}

#[test]
fn threads_wait_for_a_place_too() {
    let pipeline = Pipeline::builder("threads")
        .limit(Limit::concurrent(2).waiting(100).max_wait(s(60)))
        .no_breaker()
        .build()
        .unwrap();
    let (inside, most) = (std::sync::atomic::AtomicU32::new(0), std::sync::atomic::AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..200 {
                    let done = pipeline.run_blocking(|_| {
                        use std::sync::atomic::Ordering::SeqCst;
                        most.fetch_max(inside.fetch_add(1, SeqCst) + 1, SeqCst);
                        inside.fetch_sub(1, SeqCst);
                        Ok::<_, Fault>(())
                    });
                    assert!(done.is_ok(), "{done:?}");
                }
            });
        }
    });
    assert!(most.into_inner() <= 2);
    assert_eq!(pipeline.limit().unwrap().in_flight(), 0);
}

#[test]
fn a_place_is_not_held_while_a_call_waits_for_a_probe() {
    let breaker = Breaker::consecutive(1).half_open_permits(1).successes_to_close(1);
    let limit = Limit::concurrent(2);
    let (clock, pipeline) =
        bench(|builder| builder.limit(limit).breaker(breaker).wait_for_breaker().complete_within(s(60)));
    pipeline.breaker().unwrap().half_open("test", "test");
    let (inside, most) = (Cell::new(0), Cell::new(0));
    let (probe, waiter, ()) = clock.block_on(async {
        tokio::join!(
            pipeline.run(|_| busy(&clock, &inside, &most, s(5))),
            pipeline.run(|_| busy(&clock, &inside, &most, s(1))),
            async {
                clock.timer(ms(10)).await;
                assert_eq!(pipeline.limit().unwrap().in_flight(), 1, "the probe's alone");
            }
        )
    });
    assert!(probe.is_ok() && waiter.is_ok());
}

#[test]
fn a_turn_that_comes_after_the_deadline_is_a_limits_refusal_and_says_when_it_comes() {
    let (clock, pipeline) = limited(Limit::rate(0.1).max_wait(s(60)));
    let call = || pipeline.call().complete_within(s(1)).run(|_| async { Ok::<_, Fault>(()) });
    assert!(clock.block_on(call()).is_ok());
    let error = clock.block_on(call()).unwrap_err();
    assert!(error.is_limited(), "{error}");
    assert_eq!((error.stop(), error.try_again_in()), (Stop::Limited, Some(s(10))));
    assert_eq!(clock.now(), start(), "at once: nothing could change it");
    clock.advance(s(10));
    assert!(clock.block_on(call()).is_ok(), "the turn that was not used was given back");
}

#[test]
fn calls_that_a_hang_held_back_keep_to_the_rate() {
    let limit = Limit::concurrent(10).waiting(1_000).rate(10.0).burst(1).max_wait(s(600));
    let (clock, pipeline) = limited(limit);
    let began = std::cell::RefCell::new(Vec::new());
    let back = start() + s(60);
    let calls = (0..100).map(|_| {
        pipeline.run(|_| async {
            began.borrow_mut().push(clock.now());
            clock.timer(back.since(clock.now())).await;
            Ok::<_, Fault>(())
        })
    });
    let ended = clock.block_on(futures_all(calls));
    assert!(ended.iter().all(Result::is_ok));
    let began = began.into_inner();
    let after = began.iter().filter(|at| **at >= back).count();
    assert_eq!(after, 90, "ten hung");
    let worst = began.iter().map(|first| {
        let within = |at: &&Moment| **at >= *first && **at < *first + s(1);
        began.iter().filter(within).count()
    });
    assert!(worst.max().unwrap() <= 11, "ten in a second, whatever held them back");
}

/// All of them beside each other, in their order.
async fn futures_all<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut running: Vec<_> = futures.map(|future| (Box::pin(future), None)).collect();
    std::future::poll_fn(|cx| {
        for (future, output) in &mut running {
            if output.is_none()
                && let std::task::Poll::Ready(ready) = future.as_mut().poll(cx)
            {
                *output = Some(ready);
            }
        }
        match running.iter().all(|(_, output)| output.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}

#[test]
fn the_limit_holds_while_the_breaker_changes_its_mind() {
    use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
    use std::thread::yield_now;
    let pipeline = Pipeline::builder("p").limit(Limit::concurrent(1)).build().unwrap();
    let breaker = pipeline.breaker().unwrap();
    let (inside, most, made) = (AtomicU32::new(0), AtomicU32::new(0), AtomicU32::new(0));
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                breaker.force_open(None, "test", "test");
                yield_now();
                breaker.force_closed("test", "test");
                yield_now();
            }
        });
        for _ in 0..3 {
            scope.spawn(|| {
                while made.load(Ordering::Relaxed) < 1_000 {
                    let _ = pipeline.run_blocking(|_| {
                        most.fetch_max(inside.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        made.fetch_add(1, Ordering::Relaxed);
                        yield_now();
                        inside.fetch_sub(1, Ordering::SeqCst);
                        Ok::<_, std::io::Error>(())
                    });
                }
                done.store(true, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(most.into_inner(), 1);
    assert_eq!(pipeline.limit().unwrap().in_flight(), 0);
}
