//! The one function that moves states: every state with every input.

use super::super::state::{Input, OpenTime, Phase, State, Trust, transition};
use super::*;

const OPEN: OpenTime = OpenTime { first: Duration::from_secs(10), growth: 2.0, cap: Duration::from_secs(60) };
const STATES: [State; 5] =
    [State::Closed, State::Open, State::HalfOpen, State::ForcedOpen, State::ForcedClosed];

fn phase(state: State) -> Phase {
    Phase { state, until: at(100), failed_recoveries: 2, ..Phase::CLOSED }
}

fn moved(state: State, input: Input, now: Moment) -> Option<State> {
    transition(phase(state), input, now, OPEN, 0.0).map(|next| next.state)
}

#[test]
fn each_input_moves_only_the_states_it_belongs_to() {
    let hold = Duration::ZERO;
    for (input, expected) in [
        (Input::Tripped { hold }, [Some(State::Open), None, None, None, None]),
        (Input::ProbeDue, [None, Some(State::HalfOpen), None, Some(State::HalfOpen), None]),
        (Input::FoundUp, [None, Some(State::HalfOpen), None, None, None]),
        (Input::ProbeFailed { hold }, [None, None, Some(State::Open), None, None]),
        (Input::Stalled, [None, None, Some(State::Open), None, None]),
        (Input::Recovered, [None, None, Some(State::Closed), None, None]),
        (Input::ForceOpen { until: None }, [Some(State::ForcedOpen); 5]),
        (Input::ForceClosed, [Some(State::ForcedClosed); 5]),
        (Input::ForceHalfOpen, [Some(State::HalfOpen); 5]),
        (Input::Reset, [Some(State::Closed); 5]),
        (
            Input::OthersOpened { until: at(200), failed_recoveries: 3 },
            [Some(State::Open), Some(State::Open), Some(State::Open), None, None],
        ),
        (Input::OthersRecovered, [None, Some(State::Closed), Some(State::Closed), None, None]),
    ] {
        for (state, expected) in STATES.into_iter().zip(expected) {
            assert_eq!(moved(state, input, at(100)), expected, "{state} on {input:?}");
        }
    }
}

#[test]
fn an_open_state_ends_at_its_time_and_not_before() {
    for state in [State::Open, State::ForcedOpen] {
        let just_before = Moment::from_nanos(at(100).as_nanos() - 1);
        assert_eq!(moved(state, Input::ProbeDue, just_before), None);
        assert_eq!(moved(state, Input::ProbeDue, at(100)), Some(State::HalfOpen));
    }
}

#[test]
fn failed_recoveries_are_kept_while_probing_and_end_with_recovery() {
    let next = |state, input| transition(phase(state), input, at(100), OPEN, 0.0).unwrap();
    assert_eq!(next(State::Open, Input::ProbeDue).failed_recoveries, 2);
    assert_eq!(next(State::HalfOpen, Input::Stalled).failed_recoveries, 3);
    let failed = next(State::HalfOpen, Input::ProbeFailed { hold: s(0) });
    assert_eq!((failed.failed_recoveries, failed.until), (3, at(100) + s(60)));
    assert_eq!(next(State::HalfOpen, Input::ProbeFailed { hold: s(70) }).until, at(100) + s(70));
    let recovered = next(State::HalfOpen, Input::Recovered);
    let lasts_from = at(100) + s(80);
    assert_eq!(recovered, Phase { failed_recoveries: 2, lasts_from, ..Phase::CLOSED });
    assert_eq!(next(State::Open, Input::OthersRecovered), recovered);
    let tripped = |now| transition(recovered, Input::Tripped { hold: s(0) }, now, OPEN, 0.0).unwrap();
    let just_before = Moment::from_nanos(lasts_from.as_nanos() - 1);
    assert_eq!((tripped(just_before).failed_recoveries, tripped(lasts_from).failed_recoveries), (3, 0));
    assert_eq!(next(State::Open, Input::Reset), Phase::CLOSED);
    assert_eq!(next(State::Closed, Input::Tripped { hold: s(0) }).failed_recoveries, 0);
    assert_eq!(next(State::Open, Input::ForceOpen { until: Some(at(7)) }).until, at(7));
    assert_eq!(next(State::Open, Input::ForceOpen { until: None }).until, Moment::FAR);
}

// B12
#[test]
fn a_health_check_ends_an_open_state_unless_the_time_was_named_by_the_service() {
    let open = |held_until| Phase { held_until, ..phase(State::Open) };
    let next = |held| transition(open(held), Input::FoundUp, at(50), OPEN, 0.0);
    let early = next(at(50)).unwrap();
    assert_eq!((early.state, early.trust, early.failed_recoveries), (State::HalfOpen, Trust::Put, 2));
    assert_eq!(next(at(51)), None);
    for hold in [0, 5, 20] {
        let tripped = transition(Phase::CLOSED, Input::Tripped { hold: s(hold) }, at(50), OPEN, 0.0).unwrap();
        assert_eq!(tripped.held_until, at(50) + s(hold));
    }
    let told = Input::OthersOpened { until: at(200), failed_recoveries: 0 };
    assert_eq!(transition(Phase::CLOSED, told, at(50), OPEN, 0.0).unwrap().held_until, at(200));
}

// B12
#[test]
fn a_failed_recovery_costs_only_the_check_that_began_it_its_trust() {
    use Trust::{Full, Lost, Put};
    for (trust, after) in [(Full, Full), (Put, Lost), (Lost, Lost)] {
        for input in [Input::ProbeFailed { hold: s(1) }, Input::Stalled] {
            let half_open = Phase { trust, ..phase(State::HalfOpen) };
            let open = transition(half_open, input, at(50), OPEN, 0.0).unwrap();
            assert_eq!(open.trust, after, "{input:?}");
            assert_eq!(open.held_until == open.until, after == Lost, "{input:?}");
        }
    }
}

#[test]
fn what_others_say_only_lengthens_an_open_state() {
    let others = |seconds: u64| Input::OthersOpened { until: at(seconds), failed_recoveries: 1 };
    assert_eq!(moved(State::Closed, others(100), at(100)), None, "already over");
    assert_eq!(moved(State::Closed, others(101), at(100)), Some(State::Open));
    assert_eq!(moved(State::Open, others(100), at(50)), None, "not longer than ours");
    let longer = transition(phase(State::Open), others(101), at(50), OPEN, 0.0).unwrap();
    assert_eq!((longer.until, longer.failed_recoveries), (at(101), 2));
}

#[test]
fn open_times_grow_are_capped_and_spread_upwards() {
    for (failed, expected) in [(0, 10), (1, 20), (2, 40), (3, 60), (31, 60), (32, 60), (u32::MAX, 60)] {
        assert_eq!(OPEN.after(failed, 0.0), s(expected), "{failed}");
        assert_eq!(OPEN.after(failed, 1.0), s(expected).mul_f64(1.1), "{failed}");
    }
    let flat = OpenTime { growth: 1.0, ..OPEN };
    assert_eq!(flat.after(9, 0.0), s(10));
    let longest = OpenTime { first: Duration::MAX, growth: 1.5, cap: Duration::MAX };
    assert_eq!(longest.after(5, 0.5), Duration::MAX);
}
