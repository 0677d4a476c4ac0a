//! A figure: what was measured, what it is compared with, and what it has to reach.

use std::fmt;

/// One line of a benchmark's result.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// What it is.
    pub name: String,
    /// How much.
    pub value: f64,
    /// Of what.
    pub unit: &'static str,
    /// What it is set against.
    pub compared_to: Option<String>,
    /// Its share of that.
    pub ratio: Option<f64>,
    /// What we promised.
    pub reach: Option<Reach>,
}

/// What a figure has to reach.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Reach {
    /// The value is this or less.
    AtMost(f64),
    /// The value is less than this.
    Below(f64),
    /// The ratio is this or more.
    RatioAtLeast(f64),
    /// The ratio is this or less.
    RatioAtMost(f64),
    /// The ratio is less than this.
    RatioBelow(f64),
}

impl Figure {
    /// A value without a promise.
    pub fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit, compared_to: None, ratio: None, reach: None }
    }

    /// Set against something.
    #[must_use]
    pub fn against(mut self, other: impl Into<String>, ratio: f64) -> Self {
        self.compared_to = Some(other.into());
        self.ratio = Some(ratio);
        self
    }

    /// With a promise.
    #[must_use]
    pub fn reach(mut self, reach: Reach) -> Self {
        self.reach = Some(reach);
        self
    }

    /// Whether the promise is kept; `None` without one.
    #[must_use]
    pub fn ok(&self) -> Option<bool> {
        // A ratio that could not be had keeps no promise.
        let ratio = self.ratio.unwrap_or(f64::NAN);
        self.reach.map(|reach| match reach {
            Reach::AtMost(most) => self.value <= most,
            Reach::Below(limit) => self.value < limit,
            Reach::RatioAtLeast(least) => ratio >= least,
            Reach::RatioAtMost(most) => ratio <= most,
            Reach::RatioBelow(limit) => ratio < limit,
        })
    }
}

impl fmt::Display for Reach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AtMost(most) => write!(f, "<= {most}"),
            Self::Below(limit) => write!(f, "< {limit}"),
            Self::RatioAtLeast(least) => write!(f, ">= {least}x"),
            Self::RatioAtMost(most) => write!(f, "<= {most}x"),
            Self::RatioBelow(limit) => write!(f, "< {limit}x"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reach_is_kept_up_to_its_limit() {
        let figure = |value, ratio| Figure::new("x", value, "ns").against("y", ratio);
        assert_eq!(figure(150.0, 1.0).reach(Reach::AtMost(150.0)).ok(), Some(true));
        assert_eq!(figure(150.1, 1.0).reach(Reach::AtMost(150.0)).ok(), Some(false));
        assert_eq!(figure(1.0, 1.5).reach(Reach::RatioAtMost(1.5)).ok(), Some(true));
        assert_eq!(figure(1.0, 1.0).reach(Reach::RatioBelow(1.0)).ok(), Some(false));
        assert_eq!(figure(1.0, 0.6).reach(Reach::RatioAtLeast(0.6)).ok(), Some(true));
        assert_eq!(figure(1.0, 0.59).reach(Reach::RatioAtLeast(0.6)).ok(), Some(false));
        assert_eq!(figure(2.0, 1.0).reach(Reach::Below(2.0)).ok(), Some(false));
        assert_eq!(figure(1.0, 1.0).ok(), None);
    }

    #[test]
    fn a_promised_ratio_that_is_missing_is_a_miss() {
        assert_eq!(Figure::new("x", 1.0, "ns").reach(Reach::RatioBelow(1.0)).ok(), Some(false));
        assert_eq!(Figure::new("x", 1.0, "ns").reach(Reach::RatioAtLeast(1.0)).ok(), Some(false));
        assert_eq!(
            Figure::new("x", 1.0, "ns").against("y", f64::NAN).reach(Reach::RatioAtMost(1.0)).ok(),
            Some(false)
        );
    }
}
