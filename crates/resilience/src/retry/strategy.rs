//! The waits: how long before retry n, for each strategy and jitter. Pure; all arithmetic saturates.

use std::sync::Arc;
use std::time::Duration;

use super::jitter::Jitter;
use super::policy::Policy;
use crate::clock::scaled;
use crate::random::Rng;

/// How the wait grows from one failure to the next.
#[derive(Clone, Debug)]
pub(crate) enum Strategy {
    /// One retry without a wait, then no more.
    Immediate,
    /// The same wait each time.
    Fixed(Duration),
    /// Each wait longer than the one before by `step`.
    Incremental { first: Duration, step: Duration },
    /// A list of waits; after the last, no more.
    Schedule(Arc<[Duration]>),
    /// Twice as long each time, up to `max`.
    Exponential { min: Duration, delta: Duration, max: Duration },
    /// What the service asks for; what the fallback says when it asks for nothing.
    Adaptive(Box<Strategy>),
    /// The user's own.
    Custom(Arc<dyn Policy>),
}

/// The draw for one wait.
#[derive(Debug)]
pub(crate) struct Draw<'a> {
    pub(crate) jitter: Jitter,
    /// The wait before this one, for decorrelated jitter.
    pub(crate) previous: Duration,
    pub(crate) rng: &'a mut Rng,
}

impl Strategy {
    /// Exponential with the defaults.
    pub(crate) const fn standard_exponential() -> Self {
        Self::Exponential {
            min: Duration::from_millis(100),
            delta: Duration::from_millis(200),
            max: Duration::from_secs(10),
        }
    }

    /// The wait after failure `n` (the first is 0), or `None` when the strategy has ended.
    ///
    /// Not for [`Strategy::Custom`], which keeps state: it answers `None`, and the caller asks the policy instead.
    pub(crate) fn wait(&self, n: u32, draw: &mut Draw<'_>) -> Option<Duration> {
        match self {
            Self::Immediate => (n == 0).then_some(Duration::ZERO),
            Self::Fixed(wait) => Some(spread(*wait, *wait, draw)),
            Self::Incremental { first, step } => {
                Some(spread(*first, first.saturating_add(step.saturating_mul(n)), draw))
            }
            Self::Schedule(waits) => {
                let wait = waits.get(usize::try_from(n).ok()?)?;
                Some(spread(*waits.first()?, *wait, draw))
            }
            Self::Exponential { min, delta, max } => Some(exponential(n, *min, *delta, *max, draw)),
            Self::Adaptive(fallback) => fallback.wait(n, draw),
            Self::Custom(_) => None,
        }
    }

    /// In one word, as policy files and logs have it.
    pub(crate) fn as_str(&self) -> &'static str {
        match self {
            Self::Immediate => "immediate",
            Self::Fixed(_) => "fixed",
            Self::Incremental { .. } => "incremental",
            Self::Schedule(_) => "schedule",
            Self::Exponential { .. } => "exponential",
            Self::Adaptive(_) => "adaptive",
            Self::Custom(_) => "custom",
        }
    }

    /// The user's own policy, if it is one.
    pub(crate) fn custom(&self) -> Option<&Arc<dyn Policy>> {
        match self {
            Self::Custom(policy) => Some(policy),
            Self::Adaptive(fallback) => fallback.custom(),
            _ => None,
        }
    }

    pub(crate) fn is_adaptive(&self) -> bool {
        matches!(self, Self::Adaptive(_))
    }

    /// The shortest that the wait before the first retry can be; zero when nobody can tell beforehand.
    pub(crate) fn shortest_first(&self, jitter: Jitter) -> Duration {
        let first = match self {
            // Its jitter moves only what grows, and nothing has grown yet.
            Self::Exponential { min, max, .. } => return *min.min(max),
            Self::Fixed(wait) | Self::Incremental { first: wait, .. } => *wait,
            Self::Schedule(waits) => waits.first().copied().unwrap_or_default(),
            Self::Immediate | Self::Adaptive(_) | Self::Custom(_) => Duration::ZERO,
        };
        match jitter {
            Jitter::None | Jitter::Decorrelated => first,
            Jitter::Proportional(share) => scaled(first, 1.0 - share),
            Jitter::Full => Duration::ZERO,
            Jitter::Equal => first / 2,
        }
    }

    /// The longest that the wait after failure `n` can be; zero when nobody can tell beforehand.
    #[cfg(feature = "policy")]
    pub(crate) fn longest(&self, n: u32, jitter: Jitter) -> Duration {
        let wait = match self {
            Self::Exponential { min, delta, max } => {
                return match jitter {
                    Jitter::None => grown(*min, *delta, *max, doubled(n) - 1.0, 1.0),
                    Jitter::Proportional(share) => grown(*min, *delta, *max, doubled(n) - 1.0, 1.0 + share),
                    Jitter::Full | Jitter::Equal => grown(*min, *delta, *max, doubled(n), 1.0),
                    Jitter::Decorrelated => *max,
                };
            }
            Self::Fixed(wait) => *wait,
            Self::Incremental { first, step } => first.saturating_add(step.saturating_mul(n)),
            Self::Schedule(waits) => {
                usize::try_from(n).ok().and_then(|n| waits.get(n)).copied().unwrap_or_default()
            }
            Self::Adaptive(fallback) => return fallback.longest(n, jitter),
            Self::Immediate | Self::Custom(_) => Duration::ZERO,
        };
        match jitter {
            Jitter::None | Jitter::Full | Jitter::Equal => wait,
            Jitter::Proportional(share) => scaled(wait, 1.0 + share),
            Jitter::Decorrelated => wait.saturating_mul(3),
        }
    }

    /// How many retries the strategy itself allows.
    pub(crate) fn length(&self) -> Option<u32> {
        match self {
            Self::Immediate => Some(1),
            Self::Schedule(waits) => u32::try_from(waits.len()).ok(),
            Self::Adaptive(fallback) => fallback.length(),
            _ => None,
        }
    }
}

/// Jitter for the strategies that are not exponential. `first` is the strategy's smallest wait.
fn spread(first: Duration, wait: Duration, draw: &mut Draw<'_>) -> Duration {
    match draw.jitter {
        Jitter::None => wait,
        Jitter::Proportional(share) => scaled(wait, 1.0 - share + 2.0 * share * draw.rng.unit()),
        Jitter::Full => draw.rng.between(Duration::ZERO, wait),
        Jitter::Equal => draw.rng.between(wait / 2, wait),
        // Without a cap of its own, such a strategy would wander off: three times its own wait is the end.
        Jitter::Decorrelated => decorrelated(first, wait.saturating_mul(3), draw),
    }
}

/// `min(max, min + (2^n - 1) * random(0.8..1.2) * delta)` with the specified jitter; with the others the cap comes
/// first, so that callers which have reached it still spread.
fn exponential(n: u32, min: Duration, delta: Duration, max: Duration, draw: &mut Draw<'_>) -> Duration {
    let specified = |factor: f64| grown(min, delta, max, doubled(n) - 1.0, factor);
    // One step ahead, because at n = 0 the specified growth is nothing and there would be nothing to spread over.
    let ceiling = || grown(min, delta, max, doubled(n), 1.0);
    match draw.jitter {
        Jitter::None => specified(1.0),
        Jitter::Proportional(share) => specified(1.0 - share + 2.0 * share * draw.rng.unit()),
        Jitter::Full => draw.rng.between(min.min(max), ceiling()),
        Jitter::Equal => {
            let ceiling = ceiling();
            draw.rng.between((ceiling / 2).max(min.min(max)), ceiling)
        }
        Jitter::Decorrelated => {
            let first = if min.is_zero() { delta } else { min };
            decorrelated(first.min(max), max, draw)
        }
    }
}

fn decorrelated(first: Duration, cap: Duration, draw: &mut Draw<'_>) -> Duration {
    let reach = draw.previous.max(first).saturating_mul(3);
    draw.rng.between(first, reach.min(cap))
}

/// 2^n; infinite from n = 1024 on, which `grown` turns into the cap.
fn doubled(n: u32) -> f64 {
    2.0_f64.powi(i32::try_from(n).unwrap_or(i32::MAX))
}

/// `min(max, min + steps * factor * delta)`; an overflow means `max`.
fn grown(min: Duration, delta: Duration, max: Duration, steps: f64, factor: f64) -> Duration {
    if delta.is_zero() {
        return min.min(max); // zero times infinity is not a number
    }
    min.saturating_add(scaled(delta, steps * factor)).min(max)
}
