//! Messages that go out of the house [O1, N2].

use super::*;
use crate::{
    Handed, KEYS_KEPT, MAX_KEY, MAX_PAYLOAD, Outbox as _, OutboxId, OutboxKind, Outgoing, Refusal, Sent,
    Settled, UNDELIVERABLE_KEPT,
};

/// How long somebody has for a delivery.
const HOLD: Duration = Duration::from_secs(30);

fn about(task: Option<u128>, words: &str) -> Outgoing {
    Outgoing { task: task.map(id), kind: OutboxKind::Alert, key: None, body: bytes(words), to: None }
}

fn keyed(key: &str, words: &str) -> Outgoing {
    Outgoing { key: Some(Arc::from(key)), ..about(None, words) }
}

async fn send<S: Store>(store: &Tried<'_, S>, message: Outgoing) -> OutboxId {
    let sent = ok(store.0.send(vec![message]).await);
    let [Sent::New(id)] = sent[..] else { panic!("{sent:?}") };
    id
}

async fn hand_out<S: Store>(store: &Tried<'_, S>, most: usize) -> Handed {
    ok(store.0.undelivered(OutboxKind::Alert, most, HOLD).await)
}

/// What is handed out, in words.
async fn due<S: Store>(store: &Tried<'_, S>) -> Vec<String> {
    words(&hand_out(store, 99).await)
}

fn words(handed: &Handed) -> Vec<String> {
    handed.messages.iter().map(|message| String::from_utf8_lossy(&message.body).into_owned()).collect()
}

async fn settle<S: Store>(store: &Tried<'_, S>, id: OutboxId, settled: Settled) {
    ok(store.0.settle(vec![(id, settled)]).await);
}

/// Oldest first, no more than asked for, and nobody else gets them until the time is over.
pub async fn a_message_is_handed_out_to_one_at_a_time<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let none = Handed { messages: vec![], next: None };
    assert_eq!(hand_out(&store, 9).await, none);
    let began = store.now().await;
    let first = send(&store, about(Some(1), "one")).await;
    let second = send(&store, about(None, "two")).await;
    let third = send(&store, about(Some(2), "three")).await;
    assert!(first < second && second < third);
    let handed = hand_out(&store, 2).await;
    assert_eq!(words(&handed), ["one", "two"]);
    let message = &handed.messages[0];
    assert_eq!((message.id, message.at, message.task, message.tries), (first, began, Some(id(1)), 1));
    assert_eq!((message.kind, handed.messages[1].task), (OutboxKind::Alert, None));
    assert_eq!(handed.next, Some(began + HOLD), "they come again, if nobody says what became of them");
    assert_eq!(due(&store).await, ["three"]);
    settle(&store, second, Settled::Delivered).await;
    harness.advance(HOLD - Duration::from_millis(1));
    assert!(due(&store).await.is_empty());
    // Whoever had them has died.
    harness.advance(Duration::from_millis(1));
    let handed = hand_out(&store, 9).await;
    assert_eq!((words(&handed), handed.messages[0].tries), (vec!["one".into(), "three".into()], 2));
    for id in [first, third] {
        settle(&store, id, Settled::Delivered).await;
    }
    harness.advance(HOLD);
    assert_eq!(hand_out(&store, 9).await, none, "what has arrived is gone");
}

/// Each kind has its own order.
pub async fn alerts_and_replies_are_handed_out_apart<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let reply = send(&store, Outgoing { kind: OutboxKind::Reply, ..about(Some(1), "reply") }).await;
    send(&store, about(Some(1), "alert")).await;
    let replies = ok(store.0.undelivered(OutboxKind::Reply, 9, HOLD).await);
    assert_eq!((words(&replies), replies.messages[0].kind), (vec!["reply".into()], OutboxKind::Reply));
    settle(&store, reply, Settled::GivenUp).await;
    assert_eq!(due(&store).await, ["alert"], "a reply that is late holds back no alert");
    assert_eq!(ok(store.0.undeliverable(OutboxKind::Alert, 9).await), []);
    assert_eq!(ok(store.0.undeliverable(OutboxKind::Reply, 9).await), replies.messages);
}

/// N2: what waits to be tried again holds back what came after it for the same task, and nothing else.
pub async fn messages_about_a_task_go_out_in_their_order<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let first = send(&store, about(Some(1), "1a")).await;
    for (task, words) in [(Some(2), "2a"), (Some(1), "1b"), (None, "x"), (Some(1), "1c"), (Some(2), "2b")] {
        send(&store, about(task, words)).await;
    }
    assert_eq!(words(&hand_out(&store, 1).await), ["1a"]);
    assert_eq!(due(&store).await, ["2a", "x", "2b"], "those behind one that is under way are not handed out");
    let later = store.now().await + s(5);
    settle(&store, first, Settled::Again(later)).await;
    harness.advance(s(4));
    let none = hand_out(&store, 9).await;
    assert_eq!((words(&none), none.next), (vec![], Some(later)));
    harness.advance(s(1));
    let handed = hand_out(&store, 2).await;
    assert_eq!(
        (words(&handed), handed.messages[0].tries),
        (vec!["1a".into()], 2),
        "not one behind before it"
    );
    settle(&store, first, Settled::Delivered).await;
    assert_eq!(due(&store).await, ["1b", "1c"]);
}

/// The same news from several nodes are told once, also when the first was delivered before the last came.
pub async fn under_one_key_a_message_is_stored_once<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let told = ok(store.0.send(vec![keyed("a", "first"), keyed("a", "second"), keyed("b", "other")]).await);
    let [Sent::New(first), Sent::Seen(seen), Sent::New(other)] = told[..] else { panic!("{told:?}") };
    assert_eq!(first, seen);
    assert_eq!(due(&store).await, ["first", "other"]);
    settle(&store, first, Settled::Delivered).await;
    harness.advance(KEYS_KEPT - s(1));
    assert_eq!(ok(store.0.send(vec![keyed("a", "late")]).await), [Sent::Seen(first)]);
    // A day later nobody remembers.
    harness.advance(s(1));
    settle(&store, other, Settled::Delivered).await;
    let again = ok(store.0.send(vec![keyed("a", "again"), keyed("b", "late")]).await);
    let [Sent::New(again), Sent::Seen(_)] = again[..] else { panic!("{again:?}") };
    assert!(again > other, "places only grow");
    assert_eq!(due(&store).await, ["again"]);
}

/// O1: what cannot be delivered is not lost silently, and holds back nobody.
pub async fn what_is_given_up_is_kept_and_holds_back_nobody<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let first = send(&store, about(Some(1), "one")).await;
    send(&store, about(Some(1), "two")).await;
    let handed = hand_out(&store, 1).await;
    settle(&store, first, Settled::GivenUp).await;
    // What was said of it stays.
    settle(&store, first, Settled::Again(store.now().await)).await;
    assert_eq!(due(&store).await, ["two"]);
    let kept = ok(store.0.undeliverable(OutboxKind::Alert, 9).await);
    assert_eq!(kept, handed.messages);
    assert!(ok(store.0.undeliverable(OutboxKind::Alert, 0).await).is_empty());
    harness.advance(UNDELIVERABLE_KEPT);
    settle(&store, OutboxId(u64::from(u32::MAX)), Settled::Delivered).await;
    assert!(ok(store.0.undeliverable(OutboxKind::Alert, 9).await).is_empty(), "not for ever");
}

/// There is never a change without its message, nor a message without its change.
pub async fn what_a_write_tells_is_stored_with_it_or_not_at_all<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let telling = |guard, words| Write {
        messages: vec![about(Some(1), words), about(None, "beside")],
        ..Write::of(&Default::default(), id(1), guard)
    };
    let stale = Guard { epoch: 9, ..guard(&stored) };
    assert_eq!(store.write(telling(stale, "refused")).await, Written::Refused(Refusal::Epoch));
    assert!(due(&store).await.is_empty());
    assert_eq!(store.write(telling(guard(&stored), "done")).await, Written::Done(1));
    assert_eq!(due(&store).await, ["done", "beside"]);
    let entries = ok(store.0.history(id(1)).await).len();
    assert_eq!(entries, 1, "what is told is no part of the history");
}

/// The same for a task that ends as it begins.
pub async fn what_a_submission_tells_is_stored_with_it_or_not_at_all<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    let new = |number, words| Submission {
        key: Some(Arc::from("k")),
        messages: vec![about(Some(number), words)],
        ..submission(number, now)
    };
    let told = ok(store.0.submit(vec![new(1, "stored"), new(2, "seen"), new(1, "again")]).await);
    assert_eq!(told, [Submitted::New, Submitted::Seen(id(1)), Submitted::Again]);
    assert_eq!(due(&store).await, ["stored"]);
}

/// Refused as a batch, before anything is done.
pub async fn a_message_that_is_too_large_is_refused<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let large = Outgoing { body: Payload::from(vec![0; MAX_PAYLOAD + 1]), ..about(None, "") };
    let long = keyed(&"k".repeat(MAX_KEY + 1), "long");
    for bad in [large, long] {
        let error = store.0.send(vec![about(None, "small"), bad.clone()]).await.err();
        assert_eq!(error.map(|error| error.kind()), Some(crate::Kind::TooLarge));
        let stored = Write {
            messages: vec![bad],
            ..Write::of(&Default::default(), id(1), Guard { epoch: 0, revision: 0, mail: None })
        };
        let error = store.0.write(vec![stored]).await.err();
        assert_eq!(error.map(|error| error.kind()), Some(crate::Kind::TooLarge));
    }
    assert!(due(&store).await.is_empty());
}
