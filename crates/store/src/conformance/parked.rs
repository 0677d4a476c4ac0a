//! Tasks that wait for a service.

use steadfast_engine::Cause;

use super::*;
use crate::{Hold, Refusal};

fn numbers(claimed: &[Claimed]) -> Vec<u128> {
    claimed.iter().map(|claimed| claimed.stored.id.as_u128()).collect()
}

/// A write that lets go of a task until then, since it waits for a service.
fn park(stored: &Stored, service: &str, until: Time) -> Write {
    let write = Write::of(&Default::default(), stored.id, guard(stored));
    Write { hold: Hold::Release(until), parked_on: Some(Arc::from(service)), ..write }
}

/// Submits tasks with these deadlines, and parks all of them.
async fn parked<S: Store>(store: &Tried<'_, S>, service: &str, tasks: &[(u128, Option<u64>)]) -> Vec<Stored> {
    parked_with(store, service, 0, tasks).await
}

async fn parked_with<S: Store>(
    store: &Tried<'_, S>,
    service: &str,
    priority: i8,
    tasks: &[(u128, Option<u64>)],
) -> Vec<Stored> {
    let now = store.now().await;
    for (number, deadline) in tasks {
        let new = Submission { priority, ..submission(*number, now) };
        let head = Head { deadline: deadline.map(|time| now + s(time)), ..new.task.head().clone() };
        let task = Task::from_rows(head, new.task.steps().to_vec(), []);
        ok(store.0.submit(vec![Submission { task, owner: Some(A), ..new }]).await);
        let stored = store.read(*number).await;
        assert!(matches!(store.write(park(&stored, service, now + s(3_600))).await, Written::Done(_)));
    }
    let mut read = Vec::new();
    for (number, _) in tasks {
        read.push(store.read(*number).await);
    }
    read
}

async fn claim<S: Store>(store: &Tried<'_, S>, node: NodeId, service: &str, most: usize) -> Vec<Claimed> {
    claim_from(store, node, service, Time::from_millis(0), most).await
}

async fn claim_from<S: Store>(
    store: &Tried<'_, S>,
    node: NodeId,
    service: &str,
    from: Time,
    most: usize,
) -> Vec<Claimed> {
    ok(store.0.renew(node, s(30)).await);
    ok(store.0.claim_parked(node, Arc::from(service), from, most).await)
}

async fn counts<S: Store>(store: &Tried<'_, S>) -> Vec<(String, u64)> {
    ok(store.0.parked().await).into_iter().map(|(service, count)| (service.to_string(), count)).collect()
}

/// B17: nearest deadline first; without one last, oldest first; each service for itself.
pub async fn what_is_parked_is_claimed_nearest_deadline_first<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored =
        parked(&store, "a", &[(1, None), (2, Some(90)), (3, Some(30)), (4, None), (5, Some(60))]).await;
    parked(&store, "b", &[(6, Some(1))]).await;
    assert!(stored.iter().all(|stored| stored.parked_on.as_deref() == Some("a") && stored.owner.is_none()));
    assert_eq!(counts(&store).await, [("a".to_owned(), 5), ("b".to_owned(), 1)]);
    assert!(store.claim(B, 10).await.is_empty(), "nothing is due");
    let first = claim(&store, B, "a", 2).await;
    assert_eq!(numbers(&first), [3, 5]);
    for claimed in &first {
        let Stored { owner, epoch, parked_on, .. } = &claimed.stored;
        assert_eq!((*owner, *epoch, parked_on, claimed.owner_died), (Some(B), 2, &None, false));
        assert_eq!(store.read(claimed.stored.id.as_u128()).await, claimed.stored);
    }
    assert_eq!(counts(&store).await, [("a".to_owned(), 3), ("b".to_owned(), 1)]);
    assert!(claim(&store, A, "c", 9).await.is_empty() && claim(&store, A, "a", 0).await.is_empty());
    assert_eq!(numbers(&claim(&store, A, "a", 9).await), [2, 1, 4]);
    assert_eq!(counts(&store).await, [("b".to_owned(), 1)]);
}

/// W8: a higher priority goes before a nearer deadline. Those whose deadline is too near can be left alone.
pub async fn what_is_parked_is_claimed_highest_priority_first<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    parked_with(&store, "a", -128, &[(1, Some(10))]).await;
    parked_with(&store, "a", 0, &[(2, Some(20)), (3, None)]).await;
    let high = parked_with(&store, "a", 127, &[(4, None), (5, Some(90)), (6, Some(30))]).await;
    assert!(high.iter().all(|stored| stored.priority == 127));
    let now = store.now().await;
    assert_eq!(numbers(&claim_from(&store, A, "a", now + s(31), 2).await), [5, 4]);
    assert_eq!(numbers(&claim_from(&store, A, "a", now + s(11), 9).await), [6, 2, 3]);
    assert_eq!(numbers(&claim(&store, A, "a", 9).await), [1]);
}

/// What parks a task is guarded as any write is, and so is what whoever parked it does later.
pub async fn who_parked_a_task_has_it_no_more<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = parked(&store, "a", &[(1, None)]).await.remove(0);
    assert_eq!(numbers(&claim(&store, B, "a", 1).await), [1]);
    assert_eq!(store.write(park(&stored, "b", stored.wake_at)).await, Written::Refused(Refusal::Epoch));
    assert!(counts(&store).await.is_empty());
}

/// Mail and time end the wait as any other: a deadline is kept, and an operator heard.
pub async fn what_is_parked_wakes_for_mail_and_at_its_time<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    parked(&store, "a", &[(1, None), (2, None)]).await;
    assert!(matches!(store.post(2, "cancel").await, Posted::Done(_)));
    assert_eq!(numbers(&store.claim(B, 10).await), [2]);
    assert_eq!(counts(&store).await, [("a".to_owned(), 1)]);
    harness.advance(s(3_600));
    assert_eq!(numbers(&store.claim(B, 10).await), [1]);
    assert!(counts(&store).await.is_empty() && claim(&store, B, "a", 9).await.is_empty());
}

/// A task that somebody else has brought to rest, or taken, is parked no more.
pub async fn what_is_recovered_or_at_rest_is_not_parked<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = parked(&store, "a", &[(1, None), (2, None)]).await;
    let taken = Write { hold: Hold::Take, ..Write::of(&Default::default(), id(1), guard(&stored[0])) };
    assert!(matches!(store.write(taken).await, Written::Done(_)));
    let cause = Cause::Cancelled { by: Arc::from("me"), why: Arc::from("test") };
    let plan = decide(&workflow(), &stored[1].task, &Event::Cancelled { cause }, store.now().await);
    assert!(plan.head().is_some_and(|head| head.state.is_at_rest()), "nothing had begun");
    assert!(matches!(store.write(Write::of(&plan, id(2), guard(&stored[1]))).await, Written::Done(_)));
    assert!(counts(&store).await.is_empty() && claim(&store, B, "a", 9).await.is_empty());
}
