//! Tasks that are over.

use steadfast_engine::{Action, Answer, Cause, TaskState};

use super::*;
use crate::{
    Audit, AuditId, AuditLog as _, Cleaned, Expired, Outbox as _, OutboxKind, Outgoing, PayloadKey, Settled,
    Transfer as _,
};

/// How long tasks are kept here, and those with a key.
const KEEP: Duration = Duration::from_secs(100);
const KEEP_KEYS: Duration = Duration::from_secs(300);

fn entry(request: u128, task: u128) -> Audit {
    Audit {
        id: AuditId::from_u128(request),
        task: Some(id(task)),
        by: Arc::from("ana"),
        why: Arc::from("it has to be"),
        action: Arc::from("resume"),
        refused: None,
        detail: bytes("{}"),
    }
}

impl<S: Store> Tried<'_, S> {
    /// Brings a task of A to its end.
    pub(crate) async fn complete(&self, stored: &mut Stored) {
        self.follow(stored, &Event::Claimed).await;
        for step in [StepId::at(0), StepId::at(1)] {
            self.follow(stored, &Event::granted(step)).await;
            let answered = Event::Answered { step, attempt: 1, answer: Answer::Completed };
            self.follow(stored, &answered).await;
        }
        assert_eq!(stored.task.state(), TaskState::Completed);
    }

    /// A task that has completed.
    async fn completed(&self, number: u128) -> Stored {
        let mut stored = self.claimed(number).await;
        self.complete(&mut stored).await;
        stored
    }

    /// Removes all that is over, so many at a time.
    async fn clean_up(&self, most: usize) -> (Cleaned, Vec<u128>) {
        let now = self.now().await.as_millis();
        let ago = |time: Duration| Time::from_millis(now - u64::try_from(time.as_millis()).unwrap_or(0));
        let expired = Expired { before: ago(KEEP), keys_before: ago(KEEP_KEYS) };
        let mut all = Cleaned::default();
        let (mut behind, mut left) = (None, Vec::new());
        loop {
            let cleaned = ok(self.0.clean_up(expired, behind, most).await);
            assert!(cleaned.removed <= u64::try_from(most).unwrap_or(0));
            all.removed += cleaned.removed;
            all.looked_at += cleaned.looked_at;
            left.extend(cleaned.next_in);
            behind = cleaned.behind;
            if behind.is_none() {
                break;
            }
        }
        all.next_in = left.into_iter().min();
        let ids: Vec<_> = (1..20).map(id).collect();
        let there = ok(self.0.read(ids).await).into_iter().flatten();
        (all, there.map(|stored| stored.id.as_u128()).collect())
    }
}

/// Nothing of it is left but what operators have done; its key is free again.
pub async fn what_is_over_goes_with_all_that_belongs_to_it<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    let keyed = |number| Submission { key: Some(Arc::from("k")), ..submission(number, now) };
    ok(store.0.submit(vec![keyed(1)]).await);
    let mut stored = store.claim(A, 10).await.remove(0).stored;
    store.start(&mut stored).await;
    let Posted::Done(mail) = store.post(1, "hello").await else { panic!("not posted") };
    let outputs = vec![(first(), bytes("an output"))];
    let told = Outgoing {
        task: Some(id(1)),
        kind: OutboxKind::Alert,
        key: Some(Arc::from("a")),
        body: bytes("it began"),
        to: None,
    };
    let plan = decide(&workflow(), &stored.task, &Event::Cancelled { cause: Cause::Deadline }, now);
    let write = Write {
        outputs,
        mail_read: Some(mail),
        messages: vec![told.clone()],
        audits: vec![entry(70, 1)],
        ..Write::of(&plan, id(1), guard(&stored))
    };
    let Written::Done(revision) = store.write(write).await else { panic!("not written") };
    (stored.revision, stored.task) = (revision, store.read(1).await.task);
    let answer = Answer::Failed(steadfast_engine::Failure {
        kind: Arc::from("odd"),
        calls: 1,
        effect: steadfast_engine::Effect::None,
        again: None,
    });
    store.follow(&mut stored, &Event::Answered { step: first(), attempt: 1, answer }).await;
    assert_eq!(stored.task.state(), TaskState::Undone);
    let handed = ok(store.0.undelivered(OutboxKind::Alert, 9, s(10)).await).messages;
    ok(store.0.settle(vec![(handed[0].id, Settled::Delivered)]).await);
    harness.advance(KEEP_KEYS + s(1));
    let (cleaned, left) = store.clean_up(9).await;
    assert_eq!((cleaned.removed, cleaned.looked_at, left), (1, 1, vec![]));
    assert_eq!(ok(store.0.whole(vec![id(1)]).await), [None]);
    let keys = [None, Some(first())].map(|step| PayloadKey { task: id(1), step });
    assert_eq!(ok(store.0.payloads(keys.to_vec()).await), [None, None]);
    assert_eq!(ok(store.0.history(id(1)).await), []);
    assert!(ok(store.0.unread_of(vec![id(1)]).await).is_empty());
    assert_eq!(ok(store.0.audits(Some(id(1)), None, 9).await).len(), 1, "the log stays");
    assert_eq!(ok(store.0.submit(vec![keyed(2)]).await), [Submitted::New], "its key is free");
    let again = ok(store.0.send(vec![Outgoing { task: Some(id(2)), ..told }]).await);
    assert!(matches!(again[..], [crate::Sent::New(_)]), "what was told of it is forgotten");
}

/// Whatever its age: open ones, and those in an operator's hands.
pub async fn what_is_open_or_has_failed_is_kept<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    let fails =
        Step::new("first", "service").nothing_to_undo().on_failure(steadfast_engine::OnFailure::Error);
    let definition = Definition::builder("order").step(fails).build();
    let definition = definition.unwrap_or_else(|invalid| panic!("{invalid}"));
    let now = store.now().await;
    let mut task = Task::new(&definition, now);
    let failure = steadfast_engine::Failure {
        kind: Arc::from("odd"),
        calls: 1,
        effect: steadfast_engine::Effect::None,
        again: None,
    };
    for event in [
        Event::Claimed,
        Event::granted(first()),
        Event::Answered { step: first(), attempt: 1, answer: Answer::Failed(failure) },
    ] {
        task.apply(&decide(&definition, &task, &event, now));
    }
    assert_eq!(task.state(), TaskState::Failed);
    ok(store.0.submit(vec![submission(2, now), Submission { task, ..submission(3, now) }]).await);
    harness.advance(s(100_000));
    let (cleaned, left) = store.clean_up(9).await;
    assert_eq!((cleaned.removed, cleaned.next_in, left), (0, None, vec![1, 2, 3]));
}

/// Counted from the end, which is the last entry of its history, and longer for one with a key.
pub async fn what_has_ended_is_kept_for_its_time<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut late = store.claimed(1).await;
    store.completed(2).await;
    let now = store.now().await;
    ok(store.0.submit(vec![Submission { key: Some(Arc::from("k")), ..submission(3, now) }]).await);
    let mut keyed = store.claim(A, 10).await.remove(0).stored;
    store.complete(&mut keyed).await;
    harness.advance(KEEP);
    store.follow(&mut late, &Event::Cancelled { cause: Cause::Deadline }).await;
    assert_eq!(late.task.state(), TaskState::Undone);
    let (cleaned, left) = store.clean_up(9).await;
    assert_eq!((cleaned.removed, left), (0, vec![1, 2, 3]), "it is kept for all of its time");
    assert_eq!(cleaned.next_in, Some(Duration::from_millis(1)));
    harness.advance(s(1));
    assert_eq!(store.clean_up(9).await.1, [1, 3]);
    harness.advance(KEEP);
    let (cleaned, left) = store.clean_up(9).await;
    assert_eq!((cleaned.removed, left), (1, vec![3]));
    assert_eq!(cleaned.next_in, Some(KEEP_KEYS - KEEP - KEEP - s(1) + Duration::from_millis(1)));
    harness.advance(KEEP_KEYS);
    assert_eq!(store.clean_up(9).await.1, [0_u128; 0]);
}

/// What was asked of it is not lost, nor what is to be told of it.
pub async fn unread_mail_and_waiting_messages_keep_a_task<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    for number in [1, 2, 3] {
        store.completed(number).await;
    }
    let asked = AuditId::from_u128(7);
    let message = Message { asked: Some(asked), ..Message::new(id(1), bytes("undo")) };
    assert!(matches!(ok(store.0.post(vec![message]).await)[..], [Posted::Done(_)]));
    let told =
        Outgoing { task: Some(id(2)), kind: OutboxKind::Reply, key: None, to: None, body: bytes("done") };
    ok(store.0.send(vec![told]).await);
    harness.advance(KEEP + s(1));
    assert_eq!(store.clean_up(9).await.1, [1, 2]);
    let mut claimed = store.claim(A, 10).await.remove(0);
    let event = Event::Asked { action: Action::Undo, by: "ana".into(), why: "wrong".into() };
    let plan = decide(&workflow(), &claimed.stored.task, &event, store.now().await);
    assert!(plan.changes_anything());
    let read =
        Write { mail_read: Some(claimed.mail[0].id), ..Write::of(&plan, id(1), guard(&claimed.stored)) };
    assert!(matches!(store.write(read).await, Written::Done(_)));
    let handed = ok(store.0.undelivered(OutboxKind::Reply, 9, s(10)).await).messages;
    ok(store.0.settle(vec![(handed[0].id, Settled::Delivered)]).await);
    assert_eq!(store.clean_up(9).await.1, [1], "it is being undone");
    claimed.stored = store.read(1).await;
    assert_eq!(claimed.stored.task.state(), TaskState::Undoing);
}

/// Some at a time, and only ids that are old enough are looked at.
pub async fn what_is_over_is_removed_some_at_a_time<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    for number in 1..8 {
        store.completed(number).await;
    }
    let now = store.now().await;
    let young = TaskId::first_at(now + s(1));
    ok(store.0.submit(vec![Submission { id: young, ..submission(0, now) }]).await);
    harness.advance(KEEP + s(1));
    let (cleaned, left) = store.clean_up(2).await;
    assert_eq!((cleaned.removed, cleaned.looked_at, left), (7, 7, vec![]));
    assert!(ok(store.0.read(vec![young]).await)[0].is_some());
}

/// A task that has asked for another one may want to have it undone.
pub async fn what_a_task_has_asked_for_stays_for_as_long_as_that_task<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut parent = store.claimed(1).await;
    let more = crate::SubmissionMore { parent: Some(id(1)), ..crate::SubmissionMore::default() };
    let child = Submission { more: Some(Box::new(more)), ..submission(2, store.now().await) };
    assert_eq!(ok(store.0.submit(vec![child]).await), [Submitted::New]);
    let mut child = store.claim(A, 10).await.remove(0).stored;
    assert_eq!((child.id, child.parent), (id(2), Some(id(1))));
    let of = |parent: u128| crate::Filter { parent: Some(id(parent)), ..crate::Filter::default() };
    for (parent, found) in [(1, &[2_u128][..]), (2, &[])] {
        let listed = ok(crate::Listing::list(store.0, of(parent), None, 10).await).tasks;
        assert_eq!(listed.iter().map(|stored| stored.id.as_u128()).collect::<Vec<_>>(), found);
    }
    store.complete(&mut child).await;
    harness.advance(KEEP + s(1));
    let (cleaned, there) = store.clean_up(10).await;
    assert_eq!((cleaned.removed, cleaned.next_in, there), (0, Some(Duration::ZERO), vec![1, 2]));
    store.follow(&mut parent, &Event::Cancelled { cause: Cause::Deadline }).await;
    harness.advance(KEEP + s(1));
    // One look may find both, and remove the first of them only.
    store.clean_up(10).await;
    assert!(store.clean_up(10).await.1.is_empty());
}
