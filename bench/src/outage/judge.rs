//! What was seen, in figures.

use std::collections::HashMap;

use super::{CONCURRENT, Plan, Seen, THRESHOLD, edf};
use crate::figure::{Figure, Reach};

/// What was promised may be exceeded by so much over the rate before the outage.
const ABOVE: f64 = 1.25;
/// The time over which arrivals are counted.
const TENTH: f64 = 0.1;

/// All figures of a drill, each with its promise.
#[must_use]
pub fn figures(plan: &Plan, seen: &Seen, name: &str) -> Vec<Figure> {
    let figure = |what: &str, value: f64, unit| Figure::new(format!("{name}: {what}"), value, unit);
    let down = seen.calls.iter().filter(|call| call.began > seen.died && call.began < seen.back).count();
    let allowed = THRESHOLD as usize + CONCURRENT + seen.probes;
    let (backlog, drained) = drain(plan, seen);
    let bound = 1.5 * backlog / (ABOVE * f64::from(plan.rate) - f64::from(plan.rate_after));
    let most = most_in_a_tenth(seen);
    let steady = f64::from(plan.rate) * TENTH;
    let zero = |what, count: usize| figure(what, number(count), "").reach(Reach::AtMost(0.0));
    vec![
        figure("tasks", number(seen.tasks.len()), ""),
        figure("calls begun while it was away", number(down), "calls")
            .against(
                format!("threshold + concurrent + {} probes", seen.probes),
                number(down) / number(allowed),
            )
            .reach(Reach::RatioAtMost(1.0)),
        figure("open tasks when it came back", backlog, "tasks"),
        figure("most calls in 0.1 s after that", number(most), "calls")
            .against(format!("before: {steady}"), number(most) / steady)
            .reach(Reach::RatioAtMost(ABOVE)),
        figure("time to drain", drained, "s")
            .against("backlog / (cap - arrivals)", drained / (bound / 1.5))
            .reach(Reach::RatioAtMost(1.5)),
        zero("tasks lost", seen.tasks.iter().filter(|task| task.ended.is_none()).count()),
        zero("effects doubled", doubled(seen)),
        zero(
            "deadlines met fewer than by an offline schedule",
            edf::missed_for_nothing(seen, plan.call.as_secs_f64()),
        ),
        figure("calls done too late", number(in_vain(seen)), "calls"),
        figure("deadlines missed", number(missed(seen)), "tasks"),
    ]
}

#[expect(clippy::cast_precision_loss, reason = "some thousands")]
fn number(count: usize) -> f64 {
    count as f64
}

/// Calls that the service did, for tasks that did not complete.
fn in_vain(seen: &Seen) -> usize {
    let done = seen.calls.iter().filter(|call| call.done).count();
    done.saturating_sub(seen.tasks.iter().filter(|task| task.completed).count())
}

/// Tasks that were not done in time: while the service was away nobody could.
fn missed(seen: &Seen) -> usize {
    seen.tasks.iter().filter(|task| !task.completed).count()
}

/// The most calls that began within any tenth of a second since the service is back.
#[must_use]
pub fn most_in_a_tenth(seen: &Seen) -> usize {
    let after: Vec<_> =
        seen.calls.iter().map(|call| call.began).filter(|began| *began >= seen.back).collect();
    let mut first = 0;
    let within = |(nth, began): (usize, &f64)| {
        while after[first] <= began - TENTH {
            first += 1;
        }
        nth + 1 - first
    };
    after.iter().enumerate().map(within).max().unwrap_or(0)
}

/// Calls under a key that the service had done before.
fn doubled(seen: &Seen) -> usize {
    let mut done = HashMap::<&str, usize>::new();
    for call in seen.calls.iter().filter(|call| call.done) {
        *done.entry(&call.key).or_default() += 1;
    }
    done.values().map(|times| times - 1).sum()
}

/// How many tasks were open when the service came back, and how long it took until no more were than before it died.
#[must_use]
pub fn drain(plan: &Plan, seen: &Seen) -> (f64, f64) {
    let open_at = |at: f64| {
        let open = |task: &&super::Task| task.submitted <= at && task.ended.is_none_or(|ended| ended > at);
        seen.tasks.iter().filter(open).count()
    };
    let backlog = open_at(seen.back);
    let few = number(open_at(seen.died - 0.001))
        + f64::from(plan.rate_after) * 3.0 * plan.call.as_secs_f64()
        + 10.0;
    let mut ends: Vec<_> =
        seen.tasks.iter().filter_map(|task| task.ended).filter(|at| *at > seen.back).collect();
    ends.sort_by(f64::total_cmp);
    let drained = ends.iter().step_by(20).find(|at| number(open_at(**at)) <= few);
    (number(backlog), drained.map_or(f64::INFINITY, |at| at - seen.back))
}
