//! What somebody has to be told of [O1].

use super::*;

/// After every event of every test: what came to an operator is told once, and nothing else is.
pub(super) fn check(before: &Task, after: &Task, plan: &Plan) {
    let fails = before.state() != TaskState::Failed && after.state() == TaskState::Failed;
    let failed = plan.notices().iter().filter(|notice| matches!(notice, Notice::TaskFailed { .. }));
    assert_eq!(failed.count(), usize::from(fails), "{plan:?}");
    let stuck = |task: &Task| {
        let stuck = task.rows().filter(|(_, record)| record.undo == UndoState::Failed);
        stuck.map(|(id, _)| id).collect::<Vec<_>>()
    };
    let was = stuck(before);
    let newly: Vec<_> = stuck(after).into_iter().filter(|id| !was.contains(id)).collect();
    let told = plan.notices().iter().filter_map(|notice| match notice {
        Notice::UndoStuck { step } => Some(*step),
        Notice::TaskFailed { .. } => None,
    });
    assert_eq!(told.collect::<Vec<_>>(), newly, "{plan:?}");
}

#[test]
fn a_task_that_fails_is_told_in_the_plan_that_fails_it() {
    let mut run = Run::new(workflow([step("a").on_failure(OnFailure::Error), step("b")]));
    run.start("b");
    let plan = run.break_down("a");
    assert_eq!(plan.notices(), [], "`b` is waited for");
    let plan = run.complete("b");
    assert_eq!(plan.notices(), [Notice::TaskFailed { unknown: vec![] }]);
    assert_eq!(run.ignored(&run.cancel()), Ignored::Ended);
}

#[test]
fn a_task_that_completes_or_is_undone_tells_nothing() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    assert_eq!(run.run("a").notices(), []);
    let mut undone = run.clone();
    assert_eq!(run.run("b").notices(), []);
    assert_eq!(undone.break_down("b").notices(), []);
    assert_eq!((undone.run("a").notices(), undone.task.state()), (&[][..], TaskState::Undone));
}

#[test]
fn an_undo_that_is_stuck_is_told_at_once_and_its_task_when_the_rest_is_undone() {
    let mut run = Run::new(workflow([step("a"), step("b"), step("c").after(["a", "b"])]));
    run.run("a");
    run.run("b");
    run.break_down("c");
    let plan = run.break_down("a");
    assert_eq!(plan.notices(), [Notice::UndoStuck { step: run.id("a") }]);
    assert_eq!(
        run.task.stuck_in_words(&run.definition, run.id("a")).as_deref(),
        Some("`a` could not be undone: broken")
    );
    assert_eq!(run.task.stuck_in_words(&run.definition, run.id("b")), None);
    let plan = run.run("b");
    assert_eq!(plan.notices(), [Notice::TaskFailed { unknown: vec![] }]);
    // An operator has it tried again, and it is stuck again.
    run.event(&undo_asked());
    let plan = run.break_down("a");
    let stuck = Notice::UndoStuck { step: run.id("a") };
    assert_eq!(plan.notices(), [stuck, Notice::TaskFailed { unknown: vec![] }]);
}

#[test]
fn a_step_of_which_nobody_knows_is_named() {
    let mut run = Run::new(workflow([step("a").not_idempotent()]));
    let plan = run.hang("a");
    assert_eq!(plan.notices(), [Notice::TaskFailed { unknown: vec![run.id("a")] }]);
    // Where its undo is not safe, that is stuck as well.
    let mut run = Run::new(workflow([step("a")]));
    run.start("a");
    let plan = run.fail("a", Effect::Possible, None);
    let step = run.id("a");
    assert_eq!(plan.notices(), [Notice::UndoStuck { step }, Notice::TaskFailed { unknown: vec![step] }]);
}
