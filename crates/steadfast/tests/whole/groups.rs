//! Groups of steps, and groups in groups.

use std::sync::{Arc, Mutex};

use steadfast::{Engine, Failure, Outcome, Service, StepRef, StepState, Workflow, WorkflowBuilder};

type Book = Arc<Mutex<Vec<&'static str>>>;

fn step(
    flow: &mut WorkflowBuilder<u32>,
    name: &'static str,
    book: &Book,
    after: &[StepRef<u32>],
) -> StepRef<u32> {
    let book = Arc::clone(book);
    let step = flow.step(name, &Service::standard("desk"), move |cx| {
        book.lock().unwrap().push(name);
        async move { Ok::<_, Failure>(cx.input) }
    });
    step.after(after).nothing_to_undo().add()
}

/// pay -> [ flight -> seat, [ hotel, car ] if the input is above 10 ] if it is above 0 -> tell
fn trip(book: &Book) -> Workflow<u32, u32> {
    let mut flow = Workflow::<u32>::builder("trip");
    let paid = step(&mut flow, "pay", book, &[]);
    let (travel, seat) = flow.group().after(paid).when(|seen| seen.input > 0).steps(|flow| {
        let flight = step(flow, "flight", book, &[]);
        let seat = step(flow, "seat", book, &[flight]);
        flow.group().when(|seen| seen.input > 10).steps(|flow| {
            step(flow, "hotel", book, &[]);
            step(flow, "car", book, &[]);
        });
        seat
    });
    let told = flow.step("tell", &Service::standard("desk"), move |cx| async move {
        Ok::<_, Failure>(cx.output(seat).unwrap_or(0))
    });
    let told = told.after((paid, travel)).nothing_to_undo().add();
    flow.returns(told).unwrap()
}

fn after<'w>(trip: &'w Workflow<u32, u32>, name: &str) -> Vec<&'w str> {
    let definition = trip.definition();
    let names = definition.before(definition.step_named(name).unwrap()).iter();
    names.map(|id| definition.step(*id).name()).collect()
}

#[test]
fn the_first_of_a_group_come_after_what_it_comes_after_and_others_after_all_of_it() {
    let trip = trip(&Book::default());
    for first in ["flight", "hotel", "car"] {
        assert_eq!(after(&trip, first), ["pay"]);
    }
    assert_eq!(after(&trip, "seat"), ["flight"]);
    assert_eq!(after(&trip, "tell"), ["pay", "flight", "seat", "hotel", "car"]);
}

#[tokio::test]
async fn what_a_group_is_made_for_holds_for_all_in_it() {
    for (input, ran, skipped) in [
        (0, &["pay"][..], 4),
        (5, &["pay", "flight", "seat"], 2),
        (11, &["pay", "flight", "seat", "hotel", "car"], 0),
    ] {
        let book = Book::default();
        let trip = trip(&book);
        let engine = Engine::builder("memory:").workflow(&trip).start().await.unwrap();
        let task = engine.submit(&trip, &input).await.unwrap();
        assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(input));
        let mut did = book.lock().unwrap().clone();
        let mut expected = ran.to_vec();
        did.sort_unstable();
        expected.sort_unstable();
        assert_eq!(did, expected);
        let steps = task.status().await.unwrap().steps;
        assert_eq!(steps.iter().filter(|step| step.state == StepState::Skipped).count(), skipped);
        engine.shut_down().await.unwrap();
    }
}

#[tokio::test]
async fn a_steps_own_condition_counts_beside_the_groups() {
    for (group, own, runs) in [(true, true, true), (true, false, false), (false, true, false)] {
        let ran = ran(|flow, book| {
            flow.group().when(move |_| group).steps(|flow| {
                let book = Arc::clone(book);
                let step = flow.step("a", &Service::standard("desk"), move |_| {
                    book.lock().unwrap().push("a");
                    async { Ok::<_, Failure>(()) }
                });
                step.when(move |_| own).nothing_to_undo().add()
            });
        });
        assert_eq!(ran.await.len(), usize::from(runs), "{group} {own}");
    }
}

#[test]
fn a_group_without_steps_and_one_after_another_workflows_steps_are_refused() {
    let mut other = Workflow::<u32>::builder("other");
    let foreign = step(&mut other, "x", &Book::default(), &[]);
    let mut flow = Workflow::<u32>::builder("trip");
    flow.group().after(foreign).steps(|_| ());
    let words = flow.build().unwrap_err().to_string();
    assert!(words.contains("group: it has no steps: add one, or leave it out"), "{words}");
    assert!(words.contains("`x`, which is a step of another workflow"), "{words}");
}

/// Which steps ran of a workflow that this function describes.
async fn ran(describe: impl FnOnce(&mut WorkflowBuilder<u32>, &Book)) -> Vec<&'static str> {
    let book = Book::default();
    let mut flow = Workflow::<u32>::builder("trip");
    describe(&mut flow, &book);
    let flow = flow.build().unwrap();
    let engine = Engine::builder("memory:").workflow(&flow).start().await.unwrap();
    let task = engine.submit(&flow, &0).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(()));
    engine.shut_down().await.unwrap();
    let mut ran = book.lock().unwrap().clone();
    ran.sort_unstable();
    ran
}

#[tokio::test]
async fn what_comes_before_from_outside_does_not_make_a_step_of_a_group_run() {
    let ran = ran(|flow, book| {
        let outside = step(flow, "outside", book, &[]);
        flow.group().when(|_| false).steps(|flow| {
            let a = step(flow, "a", book, &[]);
            step(flow, "b", book, &[a, outside]);
            flow.group().after((a, outside)).steps(|flow| step(flow, "c", book, &[]));
        });
    });
    assert_eq!(ran.await, ["outside"]);
}

#[tokio::test]
async fn what_comes_after_a_group_runs_if_anything_of_it_has() {
    let ran = ran(|flow, book| {
        let (group, ()) = flow.group().steps(|flow| {
            let a = step(flow, "a", book, &[]);
            let last = flow.step("b", &Service::standard("desk"), |_| async { Ok::<_, Failure>(()) });
            last.after(a).when(|_| false).nothing_to_undo().add();
        });
        let book = Arc::clone(book);
        let tell = flow.step("tell", &Service::standard("desk"), move |_| {
            book.lock().unwrap().push("tell");
            async { Ok::<_, Failure>(()) }
        });
        tell.after(group).nothing_to_undo().add();
    });
    assert_eq!(ran.await, ["a", "tell"]);
}
