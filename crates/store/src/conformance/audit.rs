//! What operators ask, and the log of it.

use super::*;
use crate::{Audit, AuditId, AuditLog as _, Hold, Refusal};

fn asked(number: u128, request: u128) -> Message {
    Message { asked: Some(AuditId::from_u128(request)), ..Message::new(id(number), bytes("resume")) }
}

fn entry(request: u128, task: Option<u128>) -> Audit {
    Audit {
        id: AuditId::from_u128(request),
        task: task.map(id),
        by: Arc::from("ana"),
        why: Arc::from("it has to be"),
        action: Arc::from("resume"),
        refused: request.is_multiple_of(2).then(|| Arc::from("it cannot be")),
        detail: bytes("{}"),
    }
}

impl<S: Store> Tried<'_, S> {
    async fn ask(&self, message: Message) -> Posted {
        ok(self.0.post(vec![message]).await).remove(0)
    }

    /// A task at rest, which A has brought there.
    async fn rested(&self, number: u128) -> Stored {
        let mut stored = self.claimed(number).await;
        self.follow(&mut stored, &Event::Cancelled { cause: steadfast_engine::Cause::Deadline }).await;
        stored
    }

    /// The ids of entries, newest first.
    async fn audits(&self, task: Option<u128>, before: Option<u128>, most: usize) -> Vec<u128> {
        let before = before.map(AuditId::from_u128);
        let found = ok(self.0.audits(task.map(id), before, most).await);
        found.into_iter().map(|entry| entry.audit.id.as_u128()).collect()
    }
}

/// Whoever brought it there, it is nobody's: it is claimed for what was asked, once, and rests again.
pub async fn what_an_operator_asks_reaches_a_task_at_rest<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.rested(1).await;
    assert!(store.claim(A, 10).await.is_empty());
    assert!(matches!(store.ask(asked(1, 70)).await, Posted::Done(_)));
    let claimed = store.claim(A, 10).await;
    assert_eq!((claimed.len(), claimed[0].mail.len(), claimed[0].owner_died), (1, 1, false));
    assert!(store.claim(A, 10).await.is_empty() && store.claim(B, 10).await.is_empty(), "A is at it");
    assert_eq!(ok(store.0.owned(A).await), [(id(1), claimed[0].stored.epoch)]);
    // What is asked meanwhile goes to who is at it.
    let Posted::Done(last) = store.ask(asked(1, 71)).await else { panic!("not posted") };
    assert!(store.claim(B, 10).await.is_empty());
    assert_eq!(ok(store.0.unread(A, 10).await).len(), 2);
    let stored = &claimed[0].stored;
    let read = Write { mail_read: Some(last), ..Write::of(&Default::default(), id(1), guard(stored)) };
    assert_eq!(store.write(read).await, Written::Done(stored.revision + 1));
    assert!(ok(store.0.owned(A).await).is_empty() && store.claim(B, 10).await.is_empty());
    assert!(matches!(store.ask(asked(1, 72)).await, Posted::Done(_)));
    assert_eq!(store.claim(B, 10).await.len(), 1, "it is whoever's who comes first");
}

/// One that died over it leaves it to others.
pub async fn what_a_dead_node_was_asked_is_claimed_by_others<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.rested(1).await;
    store.ask(asked(1, 70)).await;
    assert_eq!(store.claim(A, 10).await.len(), 1);
    harness.advance(s(60));
    let claimed = store.claim(B, 10).await;
    assert_eq!((claimed.len(), claimed[0].mail.len()), (1, 1));
}

/// Whether it was acted on or not.
pub async fn under_one_id_it_is_asked_once<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let Posted::Done(mail) = store.ask(asked(1, 70)).await else { panic!("not posted") };
    assert_eq!(store.ask(asked(1, 70)).await, Posted::Again);
    let write = Write::of(&Default::default(), id(1), guard(&stored));
    store.write(Write { mail_read: Some(mail), audits: vec![entry(70, Some(1))], ..write }).await;
    assert_eq!(store.ask(asked(1, 70)).await, Posted::Again);
    ok(store.0.log(vec![entry(80, None), entry(80, None)]).await);
    assert_eq!(store.ask(asked(1, 80)).await, Posted::Again);
    assert_eq!(store.ask(asked(7, 90)).await, Posted::Unknown);
    assert_eq!(ok(store.0.unread(A, 10).await).len(), 0);
}

/// A write that is refused leaves no entry.
pub async fn an_entry_is_stored_with_its_write_or_not_at_all<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let stale = Guard { epoch: stored.epoch + 1, ..guard(&stored) };
    let write =
        |guard| Write { audits: vec![entry(70, Some(1))], ..Write::of(&Default::default(), id(1), guard) };
    assert_eq!(store.write(write(stale)).await, Written::Refused(Refusal::Epoch));
    assert_eq!(ok(store.0.audited(AuditId::from_u128(70)).await), None);
    harness.advance(s(5));
    let now = store.now().await;
    assert_eq!(store.write(Write { hold: Hold::Keep, ..write(guard(&stored)) }).await, Written::Done(1));
    let Some(found) = ok(store.0.audited(AuditId::from_u128(70)).await) else { panic!("it is gone") };
    assert_eq!((found.at, found.audit), (now, entry(70, Some(1))));
}

/// Of one task or of all, in pages.
pub async fn entries_come_newest_first<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let tasks = [(1, Some(1)), (2, None), (3, Some(2)), (4, Some(1)), (5, None)];
    ok(store.0.log(tasks.map(|(request, task)| entry(request, task)).to_vec()).await);
    assert_eq!(store.audits(None, None, 9).await, [5, 4, 3, 2, 1]);
    assert_eq!(store.audits(None, Some(4), 2).await, [3, 2]);
    assert_eq!(store.audits(Some(1), None, 9).await, [4, 1]);
    assert_eq!(store.audits(Some(1), Some(4), 9).await, [1]);
    assert_eq!(store.audits(Some(9), None, 9).await, [0_u128; 0]);
    // By when it was done, whatever its id: those of a bulk are made when it is prepared.
    harness.advance(s(1));
    ok(store.0.log(vec![entry(0, Some(1))]).await);
    assert_eq!(store.audits(None, None, 2).await, [0, 5]);
    assert_eq!(store.audits(None, Some(0), 2).await, [5, 4]);
    assert_eq!(store.audits(Some(1), None, 9).await, [0, 4, 1]);
    assert_eq!(store.audits(Some(1), Some(0), 1).await, [4]);
    let long = Audit { why: Arc::from("x".repeat(crate::MAX_REASON)), ..entry(9, None) };
    let refused = store.0.log(vec![long]).await;
    assert_eq!(refused.map_err(|error| error.kind()), Err(crate::Kind::TooLarge));
}

/// It is about a breaker, a schedule, a workflow: nothing else is stored with it.
pub async fn an_entry_that_is_about_no_task_is_stored_once_and_never_changes<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    harness.advance(s(5));
    let (first, now) = (entry(71, None), store.now().await);
    ok(store.0.log(vec![first.clone()]).await);
    harness.advance(s(5));
    let other = Audit { by: Arc::from("bob"), why: Arc::from(""), ..first.clone() };
    ok(store.0.log(vec![other, entry(73, None)]).await);
    let Some(found) = ok(store.0.audited(AuditId::from_u128(71)).await) else { panic!("it is gone") };
    assert_eq!((found.at, found.audit), (now, first));
    assert_eq!(store.audits(None, None, 9).await, [73, 71]);
    assert_eq!(store.audits(Some(1), None, 9).await, [0_u128; 0], "it is no task's");
    let nameless = Audit { by: Arc::from(""), why: Arc::from(""), ..entry(75, None) };
    ok(store.0.log(vec![nameless.clone()]).await);
    assert_eq!(ok(store.0.audited(nameless.id).await).map(|found| found.audit), Some(nameless));
}
