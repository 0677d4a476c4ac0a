//! `check_workflow` finds what is wrong with a workflow, and nothing where nothing is.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast::resilience::{Pipeline, Retry};
use steadfast::{Failure, Service, TaskState, Workflow, WorkflowBuilder};
use steadfast_engine::Cause;
use steadfast_testkit::{Ended, Wrong, check_workflow};

/// A service that keeps books: what is done, and what was taken back.
#[derive(Clone, Default)]
struct Books(Arc<Mutex<BTreeMap<String, Entry>>>);

#[derive(Clone, Copy, Default)]
struct Entry {
    done: u32,
    undone: bool,
}

/// What the service, or the workflow, gets wrong.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mistake {
    None,
    /// It does a repeated request twice.
    IgnoresKeys,
    /// It forgets what was taken back before it came.
    NoTombstones,
    /// The undo does nothing.
    EmptyUndo,
}

impl Books {
    fn do_it(&self, key: String, mistake: Mistake) {
        let mut books = self.0.lock().unwrap();
        let entry = books.entry(key).or_default();
        match (entry.done > 0, entry.undone) {
            (_, true) if mistake != Mistake::NoTombstones => {}
            (true, _) if mistake != Mistake::IgnoresKeys => {}
            _ => {
                entry.done += 1;
                entry.undone = false;
            }
        }
    }

    fn undo_it(&self, key: String, mistake: Mistake) {
        if mistake != Mistake::EmptyUndo {
            *self.0.lock().unwrap().entry(key).or_default() = Entry { done: 0, undone: true };
        }
    }
}

/// Three steps, one after the other.
fn make(mistake: Mistake) -> (Workflow<u32>, Books) {
    make_with(mistake, |before| before.last().copied().into_iter().collect())
}

/// Three steps: each comes after those of the earlier ones that `after` chooses.
fn make_with(
    mistake: Mistake,
    after: impl Fn(&[&'static str]) -> Vec<&'static str>,
) -> (Workflow<u32>, Books) {
    let books = Books::default();
    let retry = Retry::fixed(Duration::from_millis(100)).max_retries(3);
    let pipeline = Pipeline::builder("svc").clock(Clock::tokio()).no_budget().no_breaker().retry(retry);
    let service = Service::new(pipeline.build().unwrap());
    let mut flow = Workflow::<u32>::builder("three").complete_within(Duration::from_secs(24 * 3600));
    let mut before = Vec::new();
    for name in ["a", "b", "c"] {
        let (put, take) = (books.clone(), books.clone());
        let step = flow
            .step(name, &service, move |cx| {
                put.do_it(cx.key().to_string(), mistake);
                async { Ok::<_, Failure>(()) }
            })
            .after(after(&before))
            .complete_within(Duration::from_secs(10))
            .undo(move |cx| {
                take.undo_it(cx.step_key(name).to_string(), mistake);
                async { Ok::<_, Failure>(()) }
            })
            .undo_when_unknown();
        before.push(step.add().name());
    }
    (flow.build().unwrap(), books)
}

fn holds(books: &Books, ended: &Ended) -> Result<(), String> {
    let books = books.0.lock().unwrap();
    let done: u32 = books.values().map(|entry| entry.done).sum();
    if let Some((key, _)) = books.iter().find(|(_, entry)| entry.done > 1) {
        return Err(format!("{key} was done twice"));
    }
    match (ended.state, done) {
        (TaskState::Completed, 3) | (TaskState::Undone, 0) => Ok(()),
        (TaskState::Failed, _) if ended.story.refuses_undo() => Ok(()),
        (end, done) => Err(format!("it is {end:?}, and {done} are done")),
    }
}

#[test]
fn a_workflow_over_services_that_know_keys_holds() {
    let checked = check_workflow(&1, || make(Mistake::None), holds);
    println!("{checked}");
    checked.assert_holds();
    // 2 plain stories, 9 for each step, 6 for each undo, and crashes after each of 4 and of 8 commits or more.
    assert!(checked.stories >= 2 + 3 * 15 + 12, "{}", checked.stories);
}

/// The step in the middle asks for a task of another workflow, which does what it did.
fn make_parent() -> (Workflow<u32>, Books) {
    let books = Books::default();
    let retry = Retry::fixed(Duration::from_millis(100)).max_retries(3);
    let pipeline = Pipeline::builder("svc").clock(Clock::tokio()).no_budget().no_breaker().retry(retry);
    let service = Service::new(pipeline.build().unwrap());
    let add = |flow: &mut WorkflowBuilder<u32>, name: &'static str, after: &[&str]| {
        let (put, take) = (books.clone(), books.clone());
        let step = flow.step(name, &service, move |cx| {
            put.do_it(cx.key().to_string(), Mistake::None);
            async { Ok::<_, Failure>(()) }
        });
        let step = step.after(after).undo(move |cx| {
            take.undo_it(cx.step_key(name).to_string(), Mistake::None);
            async { Ok::<_, Failure>(()) }
        });
        step.undo_when_unknown().add();
    };
    let mut flow = Workflow::<u32>::builder("child");
    add(&mut flow, "b", &[]);
    let child = flow.build().unwrap();
    let mut flow = Workflow::<u32>::builder("parent").complete_within(Duration::from_secs(24 * 3600));
    add(&mut flow, "a", &[]);
    flow.child("b", &child, |seen| seen.input).after("a").add();
    add(&mut flow, "c", &["b"]);
    (flow.build().unwrap(), books)
}

/// Also where asking for it is made twice, hangs, is lost, or comes after its undo: there is one such task, or none.
#[test]
fn a_workflow_that_asks_for_another_task_holds() {
    let checked = check_workflow(&1, make_parent, holds);
    println!("{checked}");
    checked.assert_holds();
    assert!(checked.stories >= 2 + 3 * 15 + 12, "{}", checked.stories);
}

#[test]
fn what_is_wrong_is_found_and_told_in_words() {
    for (mistake, words) in [
        (Mistake::IgnoresKeys, "`a` is made twice, once: "),
        (Mistake::NoTombstones, "`c` hangs, and is done after everything else, each time: "),
        (
            Mistake::EmptyUndo,
            "nothing goes wrong, and the task is undone in the end: it is Undone, and 3 are done",
        ),
    ] {
        let checked = check_workflow(&1, || make(mistake), holds);
        if mistake == Mistake::NoTombstones {
            let guide = include_str!("../../../docs/guide/testing-with-faults.md");
            assert!(guide.contains(&checked.to_string()), "the guide shows something else: {checked}");
        }
        assert!(checked.broken.iter().any(|broken| broken.starts_with(words)), "{words}: {checked}");
    }
}

#[test]
fn a_payload_that_does_not_fit_its_type_is_told_and_not_taken_for_a_success() {
    // It cannot be read as it is written.
    #[derive(serde::Serialize, serde::Deserialize)]
    struct Odd {
        #[serde(skip_serializing)]
        needed: u32,
    }
    let make = || {
        let mut flow = Workflow::<Odd>::builder("odd");
        let service = Service::new(Pipeline::builder("svc").clock(Clock::tokio()).build().unwrap());
        flow.step("a", &service, |cx| async move { Ok::<_, Failure>(cx.input.needed) })
            .nothing_to_undo()
            .add();
        (flow.build().unwrap(), ())
    };
    let checked = check_workflow(&Odd { needed: 1 }, make, |(), _| Ok(()));
    let words = "nothing goes wrong: bad-payload: the input does not fit its type: missing field `needed`";
    assert!(checked.broken.iter().any(|broken| broken.starts_with(words)), "{checked}");
}

/// `a` and `b` beside each other, and `c` after both.
fn beside(before: &[&'static str]) -> Vec<&'static str> {
    if before.len() == 2 { before.to_vec() } else { Vec::new() }
}

/// How the stories end in which a task turns back while a step runs: each as the test kit shows it, with the state.
fn turned_back(make: impl Fn() -> (Workflow<u32>, Books), holds: Holds) -> Vec<String> {
    let told = RefCell::new(Vec::new());
    let checked = check_workflow(&1, make, |books: &Books, ended: &Ended| {
        let wrong = ended.story.trouble.as_ref().map(|trouble| &trouble.wrong);
        let happened = match (wrong, &ended.reason) {
            (Some(Wrong::Cancelled), reason) => matches!(reason, Some(Cause::Cancelled { .. })),
            (Some(Wrong::PastDeadline { .. }), reason) => matches!(reason, Some(Cause::Deadline)),
            (Some(Wrong::SiblingRefused(_)), reason) => matches!(reason, Some(Cause::StepFailed(_))),
            _ => return holds(books, ended),
        };
        assert!(happened, "{}: {:?}", ended.story, ended.reason);
        told.borrow_mut().push(format!("{}: {:?}", ended.story, ended.state));
        holds(books, ended)
    });
    checked.assert_holds();
    told.into_inner()
}

type Holds = fn(&Books, &Ended) -> Result<(), String>;

#[test]
fn a_step_that_runs_while_its_task_turns_back_is_undone_too() {
    assert_eq!(
        turned_back(|| make_with(Mistake::None, beside), holds),
        [
            "`a` is done after the task was cancelled, once: Undone",
            "`a` is done, and hangs until the task's deadline has passed, once: Undone",
            "`a` is done after `b` was refused for good, once: Undone",
            "`b` is done after the task was cancelled, once: Undone",
            "`b` is done, and hangs until the task's deadline has passed, once: Undone",
            "`b` is done after `a` was refused for good, once: Undone",
            "`c` is done after the task was cancelled, once: Undone",
            "`c` is done, and hangs until the task's deadline has passed, once: Undone",
        ]
    );
}

#[test]
fn what_a_step_gave_while_its_task_turned_back_is_there_for_its_undo() {
    let make = || {
        let books = Books::default();
        let service = Service::new(Pipeline::builder("svc").clock(Clock::tokio()).build().unwrap());
        let mut flow = Workflow::<u32>::builder("by-output");
        for name in ["a", "b"] {
            let (put, take) = (books.clone(), books.clone());
            flow.step(name, &service, move |cx| {
                put.do_it(cx.key().to_string(), Mistake::None);
                async move { Ok::<_, Failure>(cx.key().to_string()) }
            })
            .undo_with_output(move |_, key| {
                take.undo_it(key, Mistake::None);
                async { Ok::<_, Failure>(()) }
            })
            .add();
        }
        (flow.build().unwrap(), books)
    };
    // Without an output nobody knows what to undo: that is an operator's.
    let holds: Holds = |books, ended| {
        let done: u32 = books.0.lock().unwrap().values().map(|entry| entry.done).sum();
        match (ended.state, done) {
            (TaskState::Completed, 2) | (TaskState::Undone, 0) | (TaskState::Failed, _) => Ok(()),
            (end, done) => Err(format!("it is {end:?}, and {done} are done")),
        }
    };
    assert_eq!(
        turned_back(make, holds),
        [
            "`a` is done after the task was cancelled, once: Undone",
            "`a` is done after `b` was refused for good, once: Undone",
            "`b` is done after the task was cancelled, once: Undone",
            "`b` is done after `a` was refused for good, once: Undone",
        ]
    );
}
