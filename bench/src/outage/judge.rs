//! What was seen, in figures.

use std::collections::HashMap;

use super::{CONCURRENT, Plan, Seen, THRESHOLD, edf};
use crate::figure::{Figure, Reach};

/// What was promised may be exceeded by so much over the rate before the outage.
pub const ABOVE: f64 = 1.25;
/// The time over which arrivals are counted.
const TENTH: f64 = 0.1;
/// The recovery is over so many seconds after the backlog is gone: what comes then comes as on any other day.
const OVER_AFTER: f64 = 5.0;

/// All figures of a drill, each with its promise.
#[must_use]
pub fn figures(plan: &Plan, seen: &Seen, name: &str, even: Option<Even>) -> Vec<Figure> {
    let figure = |what: &str, value: f64, unit| Figure::new(format!("{name}: {what}"), value, unit);
    let down = seen.calls.iter().filter(|call| call.began > seen.died && call.began < seen.back).count();
    let allowed = THRESHOLD as usize + CONCURRENT + seen.probes;
    let (backlog, drained) = drain(plan, seen);
    let bound = 1.5 * backlog / (ABOVE * f64::from(plan.rate) - f64::from(plan.rate_after));
    let zero = |what, count: usize| figure(what, number(count), "").reach(Reach::AtMost(0.0));
    let mut figures = vec![
        figure("tasks", number(seen.tasks.len()), ""),
        figure("calls begun while it was away", number(down), "calls")
            .against(
                format!("threshold + concurrent + {} probes", seen.probes),
                number(down) / number(allowed),
            )
            .reach(Reach::RatioAtMost(1.0)),
        figure("open tasks when it came back", backlog, "tasks"),
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
    ];
    figures.extend(most(plan, seen, name, even));
    figures
}

/// The most calls in a tenth of a second until all that waited are gone, with the promise; and as their callers sent them, where
/// that is known. What is sent and what arrives goes through threads and a socket of a machine that others use too: it is held to
/// what is seen of calls that are sent evenly, where that is more.
pub fn most(plan: &Plan, seen: &Seen, name: &str, even: Option<Even>) -> impl Iterator<Item = Figure> {
    let even = even.unwrap_or(Even { came: ABOVE, sent: ABOVE });
    let bound = |even: f64| Reach::RatioAtMost(((even * 100.0).ceil() / 100.0).max(ABOVE));
    let steady = f64::from(plan.rate) * TENTH;
    let figure = |what: &str, most: usize| {
        Figure::new(format!("{name}: most calls in 0.1 s after that{what}"), number(most), "calls")
            .against(format!("before: {steady}"), number(most) / steady)
    };
    let over = seen.back + drain(plan, seen).1 + OVER_AFTER;
    let within = |times: &mut dyn Iterator<Item = f64>| times.filter(|at| *at < over).collect::<Vec<_>>();
    let came = within(&mut seen.calls.iter().map(|call| call.began));
    let mut figures = vec![figure("", most_of(&tenths(seen.back, &came))).reach(bound(even.came))];
    if !seen.sent.is_empty() {
        let sent = within(&mut seen.sent.iter().copied());
        let sent = figure(", as they were sent", most_of(&tenths(seen.back, &sent)));
        figures.push(sent.reach(bound(even.sent)));
        let tenths = tenths(seen.back, &came);
        let above = tenths.iter().filter(|calls| number(**calls) > ABOVE * steady).count();
        let name =
            format!("{name}: calls at the end of a 0.1 s with more than {ABOVE} times as many as before");
        figures.push(Figure::new(name, 100.0 * number(above) / number(tenths.len()), "%"));
    }
    figures.into_iter()
}

/// The most calls in a tenth of a second that arrive when nothing but an even sender is at work, against the rate before.
#[must_use]
pub fn evenly(plan: &Plan, seen: &Seen, name: &str) -> (Vec<Figure>, Even) {
    let steady = f64::from(plan.rate) * TENTH;
    let mut came: Vec<_> = seen.calls.iter().map(|call| call.began).collect();
    came.sort_by(f64::total_cmp);
    let figure = |what: &str, times: &[f64]| {
        let most = number(most_of(&tenths(seen.back, times)));
        Figure::new(format!("{name}: most calls in 0.1 s{what}"), most, "calls")
            .against(format!("before: {steady}"), most / steady)
    };
    let ratio = |times: &[f64]| number(most_of(&tenths(seen.back, times))) / steady;
    let even = Even { came: ratio(&came), sent: ratio(&seen.sent) };
    (vec![figure("", &came), figure(", as they were sent", &seen.sent)], even)
}

/// How many times as many as before an even sender has in its worst tenth of a second.
#[derive(Clone, Copy, Debug)]
pub struct Even {
    /// As they arrived.
    pub came: f64,
    /// As they were sent.
    pub sent: f64,
}

fn most_of(tenths: &[usize]) -> usize {
    tenths.iter().copied().max().unwrap_or(0)
}

/// How many calls began in each tenth of a second.
#[must_use]
pub fn by_tenths(seen: &Seen) -> Vec<u32> {
    let mut counts = Vec::new();
    for call in &seen.calls {
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "some minutes")]
        let tenth = (call.began / TENTH) as usize;
        if counts.len() <= tenth {
            counts.resize(tenth + 1, 0);
        }
        counts[tenth] += 1;
    }
    counts
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

/// For each of these times, which are in order, since the service is back: how many lie in the tenth of a second that it ends.
fn tenths(back: f64, times: &[f64]) -> Vec<usize> {
    let after = &times[times.partition_point(|at| *at < back)..];
    let mut first = 0;
    let within = |(nth, at): (usize, &f64)| {
        while after[first] <= at - TENTH {
            first += 1;
        }
        nth + 1 - first
    };
    after.iter().enumerate().map(within).collect()
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
    let open = Open::of(seen);
    let few = number(open.at(seen.died - 0.001))
        + f64::from(plan.rate_after) * 3.0 * plan.call.as_secs_f64()
        + 10.0;
    let mut later = open.ended.iter().filter(|at| **at > seen.back);
    let drained = later.find(|at| number(open.at(**at)) <= few);
    (number(open.at(seen.back)), drained.map_or(f64::INFINITY, |at| at - seen.back))
}

/// When tasks were submitted and ended, each in order: so many are open as were submitted and have not ended.
struct Open {
    submitted: Vec<f64>,
    ended: Vec<f64>,
}

impl Open {
    fn of(seen: &Seen) -> Self {
        let mut submitted: Vec<_> = seen.tasks.iter().map(|task| task.submitted).collect();
        let mut ended: Vec<_> = seen.tasks.iter().filter_map(|task| task.ended).collect();
        submitted.sort_by(f64::total_cmp);
        ended.sort_by(f64::total_cmp);
        Self { submitted, ended }
    }

    fn at(&self, at: f64) -> usize {
        let until = |times: &Vec<f64>| times.partition_point(|time| *time <= at);
        until(&self.submitted) - until(&self.ended)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outage::{Call, Task};

    fn seen(calls: &[f64], tasks: &[(f64, Option<f64>)]) -> Seen {
        let call = |(nth, began): (usize, &f64)| Call { began: *began, key: nth.to_string(), done: true };
        let task = |(submitted, ended): &(f64, Option<f64>)| Task {
            submitted: *submitted,
            deadline: None,
            ended: *ended,
            completed: ended.is_some(),
        };
        Seen {
            died: 10.0,
            back: 20.0,
            calls: calls.iter().enumerate().map(call).collect(),
            tasks: tasks.iter().map(task).collect(),
            ..Seen::default()
        }
    }

    #[test]
    fn a_tenth_of_a_second_is_any_one_and_not_one_of_a_grid() {
        let seen = seen(&[19.99, 20.06, 20.09, 20.12, 20.155, 20.3], &[]);
        let began: Vec<_> = seen.calls.iter().map(|call| call.began).collect();
        assert_eq!(tenths(seen.back, &began), [1, 2, 3, 4, 1]);
        assert_eq!(by_tenths(&seen)[199..], [1, 2, 2, 0, 1]);
    }

    #[test]
    fn a_backlog_is_drained_when_as_few_are_open_as_before() {
        let plan = Plan { rate_after: 0, ..Plan::default() };
        let waited = (0..30_u32).map(|nth| (15.0, Some(21.0 + f64::from(nth))));
        let seen = seen(&[], &waited.collect::<Vec<_>>());
        // Ten may be left: it is so when the twentieth ends.
        assert_eq!(drain(&plan, &seen), (30.0, 20.0));
    }

    #[test]
    fn what_has_no_end_is_lost_and_what_was_done_twice_is_doubled() {
        let mut seen = seen(&[1.0, 2.0, 3.0], &[(1.0, Some(2.0)), (2.0, None)]);
        seen.calls[2].key = "0".into();
        let figures = figures(&Plan::default(), &seen, "x", None);
        let value =
            |what: &str| figures.iter().find(|figure| figure.name.contains(what)).map(|figure| figure.value);
        assert_eq!((value("lost"), value("doubled")), (Some(1.0), Some(1.0)));
    }
}
