//! Whether a task's rows agree with each other and with its workflow: for whoever reads them back, and for tests.

use super::{Busy, Callback, End, Record, StepState, Task, TaskState, UndoState};
use crate::definition::{Definition, StepId, Wait};

impl Task {
    /// Whether the rows can be those of a task of this workflow.
    ///
    /// # Errors
    /// The first thing that does not fit, in words.
    pub fn check(&self, definition: &Definition) -> Result<(), String> {
        if self.steps.len() != definition.steps().len() {
            return Err(format!("{} rows for {} steps", self.steps.len(), definition.steps().len()));
        }
        self.check_counts(definition)?;
        definition.ids().try_for_each(|id| self.check_step(definition, id))?;
        definition.ids().try_for_each(|id| self.check_wait(definition, id))?;
        self.check_more(definition)?;
        self.check_items(definition)?;
        self.check_end(definition)
    }

    fn check_counts(&self, definition: &Definition) -> Result<(), String> {
        let busy = |wanted| self.rows().filter(|(_, record)| record.busy() == wanted).count();
        let is_open = |id: &StepId| match self.undo_has_begun() {
            true => !matches!(self.step(*id).undo, UndoState::None | UndoState::Done),
            false => !self.is_settled(definition, *id),
        };
        let open = definition.ids().filter(is_open).count();
        for (what, told, counted) in [
            ("running", self.head.running, busy(Busy::Running)),
            ("ready", self.head.ready, busy(Busy::Ready)),
            ("resting", self.head.resting, busy(Busy::Resting)),
            ("open", self.head.open, open),
        ] {
            if usize::try_from(told) != Ok(counted) {
                return Err(format!("the head says {told} {what}, the steps {counted}"));
            }
        }
        Ok(())
    }

    /// Where it stands, whether or not an operator holds it.
    fn was(&self) -> TaskState {
        self.head.paused().map_or(self.head.state, |paused| paused.was)
    }

    fn undo_has_begun(&self) -> bool {
        self.head.ending.as_ref().is_some_and(|ending| ending.drained && ending.end == End::Undo)
    }

    /// Whether a step, or an item, has ended so that the task goes on. The definition must be its own.
    #[must_use]
    pub fn is_settled(&self, definition: &Definition, id: StepId) -> bool {
        self.step(id).is_settled(self.rules(definition, id))
    }

    fn check_step(&self, definition: &Definition, id: StepId) -> Result<(), String> {
        let (record, name) = (self.step(id), definition.step(id).name());
        let wrong = |what: &str| Err(format!("step `{name}`: {what}"));
        self.check_row(definition, id)?;
        let begun = !matches!(record.state, StepState::Pending | StepState::Skipped);
        let locked = |earlier: &StepId| !self.is_settled(definition, *earlier);
        if begun
            && record.undo == UndoState::None
            && self.head.ending.is_none()
            && let Some(earlier) = definition.before(id).iter().find(|earlier| locked(earlier))
        {
            return wrong(&format!("it began before `{}` had ended", definition.step(*earlier).name()));
        }
        Ok(())
    }

    /// The row of a step or of an item by itself.
    fn check_row(&self, definition: &Definition, id: StepId) -> Result<(), String> {
        let (record, step) = (self.step(id), self.rules(definition, id));
        let wrong = |what: &str| match self.head.fan_of(id).and_then(|fan| fan.place_of(id)) {
            Some(item) => Err(format!("step `{}`, item {item}: {what}", step.name())),
            None => Err(format!("step `{}`: {what}", step.name())),
        };
        if record.is_running() != record.complete_by.is_some() {
            return wrong("what runs, and nothing else, has a complete-by");
        }
        if record.is_running() && record.attempt == 0 {
            return wrong("it runs, and was never attempted");
        }
        if record.is_parked() != record.blocked_on.is_some() {
            return wrong("what is parked, and nothing else, says what for");
        }
        if record.not_before.is_some() && record.busy() != Busy::Resting {
            return wrong("it waits for a time, and does not wait");
        }
        if step.callback_within().is_none() && record.callback() != Callback::default() {
            return wrong("it was given a URL, and nobody calls back");
        }
        if record.undo != UndoState::None && !self.undo_has_begun() {
            return wrong("its undo has begun, and the task's has not");
        }
        if record.undo != UndoState::None && step.undo_settings().is_none() {
            return wrong("it is undone, and has no undo");
        }
        Ok(())
    }

    /// What waits by its definition, and what is repeated.
    fn check_wait(&self, definition: &Definition, id: StepId) -> Result<(), String> {
        let (step, record) = (definition.step(id), self.step(id));
        let wrong = |what: &str| Err(format!("step `{}`: {what}", step.name()));
        let fans_out = step.fans_out().is_some();
        let by_definition = step.wait().is_some() || fans_out;
        let waits = record.state == StepState::Waiting && by_definition;
        // One that runs may have been told of the end of the task that it has asked for.
        let told = step.asks_for().is_some() && record.is_running() && !fans_out;
        if record.since().is_some() != waits && !told && !self.awaits_callback(definition, id) {
            return wrong("what waits by its definition, and nothing else, says since when");
        }
        let ended = matches!(record.state, StepState::Completed | StepState::Skipped | StepState::Failed);
        if by_definition
            && record.undo == UndoState::None
            && (record.attempt > 0 || !(waits || ended || record.state == StepState::Pending))
        {
            return wrong("it calls nothing, and was attempted");
        }
        let endless = fans_out || matches!(step.wait(), Some(Wait::Signal { timeout: None, .. }));
        let waits = waits || fans_out && record.undo == UndoState::Waiting;
        if record.busy() == Busy::Resting
            && !record.is_parked()
            && record.not_before.is_none() != (waits && endless)
        {
            return wrong("what waits has a time, but for a signal without a timeout");
        }
        let endless = if step.asks_for().is_some() { u32::MAX } else { 0 };
        let most = step.repeats().map_or(endless, |repeat| repeat.at_most.unwrap_or(u32::MAX));
        if record.rounds() > most || record.rounds() == most && most > 0 && record.state != StepState::Failed
        {
            return wrong("it had more rounds than it may have");
        }
        Ok(())
    }

    /// When it starts, and the signals that are kept for it.
    fn check_more(&self, definition: &Definition) -> Result<(), String> {
        let begun = !matches!(self.was(), TaskState::Pending | TaskState::Undone);
        if self.head.start_at().is_some() && begun {
            return Err("it has begun, and is to start later".to_owned());
        }
        for (number, kept) in self.head.kept().iter().enumerate() {
            let signal = &kept.signal;
            if self.head.kept()[..number].iter().any(|other| other.at == kept.at) {
                return Err(format!("two signals are kept at one place, one is `{signal}`"));
            }
            let fits = |id: &StepId| {
                let waits = self.step(*id).state == StepState::Waiting || self.head.ending.is_some();
                definition.step(*id).signal_name() == Some(signal) && waits
            };
            if kept.step.is_some_and(|id| !fits(&id)) || definition.waits_for(signal).next().is_none() {
                return Err(format!("signal `{signal}` is kept for a step that does not wait for it"));
            }
        }
        Ok(())
    }

    /// Items agree with what their step says of them.
    fn check_items(&self, definition: &Definition) -> Result<(), String> {
        for (id, _) in self.items() {
            if self.head.fan_of(id).is_none() {
                return Err(format!("item {} belongs to no list", id.item().unwrap_or_default()));
            }
            self.check_row(definition, id)?;
        }
        for fan in self.head.fans() {
            let name = definition.step(fan.step).name();
            let Some(each) = definition.step(fan.step).fans_out() else {
                return Err(format!("step `{name}`: it has items, and is not made for each of any"));
            };
            let count = |wanted: &dyn Fn(&Record) -> bool| {
                fan.items().filter(|item| wanted(self.step(*item))).count()
            };
            let begun = self.step(fan.step).undo != UndoState::None;
            let done =
                |record: &Record| record.state == StepState::Completed && record.undo == UndoState::None;
            let failed = |record: &Record| {
                matches!(record.state, StepState::Failed | StepState::Unknown)
                    && record.undo == UndoState::None
            };
            let forward = !begun && !self.undo_has_begun();
            let told = [
                ("busy", fan.busy, count(&|record| record.busy() != Busy::No), true),
                ("done", fan.done, count(&done), forward),
                ("failed", fan.failed, count(&failed), forward),
            ];
            for (what, told, counted, counts) in told {
                if counts && usize::from(told) != counted {
                    return Err(format!(
                        "step `{name}`: it says {told} items are {what}, the items {counted}"
                    ));
                }
            }
            if fan.busy > each.at_a_time {
                return Err(format!("step `{name}`: {} items are under way at a time", fan.busy));
            }
            let over = fan.next == fan.count && fan.busy == 0;
            if forward && self.step(fan.step).state == StepState::Waiting && over {
                return Err(format!("step `{name}`: all its items have ended, and it has not"));
            }
        }
        Ok(())
    }

    fn check_end(&self, definition: &Definition) -> Result<(), String> {
        let state = self.was();
        if self.head.paused().is_some() != (self.head.state == TaskState::Paused)
            || state == TaskState::Paused
        {
            return Err("what is paused, and nothing else, says by whom".to_owned());
        }
        if self.head.paused().is_some() && (state.is_at_rest() || self.head.deadline.is_some()) {
            return Err("it is paused, and has ended or its deadline counts".to_owned());
        }
        if self.head.no_return && self.undo_has_begun() {
            return Err("it is undone behind its point of no return".to_owned());
        }
        match (state, &self.head.ending) {
            (TaskState::Undoing | TaskState::Undone | TaskState::Failed, None) => {
                return Err(format!("it is {state:?}, and does not say why"));
            }
            (TaskState::Pending | TaskState::Completed, Some(_)) => {
                return Err(format!("it is {state:?}, and says why it does not complete"));
            }
            _ => {}
        }
        match state {
            TaskState::Completed if self.head.open > 0 => {
                Err("it is completed, and steps are open".to_owned())
            }
            TaskState::Undone => definition.ids().chain(self.items().map(|(id, _)| id)).try_for_each(|id| {
                let (step, record) = (self.rules(definition, id), self.step(id));
                // Of one with items those are looked at.
                if self.head.fan(id).is_some() {
                    return Ok(());
                }
                let left = record.state == StepState::Completed || record.may_have_happened;
                match left && step.undo_settings().is_some() && record.undo != UndoState::Done {
                    true => Err(format!("it is undone, and step `{}` is not", step.name())),
                    false => Ok(()),
                }
            }),
            TaskState::Failed if self.head.running > 0 => Err("it has failed, and attempts run".to_owned()),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::{Cause, Ending};
    use super::*;
    use crate::event::Block;
    use crate::time::Time;
    use crate::{Definition, Step};

    fn workflow() -> Definition {
        let undo = Duration::from_secs(1);
        let b = Step::new("b", "s").after(["a"]).undo(undo);
        let c = Step::new("c", "s").nothing_to_undo().after(["a"]);
        Definition::builder("w").step(Step::new("a", "s").undo(undo)).step(b).step(c).build().unwrap()
    }

    fn ending(end: End, drained: bool) -> Option<Ending> {
        Some(Ending { end, cause: Cause::Deadline, drained })
    }

    /// A task of which everything has completed.
    fn completed() -> Task {
        let mut task = Task::new(&workflow(), Time::from_millis(0));
        (task.head.state, task.head.open) = (TaskState::Completed, 0);
        task.steps.iter_mut().for_each(|record| record.state = StepState::Completed);
        task
    }

    /// A task that is undone as a whole.
    fn undone() -> Task {
        let mut task = completed();
        (task.head.state, task.head.ending) = (TaskState::Undone, ending(End::Undo, true));
        for record in &mut task.steps[..2] {
            (record.state, record.undo) = (StepState::Undone, UndoState::Done);
        }
        task
    }

    #[test]
    fn sound_rows_pass() {
        for task in [Task::new(&workflow(), Time::from_millis(0)), completed(), undone()] {
            assert_eq!(task.check(&workflow()), Ok(()));
        }
        let (first, task) = (StepId::at(1), completed());
        assert_eq!((task.steps().len(), task.rows().count(), task.rows().nth(1).unwrap().0), (3, 3, first));
    }

    #[test]
    fn rows_that_contradict_each_other_are_told() {
        let at = Some(Time::from_millis(5));
        type Spoil = fn(&mut Task);
        let on_new: [(Spoil, &str); 8] = [
            (|task| drop(task.steps.pop()), "2 rows for 3 steps"),
            (|task| task.head.running = 1, "the head says 1 running, the steps 0"),
            (|task| task.head.open = 2, "the head says 2 open, the steps 3"),
            (
                |task| task.steps[0].complete_by = Some(Time::from_millis(5)),
                "step `a`: what runs, and nothing else, has a complete-by",
            ),
            (
                |task| task.steps[0].blocked_on = Some(Block::Limit),
                "step `a`: what is parked, and nothing else, says what for",
            ),
            (
                |task| task.steps[0].not_before = Some(Time::from_millis(5)),
                "step `a`: it waits for a time, and does not wait",
            ),
            (
                |task| task.steps[1].undo = UndoState::Pending,
                "step `b`: its undo has begun, and the task's has not",
            ),
            (|task| task.head.state = TaskState::Failed, "it is Failed, and does not say why"),
        ];
        for (spoil, words) in on_new {
            let mut task = Task::new(&workflow(), Time::from_millis(0));
            spoil(&mut task);
            assert_eq!(task.check(&workflow()).unwrap_err(), words);
        }
        let mut early = Task::new(&workflow(), Time::from_millis(0));
        (early.head.state, early.head.running) = (TaskState::Running, 1);
        (early.steps[1].state, early.steps[1].complete_by) = (StepState::Running, at);
        assert_eq!(early.check(&workflow()).unwrap_err(), "step `b`: it runs, and was never attempted");
        early.steps[1].attempt = 1;
        assert_eq!(early.check(&workflow()).unwrap_err(), "step `b`: it began before `a` had ended");
        early.head.ending = ending(End::Undo, false);
        assert_eq!(early.check(&workflow()), Ok(()), "an end that waits for what runs is sound");
        (early.head.state, early.head.ending) = (TaskState::Failed, ending(End::Fail, true));
        assert_eq!(early.check(&workflow()).unwrap_err(), "it has failed, and attempts run");
    }

    #[test]
    fn waits_that_make_no_sense_are_told() {
        let poll = Step::new("poll", "s").nothing_to_undo();
        let workflow = Definition::builder("w")
            .step(Step::signal("ok", "go").timeout(Duration::from_secs(5)))
            .step(poll.repeat(crate::Repeat { every: Duration::ZERO, at_most: Some(2) }))
            .build()
            .unwrap();
        let kept = |at: u16, step: Option<StepId>| super::super::Kept {
            signal: "go".into(),
            at: StepId::of_signal(at),
            step,
        };
        type Spoil<'a> = &'a dyn Fn(&mut Task);
        let cases: [(Spoil<'_>, &str); 8] = [
            (
                &|task| task.steps[0].change_more(|more| more.since = Some(Time::from_millis(1))),
                "step `ok`: what waits by its definition, and nothing else, says since when",
            ),
            (&|task| task.steps[0].attempt = 1, "step `ok`: it calls nothing, and was attempted"),
            (
                &|task| {
                    (task.steps[0].state, task.head.resting) = (StepState::Waiting, 1);
                    task.steps[0].change_more(|more| more.since = Some(Time::from_millis(1)));
                },
                "step `ok`: what waits has a time, but for a signal without a timeout",
            ),
            (
                &|task| task.steps[1].change_more(|more| more.rounds = 2),
                "step `poll`: it had more rounds than it may have",
            ),
            (
                &|task| task.steps[0].change_more(|more| more.rounds = 1),
                "step `ok`: it had more rounds than it may have",
            ),
            (
                &|task| {
                    task.head.state = TaskState::Running;
                    task.head.change_more(|more| more.start_at = Some(Time::from_millis(1)));
                },
                "it has begun, and is to start later",
            ),
            (
                &|task| task.head.change_more(|more| more.kept = vec![kept(0, None), kept(0, None)]),
                "two signals are kept at one place, one is `go`",
            ),
            (
                &|task| task.head.change_more(|more| more.kept = vec![kept(0, Some(StepId::at(1)))]),
                "signal `go` is kept for a step that does not wait for it",
            ),
        ];
        for (spoil, words) in cases {
            let mut task = Task::new(&workflow, Time::from_millis(0));
            assert_eq!(task.check(&workflow), Ok(()));
            spoil(&mut task);
            assert_eq!(task.check(&workflow).unwrap_err(), words);
        }
    }

    #[test]
    fn what_looks_for_another_task_may_have_been_told_and_what_has_items_has_not() {
        let told = |step: Step, state: StepState| {
            let workflow = Definition::builder("w").step(step).build().unwrap();
            let mut task = Task::new(&workflow, Time::from_millis(0));
            task.head.state = TaskState::Running;
            let row = &mut task.steps[0];
            (row.state, row.attempt) = (state, 1);
            match state {
                StepState::Running => (row.complete_by, task.head.running) = (Some(Time::from_millis(9)), 1),
                _ => task.head.ready = 1,
            }
            row.change_more(|more| more.since = Some(Time::from_millis(1)));
            task.check(&workflow)
        };
        let plain = || Step::new("a", "s").nothing_to_undo();
        assert_eq!(told(Step::child("a", "b"), StepState::Running), Ok(()));
        for (step, state) in [(Step::child("a", "b"), StepState::Ready), (plain(), StepState::Running)] {
            let words = told(step, state).unwrap_err();
            assert!(words.contains("says since when"), "{words}");
        }
    }

    #[test]
    fn the_head_counts_its_steps_also_for_those_who_do_not_know_the_workflow() {
        let mut task = Task::new(&workflow(), Time::from_millis(0));
        assert_eq!(task.check_alone(), Ok(()));
        (task.steps[0].state, task.steps[1].state) = (StepState::Ready, StepState::Running);
        assert_eq!(task.check_alone().unwrap_err(), "the head says 0 running, the steps 1");
        task.head.running = 1;
        assert_eq!(task.check_alone().unwrap_err(), "the head says 0 ready, the steps 1");
        (task.head.ready, task.head.resting) = (1, 1);
        assert_eq!(task.check_alone().unwrap_err(), "the head says 1 resting, the steps 0");
    }

    #[test]
    fn an_end_that_is_none_is_told() {
        let mut open = completed();
        (open.steps[2].state, open.head.open) = (StepState::Pending, 1);
        assert_eq!(open.check(&workflow()).unwrap_err(), "it is completed, and steps are open");
        let mut left = undone();
        (left.steps[0].state, left.steps[0].undo) = (StepState::Completed, UndoState::None);
        assert_eq!(left.check(&workflow()).unwrap_err(), "it is undone, and step `a` is not");
        let mut unclear = undone();
        (unclear.steps[0].state, unclear.steps[0].undo) = (StepState::Unknown, UndoState::None);
        unclear.steps[0].may_have_happened = true;
        assert_eq!(unclear.check(&workflow()).unwrap_err(), "it is undone, and step `a` is not");
        let mut beyond = undone();
        beyond.head.no_return = true;
        assert_eq!(beyond.check(&workflow()).unwrap_err(), "it is undone behind its point of no return");
        let mut nothing = undone();
        nothing.steps[2].undo = UndoState::Done;
        assert_eq!(nothing.check(&workflow()).unwrap_err(), "step `c`: it is undone, and has no undo");
        let mut why = completed();
        why.head.ending = ending(End::Fail, true);
        assert_eq!(why.check(&workflow()).unwrap_err(), "it is Completed, and says why it does not complete");
    }
}
