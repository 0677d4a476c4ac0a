//! One mistake at a time, planted into a story that was well.

use serde_json::json;
use steadfast::TaskId;

use super::*;
use crate::order::{CURSED, Wanted};

fn at(millis: u64) -> Moment {
    Moment::ZERO + Duration::from_millis(millis)
}

/// Ten orders a second for ten seconds; payments is away from 3 s to 5 s. Three are declined, and one is poisoned.
fn well() -> Seen {
    let wanted = |number: i64| match number {
        1..=3 => Wanted::one("chair").declined(),
        4 => Wanted::one(CURSED),
        _ => Wanted::new("rug", 2, "good").unwrap(),
    };
    let placed: Vec<_> = (1..=100).map(|number| wanted(number).into_order(number)).collect();
    let status = |number: i64| if number <= 3 { Status::Undone } else { Status::Completed };
    let row = |order: &Order| Row {
        order: order.clone(),
        status: status(order.order),
        words: String::new(),
        task: TaskId::from_u128(u128::from(order.order.unsigned_abs())),
        placed_at_ms: 0,
        changed_at_ms: 9_000,
    };
    let even = (0..30).chain(50..100).map(|tenth| at(tenth * 100));
    let mut calls: Vec<_> = even.chain((0..8).map(|nth| at(3_000 + nth * 200))).collect();
    calls.sort_unstable();
    Seen {
        seed: 7,
        took: Duration::from_secs(10),
        rows: placed.iter().map(row).collect(),
        repaired: [4].into(),
        not_repaired: None,
        books: Kind::ALL.map(|kind| book(kind, &placed, &calls)),
        placed,
        steady: at(0)..at(3_000),
        outage: at(3_000)..at(5_000),
        back_at_ms: 5_000,
        waiting: [50, 51].into(),
    }
}

fn book(kind: Kind, placed: &[Order], calls: &[Moment]) -> Book {
    let does = |order: &&Order| kind == Kind::Inventory || order.order > 3;
    let entries = placed.iter().filter(does).map(|order| Entry {
        id: format!("{}-{}", kind.name(), order.order),
        key: format!("k-{}", order.order),
        order: order.order,
        asked: json!({ "sku": order.sku, "quantity": order.quantity, "amount_cents": order.total_cents }),
        taken_back: order.order <= 3,
    });
    Book { kind, entries: entries.collect(), calls: calls.to_vec(), repeats: 2 }
}

/// The story fails with these words once this is planted.
fn fails(words: &str, plant: impl FnOnce(&mut Seen)) {
    let mut seen = well();
    plant(&mut seen);
    let report = audit(&seen);
    assert!(!report.ok, "{words}");
    assert!(report.failed.iter().any(|failed| failed.contains(words)), "{words}: {:#?}", report.failed);
}

#[test]
fn a_story_that_was_well_is_well() {
    let report = audit(&well());
    assert_eq!(report.failed, Vec::<String>::new());
    assert!(report.ok);
    let orders = OrderFigures { placed: 100, completed: 97, undone: 3, not_ended: 0, repaired: 1 };
    assert_eq!(report.orders, orders);
    assert_eq!((report.effects.standing, report.effects.taken_back), (291, 3));
    assert_eq!((report.effects.lost, report.effects.doubled), (0, 0));
    assert_eq!((report.outage.calls, report.outage.most_calls, report.outage.waiting), (8, 40, 2));
    assert_eq!(
        (report.recovery.peak_before, report.recovery.peak_after, report.recovery.drained_ms),
        (1, 1, 4_000)
    );
}

#[test]
fn effects_that_are_missing_or_too_many_are_found() {
    fails("1 orders have something twice at payments: 20", |seen| {
        let twice = seen.books[1].entries.iter().find(|entry| entry.order == 20).unwrap().clone();
        seen.books[1].entries.push(twice);
    });
    fails("1 orders completed, and shipping has nothing for them: 20", |seen| {
        seen.books[2].entries.retain(|entry| entry.order != 20);
    });
    fails("97 orders completed, and payments has nothing for them: 4, 5, 6, 7, 8, ...", |seen| {
        seen.books[1].entries.clear();
    });
    fails("1 orders were undone, and still have something at inventory: 1", |seen| {
        seen.books[0].entries[0].taken_back = false;
    });
    fails("1 orders are not in the table, and have something at shipping: 777", |seen| {
        seen.books[2].entries[0].order = 777;
    });
    fails("1 orders have something else at payments than was ordered: 10", |seen| {
        let entry = seen.books[1].entries.iter_mut().find(|entry| entry.order == 10).unwrap();
        entry.asked["amount_cents"] = json!(1);
    });
}

#[test]
fn orders_that_are_lost_or_have_not_ended_are_found() {
    fails("1 orders were placed, and are not in the table as they were: 100", |seen| drop(seen.rows.pop()));
    fails("1 orders were placed, and are not in the table as they were: 9", |seen| {
        seen.rows[8].order.quantity = 9;
    });
    fails("1 orders have not ended: 9", |seen| seen.rows[8].status = Status::Received);
    fails("1 orders have not ended: 4", |seen| seen.rows[3].status = Status::Failed);
}

#[test]
fn a_service_that_is_not_left_alone_is_found() {
    fails("payments had 41 calls while it was away: at most 40 were promised", |seen| {
        let more = (0..33).map(|nth| at(3_500 + nth));
        seen.books[1].calls.extend(more);
        seen.books[1].calls.sort_unstable();
    });
    fails("payments had 4 calls in 100 ms when it was back, 4.00 times as many as before", |seen| {
        seen.books[1].calls.extend([at(6_001), at(6_002), at(6_003)]);
        seen.books[1].calls.sort_unstable();
    });
}

#[test]
fn a_story_in_which_nothing_fails_proves_nothing() {
    fails("no order waited when payments was back", |seen| seen.waiting.clear());
    fails("payments had 0 calls while it was away: too few", |seen| {
        seen.books[1].calls.retain(|call| !seen.outage.contains(call));
    });
    fails("no request came again", |seen| seen.books.iter_mut().for_each(|book| book.repeats = 0));
    fails("0 repaired by the operator (cannot repair a task)", |seen| {
        seen.repaired.clear();
        seen.not_repaired = Some("cannot repair a task".to_owned());
    });
    fails("3 cards were declined, and 2 orders undone", |seen| {
        (seen.rows[0].status, seen.placed[0].card) = (Status::Completed, "good".to_owned());
    });
}
