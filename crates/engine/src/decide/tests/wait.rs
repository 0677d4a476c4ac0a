//! Waiting for times and signals, starting later, rounds and heartbeats.

use super::*;

fn signal(name: &str) -> Event {
    Event::Signalled { signal: Arc::from(name), id: None }
}

fn signal_with(name: &str, id: &str) -> Event {
    Event::Signalled { signal: Arc::from(name), id: Some(Arc::from(id)) }
}

fn read(name: &str) -> Step {
    Step::new(name, "service").complete_within(s(10)).nothing_to_undo()
}

#[test]
fn a_step_waits_for_its_time_and_calls_nothing() {
    let mut run = Run::new(workflow([step("a"), Step::wait_for("rest", s(60)).after(["a"])]));
    let plan = run.run("a");
    let rest = run.id("rest");
    assert!(plan.asks().is_empty() && plan.dispatches().is_empty());
    assert_eq!((run.state("rest"), run.task.state()), (StepState::Waiting, TaskState::Waiting));
    assert_eq!(run.task.step(rest).not_before, Some(run.now + s(60)));
    for event in [Event::granted(rest), Event::Released { step: rest }] {
        assert_eq!(run.ignored(&event), Ignored::NotNow);
    }
    run.pass(s(59));
    assert_eq!(run.ignored(&Event::Due { step: rest }), Ignored::NotDue);
    run.pass(s(1));
    run.event(&Event::Due { step: rest });
    assert_eq!((run.task.state(), run.task.step(rest).attempt), (TaskState::Completed, 0));
}

#[test]
fn a_time_can_be_computed_and_one_that_has_passed_is_no_wait() {
    for (later, state) in [(5, TaskState::Waiting), (0, TaskState::Completed)] {
        let mut run = Run::new(workflow([Step::wait_until("rest")]));
        let step = run.id("rest");
        assert_eq!(run.event(&Event::Claimed).asks(), [Ask::Until(step)], "asked again by a new owner");
        run.event(&Event::Until { step, at: run.now + s(later) });
        assert_eq!(run.task.state(), state);
        assert!(run.event(&Event::Until { step, at: run.now }).ignored().is_some(), "once");
    }
    let mut run = Run::new(workflow([step("a"), Step::wait_until("rest").after(["a"])]));
    run.run("a");
    run.event(&Event::Unjudged { step: run.id("rest"), why: Arc::from("no such field") });
    assert_eq!(run.cause(), Some(&Cause::StepFailed(run.id("rest"))));
}

#[test]
fn a_signal_ends_its_wait_with_what_it_says() {
    let mut run =
        Run::new(workflow([Step::signal("ok", "approval").timeout(s(60)), step("a").after(["ok"])]));
    let plan = run.event(&signal("approval"));
    assert_eq!((plan.keeps(), run.wants(&plan)), (Some(run.id("ok")), vec!["a"]));
    assert_eq!(run.ignored(&signal("approval")), Ignored::NotNow, "nothing waits for it any more");
    assert_eq!(run.ignored(&signal("other")), Ignored::NotNow);
    run.pass(s(99));
    assert_eq!(run.ignored(&Event::Due { step: run.id("ok") }), Ignored::NotNow, "its timeout is no more");
}

#[test]
fn without_its_signal_a_step_fails_or_goes_on() {
    let waits = || Step::signal("ok", "approval").timeout(s(120)).after(["a"]);
    let mut run = Run::new(workflow([step("a"), waits()]));
    run.run("a");
    run.pass(s(120));
    run.event(&Event::Due { step: run.id("ok") });
    let why = run.task.in_words(&run.definition, run.now);
    assert_eq!(
        why,
        "step `ok` failed: no-signal: `approval` did not come within 2 min; undo of `a`: it waits for a place at its service"
    );
    assert_eq!((run.task.state(), run.undo_state("a")), (TaskState::Undoing, UndoState::Ready));

    let mut run = Run::new(workflow([step("a"), waits().or_none(), step("b").after(["ok"])]));
    run.run("a");
    run.pass(s(120));
    let plan = run.event(&Event::Due { step: run.id("ok") });
    assert_eq!((run.state("ok"), run.wants(&plan), plan.keeps()), (StepState::Completed, vec!["b"], None));
}

#[test]
fn early_signals_are_kept_and_used_in_their_order() {
    let waits = |name: &str, after: &str| Step::signal(name, "go").timeout(s(60)).after([after]);
    let mut run = Run::new(workflow([step("a"), waits("first", "a"), waits("second", "first")]));
    let at = |slot| Some(StepId::of_signal(slot));
    assert_eq!(run.event(&signal_with("go", "1")).keeps(), at(0));
    assert_eq!(run.event(&signal_with("go", "2")).keeps(), at(1));
    assert_eq!(run.ignored(&signal_with("go", "1")), Ignored::Late, "sent twice, it counts once");
    assert_eq!(run.ignored(&signal_with("go", "3")), Ignored::NotNow, "as many came as are waited for");
    let plan = run.run("a");
    let (first, second) = (run.id("first"), run.id("second"));
    let ask = |step, slot| Ask::Signal { step, kept_at: StepId::of_signal(slot) };
    assert_eq!(plan.asks(), [ask(first, 0)]);
    assert_eq!(run.event(&Event::Claimed).asks(), [ask(first, 0)], "asked again by a new owner");
    run.pass(s(99));
    assert_eq!(run.event(&Event::Due { step: first }).asks(), [ask(first, 0)], "it came first");
    let plan = run.event(&Event::Taken { step: first });
    assert_eq!((plan.keeps(), plan.asks()), (Some(first), &[ask(second, 1)][..]));
    assert_eq!(run.ignored(&Event::Taken { step: first }), Ignored::NotNow);
    run.event(&Event::Taken { step: second });
    assert_eq!((run.task.state(), run.task.head().kept().len()), (TaskState::Completed, 0));
}

#[test]
fn of_two_waits_the_one_that_began_first_has_the_signal() {
    let waits = |name: &str, after: &str| Step::signal(name, "go").after([after]);
    let mut run = Run::new(workflow([step("a"), step("b"), waits("of_a", "a"), waits("of_b", "b")]));
    run.run("b");
    run.pass(s(1));
    run.run("a");
    assert_eq!(run.event(&signal("go")).keeps(), Some(run.id("of_b")));
    assert_eq!(run.event(&signal("go")).keeps(), Some(run.id("of_a")));
}

#[test]
fn a_task_that_starts_later_does_not_begin_before_and_its_deadline_counts_from_then() {
    let definition = built(Definition::builder("w").complete_within(s(10)).step(step("a")));
    let now = Time::from_millis(1_000);
    let task = Task::starting_at(&definition, now, now + s(60));
    assert_eq!(task.head().deadline, Some(now + s(70)));
    let mut run = Run { definition, task, now };
    assert_eq!(run.ignored(&Event::Claimed), Ignored::NotDue);
    assert_eq!(
        run.task.in_words(&run.definition, run.now),
        "it starts in 60 s; to have it start sooner, cancel it and submit it anew; its deadline is in 70 s"
    );
    let mut cancelled = run.clone();
    cancelled.event(&run.cancel());
    assert_eq!(cancelled.task.state(), TaskState::Undone, "at once");
    run.pass(s(60));
    assert_eq!(run.event(&Event::Claimed).asks(), [Ask::Permit(run.id("a"))]);
    assert_eq!(run.task.head().more, None);
}

#[test]
fn a_repeated_step_has_rounds_and_each_is_a_series_of_its_own() {
    let repeat = Repeat { every: s(20), at_most: Some(3) };
    let mut run = Run::new(workflow([read("poll").repeat(repeat).max_calls(2)]));
    let poll = run.id("poll");
    for round in 0..2 {
        let dispatch = run.start("poll");
        assert_eq!((dispatch.round, dispatch.calls_left), (round, Some(2)));
        run.fail("poll", Effect::Possible, Some(run.now));
        assert_eq!(run.start("poll").round, round, "a retry is of the same round");
        let answer = run.answer("poll", Answer::NotYet);
        run.event(&answer);
        assert_eq!(
            (run.state("poll"), run.task.step(poll).not_before),
            (StepState::Waiting, Some(run.now + s(20)))
        );
        assert_eq!(run.task.step(poll).rounds(), round + 1);
        run.pass(s(20));
        run.event(&Event::Due { step: poll });
    }
    let mut done = run.clone();
    done.run("poll");
    assert_eq!(done.task.state(), TaskState::Completed);
    run.start("poll");
    let answer = run.answer("poll", Answer::NotYet);
    run.event(&answer);
    let why = run.task.in_words(&run.definition, run.now);
    assert_eq!(why, "step `poll` failed: not-done: it was not done after 3 rounds");
}

#[test]
fn an_attempt_that_is_not_heard_of_is_as_one_that_did_not_answer() {
    let recovery = Recovery { at_once: 1, extended_wait: s(300), last: 3 };
    let mut run = Run::new(workflow([read("long").heartbeat_within(s(2)).recovery(recovery)]));
    let long = run.id("long");
    for (state, failures) in [(StepState::Ready, 1), (StepState::Waiting, 2), (StepState::Unknown, 3)] {
        let attempt = run.start("long").attempt;
        let progress = run.event(&Event::Progressed { step: long, attempt });
        assert_eq!((progress.keeps(), progress.changes_anything()), (Some(StepId::of_progress(long)), false));
        assert_eq!(run.ignored(&Event::Progressed { step: long, attempt: attempt + 1 }), Ignored::Late);
        let unheard = run.answer("long", Answer::Unheard);
        run.event(&unheard);
        let record = run.task.step(long);
        assert_eq!((record.state, record.failures, record.may_have_happened), (state, failures, true));
        if state == StepState::Waiting {
            run.pass(s(300));
            run.event(&Event::Due { step: long });
        }
    }
}
