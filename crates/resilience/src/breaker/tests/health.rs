//! Health checks, in virtual time: when one is made, what its answer moves, and what it must not. B12.
//! The timer, the running check and other instances are in `health_beside`.

use std::cell::{Cell, RefCell};
use std::future::{Ready, pending, ready};
use std::rc::Rc;

use super::super::health::{Health, HealthCheck};
use super::super::plant::Plant;
use super::super::{Change, ChangeCause};
use super::*;
use crate::clock::VirtualClock;

pub(super) const OPEN: u64 = 60;

pub(super) fn builder(clock: &VirtualClock) -> Builder {
    Breaker::consecutive(1).open_for(s(OPEN)).growing_to(s(10 * OPEN)).successes_to_close(1).clock(clock)
}

pub(super) fn tripped() -> (VirtualClock, Breaker) {
    let clock = VirtualClock::new();
    clock.advance(s(1));
    let breaker = build(builder(&clock));
    fails(&breaker, clock.now(), 1);
    assert_eq!(breaker.state(), State::Open);
    (clock, breaker)
}

pub(super) fn down() -> Health {
    Health::down("still starting")
}

/// A check that answers what is in the cell, and counts how often it was asked.
pub(super) struct Script {
    pub(super) answer: RefCell<Health>,
    asked: Cell<u32>,
}

impl Script {
    pub(super) fn new(answer: Health) -> Rc<Self> {
        Rc::new(Self { answer: RefCell::new(answer), asked: Cell::new(0) })
    }

    pub(super) fn check(
        self: &Rc<Self>,
        breaker: &Breaker,
    ) -> HealthCheck<impl FnMut() -> Ready<Health> + use<>> {
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

pub(super) fn last(breaker: &Breaker) -> Change {
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

#[test]
fn a_check_that_is_replaced_does_not_take_the_word_from_its_successor() {
    let (clock, breaker) = tripped();
    let script = Script::new(down());
    let old = script.check(&breaker).instead_of_timer();
    let mut new = script.check(&breaker).instead_of_timer();
    clock.advance(s(2 * OPEN));
    clock.block_on(new.look());
    drop(old);
    assert!(breaker.try_acquire(clock.now()).is_err(), "the check that lives says down");
    drop(new);
    assert!(breaker.try_acquire(clock.now()).is_ok(), "nobody is left but the timer");
}
