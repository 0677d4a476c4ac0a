//! The drill itself: the same in virtual and in real time.

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anyhow::Result;
use steadfast::resilience::breaker::State;
use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Breaker, Pipeline, Retry};
use steadfast::{Engine, Service, Settings, TaskId, TaskState, What, Workflow};
use tokio::task::JoinSet;

use super::remote::{Remote, Watch, locked};
use super::{CONCURRENT, DEADLINES, Plan, Seen, THRESHOLD, Task};

/// The workflows, by deadline.
const NAMES: [&str; DEADLINES.len()] =
    ["half-a-minute", "two-minutes", "five-minutes", "a-quarter", "whenever"];

/// So long is looked on when nobody waits any more.
const LOOKS_ON: f64 = 10.0;

/// Runs the drill on an engine at this address. In virtual time all time is tokio's; in real time the engine has the clock that
/// programs have.
///
/// # Errors
/// The engine's, and those of the service's socket.
pub async fn run(plan: &Plan, address: &str) -> Result<Seen> {
    let watch = Watch::start();
    let clock = if plan.wire && !plan.fine_clock { Clock::system() } else { Clock::tokio() };
    let remote = Remote::start(plan, &watch)?;
    let probes = Arc::new(AtomicUsize::new(0));
    let flows = flows(plan, &clock, &remote, &probes)?;
    let mut settings = Settings::default();
    settings.most_owned = 20_000;
    let mut engine = Engine::builder(address).clock(clock).settings(settings);
    for flow in &flows {
        engine = engine.workflow(flow);
    }
    let engine = engine.start().await?;
    let mut seen = load(plan, &watch, &remote, &engine, &flows).await?;
    engine.shut_down().await?;
    (seen.calls, seen.sent) = (remote.calls(), remote.sent());
    seen.probes = probes.load(Ordering::SeqCst);
    Ok(seen)
}

/// Submits tasks at the plan's rates, takes the service away and gives it back, and waits for every task.
async fn load(
    plan: &Plan,
    watch: &Watch,
    remote: &Remote,
    engine: &Engine,
    flows: &[Workflow<usize, ()>],
) -> Result<Seen> {
    let mut seen = Seen { died: f64::INFINITY, back: f64::INFINITY, ..Seen::default() };
    let (dies, returns) = (plan.well.as_secs_f64(), (plan.well + plan.away).as_secs_f64());
    let few = f64::from(plan.rate_after) * plan.call.as_secs_f64() * 3.0 + 10.0;
    let ends = Ends::listen(engine, watch);
    let mut submissions = JoinSet::new();
    let (mut due, mut quiet_since, mut submitted) = (0.0, None, 0_usize);
    loop {
        watch.sleep_until(due).await;
        let now = watch.at();
        if now >= dies && seen.died.is_infinite() {
            remote.set(Some(plan.how));
            seen.died = watch.at();
        }
        if now >= returns && seen.back.is_infinite() {
            seen.back = watch.at();
            remote.set(None);
        }
        #[expect(clippy::cast_precision_loss, reason = "some thousands")]
        match quiet_since {
            None if seen.back.is_finite() && ((submitted - ends.count()) as f64) < few => {
                quiet_since = Some(now);
            }
            Some(since) if now - since > LOOKS_ON => break,
            _ => {}
        }
        due += 1.0 / f64::from(if now < returns { plan.rate } else { plan.rate_after });
        let (engine, flow, nth) = (engine.clone(), flows[submitted % flows.len()].clone(), submitted);
        submissions.spawn(async move {
            let id = engine.submit(&flow, &nth).await?.id();
            anyhow::Ok((id, Task::submitted(now, DEADLINES[nth % DEADLINES.len()])))
        });
        submitted += 1;
    }
    // What has not ended long after all should have is lost.
    let last = watch.at() + plan.patience().as_secs_f64();
    while ends.count() < submitted && watch.at() < last {
        watch.sleep(Duration::from_secs(1)).await;
    }
    while let Some(submission) = submissions.join_next().await {
        let (id, task) = submission??;
        seen.tasks.push(match ends.of(id) {
            Some((at, completed)) => task.ended(at, completed),
            None => task,
        });
    }
    Ok(seen)
}

/// When tasks ended, and whether they completed: as the engine tells it. To wait for each of some thousand tasks would cost
/// more than the tasks.
#[derive(Clone)]
struct Ends(Arc<Mutex<HashMap<TaskId, (f64, bool)>>>);

impl Ends {
    fn listen(engine: &Engine, watch: &Watch) -> Self {
        let (ends, watch, mut events) = (Self(Arc::default()), watch.clone(), engine.events());
        let told = ends.clone();
        drop(tokio::spawn(async move {
            while let Some(event) = events.next().await {
                if let What::Task(state) = event.what
                    && state.is_at_rest()
                {
                    locked(&told.0).insert(event.task, (watch.at(), state == TaskState::Completed));
                }
            }
        }));
        ends
    }

    fn count(&self) -> usize {
        locked(&self.0).len()
    }

    fn of(&self, task: TaskId) -> Option<(f64, bool)> {
        locked(&self.0).get(&task).copied()
    }
}

/// One workflow for each deadline, all of one step at one service.
fn flows(
    plan: &Plan,
    clock: &Clock,
    remote: &Remote,
    probes: &Arc<AtomicUsize>,
) -> Result<Vec<Workflow<usize, ()>>> {
    let seen = Arc::clone(probes);
    let breaker = Breaker::consecutive(THRESHOLD)
        .open_for(plan.open_for[0])
        .growing_to(plan.open_for[1])
        .seed(plan.seed)
        .on_change(move |change| {
            if change.to == State::HalfOpen {
                seen.fetch_add(1, Ordering::SeqCst);
            }
        });
    let retry = Retry::exponential().max_retries(8);
    let pipeline = Pipeline::builder("warehouse")
        .clock(clock.clone())
        .attempt_timeout(plan.timeout)
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
