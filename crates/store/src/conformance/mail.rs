//! Mail.

use super::*;
use crate::{Hold, MailId, Outbox as _, OutboxKind, Outgoing, Refusal};

/// Until a write consumes it, and not after.
pub async fn mail_is_read_in_its_order_and_once<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let posted = [store.post(1, "one").await, store.post(1, "two").await];
    let [Posted::Done(first), Posted::Done(second)] = posted else { panic!("{posted:?}") };
    assert!(first < second);
    let words = |mail: &[crate::Mail]| mail.iter().map(|mail| mail.body.to_vec()).collect::<Vec<_>>();
    let unread = ok(store.0.unread(A, 10).await);
    assert_eq!(words(&unread), [b"one".to_vec(), b"two".to_vec()]);
    assert_eq!(ok(store.0.unread(B, 10).await), [], "it is another's task");
    assert_eq!(ok(store.0.unread(A, 1).await).len(), 1);
    assert_eq!(ok(store.0.unread_of(vec![id(1), id(7)]).await), unread, "all of it, whoever asks");
    let read = Write { mail_read: Some(first), ..Write::of(&Default::default(), id(1), guard(&stored)) };
    assert_eq!(store.write(read).await, Written::Done(1));
    assert_eq!(words(&ok(store.0.unread(A, 10).await)), [b"two".to_vec()]);
    assert_eq!(words(&ok(store.0.unread_of(vec![id(1)]).await)), [b"two".to_vec()]);
}

/// A task that waits for days is claimed for its mail at once, with it.
pub async fn mail_wakes_a_task_that_waits<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let far = store.now().await + s(86_400);
    let release = Write { hold: Hold::Release(far), ..Write::of(&Default::default(), id(1), guard(&stored)) };
    store.write(release).await;
    assert!(store.claim(B, 10).await.is_empty());
    store.post(1, "wake up").await;
    let claimed = store.claim(B, 10).await;
    assert_eq!((claimed.len(), &*claimed[0].mail[0].body), (1, &b"wake up"[..]));
}

/// A write that minds mail is refused if some came after what its writer had seen.
pub async fn mail_that_came_first_wins<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let minding = |seen: MailId, revision: u64| {
        let guard = Guard { mail: Some(seen), revision, ..guard(&stored) };
        Write::of(&Default::default(), id(1), guard)
    };
    assert_eq!(store.write(minding(MailId(0), 0)).await, Written::Done(1));
    let Posted::Done(mail) = store.post(1, "signal").await else { panic!("not posted") };
    assert_eq!(store.write(minding(MailId(0), 1)).await, Written::Refused(Refusal::Mail));
    assert_eq!(store.write(minding(mail, 1)).await, Written::Done(2));
}

/// Refused, and said so.
pub async fn mail_to_nobody_or_to_the_ended_is_refused<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    assert_eq!(store.post(1, "hello").await, Posted::Unknown);
    let mut stored = store.claimed(1).await;
    store.follow(&mut stored, &Event::Cancelled { cause: steadfast_engine::Cause::Deadline }).await;
    assert_eq!(store.post(1, "hello").await, Posted::AtRest);
}

/// What a write tells another task is mail to it: with the write, or not at all.
pub async fn mail_of_a_write_is_posted_with_it_or_not_at_all<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let waiting = store.claimed(2).await;
    let far = store.now().await + s(86_400);
    let release =
        Write { hold: Hold::Release(far), ..Write::of(&Default::default(), id(2), guard(&waiting)) };
    store.write(release).await;
    let to = |task: u128, words: &str| Outgoing {
        task: Some(id(task)),
        kind: OutboxKind::Mail,
        key: None,
        body: Payload::from(words.as_bytes()),
        to: None,
    };
    let write = |epoch: u64, messages| {
        let guard = Guard { epoch, ..guard(&stored) };
        Write { messages, ..Write::of(&Default::default(), id(1), guard) }
    };
    let refused = store.write(write(stored.epoch + 1, vec![to(2, "never")])).await;
    assert_eq!(refused, Written::Refused(Refusal::Epoch));
    assert!(store.claim(B, 10).await.is_empty());
    // One that nobody has is no reason not to write.
    let done = store.write(write(stored.epoch, vec![to(7, "nobody"), to(2, "it is done")])).await;
    assert!(matches!(done, Written::Done(_)), "{done:?}");
    let claimed = store.claim(B, 10).await;
    assert_eq!((claimed.len(), &*claimed[0].mail[0].body), (1, &b"it is done"[..]));
    assert_eq!(ok(store.0.undelivered(OutboxKind::Alert, 10, s(1)).await).messages, [], "nothing goes out");
}
