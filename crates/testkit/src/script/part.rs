//! One part of a script: a behaviour, for how many calls or how long, how late, and how often.

use std::time::Duration;

use super::{Behaviour, Script};
use crate::error::Error;
use crate::request::Request;

/// A part of a [`Script`]: what calls meet, and for how long.
///
/// A part of which nothing is said is for one call if another follows, and for ever if it is the last.
#[derive(Clone, Debug)]
#[must_use = "a part does nothing until a service follows it"]
pub struct Part {
    pub(super) behaviour: Behaviour,
    /// The share of calls that meet the behaviour; the others succeed.
    pub(super) rate: f64,
    pub(super) delay: Duration,
    pub(super) extent: Extent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    Calls(u64),
    Time(Duration),
}

impl Part {
    pub(super) const fn new(behaviour: Behaviour) -> Self {
        Self { behaviour, rate: 1.0, delay: Duration::ZERO, extent: Extent::Calls(1) }
    }

    /// For this many calls; none at all with 0. The last part of a script goes on all the same.
    pub const fn times(mut self, calls: u64) -> Self {
        self.extent = Extent::Calls(calls);
        self
    }

    /// For this long, however many calls come. It begins when the part before it ends: a timed one at its time, a
    /// counted one with its last call. The last part of a script goes on all the same.
    pub const fn lasting(mut self, time: Duration) -> Self {
        self.extent = Extent::Time(time);
        self
    }

    /// Late by this much. On the wire, with any executor and in virtual time; what never answers stays silent.
    pub const fn after(mut self, delay: Duration) -> Self {
        self.delay = delay;
        self
    }

    /// Only for a share of the calls, drawn by the script's [seed](Script::seeded); the others succeed, at once.
    ///
    /// # Errors
    /// [`Error::Rate`] unless the rate is a number from 0 to 1.
    pub fn at_rate(mut self, rate: f64) -> Result<Self, Error> {
        if !(0.0..=1.0).contains(&rate) {
            return Err(Error::Rate(rate));
        }
        self.rate = rate;
        Ok(self)
    }

    /// Followed by another part or script.
    pub fn then(self, next: impl Into<Script>) -> Script {
        Script::from(self).then(next)
    }

    /// A script of this part alone, for requests with this header: see [`Script::only_marked`].
    pub fn only_marked(self, name: impl Into<String>, value: impl Into<String>) -> Script {
        Script::from(self).only_marked(name, value)
    }

    /// A script of this part alone, for requests of which this is true: see [`Script::only_if`].
    pub fn only_if(self, predicate: impl Fn(&Request) -> bool + Send + Sync + 'static) -> Script {
        Script::from(self).only_if(predicate)
    }

    /// A script of this part alone, with this seed: see [`Script::seeded`].
    pub fn seeded(self, seed: u64) -> Script {
        Script::from(self).seeded(seed)
    }

    /// The time that it takes up, if calls do not decide that.
    pub(super) const fn time(&self) -> Option<Duration> {
        match self.extent {
            Extent::Time(time) => Some(time),
            Extent::Calls(0) => Some(Duration::ZERO),
            Extent::Calls(_) => None,
        }
    }
}
