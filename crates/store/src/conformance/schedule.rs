//! Recurring work.

use super::*;
use crate::{Kind, MAX_SCHEDULE, Put, Schedule, Schedules as _};

fn schedule(name: &str, version: u64, wake_at: Option<u64>, words: &str) -> Schedule {
    Schedule { name: Arc::from(name), version, wake_at: wake_at.map(Time::from_millis), body: bytes(words) }
}

/// W8: of two who have read the same, one writes; the other is told what stands.
pub async fn a_schedule_is_written_by_who_has_read_it_last<H: Harness>(harness: &H) {
    let store = harness.store();
    assert!(ok(store.schedules().await).is_empty());
    let first = vec![schedule("b", 0, Some(5), "new"), schedule("a", 0, None, "new")];
    assert_eq!(ok(store.put(first).await), [Put::Done(1), Put::Done(1)]);
    let again = vec![
        schedule("a", 0, Some(1), "mine"),
        schedule("a", 1, Some(2), "moved on"),
        schedule("a", 1, Some(3), "late"),
    ];
    let stands = |version, wake_at, words| Put::Other(Some(schedule("a", version, wake_at, words)));
    assert_eq!(
        ok(store.put(again).await),
        [stands(1, None, "new"), Put::Done(2), stands(2, Some(2), "moved on")]
    );
    assert_eq!(ok(store.put(vec![schedule("c", 3, None, "lost")]).await), [Put::Other(None)]);
    let all = [schedule("a", 2, Some(2), "moved on"), schedule("b", 1, Some(5), "new")];
    assert_eq!(ok(store.schedules().await), all);
    assert_eq!(ok(store.schedule(Arc::from("b")).await), Some(all[1].clone()));
    assert_eq!(ok(store.schedule(Arc::from("c")).await), None);
}

/// W8: one call says what to do and how long to wait; what nobody has to look at costs nothing.
pub async fn what_is_to_be_looked_at_comes_soonest_first<H: Harness>(harness: &H) {
    let store = harness.store();
    let far = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    let batch = [("d", Some(7)), ("a", None), ("c", Some(far)), ("b", Some(7)), ("e", Some(6))];
    let batch = batch.into_iter().map(|(name, at)| schedule(name, 0, at, "s")).collect();
    assert_eq!(ok(store.put(batch).await).len(), 5);
    let names = async |most| -> Vec<String> {
        ok(store.upcoming(most).await).iter().map(|one| one.name.to_string()).collect()
    };
    assert_eq!(names(10).await, ["e", "b", "d", "c"]);
    assert_eq!(names(2).await, ["e", "b"]);
    ok(store.put(vec![schedule("e", 1, None, "done"), schedule("c", 1, Some(1), "sooner")]).await);
    assert_eq!(names(10).await, ["c", "b", "d"]);
}

/// W8: what is removed is not there, and can come again.
pub async fn a_schedule_that_is_removed_is_gone<H: Harness>(harness: &H) {
    let store = harness.store();
    let name = || Arc::from("a");
    assert!(!ok(store.remove(name()).await));
    ok(store.put(vec![schedule("a", 0, Some(1), "first")]).await);
    ok(store.put(vec![schedule("a", 1, Some(1), "first")]).await);
    assert!(ok(store.remove(name()).await));
    assert!(ok(store.schedules().await).is_empty() && ok(store.upcoming(5).await).is_empty());
    assert_eq!(ok(store.put(vec![schedule("a", 2, Some(1), "late")]).await), [Put::Other(None)]);
    assert!(!ok(store.remove(name()).await));
    assert_eq!(ok(store.put(vec![schedule("a", 0, Some(1), "second")]).await), [Put::Done(3)]);
    // Who has read the first one does not write it over the second, whichever of its versions that was.
    let stands = Put::Other(Some(schedule("a", 3, Some(1), "second")));
    let late = [1, 2].map(|version| schedule("a", version, Some(1), "late"));
    assert_eq!(ok(store.put(late.to_vec()).await), [stands.clone(), stands]);
}

/// Limits are named, and nothing of such a batch is stored.
pub async fn a_schedule_that_is_too_large_is_refused<H: Harness>(harness: &H) {
    let store = harness.store();
    let large = schedule("b", 0, None, &"x".repeat(MAX_SCHEDULE + 1));
    let put = store.put(vec![schedule("a", 0, None, "fits"), large]).await;
    assert_eq!(put.map_err(|error| error.kind()), Err(Kind::TooLarge));
    assert!(ok(store.schedules().await).is_empty());
    let just = schedule("b", 0, None, &"x".repeat(MAX_SCHEDULE));
    assert_eq!(ok(store.put(vec![just]).await), [Put::Done(1)]);
}
