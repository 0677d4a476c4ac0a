//! Small differences that only a change of the code shows: each of these was found by `cargo xtask mutants`.

use super::*;

fn why(run: &Run) -> Why {
    run.task.why(&run.definition, run.now, &Since::default())
}

#[test]
fn an_undo_that_is_parked_is_asked_for_again_only_where_it_waits_for_no_time() {
    let mut run = Run::new(workflow([step("a")]));
    run.run("a");
    run.event(&undo_asked());
    let a = run.id("a");
    for (until, asks) in [(None, vec![a]), (Some(run.now + s(9)), vec![])] {
        let mut run = run.clone();
        run.event(&Event::Refused { step: a, block: Block::Breaker, until });
        assert_eq!(permits(&run.event(&Event::Claimed)), asks);
    }
}

#[test]
fn an_attempt_that_was_not_made_stands_in_line_again_only_where_it_waits_for_no_time() {
    let mut run = Run::new(workflow([step("a")]));
    run.start("a");
    for (until, asks) in [(None, vec![run.id("a")]), (Some(run.now + s(9)), vec![])] {
        let mut run = run.clone();
        let answer = run.answer("a", Answer::NotMade { block: Block::Breaker, until });
        assert_eq!(permits(&run.event(&answer)), asks);
    }
}

#[test]
fn a_list_goes_no_further_in_a_task_that_ends() {
    let each = Each { at_a_time: 1, tolerates: 0 };
    let mut run = Run::new(workflow([step("a").each(each), step("b")]));
    let a = run.id("a");
    run.event(&Event::Listed { step: a, items: 3 });
    run.event(&Event::granted(StepId::of_item(0)));
    run.start("b");
    run.event(&run.cancel());
    run.event(&Event::Answered { step: StepId::of_item(0), attempt: 1, answer: Answer::Completed });
    assert_eq!(run.task.head().fan(a).map(|fan| (fan.next, fan.busy)), Some((1, 0)));
    assert_eq!(run.event(&Event::Claimed).asks(), [], "another owner does not begin with it either");
    assert_eq!(run.task.head().fan(a).map(|fan| (fan.next, fan.busy)), Some((1, 0)));
}

#[test]
fn a_task_that_starts_now_does_not_start_later() {
    let definition = workflow([step("a")]);
    let now = Time::from_millis(5);
    assert_eq!(Task::starting_at(&definition, now, now).head().start_at(), None);
    assert!(!Record::default().is_edited() && !Record::default().is_by_hand());
}

#[test]
fn a_step_takes_no_signal_that_was_not_kept_for_it() {
    let mut run = Run::new(workflow([Step::signal("ok", "go").timeout(Duration::from_millis(1_500))]));
    let step = run.id("ok");
    assert_eq!(run.ignored(&Event::Taken { step }), Ignored::NotNow);
    run.pass(s(2));
    run.event(&Event::Due { step });
    let words = run.task.cause_in_words(&run.definition);
    assert_eq!(words, "step `ok` failed: no-signal: `go` did not come within 1500 ms");
}

#[test]
fn a_deadline_is_told_only_while_it_counts() {
    let mut run =
        Run::new(built(Definition::builder("w").complete_within(s(60)).step(step("a")).step(step("b"))));
    assert_eq!(why(&run).deadline, run.task.head().deadline);
    let mut at_its_end = run.clone();
    at_its_end.pass(s(60));
    assert!(why(&at_its_end).to_string().ends_with("its deadline has come"));
    assert!(!why(&run).waits_for_circuits());
    let mut ending = run.clone();
    ending.start("a");
    ending.event(&ending.cancel());
    assert_eq!((why(&ending).deadline, ending.task.state()), (None, TaskState::Undoing));
    run.run("a");
    run.run("b");
    assert_eq!(why(&run).deadline, None);
}

#[test]
fn a_pause_is_told_since_when_and_what_runs_beside_it() {
    let mut run = Run::new(workflow([step("a")]));
    run.run("a");
    run.event(&undo_asked());
    run.start("a");
    let since = run.now;
    run.event(&asked(Action::Pause));
    run.pass(s(5));
    let why = why(&run);
    assert_eq!((why.held[0].since, why.held.len()), (Some(since), 2));
    assert!(why.held[1].undo && matches!(why.held[1].on, On::Attempt { .. }), "{why:?}");
}

#[test]
fn what_an_operator_has_left_behind_is_told_as_what_it_is() {
    for effect in [Effect::None, Effect::Possible] {
        let steps = ["a", "b"].map(|name| step(name).on_failure(OnFailure::Error).not_idempotent());
        let mut run = Run::new(workflow(steps));
        run.start("a");
        run.start("b");
        run.fail("a", Effect::None, None);
        run.fail("b", effect, None);
        let a = run.id("a");
        run.event(&asked(Action::Retry { step: a, edited: false, did_not_happen: true }));
        let why = why(&run);
        let left = why.held.iter().find(|held| held.name == "b").unwrap();
        assert_eq!(left.on, On::GivenUp { unknown: effect == Effect::Possible }, "{why:?}");
        let words =
            if effect == Effect::Possible { "nobody knows whether it happened" } else { "it has failed" };
        assert!(why.to_string().contains(words), "{why}");
    }
}

#[test]
fn each_hold_of_an_end_has_words_of_its_own() {
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"]), step("c")]));
    run.run("a");
    run.run("b");
    run.start("c");
    run.event(&run.cancel());
    let told =
        |run: &Run| -> Vec<String> { why(run).held.iter().map(|held| held.in_words(run.now)).collect() };
    assert_eq!(
        told(&run)[..2],
        [
            "undo of `a`: it is undone once what runs has ended".to_owned(),
            "undo of `b`: it is undone once what runs has ended".to_owned(),
        ]
    );
    run.complete("c");
    assert_eq!(told(&run)[0], "undo of `a`: it waits for the undo of what came after it");
    run.break_down("b");
    assert_eq!(
        told(&run)[0],
        "undo of `a`: it waits for the undo of what came after it, and one of those is stuck"
    );
    let mut run = Run::new(workflow([step("a"), step("b").after(["a"])]));
    run.start("a");
    run.event(&run.cancel());
    assert_eq!(told(&run)[1], "`b`: it does not begin any more");
}

#[test]
fn since_when_is_part_of_what_is_told() {
    let mut run = Run::new(workflow([step("a")]));
    run.start("a");
    let failed_at = run.now;
    let plan = run.fail("a", Effect::None, Some(run.now + s(30)));
    let history = [(failed_at, plan.head(), plan.steps())];
    let since = Since::of(&run.task, failed_at, history);
    run.pass(s(4));
    let words = run.task.why(&run.definition, run.now, &since).to_string();
    assert!(words.starts_with("`a`: the next attempt is in 26 s, it waits for 4 s so far"), "{words}");
}

#[test]
fn a_step_behind_the_last_is_none() {
    let mut run = Run::new(workflow([step("a")]));
    let behind = StepId::at(1);
    for event in [Event::granted(behind), Event::Due { step: behind }, Event::Woken { step: behind }] {
        assert_eq!(run.ignored(&event), Ignored::NoSuchStep);
    }
}

#[test]
fn at_its_start_time_a_task_waits_for_somebody_who_begins() {
    let definition = workflow([step("a")]);
    let (now, start) = (Time::from_millis(1_000), Time::from_millis(5_000));
    let task = Task::starting_at(&definition, now, start);
    let words = |now| task.why(&definition, now, &Since::default()).to_string();
    assert!(words(now).starts_with("it starts in 4 s"), "{}", words(now));
    assert!(words(start).starts_with("its start time has come"), "{}", words(start));
}
