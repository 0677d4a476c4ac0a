//! Looking for tasks [O2].

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use common::*;
use steadfast_engine::{OnFailure, Step, TaskState};
use steadfast_runtime::{Find, New, Node};
use steadfast_store::{Filter, Memory, Payload, TaskId};

/// The ids that are found, in pages of this size, and that no page is larger.
async fn found(node: &Node<Memory>, find: &Find, most: usize) -> Vec<TaskId> {
    let (mut tasks, mut behind) = (Vec::new(), None);
    loop {
        let page = node.find(find, behind, most).await.unwrap();
        assert!(page.tasks.len() <= most);
        tasks.extend(page.tasks.iter().map(|stored| stored.id));
        behind = page.behind;
        if behind.is_none() {
            return tasks;
        }
    }
}

#[tokio::test(start_paused = true)]
async fn tasks_are_found_by_service_reason_and_text() {
    let bank =
        Step::new("charge", "bank").complete_within(s(10)).after(["reserve"]).on_failure(OnFailure::Error);
    let (order, _) = Flow::new("order")
        .undoable(step("reserve"), service("svc"), always(Act::Succeed), always(Act::Succeed))
        .step(bank.nothing_to_undo(), service("bank"), first(vec![NO, Act::Hang, Act::Succeed]))
        .build();
    let node = node(memory(), &order).await;
    let mut tasks = Vec::new();
    for nth in 0..3 {
        let input = Payload::from(format!("{{\"customer\":\"Noor-{nth}\"}}").into_bytes());
        let key = Some(std::sync::Arc::from(format!("order-{nth}")));
        tasks.push(node.submit(New { key, input, ..new(&order) }).await.unwrap().task);
        sleep(s(1)).await;
    }
    // The first has failed at the bank, the second is at it, the third is done.
    let of = |find: Find| {
        let (node, tasks) = (&node, &tasks);
        async move {
            let ids = found(node, &find, 2).await;
            let place = |id: &TaskId| tasks.iter().position(|task| task == id).unwrap();
            ids.iter().map(place).collect::<Vec<_>>()
        }
    };
    let text = |text: &str| Some(text.to_owned());
    assert_eq!(of(Find::default()).await, [2, 1, 0]);
    assert_eq!(of(Find { service: text("bank"), ..Find::default() }).await, [1, 0]);
    assert_eq!(of(Find { service: text("svc"), ..Find::default() }).await, [0; 0]);
    assert_eq!(of(Find { reason: text("BAD-REQUEST"), ..Find::default() }).await, [0]);
    assert_eq!(of(Find { reason: text("`charge` failed"), ..Find::default() }).await, [0]);
    assert_eq!(of(Find { text: text("order-2"), ..Find::default() }).await, [2]);
    assert_eq!(of(Find { text: text("noor-1"), ..Find::default() }).await, [1], "it is in the input");
    assert_eq!(of(Find { text: Some(tasks[0].to_string()), ..Find::default() }).await, [0]);
    assert_eq!(of(Find { text: text("nobody"), ..Find::default() }).await, [0; 0]);
    let failed = Filter { states: vec![TaskState::Failed], ..Filter::default() };
    let at_the_bank = Find { filter: failed, service: text("bank"), ..Find::default() };
    assert_eq!(of(at_the_bank.clone()).await, [0]);
    assert_eq!(of(Find { reason: text("no such thing"), ..at_the_bank }).await, [0; 0]);
}

#[tokio::test(start_paused = true)]
async fn thousands_are_found_in_pages_each_once() {
    let (flow, _) = Flow::new("many").step(step("a"), service("svc"), always(Act::Succeed)).build();
    let node = node(memory(), &flow).await;
    let mut tasks = submit_many(&node, &flow, 1_500).await;
    for task in &tasks {
        node.at_rest(*task).await.unwrap();
    }
    tasks.sort_by_key(|task| std::cmp::Reverse(task.as_u128()));
    for most in [1, 100, 256, 257, 5_000] {
        assert_eq!(found(&node, &Find::default(), most).await, tasks, "{most}");
    }
}
