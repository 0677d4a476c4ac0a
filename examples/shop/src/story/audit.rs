//! Whether all is as promised: the services' ledgers against the orders' table. Pure, and from outside: the engine is not asked.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::time::Duration;

use steadfast_resilience::clock::Moment;

use super::measure::{WINDOW, between, count, peak, rate};
use super::plan::Plan;
use super::report::{EffectFigures, OrderFigures, OutageFigures, RecoveryFigures, Report};
use crate::ledger::Entry;
use crate::order::{Order, Row, Status};
use crate::promise::{TRIP_AFTER, most_calls_while_away};
use crate::service::Kind;

/// From here on the peak after the outage is a failure. 1.25 is what is aimed at; on a machine that others use too, calls
/// arrive closer to each other than they were sent.
const WORST_PEAK: f64 = 2.0;
/// How many orders a sentence names.
const NAMED: usize = 5;

/// What a service has seen and done.
#[derive(Clone, Debug)]
pub(crate) struct Book {
    pub(crate) kind: Kind,
    pub(crate) entries: Vec<Entry>,
    /// When calls came, in order.
    pub(crate) calls: Vec<Moment>,
    pub(crate) repeats: u64,
}

/// All that was seen of a story.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) seed: u64,
    pub(crate) took: Duration,
    /// The whole table.
    pub(crate) rows: Vec<Row>,
    /// The orders that the story has placed, as they were placed.
    pub(crate) placed: Vec<Order>,
    /// The orders that the operator has repaired.
    pub(crate) repaired: BTreeSet<i64>,
    /// What the operator could not do, in words.
    pub(crate) not_repaired: Option<String>,
    pub(crate) books: [Book; 3],
    /// When the traffic was as ever.
    pub(crate) steady: Range<Moment>,
    pub(crate) outage: Range<Moment>,
    /// When payments was back, by the table's clock.
    pub(crate) back_at_ms: i64,
    /// Orders that had not ended then.
    pub(crate) waiting: BTreeSet<i64>,
}

/// Judges a story.
pub(crate) fn audit(seen: &Seen) -> Report {
    let rows: HashMap<i64, &Row> = seen.rows.iter().map(|row| (row.number(), row)).collect();
    let mut failed = Vec::new();
    let orders = orders(seen, &rows, &mut failed);
    let effects = effects(seen, &rows, &mut failed);
    let outage = outage(seen, &mut failed);
    let recovery = recovery(seen, &rows, &mut failed);
    told(seen, &orders, &effects, &mut failed);
    let took_ms = millis(seen.took);
    Report { ok: failed.is_empty(), failed, seed: seen.seed, took_ms, orders, effects, outage, recovery }
}

/// Every order has ended, and is what it was.
fn orders(seen: &Seen, rows: &HashMap<i64, &Row>, failed: &mut Vec<String>) -> OrderFigures {
    let status = |order: &Order| rows.get(&order.order).map(|row| row.status);
    let with = |wanted: Status| seen.placed.iter().filter(|order| status(order) == Some(wanted)).count();
    let missing =
        seen.placed.iter().filter(|order| rows.get(&order.order).is_none_or(|row| row.order != **order));
    complain(failed, "were placed, and are not in the table as they were", missing.map(|order| order.order));
    let open = seen.placed.iter().filter(|order| status(order).is_some_and(|status| !status.has_ended()));
    complain(failed, "have not ended", open.map(|order| order.order));
    let repaired = seen.placed.iter().filter(|order| seen.repaired.contains(&order.order));
    let repaired = repaired.filter(|order| status(order) == Some(Status::Completed)).count();
    let (completed, undone) = (with(Status::Completed), with(Status::Undone));
    let placed = seen.placed.len();
    OrderFigures { placed, completed, undone, not_ended: placed - completed - undone, repaired }
}

/// Each order has exactly the effects that its status says.
fn effects(seen: &Seen, rows: &HashMap<i64, &Row>, failed: &mut Vec<String>) -> EffectFigures {
    let mut figures = EffectFigures::default();
    let placed: HashMap<i64, &Order> = seen.placed.iter().map(|order| (order.order, order)).collect();
    for book in &seen.books {
        let name = book.kind.name();
        let mut made: BTreeMap<i64, Vec<&Entry>> = BTreeMap::new();
        for entry in &book.entries {
            made.entry(entry.order).or_default().push(entry);
        }
        let standing = |number: i64| {
            made.get(&number).map_or(0, |made| made.iter().filter(|entry| !entry.taken_back).count())
        };
        let with = |status: Status| {
            let orders = seen.placed.iter().map(|order| order.order);
            orders.filter(move |number| rows.get(number).is_some_and(|row| row.status == status))
        };
        let lost: Vec<_> = with(Status::Completed).filter(|number| standing(*number) == 0).collect();
        let left: Vec<_> = with(Status::Undone).filter(|number| standing(*number) > 0).collect();
        let doubled: Vec<_> =
            made.iter().filter(|(_, made)| made.len() > 1).map(|(number, _)| *number).collect();
        let strange = made.keys().copied().filter(|number| !rows.contains_key(number));
        figures.lost += lost.len();
        figures.doubled += left.len() + doubled.len();
        figures.standing += book.entries.iter().filter(|entry| !entry.taken_back).count();
        figures.taken_back += book.entries.iter().filter(|entry| entry.taken_back).count();
        figures.answered_as_before += book.repeats;
        complain(failed, &format!("completed, and {name} has nothing for them"), lost);
        complain(failed, &format!("were undone, and still have something at {name}"), left);
        complain(failed, &format!("have something twice at {name}"), doubled);
        complain(failed, &format!("are not in the table, and have something at {name}"), strange);
        let wrong = book.entries.iter().filter(|entry| {
            let order = placed.get(&entry.order);
            order.is_some_and(|order| !fits(book.kind, order, entry, &seen.repaired))
        });
        complain(
            failed,
            &format!("have something else at {name} than was ordered"),
            wrong.map(|entry| entry.order),
        );
    }
    figures
}

/// Whether a service has done what the order says. What an operator has edited is as the operator wants it.
fn fits(kind: Kind, order: &Order, entry: &Entry, repaired: &BTreeSet<i64>) -> bool {
    let goods = entry.asked["sku"] == *order.sku && entry.asked["quantity"] == order.quantity;
    match kind {
        Kind::Inventory => goods,
        Kind::Payments => entry.asked["amount_cents"] == order.total_cents,
        Kind::Shipping => goods || repaired.contains(&order.order),
    }
}

/// Payments was left alone while it was away.
fn outage(seen: &Seen, failed: &mut Vec<String>) -> OutageFigures {
    let [_, payments, _] = &seen.books;
    let lasted = seen.outage.end.since(seen.outage.start);
    let (calls, most_calls) = (between(&payments.calls, &seen.outage), most_calls_while_away(lasted));
    if u64::try_from(calls).unwrap_or(u64::MAX) > most_calls {
        failed.push(format!(
            "payments had {calls} calls while it was away: at most {most_calls} were promised"
        ));
    }
    OutageFigures { lasted_ms: millis(lasted), calls, most_calls, waiting: seen.waiting.len() }
}

/// Payments was met gently when it was back.
fn recovery(seen: &Seen, rows: &HashMap<i64, &Row>, failed: &mut Vec<String>) -> RecoveryFigures {
    let [_, payments, _] = &seen.books;
    let ended = seen.waiting.iter().filter(|number| !seen.repaired.contains(number));
    let ended = ended.filter_map(|number| rows.get(number)).map(|row| row.changed_at_ms).max();
    let drained_ms = u64::try_from(ended.unwrap_or(seen.back_at_ms) - seen.back_at_ms).unwrap_or(0);
    let after = seen.outage.end..seen.outage.end + Duration::from_millis(drained_ms);
    let steady_per_second = rate(&payments.calls, &seen.steady);
    let (peak_before, peak_after) = (peak(&payments.calls, &seen.steady), peak(&payments.calls, &after));
    let usual = steady_per_second * WINDOW.as_secs_f64();
    let peak_ratio = if usual > 0.0 { count(peak_after) / usual } else { 0.0 };
    // Whole calls are counted: with a few in a window, one more is no herd.
    if count(peak_after) > WORST_PEAK * usual + 1.0 {
        failed.push(format!(
            "payments had {peak_after} calls in 100 ms when it was back, {peak_ratio:.2} times as many as before: more \
             than {WORST_PEAK} times is a herd"
        ));
    }
    RecoveryFigures { steady_per_second, peak_before, peak_after, peak_ratio, drained_ms }
}

/// What the story is about has happened: one in which nothing fails proves nothing.
fn told(seen: &Seen, orders: &OrderFigures, effects: &EffectFigures, failed: &mut Vec<String>) {
    let [_, payments, _] = &seen.books;
    let (declined, poisoned) = Plan::odd_orders();
    let calls = between(&payments.calls, &seen.outage);
    let facts = [
        (
            orders.undone >= declined,
            format!("{declined} cards were declined, and {} orders undone", orders.undone),
        ),
        (
            orders.repaired >= poisoned,
            format!(
                "{poisoned} order was poisoned, and {} repaired by the operator{}",
                orders.repaired,
                seen.not_repaired.as_ref().map(|words| format!(" ({words})")).unwrap_or_default()
            ),
        ),
        (
            calls >= usize::try_from(TRIP_AFTER).unwrap_or(usize::MAX),
            format!("payments had {calls} calls while it was away: too few for anybody to notice"),
        ),
        (!seen.waiting.is_empty(), "no order waited when payments was back".to_owned()),
        (effects.answered_as_before > 0, "no request came again: no answer was lost".to_owned()),
    ];
    failed.extend(facts.into_iter().filter(|(is_so, _)| !is_so).map(|(_, words)| words));
}

/// Says what is wrong with orders, if there are such.
fn complain(failed: &mut Vec<String>, words: &str, orders: impl IntoIterator<Item = i64>) {
    let orders: BTreeSet<_> = orders.into_iter().collect();
    if orders.is_empty() {
        return;
    }
    let named: Vec<_> = orders.iter().take(NAMED).map(ToString::to_string).collect();
    let more = if orders.len() > NAMED { ", ..." } else { "" };
    failed.push(format!("{} orders {words}: {}{more}", orders.len(), named.join(", ")));
}

fn millis(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
