//! When calls succeeded again after the outage, judged from the ends of all calls. Pure.

use std::time::Duration;

/// Calls have recovered when, from then on to the end, nine in ten of any so many calls in a row succeeded. Fewer calls
/// could succeed by luck.
const ROW: usize = 20;
const MAX_BAD_IN_ROW: usize = ROW / 10;

/// The end of a call.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ended {
    /// By the script, so that every run has the same calls on either side of the return.
    pub(crate) made_at: Duration,
    pub(crate) is_ok: bool,
}

/// What became of the calls that were made after the service was back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Recovery {
    pub(crate) calls: u64,
    pub(crate) ok: u64,
    /// From the service's return until calls succeeded again; `None` if they did not before the end.
    pub(crate) after: Option<Duration>,
}

impl Recovery {
    /// Judges the calls of a run, in any order.
    pub(crate) fn judge(mut calls: Vec<Ended>, back_at: Duration) -> Self {
        calls.retain(|call| call.made_at >= back_at);
        calls.sort_unstable_by_key(|call| call.made_at);
        let count = |calls: usize| u64::try_from(calls).unwrap_or(u64::MAX);
        Self {
            calls: count(calls.len()),
            ok: count(calls.iter().filter(|call| call.is_ok).count()),
            after: recovered_at(&calls).map(|at| at.saturating_sub(back_at)),
        }
    }
}

fn recovered_at(calls: &[Ended]) -> Option<Duration> {
    let is_bad = |row: &[Ended]| row.iter().filter(|call| !call.is_ok).count() > MAX_BAD_IN_ROW;
    let good_from = calls.windows(ROW).rposition(is_bad).map_or(0, |last_bad| last_bad + 1);
    let from_success = &calls[good_from + calls[good_from..].iter().position(|call| call.is_ok)?..];
    if from_success.len() < ROW { None } else { from_success.first().map(|call| call.made_at) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A call every 10 ms from 1 s on, `#` ok and `x` not. The service is back after 1.1 s: the first ten are before.
    fn judge(calls: &str) -> Recovery {
        let made_at = |place: usize| Duration::from_millis(1_000 + 10 * u64::try_from(place).unwrap());
        let ends = calls.bytes().enumerate();
        let ends = ends.map(|(place, mark)| Ended { made_at: made_at(place), is_ok: mark == b'#' });
        Recovery::judge(ends.rev().collect(), Duration::from_millis(1_100))
    }

    #[test]
    fn calls_recover_at_the_first_success_of_a_lasting_row() {
        let (bad, good) = ("x".repeat(10), "#".repeat(20));
        for (after_return, expected) in [
            (good.clone(), Some(0)),
            (format!("{bad}{good}"), Some(100)),
            (format!("#{bad}{good}"), Some(110)),
            (format!("{bad}{good}x{good}xx{good}"), Some(100)),
            (format!("{bad}{good}xxx{good}"), Some(330)),
            (format!("{good}{bad}"), None),
            (format!("{bad}{}", "#".repeat(19)), None),
            (bad.clone(), None),
            ("#".repeat(19), None),
            (String::new(), None),
        ] {
            let after = judge(&format!("{bad}{after_return}")).after;
            assert_eq!(after.map(|after| after.as_millis()), expected, "{after_return}");
        }
    }

    #[test]
    fn calls_before_the_return_do_not_count() {
        let Recovery { calls, ok, .. } = judge("##########xx#");
        assert_eq!((calls, ok), (3, 1));
    }
}
