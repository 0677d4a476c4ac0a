//! What operators see, and what they give in the place of a step's values [O2].

use std::collections::BTreeMap;
use std::time::Duration;

use crate::common::{hasty, service};
use steadfast::{AuditId, Code, Engine, Failure, OnFailure, Outcome, TaskId, TaskState, Workflow};

/// A price that is asked for, items, and an approval; each fails for an operator.
fn order() -> Workflow<BTreeMap<String, u32>, u32> {
    let mut flow = Workflow::<BTreeMap<String, u32>>::builder("order");
    let price = flow
        .step("price", &service("shop"), |cx| async move {
            cx.input.get("price").copied().ok_or_else(|| Failure::terminal("no-price", "it has no price"))
        })
        .on_failure(OnFailure::Error)
        .nothing_to_undo()
        .add();
    let items = flow
        .each(
            "items",
            &service("shop"),
            |_| vec![1_u8, 2],
            |_, item| async move { Err::<u32, _>(Failure::terminal("sold-out", format!("no {item}"))) },
        )
        .after(price)
        .on_failure(OnFailure::Error)
        .nothing_to_undo()
        .add();
    let approved = flow.signal::<bool>("approved").after(items).add();
    let total = flow
        .step("total", &service("shop"), move |cx| async move {
            let items: u32 = cx.results(items)?.into_iter().flatten().sum();
            Ok::<_, Failure>(cx.output(price)? + items + u32::from(cx.output(approved)?))
        })
        .after(approved)
        .nothing_to_undo()
        .add();
    flow.returns(total).unwrap()
}

async fn failed(engine: &Engine, order: &Workflow<BTreeMap<String, u32>, u32>) -> TaskId {
    let task = engine.submit(order, &BTreeMap::new()).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Failed(_)));
    task.id()
}

/// Nothing is changed by a value that no step could read: who gave it is told, and gives another.
#[tokio::test]
async fn what_does_not_fit_the_type_is_refused_before_it_does_harm() {
    let order = order();
    let engine = Engine::builder("memory:").workflow(&order).settings(hasty()).start().await.unwrap();
    let ana = engine.operator("ana");
    let id = failed(&engine, &order).await;
    let refused = |error: steadfast::Error, words: &str| {
        assert_eq!(error.code(), Code::Refused);
        assert!(error.to_string().contains(words), "{error}");
    };
    let words = "what was given as the output of `price` does not fit its type";
    refused(ana.skip(id, "price").output("dear").because("by hand").await.unwrap_err(), words);
    let words = "what was given as the input of `price` does not fit its type";
    refused(ana.retry(id, "price").input(&7).because("another").await.unwrap_err(), words);
    assert!(ana.audits(Some(id), None, 9).await.unwrap().is_empty(), "nothing was asked of the task");
    let input = BTreeMap::from([("price", 40)]);
    ana.retry(id, "price").input(&input).did_not_happen().because("it is 40").await.unwrap();
    let task = engine.task(&order, id).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Failed(_)));
    let words = "what was given as the output of `items` does not fit its type";
    refused(ana.skip(id, "items").output(&[Some("x")]).because("by hand").await.unwrap_err(), words);
    ana.skip(id, "items").output(&[Some(1), None]).because("one is there").await.unwrap();
    let words = "what was given as the output of `approved` does not fit its type";
    refused(ana.skip(id, "approved").output(&3).because("by hand").await.unwrap_err(), words);
    ana.skip(id, "approved").output(&true).because("by telephone").await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(42));
    engine.shut_down().await.unwrap();
}

/// An operator who has only an id sees what there is to repair.
#[tokio::test]
async fn an_operator_sees_what_a_task_was_given_and_what_its_steps_gave() {
    let order = order();
    let engine = Engine::builder("memory:").workflow(&order).settings(hasty()).start().await.unwrap();
    let ana = engine.operator("ana");
    let task = engine.submit(&order, &BTreeMap::from([("price".to_owned(), 40)])).await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Failed(_)));
    let id = task.id();
    assert_eq!(ana.input(id).await.unwrap(), serde_json::json!({ "price": 40 }));
    assert_eq!(ana.output(id, "price").await.unwrap(), Some(40.into()));
    assert_eq!(ana.output(id, "total").await.unwrap(), None);
    assert_eq!(ana.output(id, "nothing").await.unwrap_err().code(), Code::Refused);
    assert!(ana.task(id).await.unwrap().why().await.unwrap().to_string().contains("sold-out"));
    ana.skip(id, "items").output(&[Some(1), None]).because("one is there").await.unwrap();
    ana.skip(id, "approved").output(&true).because("by telephone").await.unwrap();
    assert_eq!(ana.task(id).await.unwrap().outcome().await.unwrap(), Outcome::Completed(42.into()));
    assert_eq!(ana.task(TaskId::from_u128(1)).await.unwrap_err().code(), Code::UnknownTask);
    engine.shut_down().await.unwrap();
}

/// Under an id of their own they are told when that was another's.
#[tokio::test]
async fn an_id_is_for_one_thing_only() {
    let order = order();
    let engine = Engine::builder("memory:").workflow(&order).settings(hasty()).start().await.unwrap();
    let ana = engine.operator("ana");
    let (one, two) = (failed(&engine, &order).await, failed(&engine, &order).await);
    let id = AuditId::from_u128(77);
    ana.label(one, "team", "shop").under(id).because("mine").await.unwrap();
    ana.label(one, "team", "shop").under(id).because("mine").await.unwrap();
    for asked in
        [ana.resume(one).under(id).because("x"), ana.label(two, "team", "shop").under(id).because("x")]
    {
        let refused = asked.await.unwrap_err();
        assert_eq!(refused.code(), Code::Refused);
        assert!(refused.to_string().contains("was used before, for `label` of task"), "{refused}");
    }
    assert_eq!(ana.audits(None, None, 9).await.unwrap().len(), 1);
    engine.shut_down().await.unwrap();
}

/// What cannot be read later is refused: an output for a step that has none, and none for an undo that reads it.
#[tokio::test(start_paused = true)]
async fn a_wait_is_skipped_with_nothing_and_a_step_that_happened_with_what_its_undo_reads() {
    let mut flow = Workflow::<u32>::builder("trip");
    let nap = flow.wait_for("nap", Duration::from_secs(3_600)).add();
    let book = flow
        .step("book", &service("hotel"), move |cx| async move {
            cx.output(nap)?;
            Err::<u32, _>(Failure::terminal("full", "no room"))
        })
        .after(nap)
        .on_failure(OnFailure::Error)
        .undo_with_output(|_, room: u32| async move {
            assert_eq!(room, 12);
            Ok::<_, Failure>(())
        })
        .add();
    let trip = flow.returns(book).unwrap();
    let engine = Engine::builder("memory:")
        .workflow(&trip)
        .settings(hasty())
        .clock(steadfast::resilience::clock::Clock::tokio())
        .start()
        .await
        .unwrap();
    let ana = engine.operator("ana");
    let task = engine.submit(&trip, &1).await.unwrap();
    let refused = ana.skip(task.id(), "nap").output(&5).because("now").await.unwrap_err().to_string();
    assert!(refused.contains("the output of `nap` does not fit its type"), "{refused}");
    ana.skip(task.id(), "nap").happened().because("now").await.unwrap();
    let Outcome::Failed(why) = task.outcome().await.unwrap() else { panic!("it did not fail") };
    assert!(why.to_string().contains("no room"), "it has read what it waited for: {why}");
    let refused =
        ana.skip(task.id(), "book").happened().because("by telephone").await.unwrap_err().to_string();
    assert!(refused.contains("the undo of `book` reads its output: say what it gave"), "{refused}");
    ana.skip(task.id(), "book").happened().output(&12).because("by telephone").await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(12));
    ana.undo(task.id()).because("not needed").await.unwrap();
    assert!(matches!(task.outcome().await.unwrap(), Outcome::Undone(_)));
    engine.shut_down().await.unwrap();
}

/// Who wants to try ten first has ten.
#[tokio::test]
async fn a_bulk_and_an_export_have_no_more_than_was_said() {
    let order = order();
    let engine = Engine::builder("memory:").workflow(&order).settings(hasty()).start().await.unwrap();
    for _ in 0..12 {
        failed(&engine, &order).await;
    }
    let ana = engine.operator("ana");
    let some = || engine.tasks().state(TaskState::Failed).most(5);
    let bulk = ana.bulk(some()).undo().because("five first").await.unwrap();
    let status = bulk.status().await.unwrap();
    assert_eq!((status.tasks, &*status.record.looked_for), (5, "state: failed; at most: 5"));
    let newest: Vec<_> = some().await.unwrap().tasks.into_iter().map(|task| task.id).collect();
    assert_eq!(bulk.tasks(0, 99).await.unwrap(), newest);
    assert_eq!(engine.export(Vec::new(), some()).await.unwrap(), 5);
    assert_eq!(engine.export(Vec::new(), engine.tasks()).await.unwrap(), 12);
    engine.shut_down().await.unwrap();
}

/// O3: whoever asked has gone away in the middle, and the log says so.
#[tokio::test]
async fn what_was_cut_off_while_it_was_done_is_said_to_be() {
    let engine = Engine::builder("memory:").settings(hasty()).start().await.unwrap();
    let ana = engine.operator("ana");
    let log = async || ana.audits(None, None, 10).await.unwrap();
    let deed = ana.deed("breaker open", "service bank", "it is being repaired");
    let (begun, has_begun) = tokio::sync::oneshot::channel();
    let act = async {
        begun.send(()).unwrap();
        std::future::pending::<Result<(), steadfast::Error>>().await
    };
    tokio::select! {
        _ = ana.does(deed, act) => unreachable!("it never ends"),
        begun = has_begun => begun.unwrap(),
    }
    while log().await.len() < 2 {
        tokio::task::yield_now().await;
    }
    let told: Vec<_> = log().await.into_iter().map(|entry| entry.audit).collect();
    assert_eq!(told.iter().map(|audit| &*audit.action).collect::<Vec<_>>(), ["breaker open"; 2]);
    assert!(told[0].refused.as_deref().is_some_and(|why| why.contains("nobody knows")), "{told:?}");
    assert_eq!(told[1].refused, None);
}
