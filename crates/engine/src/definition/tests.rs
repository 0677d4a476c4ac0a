//! What is refused, and how it is said.

use std::time::Duration;

use super::*;

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn read(name: &str) -> Step {
    Step::new(name, "files").nothing_to_undo()
}

fn problems(steps: Vec<Step>) -> Vec<String> {
    let workflow = steps.into_iter().fold(Definition::builder("w"), Builder::step);
    match workflow.build() {
        Ok(_) => Vec::new(),
        Err(invalid) => invalid.problems().iter().map(ToString::to_string).collect(),
    }
}

const NOBODY: &str = "step `a`: it calls no service, and nobody would call back: remove its callback";
const ASKS: &str = "step `a`: it asks for another task, and that is all that it does: leave its calls and heartbeats as they are";

fn each(at_a_time: u16) -> Each {
    Each { at_a_time, tolerates: 0 }
}

#[test]
fn each_mistake_is_refused_with_its_place_and_what_to_do() {
    for (steps, expected) in [
        (vec![], "workflow: it has no steps: add one"),
        (vec![read("")], "step ``: it has no name"),
        (vec![read("a b")], "step `a b`: `a b` is no name: use letters, digits, `-`, `_` and `.`"),
        (vec![read("a"), read("a")], "step `a`: another step has the same name"),
        (vec![read("a").after(["b"])], "step `a`: it comes after `b`, which is no step"),
        (vec![read("b"), read("a").after(["b", "b"])], "step `a`: it names `b` twice in `after`"),
        (
            vec![read("x"), read("a").after(["c", "x"]), read("b").after(["a"]), read("c").after(["b"])],
            "workflow: steps wait for each other in a circle: b -> c -> a -> b",
        ),
        (vec![read("a").after(["a"])], "workflow: steps wait for each other in a circle: a -> a"),
        (
            vec![read("a").complete_within(Duration::ZERO)],
            "step `a`: complete_within is zero: give a time above 0",
        ),
        (vec![read("a").complete_within(s(400 * 86_400))], "step `a`: complete_within is longer than a year"),
        (
            vec![Step::new("a", "s").undo(Duration::ZERO)],
            "step `a`: the undo's complete_within is zero: give a time above 0",
        ),
        (vec![read("a").max_calls(0)], "step `a`: max_calls is 0: it would never be called"),
        (
            vec![read("a").recovery(Recovery { at_once: 3, last: 3, extended_wait: s(1) })],
            "step `a`: recovery: `last` must be above `at_once`, or no wait is ever extended",
        ),
        (vec![read("a").undo(s(1))], "step `a`: it has an undo and nothing to undo: remove one of the two"),
        (vec![read("a").undo_when_unknown()], "step `a`: undo_when_unknown without an undo: add one"),
        (
            vec![Step::new("a", "s").undo(s(1)).undo_reads_output().undo_when_unknown()],
            "step `a`: undo_when_unknown, and the undo reads the output, which an unknown outcome does not have: \
             undo by the step's key or input",
        ),
        (
            vec![Step::new("a", "s").undo(s(1)).point_of_no_return()],
            "step `a`: a point of no return is never undone: remove its undo",
        ),
        (
            vec![read("a").point_of_no_return(), read("b").after(["a"]).on_failure(OnFailure::Undo)],
            "step `b`: it comes after a point of no return, where nothing is undone: choose error or continue",
        ),
        (
            vec![
                read("a").point_of_no_return(),
                read("m").after(["a"]),
                Step::new("b", "s").after(["m"]).undo(s(1)),
            ],
            "step `b`: it comes after a point of no return, where nothing is undone: remove its undo",
        ),
        (vec![Step::wait_for("a", s(0))], "step `a`: its wait is zero: give a time above 0"),
        (vec![Step::wait_for("a", s(400 * 86_400))], "step `a`: its wait is longer than a year"),
        (
            vec![Step::signal("a", "a b")],
            "step `a`, signal: `a b` is no name: use letters, digits, `-`, `_` and `.`",
        ),
        (vec![Step::signal("a", "x").timeout(s(0))], "step `a`: timeout is zero: give a time above 0"),
        (
            vec![Step::signal("a", "x").or_none()],
            "step `a`: it goes on without its signal, and has no timeout: add one",
        ),
        (
            vec![Step::wait_until("a").heartbeat_within(s(1))],
            "step `a`: it waits and calls nothing: remove its undo, calls, rounds, items and heartbeats",
        ),
        (vec![read("a").heartbeat_within(s(0))], "step `a`: heartbeat_within is zero: give a time above 0"),
        (
            vec![read("a").repeat(Repeat { every: s(1), at_most: Some(0) })],
            "step `a`: at_most is 0: it would never be called",
        ),
        (
            vec![read("a").repeat(Repeat { every: s(1), at_most: None })],
            "step `a`: it is repeated without an end: add at_most, or a complete_within to the workflow",
        ),
        (
            vec![read("a").repeat(Repeat { every: s(400 * 86_400), at_most: Some(2) })],
            "step `a`: the time between two rounds is longer than a year",
        ),
        (
            vec![Step::new("a", "s").undo(s(1)).repeat(Repeat { every: s(1), at_most: Some(2) })],
            "step `a`: it is repeated, and each round is a call of its own that one undo does not take back: leave to a \
             step behind it what has to be undone or cannot be",
        ),
        (
            vec![Step::child("a", "a b")],
            "step `a`, workflow: `a b` is no name: use letters, digits, `-`, `_` and `.`",
        ),
        (vec![Step::child("a", "b").callback(s(9))], NOBODY),
        (vec![Step::wait_for("a", s(9)).callback(s(9))], NOBODY),
        (vec![read("a").callback(s(0))], "step `a`: the callback's within is zero: give a time above 0"),
        (vec![Step::child("a", "b").not_idempotent()], ASKS),
        (vec![Step::child("a", "b").max_calls(3)], ASKS),
        (vec![Step::child("a", "b").heartbeat_within(s(3))], ASKS),
        (vec![read("a").each(each(0))], "step `a`: at_a_time is 0: give 1 to 1000"),
        (vec![read("a").each(each(1_001))], "step `a`: at_a_time is 1001: give 1 to 1000"),
        (
            vec![read("a").each(each(1)).repeat(Repeat { every: s(1), at_most: Some(2) })],
            "step `a`: it is made for each item and repeated: leave one of the two to another step",
        ),
        (
            vec![read("a").each(each(1)).point_of_no_return()],
            "step `a`: it is made for each item, and a part of them is no point of no return: add a step behind it that is one",
        ),
        (
            vec![read("a").each(each(1)).on_failure(OnFailure::Continue)],
            "step `a`: it is made for each item, and goes on when it has failed: say how many failed items it tolerates",
        ),
        (
            vec![Step::new("a", "s")],
            "step `a`: it has no undo, so that the task could not be undone as a whole: add an undo, or say that there is nothing to undo",
        ),
    ] {
        assert_eq!(problems(steps), [expected]);
    }
}

#[test]
fn all_mistakes_are_told_at_once() {
    let invalid = Definition::builder("bad name")
        .complete_within(Duration::ZERO)
        .step(Step::new("a", "").max_calls(0).after(["nobody"]))
        .build()
        .unwrap_err();
    assert_eq!(invalid.problems().len(), 5);
    let text = invalid.to_string();
    assert!(
        text.starts_with("workflow `bad name` makes no sense:\n  - workflow: `bad name` is no name"),
        "{text}"
    );
    assert!(text.contains("\n  - step `a`, service: it has no name"), "{text}");
}

#[test]
fn long_names_and_many_steps_are_refused() {
    let long = "x".repeat(MAX_NAME + 1);
    assert_eq!(problems(vec![read(&long)])[0].matches("at most 100 are allowed").count(), 1);
    assert_eq!(problems(vec![read(&"x".repeat(MAX_NAME))]), Vec::<String>::new());
    let many = |count: usize| (0..count).map(|number| read(&format!("s{number}"))).collect::<Vec<_>>();
    assert_eq!(problems(many(MAX_STEPS)), Vec::<String>::new());
    assert_eq!(problems(many(MAX_STEPS + 1)), ["workflow: it has 1001 steps, at most 1000 are allowed"]);
}

#[test]
fn a_definition_knows_what_comes_before_and_after() {
    let workflow = Definition::builder("w")
        .version(3)
        .complete_within(s(60))
        .step(read("a"))
        .step(read("b").after(["a"]))
        .step(Step::new("c", "mail").nothing_to_undo().after(["a", "b"]))
        .build()
        .unwrap();
    let [a, b, c] = ["a", "b", "c"].map(|name| workflow.step_named(name).unwrap());
    assert_eq!((workflow.before(c), workflow.dependents(a)), (&[a, b][..], &[b, c][..]));
    assert_eq!((workflow.name(), workflow.version(), workflow.complete_within()), ("w", 3, Some(s(60))));
    assert_eq!(workflow.services(), ["files", "mail"]);
    assert_eq!(workflow.step_named("d"), None);
    assert_eq!(workflow.step(a).failure_means(), OnFailure::Undo);
}

#[test]
fn behind_a_point_of_no_return_a_failure_is_an_error() {
    let workflow = Definition::builder("w")
        .step(Step::new("a", "s").undo(s(1)))
        .step(Step::new("ship", "s").after(["a"]).point_of_no_return())
        .step(Step::new("mail", "s").after(["ship"]))
        .step(Step::new("tell", "s").after(["mail"]).on_failure(OnFailure::Continue))
        .build()
        .unwrap();
    let means = |name| workflow.step(workflow.step_named(name).unwrap()).failure_means();
    let all = ["a", "ship", "mail", "tell"].map(means);
    assert_eq!(all, [OnFailure::Undo, OnFailure::Undo, OnFailure::Error, OnFailure::Continue]);
}

#[test]
fn the_shape_is_of_what_the_rows_mean() {
    let shape = |steps: Vec<Step>| {
        steps.into_iter().fold(Definition::builder("w"), Builder::step).build().unwrap().shape()
    };
    let plain = || vec![read("a"), read("b").after(["a"])];
    assert_eq!(shape(plain()), shape(vec![read("a").complete_within(s(5)), read("b").after(["a"])]));
    for other in [
        vec![read("a")],
        vec![read("a"), read("b")],
        vec![read("b"), read("a").after(["b"])],
        vec![read("a"), read("b").after(["a"]).conditional()],
        vec![read("a"), Step::new("b", "other").nothing_to_undo().after(["a"])],
        vec![read("a"), Step::new("b", "files").undo(s(1)).after(["a"])],
        vec![read("a"), read("b").after(["a"]).repeat(Repeat { every: s(1), at_most: Some(2) })],
        vec![read("a"), Step::wait_for("b", s(1)).after(["a"])],
        vec![read("a"), Step::signal("b", "x").after(["a"])],
        vec![read("a"), read("b").after(["a"]).each(each(1))],
        vec![read("a"), Step::child("b", "x").after(["a"])],
        vec![read("a"), read("b").after(["a"]).callback(s(9))],
    ] {
        assert_ne!(shape(plain()), shape(other));
    }
    let waits = |wait: Step| shape(vec![read("a"), wait.after(["a"])]);
    assert_eq!(waits(Step::wait_for("b", s(1))), waits(Step::wait_for("b", s(2))), "times are no part of it");
    assert_ne!(waits(Step::signal("b", "x")), waits(Step::signal("b", "y")));
    assert_ne!(waits(Step::child("b", "x")), waits(Step::child("b", "y")));
    // Pinned: a stored shape must mean the same after an upgrade.
    assert_eq!(shape(plain()), 7_141_651_873_888_268_315);
}
