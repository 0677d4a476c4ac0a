//! Tasks out of one store and into another.

use super::*;
use crate::{AuditId, Brought, Claimed, Hold, Memory, Retention as _, Transfer as _, Verify as _, Whole};

fn memory() -> Memory {
    Memory::new(|| Time::from_millis(1_800_000_000_000))
}

impl<S: Store> Tried<'_, S> {
    /// Tasks of many kinds: fresh, running, parked, complete, with mail that was read or not, and what operators asked.
    async fn world(&self) {
        let now = self.now().await;
        let keyed = Submission {
            key: Some(Arc::from("k")),
            namespace: Arc::from("shop"),
            priority: -3,
            input: Payload::from(&[0, 255, 10][..]),
            task: Task::starting_at(&workflow(), now, now + s(60)),
            ..submission(1, now)
        };
        ok(self.0.submit(vec![keyed]).await);
        self.submit(&[2, 3, 4, 5]).await;
        let mut claimed = self.claim(A, 10).await;
        claimed.sort_by_key(|claimed| claimed.stored.id);
        let mut tasks = claimed.into_iter().map(|claimed| claimed.stored).collect::<Vec<_>>();
        self.start(&mut tasks[0]).await;
        let parks = Write {
            hold: Hold::Release(now + s(60)),
            parked_on: Some(Arc::from("bank")),
            ..Write::of(&Default::default(), tasks[1].id, guard(&tasks[1]))
        };
        assert!(matches!(self.write(parks).await, Written::Done(_)));
        self.complete(&mut tasks[2]).await;
        let asked = Message { asked: Some(AuditId::from_u128(70)), ..Message::new(id(4), bytes("undo")) };
        ok(self.0.post(vec![asked]).await);
        let Posted::Done(mail) = self.post(5, "one").await else { panic!("not posted") };
        let reads = Write {
            mail_read: Some(mail),
            outputs: vec![(StepId::of_signal(0), bytes("kept")), (first(), bytes("1"))],
            ..Write::of(&Default::default(), tasks[3].id, guard(&tasks[3]))
        };
        assert!(matches!(self.write(reads).await, Written::Done(_)));
        self.post(5, "two").await;
    }

    async fn wholes(&self) -> Vec<Whole> {
        ok(self.0.whole((1..6).map(id).collect()).await).into_iter().flatten().collect()
    }

    async fn bring(&self, wholes: &[Whole]) -> Vec<Brought> {
        ok(self.0.bring(wholes.to_vec()).await)
    }
}

/// With everything that belongs to it.
pub async fn a_task_is_the_same_in_another_store<H: Harness>(harness: &H) {
    let (store, other) = (Tried(harness.store()), memory());
    let other = Tried(&other);
    store.world().await;
    let out = store.wholes().await;
    assert_eq!(out.len(), 5);
    assert_eq!(other.bring(&out).await, vec![Brought::New; 5]);
    let arrived: Vec<_> = out.iter().cloned().map(Whole::arriving).collect();
    assert_eq!(other.wholes().await, arrived);
    assert!(ok(other.0.verify(None).await).findings.is_empty());
}

/// The other direction, into the store that is tested.
pub async fn a_task_of_another_store_is_the_same_here<H: Harness>(harness: &H) {
    let (store, other) = (Tried(harness.store()), memory());
    let other = Tried(&other);
    other.world().await;
    let out = other.wholes().await;
    assert_eq!(store.bring(&out).await, vec![Brought::New; 5]);
    let arrived: Vec<_> = out.iter().cloned().map(Whole::arriving).collect();
    assert_eq!(store.wholes().await, arrived);
    let verified = ok(store.0.verify(None).await);
    assert_eq!((verified.looked_at, verified.findings), (5, vec![]));
    let again = ok(store.0.submit(vec![Submission { id: id(9), ..again(&out[0]) }]).await);
    assert_eq!(again, [Submitted::Seen(id(1))], "its key came along");
    // Once more nothing happens, also to those that have gone on since.
    let claimed = store.claim(B, 10).await;
    let died =
        |number| claimed.iter().find(|one: &&Claimed| one.stored.id == id(number)).map(|one| one.owner_died);
    assert_eq!((died(2), died(3), died(4), died(5)), (Some(true), Some(false), Some(false), Some(false)));
    let mut running = claimed.into_iter().find(|one| one.stored.id == id(2)).map(|one| one.stored);
    let running = running.as_mut().unwrap_or_else(|| panic!("not claimed"));
    store.follow(running, &Event::OwnerDied { step: first(), attempt: 1 }).await;
    assert_eq!(store.bring(&out).await, vec![Brought::Seen; 5]);
}

fn again(whole: &Whole) -> Submission {
    let stored = &whole.stored;
    Submission {
        key: stored.key.clone(),
        namespace: Arc::clone(&stored.namespace),
        input: whole.payloads[0].1.clone(),
        ..submission(0, stored.submitted_at)
    }
}

/// It is told what is in the way, and nothing is changed.
pub async fn what_is_there_is_not_overwritten<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.world().await;
    let before = store.wholes().await;
    let spoilt = |number: usize, spoil: &dyn Fn(&mut Whole)| {
        let mut whole = before[number - 1].clone();
        spoil(&mut whole);
        whole
    };
    let cases = [
        (spoilt(1, &|whole| whole.payloads[0].1 = bytes("else")), "with another input"),
        (spoilt(1, &|whole| whole.stored.key = None), "with another key"),
        (spoilt(4, &|whole| whole.stored.version = 2), "with another version"),
        (spoilt(4, &|whole| whole.history[1].at = Time::from_millis(1)), "something else happened"),
        (spoilt(2, &|whole| whole.stored.revision += 1), "is not changed"),
        (spoilt(1, &|whole| whole.stored.id = id(17)), "its key `k` is taken by task"),
        (spoilt(4, &|whole| whole.stored.id = id(18)), "was asked of another task"),
    ];
    for (whole, words) in cases {
        let Brought::Refused(why) = store.bring(&[whole]).await.remove(0) else { panic!("{words}: brought") };
        assert!(why.contains(words), "{why}");
    }
    assert_eq!(store.wholes().await, before);
    assert_eq!(ok(store.0.whole(vec![id(17), id(18)]).await), [None, None]);
}

/// What was removed can come back.
pub async fn what_was_removed_can_be_brought_back<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut stored = store.claimed(1).await;
    store.complete(&mut stored).await;
    let out = store.wholes().await;
    harness.advance(s(10));
    let now = store.now().await;
    let expired = crate::Expired { before: now, keys_before: now };
    assert_eq!(ok(store.0.clean_up(expired, None, 9).await).removed, 1);
    assert!(store.wholes().await.is_empty());
    assert_eq!(store.bring(&out).await, [Brought::New]);
    assert_eq!(store.wholes().await, out.into_iter().map(Whole::arriving).collect::<Vec<_>>());
}
