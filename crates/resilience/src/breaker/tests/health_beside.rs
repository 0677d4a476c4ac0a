//! Health checks beside others: the timer, time that passes while they run, and instances that share. B12.

use std::cell::RefCell;
use std::future::ready;
use std::sync::Arc;

use super::super::health::Health;
use super::super::share::{InstanceId, MemoryExchange, Sharing};
use super::health::{OPEN, Script, builder, down, last, tripped};
use super::*;
use crate::clock::VirtualClock;

// B12
#[test]
fn instead_of_the_timer_only_a_healthy_answer_lets_probes_through() {
    let (clock, breaker) = tripped();
    let script = Script::new(down());
    let mut check = script.check(&breaker).instead_of_timer();
    clock.advance(s(2 * OPEN));
    clock.block_on(check.look());
    let refused = breaker.try_acquire(clock.now()).unwrap_err();
    assert_eq!((refused.state(), breaker.state()), (State::Open, State::Open));
    *script.answer.borrow_mut() = Health::Up;
    clock.block_on(check.look());
    assert_eq!(succeeds(&breaker, clock.now(), 1), 1);
    assert!(breaker.is_closed());
}

#[test]
fn a_dropped_check_gives_the_timer_its_word_back_at_once() {
    let (clock, breaker) = tripped();
    let mut check = Script::new(down()).check(&breaker).instead_of_timer();
    clock.advance(s(2 * OPEN));
    clock.block_on(check.look());
    assert_eq!(succeeds(&breaker, clock.now(), 1), 0);
    drop(check);
    assert_eq!(succeeds(&breaker, clock.now(), 1), 1);
}

#[test]
fn a_check_that_is_no_longer_polled_loses_its_word_after_two_looks() {
    let (clock, breaker) = tripped();
    let mut check = Script::new(down()).check(&breaker).instead_of_timer();
    clock.advance(s(2 * OPEN));
    clock.block_on(check.look());
    let lease = (s(2) + s(1)) * 2;
    clock.advance(lease - Duration::from_nanos(1));
    assert_eq!(succeeds(&breaker, clock.now(), 1), 0);
    clock.advance(Duration::from_nanos(1));
    assert_eq!(succeeds(&breaker, clock.now(), 1), 1);
    drop(check);
}

#[test]
fn what_an_operator_holds_open_with_an_end_is_left_to_the_timer() {
    let (clock, breaker) = tripped();
    let mut check = Script::new(down()).check(&breaker).instead_of_timer();
    breaker.force_open(Some(s(5)), "ada", "maintenance");
    clock.advance(s(5));
    clock.block_on(check.look());
    assert_eq!(succeeds(&breaker, clock.now(), 1), 1);
}

/// Runs a check for a time, beside something else.
fn run_for(clock: &VirtualClock, time: Duration, check: impl Future<Output = ()>, beside: impl Future) {
    clock.block_on(async {
        let end = async {
            beside.await;
            clock.timer(time).await;
        };
        tokio::select! { () = check => {}, () = end => {} }
    });
}

/// When a check of this seed looked, within a minute of an open state.
fn looks(seed: u64) -> Vec<Duration> {
    let (clock, breaker) = tripped();
    let times = RefCell::new(Vec::new());
    let check = breaker
        .health_check(|| {
            times.borrow_mut().push(clock.now() - at(1));
            ready(down())
        })
        .every(s(2))
        .seed(seed);
    run_for(&clock, s(OPEN), check.run(), ready(()));
    times.into_inner()
}

// B12
#[test]
fn looks_come_at_their_interval_and_instances_are_not_in_step() {
    let (one, two) = (looks(1), looks(2));
    assert!((25..=38).contains(&one.len()), "{} looks in a minute", one.len());
    let waits: Vec<_> = one.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(waits.iter().all(|wait| (s(2) - s(2) / 5..=s(2) + s(2) / 5).contains(wait)), "{waits:?}");
    assert!(one[1..].iter().zip(&two[1..]).all(|(one, two)| one != two), "{one:?} {two:?}");
    assert_eq!(one, looks(1), "a seed replays them");
}

#[test]
fn a_running_check_finds_the_service_up_soon_after_it_is_back() {
    let (clock, breaker) = tripped();
    let script = Script::new(down());
    let check = script.check(&breaker).run();
    let back = async {
        clock.timer(s(20)).await;
        *script.answer.borrow_mut() = Health::Up;
    };
    run_for(&clock, s(3), check, back);
    assert_eq!(breaker.state(), State::HalfOpen);
    assert!(last(&breaker).at <= at(21) + Duration::from_millis(2400), "{:?}", last(&breaker).at);
}

#[test]
fn who_is_refused_while_a_check_has_the_word_is_told_of_its_next_look() {
    let (clock, breaker) = tripped();
    let check = Script::new(down()).check(&breaker).instead_of_timer().run();
    let told = async {
        clock.timer(s(2 * OPEN)).await;
        let wait = breaker.try_acquire(clock.now()).unwrap_err().retry_in().unwrap();
        assert!(wait > Duration::ZERO && wait <= Duration::from_millis(2400), "{wait:?}");
        assert_eq!(breaker.core().next_probe_in(clock.now()), Some(wait));
    };
    run_for(&clock, s(1), check, told);
}

// B12, B16
#[test]
fn among_instances_that_share_a_healthy_answer_lets_one_of_them_probe() {
    let clock = VirtualClock::new();
    clock.advance(s(1));
    let exchange = Arc::new(MemoryExchange::new(&clock));
    let breakers = [1, 2].map(|seed| builder(&clock).seed(seed).build("shared").unwrap());
    let sharing = [0, 1].map(|n: u8| {
        let exchange: Arc<MemoryExchange> = Arc::clone(&exchange);
        Sharing::new(exchange, InstanceId(n.into()), Duration::from_millis(100))
            .with(&breakers[usize::from(n)])
    });
    for breaker in &breakers {
        fails(breaker, clock.now(), 1);
    }
    let mut checks = breakers.each_ref().map(|breaker| Script::new(Health::Up).check(breaker));
    for check in &mut checks {
        clock.block_on(check.look());
    }
    let states = || breakers.each_ref().map(Breaker::state);
    assert_eq!(states(), [State::Open, State::Open], "nobody has the right to probe yet");
    for _ in 0..3 {
        for n in [0, 1] {
            drop(breakers[n].try_acquire(clock.now())); // there are calls to make on both
            clock.block_on(sharing[n].round()).unwrap();
        }
        clock.advance(Duration::from_millis(100));
    }
    for check in &mut checks {
        clock.block_on(check.look());
    }
    assert_eq!(states(), [State::HalfOpen, State::Open], "one of them, {OPEN} s early");
    succeeds(&breakers[0], clock.now(), 1);
    for sharing in &sharing {
        clock.block_on(sharing.round()).unwrap();
    }
    assert_eq!(states(), [State::Closed, State::Closed]);
}

#[test]
fn an_instance_that_only_heard_of_a_trip_keeps_to_the_time_it_heard() {
    let clock = VirtualClock::new();
    clock.advance(s(1));
    let exchange = Arc::new(MemoryExchange::new(&clock));
    let breakers = [1, 2].map(|seed| builder(&clock).seed(seed).build("shared").unwrap());
    for (n, breaker) in (0..).zip(&breakers) {
        let exchange: Arc<MemoryExchange> = Arc::clone(&exchange);
        let sharing = Sharing::new(exchange, InstanceId(n), Duration::from_millis(100)).with(breaker);
        fails(&breakers[0], clock.now(), 1);
        clock.block_on(sharing.round()).unwrap();
    }
    assert_eq!(breakers[1].state(), State::Open);
    let script = Script::new(Health::Up);
    assert_eq!(clock.block_on(script.check(&breakers[1]).look()), None);
    assert!(clock.block_on(script.check(&breakers[0]).look()).is_some());
}
