//! Steps that are made for each item of a list, as a program sees them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{hasty, service};
use steadfast::resilience::clock::Clock;
use steadfast::{Engine, Failure, Outcome, StepState, TaskState, Workflow};
use tokio::sync::Semaphore;

/// A service that writes down what is done and undone, by key, and fails for some.
#[derive(Clone, Default)]
struct Booked {
    done: Arc<Mutex<BTreeMap<u32, usize>>>,
    undone: Arc<Mutex<Vec<u32>>>,
    refuses: Vec<u32>,
    now: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
    gate: Option<Arc<Semaphore>>,
}

impl Booked {
    async fn book(self, number: u32) -> Result<u32, Failure> {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        match &self.gate {
            Some(gate) => gate.acquire().await.unwrap().forget(),
            None => Clock::tokio().sleep(Duration::from_millis(10)).await,
        }
        self.now.fetch_sub(1, Ordering::SeqCst);
        if self.refuses.contains(&number) {
            return Err(Failure::terminal("sold-out", format!("{number} is sold out")));
        }
        *self.done.lock().unwrap().entry(number).or_default() += 1;
        Ok(number * 10)
    }

    fn done(&self) -> Vec<u32> {
        self.done.lock().unwrap().keys().copied().collect()
    }
}

/// Books so many, and gives back what came of each.
fn trip(booked: &Booked, at_a_time: u16, tolerate: u16) -> Workflow<u32, Vec<Option<u32>>> {
    let mut flow = Workflow::<u32>::builder("trip");
    let (books, frees) = (booked.clone(), booked.clone());
    let list = |seen: &steadfast::Seen<u32>| (0..seen.input).collect::<Vec<_>>();
    let seats = flow
        .each("seats", &service("seats"), list, move |cx, seat: u32| {
            assert_eq!(cx.place(), usize::try_from(seat).ok());
            books.clone().book(seat)
        })
        .at_a_time(at_a_time)
        .tolerate(tolerate)
        .undo_with_output(move |cx, price: u32| {
            let frees = frees.clone();
            async move {
                let seat: u32 = cx.item()?;
                assert_eq!(price, seat * 10);
                frees.undone.lock().unwrap().push(seat);
                Ok::<_, Failure>(())
            }
        })
        .add();
    let sum = flow
        .step("sum", &service("sum"), move |cx| async move { cx.results(seats) })
        .after(seats)
        .nothing_to_undo()
        .add();
    flow.returns(sum).unwrap()
}

async fn engine(address: &str, flow: &Workflow<u32, Vec<Option<u32>>>) -> Engine {
    Engine::builder(address).clock(Clock::tokio()).workflow(flow).start().await.unwrap()
}

#[tokio::test(start_paused = true)]
async fn results_come_in_the_order_of_the_list_and_no_more_run_at_a_time_than_may() {
    let booked = Booked::default();
    let flow = trip(&booked, 7, 0);
    let engine = engine("memory:", &flow).await;
    let task = engine.submit(&flow, &250).await.unwrap();
    let expected: Vec<_> = (0..250).map(|seat| Some(seat * 10)).collect();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(expected));
    assert_eq!(booked.most.load(Ordering::SeqCst), 7);
    assert_eq!(booked.done.lock().unwrap().values().sum::<usize>(), 250);
    let items = task.status().await.unwrap().steps[0].items.unwrap();
    assert_eq!((items.count, items.done, items.failed, items.busy), (250, 250, 0, 0));
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_empty_list_and_one_that_is_too_long() {
    let booked = Booked::default();
    let flow = trip(&booked, 7, 0);
    let engine = engine("memory:", &flow).await;
    let none = engine.submit(&flow, &0).await.unwrap();
    assert_eq!(none.outcome().await.unwrap(), Outcome::Completed(Vec::new()));
    let many = engine.submit(&flow, &20_001).await.unwrap();
    let Outcome::Undone(why) = many.outcome().await.unwrap() else { panic!("it is too long") };
    assert!(why.to_string().contains("the list has 20001 items, and a task at most 20000"), "{why}");
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn failed_items_are_left_out_where_that_is_tolerated_and_otherwise_all_are_undone() {
    let booked = Booked { refuses: vec![3, 8], ..Booked::default() };
    let flow = trip(&booked, 4, 2);
    let tolerant = engine("memory:", &flow).await;
    let task = tolerant.submit(&flow, &10).await.unwrap();
    let Outcome::Completed(results) = task.outcome().await.unwrap() else { panic!("two are tolerated") };
    let missing: Vec<_> = (0..10).filter(|seat| results[*seat].is_none()).collect();
    assert_eq!(missing, [3, 8]);
    tolerant.shut_down().await.unwrap();

    let booked = Booked { refuses: vec![8], ..Booked::default() };
    let flow = trip(&booked, 4, 0);
    let strict = engine("memory:", &flow).await;
    let task = strict.submit(&flow, &10).await.unwrap();
    let Outcome::Undone(why) = task.outcome().await.unwrap() else { panic!("none is tolerated") };
    assert_eq!(why.to_string(), "step `seats` failed: item 8: sold-out: 8 is sold out");
    let mut undone = booked.undone.lock().unwrap().clone();
    undone.sort_unstable();
    assert_eq!(undone, booked.done(), "what was done, and nothing else");
    assert_eq!(task.status().await.unwrap().steps[0].state, StepState::Undone);
    strict.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_long_list_is_undone_as_a_whole_and_not_all_at_once() {
    let booked = Booked::default();
    let flow = trip(&booked, 5, 0);
    let engine = engine("memory:", &flow).await;
    let task = engine.submit(&flow, &120).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Completed(_)));
    engine.operator("ann").undo(task.id()).because("the trip is off").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    let mut undone = booked.undone.lock().unwrap().clone();
    assert!(undone[..5].iter().all(|seat| *seat >= 115), "{undone:?}");
    undone.sort_unstable();
    assert_eq!(undone, booked.done());
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn an_operator_repairs_what_failed_and_the_rest_is_not_made_again() {
    let mut booked = Booked { refuses: vec![2, 5], ..Booked::default() };
    let mut flow = Workflow::<u32>::builder("trip");
    let books = Arc::new(Mutex::new(booked.clone()));
    let seats = Arc::clone(&books);
    let items = flow
        .each(
            "seats",
            &service("seats"),
            |seen| (0..seen.input).collect(),
            move |_, seat: u32| {
                let booked = seats.lock().unwrap().clone();
                booked.book(seat)
            },
        )
        .on_failure(steadfast::OnFailure::Error)
        .nothing_to_undo()
        .add();
    let sum = flow.step("sum", &service("sum"), move |cx| async move { cx.results(items) });
    let sum = sum.after(items).nothing_to_undo().add();
    let flow = flow.returns(sum).unwrap();
    let engine = engine("memory:", &flow).await;
    let task = engine.submit(&flow, &8).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Failed(_)));
    let why = task.why().await.unwrap().to_string();
    assert!(why.starts_with("step `seats` failed: item "), "{why}");
    booked.refuses.clear();
    *books.lock().unwrap() = booked.clone();
    engine.operator("ann").resume(task.id()).because("more seats").await.unwrap();
    let expected: Vec<_> = (0..8).map(|seat| Some(seat * 10)).collect();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(expected));
    assert!(booked.done.lock().unwrap().values().all(|times| *times == 1), "each was done once");
    engine.shut_down().await.unwrap();
}

/// The node dies in the middle of a list, over a file: the next one goes on with what had not ended.
#[tokio::test]
async fn a_crash_in_the_middle_of_a_list_costs_only_what_ran() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("trip.db").display());
    let gate = Arc::new(Semaphore::new(0));
    let booked = Booked { gate: Some(Arc::clone(&gate)), ..Booked::default() };
    let flow = trip(&booked, 3, 0);
    let build = || Engine::builder(&address).settings(hasty()).workflow(&flow);
    let engine = build().start().await.unwrap();
    let task = engine.submit(&flow, &150).await.unwrap().id();
    let mut events = engine.events();
    gate.add_permits(60);
    items_end(&mut events, 60).await;
    // Three are under way, and are cut off.
    engine.shut_down().await.unwrap();
    assert_eq!(booked.done().len(), 60);
    gate.add_permits(1_000);
    let engine = build().start().await.unwrap();
    let task = engine.task(&flow, task).await.unwrap();
    let expected: Vec<_> = (0..150).map(|seat| Some(seat * 10)).collect();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(expected));
    assert!(booked.done.lock().unwrap().values().all(|times| *times == 1));
    assert_eq!(task.status().await.unwrap().state, TaskState::Completed);
    engine.shut_down().await.unwrap();
}

/// In the middle of its list a task is brought into a file: nothing of it contradicts itself, and it goes on there.
#[tokio::test]
async fn a_task_in_the_middle_of_its_list_goes_on_in_another_store() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("trip.db").display());
    let gate = Arc::new(Semaphore::new(0));
    let booked = Booked { gate: Some(Arc::clone(&gate)), ..Booked::default() };
    let flow = trip(&booked, 3, 0);
    let build = |address: &str| Engine::builder(address).settings(hasty()).workflow(&flow);
    let here = build("memory:").start().await.unwrap();
    let mut events = here.events();
    let task = here.submit(&flow, &150).await.unwrap().id();
    gate.add_permits(60);
    items_end(&mut events, 60).await;
    // Three are under way.
    let mut lines = Vec::new();
    assert_eq!(here.export(&mut lines, here.tasks()).await.unwrap(), 1);
    here.shut_down().await.unwrap();
    gate.add_permits(1_000);
    let there = build(&address).start().await.unwrap();
    let imported = there.import(&lines[..]).await.unwrap();
    assert_eq!((imported.new, imported.refused), (1, 0), "{imported:?}");
    let task = there.task(&flow, task).await.unwrap();
    let expected: Vec<_> = (0..150).map(|seat| Some(seat * 10)).collect();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(expected));
    assert_eq!(task.status().await.unwrap().steps[0].items.unwrap().done, 150);
    assert!(
        booked.done.lock().unwrap().values().all(|times| *times == 1),
        "what was done was not made again"
    );
    let report = there.verify().await.unwrap();
    assert!(report.is_sound(), "{report}");
    there.shut_down().await.unwrap();
}

/// O2: a task can be looked for by reason and text while its items are under way.
#[tokio::test(start_paused = true)]
async fn a_task_in_the_middle_of_its_list_is_found_or_not_like_any_other() {
    let gate = Arc::new(Semaphore::new(1));
    let booked = Booked { gate: Some(Arc::clone(&gate)), ..Booked::default() };
    let flow = trip(&booked, 3, 0);
    let engine = engine("memory:", &flow).await;
    let mut events = engine.events();
    let task = engine.submit(&flow, &5).await.unwrap();
    items_end(&mut events, 1).await;
    let id = task.id().to_string();
    assert_eq!(engine.tasks().text(&id).await.unwrap().tasks.len(), 1);
    assert_eq!(engine.tasks().text("nobody").await.unwrap().tasks.len(), 0);
    assert_eq!(engine.tasks().reason("sold-out").await.unwrap().tasks.len(), 0);
    assert_eq!(engine.tasks().service("seats").await.unwrap().tasks.len(), 1);
    gate.add_permits(10);
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Completed(_)));
    engine.shut_down().await.unwrap();
}

/// Waits until so many items are done.
async fn items_end(events: &mut steadfast::Events, mut left: usize) {
    while left > 0 {
        if let steadfast::What::Step { name, state: StepState::Completed, .. } =
            events.next().await.unwrap().what
            && name.starts_with("seats[")
        {
            left -= 1;
        }
    }
}

/// An undo that finds what to undo by the step's key has the item's own.
#[tokio::test(start_paused = true)]
async fn the_undo_of_an_item_knows_the_key_that_the_item_had() {
    let seats = Arc::new(Mutex::new(std::collections::BTreeSet::new()));
    let (books, frees) = (Arc::clone(&seats), Arc::clone(&seats));
    let mut flow = Workflow::<u32>::builder("seats");
    let seat = flow
        .each(
            "seat",
            &service("hall"),
            |_| vec![1, 2, 3],
            move |cx, _: u32| {
                assert!(books.lock().unwrap().insert(cx.key()));
                assert_eq!(cx.step_key("seat"), cx.key());
                async { Ok::<_, Failure>(()) }
            },
        )
        .undo(move |cx| {
            let was_there = frees.lock().unwrap().remove(&cx.step_key("seat"));
            async move { if was_there { Ok(()) } else { Err(Failure::terminal("no-seat", "no such seat")) } }
        })
        .add();
    flow.step("pay", &service("bank"), |_| async { Err::<(), _>(Failure::terminal("no", "no")) })
        .after(seat)
        .nothing_to_undo()
        .add();
    let flow = flow.build().unwrap();
    let engine = Engine::builder("memory:").workflow(&flow).start().await.unwrap();
    let task = engine.submit(&flow, &1).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    assert_eq!(seats.lock().unwrap().len(), 0, "all are free again");
    engine.shut_down().await.unwrap();
}
