//! The waits of a retry policy, measured by asking it: many calls whose every attempt fails at once.

use std::time::Duration;

use crate::classify::{Kind, Verdict};
use crate::clock::Moment;
use crate::random::Rng;
use crate::retry::{At, Decision, Retry, Stop};

/// Calls that are asked for their waits: enough for a mean within one in a hundred.
const CALLS: u32 = 4_000;
/// More waits than this are not listed.
const WAITS_MAX: usize = 1_000;

/// The waits before each retry of a call that never succeeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Waits {
    waits: Vec<Wait>,
    stop: Stop,
}

/// The wait before one retry.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct Wait {
    /// The shortest that was drawn.
    pub shortest: Duration,
    /// The mean of all.
    pub mean: Duration,
    /// The longest that was drawn.
    pub longest: Duration,
}

impl Waits {
    /// Asks the policy for the waits of many calls.
    #[must_use]
    pub fn of(retry: &Retry, seed: u64) -> Self {
        let mut sums: Vec<Sum> = Vec::new();
        let mut stop = Stop::NoRetry;
        for call in 0..CALLS {
            let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed ^ (u64::from(call) << 32)));
            let mut now = Moment::ZERO;
            for number in 0..=WAITS_MAX {
                match retry.next(&mut state, &Verdict::transient(Kind::CONNECT_REFUSED), At::now(now)) {
                    Decision::Stop(why) => {
                        stop = why;
                        break;
                    }
                    Decision::After(wait) if number < WAITS_MAX => {
                        now = now + wait;
                        if sums.len() == number {
                            sums.push(Sum::default());
                        }
                        sums[number].add(wait);
                    }
                    Decision::After(_) => break,
                }
            }
        }
        Self { waits: sums.into_iter().map(Sum::finish).collect(), stop }
    }

    /// One for each retry, in their order.
    #[must_use]
    pub fn all(&self) -> &[Wait] {
        &self.waits
    }

    /// Why there is no further retry.
    #[must_use]
    pub fn stop(&self) -> Stop {
        self.stop
    }

    /// When each attempt begins, with mean waits and attempts that fail at once; the first one at zero.
    #[must_use]
    pub fn attempts(&self) -> Vec<Duration> {
        let mut at = Duration::ZERO;
        let mut attempts = vec![at];
        for wait in &self.waits {
            at = at.saturating_add(wait.mean);
            attempts.push(at);
        }
        attempts
    }

    /// The longest that all waits can take together, as far as they were drawn.
    #[must_use]
    pub fn longest(&self) -> Duration {
        self.waits.iter().map(|wait| wait.longest).fold(Duration::ZERO, Duration::saturating_add)
    }
}

#[derive(Default)]
struct Sum {
    shortest: Option<Duration>,
    longest: Duration,
    total: f64,
    count: u32,
}

impl Sum {
    fn add(&mut self, wait: Duration) {
        self.shortest = Some(self.shortest.map_or(wait, |shortest| shortest.min(wait)));
        self.longest = self.longest.max(wait);
        self.total += wait.as_secs_f64();
        self.count += 1;
    }

    fn finish(self) -> Wait {
        let mean = Duration::try_from_secs_f64(self.total / f64::from(self.count.max(1)));
        Wait {
            shortest: self.shortest.unwrap_or_default(),
            mean: mean.unwrap_or(Duration::MAX),
            longest: self.longest,
        }
    }
}
