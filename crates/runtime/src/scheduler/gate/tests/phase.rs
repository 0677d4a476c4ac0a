//! A gate's phases: who goes through in each, and how it turns.

use super::*;
use crate::circuits::Release;

#[test]
fn who_comes_goes_through_while_there_is_room_and_then_in_line() {
    let mut world = World::new(quick(), |service| service.most_running(3));
    let permits: Vec<_> = (0..5).map(|_| world.come(0, None, "a").1).collect();
    let in_line = Permit::InLine;
    assert_eq!(permits, [Permit::Granted, Permit::Granted, Permit::Granted, in_line, in_line]);
    assert_eq!(world.serve(), []);
    world.ends(2, true);
    assert_eq!(world.come(0, None, "a").1, in_line, "the place is for those who wait");
    assert_eq!(world.serve(), [4]);
    world.ends(1, false);
    world.ends(3, true);
    assert_eq!(world.serve(), [5, 6]);
}

#[test]
fn a_place_that_was_taken_anyway_counts() {
    let mut world = World::new(quick(), |service| service.most_running(1));
    world.gate.take_anyway();
    assert_eq!(world.come(0, None, "a").1, Permit::InLine);
    world.ends(99, true);
    assert_eq!(world.serve(), [1]);
}

#[test]
fn a_higher_priority_goes_first_in_every_phase() {
    let mut world = World::new(quick(), |service| service.most_running(1));
    world.come(0, None, "a");
    let low = world.come(-1, Some(5_000), "a").0;
    let high = world.come(1, None, "a").0;
    world.ends(1, true);
    assert_eq!((world.phase(), world.serve()), ("flowing", vec![high]));
    world.goes_down();
    world.ends(high, true);
    let highest = world.come(2, None, "a").0;
    world.is_probed();
    let again = world.come(1, None, "a").0;
    assert_eq!((world.phase(), world.serve()), ("probing", vec![highest]));
    world.ends(highest, true);
    let last = world.come(-2, None, "a").0;
    let mut served = Vec::new();
    while served.len() < 2 {
        assert_eq!(world.phase(), "ramping");
        served.extend(world.serve());
        if let Some(who) = served.last().copied() {
            world.ends(who, true);
        }
        world.pass(ms(50));
    }
    // The one with a deadline of 5 s has missed it.
    assert_eq!(served, [again, last]);
    assert_ne!(low, last);
}

#[test]
fn in_a_ramp_the_nearest_deadline_is_first_and_what_can_hardly_be_met_is_passed_over() {
    let mut world = World::new(quick(), |service| service);
    world.goes_down();
    let hopeless = world.come(0, Some(20_500), "a").0;
    let far = world.come(0, Some(90_000), "a").0;
    let near = world.come(0, Some(50_000), "a").0;
    let none = world.come(0, None, "a").0;
    let probe = world.come(1, None, "a").0;
    let wait = world.breaker.refuses_for().unwrap();
    world.pass(wait.max(ms(20_000)));
    assert_eq!(world.serve(), [probe]);
    // It takes a while, and so will the others.
    world.pass(ms(200));
    world.ends(probe, true);
    let mut served = Vec::new();
    for _ in 0..400 {
        for who in world.serve() {
            served.push(who);
            world.ends(who, true);
        }
        world.pass(ms(10));
    }
    assert_eq!(served, [near, far, none], "{hopeless} is not even tried when its deadline has passed");
}

#[test]
fn what_can_hardly_be_met_is_tried_when_nobody_else_waits() {
    let mut world = World::new(quick(), |service| service);
    world.goes_down();
    let wait = world.breaker.refuses_for().unwrap();
    let within = u64::try_from(wait.as_millis()).unwrap();
    // All of them have less time left than an attempt may take, and than the last one took.
    let all: Vec<_> = (0..5).map(|more| world.come(0, Some(within + 500 + more), "a").0).collect();
    world.is_probed();
    assert_eq!(world.serve(), [all[0]]);
    world.pass(ms(300));
    world.ends(all[0], true);
    assert_eq!(world.phase(), "ramping");
    assert_eq!(world.serve().first(), Some(&all[1]));
}

#[test]
fn each_probe_is_of_another_task() {
    // Without a deadline, with one that is far away, and with less time than an attempt may take.
    for within in [None, Some(100_000), Some(500)] {
        let mut world = World::new(quick(), |service| service);
        world.goes_down();
        let mut probed = Vec::new();
        for _ in 0..4 {
            let wait = world.breaker.refuses_for().unwrap();
            let deadline =
                within.map(|within| world.time() + u64::try_from(wait.as_millis()).unwrap() + within);
            for who in 1..=4 {
                let place = world.gate.place(rank(0, deadline), (&name("a"), &name("w")), task(who), STEP);
                world.places.insert(who, place);
                assert_eq!(world.ask(who), Permit::Shut);
            }
            world.is_probed();
            let probe = world.serve();
            assert_eq!(probe.len(), 1);
            world.ends(probe[0], false);
            probed.extend(probe);
            world.gate.forget_line();
        }
        assert_eq!(probed, [1, 2, 3, 4], "deadlines within {within:?}");
    }
}

/// Otherwise one task would use up its retries for all.
#[test]
fn where_all_have_probed_they_begin_again_in_turn() {
    let mut world = World::new(quick(), |service| service);
    world.goes_down();
    let all = world.many(3, "a");
    let mut probes = BTreeMap::<_, usize>::new();
    for _ in 0..9 {
        let wait = world.breaker.refuses_for().unwrap();
        world.pass(wait);
        let probe = world.next().unwrap();
        *probes.entry(probe).or_default() += 1;
        world.ends(probe, false);
        assert_eq!(world.ask(probe), Permit::Shut);
    }
    assert_eq!(probes, all.iter().map(|who| (*who, 3)).collect());
}

#[test]
fn no_more_probe_at_a_time_than_the_breaker_lets_through() {
    let breaker = quick().half_open_permits(3).successes_to_close(4);
    let mut world = World::new(breaker, |service| service);
    world.goes_down();
    world.many(20, "a");
    world.is_probed();
    let probes = world.serve();
    assert_eq!(probes.len(), 3);
    assert_eq!(world.come(9, None, "a").1, Permit::Shut, "all places to probe are taken");
    assert_eq!(world.serve(), []);
    world.ends(probes[1], true);
    assert_eq!(world.serve(), [21]);
    world.ends(probes[0], true);
    world.ends(probes[2], true);
    assert_eq!((world.phase(), world.serve().len()), ("probing", 2));
    world.ends(21, true);
    assert_eq!(world.phase(), "ramping");
    // A service that may have less at a time has fewer probes.
    let mut narrow = World::new(quick().half_open_permits(3), |service| service.most_running(2));
    narrow.goes_down();
    narrow.many(20, "a");
    narrow.is_probed();
    assert_eq!(narrow.serve().len(), 2);
}

#[test]
fn a_failed_probe_shuts_the_gate_again_and_tells_all() {
    let mut world = World::new(quick(), |service| service);
    world.goes_down();
    let mut all = world.many(3, "a");
    assert_eq!(world.told, [], "they were told when they came");
    world.is_probed();
    let probe = world.next().unwrap();
    world.ends(probe, false);
    assert_eq!(world.phase(), "shut");
    all.retain(|who| *who != probe);
    assert_eq!(world.told, all);
    world.look();
    assert_eq!(world.told, all, "once");
}

#[test]
fn a_gate_shuts_at_once_when_the_breaker_opens_during_a_ramp() {
    let mut world = World::new(quick(), |service| service);
    world.goes_down();
    world.many(101, "a");
    world.is_back();
    let mut under_way = Vec::new();
    while under_way.len() < 10 {
        under_way.extend(world.serve());
        world.pass(ms(50));
    }
    assert_eq!((world.phase(), &world.told), ("ramping", &vec![]));
    world.ends(under_way[0], false);
    assert_eq!(world.phase(), "ramping", "one failure does not trip it");
    world.ends(under_way[1], false);
    assert_eq!((world.phase(), world.told.len()), ("shut", 100 - under_way.len()));
    assert_eq!(world.serve(), []);
    assert_eq!(world.come(127, None, "a").1, Permit::Shut);
    assert!(!world.gate.has_line(), "nobody could have a place");
}

#[test]
fn a_ramp_ends_when_nobody_waits_any_more() {
    let mut world = World::new(quick(), |service| service);
    world.goes_down();
    world.many(3, "a");
    world.is_back();
    world.gate.fetches(1);
    world.gate.fetched(Some(Vec::new()));
    world.gate.fetches(1);
    world.gate.fetched(Some(Vec::new()));
    for _ in 0..100 {
        for who in world.serve() {
            world.ends(who, true);
        }
        world.pass(ms(50));
    }
    assert_eq!((world.phase(), world.come(0, None, "a").1), ("flowing", Permit::Granted));
}

#[test]
fn a_ramp_whose_work_is_done_stays_for_a_tenth_so_that_whoever_comes_next_is_counted() {
    let mut world = World::new(quick(), |service| service);
    let now = world.now();
    // At its height, where one call after another is 20 ms or less.
    world.gate.resume(Release { steady: Some(50.0), stage: Some(9) }, now, now);
    assert_eq!(world.come(0, None, "a").1, Permit::InLine);
    let served = (0..100).find_map(|_| {
        world.pass(ms(1));
        world.serve().first().copied()
    });
    world.ends(served.unwrap(), true);
    for _ in 0..2 {
        world.gate.fetches(1);
        world.gate.fetched(Some(Vec::new()));
    }
    let stays = (0..1_000).take_while(|_| {
        world.pass(ms(1));
        world.phase() == "ramping"
    });
    let stays = stays.count();
    assert!((100..=120).contains(&stays), "{stays} ms");
}

/// Nobody is parked, and yet a ramp that goes on waits for those whose process died with them in hand.
#[test]
fn a_ramp_that_goes_on_waits_for_those_that_the_process_before_had() {
    let mut world = World::new(quick(), |service| service);
    let now = world.now();
    let release = Release { steady: Some(50.0), stage: Some(1) };
    world.gate.resume(release, now, now + s(30));
    for _ in 0..2 {
        world.gate.fetches(1);
        world.gate.fetched(Some(Vec::new()));
    }
    assert_eq!(world.gate.wakes_at(now), Some(now + s(30)));
    world.pass(s(29));
    assert_eq!((world.phase(), world.come(0, None, "a").1), ("ramping", Permit::InLine));
    assert_eq!(world.serve().len(), 1);
    world.ends(1, true);
    world.pass(s(2));
    assert_eq!(world.phase(), "flowing");
}

#[test]
fn without_a_ramp_all_go_through_when_the_service_is_back() {
    let mut world = World::new(quick(), |service| service.without_ramp().most_running(50));
    world.goes_down();
    world.many(101, "a");
    world.is_back();
    assert_eq!((world.phase(), world.serve().len()), ("flowing", 50));
}

#[test]
fn a_greedy_namespace_delays_anothers_task_by_a_turn_or_two() {
    let mut world = World::new(quick(), |service| service.most_running(1));
    world.many(10_001, "greedy");
    let mut runs = 1;
    for _ in 0..1_000 {
        world.ends(runs, true);
        runs = world.next().unwrap();
    }
    let quiet = world.come(0, None, "quiet").0;
    let mut turns = 0;
    while runs != quiet {
        world.ends(runs, true);
        runs = world.next().unwrap();
        turns += 1;
    }
    assert!(turns <= 2, "{turns}");
}

/// What a service did before it went down is what it has at most, and a fifth, when it is back.
#[test]
fn the_ramp_is_bounded_by_what_was_steady_before() {
    let mut world = World::new(quick(), |service| service);
    for _ in 0..500 {
        let who = world.come(0, None, "a").0;
        world.pass(ms(20));
        world.ends(who, true);
    }
    world.goes_down();
    world.many(2_001, "a");
    world.is_back();
    assert_eq!(world.gate.before, Some(50.0));
    let (mut served, mut most) = (Vec::new(), 0);
    for _ in 0..2_000 {
        for who in world.serve() {
            served.push(world.now());
            world.ends(who, true);
        }
        most = most.max(served.iter().rev().take_while(|at| world.now().since(**at) < s(1)).count());
        world.pass(ms(10));
    }
    // Turns are given up to 50 ms ahead.
    assert!((57..=61).contains(&most), "{most}");
    // A trip that follows at once says nothing new of the steady rate.
    world.goes_down();
    assert_eq!(world.gate.before, Some(50.0));
}

#[test]
fn who_has_missed_the_deadline_leaves_the_line() {
    let mut world = World::new(quick(), |service| service.most_running(1));
    world.many(1, "a");
    world.come(3, Some(1_000), "a");
    world.come(-3, Some(999), "b");
    let patient = world.come(0, Some(1_001), "a").0;
    world.pass(ms(1_000));
    world.ends(1, true);
    assert_eq!((world.serve(), world.gate.has_line()), (vec![patient], false));
}
