//! The storm: a service of 1 000 requests/s with an endless queue is down for ten seconds while callers go on at 90 % of
//! its capacity. Whole pipelines, in tokio's paused time.
//!
//! With the defaults the callers must neither feed the outage nor hinder the recovery. "Three attempts, no budget, no
//! breaker" must never recover in the same model: that is how we know that the test can fail.

#![expect(
    clippy::unwrap_used,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a test's own helpers; its numbers are small"
)]

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use steadfast_resilience::clock::{Clock, Moment};
use steadfast_resilience::random::Rng;
use steadfast_resilience::retry::Jitter;
use steadfast_resilience::{Classify, Kind, Pipeline, Retry, Verdict, pipeline};
use tokio::sync::{mpsc, oneshot};
use tokio::task::LocalSet;

const CALLS_PER_SECOND: u64 = 900;
const SERVICE_TIME: Duration = Duration::from_millis(1);
const CLIENT_TIMEOUT: Duration = Duration::from_secs(1);
const DOWN_FROM: u64 = 20;
const DOWN_UNTIL: u64 = 30;
const END: u64 = 90;

#[derive(Debug)]
struct Lost;

impl Classify for Lost {
    fn classify(&self) -> Verdict {
        Verdict::transient(Kind::CONNECTION_LOST)
    }
}

/// What happened, second by second. A call belongs to the second in which it was made.
#[derive(Default)]
struct Ledger {
    offered: Vec<u64>,
    succeeded: Vec<u64>,
    sent: Vec<u64>,
}

fn count(seconds: &mut Vec<u64>, second: u64) {
    let place = usize::try_from(second).unwrap();
    seconds.resize(seconds.len().max(place + 1), 0);
    seconds[place] += 1;
}

struct World {
    clock: Clock,
    began: Moment,
    ledger: RefCell<Ledger>,
    service: mpsc::UnboundedSender<oneshot::Sender<()>>,
}

impl World {
    fn second(&self) -> u64 {
        self.clock.now().since(self.began).as_secs()
    }

    /// Sends one request and waits for its turn in the service's queue.
    async fn request(&self) -> Result<(), Lost> {
        count(&mut self.ledger.borrow_mut().sent, self.second());
        let (reply, answer) = oneshot::channel();
        self.service.send(reply).map_err(|_| Lost)?;
        answer.await.map_err(|_| Lost)
    }

    async fn call(self: Rc<Self>, client: Pipeline) {
        let second = self.second();
        count(&mut self.ledger.borrow_mut().offered, second);
        if client.run(|_| self.request()).await.is_ok() {
            count(&mut self.ledger.borrow_mut().succeeded, second);
        }
    }
}

/// Serves in order, one request a millisecond, also those whose callers have long given up.
async fn serve(world: Rc<World>, mut queue: mpsc::UnboundedReceiver<oneshot::Sender<()>>) {
    while let Some(reply) = queue.recv().await {
        if (DOWN_FROM..DOWN_UNTIL).contains(&world.second()) {
            let back = world.began + Duration::from_secs(DOWN_UNTIL);
            world.clock.sleep(back - world.clock.now()).await;
        }
        world.clock.sleep(SERVICE_TIME).await;
        let _ = reply.send(());
    }
}

/// Runs the storm and returns its ledger.
fn storm(seed: u64, clients: usize, client: impl Fn(u64) -> pipeline::Builder) -> Ledger {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    let local = LocalSet::new();
    local.block_on(&runtime, async move {
        let clock = Clock::tokio();
        let (service, queue) = mpsc::unbounded_channel();
        let world = Rc::new(World { began: clock.now(), clock, ledger: RefCell::default(), service });
        let server = tokio::task::spawn_local(serve(Rc::clone(&world), queue));
        let build = |seed| {
            client(seed).attempt_timeout(CLIENT_TIMEOUT).clock(Clock::tokio()).seed(seed).build().unwrap()
        };
        let pipelines: Vec<_> = (0..clients as u64).map(|client| build(seed * 1000 + client)).collect();
        let mut rng = Rng::seeded(seed);
        let mut next = gap(&mut rng);
        while world.second() < END {
            // Tokio's timer moves in milliseconds: each wake-up makes the calls of one, at random.
            world.clock.sleep(Duration::from_millis(1)).await;
            while next <= world.clock.now().since(world.began).as_secs_f64() {
                next += gap(&mut rng);
                let chosen = pipelines[(rng.unit() * clients as f64) as usize].clone();
                tokio::task::spawn_local(Rc::clone(&world).call(chosen));
            }
        }
        server.abort();
        world.ledger.take()
    })
}

/// A random gap between two calls, in seconds; its mean is that of the rate.
fn gap(rng: &mut Rng) -> f64 {
    -(1.0 - rng.unit()).ln() / CALLS_PER_SECOND as f64
}

impl Ledger {
    /// The largest share of requests sent to calls offered over any ten seconds from `from` on.
    fn worst_amplification(&self, from: u64) -> f64 {
        let windows = self.sent[from as usize..].windows(10).zip(self.offered[from as usize..].windows(10));
        windows
            .map(|(sent, offered)| sent.iter().sum::<u64>() as f64 / offered.iter().sum::<u64>() as f64)
            .fold(0.0, f64::max)
    }

    /// Seconds from the end of the outage until all but one in a hundred calls succeed again, for good.
    fn recovery(&self) -> Option<u64> {
        let bad = |second: &u64| {
            let place = *second as usize;
            let good = self.succeeded.get(place).copied().unwrap_or(0);
            good * 100 < self.offered[place] * 99
        };
        let last_judged = END - 6; // later calls may still be under way
        match (DOWN_FROM..last_judged).rev().find(bad) {
            Some(second) if second + 1 == last_judged => None,
            Some(second) => Some((second + 1).saturating_sub(DOWN_UNTIL)),
            None => Some(0),
        }
    }
}

fn defaults(seed: u64) -> pipeline::Builder {
    Pipeline::builder(format!("client-{seed}"))
}

fn naive(seed: u64) -> pipeline::Builder {
    let retry = Retry::exponential().min_backoff(Duration::ZERO).delta_backoff(Duration::from_millis(100));
    defaults(seed).retry(retry.jitter(Jitter::Full).max_retries(2)).no_budget().no_breaker()
}

/// Three storms of other chance, each printed with the seed that replays it.
fn weathers(clients: usize) {
    for seed in 1..=3 {
        let ledger = storm(seed, clients, defaults);
        let (amplification, recovery) = (ledger.worst_amplification(DOWN_FROM + 1), ledger.recovery());
        println!(
            "seed {seed}, {clients} clients: sent/offered {amplification:.3}, recovered after {recovery:?} s"
        );
        weathered(&ledger);
    }
}

fn weathered(ledger: &Ledger) {
    let offered: u64 = ledger.offered.iter().sum();
    assert!(offered > 80 * CALLS_PER_SECOND, "only {offered} calls: the storm was a breeze");
    let during = DOWN_FROM as usize + 2..DOWN_UNTIL as usize;
    assert_eq!(ledger.succeeded[during].iter().sum::<u64>(), 0, "the outage was total");
    let amplification = ledger.worst_amplification(DOWN_FROM + 1);
    assert!(amplification <= 1.10, "sent/offered reached {amplification:.3}");
    let recovery = ledger.recovery();
    assert!(recovery.is_some_and(|seconds| seconds <= 10), "recovered after {recovery:?} s");
}

#[test]
fn one_shared_pipeline_with_the_defaults_weathers_the_storm() {
    weathers(1);
}

#[test]
fn two_hundred_clients_with_the_defaults_weather_the_storm() {
    weathers(200);
}

#[test]
fn three_attempts_without_budget_and_breaker_never_recover() {
    for clients in [1, 200] {
        let ledger = storm(1, clients, naive);
        assert_eq!(ledger.recovery(), None);
        assert!(ledger.worst_amplification(DOWN_FROM + 1) > 2.0);
    }
}

#[test]
fn the_budget_alone_keeps_retries_to_a_tenth() {
    for clients in [1, 200] {
        let ledger = storm(1, clients, |seed| defaults(seed).no_breaker());
        let amplification = ledger.worst_amplification(DOWN_FROM + 1);
        println!(
            "budget alone, {clients} clients: sent/offered {amplification:.3}, recovered after {:?} s",
            ledger.recovery()
        );
        assert!(amplification <= 1.10, "sent/offered reached {amplification:.3}");
    }
}
