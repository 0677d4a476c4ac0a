//! A random world: its services, whose answers are drawn, and a random workflow over them.

use super::*;

/// What the services have done, by task, step and undo: when it was first done, and under how many keys.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) done: BTreeMap<(TaskId, usize, bool), (u64, BTreeSet<String>)>,
    pub(crate) tick: u64,
}

pub(crate) struct World {
    pub(crate) rng: Mutex<fastrand::Rng>,
    pub(crate) ledger: Mutex<Ledger>,
    pub(crate) began: Moment,
    /// How long the tasks' input is.
    pub(crate) input: usize,
    /// A condition did not see what it should have.
    pub(crate) blind: AtomicBool,
    /// All tasks are at rest: nothing fails any more.
    pub(crate) over: AtomicBool,
    /// What the program's hook was told.
    pub(crate) told: Told,
    /// What handlers do now.
    pub(crate) books: Mutex<why::Books>,
}

/// A handler at work, in the books until it ends or is dropped.
pub(crate) struct AtWork {
    pub(crate) world: Arc<World>,
    pub(crate) place: (TaskId, usize, bool),
    pub(crate) attempt: u32,
}

impl AtWork {
    pub(crate) fn new(world: &Arc<World>, work: &Work) -> Self {
        let (place, attempt) = ((work.task, work.step.ordinal(), work.undo), work.number);
        world.books.lock().unwrap().begins(place, attempt);
        Self { world: Arc::clone(world), place, attempt }
    }
}

impl Drop for AtWork {
    fn drop(&mut self) {
        self.world.books.lock().unwrap().ends(self.place, self.attempt);
    }
}

impl World {
    pub(crate) fn faulty(&self) -> bool {
        Clock::tokio().now().since(self.began) < FAULTS_END && !self.over.load(Ordering::SeqCst)
    }

    pub(crate) fn draw(&self, below: u32) -> u32 {
        self.rng.lock().unwrap().u32(0..below)
    }

    pub(crate) fn do_it(&self, work: &Work) {
        let mut ledger = self.ledger.lock().unwrap();
        ledger.tick += 1;
        let tick = ledger.tick;
        let place = (work.task, work.step.ordinal(), work.undo);
        let entry = ledger.done.entry(place).or_insert_with(|| (tick, BTreeSet::new()));
        entry.1.insert(work.key.to_string());
    }
}

/// A handler that works, fails, hangs, is slow or panics, with or without having done its work.
pub(crate) fn handler(world: &Arc<World>) -> Arc<dyn Handler> {
    let world = Arc::clone(world);
    Arc::new(move |work: &Arc<Work>, _: Attempt| -> Answered {
        let (world, work) = (Arc::clone(&world), Arc::clone(work));
        Box::pin(async move {
            let _at_work = AtWork::new(&world, &work);
            let fate = if world.faulty() { world.draw(18) } else { 17 };
            let fail = |verdict| Err(Fault { verdict, message: "scripted".to_owned() });
            if matches!(fate, 0 | 2 | 4 | 9) || fate >= 10 {
                world.do_it(&work);
            }
            match fate {
                0 | 1 => fail(Verdict::transient(Kind::CONNECTION_LOST)),
                2 | 3 => std::future::pending().await,
                4 | 5 => {
                    Clock::tokio().sleep(Duration::from_secs(u64::from(world.draw(12)))).await;
                    world.do_it(&work);
                    Ok(output_of(work.step.ordinal()))
                }
                6 | 7 => fail(Verdict::transient(Kind::OVERLOADED).without_effect()),
                8 => fail(Verdict::terminal(Kind::BAD_REQUEST)),
                // Without a word in the log.
                9 => std::panic::resume_unwind(Box::new("scripted")),
                _ => Ok(output_of(work.step.ordinal())),
            }
        })
    })
}

/// What a step gives: its place, as often as makes it small, or too large to be kept in memory.
pub(crate) fn output_of(place: usize) -> Payload {
    let byte = u8::try_from(place).unwrap_or(u8::MAX);
    Payload::from(vec![byte; if place.is_multiple_of(2) { 3_000 } else { 1 }])
}

/// A condition that notes what it should see and does not.
pub(crate) fn condition(world: &Arc<World>, sure: Vec<usize>, holds: bool) -> Condition {
    let world = Arc::clone(world);
    Arc::new(move |known| {
        let sees = |place: &usize| {
            let id = StepId::at(u16::try_from(*place).unwrap());
            known.output(id).is_some_and(|output| output == &*output_of(*place))
        };
        if known.input().len() != world.input || !sure.iter().all(sees) {
            world.blind.store(true, Ordering::SeqCst);
        }
        Ok(holds)
    })
}

/// The names of signals.
pub(crate) const SIGNALS: [&str; 2] = ["go", "stay"];

/// A step that waits, if it is to be one; short where there is a deadline.
pub(crate) fn random_wait(rng: &mut fastrand::Rng, name: &str, short: bool) -> Option<Step> {
    let time = s(rng.u64(1..if short { 3 } else { 40 }));
    let signal = Step::signal(name, SIGNALS[rng.usize(0..2)]);
    match rng.u8(0..20) {
        0 => Some(Step::wait_for(name, time)),
        1 => Some(Step::wait_until(name)),
        2 => Some(signal),
        3 => Some(signal.timeout(time * 2)),
        4 => Some(signal.timeout(time * 2).or_none()),
        _ => None,
    }
}

/// The code of a step that waits: where a time is computed, it is some seconds from when the world began.
pub(crate) fn wait_code(world: &Arc<World>, step: &Step) -> Code {
    let world = Arc::clone(world);
    let until = move |_: &_| {
        let began = Time::from_millis(1_000_000);
        Ok(began + Clock::tokio().now().since(world.began) + s(u64::from(world.draw(3))))
    };
    Code { until: step.is_computed().then_some(Arc::new(until)), ..Code::waits() }
}

/// How a step is repeated: it is done by chance, and at once when nothing fails any more.
pub(crate) fn done(world: &Arc<World>) -> steadfast_runtime::Done {
    let world = Arc::clone(world);
    Arc::new(move |_| Ok(!world.faulty() || world.draw(3) > 0))
}

/// A service whose breaker opens now and then, for a short time.
pub(crate) fn breaking() -> Service {
    let pipeline = Pipeline::builder("svc")
        .clock(Clock::tokio())
        .no_budget()
        .attempt_timeout(s(30))
        .retry(Retry::fixed(Duration::from_millis(100)).max_retries(3))
        .breaker(Breaker::consecutive(2).open_for(s(5)).growing_to(s(10)).seed(7))
        .seed(7);
    Service::new(pipeline.build().unwrap())
}

pub(crate) fn random_workflow(
    rng: &mut fastrand::Rng,
    world: &Arc<World>,
    has_breaker: bool,
) -> Arc<Workflow> {
    let broken = has_breaker.then(breaking);
    let count = rng.usize(1..=7);
    let mut builder = Definition::builder("random");
    // What is parked may miss it, also when nothing fails any more.
    let has_deadline = rng.u8(0..5) == 0 && !has_breaker;
    if has_deadline {
        builder = builder.complete_within(s(rng.u64(20..200)));
    }
    let (mut codes, mut services) = (Vec::new(), Vec::new());
    // Steps that have completed for sure once their turn is over and the task goes on.
    let mut sure: Vec<usize> = Vec::new();
    for place in 0..count {
        let name = format!("s{place}");
        let before: Vec<_> = (0..place).filter(|_| rng.u8(0..3) == 0).collect();
        let seen: Vec<_> = before.iter().copied().filter(|before| sure.contains(before)).collect();
        let names = before.iter().map(|before| format!("s{before}"));
        let mut step = Step::new(&name, "svc").complete_within(s(10)).after(names);
        let can_be_skipped = !before.is_empty() && seen.is_empty();
        let conditional = rng.u8(0..6) == 0;
        if let Some(mut wait) = random_wait(rng, &name, has_deadline) {
            wait = wait.after(before.iter().map(|before| format!("s{before}")));
            let mut code = wait_code(world, &wait);
            if conditional {
                let holds = rng.bool();
                (wait, code.condition) = (wait.conditional(), Some(condition(world, seen, holds)));
            }
            builder = builder.step(wait);
            codes.push(code);
            services.push(Service::none());
            continue;
        }
        if conditional {
            step = step.conditional();
        }
        if rng.u8(0..6) == 0 {
            step = step.not_idempotent();
        }
        if rng.u8(0..4) == 0 {
            step = step.heartbeat_within(s(4));
        }
        let repeats = rng.u8(0..6) == 0;
        if repeats {
            step = step.repeat(Repeat { every: s(rng.u64(0..6)), at_most: Some(4) });
        }
        let on_failure = rng.u8(0..8);
        if !conditional && !can_be_skipped && on_failure != 1 {
            sure.push(place);
        }
        step = match on_failure {
            0 => step.on_failure(OnFailure::Error),
            1 => step.on_failure(OnFailure::Continue),
            _ => step,
        };
        let undo = rng.u8(0..5) > 0 && !repeats;
        step = if undo { step.undo(s(10)) } else { step.nothing_to_undo() };
        if undo && rng.u8(0..3) > 0 {
            step = step.undo_when_unknown();
        }
        builder = builder.step(step);
        let holds = rng.u8(0..3) > 0;
        let condition = condition(world, seen, holds);
        codes.push(Code {
            condition: conditional.then_some(condition),
            undo: undo.then(|| handler(world)),
            done: repeats.then(|| done(world)),
            ..Code::new(handler(world))
        });
        let most = rng.usize(1..4);
        services.push(broken.clone().unwrap_or_else(|| service("svc")).most_running(most));
    }
    Arc::new(Workflow::new(builder.build().unwrap(), codes, services).unwrap())
}
