//! Services that go and come back, in virtual time: what their callers do meanwhile and after. The figures of one long outage
//! are in `bench/tests/outage.rs`.

use std::time::Duration;

use crate::town::{CALL, Remote, all_complete, start, submit};
use steadfast::resilience::breaker::State;
use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Breaker, Retry};
use steadfast::{Engine, StepState, TaskState, What, Workflow};
use steadfast_testkit::Script;

const fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn up() -> steadfast_testkit::Part {
    Script::slow(CALL)
}

/// Up for 2 s and down for 5 s, ten times; then it stays.
fn flapping() -> Script {
    let rounds = (0..10).flat_map(|_| [up().lasting(seconds(2)), Script::switched_off().lasting(seconds(5))]);
    Script::sequence(rounds.chain([up()]))
}

/// B5, B17
#[tokio::test(start_paused = true)]
async fn a_service_that_flaps_is_met_gently_each_time() {
    let remote = Remote::standard("flaps", flapping());
    let flow = remote.alone("flow");
    let engine = start(&[&flow]).await;
    let tasks = submit(&engine, &[&flow], 50, seconds(70)).await;
    all_complete(&tasks).await;
    remote.assert_did_each_once(tasks.len());

    // The open time grows with each recovery that fails and with each that does not last, by half and up to a tenth at random.
    let opened: Vec<_> =
        remote.changes().into_iter().filter_map(|change| Some((change.from, change.open_for?))).collect();
    for (nth, pair) in opened.windows(2).enumerate() {
        assert!(pair[1].1.as_secs_f64() >= 1.5 / 1.1 * pair[0].1.as_secs_f64(), "{nth}: {opened:?}");
    }
    let by = |state: State| opened[1..].iter().filter(|(from, _)| *from == state).count();
    assert!(by(State::Closed) >= 2, "it went up and down: {opened:?}");

    // Each time it is found to be back, the ramp begins with a trickle: two a second, then four.
    let back = remote.times_of(State::Closed);
    assert!(back.len() >= 3, "{:?}", remote.changes());
    for at in &back {
        let first = remote.calls_between(*at, at + 1.0);
        assert!(first <= 5, "{first} calls in the first second after {at}; 50 a second came in");
    }
    // While it is down it has the calls that open the breaker, and probes.
    let down = (0..10).map(|round| 7.0 * f64::from(round) + 2.0).map(|at| remote.calls_between(at, at + 5.0));
    for calls in down {
        assert!(calls <= 10 + 50 + 3, "{calls}");
    }
    println!("opened {opened:?}\nback at {back:?}");
}

/// B17, B2
#[tokio::test(start_paused = true)]
async fn a_service_that_is_half_well_settles_and_its_breaker_does_not_flutter() {
    // Nobody notices three failures in ten with the standard breaker; one that trips on three in a row opens all the time.
    let touchy = Breaker::consecutive(3).open_for(seconds(2)).growing_to(seconds(8));
    for (breaker, open_for, breaker_stays_closed) in [(Breaker::standard(), 5.0, true), (touchy, 2.0, false)]
    {
        let script = Script::fail_at_rate(0.3).unwrap().seeded(11);
        let retry = Retry::exponential().max_backoff(seconds(2)).max_retries(30);
        let remote = Remote::new("half-well", script, breaker, retry.into());
        let flow = remote.alone("flow");
        let engine = start(&[&flow]).await;
        let tasks = submit(&engine, &[&flow], 10, seconds(300)).await;
        let changes = remote.changes();
        let done = |from: f64, until: f64| {
            remote.calls().iter().filter(|call| call.done && call.at >= from && call.at < until).count()
        };
        let minutes: Vec<_> =
            (0..5_u32).map(|minute| 60.0 * f64::from(minute)).map(|at| done(at, at + 60.0)).collect();
        let opened = changes.iter().filter(|change| change.to == State::Open).count();
        println!("done in each minute: {minutes:?}; {} changes, opened {opened} times", changes.len());
        // The standard breaker stays out of it: what comes in is done.
        if breaker_stays_closed {
            assert_eq!(opened, 0, "{changes:?}");
            assert!(minutes[1..].iter().all(|done| (570..=630).contains(done)), "{minutes:?}");
        } else {
            assert!(opened > 10, "{changes:?}");
        }
        // It opens at most once in each open time, and each time has three changes.
        let most = 300.0 / open_for;
        assert!(opened as f64 <= most && changes.len() as f64 <= 3.0 * most, "{opened}: {changes:?}");
        let spaced = remote.times_of(State::Open);
        assert!(spaced.windows(2).all(|pair| pair[1] - pair[0] >= open_for), "{spaced:?}");
        all_complete(&tasks).await;
        remote.assert_did_each_once(tasks.len());
        engine.shut_down().await.unwrap();
    }
}

/// Throughput and time from end to end of tasks at three services, with a fourth that is dead or not.
async fn beside(is_dead: bool) -> (usize, f64) {
    let fourth: Script = if is_dead { Script::switched_off().into() } else { up().into() };
    let dead = Remote::standard("fourth", fourth);
    let well = ["first", "second", "third"].map(|name| Remote::standard(name, up()));
    let flows = [well[0].alone("one"), well[1].alone("two"), well[2].alone("three"), dead.alone("four")];
    let flows: Vec<_> = flows.iter().collect();
    // Fewer places in memory than tasks that wait for the dead one.
    let mut settings = steadfast::Settings::default();
    settings.most_owned = 500;
    let mut engine = Engine::builder("memory:").clock(Clock::tokio()).settings(settings);
    for flow in &flows {
        engine = engine.workflow(flow);
    }
    let engine = engine.start().await.unwrap();
    let (mut events, began) = (engine.events(), Clock::tokio().now());
    let listening = tokio::spawn(async move {
        let mut ended = Vec::new();
        while let Some(told) = events.next().await {
            if told.what == What::Task(TaskState::Completed) && &*told.workflow != "four" {
                ended.push((told.task, Clock::tokio().now().since(began).as_secs_f64()));
            }
        }
        ended
    });
    let tasks = submit(&engine, &flows, 200, seconds(30)).await;
    Clock::tokio().sleep(seconds(1)).await;
    // It is dead, and its tasks wait for it outside of the memory.
    if is_dead {
        assert!(dead.calls().len() <= 10 + 50 + 3, "{}", dead.calls().len());
        let waits = tasks.iter().skip(3).step_by(4).nth(100).unwrap().1.status().await.unwrap();
        assert_eq!(waits.steps[0].state, StepState::Parked, "{waits:?}");
    }
    engine.shut_down().await.unwrap();
    let ended = listening.await.unwrap();
    let submitted: std::collections::HashMap<_, _> =
        tasks.iter().map(|(at, task)| (task.id(), *at)).collect();
    let mut took: Vec<_> = ended.iter().map(|(task, at)| at - submitted[task]).collect();
    took.sort_by(f64::total_cmp);
    println!("{} ended, p99 {:.4} s", ended.len(), took[took.len() * 99 / 100]);
    (ended.len(), took[took.len() * 99 / 100])
}

/// B17
#[tokio::test(start_paused = true)]
async fn a_dead_service_costs_those_beside_it_nothing() {
    let (all, usual) = beside(false).await;
    let (done, took) = beside(true).await;
    assert!(all >= 4_400, "{all}");
    assert!(done * 100 >= all * 95, "{done} of {all}");
    assert!(took <= usual / 0.95, "{took} s instead of {usual} s");
}

/// B9, B17
#[tokio::test(start_paused = true)]
async fn waiting_for_a_service_spends_no_attempt() {
    // An hour away, and two retries.
    let script = Script::switched_off().lasting(seconds(3_600)).then(up());
    let retry = Retry::exponential().max_retries(2);
    let breaker = Breaker::consecutive(3).growing_to(seconds(60));
    let remote = Remote::new("away", script, breaker, retry.into());
    let flow = remote.alone("flow");
    let engine = start(&[&flow]).await;
    // These open the breaker, and may use up their tries.
    let first = submit(&engine, &[&flow], 10, seconds(1)).await;
    Clock::tokio().sleep(seconds(1)).await;
    let tasks = submit(&engine, &[&flow], 10, seconds(30)).await;
    for until in [600, 3_500] {
        Clock::tokio().sleep(seconds(until) - Duration::from_secs_f64(remote.now())).await;
        let mut attempts = 0;
        for (_, task) in &tasks {
            let status = task.status().await.unwrap();
            let step = &status.steps[0];
            assert_eq!((status.state, step.state), (TaskState::Waiting, StepState::Parked), "{status:?}");
            let why = "`call`: it waits for circuit `away` for ";
            assert!(status.why.starts_with(why), "{}", status.why);
            // A probe is an attempt, and each is another task's.
            assert!(step.attempt <= 1, "{status:?}");
            attempts += step.attempt as usize;
        }
        let probes = remote.times_of(State::HalfOpen).len();
        assert!(attempts <= probes && probes > 5, "{attempts} attempts, {probes} probes");
    }
    all_complete(&tasks).await;
    let mut waited = 0;
    for (_, task) in &tasks {
        let history = task.history().await.unwrap();
        let last = history.iter().flat_map(|entry| &entry.steps).last().unwrap().1.clone();
        // What waited all the time has made one attempt, and has no failure.
        waited += usize::from((last.attempt, last.failures) == (1, 0));
    }
    let probes = remote.times_of(State::HalfOpen).len();
    assert!(waited + probes >= tasks.len(), "{waited} of {} went well at once; {probes} probes", tasks.len());
    // It was away for an hour, and is probed once a minute in the end.
    let calls = remote.calls_between(0.0, 3_600.0);
    assert!(calls <= 3 + 50 + probes, "{calls} calls, {probes} probes");
    for (_, task) in first {
        drop(task.outcome().await.unwrap());
    }
}

/// B17
#[tokio::test(start_paused = true)]
async fn the_ramp_stops_at_once_when_the_breaker_opens_again() {
    // Well for 10 s, away for 30 s, back for as long as the ramp takes to its fifth stage, away again, and well.
    let script = Script::sequence([
        up().lasting(seconds(10)),
        Script::switched_off().lasting(seconds(30)),
        up().lasting(seconds(12)),
        Script::switched_off().lasting(seconds(30)),
        up(),
    ]);
    let retry = Retry::exponential().max_retries(10);
    let breaker = Breaker::consecutive(5).open_for(seconds(5)).growing_to(seconds(5));
    let remote = Remote::new("twice", script, breaker, retry.into());
    let flow = remote.alone("flow");
    let engine = start(&[&flow]).await;
    let tasks = submit(&engine, &[&flow], 100, seconds(90)).await;
    let opened = remote.times_of(State::Open);
    let again = *opened.iter().find(|at| **at > 52.0).unwrap();
    let ramp_began = *remote.times_of(State::Closed).iter().find(|at| **at > 40.0 && **at < 52.0).unwrap();
    let ramped = remote.calls_between(ramp_began, 52.0);
    assert!(ramped > 50, "{ramped}: the ramp was under way");
    // Nothing after it has opened but what was under way, and probes.
    let probes = remote.times_of(State::HalfOpen).iter().filter(|at| **at > again && **at < 82.0).count();
    let after = remote.calls_between(again + 0.000_001, 82.0);
    println!(
        "ramp at {ramp_began}, {ramped} calls; open again at {again}, {after} calls after it, {probes} probes"
    );
    assert!(after <= probes, "{after} calls after it opened at {again}, {probes} probes");
    // And the next one begins small again.
    let next = *remote.times_of(State::Closed).iter().find(|at| **at > 82.0).unwrap();
    let first = remote.calls_between(next, next + 1.0);
    assert!(first <= 5, "{first}");
    all_complete(&tasks).await;
    remote.assert_did_each_once(tasks.len());
}

/// B17
#[tokio::test(start_paused = true)]
async fn a_task_waits_for_each_of_its_services() {
    let away = |from: u64, lasts: u64| {
        let parts = [up().lasting(seconds(from)), Script::switched_off().lasting(seconds(lasts)), up()];
        Script::sequence(parts)
    };
    // Two side by side that are away at overlapping times, and one after them.
    let remotes = [("left", away(5, 60)), ("right", away(10, 90)), ("last", away(60, 70))]
        .map(|(name, script)| Remote::standard(name, script));
    let mut flow = Workflow::<usize>::builder("three");
    let left = remotes[0].step(&mut flow, "left");
    let right = remotes[1].step(&mut flow, "right");
    let last = remotes[2].step_after(&mut flow, "last", (left, right));
    let flow = flow.returns(last).unwrap();
    let engine = start(&[&flow]).await;
    let tasks = submit(&engine, &[&flow], 20, seconds(40)).await;
    all_complete(&tasks).await;
    for remote in &remotes {
        remote.assert_did_each_once(tasks.len());
    }
    let ended = remotes[2].now();
    // The last one is back after 130 s; who waited for two looks for itself within a minute.
    println!("all ended after {ended} s");
    assert!(ended <= 130.0 + 60.0 + 60.0, "{ended}");
}

/// B17
#[tokio::test(start_paused = true)]
async fn a_service_that_is_back_is_called_though_another_of_the_task_is_not() {
    let away = |lasts: u64| Script::switched_off().lasting(seconds(lasts)).then(up());
    let (long, short) = (Remote::standard("long", away(1_800)), Remote::standard("short", away(60)));
    let mut flow = Workflow::<usize>::builder("both");
    let steps = (long.step(&mut flow, "long"), short.step(&mut flow, "short"));
    let flow = flow.returns(steps.0).unwrap();
    let engine = start(&[&flow]).await;
    let tasks = submit(&engine, &[&flow], 10, seconds(20)).await;
    // Such a task looks for itself once a minute, and the ramp of a service that was never well goes up to any rate.
    Clock::tokio().sleep(seconds(300) - Duration::from_secs_f64(short.now())).await;
    short.assert_did_each_once(tasks.len());
    all_complete(&tasks).await;
    long.assert_did_each_once(tasks.len());
}
