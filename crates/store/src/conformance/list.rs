//! Looking for tasks.

use super::*;
use crate::{Filter, Hold};
use steadfast_engine::TaskState;

impl<S: Store> Tried<'_, S> {
    /// The numbers of all that match, page by page.
    async fn list(&self, filter: &Filter, most: usize) -> Vec<u128> {
        let (mut found, mut behind) = (Vec::new(), None);
        loop {
            let listed = ok(self.0.list(filter.clone(), behind, most).await);
            assert!(listed.tasks.len() <= most);
            found.extend(listed.tasks.iter().map(|stored| stored.id.as_u128()));
            behind = listed.behind;
            if behind.is_none() {
                return found;
            }
        }
    }
}

/// In pages of any size, and each of them once.
pub async fn all_that_match_are_found_newest_first<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.submit(&[1, 2, 3, 4, 5]).await;
    for most in [1, 2, 3, 9] {
        assert_eq!(store.list(&Filter::default(), most).await, [5, 4, 3, 2, 1]);
    }
    let none = Filter { workflow: Some(Arc::from("another")), ..Filter::default() };
    assert_eq!(store.list(&none, 2).await, [0_u128; 0]);
}

/// By everything that a filter has.
pub async fn a_filter_leaves_out_what_it_says<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let first = store.now().await;
    let new = |number: u128, now| {
        let named =
            Submission { namespace: Arc::from("shop"), key: Some(Arc::from("k")), ..submission(2, now) };
        if number == 2 { named } else { submission(number, now) }
    };
    ok(store.0.submit(vec![new(1, first), new(2, first)]).await);
    harness.advance(s(60));
    let later = store.now().await;
    ok(store.0.submit(vec![new(3, later), new(4, later)]).await);
    let workflow = store.read(1).await.workflow;
    let mut claimed = store.claim(A, 10).await;
    claimed.sort_by_key(|claimed| claimed.stored.id);
    store
        .follow(&mut claimed[2].stored, &Event::Cancelled { cause: steadfast_engine::Cause::Deadline })
        .await;
    store.start(&mut claimed[1].stored).await;
    let stored = &claimed[3].stored;
    let parks = Write {
        hold: Hold::Release(later + s(60)),
        parked_on: Some(Arc::from("bank")),
        ..Write::of(&Default::default(), stored.id, guard(stored))
    };
    assert!(matches!(store.write(parks).await, Written::Done(_)));
    let text = |text: &str| Some(Arc::<str>::from(text));
    let states = |states: &[TaskState]| Filter { states: states.to_vec(), ..Filter::default() };
    for (filter, expected) in [
        (states(&[TaskState::Undone]), &[3_u128][..]),
        (states(&[TaskState::Running, TaskState::Undone]), &[3, 2]),
        (states(&[TaskState::Paused]), &[]),
        (states(&[TaskState::Pending]), &[4, 1]),
        (Filter { namespace: text("shop"), ..Filter::default() }, &[2]),
        (Filter { namespace: text(""), ..Filter::default() }, &[4, 3, 1]),
        (Filter { key: text("k"), ..Filter::default() }, &[2]),
        (Filter { key: text("other"), ..Filter::default() }, &[]),
        (Filter { parked_on: text("bank"), ..Filter::default() }, &[4]),
        (Filter { from: Some(later), ..Filter::default() }, &[4, 3]),
        (Filter { before: Some(later), ..Filter::default() }, &[2, 1]),
        (Filter { before: Some(first), ..Filter::default() }, &[]),
        (Filter { workflow: Some(workflow), from: Some(later), ..states(&[TaskState::Pending]) }, &[4]),
    ] {
        assert_eq!(store.list(&filter, 2).await, expected, "{filter:?}");
    }
}
