//! Runs beside each other.

use std::sync::{Mutex, PoisonError};

/// So many runs at a time: CI has two cores.
const AT_ONCE: usize = 2;

/// Does all of these, two at a time; what came of each, in their order.
pub(super) fn each<J: Sync, T: Send>(jobs: &[J], work: impl Fn(&J) -> T + Sync) -> Vec<T> {
    let (next, done) = (Mutex::new(jobs.iter().enumerate()), Mutex::new(Vec::new()));
    let take = || next.lock().unwrap_or_else(PoisonError::into_inner).next();
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some((place, job)) = take() {
                    let came = work(job);
                    done.lock().unwrap_or_else(PoisonError::into_inner).push((place, came));
                }
            });
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(place, _)| *place);
    done.into_iter().map(|(_, came)| came).collect()
}

#[cfg(test)]
mod tests {
    use super::each;

    #[test]
    fn all_are_done_and_told_in_their_order() {
        let jobs: Vec<_> = (0..100).collect();
        assert_eq!(each(&jobs, |job| job * 2), jobs.iter().map(|job| job * 2).collect::<Vec<_>>());
    }
}
