//! The drill itself.

use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use steadfast::resilience::breaker::State;
use steadfast::resilience::clock::{Clock, Moment};
use steadfast::resilience::{Breaker, Pipeline, Retry};
use steadfast::{Engine, Failure, Outcome, Service, Settings, Workflow};
use tokio::task::JoinSet;

use super::{Away, CONCURRENT, Call, DEADLINES, Plan, Seen, THRESHOLD, TIMEOUT, Task};

/// A service that is up, refuses, or hangs, and writes every call down.
#[derive(Clone)]
struct Remote {
    clock: Clock,
    began: Moment,
    takes: Duration,
    state: Arc<AtomicU8>,
    book: Arc<Mutex<Vec<Call>>>,
}

/// The workflows, by deadline.
const NAMES: [&str; DEADLINES.len()] =
    ["half-a-minute", "two-minutes", "five-minutes", "a-quarter", "whenever"];

const UP: u8 = 0;
const REFUSES: u8 = 1;
const HANGS: u8 = 2;

impl Remote {
    fn set(&self, state: u8) {
        self.state.store(state, Ordering::SeqCst);
    }

    fn at(&self) -> f64 {
        self.clock.now().since(self.began).as_secs_f64()
    }

    fn note(&self, began: f64, key: String, done: bool) {
        let mut book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.push(Call { began, key, done });
    }

    async fn call(self, key: String) -> Result<(), Failure> {
        let began = self.at();
        match self.state.load(Ordering::SeqCst) {
            REFUSES => {
                self.note(began, key, false);
                Err(Failure::refused("unreachable", "the connection was refused"))
            }
            HANGS => {
                self.note(began, key, false);
                std::future::pending().await
            }
            _ => {
                self.clock.sleep(self.takes).await;
                self.note(began, key, true);
                Ok(())
            }
        }
    }
}

/// Runs the drill on an engine at this address, whose time is tokio's.
///
/// # Errors
/// The engine's.
pub async fn run(plan: &Plan, address: &str) -> Result<Seen> {
    let clock = Clock::tokio();
    let began = clock.now();
    let at = {
        let clock = clock.clone();
        move || clock.now().since(began).as_secs_f64()
    };
    let remote =
        Remote { clock: clock.clone(), began, takes: plan.call, state: Arc::default(), book: Arc::default() };
    let probes = Arc::new(AtomicUsize::new(0));
    let flows = flows(plan, &remote, &probes)?;
    let mut settings = Settings::default();
    settings.most_owned = 20_000;
    let mut engine = Engine::builder(address).clock(clock.clone()).settings(settings);
    for flow in &flows {
        engine = engine.workflow(flow);
    }
    let engine = engine.start().await?;

    let mut seen = Seen {
        died: plan.well.as_secs_f64(),
        back: (plan.well + plan.away).as_secs_f64(),
        ..Seen::default()
    };
    let mut tasks = JoinSet::new();
    let (mut due, mut nth) = (0.0, 0_usize);
    let down = match plan.how {
        Away::Refusing => REFUSES,
        Away::Hanging => HANGS,
    };
    // Until nobody waits any more, and ten seconds on.
    let mut quiet_since = None;
    loop {
        let now = at();
        if now < due {
            clock.sleep(Duration::from_secs_f64(due - now)).await;
        }
        let now = at();
        remote.set(if now >= seen.died && now < seen.back { down } else { UP });
        if now >= seen.back {
            let few = f64::from(plan.rate_after) * plan.call.as_secs_f64() * 3.0 + 10.0;
            #[expect(clippy::cast_precision_loss, reason = "some thousands")]
            match quiet_since {
                None if (tasks.len() as f64) < few => quiet_since = Some(now),
                Some(since) if now - since > 10.0 => break,
                _ => {}
            }
        }
        let rate = if now < seen.back { plan.rate } else { plan.rate_after };
        due += 1.0 / f64::from(rate);
        let (engine, flow, at) = (engine.clone(), flows[nth % flows.len()].clone(), at.clone());
        let deadline = DEADLINES[nth % flows.len()];
        tasks.spawn(async move {
            let submitted = at();
            let task = engine.submit(&flow, &nth).await?;
            // What counts from the store's clock, which has whole milliseconds.
            let deadline = deadline.map(|seconds| submitted + Duration::from_secs(seconds).as_secs_f64());
            let outcome = task.outcome().await?;
            let completed = matches!(outcome, Outcome::Completed(()));
            anyhow::Ok(Task { submitted, deadline, ended: Some(at()), completed })
        });
        while let Some(done) = tasks.try_join_next() {
            seen.tasks.push(done??);
        }
        nth += 1;
    }
    while let Some(done) = tasks.join_next().await {
        seen.tasks.push(done??);
    }
    engine.shut_down().await?;
    seen.calls = std::mem::take(&mut *remote.book.lock().unwrap_or_else(PoisonError::into_inner));
    seen.calls.sort_by(|one, other| one.began.total_cmp(&other.began));
    seen.probes = probes.load(Ordering::SeqCst);
    Ok(seen)
}

/// One workflow for each deadline, all of one step at one service.
fn flows(plan: &Plan, remote: &Remote, probes: &Arc<AtomicUsize>) -> Result<Vec<Workflow<usize, ()>>> {
    let seen = Arc::clone(probes);
    let breaker = Breaker::consecutive(THRESHOLD)
        .open_for(Duration::from_secs(5))
        .growing_to(Duration::from_secs(10))
        .seed(plan.seed)
        .on_change(move |change| {
            if change.to == State::HalfOpen {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        });
    let retry = Retry::exponential().max_retries(8);
    let pipeline = Pipeline::builder("warehouse")
        .clock(remote.clock.clone())
        .attempt_timeout(TIMEOUT)
        .retry(retry)
        .breaker(breaker)
        .seed(plan.seed)
        .build()?;
    let service = Service::new(pipeline).most_running(CONCURRENT);
    let service = if plan.ramped { service } else { service.without_ramp() };
    let flow = |(nth, deadline): (usize, &Option<u64>)| {
        let mut flow = Workflow::<usize>::builder(NAMES[nth]);
        if let Some(seconds) = deadline {
            flow = flow.complete_within(Duration::from_secs(*seconds));
        }
        let remote = remote.clone();
        let step = flow
            .step("reserve", &service, move |cx| remote.clone().call(cx.key().to_string()))
            .nothing_to_undo()
            .add();
        anyhow::Ok(flow.returns(step)?)
    };
    DEADLINES.iter().enumerate().map(flow).collect()
}
