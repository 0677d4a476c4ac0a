//! Replies to those who submitted [N1, N2].

use super::*;
use crate::{
    Addressed, HandedReplies, OutboxKind, Outgoing, Refusal, Replies as _, ReplyId, ReplyPlace, ReplyQueue,
    Settled, SubmissionMore,
};

/// How long somebody has for a reply.
const HOLD: Duration = Duration::from_secs(30);
const QUEUE: &str = "queue:orders";

fn to(address: &str, task: u128, number: u64) -> Outgoing {
    let addressed = Addressed { address: Arc::from(address), number, brings: None, unless: None };
    let body = bytes(&format!("{task}.{number}"));
    let to = Some(Box::new(addressed));
    Outgoing { task: Some(id(task)), kind: OutboxKind::Reply, key: None, body, to }
}

fn reply(task: u128, number: u64) -> Outgoing {
    to(QUEUE, task, number)
}

/// News that the next ones make worthless; left out where so many wait.
fn passing(task: u128, number: u64, unless: u64) -> Outgoing {
    let mut message = reply(task, number);
    message.to.iter_mut().for_each(|to| to.unless = Some(unless));
    message
}

fn reply_id(task: u128, number: u64) -> ReplyId {
    ReplyId { task: id(task), number }
}

fn replying(number: u128, now: Time, most: u64) -> Submission {
    let reply = ReplyPlace { address: Arc::from(QUEUE), kept: bytes("to whom"), most };
    let more = SubmissionMore { reply: Some(reply), ..SubmissionMore::default() };
    let messages = vec![reply_of(number)];
    Submission { messages, more: Some(Box::new(more)), ..submission(number, now) }
}

fn reply_of(number: u128) -> Outgoing {
    reply(number, 1)
}

/// Tells of a task, in a write of it.
async fn tell<S: Store>(store: &Tried<'_, S>, number: u128, messages: Vec<Outgoing>) {
    let stored = store.read(number).await;
    let write = Write { messages, ..Write::of(&Default::default(), id(number), guard(&stored)) };
    assert!(matches!(store.write(write).await, Written::Done(_)));
}

async fn take<S: Store>(store: &Tried<'_, S>, most: usize) -> HandedReplies {
    ok(store.0.take_replies(Arc::from(QUEUE), most, HOLD).await)
}

async fn due<S: Store>(store: &Tried<'_, S>) -> Vec<String> {
    words(&take(store, 99).await)
}

fn words(handed: &HandedReplies) -> Vec<String> {
    handed.replies.iter().map(|reply| String::from_utf8_lossy(&reply.body).into_owned()).collect()
}

async fn ack<S: Store>(store: &Tried<'_, S>, ids: &[(u128, u64)]) -> usize {
    let settled = ids.iter().map(|(task, number)| (reply_id(*task, *number), Settled::Delivered)).collect();
    ok(store.0.settle_replies(settled).await)
}

async fn waiting<S: Store>(store: &Tried<'_, S>) -> u64 {
    let queues = ok(store.0.reply_queues().await);
    queues.iter().find(|queue| &*queue.address == QUEUE).map_or(0, |queue| queue.waiting)
}

/// N2: never the second of a task while the first is not acknowledged, and others are not held back by it.
pub async fn of_a_task_one_reply_at_a_time_is_handed_out<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.submit(&[1, 2]).await;
    let began = store.now().await;
    assert_eq!(take(&store, 9).await, HandedReplies::default());
    tell(&store, 1, vec![reply(1, 1), reply(1, 2)]).await;
    tell(&store, 2, vec![reply(2, 1)]).await;
    tell(&store, 1, vec![reply(1, 3), to("queue:other", 9, 1)]).await;
    assert_eq!(waiting(&store).await, 4);
    let handed = take(&store, 9).await;
    assert_eq!(words(&handed), ["1.1", "2.1"]);
    let first = &handed.replies[0];
    assert_eq!((first.id, first.at, first.tries, &first.brings), (reply_id(1, 1), began, 1, &None));
    assert_eq!(handed.next, Some(began + HOLD));
    assert!(due(&store).await.is_empty(), "they are somebody's for a while");
    assert_eq!(ack(&store, &[(1, 2), (1, 3)]).await, 0, "nobody has had them");
    assert_eq!(ack(&store, &[(1, 1)]).await, 1);
    assert_eq!(due(&store).await, ["1.2"]);
    assert_eq!(ack(&store, &[(1, 1), (1, 2)]).await, 1, "acknowledged twice is once");
    // Whoever had 2.1 has died.
    harness.advance(HOLD);
    let again = take(&store, 9).await;
    let told: Vec<_> = again.replies.iter().map(|reply| (reply.id, reply.tries)).collect();
    assert_eq!(told, [(reply_id(1, 3), 1), (reply_id(2, 1), 2)]);
    assert_eq!(ack(&store, &[(1, 3), (2, 1)]).await, 2);
    let other = ReplyQueue { address: Arc::from("queue:other"), waiting: 1 };
    assert_eq!(ok(store.0.reply_queues().await), [other]);
}

/// Who cannot take one now says when; what is behind it waits too.
pub async fn a_reply_that_is_to_come_again_keeps_its_place<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.submit(&[1]).await;
    tell(&store, 1, vec![reply(1, 1), reply(1, 2)]).await;
    let again = [(reply_id(1, 1), Settled::Again(store.now().await + s(5)))];
    assert_eq!(ok(store.0.settle_replies(again.to_vec()).await), 0, "nobody has had it");
    assert_eq!(due(&store).await, ["1.1"]);
    assert_eq!(ok(store.0.settle_replies(again.to_vec()).await), 1);
    let none = take(&store, 9).await;
    assert_eq!((words(&none), none.next), (vec![], Some(store.now().await + s(5))));
    harness.advance(s(5));
    assert_eq!(due(&store).await, ["1.1"]);
}

/// A reply belongs to its write: with it, or not at all. What it brings is as that write leaves it.
pub async fn a_reply_is_stored_with_its_write_and_what_that_has_stored<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let bringing = |guard| {
        let mut message = reply(1, 1);
        message.to.iter_mut().for_each(|to| to.brings = Some(first()));
        let outputs = vec![(first(), bytes("a result"))];
        Write { outputs, messages: vec![message], ..Write::of(&Default::default(), id(1), guard) }
    };
    let stale = Guard { epoch: 9, ..guard(&stored) };
    assert_eq!(store.write(bringing(stale)).await, Written::Refused(Refusal::Epoch));
    assert!(due(&store).await.is_empty());
    assert_eq!(store.write(bringing(guard(&stored))).await, Written::Done(1));
    let later = Write {
        outputs: vec![(first(), bytes("other"))],
        ..Write::of(&Default::default(), id(1), Guard { revision: 1, ..guard(&stored) })
    };
    assert_eq!(store.write(later).await, Written::Done(2));
    assert_eq!(take(&store, 1).await.replies[0].brings, Some(bytes("a result")));
}

/// Of how far a task has come only the last is worth something, once nobody has had those before.
pub async fn news_that_nobody_has_had_give_way_to_the_next<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.submit(&[1]).await;
    tell(&store, 1, vec![passing(1, 1, 9)]).await;
    tell(&store, 1, vec![passing(1, 2, 9), reply(1, 3)]).await;
    assert_eq!(waiting(&store).await, 2);
    assert_eq!(due(&store).await, ["1.2"]);
    // That one was handed out and stays; the next gives way to the one after, and what is between them has its place.
    tell(&store, 1, vec![passing(1, 4, 9)]).await;
    tell(&store, 1, vec![reply(1, 5), passing(1, 6, 9)]).await;
    assert_eq!(waiting(&store).await, 4);
    for number in [2, 3, 5, 6] {
        assert_eq!(ack(&store, &[(1, number)]).await, 1);
        assert_eq!(due(&store).await.len(), usize::from(number < 6));
    }
    assert_eq!(waiting(&store).await, 0);
    // One in front of others that gives way: the next of them has its turn.
    tell(&store, 1, vec![passing(1, 7, 9), reply(1, 8)]).await;
    tell(&store, 1, vec![passing(1, 9, 9)]).await;
    assert_eq!(due(&store).await, ["1.8"]);
}

/// An unread queue is bounded: no more submissions, no more news of how far; what ends a task is still told.
pub async fn where_too_many_wait_no_more_submissions_are_taken<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    let batch = vec![replying(1, now, 2), replying(2, now, 2), replying(3, now, 2)];
    let told = ok(store.0.submit(batch).await);
    assert_eq!(told, [Submitted::New, Submitted::New, Submitted::QueueFull(2)]);
    assert_eq!(ok(store.0.read(vec![id(3)]).await), [None], "nothing of it is stored");
    assert_eq!(
        ok(store.0.submit(vec![replying(1, now, 2)]).await),
        [Submitted::Again],
        "nothing new is to be told"
    );
    tell(&store, 1, vec![passing(1, 2, 2), reply(1, 3)]).await;
    assert_eq!(waiting(&store).await, 3, "how far it has come is left out, its end is not");
    assert_eq!(due(&store).await, ["1.1", "2.1"]);
    assert_eq!(ack(&store, &[(1, 1), (2, 1)]).await, 2);
    assert_eq!(ok(store.0.submit(vec![replying(3, now, 2)]).await), [Submitted::New]);
}

/// Whoever claims a task knows to whom it replies.
pub async fn who_claims_a_task_knows_to_whom_it_replies<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    ok(store.0.submit(vec![replying(1, store.now().await, 9)]).await);
    store.submit(&[2]).await;
    let claimed = store.claim(A, 9).await;
    let kept: Vec<_> = claimed.iter().map(|claimed| claimed.reply.clone()).collect();
    assert_eq!(kept, [Some(bytes("to whom")), None]);
    let write = Write {
        outputs: vec![(StepId::OF_REPLIES, bytes("told one"))],
        hold: crate::Hold::Release(Time::from_millis(0)),
        ..Write::of(&Default::default(), id(1), guard(&claimed[0].stored))
    };
    assert!(matches!(store.write(write).await, Written::Done(_)));
    assert_eq!(store.claim(B, 9).await[0].reply, Some(bytes("told one")));
    assert!(ok(store.0.history(id(1)).await).is_empty(), "how much was told is no history");
}
