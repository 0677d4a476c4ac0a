//! Submitting.

use super::*;
use crate::{Kind, MAX_KEY, MAX_PAYLOAD, PayloadKey};

/// W2: all rows are there before anything runs, and nobody holds them.
pub async fn a_task_is_stored_with_all_of_its_rows<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let new = submission(1, store.now().await);
    let task = new.task.clone();
    ok(store.0.submit(vec![new]).await);
    let stored = store.read(1).await;
    assert_eq!((stored.task, stored.owner, stored.epoch, stored.revision), (task, None, 0, 0));
    assert_eq!((&*stored.workflow, stored.version, stored.key), ("order", 1, None));
    let input = PayloadKey { task: id(1), step: None };
    assert_eq!(ok(store.0.payloads(vec![input]).await), [Some(bytes("an order"))]);
    assert_eq!(ok(store.0.read(vec![id(2)]).await), [None]);
}

fn keyed(number: u128, key: &str, input: &str, now: Time) -> Submission {
    Submission { key: Some(Arc::from(key)), input: bytes(input), ..submission(number, now) }
}

/// W7: a key runs once, and the same key with another input is told.
pub async fn a_key_gives_the_first_task_back<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    // Also within one batch.
    let batch = vec![keyed(1, "k", "x", now), keyed(2, "k", "x", now), keyed(3, "k", "y", now)];
    let expected = [Submitted::New, Submitted::Seen(id(1)), Submitted::OtherInput(id(1))];
    assert_eq!(ok(store.0.submit(batch).await), expected);
    assert_eq!(ok(store.0.submit(vec![keyed(4, "k", "x", now)]).await), [Submitted::Seen(id(1))]);
    assert_eq!(ok(store.0.read(vec![id(2), id(3), id(4)]).await), [None, None, None]);
}

/// Keys of others are no concern.
pub async fn keys_are_of_their_namespace_and_workflow<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    let other_space = Submission { namespace: Arc::from("other"), ..keyed(2, "k", "y", now) };
    let other_workflow = Submission { workflow: Arc::from("refund"), ..keyed(3, "k", "z", now) };
    let batch = vec![keyed(1, "k", "x", now), other_space, other_workflow];
    assert_eq!(ok(store.0.submit(batch).await), [Submitted::New; 3]);
}

/// A submission whose answer was lost is sent again.
pub async fn the_same_submission_again_changes_nothing<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    let again = submission(1, store.now().await);
    assert_eq!(ok(store.0.submit(vec![again]).await), [Submitted::Again]);
    assert_eq!(store.read(1).await.task, stored.task);
}

/// Limits are named, and nothing of such a batch is stored.
pub async fn what_is_too_large_is_refused_as_a_batch<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    let large = Submission { input: Payload::from(vec![0; MAX_PAYLOAD + 1]), ..submission(2, now) };
    let long = Submission { key: Some(Arc::from("k".repeat(MAX_KEY + 1))), ..submission(2, now) };
    for bad in [large, long] {
        let error =
            store.0.submit(vec![submission(1, now), bad]).await.map(|_| ()).map_err(|error| error.kind());
        assert_eq!(error, Err(Kind::TooLarge));
    }
    assert_eq!(ok(store.0.read(vec![id(1), id(2)]).await), [None, None]);
    let just = Submission {
        input: Payload::from(vec![0; MAX_PAYLOAD]),
        key: Some(Arc::from("k".repeat(MAX_KEY))),
        ..submission(3, now)
    };
    assert_eq!(ok(store.0.submit(vec![just]).await), [Submitted::New]);
}
