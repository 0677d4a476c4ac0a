//! How many begin in a second.

use super::*;

/// Those who went through, by the moment; and that no window of any length has more than the rate and a burst allow.
fn check(went: &[Moment], rate: f64) {
    let burst = (rate * 0.1).max(1.0).floor();
    for (first, from) in went.iter().enumerate() {
        for (last, until) in went.iter().enumerate().skip(first) {
            let most = rate * until.since(*from).as_secs_f64() + burst;
            #[expect(clippy::cast_precision_loss, reason = "a count")]
            let count = (last - first + 1) as f64;
            assert!(count <= most + 1e-6, "{count} within {:?}, at most {most}", until.since(*from));
        }
    }
}

fn limited(breaker: Builder, rate: f64) -> World {
    World::new(breaker, |service| service.most_per_second(rate).unwrap())
}

/// All that go through within a time, looked at when the gate wants to be.
fn run(world: &mut World, time: Duration) -> Vec<Moment> {
    let (ends, mut went, mut rounds) = (world.now() + time, Vec::new(), 0);
    while world.now() < ends {
        rounds += 1;
        assert!(rounds < 100_000, "it spins");
        for who in world.serve() {
            went.push(world.now());
            world.ends(who, true);
        }
        let wakes = world.gate.wakes_at(world.now()).unwrap_or(ends).min(ends);
        let wait = wakes.since(world.now());
        world.pass(wait.max(Duration::from_nanos(1)));
    }
    went
}

#[test]
fn the_rate_is_held_while_all_is_well() {
    for rate in [0.5, 7.0, 100.0] {
        let mut world = limited(quick(), rate);
        world.many(3_000, "a");
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is small")]
        let burst = (rate * 0.1).max(1.0) as usize;
        let mut went = vec![world.now(); burst];
        went.extend(run(&mut world, s(20)));
        check(&went, rate);
        let all = rate.mul_add(20.0, 0.0);
        #[expect(clippy::cast_precision_loss, reason = "a count")]
        let count = went.len() as f64;
        assert!(count >= all - 1.0, "{count} of {all} go through: the rate is made use of");
    }
}

#[test]
fn those_who_come_one_by_one_have_the_same_limit() {
    let mut world = limited(quick(), 10.0);
    let mut went = Vec::new();
    for _ in 0..2_000 {
        let granted = world.come(0, None, "a").1 == Permit::Granted;
        let served = world.serve().len() + usize::from(granted);
        went.extend(vec![world.now(); served]);
        world.pass(ms(7));
    }
    check(&went, 10.0);
    // Whoever looks every 7 ms only is up to 7 ms late each time.
    assert!((130..=141).contains(&went.len()), "{} in 14 s", went.len());
}

#[test]
fn the_rate_is_held_in_a_ramp() {
    // Nothing is known of before: the ramp grows without a bound, but for the rate.
    let mut world = limited(quick(), 20.0);
    world.goes_down();
    world.many(3_000, "a");
    world.is_back();
    let went = run(&mut world, s(20));
    assert_eq!(world.phase(), "ramping");
    check(&went, 20.0);
    assert!(went.len() > 300, "{}", went.len());
}

#[test]
fn the_rate_is_held_for_probes() {
    let breaker = quick().half_open_permits(5).successes_to_close(50).half_open_limit(s(500));
    let mut world = limited(breaker, 0.5);
    world.goes_down();
    world.many(100, "a");
    world.is_probed();
    let went = run(&mut world, s(40));
    assert_eq!(world.phase(), "probing");
    check(&went, 0.5);
    assert!((20..=21).contains(&went.len()), "{}", went.len());
}

#[test]
fn who_is_refused_by_the_rate_is_told_of_by_the_next_wake() {
    let mut world = limited(quick(), 1.0);
    world.many(3, "a");
    for _ in 0..2 {
        assert_eq!(world.serve(), []);
        let wakes = world.gate.wakes_at(world.now()).unwrap();
        assert!(wakes > world.now() && wakes.since(world.now()) <= s(1));
        world.clock.advance(wakes.since(world.now()));
        assert_eq!(world.serve().len(), 1);
    }
    assert_eq!(world.gate.wakes_at(world.now()), None, "nobody waits");
}
