//! Attempts that gave no answer, and owners that died.

use super::*;

#[test]
fn an_attempt_without_an_answer_is_made_again_then_after_a_long_wait_then_given_up() {
    let recovery = Recovery { at_once: 2, extended_wait: s(600), last: 4 };
    let mut run = Run::new(workflow([step("a").recovery(recovery).undo_when_unknown()]));
    for failures in 1..=2 {
        let plan = run.hang("a");
        assert_eq!((run.state("a"), run.wants(&plan)), (StepState::Ready, vec!["a"]));
        assert_eq!(run.task.step(run.id("a")).failures, failures);
    }
    run.hang("a");
    assert_eq!((run.state("a"), run.task.state()), (StepState::Waiting, TaskState::Waiting));
    assert_eq!(run.task.step(run.id("a")).not_before, Some(run.now + s(600)));
    run.pass(s(600));
    run.event(&Event::Due { step: run.id("a") });
    run.hang("a");
    assert_eq!(run.task.state(), TaskState::Undoing, "it may have happened, and its undo is safe");
    assert_eq!(run.task.step(run.id("a")).failures, 0, "the undo counts its own");
}

#[test]
fn a_timeout_before_its_time_or_of_another_attempt_changes_nothing() {
    let mut run = Run::new(workflow([step("a")]));
    let dispatch = run.start("a");
    let event = run.timed_out("a");
    run.now = Time::from_millis(dispatch.complete_by.as_millis() - 1);
    assert_eq!(run.ignored(&event.clone()), Ignored::NotDue);
    run.now = dispatch.complete_by;
    run.event(&event.clone());
    assert_eq!(run.ignored(&event.clone()), Ignored::Late, "recovered once");
    run.start("a");
    run.pass(s(60));
    assert_eq!(run.ignored(&event), Ignored::Late);
}

#[test]
fn silence_costs_a_call() {
    let mut run = Run::new(workflow([step("a").max_calls(2).undo_when_unknown()]));
    run.hang("a");
    assert_eq!(run.start("a").calls_left, Some(1));
    run.fail("a", Effect::None, Some(run.now + s(1)));
    assert_eq!(run.cause(), Some(&Cause::StepFailed(run.id("a"))));
}

#[test]
fn what_must_not_happen_twice_is_not_made_again() {
    for (safe, state, undo) in
        [(true, TaskState::Undoing, UndoState::Ready), (false, TaskState::Failed, UndoState::None)]
    {
        let a = step("a").not_idempotent();
        let mut run = Run::new(workflow([if safe { a.undo_when_unknown() } else { a }]));
        run.hang("a");
        assert_eq!((run.task.state(), run.undo_state("a")), (state, undo));
        assert_eq!(run.cause(), Some(&Cause::OutcomeUnknown(run.id("a"))));
    }
    // A failure without an effect can be repeated; one with a possible effect cannot, whatever the policy says.
    let mut run = Run::new(workflow([step("a").not_idempotent().on_failure(OnFailure::Continue)]));
    run.start("a");
    run.fail("a", Effect::None, Some(run.now));
    assert_eq!(run.state("a"), StepState::Ready);
    run.start("a");
    run.fail("a", Effect::Possible, Some(run.now));
    assert_eq!((run.state("a"), run.task.state()), (StepState::Unknown, TaskState::Failed));
}

#[test]
fn silence_of_the_point_of_no_return_is_an_operators() {
    let recovery = Recovery { at_once: 0, extended_wait: s(1), last: 1 };
    let mut run = Run::new(workflow([
        step("a"),
        Step::new("ship", "s").complete_within(s(10)).point_of_no_return().after(["a"]).recovery(recovery),
    ]));
    run.run("a");
    run.hang("ship");
    assert_eq!((run.task.state(), run.undo_state("a")), (TaskState::Failed, UndoState::None));
}

#[test]
fn what_ran_in_a_dead_process_is_made_again_at_once_and_an_operators_after_three_deaths() {
    let recovery = Recovery { at_once: 8, extended_wait: s(1), last: 9 };
    let mut run = Run::new(workflow([step("a").recovery(recovery).on_failure(OnFailure::Continue)]));
    let a = run.id("a");
    for death in 1..=3 {
        let dispatch = run.start("a");
        let event = Event::OwnerDied { step: a, attempt: dispatch.attempt };
        run.event(&event.clone());
        let expected = if death < 3 { StepState::Ready } else { StepState::Unknown };
        assert_eq!(run.state("a"), expected);
        let again = run.ignored(&event);
        assert_eq!(again, if death < 3 { Ignored::Late } else { Ignored::Ended });
    }
    assert_eq!((run.task.state(), run.cause()), (TaskState::Failed, Some(&Cause::OwnerDied(a))));
}

#[test]
fn what_was_cut_off_is_made_again_and_counts_as_nothing() {
    let recovery = Recovery { at_once: 0, extended_wait: s(600), last: 2 };
    let mut run = Run::new(workflow([step("a").recovery(recovery).undo_recovery(recovery)]));
    let cut_off = |run: &mut Run| {
        for _ in 0..5 {
            let attempt = run.start("a").attempt;
            run.event(&Event::CutOff { step: run.id("a"), attempt });
            assert_eq!(run.ignored(&Event::CutOff { step: run.id("a"), attempt }), Ignored::Late);
        }
        let record = run.task.step(run.id("a"));
        (record.failures, record.calls, record.owner_deaths, record.may_have_happened)
    };
    assert_eq!(cut_off(&mut run), (0, 0, 0, true));
    run.run("a");
    run.event(&undo_asked());
    assert_eq!(cut_off(&mut run), (0, 0, 0, true), "an undo too");
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);

    let mut run = Run::new(workflow([step("a").not_idempotent()]));
    let attempt = run.start("a").attempt;
    run.event(&Event::CutOff { step: run.id("a"), attempt });
    assert_eq!((run.state("a"), run.task.state()), (StepState::Unknown, TaskState::Failed));
}

#[test]
fn a_step_is_suspect_before_the_last_death_that_it_may_have() {
    let mut run =
        Run::new(workflow([step("a").recovery(Recovery { at_once: 8, extended_wait: s(1), last: 9 })]));
    for (deaths, suspect) in [(0, false), (1, false), (2, true)] {
        let record = run.task.step(run.id("a"));
        assert_eq!((record.owner_deaths, record.is_suspect()), (deaths, suspect));
        let attempt = run.start("a").attempt;
        run.event(&Event::OwnerDied { step: run.id("a"), attempt });
    }
}

#[test]
fn an_undo_that_kills_its_process_is_an_operators() {
    let recovery = Recovery { at_once: 8, extended_wait: s(1), last: 9 };
    let mut run = Run::new(workflow([step("a").undo_recovery(recovery), step("b").after(["a"])]));
    run.run("a");
    run.break_down("b");
    for _ in 1..=3 {
        let dispatch = run.start("a");
        run.event(&Event::OwnerDied { step: run.id("a"), attempt: dispatch.attempt });
    }
    assert_eq!((run.state("a"), run.task.state()), (StepState::UndoFailed, TaskState::Failed));
}
