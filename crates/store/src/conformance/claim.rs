//! Claiming.

use steadfast_engine::{Cause, TaskState};

use super::*;
use crate::Hold;

fn numbers(claimed: &[Claimed]) -> Vec<u128> {
    claimed.iter().map(|claimed| claimed.stored.id.as_u128()).collect()
}

/// W3: two nodes never hold the same task.
pub async fn what_is_free_is_claimed_once<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.submit(&[1, 2, 3]).await;
    let of_a = store.claim(A, 2).await;
    let of_b = store.claim(B, 10).await;
    let mut all = [numbers(&of_a), numbers(&of_b)].concat();
    all.sort_unstable();
    assert_eq!((of_a.len(), all), (2, vec![1, 2, 3]));
    assert!(store.claim(A, 10).await.is_empty() && store.claim(B, 10).await.is_empty());
    assert!(of_a.iter().all(|claimed| claimed.stored.owner == Some(A) && !claimed.owner_died));
}

/// By exactly one, whoever claims; submitting for an owner is the first claim.
pub async fn each_claim_raises_the_epoch<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    assert_eq!(stored.epoch, 1);
    for epoch in 2..5 {
        let now = store.now().await;
        let release =
            Write { hold: Hold::Release(now), ..Write::of(&Default::default(), stored.id, guard(&stored)) };
        assert_eq!(store.write(release).await, Written::Done(stored.revision + 1));
        stored = store.claim(B, 1).await.remove(0).stored;
        assert_eq!((stored.epoch, stored.owner), (epoch, Some(B)));
    }
    let now = store.now().await;
    let own = Submission { owner: Some(A), ..submission(9, now) };
    ok(store.0.submit(vec![own]).await);
    let stored = store.read(9).await;
    assert_eq!((stored.epoch, stored.owner), (1, Some(A)));
    assert!(store.claim(A, 10).await.is_empty(), "it is held already");
}

/// A batch has its limit, and nobody starves.
pub async fn no_more_than_asked_for_and_longest_waiting_first<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    for number in [3, 1, 2] {
        store.submit(&[number]).await;
        harness.advance(s(1));
    }
    assert_eq!(numbers(&store.claim(A, 2).await), [3, 1]);
    assert_eq!(numbers(&store.claim(A, 2).await), [2]);
    assert!(store.claim(A, 0).await.is_empty());
}

/// A task that waits costs nothing until its time.
pub async fn what_waits_is_left_alone_until_its_time<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let until = store.now().await + s(5);
    let release =
        Write { hold: Hold::Release(until), ..Write::of(&Default::default(), stored.id, guard(&stored)) };
    store.write(release).await;
    harness.advance(s(4));
    assert!(store.claim(B, 10).await.is_empty());
    harness.advance(s(1));
    assert_eq!(numbers(&store.claim(B, 10).await), [1]);
}

/// Ended tasks stay where they are.
pub async fn what_is_at_rest_is_never_claimed<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    let cause = Cause::Deadline;
    store.follow(&mut stored, &Event::Cancelled { cause }).await;
    assert!(stored.task.state().is_at_rest());
    ok(store.0.leave(A).await);
    harness.advance(s(3600));
    assert!(store.claim(B, 10).await.is_empty());
}

/// W5: and the next owner is told.
pub async fn the_tasks_of_a_dead_node_are_free<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    harness.advance(s(29));
    assert!(store.claim(B, 10).await.is_empty(), "its lease has not ended");
    harness.advance(s(1));
    let claimed = store.claim(B, 10).await;
    assert_eq!((numbers(&claimed), claimed[0].owner_died), (vec![1], true));
    assert_eq!((claimed[0].stored.epoch, &claimed[0].stored.task), (2, &stored.task));
}

/// A clock that jumps ends the lease of a node that lives and works: its tasks are free for others, not for itself.
pub async fn a_node_does_not_rob_itself<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    harness.advance(s(3600));
    assert_eq!(ok(store.0.claim(A, 10).await), [], "its lease has ended, and it does not know");
    assert_eq!(
        (store.read(1).await, ok(store.0.owned(A).await)),
        (stored.clone(), vec![(id(1), stored.epoch)])
    );
    store.follow(&mut stored, &Event::Claimed).await;
    assert_eq!(numbers(&store.claim(B, 10).await), [1]);
}

/// For one that did not hear what became of its claim.
pub async fn a_node_can_ask_what_it_owns<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    assert_eq!((ok(store.0.owned(A).await), ok(store.0.open_tasks().await)), (vec![], 0));
    store.submit(&[1, 2, 3]).await;
    assert_eq!(store.claim(A, 2).await.len(), 2);
    assert_eq!(store.claim(B, 2).await.len(), 1);
    let ids = |owned: Vec<(TaskId, u64)>| owned.into_iter().map(|(task, _)| task).collect::<Vec<_>>();
    let owned = (ids(ok(store.0.owned(A).await)), ids(ok(store.0.owned(B).await)));
    assert_eq!(owned, (vec![id(1), id(2)], vec![id(3)]));
    let mut first = store.read(1).await;
    let cause = Cause::Cancelled { by: Arc::from("ann"), why: Arc::from("a test") };
    store.follow(&mut first, &Event::Cancelled { cause }).await;
    assert_eq!(first.task.state(), TaskState::Undone);
    assert_eq!((ids(ok(store.0.owned(A).await)), ok(store.0.open_tasks().await)), (vec![id(2)], 2));
}
