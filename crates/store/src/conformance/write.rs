//! Writing.

use super::*;
use crate::{Hold, PayloadKey, Refusal};
use std::time::Duration;

use steadfast_engine::{Answer, Plan, Record, StepState};

fn answered(stored: &Stored) -> Event {
    let step = first();
    Event::Answered { step, attempt: stored.task.step(step).attempt, answer: Answer::Completed }
}

/// Rows, output and mail of one write are there together.
pub async fn a_write_is_done_as_a_whole<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    let Posted::Done(mail) = store.post(1, "hello").await else { panic!("not posted") };
    let plan = decide(&workflow(), &stored.task, &answered(&stored), store.now().await);
    let outputs = vec![(first(), bytes("done"))];
    let write = Write { outputs, mail_read: Some(mail), ..Write::of(&plan, stored.id, guard(&stored)) };
    assert_eq!(store.write(write).await, Written::Done(stored.revision + 1));
    stored.task.apply(&plan);
    assert_eq!(store.read(1).await.task, stored.task);
    let output = PayloadKey { task: id(1), step: Some(first()) };
    assert_eq!(ok(store.0.payloads(vec![output]).await), [Some(bytes("done"))]);
    assert_eq!(ok(store.0.unread(A, 10).await), []);
}

/// Nothing of a refused write is there: no row, no output, no mail read, no entry.
async fn is_refused_whole<S: Store>(store: &Tried<'_, S>, stored: &Stored, guard: Guard, why: Refusal) {
    let before = (store.read(1).await, ok(store.0.history(id(1)).await));
    let plan = decide(&workflow(), &stored.task, &answered(stored), store.now().await);
    assert!(plan.changes_anything());
    let outputs = vec![(first(), bytes("never"))];
    let write = Write {
        outputs,
        mail_read: Some(crate::MailId(99)),
        hold: Hold::Take,
        ..Write::of(&plan, stored.id, guard)
    };
    assert_eq!(store.write(write).await, Written::Refused(why));
    assert_eq!((store.read(1).await, ok(store.0.history(id(1)).await)), before);
    let output = PayloadKey { task: id(1), step: Some(first()) };
    assert_eq!(ok(store.0.payloads(vec![output]).await), [None]);
}

/// An owner that lost its task can write no more.
pub async fn a_stale_epoch_is_refused_whole<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    ok(store.0.leave(A).await);
    assert_eq!(store.claim(B, 10).await.len(), 1);
    is_refused_whole(&store, &stored, guard(&stored), Refusal::Epoch).await;
    let unknown = Write::of(&Default::default(), id(77), guard(&stored));
    assert_eq!(store.write(unknown).await, Written::Refused(Refusal::Unknown));
}

/// Nor one whose copy is old.
pub async fn a_stale_revision_is_refused_whole<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    let old = Guard { revision: stored.revision - 1, ..guard(&stored) };
    is_refused_whole(&store, &stored, old, Refusal::Revision).await;
    let ahead = Guard { revision: stored.revision + 1, ..guard(&stored) };
    is_refused_whole(&store, &stored, ahead, Refusal::Revision).await;
}

/// A refused write does not take the others with it.
pub async fn each_write_of_a_batch_stands_alone<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.submit(&[1, 2, 3]).await;
    let claimed = store.claim(A, 3).await;
    let now = store.now().await;
    let writes = claimed.iter().map(|claimed| {
        let stored = &claimed.stored;
        let plan = decide(&workflow(), &stored.task, &Event::Claimed, now);
        let wrong = u64::from(stored.id == id(2));
        Write::of(&plan, stored.id, Guard { epoch: stored.epoch + wrong, ..guard(stored) })
    });
    let written = ok(store.0.write(writes.collect()).await);
    assert_eq!(written, [Written::Done(1), Written::Refused(Refusal::Epoch), Written::Done(1)]);
    let revisions =
        [store.read(1).await, store.read(2).await, store.read(3).await].map(|stored| stored.revision);
    assert_eq!(revisions, [1, 0, 1]);
}

/// State is the fold of what happened, always.
pub async fn history_folds_to_the_rows<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut task = submission(1, store.now().await).task;
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    harness.advance(s(2));
    let event = answered(&stored);
    store.follow(&mut stored, &event).await;
    let history = ok(store.0.history(id(1)).await);
    assert_eq!(history.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [1, 2, 3]);
    assert!(history.is_sorted_by_key(|entry| entry.at) && history[2].at > history[1].at);
    for (seen, left) in [(0, &history[..]), (1, &history[1..]), (2, &history[2..]), (3, &[]), (9, &[])] {
        assert_eq!(ok(store.0.history_behind(id(1), seen).await), left);
    }
    history.iter().for_each(|entry| entry.apply_to(&mut task));
    assert_eq!(task, store.read(1).await.task);
}

/// A task that nobody knows is claimed and released again and again; what says more than that is an entry.
pub async fn to_let_go_is_no_history<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.follow(&mut stored, &Event::Claimed).await;
    for hold in [Hold::Keep, Hold::Release(store.now().await), Hold::Take, Hold::Release(store.now().await)] {
        let write = Write { hold, ..Write::of(&Default::default(), stored.id, guard(&stored)) };
        assert_eq!(store.write(write).await, Written::Done(stored.revision + 1));
        store.claim(A, 1).await;
        stored = store.read(1).await;
    }
    assert_eq!((stored.revision, stored.owner), (5, Some(A)));
    let Posted::Done(mail) = store.post(1, "hello").await else { panic!("not posted") };
    let empty = |stored: &Stored| Write::of(&Default::default(), stored.id, guard(stored));
    let reads = Write { mail_read: Some(mail), ..empty(&stored) };
    assert_eq!(store.write(reads).await, Written::Done(6));
    let stored = store.read(1).await;
    let puts_out = Write { outputs: vec![(first(), bytes("done"))], ..empty(&stored) };
    assert_eq!(store.write(puts_out).await, Written::Done(7));
    let history = ok(store.0.history(id(1)).await);
    assert_eq!(history.iter().map(|entry| entry.revision).collect::<Vec<_>>(), [1, 2, 4, 6, 7]);
}

/// S2: one write, after which any scheduler takes it and the old owner can write no more.
pub async fn a_recovery_takes_the_task_from_its_owner<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    harness.advance(s(10));
    ok(store.0.renew(A, s(30)).await);
    let step = first();
    let timed_out = Event::TimedOut { step, attempt: stored.task.step(step).attempt };
    let plan = decide(&workflow(), &stored.task, &timed_out, store.now().await);
    let recovery = Write { hold: Hold::Take, ..Write::of(&plan, stored.id, guard(&stored)) };
    assert_eq!(store.write(recovery.clone()).await, Written::Done(stored.revision + 1));
    assert_eq!(store.write(recovery).await, Written::Refused(Refusal::Epoch), "recovered once");
    let owned = Write::of(&Default::default(), stored.id, guard(&stored));
    assert_eq!(store.write(owned).await, Written::Refused(Refusal::Epoch), "its owner lives, and is out");
    let claimed = store.claim(B, 10).await;
    assert_eq!((claimed.len(), claimed[0].owner_died), (1, false), "nobody died");
}

/// Of two who read the same, one writes.
pub async fn two_writers_of_one_revision_do_not_both_win<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let stored = store.claimed(1).await;
    let plan = decide(&workflow(), &stored.task, &Event::Claimed, store.now().await);
    let write = Write::of(&plan, stored.id, guard(&stored));
    let written = ok(store.0.write(vec![write.clone(), write]).await);
    assert_eq!(written, [Written::Done(1), Written::Refused(Refusal::Revision)]);
}

/// Items of lists have rows from when they begin, and are read back, claimed and found past their time as steps are.
pub async fn items_are_written_as_they_begin<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    let (item, now) = (StepId::of_item(103), store.now().await);
    let running = Record {
        state: StepState::Running,
        attempt: 1,
        complete_by: Some(now + Duration::from_secs(5)),
        ..Record::default()
    };
    let parts = vec![(StepId::of_list(103), bytes("[1,2,3,4]"))];
    for record in [running.clone(), Record { attempt: 2, ..running }] {
        let steps = vec![(item, record.clone())];
        let write =
            Write { steps, outputs: parts.clone(), ..Write::of(&Plan::default(), id(1), guard(&stored)) };
        assert_eq!(store.write(write).await, Written::Done(stored.revision + 1));
        stored = store.read(1).await;
        assert_eq!(stored.task.step(item), &record);
        assert_eq!(stored.task.items().count(), 1);
        assert_eq!(
            ok(store.0.history(id(1)).await).last().map(|entry| entry.steps.clone()),
            Some(vec![(item, record)])
        );
    }
    let part = PayloadKey { task: id(1), step: Some(StepId::of_list(100)) };
    assert_eq!(ok(store.0.payloads(vec![part]).await), [Some(bytes("[1,2,3,4]"))]);
    ok(store.0.leave(A).await);
    let claimed = store.claim(B, 10).await;
    assert_eq!(claimed[0].stored.task.step(item).attempt, 2, "whoever claims it has them too");
}
