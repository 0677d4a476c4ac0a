//! The way forward.

use super::*;

#[test]
fn steps_run_in_their_order_and_the_task_completes() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    assert_eq!(
        (run.task.state(), run.state("a"), run.state("b")),
        (TaskState::Running, StepState::Ready, StepState::Pending)
    );
    let dispatch = run.start("a");
    assert_eq!((dispatch.attempt, dispatch.undo), (1, false));
    assert_eq!(dispatch.complete_by, run.now + s(10));
    let plan = run.complete("a");
    assert_eq!(run.wants(&plan), ["b"], "completion and the next start are one plan");
    run.run("b");
    assert_eq!((run.task.state(), run.task.head().open), (TaskState::Completed, 0));
    assert_eq!(run.ignored(&Event::Claimed), Ignored::Ended);
}

#[test]
fn branches_run_beside_each_other_and_join() {
    let mut run = Run::new(workflow([
        step("a"),
        step("b").after(["a"]),
        step("c").after(["a"]),
        step("d").after(["b", "c"]),
    ]));
    run.start("a");
    let plan = run.complete("a");
    assert_eq!(run.wants(&plan), ["b", "c"]);
    run.start("b");
    run.start("c");
    run.complete("c");
    let plan = run.complete("b");
    assert_eq!(run.wants(&plan), ["d"]);
    run.run("d");
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn a_join_waits_for_all_of_its_branches() {
    let mut run = Run::new(workflow([step("b"), step("c"), step("d").after(["b", "c"])]));
    run.start("b");
    run.start("c");
    let plan = run.complete("c");
    assert!(run.wants(&plan).is_empty());
    assert_eq!(run.ignored(&Event::granted(run.id("d"))), Ignored::NotNow);
    let plan = run.complete("b");
    assert_eq!(run.wants(&plan), ["d"]);
}

#[test]
fn a_condition_is_asked_for_and_skips_its_branch_as_a_whole() {
    let definition = || {
        workflow([
            step("a"),
            step("gift").after(["a"]).conditional(),
            step("wrap").after(["gift"]),
            step("ship").after(["wrap", "a"]),
        ])
    };
    for (holds, gift, wrap) in
        [(true, StepState::Ready, StepState::Pending), (false, StepState::Skipped, StepState::Skipped)]
    {
        let mut run = Run::new(definition());
        let gift_id = run.id("gift");
        assert_eq!(
            run.ignored(&Event::Judged { step: gift_id, holds }),
            Ignored::NotNow,
            "it is not its turn"
        );
        run.start("a");
        let plan = run.complete("a");
        assert_eq!(plan.asks(), [Ask::Condition(gift_id)]);
        assert_eq!(
            run.event(&Event::Claimed).asks(),
            [Ask::Condition(gift_id)],
            "asked again by a new owner"
        );
        let plan = run.event(&Event::Judged { step: gift_id, holds });
        assert_eq!((run.state("gift"), run.state("wrap")), (gift, wrap));
        assert_eq!(run.wants(&plan), [if holds { "gift" } else { "ship" }], "the join runs: `a` did");
    }
}

#[test]
fn a_task_of_which_everything_is_skipped_is_complete() {
    let mut run = Run::new(workflow([step("a").conditional(), step("b").after(["a"])]));
    run.event(&Event::Judged { step: run.id("a"), holds: false });
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn a_refused_step_is_parked_and_costs_no_attempt() {
    let mut run = Run::new(workflow([step("a")]));
    let a = run.id("a");
    let until = Some(run.now + s(5));
    run.event(&Event::Refused { step: a, block: Block::Breaker, until });
    assert_eq!((run.state("a"), run.task.state()), (StepState::Parked, TaskState::Waiting));
    let record = run.task.step(a);
    assert_eq!((record.attempt, record.failures, &record.blocked_on), (0, 0, &Some(Block::Breaker)));
    assert_eq!(run.ignored(&Event::granted(a)), Ignored::NotNow);
    assert_eq!(run.ignored(&Event::Due { step: a }), Ignored::NotDue);
    run.pass(s(5));
    let plan = run.event(&Event::Due { step: a });
    assert_eq!((run.wants(&plan), run.task.state()), (vec!["a"], TaskState::Running));
    run.event(&Event::Refused { step: a, block: Block::NoHandler, until: None });
    assert_eq!(
        run.ignored(&Event::Due { step: a }),
        Ignored::NotDue,
        "without a time it waits to be released"
    );
    run.event(&Event::Released { step: a });
    assert_eq!(run.ignored(&Event::Released { step: a }), Ignored::NotNow);
    run.run("a");
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn a_failure_that_is_retried_waits_and_runs_again() {
    let mut run = Run::new(workflow([step("a").max_calls(3)]));
    assert_eq!(run.start("a").calls_left, Some(3));
    run.fail("a", Effect::None, Some(run.now + s(2)));
    assert_eq!((run.state("a"), run.task.state()), (StepState::Waiting, TaskState::Waiting));
    assert_eq!(run.ignored(&Event::Released { step: run.id("a") }), Ignored::NotNow, "it is not parked");
    run.pass(s(2));
    run.event(&Event::Due { step: run.id("a") });
    let dispatch = run.start("a");
    assert_eq!((dispatch.attempt, dispatch.calls_left), (2, Some(2)));
    run.fail("a", Effect::None, Some(run.now));
    assert_eq!(run.state("a"), StepState::Ready, "a wait of nothing is none");
    run.start("a");
    run.fail("a", Effect::None, Some(run.now + s(1)));
    assert_eq!(run.state("a"), StepState::Failed, "all calls are used up");
    assert_eq!((run.task.state(), run.cause()), (TaskState::Undone, Some(&Cause::StepFailed(run.id("a")))));
}

#[test]
fn answers_that_are_late_doubled_or_of_an_older_attempt_change_nothing() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    let first = run.start("a");
    let old = run.answer("a", Answer::Completed);
    run.now = first.complete_by;
    assert_eq!(run.ignored(&old.clone()), Ignored::Late, "at its complete-by an attempt falls silent");
    run.event(&run.timed_out("a"));
    assert_eq!(run.ignored(&old.clone()), Ignored::Late, "it was given up");
    run.start("a");
    assert_eq!(run.ignored(&old), Ignored::Late, "another attempt runs");
    let answer = run.answer("a", Answer::Completed);
    run.event(&answer.clone());
    assert_eq!(run.ignored(&answer), Ignored::Late, "doubled");
}

#[test]
fn no_attempt_runs_beyond_the_deadline_and_none_begins_after_it() {
    let mut run = Run::new(built(
        Definition::builder("w").complete_within(s(15)).step(step("a")).step(step("b").after(["a"])),
    ));
    run.pass(s(8));
    assert_eq!(run.start("a").complete_by, Time::from_millis(16_000), "10 s would be too long");
    run.pass(s(6));
    run.complete("a");
    run.pass(s(1));
    assert_eq!(run.ignored(&Event::granted(run.id("b"))), Ignored::NotNow);
    run.event(&Event::DeadlinePassed);
    assert_eq!((run.task.state(), run.cause()), (TaskState::Undoing, Some(&Cause::Deadline)));
    assert_eq!(run.state("b"), StepState::Skipped);
}

#[test]
fn a_retry_that_would_come_after_the_deadline_is_not_waited_for() {
    let mut run = Run::new(built(Definition::builder("w").complete_within(s(15)).step(step("a"))));
    assert_eq!(run.ignored(&Event::DeadlinePassed), Ignored::NotDue);
    run.start("a");
    run.fail("a", Effect::None, Some(run.now + s(15)));
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn a_step_that_may_fail_is_left_behind() {
    let mut run = Run::new(workflow([step("a").on_failure(OnFailure::Continue), step("b").after(["a"])]));
    let plan = run.break_down("a");
    assert_eq!(run.wants(&plan), ["b"]);
    run.run("b");
    assert_eq!((run.task.state(), run.state("a")), (TaskState::Completed, StepState::Failed));
}

#[test]
fn a_step_can_put_its_task_into_an_operators_hands() {
    let mut run = Run::new(workflow([
        step("a"),
        step("b").after(["a"]).on_failure(OnFailure::Error),
        step("c").after(["a"]),
        step("d").after(["c"]),
    ]));
    run.run("a");
    run.start("c");
    run.break_down("b");
    assert_eq!(run.task.state(), TaskState::Running, "what runs beside is waited for");
    let plan = run.complete("c");
    assert!(run.wants(&plan).is_empty(), "and nothing else begins");
    assert_eq!((run.task.state(), run.cause()), (TaskState::Failed, Some(&Cause::StepFailed(run.id("b")))));
    assert_eq!(
        (run.state("a"), run.state("d")),
        (StepState::Completed, StepState::Pending),
        "nothing was undone"
    );
}

#[test]
fn a_new_owner_asks_for_whatever_the_task_waits_for() {
    let mut run = Run::new(workflow([step("a"), step("b"), step("c"), step("d").after(["c"])]));
    run.start("a");
    run.event(&Event::Refused { step: run.id("b"), block: Block::Limit, until: None });
    let plan = run.event(&Event::Claimed);
    assert_eq!(run.wants(&plan), ["b", "c"], "what is parked until its service lets it go asks too");
    assert!(!plan.changes_anything());
}

#[test]
fn a_thousand_steps_that_are_skipped_in_a_row_do_no_harm() {
    let first = step("s0").conditional();
    let rest = (1..MAX_STEPS).map(|n| step(&format!("s{n}")).after([format!("s{}", n - 1)]));
    let mut run = Run::new(workflow([first].into_iter().chain(rest)));
    run.event(&Event::Judged { step: run.id("s0"), holds: false });
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn a_task_waits_only_when_nothing_else_can_happen() {
    let mut run =
        Run::new(workflow([step("a"), step("b"), step("c").conditional(), step("d").conditional()]));
    let refused = |step| Event::Refused { step, block: Block::Limit, until: None };
    run.event(&refused(run.id("a")));
    assert_eq!(run.task.state(), TaskState::Running, "`b` could run");
    run.event(&Event::Judged { step: run.id("c"), holds: false });
    run.start("b");
    assert_eq!(run.task.state(), TaskState::Running);
    run.complete("b");
    assert_eq!(run.task.state(), TaskState::Waiting);

    let mut run = Run::new(workflow([step("c").conditional(), step("d").conditional()]));
    run.event(&Event::Judged { step: run.id("c"), holds: false });
    assert_eq!(run.task.state(), TaskState::Running, "a condition is still asked for");
}

#[test]
fn a_retry_before_the_deadline_is_waited_for() {
    let mut run = Run::new(built(Definition::builder("w").complete_within(s(60)).step(step("a"))));
    run.start("a");
    run.fail("a", Effect::None, Some(run.now + s(2)));
    assert_eq!(run.state("a"), StepState::Waiting);
}

#[test]
fn an_attempt_that_called_nothing_is_parked_and_costs_no_failure() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.start("a");
    let until = run.now + s(5);
    let not_made = |run: &Run| run.answer("a", Answer::NotMade { block: Block::Breaker, until: Some(until) });
    run.event(&not_made(&run));
    let record = run.task.step(run.id("a"));
    assert_eq!((record.state, record.failures, record.calls, record.attempt), (StepState::Parked, 0, 0, 1));
    assert_eq!((record.not_before, run.task.state()), (Some(until), TaskState::Waiting));
    run.pass(s(5));
    run.event(&Event::Due { step: run.id("a") });
    assert_eq!(run.start("a").attempt, 2);
    // The task is ending meanwhile: what was not called did not happen.
    run.event(&undo_asked());
    run.event(&not_made(&run));
    assert_eq!((run.state("a"), run.task.state()), (StepState::Skipped, TaskState::Undone));
}

#[test]
fn what_is_parked_without_a_time_goes_on_when_its_service_lets_it_go() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    let a = run.id("a");
    let refused = Event::Refused { step: a, block: Block::Breaker, until: None };
    run.event(&refused);
    run.pass(s(600));
    let plan = run.event(&refused);
    assert!(!plan.changes_anything(), "it is parked already");
    assert_eq!(run.start("a").attempt, 1, "straight from being parked");
    // The breaker opened before the call: nothing was called, and it stands in line again.
    let not_made = run.answer("a", Answer::NotMade { block: Block::Breaker, until: None });
    let plan = run.event(&not_made);
    assert_eq!((run.state("a"), run.wants(&plan)), (StepState::Parked, vec!["a"]));
    assert_eq!((run.task.step(a).failures, run.task.step(a).not_before), (0, None));
    assert_eq!(run.start("a").attempt, 2);
    // A task that ends meanwhile does not begin it.
    run.event(&run.answer("a", Answer::NotMade { block: Block::Breaker, until: None }));
    run.event(&Event::Cancelled { cause: run.why() });
    assert_eq!(run.ignored(&Event::granted(a)), Ignored::Ended);
    assert_eq!(run.ignored(&refused), Ignored::Ended);
}

#[test]
fn a_condition_that_cannot_be_evaluated_fails_its_step() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"]).conditional()]));
    run.run("a");
    let unjudged = Event::Unjudged { step: run.id("b"), why: Arc::from("panicked") };
    let plan = run.event(&unjudged);
    assert_eq!((run.state("b"), run.wants(&plan)), (StepState::Failed, vec!["a"]));
    assert_eq!(run.task.step(run.id("b")).last_failure.as_deref(), Some("panicked"));
    assert_eq!(run.cause(), Some(&Cause::StepFailed(run.id("b"))));
    assert_eq!(run.ignored(&unjudged), Ignored::NotNow);
}
