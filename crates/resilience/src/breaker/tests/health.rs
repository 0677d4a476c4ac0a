//! Health checks, in virtual time: when one is made, what its answer moves, and what it must not. B12.

use std::cell::{Cell, RefCell};
use std::future::{Ready, pending, ready};
use std::rc::Rc;
use std::sync::Arc;

use super::super::health::{Health, HealthCheck};
use super::super::plant::Plant;
use super::super::share::{InstanceId, MemoryExchange, Sharing};
use super::super::{Change, ChangeCause};
use super::*;
use crate::clock::VirtualClock;

const OPEN: u64 = 60;

fn builder(clock: &VirtualClock) -> Builder {
    Breaker::consecutive(1).open_for(s(OPEN)).growing_to(s(10 * OPEN)).successes_to_close(1).clock(clock)
}

fn tripped() -> (VirtualClock, Breaker) {
    let clock = VirtualClock::new();
    clock.advance(s(1));
    let breaker = build(builder(&clock));
    fails(&breaker, clock.now(), 1);
    assert_eq!(breaker.state(), State::Open);
    (clock, breaker)
}

fn down() -> Health {
    Health::down("still starting")
}

/// A check that answers what is in the cell, and counts how often it was asked.
struct Script {
    answer: RefCell<Health>,
    asked: Cell<u32>,
}

impl Script {
    fn new(answer: Health) -> Rc<Self> {
        Rc::new(Self { answer: RefCell::new(answer), asked: Cell::new(0) })
    }

    fn check(self: &Rc<Self>, breaker: &Breaker) -> HealthCheck<impl FnMut() -> Ready<Health> + use<>> {
        let script = Rc::clone(self);
        breaker
            .health_check(move || {
                script.asked.set(script.asked.get() + 1);
                ready(script.answer.borrow().clone())
            })
            .every(s(2))
            .timeout(s(1))
            .seed(1)
    }
}

fn last(breaker: &Breaker) -> Change {
    breaker.history().pop().unwrap()
}

// B12
#[test]
fn up_lets_probes_through_early_and_real_calls_decide() {
    let (clock, breaker) = tripped();
    let mut check = Script::new(Health::Up).check(&breaker);
    assert_eq!(clock.block_on(check.look()), Some(Health::Up));
    assert_eq!(breaker.state(), State::HalfOpen, "half-open, not closed");
    let change = last(&breaker);
    assert!(matches!(change.cause, ChangeCause::FoundUp));
    let told = "circuit `test`: open -> half-open (a health check found the service up)";
    assert_eq!(change.to_string(), told);
    succeeds(&breaker, clock.now(), 1);
    assert!(breaker.is_closed());
}

// B12
#[test]
fn down_changes_nothing_and_does_not_lengthen_the_open_time() {
    let (clock, breaker) = tripped();
    let before = breaker.report();
    let mut check = Script::new(down()).check(&breaker);
    for _ in 0..5 {
        assert_eq!(clock.block_on(check.look()), Some(down()));
    }
    assert_eq!(breaker.report(), before);
    assert_eq!(breaker.history().len(), 1);
    assert_eq!(breaker.last_health(), Some((down(), clock.now())));
    // The timer goes on beside it.
    clock.advance(s(OPEN + OPEN / 10));
    assert_eq!(succeeds(&breaker, clock.now(), 1), 1);
}

#[test]
fn an_answer_is_never_counted_as_a_call() {
    let (clock, breaker) = tripped();
    let script = Script::new(down());
    let mut check = script.check(&breaker);
    clock.block_on(check.look());
    *script.answer.borrow_mut() = Health::Up;
    clock.block_on(check.look());
    let report = breaker.report();
    assert_eq!((report.calls, report.failures, report.probes, report.late), (0, 0, 0, 0));
    assert_eq!(breaker.last_failure().unwrap().0, TIMEOUT);
}

// B12, B13
#[test]
fn only_an_open_breaker_is_checked() {
    let (clock, breaker) = tripped();
    let script = Script::new(Health::Up);
    let mut check = script.check(&breaker);
    let states: [&dyn Fn(); 5] = [
        &|| breaker.reset("ada", "test"),
        &|| breaker.force_closed("ada", "test"),
        &|| breaker.force_open(None, "ada", "test"),
        &|| breaker.force_open(Some(s(5)), "ada", "test"),
        &|| breaker.half_open("ada", "test"),
    ];
    for set in states {
        set();
        let before = (breaker.state(), breaker.history().len());
        assert_eq!(clock.block_on(check.look()), None, "{}", before.0);
        assert_eq!((breaker.state(), breaker.history().len()), before);
    }
    assert_eq!(script.asked.get(), 0);
    fails(&breaker, clock.now(), 1);
    assert!(clock.block_on(check.look()).is_some(), "open again");
}

// B11, B12
#[test]
fn the_time_that_a_service_names_is_kept() {
    let clock = VirtualClock::new();
    let breaker = build(builder(&clock).open_for(s(5)));
    let busy = Verdict::throttled(Kind::THROTTLED).with_hint(s(30));
    calls(&breaker, clock.now(), [busy]);
    let script = Script::new(Health::Up);
    let mut check = script.check(&breaker);
    clock.advance(s(30) - Duration::from_nanos(1));
    assert_eq!((clock.block_on(check.look()), script.asked.get()), (None, 0));
    clock.advance(Duration::from_nanos(1));
    assert!(clock.block_on(check.look()).is_some());
    assert_eq!(breaker.state(), State::HalfOpen);
}

#[test]
fn a_named_time_that_is_shorter_than_the_open_time_binds_only_for_its_length() {
    let clock = VirtualClock::new();
    let breaker = build(builder(&clock));
    calls(&breaker, clock.now(), [Verdict::throttled(Kind::THROTTLED).with_hint(s(3))]);
    let mut check = Script::new(Health::Up).check(&breaker);
    assert_eq!(clock.block_on(check.look()), None);
    clock.advance(s(3));
    assert!(clock.block_on(check.look()).is_some());
    assert_eq!(breaker.state(), State::HalfOpen, "{OPEN} s would not be over");
}

/// Looks while `meanwhile` happens between the check's question and its answer, which is *up*.
fn look_while(breaker: &Breaker, clock: &VirtualClock, meanwhile: impl Fn(&Breaker)) -> State {
    let mut check = breaker.health_check(|| {
        meanwhile(breaker);
        ready(Health::Up)
    });
    assert_eq!(clock.block_on(check.look()), Some(Health::Up));
    breaker.state()
}

fn trip_again(breaker: &Breaker) {
    breaker.reset("ada", "test");
    breaker.trip(&TIMEOUT);
}

// B12, I4
#[test]
fn an_answer_about_an_earlier_state_changes_nothing() {
    let (clock, breaker) = tripped();
    assert_eq!(look_while(&breaker, &clock, trip_again), State::Open);
    assert_eq!(look_while(&breaker, &clock, |breaker| breaker.reset("ada", "test")), State::Closed);
    fails(&breaker, clock.now(), 1);
    let force = |breaker: &Breaker| breaker.force_open(None, "ada", "test");
    assert_eq!(look_while(&breaker, &clock, force), State::ForcedOpen);
    let causes = breaker.history();
    assert!(!causes.iter().any(|change| matches!(change.cause, ChangeCause::FoundUp)), "{causes:?}");
}

#[test]
fn with_the_generation_check_removed_an_old_answer_moves_it() {
    let clock = VirtualClock::new();
    let breaker = build(builder(&clock).plant(Plant::NoGenerationCheck));
    breaker.trip(&TIMEOUT);
    assert_eq!(look_while(&breaker, &clock, trip_again), State::HalfOpen, "the bug is there, and seen");
}

#[test]
fn a_reload_meanwhile_keeps_the_state_and_the_answer_counts() {
    let (clock, breaker) = tripped();
    let reload = |breaker: &Breaker| {
        breaker.reconfigure(&Breaker::standard().open_for(s(7))).unwrap();
    };
    assert_eq!(look_while(&breaker, &clock, reload), State::HalfOpen);
}

// B12
#[test]
fn a_check_that_hangs_is_down_when_its_time_is_over() {
    let (clock, breaker) = tripped();
    let mut check = breaker.health_check(pending::<Health>).timeout(s(3));
    let began = clock.now();
    let health = clock.block_on(check.look()).unwrap();
    assert_eq!((health.reason(), clock.now() - began), (Some("no answer within 3s"), s(3)));
    assert_eq!(breaker.state(), State::Open);
}

#[test]
fn a_check_that_panics_is_down_and_the_looks_go_on() {
    let (clock, breaker) = tripped();
    let mut asked = 0;
    let mut check = breaker.health_check(|| {
        asked += 1;
        assert!(asked != 1, "at the door");
        let second = asked == 2;
        async move {
            assert!(!second, "{}", String::from("inside"));
            Health::Up
        }
    });
    for expected in ["the check panicked: at the door", "the check panicked: inside"] {
        assert_eq!(clock.block_on(check.look()).unwrap().reason(), Some(expected));
        assert_eq!(breaker.state(), State::Open);
    }
    assert_eq!(clock.block_on(check.look()), Some(Health::Up));
    assert_eq!(breaker.state(), State::HalfOpen);
}

#[test]
fn so_many_healthy_answers_in_a_row_are_needed_as_asked_for() {
    let (clock, breaker) = tripped();
    let script = Script::new(Health::Up);
    let mut check = script.check(&breaker).healthy_in_a_row(3);
    let look = |check: &mut HealthCheck<_>, answer: Health| {
        *script.answer.borrow_mut() = answer;
        clock.block_on(check.look());
        breaker.state()
    };
    for answer in [Health::Up, Health::Up, down(), Health::Up, Health::Up] {
        assert_eq!(look(&mut check, answer), State::Open);
    }
    // Two are there; they belong to this open state and not to the next one.
    trip_again(&breaker);
    for expected in [State::Open, State::Open, State::HalfOpen] {
        assert_eq!(look(&mut check, Health::Up), expected);
    }
}

// B12: a check that is wrong must not undo the growth of the open time.
#[test]
fn a_check_that_was_wrong_ends_no_open_time_early_until_the_breaker_has_closed() {
    let (clock, breaker) = tripped();
    let script = Script::new(Health::Up);
    let mut check = script.check(&breaker);
    clock.block_on(check.look());
    fails(&breaker, clock.now(), 1);
    assert_eq!((breaker.state(), breaker.report().failed_recoveries), (State::Open, 1));
    let open_for = breaker.report().open_for.unwrap();
    for part in [open_for / 2, open_for - open_for / 2] {
        assert_eq!(clock.block_on(check.look()), None, "it said up, and the probe failed");
        clock.advance(part);
    }
    // After the open time it may speak again, and be wrong again; the timer's recovery does not restore its name.
    assert!(clock.block_on(check.look()).is_some());
    fails(&breaker, clock.now(), 1);
    clock.advance(breaker.report().open_for.unwrap());
    fails(&breaker, clock.now(), 1);
    assert_eq!((breaker.report().failed_recoveries, clock.block_on(check.look())), (3, None));
    assert_eq!(script.asked.get(), 2);
    clock.advance(breaker.report().open_for.unwrap());
    succeeds(&breaker, clock.now(), 1);
    assert!(breaker.is_closed());
    fails(&breaker, clock.now(), 1);
    assert!(clock.block_on(check.look()).is_some(), "a new outage, a new word");
}

#[test]
fn probes_that_hang_after_its_word_cost_a_check_its_name_too() {
    let (clock, breaker) = tripped();
    let mut check = Script::new(Health::Up).check(&breaker);
    clock.block_on(check.look());
    let _hanging = breaker.try_acquire(clock.now()).unwrap();
    clock.advance(s(30));
    assert!(breaker.try_acquire(clock.now()).is_err());
    assert_eq!((breaker.state(), clock.block_on(check.look())), (State::Open, None));
}

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

// B12: it reads what the service reports.
#[test]
fn what_services_report_is_understood() {
    for up in ["UP", "up", "pass", "ok", "OK", "warn", "SERVING", "Healthy", "Degraded", "passing", " UP\n"] {
        assert_eq!(Health::reported(up), Health::Up, "{up:?}");
    }
    let others = ["DOWN", "fail", "error", "OUT_OF_SERVICE", "UNKNOWN", "NOT_SERVING", "SERVICE_UNKNOWN"];
    for word in others.into_iter().chain(["Unhealthy", "critical", "", "upp", "u p", "supper", "\u{1b}[31m"])
    {
        let reason = format!("it reports {word:?}");
        assert_eq!(Health::reported(word).reason(), Some(&*reason), "{word:?}");
    }
    let long = "x".repeat(10_000);
    assert!(Health::reported(&long).to_string().len() < 120, "a stranger's words are cut");
}

// B12: a check may repeat an operation that failed.
#[test]
fn a_repeated_operation_is_judged_as_a_probe_is() {
    use std::io::{Error, ErrorKind};
    let of = |kind: ErrorKind| Health::from(Err::<(), _>(Error::from(kind)));
    assert_eq!(Health::from(Ok::<_, Error>(())), Health::Up);
    assert_eq!(of(ErrorKind::NotFound), Health::Up, "the service answered");
    let refused = of(ErrorKind::ConnectionRefused).to_string();
    assert_eq!(refused, "down: transient connect-refused: connection refused");
    assert!(!Health::from(Verdict::neutral(Kind::CANCELLED)).is_up(), "it says nothing");
    assert!(!Health::from(Verdict::unclassified()).is_up());
    // What it says when it worked is not lost either.
    assert_eq!(Health::from(Ok::<_, Error>(down())), down());
}
