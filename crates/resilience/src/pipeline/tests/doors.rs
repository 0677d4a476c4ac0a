//! The doors: async, `&mut`, blocking, spawned; one breaker behind all of them.

use super::*;

#[test]
fn run_retries_with_waits_and_returns_the_value() {
    let (clock, pipeline) = bench(|builder| builder);
    let got = clock.block_on(pipeline.run(|attempt| succeed_at(attempt, 2)));
    assert_eq!(got.unwrap(), 2);
    assert_eq!(clock.now(), Moment::ZERO + s(1) + s(2), "two waits of a second");
}

#[test]
fn an_hour_of_waits_takes_no_time() {
    let (clock, pipeline) = bench(|builder| builder.retry(Retry::fixed(s(60)).no_jitter().max_retries(60)));
    let error = clock.block_on(pipeline.run(async |_| Err::<(), _>(Fault::BUSY))).unwrap_err();
    assert_eq!(error.story().unwrap().elapsed(), s(3600));
}

#[test]
fn run_mut_lets_the_operation_borrow_mutably() {
    let (clock, pipeline) = bench(|builder| builder);
    let mut seen = Vec::new();
    let got = clock.block_on(pipeline.run_mut(async |attempt: Attempt| {
        seen.push(attempt.number());
        succeed_at(attempt, 2).await
    }));
    assert_eq!(got.unwrap(), 2);
    assert_eq!(seen, [0, 1, 2]);
}

#[test]
fn run_blocking_waits_on_the_same_clock() {
    let (clock, pipeline) = bench(|builder| builder);
    let mut calls = 0;
    let got = pipeline.run_blocking(|attempt| {
        calls += 1;
        if attempt.number() == 2 { Ok("done") } else { Err(Fault::BUSY) }
    });
    assert_eq!((got.unwrap(), calls), ("done", 3));
    assert_eq!(clock.now(), Moment::ZERO + s(3));
}

#[test]
fn every_door_stops_in_the_same_way() {
    for fault in
        [Fault::BUSY, Fault::WRONG, Fault(Verdict::lasting(Kind::OFFLINE)), Fault(Verdict::unclassified())]
    {
        let mut stops = Vec::new();
        for door in 0..3 {
            let (clock, pipeline) = bench(|builder| builder);
            let error: Error<Fault> = match door {
                0 => clock.block_on(pipeline.run(|_| async { Err::<(), _>(fault.clone()) })).unwrap_err(),
                1 => clock.block_on(pipeline.run_mut(async |_| Err::<(), _>(fault.clone()))).unwrap_err(),
                _ => pipeline.run_blocking(|_| Err::<(), _>(fault.clone())).unwrap_err(),
            };
            stops.push((error.stop(), error.story().unwrap().attempts(), clock.now()));
            assert_eq!(error.into_operation(), Some(fault.clone()), "unchanged");
        }
        assert!(stops.windows(2).all(|pair| pair[0] == pair[1]), "{stops:?}");
    }
}

#[test]
fn one_breaker_serves_all_doors_at_once() {
    let (clock, pipeline) = bench(|builder| builder.no_retry().breaker(Breaker::consecutive(3)));
    clock.block_on(pipeline.run(|_| async { Err::<(), _>(Fault::BUSY) })).unwrap_err();
    clock.block_on(pipeline.run_mut(async |_| Err::<(), _>(Fault::BUSY))).unwrap_err();
    assert!(pipeline.breaker().unwrap().is_closed());
    pipeline.run_blocking(|_| Err::<(), _>(Fault::BUSY)).unwrap_err();
    assert_eq!(pipeline.breaker().unwrap().state(), State::Open);
    let refusals = [
        clock.block_on(pipeline.run(|_| async { Ok::<_, Fault>(()) })).unwrap_err(),
        clock.block_on(pipeline.run_mut(async |_| Ok::<_, Fault>(()))).unwrap_err(),
        pipeline.run_blocking(|_| Ok::<_, Fault>(())).unwrap_err(),
    ];
    assert!(refusals.iter().all(Error::is_refused));
}

#[tokio::test(start_paused = true)]
async fn run_works_inside_of_spawn_and_on_tokios_paused_clock() {
    use crate::clock::Clock;
    let retry = Retry::fixed(s(3600)).no_jitter();
    let pipeline = Pipeline::builder("spawned").retry(retry).clock(Clock::tokio()).build().unwrap();
    let name = String::from("borrowed by the task");
    let began = pipeline.now();
    let task = tokio::spawn({
        let pipeline = pipeline.clone();
        async move {
            let name = &name;
            let got = pipeline.run(|attempt| async move {
                tokio::task::yield_now().await;
                if attempt.number() == 2 { Ok(name.len()) } else { Err(Fault::BUSY) }
            });
            got.await.unwrap()
        }
    });
    assert_eq!(task.await.unwrap(), 20);
    assert_eq!(pipeline.now().since(began), s(7200));
}

#[test]
fn a_call_future_is_send_when_its_parts_are() {
    fn assert_send(_: &impl Send) {}
    let (_, pipeline) = bench(|builder| builder);
    assert_send(&pipeline.run(|attempt| succeed_at(attempt, 0)));
    assert_send(&pipeline.call().run(|attempt| succeed_at(attempt, 0)));
}
