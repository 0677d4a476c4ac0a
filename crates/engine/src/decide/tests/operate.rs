//! Operators: stories, and random worlds in which somebody repairs what failed. What they can ask in which state is in `actions.rs`.

use super::random::World;
use super::*;

/// Any action, about this step where it is about one.
pub(super) fn any_action(rng: &mut fastrand::Rng, step: StepId, now: Time) -> Action {
    match rng.u8(0..11) {
        0 => Action::Pause,
        10 => Action::Label,
        1 | 2 => Action::Resume,
        3 => Action::Cancel,
        4 => Action::Undo,
        5 => Action::Deadline(rng.bool().then(|| now + s(rng.u64(0..90)))),
        6 => Action::RetryUndo { step, happened: rng.bool() },
        7 => Action::TakeAsUndone { step },
        8 => Action::Skip { step, happened: rng.bool() },
        _ => Action::Retry { step, edited: rng.bool(), did_not_happen: rng.bool() },
    }
}

pub(super) fn retry(step: StepId) -> Action {
    Action::Retry { step, edited: false, did_not_happen: false }
}

/// Two steps, of which the second goes to an operator when it fails.
fn pair() -> Definition {
    workflow([step("a"), step("b").after(["a"]).on_failure(OnFailure::Error)])
}

/// The pair, with its second step failed.
fn failed() -> Run {
    let mut run = Run::new(pair());
    run.run("a");
    run.break_down("b");
    assert_eq!(run.task.state(), TaskState::Failed);
    run
}

#[test]
fn a_failed_step_is_made_again_and_the_task_completes() {
    let mut run = failed();
    let b = run.id("b");
    let plan = run.event(&asked(retry(b)));
    assert_eq!((run.wants(&plan), run.task.state(), run.cause()), (vec!["b"], TaskState::Running, None));
    assert_eq!(run.task.step(b).failures, 0, "its failures are forgotten");
    assert_eq!(run.start("b").series, 0, "under the same key: it may have happened");
    run.complete("b");
    assert_eq!(run.task.state(), TaskState::Completed);
    assert_eq!(run.ignored(&asked(retry(b))), Ignored::Ended);
}

#[test]
fn another_input_comes_with_another_key() {
    let mut run = failed();
    let b = run.id("b");
    let plan = run.event(&asked(Action::Retry { step: b, edited: true, did_not_happen: false }));
    assert_eq!(plan.keeps(), Some(StepId::of_input(b)));
    assert!(run.task.step(b).is_edited());
    assert_eq!(run.start("b").series, 1);
    run.fail("b", Effect::Possible, None);
    assert_eq!(
        run.ignored(&asked(Action::Retry { step: b, edited: true, did_not_happen: false })),
        Ignored::MayHaveHappened
    );
    run.event(&asked(Action::Retry { step: b, edited: true, did_not_happen: true }));
    assert_eq!((run.start("b").series, run.task.step(b).may_have_happened), (2, false));
}

#[test]
fn what_must_not_be_repeated_is_made_again_only_by_word_of_the_operator() {
    let b = step("b").after(["a"]).on_failure(OnFailure::Error).not_idempotent();
    let mut run = Run::new(workflow([step("a"), b]));
    run.run("a");
    run.hang("b");
    assert_eq!((run.task.state(), run.state("b")), (TaskState::Failed, StepState::Unknown));
    let b = run.id("b");
    for refused in [retry(b), Action::Resume] {
        assert_eq!(run.ignored(&asked(refused)), Ignored::MayHaveHappened);
    }
    let mut by_hand = run.clone();
    run.event(&asked(Action::Retry { step: b, edited: false, did_not_happen: true }));
    run.run("b");
    assert_eq!(run.task.state(), TaskState::Completed);
    by_hand.event(&asked(Action::Skip { step: b, happened: true }));
    assert_eq!((by_hand.task.state(), by_hand.state("b")), (TaskState::Completed, StepState::Completed));
}

#[test]
fn what_comes_after_a_skipped_step_runs() {
    let steps = [step("a").on_failure(OnFailure::Error), step("b").after(["a"])];
    for happened in [false, true] {
        let mut run = Run::new(workflow(steps.clone()));
        run.break_down("a");
        let plan = run.event(&asked(Action::Skip { step: run.id("a"), happened }));
        assert_eq!((plan.keeps(), run.wants(&plan)), (Some(run.id("a")), vec!["b"]));
        run.run("b");
        assert_eq!(run.task.state(), TaskState::Completed);
        // Undone after all: what was not done by us is left alone, what was done by other means is not.
        run.event(&undo_asked());
        run.run("b");
        if happened {
            run.run("a");
        }
        assert_eq!((run.task.state(), run.undo_state("a") == UndoState::Done), (TaskState::Undone, happened));
    }
}

#[test]
fn a_step_that_waits_is_made_at_once_or_skipped() {
    let mut run = Run::new(pair());
    run.run("a");
    run.start("b");
    let b = run.id("b");
    assert_eq!(run.ignored(&asked(retry(b))), Ignored::StepRuns);
    assert_eq!(run.ignored(&asked(Action::Skip { step: b, happened: false })), Ignored::StepRuns);
    run.fail("b", Effect::None, Some(run.now + s(600)));
    assert_eq!(run.state("b"), StepState::Waiting);
    let mut skipped = run.clone();
    let plan = run.event(&asked(retry(b)));
    assert_eq!(run.wants(&plan), ["b"]);
    assert_eq!(run.ignored(&asked(retry(b))), Ignored::GoesOn);
    skipped.event(&asked(Action::Skip { step: b, happened: false }));
    assert_eq!(skipped.task.state(), TaskState::Completed);
    assert_eq!(run.ignored(&asked(retry(run.id("a")))), Ignored::StepEnded);
    assert_eq!(run.ignored(&asked(retry(StepId::at(9)))), Ignored::NoSuchStep);
}

#[test]
fn of_two_steps_that_failed_the_other_one_fails_the_task_again() {
    let each = |name| step(name).on_failure(OnFailure::Error);
    let mut run = Run::new(workflow([each("a"), each("b"), each("c").after(["a", "b"])]));
    run.start("a");
    run.start("b");
    run.fail("a", Effect::None, None);
    run.fail("b", Effect::None, None);
    run.event(&asked(retry(run.id("a"))));
    run.run("a");
    assert_eq!((run.task.state(), run.cause()), (TaskState::Failed, Some(&Cause::StepFailed(run.id("b")))));
    let plan = run.event(&asked(Action::Resume));
    assert_eq!(run.wants(&plan), ["b"]);
    run.run("b");
    run.run("c");
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn what_runs_beside_a_failed_step_goes_on_when_that_is_made_again() {
    let steps = [step("a").on_failure(OnFailure::Error), step("b"), step("c").after(["b"])];
    let mut run = Run::new(workflow(steps));
    run.start("a");
    run.start("b");
    run.fail("a", Effect::None, None);
    assert_eq!(run.ignored(&asked(retry(run.id("a")))), Ignored::Ending);
    run.complete("b");
    assert_eq!((run.task.state(), run.state("c")), (TaskState::Failed, StepState::Pending));
    let plan = run.event(&asked(retry(run.id("a"))));
    assert_eq!(run.wants(&plan), ["c", "a"], "what `b` had unlocked has its turn as well");
}

#[test]
fn nothing_begins_while_a_task_is_paused_and_its_deadline_stands_still() {
    let builder = Definition::builder("w").complete_within(s(100));
    let mut run =
        Run::new(built([step("a"), step("b").after(["a"])].into_iter().fold(builder, Builder::step)));
    run.start("a");
    run.pass(s(5));
    run.event(&asked(Action::Pause));
    assert_eq!((run.task.state(), run.task.head().deadline), (TaskState::Paused, None));
    assert_eq!(run.ignored(&asked(Action::Pause)), Ignored::Paused);
    let plan = run.complete("a");
    assert_eq!(
        (plan.asks(), run.state("b"), run.task.state()),
        (&[][..], StepState::Ready, TaskState::Paused)
    );
    let b = run.id("b");
    assert_eq!(run.ignored(&Event::granted(b)), Ignored::Paused);
    run.pass(s(1_000));
    assert_eq!(run.ignored(&Event::DeadlinePassed), Ignored::NotDue);
    assert_eq!(run.ignored(&Event::Claimed), Ignored::Paused);
    let plan = run.event(&asked(Action::Resume));
    assert_eq!(run.wants(&plan), ["b"]);
    assert_eq!(run.task.head().deadline, Some(run.now + s(95)));
    assert_eq!(run.ignored(&asked(Action::Resume)), Ignored::GoesOn);
    run.run("b");
    assert_eq!(run.task.state(), TaskState::Completed);
    assert_eq!(run.ignored(&asked(Action::Pause)), Ignored::Ended);
}

#[test]
fn a_paused_task_can_be_cancelled_and_an_undo_paused() {
    let mut run = Run::new(pair());
    run.run("a");
    run.event(&asked(Action::Pause));
    let plan = run.event(&asked(Action::Cancel));
    assert_eq!((run.task.state(), run.wants(&plan)), (TaskState::Undoing, vec!["a"]));
    run.start("a");
    run.event(&asked(Action::Pause));
    assert_eq!(run.task.state(), TaskState::Paused);
    // What runs may end, and then there is nothing to hold any more.
    run.complete("a");
    assert_eq!((run.task.state(), run.task.head().paused()), (TaskState::Undone, None));
}

#[test]
fn a_task_that_has_not_begun_can_be_held_beyond_its_start() {
    let definition = pair();
    let (now, start) = (Time::from_millis(1_000), Time::from_millis(61_000));
    let mut run = Run { task: Task::starting_at(&definition, now, start), definition, now };
    run.event(&asked(Action::Pause));
    run.pass(s(120));
    assert_eq!(run.ignored(&Event::Claimed), Ignored::Paused);
    let plan = run.event(&asked(Action::Resume));
    assert_eq!((run.task.state(), run.wants(&plan)), (TaskState::Running, vec!["a"]));
}

#[test]
fn a_deadline_can_be_moved_and_one_that_has_passed_stands_in_the_way() {
    let a = Step::new("a", "service").complete_within(s(10)).point_of_no_return();
    let builder = Definition::builder("w").complete_within(s(60)).step(a);
    let b = Step::new("b", "service").after(["a"]).complete_within(s(10)).on_failure(OnFailure::Error);
    let mut run = Run::new(built(builder.step(b)));
    run.run("a");
    run.break_down("b");
    run.pass(s(100));
    let b = run.id("b");
    for late in [retry(b), Action::Resume, Action::Skip { step: b, happened: false }] {
        assert_eq!(run.ignored(&asked(late)), Ignored::DeadlinePassed);
    }
    assert_eq!(run.ignored(&asked(Action::Deadline(Some(run.now)))), Ignored::DeadlinePassed);
    assert_eq!(run.ignored(&asked(Action::Undo)), Ignored::NoReturn);
    run.event(&asked(Action::Deadline(Some(run.now + s(60)))));
    assert_eq!(run.task.state(), TaskState::Failed, "it is still in the operator's hands");
    run.event(&asked(retry(b)));
    run.run("b");
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn an_undo_that_failed_is_tried_again_or_taken_as_done() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.run("a");
    run.run("b");
    run.event(&undo_asked());
    let (a, b) = (run.id("a"), run.id("b"));
    run.break_down("b");
    assert_eq!((run.task.state(), run.undo_state("a")), (TaskState::Failed, UndoState::Pending));
    assert_eq!(run.ignored(&asked(retry(b))), Ignored::UndoBegun);
    assert_eq!(run.ignored(&asked(Action::RetryUndo { step: a, happened: false })), Ignored::UndoNotStuck);
    let mut by_hand = run.clone();
    let plan = run.event(&asked(Action::RetryUndo { step: b, happened: false }));
    assert_eq!((run.wants(&plan), run.task.state()), (vec!["b"], TaskState::Undoing));
    run.break_down("b");
    let plan = run.event(&asked(Action::Resume));
    assert_eq!(run.wants(&plan), ["b"], "as resume does for all of them");
    run.run("b");
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
    let plan = by_hand.event(&asked(Action::TakeAsUndone { step: b }));
    assert_eq!((by_hand.wants(&plan), by_hand.state("b")), (vec!["a"], StepState::Undone));
    by_hand.run("a");
    assert_eq!(by_hand.task.state(), TaskState::Undone);
    assert_eq!(by_hand.ignored(&asked(Action::TakeAsUndone { step: b })), Ignored::Ended);
}

#[test]
fn a_step_of_which_nobody_knows_is_undone_by_word_of_the_operator() {
    let b = step("b").after(["a"]).not_idempotent();
    let mut run = Run::new(workflow([step("a"), b]));
    run.run("a");
    run.hang("b");
    run.event(&undo_asked());
    let b = run.id("b");
    assert_eq!((run.task.state(), run.undo_state("b")), (TaskState::Failed, UndoState::Failed));
    for refused in [Action::RetryUndo { step: b, happened: false }, Action::Resume] {
        assert_eq!(run.ignored(&asked(refused)), Ignored::MayHaveHappened);
    }
    run.event(&asked(Action::RetryUndo { step: b, happened: true }));
    run.run("b");
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
}

/// An operator who says only what is so, and has everything go on in the end: the services' books still fit.
#[test]
fn whatever_an_operator_repairs_random_workflows_end_as_a_whole_or_with_a_reason() {
    let only = std::env::var("SEED").ok().map(|seed| seed.parse::<u64>().unwrap());
    let (mut repaired, mut held) = (0, 0);
    for seed in only.map_or(0..1_000, |seed| seed..seed + 1) {
        let lived = std::panic::catch_unwind(|| {
            let mut world = World::new(seed);
            world.event(&Event::Claimed);
            let (mut repairs, mut holds) = (0, 0);
            for round in 0..30_000 {
                world.faults = round < 600;
                let rests = world.run.task.state().is_at_rest();
                if rests && (round > 600 || world.run.task.state() != TaskState::Failed) {
                    break;
                }
                if rests || world.rng.u8(0..40) == 0 {
                    let action = honest(&mut world);
                    let done = world.event(&asked(action)).ignored().is_none();
                    repairs += u32::from(done && rests && action != Action::Deadline(None));
                    holds += u32::from(done && action == Action::Pause);
                }
                // Nobody forgets a task for ever.
                if world.run.task.state() == TaskState::Paused && (round > 600 || world.rng.u8(0..20) == 0) {
                    world.event(&asked(Action::Resume));
                }
                if !world.run.task.state().is_at_rest() {
                    world.live();
                }
            }
            world.audit();
            (repairs, holds)
        });
        let Ok((repairs, holds)) = lived else {
            panic!("replay with: SEED={seed} cargo test -p steadfast-engine an_operator_repairs");
        };
        (repaired, held) = (repaired + repairs, held + holds);
    }
    println!("{repaired} times a failed task was taken up again, {held} times one was held");
    assert!(only.is_some() || repaired > 1_000 && held > 150, "{repaired}, {held}");
}

/// Something that an operator can ask without saying what is not so.
fn honest(world: &mut World) -> Action {
    let ids: Vec<_> = world.run.definition.ids().collect();
    let step = ids[world.rng.usize(0..ids.len())];
    match world.rng.u8(0..8) {
        0 => Action::Pause,
        1 => Action::Deadline(None),
        2 => Action::Deadline(Some(world.run.now + s(world.rng.u64(1..90)))),
        3 => Action::RetryUndo { step, happened: false },
        4 | 5 => retry(step),
        _ => Action::Resume,
    }
}

#[test]
fn a_step_whose_condition_could_not_be_judged_is_judged_anew() {
    let step = step("a").conditional().on_failure(OnFailure::Error);
    let mut run = Run::new(workflow([step]));
    let a = run.id("a");
    run.event(&Event::Unjudged { step: a, why: Arc::from("no such field") });
    assert_eq!(run.task.state(), TaskState::Failed);
    let plan = run.event(&asked(Action::Resume));
    assert_eq!(plan.asks(), [Ask::Condition(a)], "it was never attempted");
    run.event(&Event::Judged { step: a, holds: true });
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn a_step_that_was_done_by_other_means_is_known_to_have_happened() {
    for (happened, state) in [(true, StepState::Completed), (false, StepState::Skipped)] {
        let mut run = Run::new(workflow([step("a").on_failure(OnFailure::Error)]));
        run.start("a");
        run.fail("a", Effect::Possible, None);
        let step = run.id("a");
        run.event(&asked(Action::Skip { step, happened }));
        let row = run.task.step(step);
        assert_eq!((row.state, row.may_have_happened), (state, false));
    }
}

#[test]
fn labels_change_nothing_that_a_task_works_by() {
    let mut run = Run::new(pair());
    let before = run.task.clone();
    let plan = run.event(&asked(Action::Label));
    assert!(plan.ignored().is_none() && !plan.changes_anything());
    assert_eq!(plan.keeps(), Some(StepId::OF_LABELS));
    run.run("a");
    run.break_down("b");
    let plan = run.event(&asked(Action::Label));
    assert!(plan.ignored().is_none() && run.task != before, "also at rest");
}

#[test]
fn a_signal_that_a_skipped_step_would_have_taken_goes_to_the_one_that_waits() {
    let waits = |name| Step::signal(name, "go");
    let mut run =
        Run::new(workflow([step("x").on_failure(OnFailure::Error), waits("a").after(["x"]), waits("b")]));
    let (a, b) = (run.id("a"), run.id("b"));
    for id in ["1", "2"] {
        run.event(&Event::Signalled { signal: Arc::from("go"), id: Some(Arc::from(id)) });
    }
    assert_eq!(run.state("b"), StepState::Completed, "the first ends the wait, the second is kept");
    let skip = |step| asked(Action::Skip { step, happened: false });
    run.run("x");
    assert_eq!(run.task.head().kept_for(a).map(|kept| kept.step), Some(Some(a)));
    run.event(&skip(a));
    assert_eq!(run.task.head().kept().iter().map(|kept| kept.step).collect::<Vec<_>>(), [None]);

    let mut run = Run::new(workflow([step("x"), waits("a").after(["x"]), waits("b").after(["x"])]));
    run.event(&Event::Signalled { signal: Arc::from("go"), id: None });
    run.run("x");
    assert_eq!(run.task.head().kept_for(a).map(|kept| kept.step), Some(Some(a)));
    let plan = run.event(&skip(a));
    assert!(matches!(plan.asks(), [Ask::Signal { step, .. }] if *step == b), "{plan:?}");
    run.event(&Event::Taken { step: b });
    assert_eq!(run.task.state(), TaskState::Completed);
}

/// A task that was not taken has no steps: it can be closed, and nothing else.
#[test]
fn one_that_was_not_taken_can_only_be_closed() {
    let definition = Definition::of_none_taken("nobody", 3);
    let ask = |task: &Task, action| decide(&definition, task, &asked(action), Time::from_millis(9));
    let mut task = Task::not_taken(Arc::from("no such workflow"));
    let step = StepId::at(0);
    for action in [
        Action::Resume,
        Action::Pause,
        Action::Cancel,
        Action::Deadline(None),
        retry(step),
        Action::Skip { step, happened: true },
        Action::RetryUndo { step, happened: true },
        Action::TakeAsUndone { step },
    ] {
        assert_eq!(ask(&task, action).ignored(), Some(Ignored::NotTaken), "{action:?}");
    }
    assert_eq!(ask(&task, Action::Label).ignored(), None);
    task.apply(&ask(&task, Action::Undo));
    assert_eq!(task.state(), TaskState::Undone);
    assert_eq!(ask(&task, Action::Undo).ignored(), Some(Ignored::Ended));
    assert_eq!(ask(&task, Action::Resume).ignored(), Some(Ignored::Ended));
}
