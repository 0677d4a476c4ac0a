//! The best that could have been done: an offline schedule by earliest deadline, over the calls that were made.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::Seen;

/// So long before a call it has to be decided whose it is: that is written first. The ramp gives its turns up to 50 ms ahead,
/// and the machine's coarse clock is off by up to 10 ms.
const DECIDED_AHEAD: f64 = 0.06;

/// How many more deadlines an offline schedule would have met: one that makes its calls at the very moments at which calls
/// that went well were made, and always takes the nearest deadline that can still be met. For calls of one length there is
/// none that meets more (a greedy matching in a convex graph is a maximum one). Where not all can be met, it may be others
/// that are: what counts is how many.
#[must_use]
pub fn missed_for_nothing(seen: &Seen, call: f64) -> usize {
    let with_deadline = |met: &dyn Fn(usize) -> bool| {
        (0..seen.tasks.len()).filter(|nth| seen.tasks[*nth].deadline.is_some() && met(*nth)).count()
    };
    let offline = met_offline(seen, call);
    with_deadline(&|nth| offline[nth]).saturating_sub(with_deadline(&|nth| seen.tasks[nth].completed))
}

/// Which tasks the offline schedule serves in time.
fn met_offline(seen: &Seen, call: f64) -> Vec<bool> {
    let mut met = vec![false; seen.tasks.len()];
    let mut by_arrival: Vec<_> = (0..seen.tasks.len()).collect();
    by_arrival.sort_by(|one, other| seen.tasks[*one].submitted.total_cmp(&seen.tasks[*other].submitted));
    let mut arriving = by_arrival.into_iter().peekable();
    let mut waiting = BinaryHeap::new();
    for slot in seen.calls.iter().filter(|call| call.done).map(|call| call.began) {
        while let Some(nth) = arriving.next_if(|nth| seen.tasks[*nth].submitted <= slot) {
            waiting.push(Reverse((Order(seen.tasks[nth].deadline.unwrap_or(f64::INFINITY)), nth)));
        }
        while let Some(Reverse((deadline, nth))) = waiting.pop() {
            if slot + call + DECIDED_AHEAD < deadline.0 {
                met[nth] = true;
                break;
            }
        }
    }
    met
}

#[derive(Clone, Copy, PartialEq)]
struct Order(f64);

impl Eq for Order {}

impl Ord for Order {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Order {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outage::{Call, Task};

    #[test]
    fn the_nearest_deadline_that_can_be_met_has_the_next_call() {
        let call = |began| Call { began, key: String::new(), done: true };
        let task = |deadline| Task { submitted: 0.0, deadline, ended: Some(9.0), completed: false };
        let tasks = vec![task(None), task(Some(5.0)), task(Some(2.0)), task(Some(0.5))];
        let seen = Seen { calls: vec![call(1.0), call(3.0)], tasks, ..Seen::default() };
        assert_eq!(met_offline(&seen, 0.5), [false, true, true, false]);
        assert_eq!(missed_for_nothing(&seen, 0.5), 2);
        assert_eq!(missed_for_nothing(&seen, 4.5), 0, "nobody could have met them");
    }
}
