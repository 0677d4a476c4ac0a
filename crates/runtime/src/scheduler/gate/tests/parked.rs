//! Tasks that are parked in a store, of which the gate asks for as many as it needs.

use std::cmp::Reverse;

use super::*;

/// A store: who is parked there, by priority and deadline.
#[derive(Default)]
struct Parked {
    all: Vec<(Reverse<i8>, u64, u128)>,
    asked: usize,
}

impl Parked {
    fn park(&mut self, priority: i8, deadline: Option<u64>, who: u128) {
        self.all.push((Reverse(priority), deadline.unwrap_or(u64::MAX), who));
        self.all.sort_unstable();
    }

    /// As `claim_parked` of a store does it.
    fn claim(&mut self, most: usize, from: Time) -> Vec<(Reverse<i8>, u64, u128)> {
        self.asked += 1;
        let (mut claimed, mut left) = (Vec::new(), Vec::new());
        for parked in self.all.drain(..) {
            let wanted = claimed.len() < most && Time::from_millis(parked.1) >= from;
            if wanted { &mut claimed } else { &mut left }.push(parked);
        }
        self.all = left;
        claimed
    }
}

/// What the gate asks for is on its way.
fn ask(world: &mut World, parked: &mut Parked) -> Option<Vec<(Reverse<i8>, u64, u128)>> {
    let (most, from) = world.gate.wants()?;
    world.gate.fetches(most);
    assert_eq!(world.gate.wants(), None, "one question at a time");
    Some(parked.claim(most, from))
}

/// It has come, and asks for places.
fn arrive(world: &mut World, came: &[(Reverse<i8>, u64, u128)]) {
    let ranked = |(priority, deadline, who): &(Reverse<i8>, u64, u128)| {
        let deadline = (*deadline < u64::MAX).then_some(*deadline);
        (task(*who), rank(priority.0, deadline))
    };
    let ranked: Vec<_> = came.iter().map(ranked).collect();
    world.gate.fetched(Some(ranked.clone()));
    for (task, rank) in ranked {
        let place = world.gate.place(rank, (&name("a"), &name("w")), task, STEP);
        world.places.insert(task.as_u128(), place);
        world.gate.ask(place, world.clock.now());
    }
}

fn fetch(world: &mut World, parked: &mut Parked) {
    while let Some(came) = ask(world, parked) {
        arrive(world, &came);
    }
}

fn down_with(parked: &mut Parked, count: u128, deadline: impl Fn(u128) -> Option<u64>) -> World {
    let mut world = World::new(quick(), |service| service);
    world.goes_down();
    let now = world.time();
    (1..=count).for_each(|who| parked.park(0, deadline(who).map(|within| now + within), who));
    world.last = count;
    world.gate.has_parked();
    world
}

#[test]
fn nothing_is_asked_for_while_the_gate_is_shut_or_nothing_is_parked() {
    let mut parked = Parked::default();
    let world = down_with(&mut parked, 10, |_| None);
    assert_eq!(world.gate.wants(), None);
    assert!(world.gate.wakes_at(world.now()).is_some_and(|wakes| wakes > world.now()));
    let mut empty = World::new(quick(), |service| service);
    empty.look();
    assert_eq!((empty.gate.wants(), empty.gate.wakes_at(empty.now())), (None, None));
}

#[test]
fn a_probe_is_fetched_and_the_next_one_is_of_another_task() {
    let mut parked = Parked::default();
    let mut world = down_with(&mut parked, 10, |who| Some(1_000_000 - u64::try_from(who).unwrap()));
    let deadlines: HashMap<_, _> = parked.all.iter().map(|(_, deadline, who)| (*who, *deadline)).collect();
    for expected in [10, 9, 8] {
        world.is_probed();
        assert_eq!(world.serve(), [], "it is on its way");
        fetch(&mut world, &mut parked);
        assert_eq!(world.serve(), [expected], "the nearest deadline of those who have not probed");
        world.ends(expected, false);
        assert_eq!(world.phase(), "shut");
        // All that came are put back.
        let here: Vec<_> = world.gate.line.iter().copied().collect();
        for place in here.into_iter().chain([world.places[&expected]]) {
            world.gate.leave(place);
            let who = number(place);
            parked.park(0, Some(deadlines[&who]), who);
            world.gate.has_parked();
        }
    }
    assert_eq!(parked.all.len(), 10);
}

#[test]
fn a_ramp_takes_from_the_store_as_it_goes_and_all_come_by_deadline() {
    let mut parked = Parked::default();
    // The last that was parked is the nearest.
    let mut world = down_with(&mut parked, 2_000, |who| Some(10_000_000 - u64::try_from(who).unwrap()));
    world.is_probed();
    fetch(&mut world, &mut parked);
    let probe = world.next().unwrap();
    world.ends(probe, true);
    let (mut served, mut most) = (vec![probe], 0);
    while served.len() < 2_000 {
        fetch(&mut world, &mut parked);
        most = most.max(world.gate.line.len());
        for who in world.serve() {
            served.push(who);
            world.ends(who, true);
        }
        world.pass(ms(10));
        assert!(world.now() < Moment::ZERO + s(2_000), "{} of 2000 went through", served.len());
    }
    assert_eq!(served, (1..=2_000).rev().collect::<Vec<_>>());
    assert!(most <= 512, "{most} in memory at a time");
    assert!(parked.asked < 200, "{} questions", parked.asked);
    fetch(&mut world, &mut parked);
    world.pass(s(5));
    assert_eq!((world.phase(), world.gate.wants()), ("flowing", None));
}

#[test]
fn who_is_nearer_in_the_store_is_waited_for_and_others_are_not() {
    let mut parked = Parked::default();
    let mut world = down_with(&mut parked, 3, |who| Some(100_000 * u64::try_from(who).unwrap()));
    let high = world.come(1, None, "a").0;
    world.is_probed();
    let came = ask(&mut world, &mut parked).unwrap();
    assert_eq!(world.serve(), [], "nobody knows yet who is first");
    arrive(&mut world, &came);
    assert_eq!(world.serve(), [high]);
    world.ends(high, true);
    let went = |world: &mut World| {
        let who = world.next();
        who.into_iter().for_each(|who| world.ends(who, true));
        world.pass(s(1));
        who
    };
    // Others may have parked tasks meanwhile: it asks anew.
    let came = ask(&mut world, &mut parked).unwrap();
    assert_eq!(went(&mut world), None);
    arrive(&mut world, &came);
    let known = number(world.gate.nearest().unwrap());
    let nearer = ask(&mut world, &mut parked);
    assert_eq!((known, went(&mut world)), (1, Some(1)), "it waits for nobody who comes after it");
    nearer.into_iter().for_each(|came| arrive(&mut world, &came));
    for next in [2, 3] {
        fetch(&mut world, &mut parked);
        assert_eq!(went(&mut world), Some(next));
    }
}

/// Those that can hardly be done in time come last, and do come.
#[test]
fn what_can_hardly_be_met_is_fetched_when_nobody_else_is_left() {
    let mut parked = Parked::default();
    let mut world = down_with(&mut parked, 7, |_| None);
    world.is_probed();
    fetch(&mut world, &mut parked);
    let probe = world.next().unwrap();
    // A call takes half a minute now, and every second task has less time than that.
    world.pass(s(30));
    world.ends(probe, true);
    let now = world.time();
    parked.all.clear();
    world.gate.forget_line();
    (11..=16_u128).for_each(|who| parked.park(0, who.is_multiple_of(2).then_some(now + 25_000), who));
    world.gate.has_parked();
    let mut served = Vec::new();
    for _ in 0..1_000 {
        fetch(&mut world, &mut parked);
        served.extend(world.serve());
        world.pass(ms(10));
    }
    assert_eq!(served, [11, 13, 15, 12, 14, 16]);
    assert_eq!((parked.all.len(), world.gate.parked), (0, false), "all have been asked for");
}

#[test]
fn a_question_that_failed_is_asked_again() {
    let mut parked = Parked::default();
    let mut world = down_with(&mut parked, 3, |_| None);
    world.is_probed();
    let (most, _) = world.gate.wants().unwrap();
    world.gate.fetches(most);
    world.gate.fetched(None);
    assert!(world.gate.wants().is_some());
    fetch(&mut world, &mut parked);
    assert_eq!(world.serve().len(), 1);
}

#[test]
fn without_a_ramp_the_store_is_asked_for_as_many_as_there_is_room() {
    let mut parked = Parked::default();
    (1..=100).for_each(|who| parked.park(0, None, who));
    let mut world = World::new(quick(), |service| service.without_ramp().most_running(7));
    world.last = 100;
    world.gate.has_parked();
    let mut done = 0;
    while done < 100 {
        world.look();
        fetch(&mut world, &mut parked);
        let mut runs = world.serve();
        runs.extend(
            world
                .places
                .keys()
                .copied()
                .filter(|who| !world.gate.line.iter().any(|place| number(*place) == *who)),
        );
        runs.sort_unstable();
        runs.dedup();
        assert!(world.gate.used <= 7 && !runs.is_empty());
        for who in runs {
            world.places.remove(&who);
            world.ends(who, true);
            done += 1;
        }
    }
    assert_eq!((parked.all.len(), world.gate.used), (0, 0));
}

/// Another node has parked somebody, and this one may probe: it is asked at each round, and not all the time.
#[test]
fn who_may_probe_and_has_nobody_asks_for_what_others_have_parked() {
    let mut world = World::new(quick(), |service| service);
    let mut parked = Parked::default();
    world.goes_down();
    world.gate.others_may_have_parked(None);
    assert_eq!(world.gate.wants(), None, "not while it is shut");
    world.is_probed();
    for round in 1..=3 {
        world.gate.others_may_have_parked(None);
        fetch(&mut world, &mut parked);
        assert_eq!((world.gate.wants(), parked.asked), (None, 2 * round), "once, and for those beyond reach");
    }
    parked.park(0, None, 900);
    world.gate.others_may_have_parked(None);
    fetch(&mut world, &mut parked);
    assert_eq!(world.next(), Some(900));
    world.gate.others_may_have_parked(None);
    assert_eq!(world.gate.wants(), None, "not while somebody probes");
}
