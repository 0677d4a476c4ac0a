//! Steps that are made once for each item of a list.

use super::*;

fn each(at_a_time: u16, tolerates: u16) -> Each {
    Each { at_a_time, tolerates }
}

/// A task of one step with items, whose list has come.
fn listed(step: Step, items: usize) -> Run {
    let mut run = Run::new(workflow([step]));
    let id = run.id("a");
    run.event(&Event::Listed { step: id, items });
    run
}

fn item(number: u16) -> StepId {
    StepId::of_item(number)
}

impl Run {
    fn grant(&mut self, step: StepId) -> Dispatch {
        let plan = self.event(&Event::granted(step));
        assert_eq!(plan.dispatches().len(), 1, "{step}: {plan:?}");
        plan.dispatches()[0].clone()
    }

    fn said(&mut self, step: StepId, answer: Answer) -> Plan {
        let attempt = self.task.step(step).attempt;
        self.event(&Event::Answered { step, attempt, answer })
    }

    fn do_item(&mut self, number: u16) -> Plan {
        self.grant(item(number));
        self.said(item(number), Answer::Completed)
    }

    fn fail_item(&mut self, number: u16, effect: Effect) -> Plan {
        self.grant(item(number));
        let failure = Failure { kind: Arc::from("broken"), calls: 1, effect, again: None };
        self.said(item(number), Answer::Failed(failure))
    }

    fn items_in(&self, state: StepState) -> Vec<u16> {
        let fans = self.task.head().fans().iter().flat_map(Fan::items);
        fans.filter(|id| self.task.step(*id).state == state).filter_map(StepId::item).collect()
    }
}

#[test]
fn so_many_items_are_under_way_as_may_be_and_the_step_is_done_with_the_last() {
    let mut run = Run::new(workflow([step("a").each(each(2, 0)), step("b").after(["a"])]));
    let a = run.id("a");
    let claimed = decide(&run.definition, &Task::new(&run.definition, run.now), &Event::Claimed, run.now);
    assert_eq!(claimed.asks(), [Ask::List(a)]);
    let plan = run.event(&Event::Listed { step: a, items: 4 });
    assert_eq!(permits(&plan), [item(0), item(1)]);
    assert_eq!(plan.steps().len(), 3, "those that have not begun have no row");
    assert_eq!(permits(&run.do_item(1)), [item(2)]);
    assert_eq!(permits(&run.do_item(0)), [item(3)]);
    let words = run.task.in_words(&run.definition, run.now);
    assert!(words.contains("`a`: 2 of its 4 items are done, 2 are under way"), "{words}");
    assert!(words.contains("`a[2]`: it waits for a place"), "{words}");
    run.do_item(2);
    assert_eq!(run.state("a"), StepState::Waiting);
    assert_eq!(permits(&run.do_item(3)), [run.id("b")]);
    assert_eq!(run.state("a"), StepState::Completed);
    run.run("b");
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn an_empty_list_is_done_at_once_and_one_that_is_too_long_fails() {
    assert_eq!(listed(step("a").each(each(2, 0)), 0).task.state(), TaskState::Completed);
    let most = listed(step("a").each(each(2, 0)), MAX_ITEMS);
    assert_eq!(most.task.state(), TaskState::Running);
    let run = listed(step("a").each(each(2, 0)), MAX_ITEMS + 1);
    assert_eq!(run.task.state(), TaskState::Undone);
    let words = run.task.cause_in_words(&run.definition);
    assert!(words.contains("the list has 20001 items, and a task at most 20000"), "{words}");
}

#[test]
fn each_list_begins_at_a_whole_hundred_and_items_know_their_place() {
    let mut run = Run::new(workflow([step("a").each(each(9, 0)), step("b").each(each(9, 0))]));
    for (name, items) in [("a", 3), ("b", 2)] {
        let step = run.id(name);
        run.event(&Event::Listed { step, items });
        assert_eq!(run.ignored(&Event::Listed { step, items }), Ignored::NotNow);
    }
    let fan = *run.task.head().fan_of(item(101)).unwrap();
    assert_eq!((fan.step, fan.place_of(item(101))), (run.id("b"), Some(1)));
    assert_eq!(run.task.head().fan_of(item(3)), None);
    assert_eq!(run.ignored(&Event::granted(item(3))), Ignored::NoSuchStep);
    assert_eq!((item(101).item(), run.id("b").item()), (Some(101), None));
    assert_eq!((StepId::of_list(99), StepId::of_list(100)), (StepId::of_list(0), StepId::of_list(199)));
    let places = [item(0), item(19_999), StepId::of_progress(item(0)), StepId::of_progress(item(19_999))];
    let mut beyond: Vec<_> =
        places.into_iter().chain([StepId::of_list(0), StepId::of_list(19_999)]).collect();
    beyond.insert(0, StepId::of_input(StepId::at(999)));
    assert!(beyond.windows(2).all(|pair| pair[0] < pair[1]), "{beyond:?}: no two have one place");
    assert!(item(0).is_made() && run.id("a").is_made() && !StepId::of_list(0).is_made());
}

#[test]
fn failed_items_are_tolerated_up_to_a_number_and_one_more_fails_the_step() {
    let mut run = listed(step("a").each(each(9, 1)), 3);
    run.fail_item(1, Effect::None);
    run.do_item(0);
    let mut well = run.clone();
    well.do_item(2);
    assert_eq!((well.state("a"), well.task.state()), (StepState::Completed, TaskState::Completed));
    assert_eq!(well.items_in(StepState::Failed), [1]);
    run.fail_item(2, Effect::None);
    assert_eq!(run.task.state(), TaskState::Undoing, "what was done is undone");
    assert_eq!(run.cause(), Some(&Cause::StepFailed(run.id("a"))));
    assert_eq!(run.items_in(StepState::Undoing), [0]);
    let words = run.task.cause_in_words(&run.definition);
    assert_eq!(words, "step `a` failed: item 2: broken");
    run.do_item(0);
    assert_eq!((run.state("a"), run.task.state()), (StepState::Undone, TaskState::Undone));
}

#[test]
fn what_runs_when_an_item_fails_is_waited_for_and_undone_too() {
    let mut run = listed(step("a").each(each(2, 0)), 9);
    run.grant(item(0));
    run.fail_item(1, Effect::None);
    assert_eq!(run.task.state(), TaskState::Undoing);
    assert_eq!(run.items_in(StepState::Undoing), [], "it still runs");
    run.said(item(0), Answer::Completed);
    assert_eq!(run.items_in(StepState::Undoing), [0]);
    assert_eq!(run.items_in(StepState::Pending).len(), 7, "and no other one has begun");
    run.do_item(0);
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn the_undo_goes_from_the_last_to_the_first_and_no_more_at_a_time() {
    let mut run = listed(step("a").each(each(2, 0)), 5);
    (0..5).for_each(|number| drop(run.do_item(number)));
    let plan = run.event(&undo_asked());
    assert_eq!(permits(&plan), [item(4), item(3)]);
    let words = run.task.in_words(&run.definition, run.now);
    assert!(words.contains("undo of `a`: 0 of its 5 items are undone, 2 are under way"), "{words}");
    for number in [4, 3, 2, 1] {
        assert_eq!(run.task.state(), TaskState::Undoing);
        run.do_item(number);
    }
    run.do_item(0);
    assert_eq!((run.undo_state("a"), run.task.state()), (UndoState::Done, TaskState::Undone));
}

#[test]
fn an_item_that_may_have_happened_is_undone_where_that_is_safe_and_otherwise_somebody_decides() {
    for safe in [true, false] {
        let a = step("a").each(each(9, 0));
        let mut run = listed(if safe { a.undo_when_unknown() } else { a }, 2);
        run.do_item(0);
        run.fail_item(1, Effect::Possible);
        match safe {
            true => {
                assert_eq!(run.items_in(StepState::Undoing), [0, 1]);
                run.do_item(1);
                run.do_item(0);
                assert_eq!(run.task.state(), TaskState::Undone);
            }
            false => {
                run.do_item(0);
                assert_eq!((run.task.state(), run.undo_state("a")), (TaskState::Failed, UndoState::Failed));
                let a = run.id("a");
                let words = run.task.stuck_in_words(&run.definition, a).unwrap();
                assert_eq!(words, "`a` could not be undone: items: 1 of its items could not be undone");
                let ask = |happened| asked(Action::RetryUndo { step: a, happened });
                assert_eq!(run.ignored(&ask(false)), Ignored::MayHaveHappened);
                let mut by_hand = run.clone();
                run.event(&ask(true));
                run.do_item(1);
                assert_eq!(run.task.state(), TaskState::Undone);
                by_hand.event(&asked(Action::TakeAsUndone { step: a }));
                assert_eq!(by_hand.task.state(), TaskState::Undone);
            }
        }
    }
}

#[test]
fn whoever_repairs_a_failed_step_has_the_failed_items_made_again_and_no_other() {
    let a = step("a").each(each(2, 0)).on_failure(OnFailure::Error);
    let mut run = listed(a, 4);
    run.do_item(0);
    run.grant(item(1));
    run.fail_item(2, Effect::None);
    let failure =
        Failure { kind: Arc::from("slow"), calls: 1, effect: Effect::None, again: Some(run.now + s(9)) };
    run.said(item(1), Answer::Failed(failure));
    assert_eq!((run.task.state(), run.state("a")), (TaskState::Failed, StepState::Failed));
    assert_eq!(run.items_in(StepState::Failed), [1, 2], "nothing is tried again in a task that ends");
    let a = run.id("a");
    let plan = run.event(&asked(Action::Retry { step: a, edited: false, did_not_happen: false }));
    assert_eq!((permits(&plan), run.task.state()), (vec![item(1), item(2)], TaskState::Running));
    for number in [1, 2, 3] {
        run.do_item(number);
    }
    assert_eq!(run.task.state(), TaskState::Completed);
    assert_eq!(run.task.step(item(0)).attempt, 1, "what was done was not made again");
}

#[test]
fn a_step_that_is_skipped_leaves_its_items_and_what_was_done_by_hand_is_undone_by_hand() {
    let mut run = listed(step("a").each(each(1, 0)), 3);
    run.do_item(0);
    let a = run.id("a");
    run.grant(item(1));
    let skip = asked(Action::Skip { step: a, happened: true });
    assert_eq!(run.ignored(&skip), Ignored::StepRuns);
    let failure =
        Failure { kind: Arc::from("x"), calls: 1, effect: Effect::None, again: Some(run.now + s(9)) };
    run.said(item(1), Answer::Failed(failure));
    run.event(&skip);
    assert_eq!((run.task.state(), run.items_in(StepState::Skipped)), (TaskState::Completed, vec![1]));
    run.event(&undo_asked());
    run.do_item(0);
    assert_eq!((run.task.state(), run.undo_state("a")), (TaskState::Failed, UndoState::Failed));
    run.event(&asked(Action::TakeAsUndone { step: a }));
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn an_owner_that_dies_three_times_under_an_item_leaves_the_task_to_an_operator() {
    let mut run = listed(step("a").each(each(2, 5)), 2);
    for _ in 0..3 {
        let attempt = run.grant(item(0)).attempt;
        run.event(&Event::OwnerDied { step: item(0), attempt });
        run.pass(s(400));
        run.event(&Event::Due { step: item(0) });
    }
    assert_eq!((run.task.state(), run.cause()), (TaskState::Failed, Some(&Cause::OwnerDied(run.id("a")))));
}

#[test]
fn rows_of_items_are_read_back_as_they_were() {
    let mut run = listed(step("a").each(each(2, 0)), 5);
    run.do_item(1);
    let rows: Vec<_> = run.task.items().map(|(id, record)| (id, record.clone())).collect();
    assert_eq!(rows.len(), 3, "one is done, two are under way");
    let read = Task::from_rows(run.task.head().clone(), run.task.steps().to_vec(), rows);
    assert_eq!(read, run.task);
    let plan = decide(&run.definition, &read, &Event::Claimed, run.now);
    assert_eq!(permits(&plan), [item(0), item(2)]);
}

#[test]
fn items_that_contradict_their_step_are_told() {
    type Spoil = fn(&mut Task);
    let cases: [(Spoil, &str); 4] = [
        (
            |task| task.head.change_fan(StepId::at(0), |fan| fan.busy = 1),
            "step `a`: it says 1 items are busy, the items 2",
        ),
        (
            |task| task.head.change_fan(StepId::at(0), |fan| fan.done = 3),
            "step `a`: it says 3 items are done, the items 1",
        ),
        (
            |task| task.head.change_fan(StepId::at(0), |fan| fan.failed = 1),
            "step `a`: it says 1 items are failed, the items 0",
        ),
        (
            |task| {
                let lost = Record { state: StepState::Completed, ..Record::default() };
                task.put(None, &[(StepId::of_item(77), lost)]);
            },
            "item 77 belongs to no list",
        ),
    ];
    for (spoil, words) in cases {
        let mut run = listed(step("a").each(each(2, 0)), 5);
        run.do_item(1);
        spoil(&mut run.task);
        assert_eq!(run.task.check(&run.definition).unwrap_err(), words);
    }
}

// ---- items that are unclear, closed or stuck ----

#[test]
fn an_item_that_must_not_be_made_twice_is_tolerated_only_if_it_did_not_happen() {
    let mut run = listed(step("a").not_idempotent().each(each(1, 1)), 3);
    let plan = run.fail_item(0, Effect::None);
    assert_eq!(permits(&plan), [item(1)], "it did not happen, and the next has its turn");

    let mut run = listed(step("a").not_idempotent().each(each(1, 1)), 3);
    run.fail_item(0, Effect::Possible);
    assert_eq!(run.task.state(), TaskState::Failed);
    assert_eq!(run.cause(), Some(&Cause::OutcomeUnknown(run.id("a"))));

    let careful = step("a").not_idempotent().undo_when_unknown().on_failure(OnFailure::Error);
    let mut run = listed(careful.each(each(1, 1)), 3);
    run.fail_item(0, Effect::Possible);
    assert_eq!(run.task.state(), TaskState::Undoing, "it is undone where that is safe");
}

#[test]
fn a_step_that_has_failed_stays_so_when_the_last_items_end() {
    let mut run = listed(step("a").on_failure(OnFailure::Error).each(each(2, 0)), 2);
    run.grant(item(1));
    run.fail_item(0, Effect::None);
    assert_eq!(run.state("a"), StepState::Failed);
    run.said(item(1), Answer::Completed);
    assert_eq!((run.state("a"), run.task.state()), (StepState::Failed, TaskState::Failed));
}

#[test]
fn how_far_a_list_had_come_shows_when_its_task_is_cancelled() {
    let lasting = || step("a").each(each(1, 1));
    let cancelled = |mut run: Run| {
        let cancel = run.cancel();
        run.event(&cancel);
        run
    };
    let run = cancelled(listed(Step::new("a", "service").nothing_to_undo().each(each(1, 1)), 3));
    assert_eq!(run.state("a"), StepState::Skipped, "nothing of it has ended");
    let free = || Step::new("a", "service").nothing_to_undo().each(each(1, 1));
    let mut run = listed(free(), 3);
    run.do_item(0);
    assert_eq!(cancelled(run).state("a"), StepState::Failed, "a part is done");
    let mut run = listed(free(), 3);
    run.fail_item(0, Effect::None);
    assert_eq!(cancelled(run).state("a"), StepState::Failed, "a part has failed");
    let mut run = Run::new(workflow([free(), step("b").after(["a"])]));
    let a = run.id("a");
    run.event(&Event::Listed { step: a, items: 1 });
    run.do_item(0);
    assert_eq!(cancelled(run).state("a"), StepState::Completed, "it had ended");
    let mut run = listed(lasting(), 3);
    run.fail_item(0, Effect::None);
    let run = cancelled(run);
    assert_eq!(
        (run.undo_state("a"), run.task.state()),
        (UndoState::None, TaskState::Undone),
        "nothing happened"
    );
}

#[test]
fn an_item_that_was_put_back_is_closed_with_its_step() {
    let mut run = listed(step("a").on_failure(OnFailure::Error).each(each(2, 0)), 2);
    run.grant(item(1));
    let failure =
        Failure { kind: Arc::from("busy"), calls: 1, effect: Effect::None, again: Some(run.now + s(9)) };
    run.said(item(1), Answer::Failed(failure));
    run.fail_item(0, Effect::None);
    assert_eq!(run.task.step(item(1)).state, StepState::Pending, "it waited, and is put back");
    run.event(&undo_asked());
    assert_eq!(run.task.step(item(1)).state, StepState::Skipped);
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn a_list_that_waits_for_the_undo_of_what_came_after_it_is_what_it_was() {
    let mut run = Run::new(workflow([step("a").each(each(2, 0)), step("b").after(["a"])]));
    let a = run.id("a");
    run.event(&Event::Listed { step: a, items: 1 });
    run.do_item(0);
    run.run("b");
    run.event(&undo_asked());
    assert_eq!((run.state("a"), run.undo_state("a")), (StepState::Completed, UndoState::Pending));
}

#[test]
fn undos_of_items_that_failed_are_made_again_as_what_they_were() {
    let mut run = listed(step("a").each(each(1, 0)), 2);
    run.do_item(0);
    run.do_item(1);
    run.event(&undo_asked());
    for number in [1, 0] {
        run.fail_item(number, Effect::None);
    }
    assert_eq!(run.undo_state("a"), UndoState::Failed);
    assert_eq!(run.items_in(StepState::UndoFailed), [0, 1]);
    let a = run.id("a");
    let plan = run.event(&asked(Action::RetryUndo { step: a, happened: false }));
    assert_eq!(permits(&plan), [item(1)]);
    assert_eq!(run.task.step(item(0)).state, StepState::Completed, "its turn comes");
    run.do_item(1);
    run.do_item(0);
    assert_eq!(run.task.state(), TaskState::Undone);
}

#[test]
fn an_item_that_may_have_happened_stays_so_until_its_undo_has_its_turn_again() {
    let safe = step("a").undo_when_unknown().not_idempotent();
    let mut run = listed(safe.each(each(2, 0)), 3);
    run.do_item(1);
    run.do_item(2);
    run.fail_item(0, Effect::Possible);
    for number in [2, 1, 0] {
        run.fail_item(number, Effect::None);
    }
    assert_eq!(run.items_in(StepState::UndoFailed), [0, 1, 2]);
    let a = run.id("a");
    let plan = run.event(&asked(Action::RetryUndo { step: a, happened: false }));
    assert_eq!(permits(&plan), [item(2), item(1)]);
    assert_eq!(run.task.step(item(0)).state, StepState::Unknown);
}

#[test]
fn an_item_of_which_nobody_knows_stays_stuck_until_somebody_says_that_it_happened() {
    let mut run = listed(step("a").not_idempotent().each(each(2, 0)), 2);
    run.do_item(1);
    run.fail_item(0, Effect::Possible);
    assert_eq!(run.task.state(), TaskState::Failed);
    run.event(&undo_asked());
    run.fail_item(1, Effect::None);
    let stuck = |run: &Run| [0, 1].map(|number| run.task.step(item(number)).undo == UndoState::Failed);
    assert_eq!(stuck(&run), [true, true]);
    let a = run.id("a");
    let mut other = run.clone();
    run.event(&asked(Action::RetryUndo { step: a, happened: false }));
    assert_eq!(stuck(&run), [true, false], "the one that was done");
    other.event(&asked(Action::RetryUndo { step: a, happened: true }));
    assert_eq!(stuck(&other), [false, false]);
}

#[test]
fn a_round_of_a_step_that_has_none_is_its_end() {
    let mut run = Run::new(workflow([step("a")]));
    run.start("a");
    let answer = run.answer("a", Answer::NotYet);
    run.event(&answer);
    assert_eq!(run.task.state(), TaskState::Completed);
}

#[test]
fn all_rows_are_those_of_steps_and_of_items_that_have_begun() {
    let mut run = listed(step("a").each(each(1, 0)), 5);
    run.do_item(0);
    let rows: Vec<_> = run.task.all_rows().map(|(id, _)| id).collect();
    assert_eq!(rows, [run.id("a"), item(0), item(1)]);
}

// ---- why ----

#[test]
fn a_list_says_how_far_it_is_and_only_some_of_its_items_do() {
    let told = |run: &Run| run.task.why(&run.definition, run.now, &Since::default()).to_string();
    let mut run = listed(step("a").each(each(3, 1)), 9);
    let words = told(&run);
    assert!(words.contains("`a`: 0 of its 9 items are done, 3 are under way"), "{words}");
    assert!(words.contains("`a[2]`") && !words.contains("more items"), "{words}");
    run.fail_item(0, Effect::None);
    run.do_item(1);
    let words = told(&run);
    assert!(words.contains("`a`: 1 of its 9 items are done, 1 failed, 3 are under way"), "{words}");
    let run = listed(step("a").each(each(4, 1)), 9);
    let words = told(&run);
    assert!(
        words.contains("`a[2]`") && !words.contains("`a[3]`") && words.contains("and 1 more items"),
        "{words}"
    );
}

#[test]
fn the_undo_of_a_list_says_how_far_it_is() {
    let mut run = listed(step("a").each(each(1, 0)), 4);
    (0..4).for_each(|number| drop(run.do_item(number)));
    run.event(&undo_asked());
    run.do_item(3);
    run.fail_item(2, Effect::None);
    let words = run.task.why(&run.definition, run.now, &Since::default()).to_string();
    assert!(words.contains("undo of `a`: 1 of its 4 items are undone, 1 failed, 1 are under way"), "{words}");
}

#[test]
fn a_list_of_which_a_part_is_done_is_undone_once_what_runs_has_ended() {
    let told = |done: bool, step: Step| {
        let mut run = listed(step.each(each(2, 0)), 3);
        if done {
            run.do_item(0);
        }
        run.grant(item(1));
        let cancel = run.cancel();
        run.event(&cancel);
        let why = run.task.why(&run.definition, run.now, &Since::default());
        why.held.iter().find(|held| held.name == "a").map(|held| held.undo)
    };
    assert_eq!(told(true, step("a")), Some(true));
    assert_eq!(told(false, step("a")), Some(false), "nothing of it is done");
    assert_eq!(told(true, Step::new("a", "service").nothing_to_undo()), Some(false));
}
