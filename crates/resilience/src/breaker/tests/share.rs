//! Two instances over a memory exchange: both act on one trip, one of them probes.

use std::sync::Arc;

use super::super::Reason;
use super::super::share::{InstanceId, MemoryExchange, Sharing};
use super::*;
use crate::clock::VirtualClock;

const ROUND: Duration = Duration::from_millis(100);

struct Two {
    clock: VirtualClock,
    exchange: Arc<MemoryExchange>,
    breakers: [Breaker; 2],
    sharing: [Sharing; 2],
}

fn two(builder: fn() -> Builder) -> Two {
    let clock = VirtualClock::new();
    clock.advance(s(1));
    let exchange = Arc::new(MemoryExchange::new(&clock));
    let breakers = [1, 2].map(|seed| builder().clock(&clock).seed(seed).build("payments").unwrap());
    let sharing = [0, 1].map(|n| {
        let exchange: Arc<MemoryExchange> = Arc::clone(&exchange);
        Sharing::new(exchange, InstanceId(n), ROUND).with(&breakers[usize::try_from(n).unwrap()])
    });
    Two { clock, exchange, breakers, sharing }
}

fn share_by_two() -> Two {
    two(standard)
}

fn standard() -> Builder {
    Breaker::consecutive(2).open_for(s(10)).successes_to_close(2).half_open_limit(s(30))
}

impl Two {
    /// Rounds of both, for this long, while calls come to both as long as they are refused.
    fn rounds(&self, time: Duration) {
        self.rounds_with_calls(time, &[0, 1]);
    }

    fn rounds_with_calls(&self, time: Duration, callers: &[usize]) {
        let rounds = time.as_nanos() / ROUND.as_nanos();
        for _ in 0..rounds.max(2) {
            for caller in callers {
                // Given back at once: it neither counts nor keeps a place.
                drop(self.breakers[*caller].try_acquire(self.clock.now()));
            }
            for sharing in &self.sharing {
                let _ = self.clock.block_on(sharing.round());
            }
            self.clock.advance(ROUND);
        }
    }

    fn states(&self) -> [State; 2] {
        [self.breakers[0].state(), self.breakers[1].state()]
    }

    fn may_call(&self, instance: usize) -> bool {
        self.breakers[instance].try_acquire(self.clock.now()).is_ok()
    }
}

#[test]
fn one_trip_opens_both_within_a_round() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.rounds(ROUND);
    assert_eq!(two.states(), [State::Open, State::Open]);
    assert!(!two.may_call(1));
    assert_eq!(two.breakers[1].last_trip().unwrap().reason, Reason::Elsewhere);
    let opens = [0, 1].map(|n: usize| two.breakers[n].report().open_for.unwrap());
    assert!(opens[0].abs_diff(opens[1]) <= ROUND * 2, "{opens:?}");
}

#[test]
fn one_of_them_probes_and_both_follow_its_success() {
    let two = two(standard);
    fails(&two.breakers[1], two.clock.now(), 2);
    two.rounds(s(13));
    let may = [two.may_call(0), two.may_call(1)];
    assert_eq!(may.iter().filter(|may| **may).count(), 1, "one prober among both: {may:?}");
    let prober = usize::from(may[1]);
    succeeds(&two.breakers[prober], two.clock.now(), 2);
    assert!(two.breakers[prober].is_closed());
    two.rounds(ROUND);
    assert_eq!(two.states(), [State::Closed, State::Closed]);
}

#[test]
fn a_failed_probe_keeps_both_open_for_longer() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.rounds(s(13));
    let prober = usize::from(!two.may_call(0));
    fails(&two.breakers[prober], two.clock.now(), 1);
    two.rounds(ROUND);
    assert_eq!(two.states(), [State::Open, State::Open]);
    let other = two.breakers[1 - prober].report();
    assert_eq!(other.failed_recoveries, 1);
    assert!(other.open_for.unwrap() > s(14), "the longer time: {other:?}");
}

#[test]
fn when_the_prober_dies_the_other_one_takes_over() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.rounds(s(13));
    let prober = usize::from(!two.may_call(0));
    let survivor = 1 - prober;
    assert!(!two.may_call(survivor));
    let mut waited = 0;
    while !two.may_call(survivor) {
        drop(two.breakers[survivor].try_acquire(two.clock.now()));
        two.clock.block_on(two.sharing[survivor].round()).unwrap();
        two.clock.advance(ROUND);
        waited += 1;
        assert!(waited <= 7, "the lease has ended with the sixth round");
    }
    assert!(waited >= 4, "and was respected until then: {waited}");
}

#[test]
fn a_silent_exchange_leaves_each_with_what_it_knows() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.rounds(ROUND);
    two.exchange.silence(true);
    assert!(two.clock.block_on(two.sharing[0].round()).unwrap_err().to_string().contains("did not answer"));
    two.rounds(s(9));
    assert_eq!(two.states(), [State::Open, State::Open]);
    let left = two.breakers.each_ref().map(|breaker| breaker.report().open_for.unwrap());
    two.clock.advance(left[0].max(left[1]));
    assert!(
        !two.may_call(0) && !two.may_call(1),
        "for a few rounds each respects a lease that it cannot ask for"
    );
    two.rounds(s(4));
    assert!(two.may_call(0) && two.may_call(1), "open states end by their own timers");
}

#[test]
fn forced_states_go_round_with_who_and_why() {
    let two = two(standard);
    two.breakers[0].force_open(None, "ada", "maintenance");
    two.rounds(ROUND);
    assert_eq!(two.states(), [State::ForcedOpen, State::ForcedOpen]);
    assert_eq!(two.breakers[1].forced_by().unwrap().who, "ada");
    two.exchange.silence(true);
    two.rounds(s(60));
    assert!(!two.may_call(1), "forced stays forced while the exchange is silent");
    two.exchange.silence(false);
    two.breakers[1].reset("bob", "done");
    two.rounds(ROUND);
    assert_eq!(two.states(), [State::Closed, State::Closed]);
    two.breakers[1].force_closed("bob", "drill");
    two.rounds(ROUND);
    assert_eq!(two.states(), [State::ForcedClosed, State::ForcedClosed]);
}

#[test]
fn a_fault_thinly_spread_trips_where_asked() {
    let spread = |two: &Two| {
        for breaker in &two.breakers {
            succeeds(breaker, two.clock.now(), 2);
            fails(breaker, two.clock.now(), 4);
        }
        two.rounds(ROUND);
    };
    let apart = two(|| Breaker::ratio(0.5).min_calls(10).no_consecutive());
    spread(&apart);
    assert_eq!(apart.states(), [State::Closed, State::Closed], "6 calls each: nobody saw enough");
    let together = two(|| Breaker::ratio(0.5).min_calls(10).no_consecutive().together());
    spread(&together);
    assert_eq!(together.states(), [State::Open, State::Open]);
    let reasons = together.breakers.each_ref().map(|breaker| breaker.last_trip().unwrap().reason);
    assert!(reasons.contains(&Reason::Together { failures: 8, calls: 12 }), "{reasons:?}");
}

#[test]
fn an_instance_that_joins_late_hears_of_the_open_state() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.clock.block_on(two.sharing[0].round()).unwrap();
    two.clock.advance(s(5));
    two.clock.block_on(two.sharing[1].round()).unwrap();
    assert_eq!(two.breakers[1].state(), State::Open);
    assert!(two.breakers[1].report().open_for.unwrap() <= s(7), "its time is as old as the news");
}

#[test]
fn an_instance_without_calls_does_not_keep_the_lease_from_the_other() {
    let two = two(standard);
    fails(&two.breakers[1], two.clock.now(), 2);
    two.rounds_with_calls(s(60), &[1]);
    assert!(two.may_call(1), "the one with calls probes");
    succeeds(&two.breakers[1], two.clock.now(), 2);
    two.rounds(ROUND);
    assert_eq!(two.states(), [State::Closed, State::Closed]);
}

#[test]
fn a_forced_state_wins_over_a_trip_of_the_same_moment() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.breakers[1].force_open(None, "ada", "maintenance");
    two.rounds(s(60));
    assert_eq!(two.states(), [State::ForcedOpen, State::ForcedOpen]);
    let both = share_by_two();
    both.breakers[0].force_closed("ada", "drill");
    both.breakers[1].force_open(None, "bob", "maintenance");
    both.rounds(s(1));
    assert_eq!(both.states(), [State::ForcedOpen, State::ForcedOpen], "two deeds at once end in one state");
}

#[test]
fn a_newcomers_trip_is_not_undone_by_those_who_have_seen_more() {
    let two = two(standard);
    for _ in 0..5 {
        two.breakers[0].reset("ada", "again");
    }
    two.clock.block_on(two.sharing[0].round()).unwrap();
    fails(&two.breakers[1], two.clock.now(), 2);
    two.clock.block_on(two.sharing[1].round()).unwrap();
    two.clock.block_on(two.sharing[0].round()).unwrap();
    assert_eq!(two.states(), [State::Open, State::Open], "heard within a round each");
    let fresh = share_by_two();
    fresh.breakers[0].trip(&TIMEOUT);
    fresh.rounds_with_calls(s(12), &[0]);
    succeeds(&fresh.breakers[0], fresh.clock.now(), 2);
    assert!(fresh.breakers[0].is_closed());
    let newcomer = standard().clock(&fresh.clock).seed(9).build("payments").unwrap();
    let joins = Sharing::new(Arc::clone(&fresh.exchange) as Arc<_>, InstanceId(7), ROUND).with(&newcomer);
    fresh.rounds(ROUND);
    fails(&newcomer, fresh.clock.now(), 2);
    for _ in 0..3 {
        fresh.clock.block_on(joins.round()).unwrap();
        fresh.rounds(ROUND);
    }
    assert_eq!((newcomer.state(), fresh.states()), (State::Open, [State::Open, State::Open]));
}

#[test]
fn what_others_say_is_bounded() {
    use super::super::share::{News, ProbeRight, Snapshot};
    let two = two(standard);
    let lie = |open_for: Option<Duration>, epoch: u64| Snapshot {
        instance: InstanceId(9),
        epoch,
        state: State::Open,
        open_for,
        failed_recoveries: 0,
        forced_by: None,
        calls: u64::MAX,
        failures: u64::MAX,
        age: Duration::ZERO,
    };
    let breaker = &two.breakers[0];
    let news = News {
        others: vec![lie(None, u64::MAX), lie(Some(Duration::MAX), 3)],
        probe: ProbeRight::Held(Duration::MAX),
    };
    let _ = breaker.absorb(&news, ROUND);
    assert_eq!(breaker.state(), State::Open);
    two.clock.advance(s(601));
    assert!(breaker.try_acquire(two.clock.now()).is_ok(), "no longer than our own max_hold");
    breaker.reset("ada", "at the end of all epochs");
    fails(breaker, two.clock.now(), 2);
    assert_eq!((breaker.state(), breaker.report().state), (State::Open, State::Open));
}

#[test]
fn a_dead_instances_counts_do_not_trip_the_others() {
    let two = two(|| {
        Breaker::ratio(0.5).min_calls(10).no_consecutive().together().open_for(s(1)).successes_to_close(1)
    });
    fails(&two.breakers[0], two.clock.now(), 9);
    two.clock.block_on(two.sharing[0].round()).unwrap();
    two.clock.advance(s(2));
    for _ in 0..40 {
        succeeds(&two.breakers[1], two.clock.now(), 1);
        two.clock.block_on(two.sharing[1].round()).unwrap();
        two.clock.advance(ROUND);
    }
    assert_eq!(two.breakers[1].history().len(), 0);
}

#[test]
fn one_of_them_probes_after_a_forced_open_state_with_an_end() {
    let two = two(standard);
    two.breakers[0].force_open(Some(s(5)), "ada", "deploy");
    two.rounds(s(6));
    let may = [two.may_call(0), two.may_call(1)];
    assert_eq!(may.iter().filter(|may| **may).count(), 1, "{may:?}");
}

#[test]
fn a_newcomer_hears_of_an_open_state_that_waits_for_its_probe() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.clock.advance(s(20));
    two.clock.block_on(two.sharing[0].round()).unwrap();
    two.clock.block_on(two.sharing[1].round()).unwrap();
    assert_eq!(two.breakers[1].state(), State::Open);
}

#[test]
fn rounds_without_a_pause_are_not_taken() {
    let two = two(standard);
    let hasty = Sharing::new(Arc::clone(&two.exchange) as Arc<_>, InstanceId(5), Duration::ZERO)
        .with(&two.breakers[0]);
    let mut going = Box::pin(hasty.keep_going());
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(going.as_mut().poll(&mut context).is_pending());
}

#[test]
fn who_has_not_asked_for_the_lease_asks_before_it_probes() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.rounds_with_calls(s(60), &[]);
    assert!(!two.may_call(0) && !two.may_call(1), "the open time is long over, but nobody holds the lease");
    two.rounds(ROUND);
    let may = [two.may_call(0), two.may_call(1)];
    assert_eq!(may.iter().filter(|may| **may).count(), 1, "{may:?}");
}

#[test]
fn a_held_state_outlasts_what_others_find_later() {
    let two = two(standard);
    two.breakers[0].force_open(None, "ada", "maintenance");
    two.clock.block_on(two.sharing[0].round()).unwrap();
    // The other one has not heard of it, and lives through a trip and a recovery of its own.
    fails(&two.breakers[1], two.clock.now(), 2);
    two.clock.advance(s(30));
    succeeds(&two.breakers[1], two.clock.now(), 2);
    assert!(two.breakers[1].is_closed());
    two.rounds(s(1));
    assert_eq!(two.states(), [State::ForcedOpen, State::ForcedOpen]);
}

#[test]
fn an_exchange_that_does_not_answer_says_why() {
    use std::error::Error as _;
    let error = super::super::share::ExchangeError("no route".into());
    assert_eq!(error.source().unwrap().to_string(), "no route");
    let sharing = Sharing::new(Arc::new(MemoryExchange::new(VirtualClock::new())), InstanceId(7), s(1));
    assert!(format!("{sharing:?}").contains("InstanceId(7)"));
}

#[test]
fn one_that_is_closed_opens_when_another_is_half_open() {
    let two = two(standard);
    two.breakers[0].half_open("ada", "is it back?");
    two.rounds_with_calls(ROUND, &[]);
    assert_eq!(two.states(), [State::HalfOpen, State::Open], "the other one probes, this one waits");
}

#[test]
fn one_that_is_open_waits_for_another_that_probes_no_longer_than_before() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.rounds(ROUND);
    let before = two.breakers[1].report().open_for.unwrap();
    two.breakers[0].half_open("ada", "is it back?");
    two.rounds_with_calls(ROUND, &[]);
    assert_eq!(two.states(), [State::HalfOpen, State::Open]);
    assert!(two.breakers[1].report().open_for.unwrap() < before, "its time goes on");
}

#[test]
fn a_probe_under_way_keeps_the_lease() {
    let two = two(standard);
    fails(&two.breakers[0], two.clock.now(), 2);
    two.rounds(s(13));
    let prober = usize::from(!two.may_call(0));
    let probe = two.breakers[prober].try_acquire(two.clock.now()).unwrap();
    for _ in 0..400 {
        two.rounds_with_calls(ROUND, &[]);
        assert!(!two.may_call(1 - prober), "the first one still probes");
    }
    probe.success(two.clock.now());
}
