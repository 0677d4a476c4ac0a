//! What is kept of a circuit, without a store.

use std::sync::Arc;
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_resilience::breaker::share::{InstanceId, Offer, ProbeRight, Snapshot};
use steadfast_resilience::breaker::{Override, State};

use super::record::{Body, Release};

const A: InstanceId = InstanceId(1);
const B: InstanceId = InstanceId(2);

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(seconds: u64) -> Time {
    Time::from_millis(seconds * 1_000)
}

fn offer(instance: InstanceId, epoch: u64, state: State) -> Offer {
    let snapshot = Snapshot {
        instance,
        epoch,
        state,
        open_for: (state == State::Open).then(|| s(20)),
        failed_recoveries: 3,
        forced_by: None,
        calls: 0,
        failures: 0,
        age: Duration::ZERO,
    };
    Offer { breaker: Arc::from("svc"), snapshot, probe_for: None }
}

#[test]
fn what_is_closed_and_always_was_is_not_written() {
    let mut body = Body::default();
    let (news, is_new) = body.swap(A, &offer(A, 0, State::Closed), None, at(1));
    assert!(!is_new && news.others.is_empty() && news.probe == ProbeRight::NotAsked);
}

#[test]
fn another_hears_of_a_trip_with_the_time_that_is_left() {
    let mut body = Body::default();
    assert!(body.swap(A, &offer(A, 1, State::Open), None, at(10)).1);
    // The same again is no news.
    assert!(!body.swap(A, &offer(A, 1, State::Open), None, at(11)).1);
    let mut body = Body::unpack(&body.pack());
    let (news, _) = body.swap(B, &offer(B, 0, State::Closed), None, at(15));
    let [heard] = news.others.as_slice() else { panic!("{news:?}") };
    assert_eq!((heard.state, heard.open_for, heard.failed_recoveries), (State::Open, Some(s(15)), 3));
    assert_eq!(heard.age, s(5));
}

#[test]
fn the_right_to_probe_is_one_nodes_at_a_time() {
    let mut body = Body::default();
    let asks = |instance| Offer { probe_for: Some(s(10)), ..offer(instance, 1, State::Open) };
    assert_eq!(body.swap(A, &asks(A), None, at(10)).0.probe, ProbeRight::Mine);
    assert_eq!(body.swap(B, &asks(B), None, at(12)).0.probe, ProbeRight::Held(s(8)));
    // Its holder is not written for each round, and keeps it when half of it is over.
    assert!(!body.swap(A, &asks(A), None, at(13)).1);
    assert!(body.swap(A, &asks(A), None, at(16)).1);
    assert_eq!(body.swap(B, &asks(B), None, at(25)).0.probe, ProbeRight::Held(s(1)));
    assert_eq!(body.swap(B, &asks(B), None, at(26)).0.probe, ProbeRight::Mine);
}

#[test]
fn who_is_gone_is_forgotten_but_for_the_last_word() {
    let mut body = Body::default();
    body.swap(A, &offer(A, 1, State::Open), None, at(0));
    body.swap(B, &offer(B, 1, State::Open), None, at(0));
    body.swap(A, &offer(A, 2, State::ForcedOpen), None, at(1));
    // B is not heard of any more; A neither, but nobody has said anything newer.
    let (news, _) = body.swap(InstanceId(3), &offer(InstanceId(3), 0, State::Closed), None, at(1_000));
    let states: Vec<_> = news.others.iter().map(|told| (told.instance, told.state)).collect();
    assert_eq!(states, [(A, State::ForcedOpen)]);
}

#[test]
fn history_release_and_who_forced_it_are_kept() {
    let mut body = Body::default();
    let release = Release { steady: Some(120.5), stage: Some(4) };
    body.swap(A, &offer(A, 1, State::Open), Some(release), at(1));
    let by = Override { who: "ann".into(), why: "maintenance".into() };
    let mut forced = offer(A, 2, State::ForcedOpen);
    forced.snapshot.forced_by = Some(by);
    body.swap(A, &forced, None, at(2));
    for epoch in 3..100 {
        body.swap(A, &offer(A, epoch, State::Open), None, at(epoch));
    }
    let record = Body::unpack(&body.pack()).record(&Arc::from("svc"));
    assert_eq!((record.steady, record.stage), (Some(120.5), Some(4)));
    assert_eq!((record.state.as_str(), record.history.len()), ("open", 32));
    let mut body = Body::default();
    body.swap(A, &forced, None, at(2));
    let record = body.record(&Arc::from("svc"));
    let ann = Some(("ann".to_owned(), "maintenance".to_owned()));
    assert_eq!((&record.forced_by, &record.history[0].forced_by), (&ann, &ann));
    assert_eq!(record.history[0].at, at(2));
}

#[test]
fn what_cannot_be_read_is_as_if_nothing_were_known() {
    assert_eq!(Body::unpack(b"\xff\xff\xff"), Body::default());
}
