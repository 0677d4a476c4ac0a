//! Steps that ask for other tasks, as a program sees them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{hasty, service};
use steadfast::resilience::clock::Clock;
use steadfast::{Change, Engine, Failure, On, OnFailure, Outcome, TaskId, TaskState, Workflow};
use tokio::sync::Semaphore;

/// A bank that writes down what is done and undone, and refuses some amounts.
#[derive(Clone, Default)]
struct Bank {
    charged: Arc<Mutex<BTreeMap<u32, usize>>>,
    /// What was done and undone, in its order.
    book: Arc<Mutex<Vec<String>>>,
    refuses: Arc<Mutex<Vec<u32>>>,
    gate: Option<Arc<Semaphore>>,
}

impl Bank {
    async fn charge(self, amount: u32) -> Result<u32, Failure> {
        if let Some(gate) = &self.gate {
            gate.acquire().await.unwrap().forget();
        }
        if self.refuses.lock().unwrap().contains(&amount) {
            return Err(Failure::terminal("refused", format!("{amount} is too much")));
        }
        *self.charged.lock().unwrap().entry(amount).or_default() += 1;
        self.write(format!("charged {amount}"));
        Ok(amount * 10)
    }

    fn write(&self, line: String) {
        self.book.lock().unwrap().push(line);
    }

    fn book(&self) -> Vec<String> {
        self.book.lock().unwrap().clone()
    }

    fn charged(&self) -> Vec<usize> {
        self.charged.lock().unwrap().values().copied().collect()
    }
}

/// Charges what it is given, after a wait.
fn pay(bank: &Bank, wait: Duration, then: OnFailure) -> Workflow<u32, u32> {
    let (charges, refunds) = (bank.clone(), bank.clone());
    let mut flow = Workflow::<u32>::builder("pay");
    let waited = flow.wait_for("wait", wait).add();
    let charge = flow.step("charge", &service("bank"), move |cx| charges.clone().charge(cx.input));
    let charge = charge.after(waited).on_failure(then).undo(move |cx| {
        refunds.write(format!("refunded {}", cx.input));
        async { Ok::<_, Failure>(()) }
    });
    let charge = charge.add();
    flow.returns(charge).unwrap()
}

/// Reserves, and has a task of its own pay.
fn order(bank: &Bank, pay: &Workflow<u32, u32>, then: OnFailure) -> Workflow<u32, u32> {
    let (reserves, frees) = (bank.clone(), bank.clone());
    let mut flow = Workflow::<u32>::builder("order");
    let reserve = flow.step("reserve", &service("stock"), move |cx| {
        reserves.write(format!("reserved {}", cx.input));
        async { Ok::<_, Failure>(1_u32) }
    });
    let reserve = reserve.undo(move |cx| {
        frees.write(format!("freed {}", cx.input));
        async { Ok::<_, Failure>(()) }
    });
    let reserve = reserve.add();
    let more = move |seen: &steadfast::Seen<u32>| seen.input + seen.output(reserve).unwrap();
    let paid = flow.child("pay", pay, more).after(reserve).on_failure(then).add();
    flow.returns(paid).unwrap()
}

async fn engine<In, Out>(address: &str, flow: &Workflow<In, Out>) -> Engine {
    Engine::builder(address).clock(Clock::tokio()).workflow(flow).start().await.unwrap()
}

/// The task of this workflow, of which there is one.
async fn only(engine: &Engine, workflow: &str) -> TaskId {
    let found = engine.tasks().workflow(workflow).await.unwrap();
    assert_eq!(found.tasks.len(), 1, "{found:?}");
    found.tasks[0].id
}

const NO_WAIT: Duration = Duration::from_millis(1);
const HOUR: Duration = Duration::from_secs(3_600);

#[tokio::test(start_paused = true)]
async fn what_the_other_task_gives_back_is_the_steps_output() {
    let bank = Bank::default();
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let order = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).namespace("shop").priority(3).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    assert_eq!(bank.book(), ["reserved 4", "charged 5"]);
    let child = only(&engine, "pay").await;
    let children = engine.tasks().parent(task.id()).await.unwrap().tasks;
    assert_eq!((children.len(), children[0].id, children[0].parent), (1, child, Some(task.id())));
    assert_eq!(&*children[0].namespace, "shop");
    assert_eq!(engine.task(&pay, child).await.unwrap().status().await.unwrap().state, TaskState::Completed);
    engine.shut_down().await.unwrap();
}

/// It is not held in memory while the other one goes on for an hour, says what it waits for, and hears of its end at once.
#[tokio::test(start_paused = true)]
async fn a_long_task_is_waited_for_without_looking_and_its_end_wakes_who_waits() {
    let bank = Bank::default();
    let pay = pay(&bank, HOUR, OnFailure::Undo);
    let order = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &order).await;
    let began = Clock::tokio().now();
    let task = engine.submit(&order, &4).await.unwrap();
    Clock::tokio().sleep(Duration::from_secs(60)).await;
    let (why, child) = (task.why().await.unwrap(), only(&engine, "pay").await);
    let held = why.held.iter().find(|held| held.name == "pay").unwrap();
    assert!(
        matches!(&held.on, On::Child { workflow, task: Some((id, TaskState::Waiting)) }
        if workflow == "pay" && **id == *child.to_string()),
        "{held:?}"
    );
    assert_eq!(held.change, Change::Child);
    let words = why.to_string();
    assert!(words.contains(&format!("`pay`: it waits for task {child} of workflow `pay`")), "{words}");
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    let took = Clock::tokio().now().since(began);
    assert!(took < HOUR + Duration::from_secs(2), "{took:?}");
    // One round that asked, one that looked, and one every ten minutes for what nobody thinks of.
    let attempts = task.status().await.unwrap().steps[1].attempt;
    assert!((2..=9).contains(&attempts), "{attempts}");
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn when_the_other_task_is_undone_the_step_has_failed() {
    let bank = Bank::default();
    bank.refuses.lock().unwrap().push(5);
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let strict = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &strict).await;
    let task = engine.submit(&strict, &4).await.unwrap();
    let Outcome::Undone(why) = task.outcome().await.unwrap() else { panic!("it was refused") };
    let child = only(&engine, "pay").await;
    let expected = format!(
        "step `pay` failed: child-undone: task {child} was undone: step `charge` failed: refused: 5 is too much"
    );
    assert_eq!(why.to_string(), expected);
    assert_eq!(bank.book(), ["reserved 4", "freed 4"]);
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_is_undone_has_the_other_task_undone_first() {
    let bank = Bank::default();
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let order = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    engine.operator("ann").undo(task.id()).because("sold twice").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    assert_eq!(bank.book(), ["reserved 4", "charged 5", "refunded 5", "freed 4"]);
    let child = only(&engine, "pay").await;
    let audits = engine.operator("ann").audits(Some(child), None, 10).await.unwrap();
    assert_eq!(audits.len(), 1, "{audits:?}");
    assert_eq!(&*audits[0].audit.by, format!("task {}", task.id()));
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn who_is_cancelled_meanwhile_leaves_nothing_behind() {
    let bank = Bank::default();
    let pay = pay(&bank, HOUR, OnFailure::Undo);
    let order = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).await.unwrap();
    Clock::tokio().sleep(Duration::from_secs(60)).await;
    task.cancel("ann", "changed her mind").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    assert_eq!(bank.book(), ["reserved 4", "freed 4"]);
    let child = engine.task(&pay, only(&engine, "pay").await).await.unwrap();
    assert_eq!(child.status().await.unwrap().state, TaskState::Undone);
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn when_the_other_task_fails_it_is_repaired_and_who_waits_goes_on() {
    let bank = Bank::default();
    bank.refuses.lock().unwrap().push(5);
    let pay = pay(&bank, NO_WAIT, OnFailure::Error);
    let order = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).await.unwrap();
    Clock::tokio().sleep(Duration::from_secs(60)).await;
    let (why, child) = (task.why().await.unwrap(), only(&engine, "pay").await);
    let held = why.held.iter().find(|held| held.name == "pay").unwrap();
    assert_eq!(held.change, Change::Operator);
    assert!(why.to_string().contains("which has failed: it goes on when somebody has repaired"), "{why}");
    let refused =
        engine.operator("ann").retry(task.id(), "pay").because("at the wrong place").await.unwrap_err();
    assert!(refused.to_string().contains("repair it, or have it undone, first"), "{refused}");
    bank.refuses.lock().unwrap().clear();
    engine.operator("ann").resume(child).because("it is allowed now").await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    assert_eq!(bank.book(), ["reserved 4", "charged 5"]);
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_step_that_is_made_again_asks_for_another_task() {
    let bank = Bank::default();
    bank.refuses.lock().unwrap().push(5);
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let order = order(&bank, &pay, OnFailure::Error);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Failed(_)));
    bank.refuses.lock().unwrap().clear();
    engine.operator("ann").resume(task.id()).because("it is allowed now").await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    assert_eq!(engine.tasks().workflow("pay").await.unwrap().tasks.len(), 2);
    assert_eq!(bank.book(), ["reserved 4", "charged 5"]);
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_that_has_passed_its_point_of_no_return_cannot_be_undone_and_somebody_hears_of_it() {
    let bank = Bank::default();
    let charges = bank.clone();
    let mut flow = Workflow::<u32>::builder("pay");
    let charge = flow.step("charge", &service("bank"), move |cx| charges.clone().charge(cx.input));
    let charge = charge.point_of_no_return().add();
    let pay = flow.returns(charge).unwrap();
    let order = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    engine.operator("ann").undo(task.id()).because("sold twice").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Failed(_)));
    let words = task.why().await.unwrap().to_string();
    let expected = "`pay` could not be undone: child-not-undone: task";
    assert!(words.contains(expected) && words.contains("point of no return"), "{words}");
    engine.shut_down().await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_that_cannot_be_asked_for_leaves_nothing_behind() {
    let bank = Bank::default();
    let mut flow = Workflow::<String>::builder("long");
    flow.step("read", &service("bank"), |_| async { Ok::<_, Failure>(()) }).nothing_to_undo().add();
    let long = flow.build().unwrap();
    type Input = fn(u32) -> String;
    let order = |input: Input| {
        let (does, undoes) = (bank.clone(), bank.clone());
        let mut flow = Workflow::<u32>::builder("order");
        let reserve = flow.step("reserve", &service("stock"), move |_| {
            does.write("reserved".to_owned());
            async { Ok::<_, Failure>(()) }
        });
        let reserve = reserve.undo(move |_| {
            undoes.write("freed".to_owned());
            async { Ok::<_, Failure>(()) }
        });
        let reserve = reserve.add();
        flow.child("read", &long, move |seen| input(seen.input)).after(reserve).add();
        flow.build().unwrap()
    };
    let cases: [(Input, &str); 2] = [
        (
            |_| std::panic::resume_unwind(Box::new("no such thing")),
            "panic: the handler panicked: no such thing",
        ),
        (|_| "x".repeat(2 << 20), "child-not-asked: "),
    ];
    for (input, words) in cases {
        let order = order(input);
        let engine = engine("memory:", &order).await;
        let task = engine.submit(&order, &4).await.unwrap();
        let Outcome::Undone(why) = task.outcome().await.unwrap() else { panic!("it cannot be done") };
        assert!(why.to_string().contains(words), "{why}");
        let children = engine.tasks().workflow("long").await.unwrap().tasks;
        assert!(children.iter().all(|child| child.state == TaskState::Undone), "{children:?}");
        engine.shut_down().await.unwrap();
    }
    assert_eq!(bank.book(), ["reserved", "freed", "reserved", "freed"]);
}

#[tokio::test(start_paused = true)]
async fn behind_a_point_of_no_return_the_other_task_is_not_undone() {
    let bank = Bank::default();
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let mut flow = Workflow::<u32>::builder("order");
    let sent = flow.step("send", &service("post"), |_| async { Ok::<_, Failure>(()) });
    let sent = sent.point_of_no_return().add();
    let paid = flow.child("pay", &pay, |seen| seen.input).after(sent).add();
    let order = flow.returns(paid).unwrap();
    assert!(order.definition().steps()[1].undo_settings().is_none());
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(40));
    assert!(engine.operator("ann").undo(task.id()).because("no").await.is_err());
    engine.shut_down().await.unwrap();
}

/// Pays each of these by a task of its own.
fn orders(pay: &Workflow<u32, u32>, at_a_time: u16, tolerate: u16) -> Workflow<u32, Vec<Option<u32>>> {
    let mut flow = Workflow::<u32>::builder("orders");
    let paid = flow.children("pay", pay, |seen| (0..seen.input).collect());
    let paid = paid.at_a_time(at_a_time).tolerate(tolerate).add();
    let sum = flow.step("sum", &service("sum"), move |cx| async move { cx.results(paid) });
    let sum = sum.after(paid).nothing_to_undo().add();
    flow.returns(sum).unwrap()
}

#[tokio::test(start_paused = true)]
async fn one_for_each_item_and_those_that_are_undone_are_left_out_where_that_is_tolerated() {
    let bank = Bank::default();
    bank.refuses.lock().unwrap().extend([3, 8]);
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let flow = orders(&pay, 4, 2);
    let tolerant = engine("memory:", &flow).await;
    let task = tolerant.submit(&flow, &20).await.unwrap();
    let Outcome::Completed(results) = task.outcome().await.unwrap() else { panic!("two are tolerated") };
    let expected: Vec<_> = (0..20).map(|n| (![3, 8].contains(&n)).then_some(n * 10)).collect();
    assert_eq!(results, expected);
    tolerant.operator("ann").undo(task.id()).because("all of it").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    let refunded = bank.book().iter().filter(|line| line.starts_with("refunded")).count();
    assert_eq!(refunded, 18);
    tolerant.shut_down().await.unwrap();
}

/// The node dies while other tasks are under way, over a file: the next one goes on, and none is asked for twice.
#[tokio::test]
async fn a_crash_in_the_middle_of_other_tasks_asks_for_none_of_them_twice() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("orders.db").display());
    let gate = Arc::new(Semaphore::new(0));
    let bank = Bank { gate: Some(Arc::clone(&gate)), ..Bank::default() };
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let flow = orders(&pay, 7, 0);
    let build = || Engine::builder(&address).settings(hasty()).workflow(&flow);
    let mut task = None;
    for round in 1..=4 {
        let engine = build().start().await.unwrap();
        let id = match task {
            Some(id) => id,
            None => engine.submit(&flow, &50).await.unwrap().id(),
        };
        task = Some(id);
        gate.add_permits(10);
        while bank.charged().len() < 10 * round {
            Clock::tokio().sleep(Duration::from_millis(5)).await;
        }
        engine.shut_down().await.unwrap();
    }
    gate.add_permits(1_000);
    let engine = build().start().await.unwrap();
    let task = engine.task(&flow, task.unwrap()).await.unwrap();
    let expected: Vec<_> = (0..50).map(|n| Some(n * 10)).collect();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(expected));
    assert_eq!(engine.tasks().workflow("pay").await.unwrap().tasks.len(), 50);
    assert!(bank.charged().iter().all(|times| *times == 1), "{:?}", bank.charged());
    let report = engine.verify().await.unwrap();
    assert!(report.is_sound(), "{report}");
    engine.shut_down().await.unwrap();
}

/// `pay` in a version that gives back what its first or its second step gives.
fn versioned(version: u32, second: bool, gate: &Arc<Semaphore>) -> Workflow<u32, u32> {
    let gate = Arc::clone(gate);
    let mut flow = Workflow::<u32>::builder("pay").version(version);
    let first = flow.step("first", &service("bank"), move |_| {
        let gate = Arc::clone(&gate);
        async move {
            gate.acquire().await.unwrap().forget();
            Ok::<_, Failure>(1)
        }
    });
    let first = first.nothing_to_undo().add();
    let last = flow.step("last", &service("bank"), |cx| async move { Ok::<_, Failure>(cx.input * 10) });
    let last = last.after(first).nothing_to_undo().add();
    flow.returns(if second { last } else { first }).unwrap()
}

/// A parent whose program has a newer version by now: what the child gave back is what its own version says.
#[tokio::test]
async fn a_child_of_an_older_version_gives_back_what_that_version_gives() {
    let folder = tempfile::tempdir().unwrap();
    let address = format!("sqlite:{}", folder.path().join("order.db").display());
    let (bank, gate) = (Bank::default(), Arc::new(Semaphore::new(0)));
    let (old, new) = (versioned(1, true, &gate), versioned(2, false, &gate));
    let (before, after) = (order(&bank, &old, OnFailure::Undo), order(&bank, &new, OnFailure::Undo));
    let engine = Engine::builder(&address).settings(hasty()).workflow(&before).start().await.unwrap();
    let task = engine.submit(&before, &4).await.unwrap().id();
    while engine.tasks().parent(task).await.unwrap().tasks.is_empty() {
        Clock::tokio().sleep(Duration::from_millis(5)).await;
    }
    engine.shut_down().await.unwrap();
    gate.add_permits(10);
    let builder = Engine::builder(&address).settings(hasty()).workflow(&after).workflow(&old);
    let engine = builder.start().await.unwrap();
    let task = engine.task(&after, task).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    drop(task);
    engine.shut_down().await.unwrap();
}

/// One of its steps has failed and another still runs: it cannot be undone just then, and is as soon as it can.
#[tokio::test(start_paused = true)]
async fn a_child_that_is_about_to_fail_is_undone_when_it_has() {
    let mut flow = Workflow::<u32>::builder("pay");
    let broken =
        flow.step("broken", &service("bank"), |_| async { Err::<(), _>(Failure::terminal("no", "never")) });
    broken.on_failure(OnFailure::Error).nothing_to_undo().add();
    let slow = flow.step("slow", &service("bank"), |_| async {
        Clock::tokio().sleep(Duration::from_secs(20)).await;
        Ok::<_, Failure>(1)
    });
    let slow = slow.nothing_to_undo().add();
    let pay = flow.returns(slow).unwrap();
    let bank = Bank::default();
    let order = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).await.unwrap();
    Clock::tokio().sleep(Duration::from_secs(5)).await;
    task.cancel("ann", "changed her mind").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    assert_eq!(bank.book(), ["reserved 4", "freed 4"]);
    engine.shut_down().await.unwrap();
}

/// As many tasks are open as may be: what they ask for is a part of them.
#[tokio::test(start_paused = true)]
async fn children_are_not_refused_where_no_more_tasks_may_be_open() {
    let bank = Bank::default();
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let order = order(&bank, &pay, OnFailure::Undo);
    let mut settings = hasty();
    settings.most_open = 1;
    let builder = Engine::builder("memory:").clock(Clock::tokio()).settings(settings).workflow(&order);
    let engine = builder.start().await.unwrap();
    let task = engine.submit(&order, &4).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    engine.shut_down().await.unwrap();
}

/// What a parent goes on from is undone with the parent, and not under it.
#[tokio::test(start_paused = true)]
async fn a_child_that_has_completed_is_undone_by_its_parent_only() {
    let bank = Bank::default();
    let pay = pay(&bank, NO_WAIT, OnFailure::Undo);
    let order = order(&bank, &pay, OnFailure::Undo);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &7).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Completed(_)));
    let (child, ana) = (only(&engine, "pay").await, engine.operator("ana"));
    let refused = ana.undo(child).because("a recall").await.unwrap_err().to_string();
    assert!(
        refused.contains("another task has asked for it and goes on from what it gave: undo that one"),
        "{refused}"
    );
    assert!(!bank.book().iter().any(|line| line.starts_with("refunded")), "{:?}", bank.book());
    ana.undo(task.id()).because("a recall").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    assert!(bank.book().iter().any(|line| line == "refunded 8"), "{:?}", bank.book());
    engine.shut_down().await.unwrap();
}

/// A child whose result an operator has left out gives its parent nothing to go on from: the parent's step fails, and is repaired.
#[tokio::test(start_paused = true)]
async fn what_a_child_gives_has_to_fit_and_can_be_given_by_an_operator() {
    let bank = Bank::default();
    bank.refuses.lock().unwrap().push(5);
    let pay = pay(&bank, NO_WAIT, OnFailure::Error);
    let order = order(&bank, &pay, OnFailure::Error);
    let engine = engine("memory:", &order).await;
    let task = engine.submit(&order, &4).await.unwrap();
    let ana = engine.operator("ana");
    let child = loop {
        if let Some(child) =
            engine.tasks().workflow("pay").state(TaskState::Failed).await.unwrap().tasks.pop()
        {
            break child.id;
        }
        Clock::tokio().sleep(Duration::from_millis(100)).await;
    };
    ana.skip(child, "charge").because("it was paid in cash").await.unwrap();
    let Outcome::Failed(why) = task.outcome().await.unwrap() else { panic!("it did not fail") };
    assert!(why.to_string().contains("what it gave does not fit"), "{why}");
    let refused = ana.skip(task.id(), "pay").output(&50).because("cash").await.unwrap_err().to_string();
    assert!(refused.contains("the task that the step has asked for has not ended"), "{refused}");
    ana.skip(task.id(), "pay").happened().output(&50).because("cash").await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(50));
    engine.shut_down().await.unwrap();
}
