//! Steps that ask for another task.

use super::*;

const LATER: Duration = Duration::from_secs(600);

fn asking() -> Run {
    Run::new(workflow([step("a"), Step::child("b", "other").after(["a"]), step("c").after(["b"])]))
}

/// The first look: the other task is asked for, and goes on.
fn asked_for() -> Run {
    let mut run = asking();
    run.run("a");
    run.start("b");
    run.goes_on("b");
    run
}

impl Run {
    fn goes_on(&mut self, name: &str) -> Plan {
        let answer = self.answer(name, Answer::NotYet);
        self.event(&answer)
    }

    fn wake(&mut self, name: &str) -> Plan {
        let step = self.id(name);
        self.event(&Event::Woken { step })
    }

    fn row(&self, name: &str) -> &Record {
        self.task.step(self.id(name))
    }
}

#[test]
fn it_waits_while_the_other_task_goes_on_and_looks_when_that_has_ended() {
    let mut run = asked_for();
    let row = run.row("b").clone();
    assert_eq!((row.state, row.not_before), (StepState::Waiting, Some(run.now + LATER)));
    assert!(row.may_have_happened, "whatever that one does is this step's");
    assert_eq!((row.rounds(), row.failures, row.since()), (1, 0, None));
    assert_eq!(run.task.state(), TaskState::Waiting);
    let plan = run.wake("b");
    assert_eq!(run.wants(&plan), ["b"]);
    let sent = run.start("b");
    assert_eq!((sent.round, sent.series, sent.undo), (1, 0, false));
    run.complete("b");
    assert!(!run.row("b").is_undoing());
    run.run("c");
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn an_end_that_comes_while_it_looks_is_not_lost() {
    let mut run = asking();
    run.run("a");
    run.start("b");
    run.wake("b");
    assert_eq!(run.row("b").since(), Some(run.now), "told while it ran");
    let b = run.id("b");
    assert_eq!(run.ignored(&Event::Woken { step: b }), Ignored::NotNow, "once is enough");
    let plan = run.goes_on("b");
    assert_eq!(run.wants(&plan), ["b"], "it looks again at once");
    assert_eq!(run.row("b").since(), None);
    run.start("b");
    run.goes_on("b");
    assert_eq!(run.state("b"), StepState::Waiting, "and only once");
}

#[test]
fn nobody_who_waits_for_nothing_is_woken() {
    let mut run = asking();
    let (a, b, c) = (run.id("a"), run.id("b"), run.id("c"));
    for step in [a, b, c] {
        assert_eq!(run.ignored(&Event::Woken { step }), Ignored::NotNow);
    }
    run.start("a");
    assert_eq!(run.ignored(&Event::Woken { step: a }), Ignored::NotNow, "it asks for no other task");
    run.complete("a");
    assert_eq!(run.ignored(&Event::Woken { step: b }), Ignored::NotNow, "it is ready anyway");
    run.event(&Event::Refused { step: b, block: Block::Limit, until: Some(run.now + s(5)) });
    assert_eq!(run.ignored(&Event::Woken { step: b }), Ignored::NotNow, "it waits for its service");
    run.event(&Event::Released { step: b });
    run.run("b");
    assert_eq!(run.ignored(&Event::Woken { step: b }), Ignored::NotNow, "it has ended");
}

#[test]
fn an_attempt_that_waits_for_its_retry_may_look_sooner() {
    let mut run = asking();
    run.run("a");
    run.start("b");
    run.fail("b", Effect::Possible, Some(run.now + s(60)));
    let plan = run.wake("b");
    assert_eq!(run.wants(&plan), ["b"]);
}

#[test]
fn nobody_looks_while_an_operator_holds_the_task_and_then_at_once() {
    let mut run = asked_for();
    run.event(&asked(Action::Pause));
    let plan = run.wake("b");
    assert!(plan.asks().is_empty());
    assert_eq!(run.row("b").not_before, Some(run.now), "its time has come");
    run.event(&asked(Action::Resume));
    let b = run.id("b");
    let plan = run.event(&Event::Due { step: b });
    assert_eq!(run.wants(&plan), ["b"]);
}

#[test]
fn failures_of_one_look_are_not_those_of_the_next() {
    let mut run = asking();
    run.run("a");
    run.start("b");
    run.fail("b", Effect::Possible, Some(run.now));
    assert_eq!(run.row("b").failures, 1);
    run.start("b");
    run.goes_on("b");
    let row = run.row("b");
    assert_eq!((row.failures, row.calls, row.owner_deaths, row.last_failure.clone()), (0, 0, 0, None));
}

#[test]
fn a_task_that_was_undone_leaves_nothing_to_undo() {
    let mut run = asked_for();
    run.wake("b");
    run.start("b");
    run.fail("b", Effect::Refused, None);
    assert_eq!(run.state("b"), StepState::Failed);
    assert_eq!(run.undo_state("b"), UndoState::None);
    assert_eq!(run.undo_state("a"), UndoState::Ready);
}

#[test]
fn who_is_cancelled_while_it_waits_undoes_it_and_waits_for_that() {
    let mut run = asked_for();
    let cancel = run.cancel();
    let plan = run.event(&cancel);
    assert_eq!(run.wants(&plan), ["b"], "what came last is undone first");
    let sent = run.start("b");
    assert_eq!((sent.undo, sent.round), (true, 1));
    run.goes_on("b");
    assert_eq!(run.undo_state("b"), UndoState::Waiting);
    assert_eq!(run.row("b").not_before, Some(run.now + LATER));
    assert_eq!(run.undo_state("a"), UndoState::Pending, "it waits for the undo of what came after it");
    let plan = run.wake("b");
    assert_eq!(run.wants(&plan), ["b"]);
    run.start("b");
    let plan = run.complete("b");
    assert_eq!(run.wants(&plan), ["a"]);
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn who_is_cancelled_while_it_looks_undoes_what_goes_on() {
    let mut run = asking();
    run.run("a");
    run.start("b");
    let cancel = run.cancel();
    run.event(&cancel);
    run.wake("b");
    let plan = run.goes_on("b");
    assert_eq!(run.wants(&plan), ["b"], "its undo, although it was told that the other one has ended");
    assert!(run.row("b").is_undoing());
    let b = run.id("b");
    run.start("b");
    run.complete("b");
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
    assert_eq!(run.ignored(&Event::Woken { step: b }), Ignored::Ended);
}

#[test]
fn behind_a_point_of_no_return_it_has_no_undo() {
    let last = Step::child("b", "other").after(["a"]);
    let mut run = Run::new(workflow([Step::new("a", "service").point_of_no_return(), last]));
    assert!(run.definition.step(run.id("b")).undo_settings().is_none());
    run.run("a");
    run.start("b");
    run.fail("b", Effect::Refused, None);
    assert_eq!(run.task.state(), TaskState::Failed);
}

#[test]
fn a_process_that_dies_while_it_looks_says_nothing_of_the_step() {
    let mut run = asked_for();
    for _ in 0..5 {
        if run.state("b") == StepState::Waiting {
            run.wake("b");
        }
        let sent = run.start("b");
        let (step, attempt) = (sent.step, sent.attempt);
        let plan = run.event(&Event::OwnerDied { step, attempt });
        assert_eq!(run.wants(&plan), ["b"]);
        assert_eq!((run.row("b").owner_deaths, run.row("b").failures), (0, 0));
    }
    let cancel = run.cancel();
    run.event(&cancel);
    for _ in 0..5 {
        let sent = run.start("b");
        assert!(sent.undo);
        let plan = run.event(&Event::OwnerDied { step: sent.step, attempt: sent.attempt });
        assert_eq!(run.wants(&plan), ["b"]);
    }
    // What it is asked for with is made by the user's code.
    let mut run = asking();
    run.run("a");
    for deaths in 1..=2 {
        let sent = run.start("b");
        run.event(&Event::OwnerDied { step: sent.step, attempt: sent.attempt });
        assert_eq!(run.row("b").owner_deaths, deaths);
        if run.state("b") == StepState::Waiting {
            run.pass(s(30));
            let step = sent.step;
            run.event(&Event::Due { step });
        }
    }
    let sent = run.start("b");
    run.event(&Event::OwnerDied { step: sent.step, attempt: sent.attempt });
    assert_eq!(run.task.state(), TaskState::Failed);
}

// ---- operators ----

#[test]
fn while_the_other_task_goes_on_the_step_is_neither_made_again_nor_skipped() {
    let mut run = asked_for();
    let step = run.id("b");
    let actions = [
        Action::Retry { step, edited: false, did_not_happen: true },
        Action::Retry { step, edited: true, did_not_happen: true },
        Action::Skip { step, happened: true },
    ];
    for action in actions {
        assert_eq!(run.ignored(&asked(action)), Ignored::ChildGoesOn);
    }
    run.wake("b");
    assert_eq!(run.state("b"), StepState::Ready);
    assert_eq!(run.ignored(&asked(actions[2])), Ignored::ChildGoesOn, "also when it is about to look");
}

#[test]
fn a_step_that_may_have_asked_for_a_task_is_not_skipped() {
    let skip = |step| asked(Action::Skip { step, happened: false });
    // Nobody knows whether it was asked for.
    let mut run = asking();
    run.run("a");
    run.start("b");
    run.fail("b", Effect::Possible, Some(run.now + s(60)));
    let b = run.id("b");
    assert_eq!(run.ignored(&skip(b)), Ignored::ChildGoesOn);
    // It was given up, and items beside it were put back.
    let failing =
        Step::child("b", "other").on_failure(OnFailure::Error).each(Each { at_a_time: 2, tolerates: 0 });
    let mut run = Run::new(workflow([failing]));
    let b = run.id("b");
    run.event(&Event::Listed { step: b, items: 2 });
    for number in [0, 1] {
        run.event(&Event::granted(StepId::of_item(number)));
    }
    run.event(&Event::Answered { step: StepId::of_item(1), attempt: 1, answer: Answer::NotYet });
    let refused = Failure { kind: Arc::from("undone"), calls: 1, effect: Effect::Refused, again: None };
    run.event(&Event::Answered { step: StepId::of_item(0), attempt: 1, answer: Answer::Failed(refused) });
    assert_eq!(run.task.state(), TaskState::Failed);
    assert_eq!(run.task.step(StepId::of_item(1)).state, StepState::Pending, "it is put back");
    assert_eq!(run.ignored(&skip(b)), Ignored::ChildGoesOn);
    // One whose task was undone is.
    let mut run = Run::new(workflow([Step::child("b", "other").on_failure(OnFailure::Error)]));
    run.start("b");
    run.fail("b", Effect::Refused, None);
    let b = run.id("b");
    run.event(&skip(b));
    assert_eq!(run.task.state(), TaskState::Completed);
}

/// Whose task is gone, or gave what does not fit, is settled by the word of an operator who has looked; others are not.
#[test]
fn a_step_whose_task_is_over_is_settled_by_the_word_that_it_happened() {
    for (kind, is_settled) in [
        ("child-gone: it is not there", true),
        ("child-unfit: x", true),
        ("child-undone", false),
        ("", false),
    ] {
        let failing = Step::child("b", "other").on_failure(OnFailure::Error);
        let mut run = Run::new(workflow([failing, step("c").after(["b"])]));
        run.start("b");
        run.goes_on("b");
        run.wake("b");
        run.start("b");
        let failure = Failure { kind: Arc::from(kind), calls: 1, effect: Effect::Possible, again: None };
        let answer = run.answer("b", Answer::Failed(failure));
        run.event(&answer);
        assert_eq!(run.task.state(), TaskState::Failed, "{kind}");
        let skip = |happened| asked(Action::Skip { step: run.id("b"), happened });
        let (left, happened) = (skip(false), skip(true));
        assert_eq!(run.ignored(&left), Ignored::ChildGoesOn, "{kind}: it would be left behind");
        if is_settled {
            run.event(&happened);
            assert_eq!(run.state("b"), StepState::Completed, "{kind}");
        } else {
            assert_eq!(run.ignored(&happened), Ignored::ChildGoesOn, "{kind}");
        }
    }
}

#[test]
fn made_again_it_asks_for_another_task_unless_the_first_may_be_there() {
    let failing = || Step::child("b", "other").on_failure(OnFailure::Error);
    let mut run = Run::new(workflow([failing()]));
    run.start("b");
    run.fail("b", Effect::Refused, None);
    run.event(&asked(Action::Resume));
    assert_eq!(run.start("b").series, 1, "the first one was undone");

    let mut run = Run::new(workflow([failing()]));
    run.start("b");
    run.goes_on("b");
    run.wake("b");
    run.start("b");
    run.fail("b", Effect::Possible, None);
    assert_eq!(run.state("b"), StepState::Unknown);
    let step = run.id("b");
    let again = Action::Retry { step, edited: false, did_not_happen: false };
    let mut other = run.clone();
    run.event(&asked(again));
    let sent = run.start("b");
    assert_eq!((sent.series, sent.round), (0, 1), "it looks for the same one");
    other.event(&asked(Action::Retry { step, edited: false, did_not_happen: true }));
    let sent = other.start("b");
    assert_eq!((sent.series, sent.round), (1, 0), "somebody knows that there is none");
}

#[test]
fn a_task_that_rested_looks_again_when_somebody_takes_it_up() {
    let broken = step("x").on_failure(OnFailure::Error);
    let mut run = Run::new(workflow([broken, Step::child("b", "other")]));
    run.start("b");
    run.goes_on("b");
    run.break_down("x");
    assert_eq!(run.task.state(), TaskState::Failed);
    assert_eq!(run.state("b"), StepState::Waiting);
    let plan = run.event(&asked(Action::Resume));
    let mut wants = run.wants(&plan);
    wants.sort_unstable();
    assert_eq!(wants, ["b", "x"], "it had no mail while it rested");
}

#[test]
fn before_it_has_looked_once_it_may_be_made_again() {
    let mut run = asking();
    run.run("a");
    run.start("b");
    run.fail("b", Effect::Possible, Some(run.now + s(60)));
    let step = run.id("b");
    let plan = run.event(&asked(Action::Retry { step, edited: false, did_not_happen: false }));
    assert_eq!(run.wants(&plan), ["b"]);
    assert_eq!(run.start("b").series, 0, "under the same id");
}

#[test]
fn what_waits_for_no_other_task_is_left_alone_when_somebody_takes_the_task_up() {
    let broken = step("x").on_failure(OnFailure::Error);
    let list = Step::child("b", "other").each(Each { at_a_time: 1, tolerates: 0 });
    let mut run = Run::new(workflow([broken, step("y"), list]));
    let b = run.id("b");
    run.event(&Event::Listed { step: b, items: 2 });
    run.event(&Event::granted(StepId::of_item(0)));
    run.event(&Event::Answered { step: StepId::of_item(0), attempt: 1, answer: Answer::NotYet });
    run.start("y");
    run.fail("y", Effect::None, Some(run.now + s(60)));
    run.break_down("x");
    let plan = run.event(&asked(Action::Resume));
    let x = run.id("x");
    assert_eq!(permits(&plan), [StepId::of_item(0), x]);
    assert_eq!((run.state("y"), run.state("b")), (StepState::Waiting, StepState::Waiting));
}

#[test]
fn a_round_of_a_step_that_asks_for_nobody_is_no_other_task() {
    let every = Repeat { every: s(60), at_most: Some(5) };
    let mut run = Run::new(workflow([Step::new("a", "service").nothing_to_undo().repeat(every)]));
    run.start("a");
    run.goes_on("a");
    run.pass(s(60));
    let step = run.id("a");
    run.event(&Event::Due { step });
    run.start("a");
    run.fail("a", Effect::Possible, Some(run.now + s(60)));
    let plan = run.event(&asked(Action::Retry { step, edited: false, did_not_happen: false }));
    assert_eq!(run.wants(&plan), ["a"]);
}

// ---- why ----

fn words(run: &Run, known: Option<TaskState>) -> (On, Change, String) {
    let mut why = run.task.why(&run.definition, run.now, &Since::default());
    if let Some(state) = known {
        why.know_children(|_| Some((Arc::from("id-7"), state)));
    }
    let held = why.held.iter().find(|held| held.name == "b").unwrap();
    (held.on.clone(), held.change.clone(), held.in_words(run.now))
}

#[test]
fn it_says_which_task_it_waits_for() {
    let mut run = asked_for();
    let workflow = "other".to_owned();
    let (on, change, told) = words(&run, None);
    assert_eq!((on, change), (On::Child { workflow: workflow.clone(), task: None }, Change::Child));
    assert_eq!(told, "`b`: it waits for the task of workflow `other` that it has asked for");
    let (on, change, told) = words(&run, Some(TaskState::Running));
    let task = Some((Arc::from("id-7"), TaskState::Running));
    assert_eq!((on, change), (On::Child { workflow, task }, Change::Child));
    assert_eq!(told, "`b`: it waits for task id-7 of workflow `other`: ask why of that one");
    let (_, change, told) = words(&run, Some(TaskState::Failed));
    assert_eq!(change, Change::Operator);
    assert!(
        told.contains("which has failed: it goes on when somebody has repaired or undone that one"),
        "{told}"
    );
    // One that waits for its next attempt says so.
    run.wake("b");
    run.start("b");
    run.fail("b", Effect::Possible, Some(run.now + s(60)));
    assert_eq!(words(&run, None).0, On::NextAttempt { failures: 1 });
}

#[test]
fn its_undo_says_the_same() {
    let mut run = asked_for();
    let cancel = run.cancel();
    run.event(&cancel);
    run.start("b");
    run.goes_on("b");
    let (on, _, told) = words(&run, None);
    assert!(matches!(on, On::Child { .. }));
    assert_eq!(told, "undo of `b`: it waits for the task of workflow `other` that it has asked for");
    run.wake("b");
    run.start("b");
    run.fail("b", Effect::Possible, Some(run.now + s(60)));
    assert_eq!(words(&run, None).0, On::NextAttempt { failures: 1 });
    let mut plain = Run::new(workflow([step("b")]));
    plain.run("b");
    plain.event(&undo_asked());
    plain.start("b");
    plain.fail("b", Effect::None, Some(plain.now + s(60)));
    assert_eq!(words(&plain, None).0, On::NextAttempt { failures: 1 });
}

// ---- items ----

#[test]
fn items_ask_for_tasks_of_their_own() {
    let each = Each { at_a_time: 2, tolerates: 0 };
    let mut run = Run::new(workflow([Step::child("b", "other").each(each)]));
    let b = run.id("b");
    run.event(&Event::Listed { step: b, items: 3 });
    assert_eq!(run.ignored(&Event::Woken { step: b }), Ignored::NotNow, "its items are woken");
    let item = StepId::of_item;
    for number in [0, 1] {
        let plan = run.event(&Event::granted(item(number)));
        assert_eq!(plan.dispatches()[0].round, 0);
        let attempt = run.task.step(item(number)).attempt;
        run.event(&Event::Answered { step: item(number), attempt, answer: Answer::NotYet });
        assert_eq!(run.task.step(item(number)).state, StepState::Waiting);
    }
    let skip = Action::Skip { step: b, happened: false };
    assert_eq!(run.ignored(&asked(skip)), Ignored::ChildGoesOn);
    let plan = run.event(&Event::Woken { step: item(1) });
    assert_eq!(permits(&plan), [item(1)]);
    run.event(&Event::granted(item(1)));
    let attempt = run.task.step(item(1)).attempt;
    let plan = run.event(&Event::Answered { step: item(1), attempt, answer: Answer::Completed });
    assert_eq!(permits(&plan), [item(2)]);
    let cancel = run.cancel();
    let plan = run.event(&cancel);
    assert_eq!(permits(&plan), [item(1), item(0)], "those that were asked for, from the last on");
}
