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

/// What is written there is a change of what is there, and tasks are found by what they have then.
pub async fn tasks_are_found_by_their_labels<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let now = store.now().await;
    let labels = |lines: &str| vec![(StepId::OF_LABELS, Payload::from(lines.as_bytes()))];
    let new = |number, lines| Submission { outputs: labels(lines), ..submission(number, now) };
    let batch =
        vec![new(1, "team=shop\ncase=7\n"), new(2, "team=shop\n"), submission(3, now), new(4, "team=bank\n")];
    ok(store.0.submit(batch).await);
    let with = |wanted: &[(&str, &str)]| Filter {
        labels: wanted.iter().map(|(name, value)| (Arc::from(*name), Arc::from(*value))).collect(),
        ..Filter::default()
    };
    for most in [1, 9] {
        assert_eq!(store.list(&with(&[("team", "shop")]), most).await, [2, 1]);
        assert_eq!(store.list(&with(&[("team", "shop"), ("case", "7")]), most).await, [1]);
        assert_eq!(store.list(&with(&[("case", "7"), ("team", "bank")]), most).await, [0_u128; 0]);
        assert_eq!(store.list(&with(&[("team", "Shop")]), most).await, [0_u128; 0]);
        assert_eq!(store.list(&Filter::default(), most).await, [4, 3, 2, 1]);
    }
    let states = Filter { states: vec![TaskState::Completed], ..with(&[("team", "shop")]) };
    assert_eq!(store.list(&states, 9).await, [0_u128; 0]);
    let mut claimed = store.claim(A, 10).await;
    claimed.sort_by_key(|claimed| claimed.stored.id);
    for (place, change) in [(0, "case\nteam=bank\n"), (2, "team=shop\n"), (3, "none\n")] {
        let stored = &claimed[place].stored;
        let write =
            Write { outputs: labels(change), ..Write::of(&Default::default(), stored.id, guard(stored)) };
        assert!(matches!(store.write(write).await, Written::Done(_)));
    }
    assert_eq!(store.list(&with(&[("team", "shop")]), 9).await, [3, 2]);
    assert_eq!(store.list(&with(&[("team", "bank")]), 9).await, [4, 1]);
    assert_eq!(store.list(&with(&[("case", "7")]), 9).await, [0_u128; 0]);
    let key = |number| crate::PayloadKey { task: id(number), step: Some(StepId::OF_LABELS) };
    let kept = ok(store.0.payloads(vec![key(1), key(3)]).await);
    assert_eq!(kept, [Some(Payload::from(&b"team=bank\n"[..])), Some(Payload::from(&b"team=shop\n"[..]))]);
}
