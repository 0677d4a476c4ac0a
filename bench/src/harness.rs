//! Runs cases in interleaved rounds: every case once a round, each round begun with another case, so that a slow
//! moment of the machine hits all of them alike. The first round warms up and is dropped.

use anyhow::Result;

use crate::case::{Case, Role, Set};

/// Calls whose allocations are counted, apart from the timing and after it, so that everything is warm.
const COUNTED: u32 = 1_000;

/// How much is measured.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Rounds that count.
    pub rounds: usize,
    /// Calls for each case and round.
    pub calls: u32,
}

/// What one case came to.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The case's set.
    pub set: Set,
    /// Its name within the set.
    pub who: &'static str,
    /// Whose it is.
    pub role: Role,
    /// Nanoseconds for one call, by round.
    pub rounds: Vec<f64>,
    /// Allocations of one call.
    pub allocations: f64,
}

impl Measured {
    /// Nanoseconds for one call.
    #[must_use]
    pub fn nanos(&self) -> f64 {
        median(&self.rounds)
    }
}

/// Measures every case.
///
/// # Errors
/// A case whose calls did not go as they should.
pub fn measure(mut cases: Vec<Case>, plan: Plan, mut progress: impl FnMut(usize)) -> Result<Vec<Measured>> {
    let mut laps: Vec<Vec<f64>> = cases.iter().map(|_| Vec::with_capacity(plan.rounds)).collect();
    let warm_up = 1;
    for round in 0..plan.rounds + warm_up {
        progress(round);
        for turn in 0..cases.len() {
            let place = (turn + round) % cases.len();
            let lap = cases[place].run(plan.calls.into())?;
            if round >= warm_up {
                laps[place].push(lap.elapsed.as_secs_f64() * 1e9 / f64::from(plan.calls));
            }
        }
    }
    cases.iter_mut().zip(laps).map(|(case, rounds)| finish(case, rounds)).collect()
}

#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn finish(case: &mut Case, rounds: Vec<f64>) -> Result<Measured> {
    let counted = case.run(COUNTED.into())?.allocations;
    let allocations = counted as f64 / f64::from(COUNTED);
    Ok(Measured { set: case.set, who: case.who, role: case.role, rounds, allocations })
}

/// The middle one, or the mean of the two in the middle; 0 for none.
#[must_use]
pub fn median(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => 0.0,
        length if length % 2 == 1 => sorted[middle],
        _ => f64::midpoint(sorted[middle - 1], sorted[middle]),
    }
}

/// The median of the ratios round by round: what slowed a whole round down cancels out.
#[must_use]
pub fn median_ratio(ours: &Measured, theirs: &Measured) -> f64 {
    let ratios: Vec<_> = ours.rounds.iter().zip(&theirs.rounds).map(|(ours, theirs)| ours / theirs).collect();
    median(&ratios)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle_of_any_number_of_values() {
        assert!(median(&[]).abs() < f64::EPSILON);
        assert!((median(&[3.0, 1.0, 2.0]) - 2.0).abs() < f64::EPSILON);
        assert!((median(&[4.0, 1.0, 3.0, 2.0]) - 2.5).abs() < f64::EPSILON);
    }

    #[test]
    fn a_slow_round_does_not_move_a_ratio() {
        let measured = |rounds: &[f64]| Measured {
            set: Set::Bare,
            who: "x",
            role: Role::Other,
            rounds: rounds.to_vec(),
            allocations: 0.0,
        };
        let ratio = median_ratio(&measured(&[10.0, 500.0, 12.0]), &measured(&[20.0, 1_000.0, 24.0]));
        assert!((ratio - 0.5).abs() < f64::EPSILON);
    }

    #[test]
    fn every_case_runs_in_every_round_and_the_first_is_dropped() {
        let bare = || Case::one_thread(Set::Bare, "x", Role::Other, async || Ok(async |_| true)).unwrap();
        let plan = Plan { rounds: 3, calls: 10 };
        let mut seen = Vec::new();
        let measured = measure(vec![bare(), bare()], plan, |round| seen.push(round)).unwrap();
        assert_eq!(seen, [0, 1, 2, 3]);
        assert!(measured.iter().all(|case| case.rounds.len() == 3));
    }

    #[test]
    fn a_call_with_another_outcome_than_its_set_says_is_an_error() {
        let refused = Case::one_thread(Set::Bare, "x", Role::Other, async || Ok(async |_| false)).unwrap();
        let error = measure(vec![refused], Plan { rounds: 1, calls: 2 }, |_| ()).unwrap_err();
        assert_eq!(error.to_string(), "bare call: x: 0 of 2 calls succeeded");
    }
}
