//! When a gate wants to be looked at: never in vain, and never too late. Random events, from a seed.

use std::collections::BTreeSet;

use super::*;

/// Somebody who is parked in the store of this world, with priority and deadline.
type Parked = (u128, i8, Option<u64>);

/// A world in which things happen by chance.
struct Chance {
    world: World,
    rng: fastrand::Rng,
    running: Vec<u128>,
    store: Vec<Parked>,
    /// What is on its way from the store.
    coming: Option<Vec<Parked>>,
    ranks: HashMap<u128, (i8, Option<u64>)>,
    /// Of ten calls, so many fail.
    fails: u8,
    /// In which phases the gate has slept.
    slept: BTreeSet<&'static str>,
}

impl Chance {
    fn new(seed: u64) -> Self {
        let mut rng = fastrand::Rng::with_seed(seed);
        let breaker = quick().half_open_permits(rng.u16(1..4)).successes_to_close(rng.u16(1..4));
        let breaker = breaker.open_for(ms(rng.u64(100..30_000)));
        let (most, rate, ramped) = (rng.usize(1..20), rng.f64() * 50.0 + 0.1, rng.bool());
        let limited = rng.bool();
        let world = World::new(breaker, |service| {
            let service = if ramped { service } else { service.without_ramp() };
            let service = service.most_running(most);
            if limited { service.most_per_second(rate).unwrap() } else { service }
        });
        let (running, store, ranks) = (Vec::new(), Vec::new(), HashMap::new());
        Self { world, rng, running, store, coming: None, ranks, fails: 3, slept: BTreeSet::new() }
    }

    /// What a scheduler does in one round. Whether anything came of it.
    fn round(&mut self) -> bool {
        let before = (self.world.phase(), self.world.gate.line.len());
        self.world.look();
        self.park_some();
        let mut asked = false;
        if let Some((most, from)) = self.world.gate.wants() {
            assert!(self.coming.is_none());
            self.world.gate.fetches(most);
            self.store.sort_unstable_by_key(|(who, priority, deadline)| (rank(*priority, *deadline), *who));
            let wanted = |(_, _, deadline): &Parked| {
                deadline.is_none_or(|deadline| Time::from_millis(deadline) >= from)
            };
            let claimed: Vec<_> = self.store.iter().copied().filter(wanted).take(most).collect();
            self.store.retain(|parked| !claimed.contains(parked));
            (self.coming, asked) = (Some(claimed), true);
        }
        let served = self.world.serve();
        self.running.extend(&served);
        asked || !served.is_empty() || before != (self.world.phase(), self.world.gate.line.len())
    }

    /// Of those who were told that the gate is shut, some go to the store.
    fn park_some(&mut self) {
        for who in std::mem::take(&mut self.world.told) {
            if self.world.gate.is_shut() && self.rng.bool() {
                self.world.gate.leave(self.world.places[&who]);
                self.world.gate.has_parked();
                let (priority, deadline) = self.ranks[&who];
                self.store.push((who, priority, deadline));
            }
        }
    }

    fn asks(&mut self, who: u128) {
        let whose = (&name(["a", "b", "c"][self.rng.usize(0..3)]), &name("w"));
        let known = self.world.places.get(&who).copied();
        let (priority, deadline) = self.ranks[&who];
        let rank = rank(priority, deadline);
        let place = known.unwrap_or_else(|| self.world.gate.place(rank, whose, task(who), STEP));
        self.world.places.insert(who, place);
        match self.world.gate.ask(place, self.world.clock.now()) {
            Permit::Granted => self.running.push(who),
            Permit::Shut => self.world.told.push(who),
            Permit::InLine => {}
        }
    }

    fn comes(&mut self) {
        self.world.last += 1;
        let who = self.world.last;
        let within = self.rng.bool().then(|| self.world.time() + self.rng.u64(1..60_000));
        self.ranks.insert(who, (self.rng.i8(-1..2), within));
        self.asks(who);
    }

    fn ends(&mut self) {
        if self.running.is_empty() {
            return;
        }
        let who = self.running.swap_remove(self.rng.usize(0..self.running.len()));
        let well = self.rng.u8(0..10) >= self.fails;
        drop(self.world.gate.turn(task(who), STEP, self.world.clock.now()));
        self.world.ends(who, well);
        if !well {
            self.asks(who);
        }
    }

    fn arrives(&mut self) {
        let Some(came) = self.coming.take() else { return };
        if self.rng.u8(0..10) == 0 {
            // Nobody knows what became of it.
            self.store.extend(came);
            return self.world.gate.fetched(None);
        }
        let ranked = |(who, priority, deadline): &Parked| (task(*who), rank(*priority, *deadline));
        self.world.gate.fetched(Some(came.iter().map(ranked).collect()));
        came.into_iter().for_each(|(who, ..)| self.asks(who));
    }

    fn happens(&mut self) {
        match self.rng.u8(0..12) {
            0..=3 => self.comes(),
            4..=6 => self.ends(),
            7..=8 => self.arrives(),
            9 => self.world.clock.advance(ms(self.rng.u64(0..3_000))),
            10 => {
                let who = self.rng.u128(0..self.world.last + 1);
                if let Some(place) = self.world.places.get(&who).copied()
                    && !self.running.contains(&who)
                {
                    self.world.gate.leave(place);
                }
            }
            _ => {
                self.sleeps();
            }
        }
        self.round();
        assert!(self.world.gate.used <= self.world.gate.most);
        assert_eq!(self.world.gate.used, self.running.len());
    }

    /// Sleeps until the gate wants to be looked at. Something must come of it, or it must want to sleep on.
    fn sleeps(&mut self) -> bool {
        while self.round() {}
        let now = self.world.now();
        let Some(wakes) = self.world.gate.wakes_at(now) else { return false };
        assert!(wakes > now, "there was nothing to do at {now:?}");
        self.slept.insert(self.world.phase());
        self.world.clock.advance(wakes.since(now));
        let came_of_it = self.round();
        let again = self.world.gate.wakes_at(self.world.now());
        assert!(
            came_of_it || again.is_none_or(|again| again > self.world.now()),
            "{} spins: {:?}",
            self.world.phase(),
            self.world.gate.line
        );
        true
    }
}

#[test]
fn no_wake_is_in_vain_and_nobody_is_forgotten() {
    let mut slept = BTreeSet::new();
    for seed in 0..400 {
        let run = std::panic::catch_unwind(|| {
            let mut chance = Chance::new(seed);
            chance.fails = chance.rng.u8(0..8);
            (0..600).for_each(|_| chance.happens());
            assert!(drain(&mut chance), "{} still wait", chance.world.gate.line.len());
            chance.slept
        });
        assert!(run.is_ok(), "seed {seed}");
        slept.extend(run.unwrap());
    }
    assert_eq!(slept, BTreeSet::from(["flowing", "probing", "ramping", "shut"]));
}

/// The service is well from now on: all that wait go through, though nothing happens but what the gate asks for. Whether
/// they did.
fn drain(chance: &mut Chance) -> bool {
    chance.fails = 0;
    for _ in 0..20_000 {
        chance.arrives();
        while !chance.running.is_empty() {
            chance.ends();
        }
        let slept = chance.sleeps();
        let busy = !chance.running.is_empty() || chance.coming.is_some();
        if !busy && chance.world.gate.line.is_empty() && chance.store.is_empty() {
            return true;
        }
        assert!(slept || busy, "{} sleeps for ever: {:?}", chance.world.phase(), chance.world.gate.line);
    }
    false
}
