//! The rules: stories told step by step, and thousands of random ones.

mod actions;
mod callback;
mod child;
mod each;
mod fine;
mod notice;
mod operate;
mod random;
mod recovery;
mod story;
mod undo;
mod wait;
mod why;
mod words;

use std::sync::Arc;
use std::time::Duration;

use crate::*;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// An operator asks for this.
fn asked(action: Action) -> Event {
    Event::Asked { action, by: Arc::from("ann"), why: Arc::from("wrong order") }
}

fn undo_asked() -> Event {
    asked(Action::Undo)
}

/// What a plan wants permits for.
fn permits(plan: &Plan) -> Vec<StepId> {
    let permit = |ask: &Ask| match ask {
        Ask::Permit(id) => Some(*id),
        _ => None,
    };
    plan.asks().iter().filter_map(permit).collect()
}

/// A step with an undo.
fn step(name: &str) -> Step {
    Step::new(name, "service").complete_within(s(10)).undo(s(10))
}

fn workflow(steps: impl IntoIterator<Item = Step>) -> Definition {
    built(steps.into_iter().fold(Definition::builder("w"), Builder::step))
}

fn built(builder: Builder) -> Definition {
    builder.build().unwrap()
}

/// One task under way. Every plan is applied and the rows are checked.
#[derive(Clone)]
struct Run {
    definition: Definition,
    task: Task,
    now: Time,
}

impl Run {
    fn new(definition: Definition) -> Self {
        let now = Time::from_millis(1_000);
        let task = Task::new(&definition, now);
        let mut run = Self { definition, task, now };
        run.event(&Event::Claimed);
        run
    }

    fn id(&self, name: &str) -> StepId {
        self.definition.step_named(name).unwrap()
    }

    fn event(&mut self, event: &Event) -> Plan {
        let plan = decide(&self.definition, &self.task, event, self.now);
        assert!(plan.ignored().is_none() || !plan.changes_anything(), "{event:?}: {plan:?}");
        let before = self.task.clone();
        self.task.apply(&plan);
        notice::check(&before, &self.task, &plan);
        why::check(&self.definition, &self.task, self.now);
        self.task
            .check(&self.definition)
            .unwrap_or_else(|wrong| panic!("{event:?}: {wrong}\n{:#?}", self.task));
        plan
    }

    fn ignored(&mut self, event: &Event) -> Ignored {
        self.event(event).ignored().unwrap_or_else(|| panic!("{event:?} changed something"))
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
    }

    /// Grants what wants to run.
    fn start(&mut self, name: &str) -> Dispatch {
        let step = self.id(name);
        let plan = self.event(&Event::granted(step));
        assert_eq!(plan.dispatches().len(), 1, "{name}: {plan:?}");
        plan.dispatches()[0].clone()
    }

    fn answer(&self, name: &str, answer: Answer) -> Event {
        let step = self.id(name);
        Event::Answered { step, attempt: self.task.step(step).attempt, answer }
    }

    fn complete(&mut self, name: &str) -> Plan {
        let answer = self.answer(name, Answer::Completed);
        self.event(&answer)
    }

    /// Starts and completes.
    fn run(&mut self, name: &str) -> Plan {
        self.start(name);
        self.complete(name)
    }

    fn fail(&mut self, name: &str, effect: Effect, again: Option<Time>) -> Plan {
        let failure = Failure { kind: Arc::from("broken"), calls: 1, effect, again };
        let answer = self.answer(name, Answer::Failed(failure));
        self.event(&answer)
    }

    /// Starts and fails for good, without an effect.
    fn break_down(&mut self, name: &str) -> Plan {
        self.start(name);
        self.fail(name, Effect::None, None)
    }

    fn timed_out(&self, name: &str) -> Event {
        let step = self.id(name);
        Event::TimedOut { step, attempt: self.task.step(step).attempt }
    }

    /// Starts, and does not answer in time.
    fn hang(&mut self, name: &str) -> Plan {
        let dispatch = self.start(name);
        self.now = dispatch.complete_by;
        let event = self.timed_out(name);
        self.event(&event)
    }

    fn state(&self, name: &str) -> StepState {
        self.task.step(self.id(name)).state
    }

    fn undo_state(&self, name: &str) -> UndoState {
        self.task.step(self.id(name)).undo
    }

    /// The names of what a plan wants permits for.
    fn wants(&self, plan: &Plan) -> Vec<&str> {
        permits(plan).into_iter().map(|id| self.definition.step(id).name()).collect()
    }

    fn cause(&self) -> Option<&Cause> {
        self.task.head().ending.as_ref().map(|ending| &ending.cause)
    }

    fn why(&self) -> Cause {
        Cause::Cancelled { by: Arc::from("ann"), why: Arc::from("wrong order") }
    }

    fn cancel(&self) -> Event {
        Event::Cancelled { cause: self.why() }
    }
}
