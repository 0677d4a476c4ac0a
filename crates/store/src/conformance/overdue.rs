//! What is past its time.

use super::*;
use crate::{Overdue as _, Overdued};

/// S1: found from the very moment on, whoever holds them, and no longer once they have been moved on.
pub async fn attempts_and_deadlines_are_found_longest_overdue_first<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let began = store.now().await;
    store.submit(&[1, 2]).await;
    let mut claimed = store.claim(A, 2).await;
    let mut second = claimed.remove(1).stored;
    assert_eq!(second.id, id(2));
    store.start(&mut second).await;
    assert_eq!(ok(store.0.overdue(None, 10).await), []);
    harness.advance(s(10));
    let attempt = Overdued { task: id(2), attempt: Some((first(), 1)), since: began + s(10) };
    assert_eq!(ok(store.0.overdue(None, 10).await), [attempt]);
    harness.advance(s(50));
    let deadline = |task| Overdued { task, attempt: None, since: began + s(60) };
    let all = [attempt, deadline(id(1)), deadline(id(2))];
    assert_eq!(ok(store.0.overdue(None, 10).await), all);
    assert_eq!(ok(store.0.overdue(None, 1).await), [attempt]);
    store.follow(&mut second, &Event::TimedOut { step: first(), attempt: 1 }).await;
    assert_eq!(ok(store.0.overdue(None, 10).await), [deadline(id(1)), deadline(id(2))]);
    store.follow(&mut second, &Event::DeadlinePassed).await;
    assert_eq!(
        ok(store.0.overdue(None, 10).await),
        [deadline(id(1))],
        "what is ending already is not late again"
    );
}

/// Two steps of one task, and tasks of one moment: each is behind exactly one other.
pub async fn what_is_overdue_can_be_passed_by<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.submit(&[3, 1, 2]).await;
    for claimed in store.claim(A, 3).await {
        let mut stored = claimed.stored;
        store.start(&mut stored).await;
    }
    harness.advance(s(100));
    let all = ok(store.0.overdue(None, 10).await);
    assert_eq!(all.len(), 6, "three attempts, three deadlines");
    assert!(all.is_sorted());
    let mut passed = Vec::new();
    while let Some(next) = ok(store.0.overdue(passed.last().copied(), 1).await).pop() {
        passed.push(next);
    }
    assert_eq!(passed, all);
    assert_eq!(ok(store.0.overdue(Some(all[1]), 3).await), all[2..5]);
}
