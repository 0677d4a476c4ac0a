//! Clients that fight for one row, in virtual time: how well each jitter spreads them.
//!
//! The model of AWS's backoff simulator. Each client reads the row, then writes it; the write succeeds only if nobody
//! wrote since the read, and otherwise the client waits as [`Retry`] says and begins again. Every message takes about
//! 10 ms. The same seed gives the same run.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use anyhow::{Result, bail};
use steadfast_resilience::clock::Moment;
use steadfast_resilience::random::Rng;
use steadfast_resilience::retry::{At, Decision, Jitter, Retry, State};
use steadfast_resilience::{Kind, Verdict};

/// The first wait, and what doubles.
const BASE: Duration = Duration::from_millis(5);
/// The longest wait.
const CAP: Duration = Duration::from_secs(2);
/// A message's way in milliseconds: mean and standard deviation.
const NETWORK_MS: (f64, f64) = (10.0, 2.0);

/// The jitters that are compared, with their names.
pub const JITTERS: [(&str, Jitter); 5] = [
    ("none", Jitter::None),
    ("specified (±20 %, cap last)", Jitter::SPECIFIED),
    ("equal", Jitter::Equal),
    ("decorrelated", Jitter::Decorrelated),
    ("full", Jitter::Full),
];

/// What a fight came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fight {
    /// Writes tried.
    pub calls: f64,
    /// Until the last client was done.
    pub seconds: f64,
}

/// The mean of `runs` fights of `clients` under a jitter, with seeds from `seed` on.
///
/// # Errors
/// A retry that stops: it must not in this model.
pub fn mean(clients: u32, jitter: Jitter, runs: u32, seed: u64) -> Result<Fight> {
    let retry = Retry::exponential()
        .min_backoff(BASE)
        .delta_backoff(BASE)
        .max_backoff(CAP)
        .jitter(jitter)
        .max_retries(u32::MAX)
        .build()?;
    let mut sum = Fight { calls: 0.0, seconds: 0.0 };
    for run in 0..runs {
        let fight = fight(clients, &retry, seed.wrapping_add(run.into()))?;
        sum = Fight { calls: sum.calls + fight.calls, seconds: sum.seconds + fight.seconds };
    }
    Ok(Fight { calls: sum.calls / f64::from(runs), seconds: sum.seconds / f64::from(runs) })
}

/// A message that arrives, or the end of a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// The client is to begin.
    Begin,
    /// The server gets a read.
    Read,
    /// The client gets the row's version.
    Version(u32),
    /// The server gets a write on top of this version.
    Write(u32),
    /// The client learns that its write was refused.
    Refused,
    /// The client learns that its write was taken.
    Written,
}

struct World<'a> {
    retry: &'a Retry,
    clients: Vec<State>,
    network: Rng,
    version: u32,
    calls: u32,
    /// By time; what was sent first comes first.
    queue: BinaryHeap<Reverse<(Moment, u64, usize, Event)>>,
    sent: u64,
}

fn fight(clients: u32, retry: &Retry, seed: u64) -> Result<Fight> {
    let mut seeds = Rng::seeded(seed);
    let mut next_seed = || seeds.unit().to_bits();
    let mut world = World {
        retry,
        network: Rng::seeded(next_seed()),
        clients: (0..clients).map(|_| retry.start_with(Moment::ZERO, Rng::seeded(next_seed()))).collect(),
        version: 0,
        calls: 0,
        queue: BinaryHeap::new(),
        sent: 0,
    };
    (0..world.clients.len()).for_each(|client| world.push(Moment::ZERO, client, Event::Begin));
    let mut end = Moment::ZERO;
    while let Some(Reverse((now, _, client, event))) = world.queue.pop() {
        world.happen(now, client, event)?;
        end = now;
    }
    Ok(Fight { calls: world.calls.into(), seconds: end.since(Moment::ZERO).as_secs_f64() })
}

impl World<'_> {
    fn happen(&mut self, now: Moment, client: usize, event: Event) -> Result<()> {
        match event {
            Event::Begin => self.send(now, client, Event::Read),
            Event::Read => self.send(now, client, Event::Version(self.version)),
            Event::Version(version) => self.send(now, client, Event::Write(version)),
            Event::Write(version) => {
                self.calls += 1;
                let taken = version == self.version;
                self.version += u32::from(taken);
                self.send(now, client, if taken { Event::Written } else { Event::Refused });
            }
            Event::Refused => {
                let conflict = Verdict::transient(Kind::CONFLICT);
                match self.retry.next(&mut self.clients[client], &conflict, At::now(now)) {
                    Decision::After(wait) => self.push(now + wait, client, Event::Begin),
                    Decision::Stop(stop) => bail!("client {client} gave up: {stop}"),
                }
            }
            Event::Written => {}
        }
        Ok(())
    }

    fn send(&mut self, now: Moment, client: usize, event: Event) {
        let way = self.way();
        self.push(now + way, client, event);
    }

    fn push(&mut self, at: Moment, client: usize, event: Event) {
        self.sent += 1;
        self.queue.push(Reverse((at, self.sent, client, event)));
    }

    /// A message's way: normally distributed, by Box and Muller.
    fn way(&mut self) -> Duration {
        let (mean, deviation) = NETWORK_MS;
        let radius = (-2.0 * (1.0 - self.network.unit()).ln()).sqrt();
        let angle = std::f64::consts::TAU * self.network.unit();
        Duration::from_secs_f64((mean + deviation * radius * angle.cos()).abs() / 1_000.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_fight() {
        let fight = |seed| mean(20, Jitter::Full, 2, seed).unwrap();
        assert_eq!(fight(7), fight(7));
        assert_ne!(fight(7), fight(8));
    }

    #[test]
    fn a_client_alone_needs_one_call_and_four_messages() {
        let alone = mean(1, Jitter::Full, 40, 1).unwrap();
        assert!((alone.calls - 1.0).abs() < f64::EPSILON);
        assert!((alone.seconds - 0.04).abs() < 0.002);
    }

    #[test]
    fn every_client_gets_through_and_jitter_saves_calls() {
        let none = mean(50, Jitter::None, 3, 1).unwrap();
        let full = mean(50, Jitter::Full, 3, 1).unwrap();
        assert!(full.calls >= 50.0);
        assert!(none.calls > 1.5 * full.calls, "{none:?} {full:?}");
        assert!(none.seconds > 3.0 * full.seconds, "{none:?} {full:?}");
    }
}
