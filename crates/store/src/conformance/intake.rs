//! Submissions that others have handed in.

use super::*;
use crate::{Arrival, ArrivalId, Intake as _, SubmissionMore};

/// As another program hands it in.
fn arrival(number: u128, input: &str) -> Arrival {
    Arrival {
        id: ArrivalId(0),
        task: Ok(Some(id(number))),
        namespace: Arc::from("shop"),
        workflow: Arc::from("order"),
        version: Some(1),
        key: None,
        priority: -3,
        input: bytes(input),
        start_at: None,
        reply_to: Some(Arc::from("queue:orders")),
        correlation: Some(Arc::from("order-7")),
    }
}

fn taking(number: u128, arrival: &Arrival, now: Time) -> Submission {
    let more = SubmissionMore { arrival: Some(arrival.id), ..SubmissionMore::default() };
    let (key, input) = (arrival.key.clone(), arrival.input.clone());
    Submission { key, input, more: Some(Box::new(more)), ..submission(number, now) }
}

async fn arrivals<S: Store>(store: &Tried<'_, S>) -> Vec<Arrival> {
    ok(store.0.arrivals(None, 99).await)
}

/// What was handed in is read as it was, in its order, and seen by the version.
pub async fn what_is_handed_in_is_found_in_its_order<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    assert!(arrivals(&store).await.is_empty());
    let before = ok(store.0.version().await);
    assert_eq!(ok(store.0.version().await), before, "nobody has written");
    harness.hand_in(arrival(1, "one"));
    assert_ne!(ok(store.0.version().await), before);
    let later = Some(store.now().await + s(9));
    harness.hand_in(Arrival {
        task: Ok(None),
        key: Some(Arc::from("k")),
        start_at: later,
        version: None,
        ..arrival(2, "two")
    });
    let found = arrivals(&store).await;
    assert_eq!(found[0], Arrival { id: found[0].id, ..arrival(1, "one") });
    assert_eq!((&found[1].task, found[1].start_at, found[1].version), (&Ok(None), later, None));
    assert!(found[0].id < found[1].id);
    assert_eq!(ok(store.0.arrivals(Some(found[0].id), 9).await), found[1..]);
    assert_eq!(ok(store.0.arrivals(None, 1).await), found[..1]);
}

/// The task is there and the row is gone: in one write, and once.
pub async fn what_is_handed_in_becomes_one_task<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    harness.hand_in(arrival(1, "one"));
    let (found, now) = (arrivals(&store).await, store.now().await);
    assert_eq!(ok(store.0.submit(vec![taking(1, &found[0], now)]).await), [Submitted::New]);
    assert!(arrivals(&store).await.is_empty());
    // Another node comes late with the same, under another id.
    assert_eq!(ok(store.0.submit(vec![taking(2, &found[0], now)]).await), [Submitted::Gone]);
    assert_eq!(ok(store.0.read(vec![id(2)]).await), [None]);
}

/// W7: a key that was seen leaves nothing to do; with another input it stays, until somebody has said no to it.
pub async fn what_is_handed_in_under_a_key_that_was_seen_is_told_apart<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    for (number, input) in [(1, "one"), (2, "one"), (3, "other"), (1, "one")] {
        harness.hand_in(Arrival { key: Some(Arc::from("k")), ..arrival(number, input) });
        if number == 1 && !arrivals(&store).await.is_empty() {
            let found = arrivals(&store).await;
            ok(store.0.submit(vec![taking(1, &found[found.len() - 1], now)]).await);
        }
    }
    let found = arrivals(&store).await;
    let inputs: Vec<_> = found.iter().map(|one| one.input.clone()).collect();
    assert_eq!(inputs, [bytes("one"), bytes("other")], "the same of the same id is the same task");
    let told = ok(store.0.submit(vec![taking(2, &found[0], now), taking(3, &found[1], now)]).await);
    assert_eq!(told, [Submitted::Seen(id(1)), Submitted::OtherInput(id(1))]);
    assert_eq!(arrivals(&store).await, found[1..]);
    // The id of another task is no better than its key.
    harness.hand_in(arrival(1, "quite other"));
    let found = arrivals(&store).await;
    let told = ok(store.0.submit(vec![taking(1, &found[1], now)]).await);
    assert_eq!((told, arrivals(&store).await.len()), (vec![Submitted::OtherInput(id(1))], 2));
    let refused =
        Submission { task: Task::not_taken(Arc::from("no")), key: None, ..taking(9, &found[1], now) };
    assert_eq!(ok(store.0.submit(vec![refused]).await), [Submitted::New]);
    assert_eq!(arrivals(&store).await.len(), 1);
    let refused = store.read(9).await;
    assert_eq!(refused.task, Task::not_taken(Arc::from("no")), "it rests with the reason");
    assert!(store.claim(A, 9).await.iter().all(|claimed| claimed.stored.id != id(9)));
}
