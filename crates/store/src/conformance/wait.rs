//! Tasks that start later, signals, rounds, and how far attempts have come.

use steadfast_engine::{Answer, Repeat};

use super::*;
use crate::{Kind, MAX_ENVELOPE, MAX_PAYLOAD, PayloadKey};

/// W8: nobody has it before its time, unless it is asked for something.
pub async fn a_task_that_starts_later_is_free_from_then_on_or_for_mail<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    let later = |number, time| Submission {
        task: Task::starting_at(&workflow(), now, now + time),
        ..submission(number, now)
    };
    ok(store.0.submit(vec![later(1, s(60)), later(2, s(90)), later(3, s(0))]).await);
    let stored = store.read(1).await;
    assert_eq!((stored.task.head().start_at(), stored.wake_at), (Some(now + s(60)), now + s(60)));
    assert_eq!(stored.task.head().deadline, Some(now + s(120)));
    let ids = |claimed: &[Claimed]| claimed.iter().map(|claimed| claimed.stored.id).collect::<Vec<_>>();
    assert_eq!(ids(&store.claim(A, 10).await), [id(3)], "a time that has come is none");
    store.post(2, "cancel").await;
    assert_eq!(ids(&store.claim(A, 10).await), [id(2)]);
    harness.advance(s(60));
    let claimed = store.claim(A, 10).await;
    assert_eq!(ids(&claimed), [id(1)]);
    assert_eq!(claimed[0].stored.task, stored.task);
}

/// A signal, and a step with rounds.
fn waiting() -> Definition {
    let poll = Step::new("poll", "service").nothing_to_undo();
    let builder = Definition::builder("order").step(Step::new("first", "service").nothing_to_undo());
    let builder = builder.step(Step::signal("go", "go").timeout(s(60)).after(["first"]));
    let poll = poll.repeat(Repeat { every: s(5), at_most: Some(3) });
    builder.step(poll).build().unwrap_or_else(|invalid| panic!("{invalid}"))
}

/// In the rows, and in the history that folds to them.
pub async fn signals_that_are_kept_and_rounds_are_stored<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let (now, definition) = (store.now().await, waiting());
    let task = Task::new(&definition, now);
    ok(store.0.submit(vec![Submission { task: task.clone(), owner: Some(A), ..submission(1, now) }]).await);
    let mut stored = store.read(1).await;
    let (poll, go) = (StepId::at(2), StepId::at(1));
    let answer = Answer::NotYet;
    let signal = Event::Signalled { signal: Arc::from("go"), id: Some(Arc::from("7")) };
    let events = [
        Event::Claimed,
        signal,
        Event::granted(poll),
        Event::Answered { step: poll, attempt: 1, answer },
        Event::granted(first()),
        Event::Answered { step: first(), attempt: 1, answer: Answer::Completed },
    ];
    for event in events {
        let plan = decide(&definition, &stored.task, &event, now);
        let outputs = plan.keeps().map(|at| (at, bytes("it says so"))).into_iter().collect();
        let write = Write { outputs, ..Write::of(&plan, stored.id, guard(&stored)) };
        assert_eq!(store.write(write).await, Written::Done(stored.revision + 1), "{event:?}");
        stored.revision += 1;
        stored.task.apply(&plan);
        assert_eq!(store.read(1).await.task, stored.task, "{event:?}");
    }
    assert_eq!((stored.task.step(poll).rounds(), stored.task.step(go).since()), (1, Some(now)));
    let kept = &stored.task.head().kept()[0];
    assert_eq!((&*kept.signal, kept.step), ("go", Some(go)));
    let at = PayloadKey { task: id(1), step: Some(kept.at) };
    assert_eq!(ok(store.0.payloads(vec![at]).await), [Some(bytes("it says so"))]);
    let mut folded = task;
    ok(store.0.history(id(1)).await).iter().for_each(|entry| entry.apply_to(&mut folded));
    assert_eq!(folded, stored.task);
}

/// A6: the last one stands, and the history does not grow by it.
pub async fn how_far_an_attempt_has_come_is_kept_and_no_history<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.start(&mut stored).await;
    let (place, entries) = (StepId::of_progress(first()), ok(store.0.history(id(1)).await).len());
    for words in ["a third", "two thirds"] {
        let outputs = vec![(place, bytes(words))];
        let write = Write { outputs, ..Write::of(&Default::default(), stored.id, guard(&stored)) };
        assert_eq!(store.write(write).await, Written::Done(stored.revision + 1));
        stored.revision += 1;
    }
    let at = PayloadKey { task: id(1), step: Some(place) };
    assert_eq!(ok(store.0.payloads(vec![at]).await), [Some(bytes("two thirds"))]);
    assert_eq!(ok(store.0.history(id(1)).await).len(), entries);
    assert_eq!(store.read(1).await.task, stored.task);
}

/// What a signal says may be as large as any payload; its name and id come on top.
pub async fn a_message_may_bring_the_largest_payload<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.submit(&[1]).await;
    let message = |bytes| Message::new(id(1), Payload::from(vec![0; bytes]));
    let most = MAX_PAYLOAD + MAX_ENVELOPE;
    assert!(matches!(ok(store.0.post(vec![message(most)]).await)[..], [Posted::Done(_)]));
    let refused = store.0.post(vec![message(most + 1)]).await.map(|_| ()).map_err(|error| error.kind());
    assert_eq!(refused, Err(Kind::TooLarge));
}
