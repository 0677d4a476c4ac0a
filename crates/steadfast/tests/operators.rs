//! What operators give in the place of a step's values [O2].

#![expect(clippy::unwrap_used, reason = "tests")]

mod common;

use std::collections::BTreeMap;

use common::{hasty, service};
use steadfast::{Code, Engine, Failure, OnFailure, Outcome, TaskId, Workflow};

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
