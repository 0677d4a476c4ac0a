//! The way back.

use super::*;

#[test]
fn what_was_done_is_undone_in_reverse_order() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"]), step("c").after(["b"])]));
    run.run("a");
    run.run("b");
    let plan = run.break_down("c");
    assert_eq!((run.task.state(), run.wants(&plan)), (TaskState::Undoing, vec!["b"]));
    assert_eq!((run.state("a"), run.undo_state("a")), (StepState::Completed, UndoState::Pending));
    assert_eq!(run.ignored(&Event::granted(run.id("a"))), Ignored::NotNow);
    let dispatch = run.start("b");
    assert!(dispatch.undo);
    assert_eq!(dispatch.attempt, 2, "attempts count over step and undo");
    assert_eq!(run.state("b"), StepState::Undoing);
    let plan = run.complete("b");
    assert_eq!((run.state("b"), run.wants(&plan)), (StepState::Undone, vec!["a"]));
    run.run("a");
    assert_eq!((run.task.state(), run.state("c")), (TaskState::Undone, StepState::Failed));
}

#[test]
fn an_undo_has_no_rounds() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.run("a");
    run.break_down("b");
    run.start("a");
    let answer = run.answer("a", Answer::NotYet);
    run.event(&answer);
    assert_eq!((run.task.state(), run.state("a")), (TaskState::Undone, StepState::Undone));
}

#[test]
fn the_order_holds_over_steps_that_have_nothing_to_undo() {
    let mut run = Run::new(workflow([
        step("a"),
        Step::new("look", "s").nothing_to_undo().after(["a"]),
        step("b").after(["look"]),
        step("c").after(["b"]),
    ]));
    for name in ["a", "look", "b"] {
        run.run(name);
    }
    let plan = run.break_down("c");
    assert_eq!(run.wants(&plan), ["b"], "`a` waits, although nothing of `look` is undone");
    let plan = run.run("b");
    assert_eq!(run.wants(&plan), ["a"]);
    run.run("a");
    assert_eq!((run.task.state(), run.state("look")), (TaskState::Undone, StepState::Completed));
}

#[test]
fn branches_are_undone_beside_each_other() {
    let mut run = Run::new(workflow([
        step("a"),
        step("b").after(["a"]),
        step("c").after(["a"]),
        step("d").after(["b", "c"]),
    ]));
    for name in ["a", "b", "c"] {
        run.run(name);
    }
    let plan = run.break_down("d");
    assert_eq!(run.wants(&plan), ["b", "c"]);
    let plan = run.run("b");
    assert!(run.wants(&plan).is_empty(), "`a` came before `c` too");
    let plan = run.run("c");
    assert_eq!(run.wants(&plan), ["a"]);
}

#[test]
fn undo_begins_once_what_runs_beside_has_ended() {
    let mut run = Run::new(workflow([step("a"), step("b"), step("c").after(["b"])]));
    run.start("b");
    run.break_down("a");
    assert_eq!((run.task.state(), run.state("b")), (TaskState::Undoing, StepState::Running));
    let plan = run.complete("b");
    assert_eq!(run.wants(&plan), ["b"], "undone right after it was done");
    assert_eq!(run.state("c"), StepState::Skipped);
    run.run("b");
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn a_retry_is_not_waited_for_once_the_task_is_ending() {
    let mut run = Run::new(workflow([step("a"), step("b"), step("c")]));
    run.start("c");
    run.fail("c", Effect::None, Some(run.now + s(1)));
    run.start("b");
    run.break_down("a");
    run.pass(s(1));
    assert_eq!(run.ignored(&Event::Due { step: run.id("c") }), Ignored::Ending);
    run.fail("b", Effect::None, Some(run.now + s(1)));
    assert_eq!((run.state("b"), run.state("c")), (StepState::Failed, StepState::Skipped));
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn what_may_have_happened_is_undone_where_that_is_safe() {
    let mut run = Run::new(workflow([step("a").undo_when_unknown(), step("b").after(["a"])]));
    run.start("a");
    run.fail("a", Effect::Possible, None);
    assert_eq!((run.state("a"), run.undo_state("a")), (StepState::Undoing, UndoState::Ready));
    run.run("a");
    assert_eq!((run.task.state(), run.state("a")), (TaskState::Undone, StepState::Undone));
}

#[test]
fn what_may_have_happened_and_cannot_be_undone_safely_is_an_operators() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"]), step("other")]));
    run.run("a");
    run.run("other");
    run.start("b");
    run.fail("b", Effect::Possible, None);
    assert_eq!((run.state("b"), run.undo_state("b")), (StepState::Unknown, UndoState::Failed));
    assert_eq!(
        run.undo_state("a"),
        UndoState::Pending,
        "it comes after the undo of `b`, which nobody can make"
    );
    run.run("other");
    assert_eq!((run.task.state(), run.state("other")), (TaskState::Failed, StepState::Undone));
}

/// A clear no answers for all attempts: they had one key. That the last one did nothing does not.
#[test]
fn what_may_have_happened_has_not_once_the_service_says_no_for_good() {
    for (said, state, ends) in [
        (Effect::Refused, StepState::Failed, TaskState::Undone),
        (Effect::None, StepState::Unknown, TaskState::Failed),
    ] {
        let mut run = Run::new(workflow([step("a")]));
        run.start("a");
        run.fail("a", Effect::Possible, Some(run.now));
        run.start("a");
        run.fail("a", said, None);
        assert_eq!((run.state("a"), run.task.state()), (state, ends), "{said:?}");
    }
}

#[test]
fn a_step_that_waited_for_its_retry_may_have_happened() {
    let mut run = Run::new(workflow([step("a").undo_when_unknown()]));
    run.start("a");
    run.fail("a", Effect::Possible, Some(run.now + s(60)));
    run.event(&run.cancel());
    assert_eq!(run.undo_state("a"), UndoState::Ready);
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn an_undo_is_retried_and_one_that_keeps_failing_is_seen() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"]), step("c").after(["b"])]));
    run.run("a");
    run.run("b");
    run.break_down("c");
    run.start("b");
    run.fail("b", Effect::Possible, Some(run.now + s(3)));
    assert_eq!((run.undo_state("b"), run.task.state()), (UndoState::Waiting, TaskState::Undoing));
    run.pass(s(3));
    run.event(&Event::Due { step: run.id("b") });
    run.event(&Event::Refused { step: run.id("b"), block: Block::Breaker, until: None });
    assert_eq!(run.undo_state("b"), UndoState::Parked);
    run.event(&Event::Released { step: run.id("b") });
    run.start("b");
    run.fail("b", Effect::None, None);
    assert_eq!((run.state("b"), run.undo_state("a")), (StepState::UndoFailed, UndoState::Pending));
    assert_eq!((run.task.state(), run.cause()), (TaskState::Failed, Some(&Cause::StepFailed(run.id("c")))));
}

#[test]
fn an_undo_without_an_answer_is_made_again_then_after_a_long_wait_then_given_up() {
    let recovery = Recovery { at_once: 1, extended_wait: s(600), last: 3 };
    let mut run = Run::new(workflow([step("a").undo_recovery(recovery), step("b").after(["a"])]));
    run.run("a");
    run.break_down("b");
    let plan = run.hang("a");
    assert_eq!((run.undo_state("a"), run.wants(&plan)), (UndoState::Ready, vec!["a"]));
    run.hang("a");
    assert_eq!(
        (run.undo_state("a"), run.task.step(run.id("a")).not_before),
        (UndoState::Waiting, Some(run.now + s(600)))
    );
    run.pass(s(600));
    run.event(&Event::Due { step: run.id("a") });
    run.hang("a");
    assert_eq!((run.undo_state("a"), run.task.state()), (UndoState::Failed, TaskState::Failed));
}

#[test]
fn a_cancelled_task_is_undone_and_only_once() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.run("a");
    run.start("b");
    let cancel = run.cancel();
    run.event(&cancel.clone());
    assert_eq!(run.ignored(&cancel), Ignored::Ending);
    assert_eq!(run.state("b"), StepState::Running, "it is waited for");
    let plan = run.complete("b");
    assert_eq!(run.wants(&plan), ["b"]);
    run.run("b");
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
    assert_eq!(run.ignored(&run.cancel()), Ignored::Ended);
}

#[test]
fn a_task_that_nobody_has_begun_can_be_cancelled() {
    let definition = workflow([step("a")]);
    let (task, now) = (Task::new(&definition, Time::from_millis(0)), Time::from_millis(1));
    let mut run = Run { definition, task, now };
    run.event(&run.cancel());
    assert_eq!((run.task.state(), run.state("a")), (TaskState::Undone, StepState::Skipped));
}

#[test]
fn behind_the_point_of_no_return_nothing_is_undone() {
    let definition = || {
        built(
            Definition::builder("w")
                .complete_within(s(100))
                .step(step("a"))
                .step(Step::new("ship", "s").point_of_no_return().after(["a"]))
                .step(Step::new("mail", "s").after(["ship"])),
        )
    };
    let mut run = Run::new(definition());
    run.run("a");
    run.run("ship");
    assert_eq!(run.ignored(&run.cancel()), Ignored::NoReturn);
    run.pass(s(100));
    run.event(&Event::DeadlinePassed);
    assert_eq!((run.task.state(), run.cause()), (TaskState::Failed, Some(&Cause::Deadline)));
    assert_eq!((run.state("a"), run.undo_state("a")), (StepState::Completed, UndoState::None));

    let mut run = Run::new(definition());
    run.run("a");
    run.run("ship");
    run.break_down("mail");
    assert_eq!(run.task.state(), TaskState::Failed);

    // Cancelled while the point of no return runs: what it says decides.
    for completes in [true, false] {
        let mut run = Run::new(definition());
        run.run("a");
        run.start("ship");
        run.event(&run.cancel());
        assert_eq!(run.task.state(), TaskState::Undoing);
        match completes {
            true => run.complete("ship"),
            false => run.fail("ship", Effect::None, None),
        };
        let expected = if completes { TaskState::Failed } else { TaskState::Undoing };
        assert_eq!(run.task.state(), expected);
    }
}

#[test]
fn a_new_owner_of_a_task_that_is_ending_begins_nothing() {
    let mut run = Run::new(workflow([step("a"), step("b"), step("c"), step("d").conditional()]));
    run.start("b");
    run.break_down("a");
    assert_eq!(run.state("c"), StepState::Ready);
    assert!(run.event(&Event::Claimed).asks().is_empty(), "it waits for `b`, and for nothing else");
}

#[test]
fn an_undo_that_is_to_be_made_again_at_once_does_not_wait() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.run("a");
    run.break_down("b");
    run.start("a");
    run.fail("a", Effect::None, Some(run.now));
    assert_eq!(run.undo_state("a"), UndoState::Ready);
}

#[test]
fn a_completed_task_can_be_undone_on_request() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.run("a");
    run.run("b");
    let cause = run.why();
    let plan = run.event(&undo_asked());
    assert_eq!((run.task.state(), run.cause()), (TaskState::Undoing, Some(&cause)));
    assert_eq!(run.wants(&plan), ["b"]);
    run.run("b");
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
    assert_eq!(run.ignored(&undo_asked()), Ignored::Ended);
}

#[test]
fn an_undo_that_failed_is_tried_again_on_request_and_what_is_undone_is_left_alone() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"]), step("c").after(["b"])]));
    run.run("a");
    run.run("b");
    // An answer of it was lost: it may have happened twice, and is undone once.
    run.start("c");
    run.fail("c", Effect::Possible, Some(run.now));
    run.run("c");
    let ask = undo_asked();
    run.event(&ask);
    run.run("c");
    run.start("b");
    run.fail("b", Effect::None, None);
    assert_eq!((run.task.state(), run.undo_state("a")), (TaskState::Failed, UndoState::Pending));
    let plan = run.event(&ask);
    assert_eq!((run.wants(&plan), run.undo_state("c")), (vec!["b"], UndoState::Done));
    assert_eq!(run.task.step(run.id("b")).failures, 0);
    run.run("b");
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn a_request_to_undo_a_task_under_way_cancels_it() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.run("a");
    run.event(&undo_asked());
    assert_eq!(run.task.state(), TaskState::Undoing);
}

#[test]
fn behind_the_point_of_no_return_a_request_to_undo_is_refused() {
    let a = Step::new("a", "service").nothing_to_undo().point_of_no_return();
    let mut run = Run::new(workflow([a]));
    run.run("a");
    assert_eq!(run.ignored(&undo_asked()), Ignored::NoReturn);
}

#[test]
fn how_a_step_failed_that_may_have_happened_is_still_told_when_it_is_undone() {
    let mut run = Run::new(workflow([step("a").undo_when_unknown()]));
    run.start("a");
    run.fail("a", Effect::Possible, None);
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Undone);
    assert_eq!(run.task.cause_in_words(&run.definition), "step `a` failed: broken");
    // One that was done in the end has no failure to tell of.
    let mut run = Run::new(workflow([step("a")]));
    run.start("a");
    run.fail("a", Effect::None, Some(run.now));
    run.run("a");
    run.event(&undo_asked());
    assert_eq!(run.task.step(run.id("a")).last_failure, None);
}
