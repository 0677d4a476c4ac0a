//! Jitter: how a wait is spread, so that callers who failed together do not come back together.

use crate::problem::{Code, Findings};

/// How waits are spread at random. On by default; switched off only by name.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Jitter {
    /// Every wait exactly as computed. Callers that fail together come back together.
    None,
    /// Plus and minus this share of the wait. In the exponential strategy it moves only the growing part, and the cap
    /// is applied last: the formula of the specification.
    Proportional(f64),
    /// Anywhere from the smallest wait to the computed one. Spreads callers best.
    Full,
    /// Anywhere from half of the computed wait to the whole.
    Equal,
    /// Anywhere from the smallest wait to three times the wait before.
    Decorrelated,
}

impl Jitter {
    /// The specified jitter: 20 % either way.
    pub const SPECIFIED: Self = Self::Proportional(0.2);

    pub(crate) fn check(self, findings: &mut Findings) {
        if let Self::Proportional(share) = self
            && !(share > 0.0 && share <= 1.0)
        {
            findings.error(
                Code::BadNumber,
                "retry.jitter",
                format!("{share} is not a share: give a number above 0 and up to 1, or use `no_jitter()`"),
            );
        }
    }
}
