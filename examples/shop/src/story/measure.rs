//! Figures of calls by their times. Pure.

use std::ops::Range;
use std::time::Duration;

use steadfast_resilience::clock::Moment;

/// How long the windows are in which calls are counted.
pub(crate) const WINDOW: Duration = Duration::from_millis(100);

/// How many calls came in this time.
pub(crate) fn between(calls: &[Moment], time: &Range<Moment>) -> usize {
    calls.iter().filter(|at| time.contains(at)).count()
}

/// The mean of calls in a second of this time.
pub(crate) fn rate(calls: &[Moment], time: &Range<Moment>) -> f64 {
    let seconds = time.end.since(time.start).as_secs_f64();
    if seconds > 0.0 { count(between(calls, time)) / seconds } else { 0.0 }
}

/// The most calls in any window of this time. The calls are in order.
pub(crate) fn peak(calls: &[Moment], time: &Range<Moment>) -> usize {
    let calls: Vec<_> = calls.iter().filter(|at| time.contains(at)).collect();
    let (mut first, mut most) = (0, 0);
    for (nth, at) in calls.iter().enumerate() {
        while at.since(*calls[first]) >= WINDOW {
            first += 1;
        }
        most = most.max(nth + 1 - first);
    }
    most
}

/// A count as a number for shares.
pub(crate) fn count(of: usize) -> f64 {
    u32::try_from(of).map_or(f64::MAX, f64::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: &[u64]) -> Vec<Moment> {
        millis.iter().map(|at| Moment::ZERO + Duration::from_millis(*at)).collect()
    }

    fn time(from: u64, until: u64) -> Range<Moment> {
        let ends = at(&[from, until]);
        ends[0]..ends[1]
    }

    #[test]
    fn the_peak_is_that_of_any_window_wherever_it_begins() {
        let calls = at(&[0, 90, 110, 120, 189, 190, 500]);
        assert_eq!(peak(&calls, &time(0, 1_000)), 4, "from 90 to 189");
        assert_eq!(peak(&calls, &time(0, 100)), 2);
        assert_eq!(peak(&calls, &time(600, 1_000)), 0);
        assert_eq!(peak(&at(&[0, 100]), &time(0, 1_000)), 1, "a tenth later is another window");
    }

    #[test]
    fn the_rate_is_a_mean() {
        let calls = at(&[0, 100, 200, 999, 1_000]);
        assert!((rate(&calls, &time(0, 2_000)) - 2.5).abs() < 1e-9);
        assert!(rate(&calls, &time(5, 5)).abs() < 1e-9);
    }
}
