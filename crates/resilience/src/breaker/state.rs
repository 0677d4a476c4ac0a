//! The breaker's states and the one function that moves between them. Pure: time, settings and chance come in.

use std::fmt;
use std::time::Duration;

use crate::clock::{Moment, scaled};

/// What a breaker does with calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum State {
    /// Calls go through and are counted.
    Closed,
    /// Calls are refused until the open time ends.
    Open,
    /// A few calls go through as probes.
    HalfOpen,
    /// An operator holds it open.
    ForcedOpen,
    /// An operator holds it closed: calls go through and nothing trips it.
    ForcedClosed,
}

impl State {
    /// Whether calls go through without a limit. False when half-open.
    #[must_use]
    pub const fn is_closed(self) -> bool {
        matches!(self, Self::Closed | Self::ForcedClosed)
    }

    /// The state in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
            Self::ForcedOpen => "forced open",
            Self::ForcedClosed => "forced closed",
        }
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Everything that a move depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Phase {
    pub(crate) state: State,
    /// When an open state ends; [`Moment::FAR`] for one without an end.
    pub(crate) until: Moment,
    /// A health check must not end the open state before this: the service named that time itself, or the check has
    /// been wrong.
    pub(crate) held_until: Moment,
    /// Recoveries that failed, or did not last, since one did. They lengthen the open time.
    pub(crate) failed_recoveries: u32,
    /// A recovery has lasted when it is still closed by then.
    pub(crate) lasts_from: Moment,
    /// What the health check's word is worth.
    pub(crate) trust: Trust,
}

impl Phase {
    pub(crate) const CLOSED: Self = Self {
        state: State::Closed,
        until: Moment::ZERO,
        held_until: Moment::ZERO,
        failed_recoveries: 0,
        lasts_from: Moment::ZERO,
        trust: Trust::Full,
    };

    /// What it is by now: a recovery that has lasted ends what came before.
    pub(crate) fn at(self, now: Moment) -> Self {
        match self.state == State::Closed && now >= self.lasts_from {
            true => Self { failed_recoveries: 0, ..self },
            false => self,
        }
    }
}

/// What a health check's word is worth since the breaker was last closed. A check that says *up* while real calls fail
/// would otherwise undo the growth of the open time: trip, up, failed probe, up, failed probe, at the check's pace.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Trust {
    /// It may end an open time early.
    Full,
    /// The probes under way are let through on its word.
    Put,
    /// Probes that it let through failed: it no longer ends an open time early.
    Lost,
}

impl Trust {
    /// After a failed recovery.
    const fn after_failure(self) -> Self {
        match self {
            Self::Full => Self::Full,
            Self::Put | Self::Lost => Self::Lost,
        }
    }

    /// After its word has opened the way for probes.
    const fn put(self) -> Self {
        match self {
            Self::Full | Self::Put => Self::Put,
            Self::Lost => Self::Lost,
        }
    }
}

/// What can move a breaker.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Input {
    /// A rule was broken; the service asks to be left alone for `hold` at least.
    Tripped { hold: Duration },
    /// A call came after the open time.
    ProbeDue,
    /// A health check found the service up.
    #[cfg_attr(not(any(feature = "tokio", test)), expect(dead_code, reason = "a health check needs a timer"))]
    FoundUp,
    /// A probe failed.
    ProbeFailed { hold: Duration },
    /// Enough probes succeeded in a row.
    Recovered,
    /// Probes did not answer within the half-open state's time limit.
    Stalled,
    /// An operator forces it open, with or without an end.
    ForceOpen { until: Option<Moment> },
    /// An operator forces it closed.
    ForceClosed,
    /// An operator asks for probes.
    ForceHalfOpen,
    /// An operator wants a fresh start.
    Reset,
    /// Another instance tripped.
    OthersOpened { until: Moment, failed_recoveries: u32 },
    /// Another instance probed with success.
    OthersRecovered,
}

/// How long a breaker stays open.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OpenTime {
    pub(crate) first: Duration,
    /// What the time is multiplied by for each failed recovery.
    pub(crate) growth: f64,
    pub(crate) cap: Duration,
}

/// A recovery has lasted when the breaker stays closed for so many times as long as it was open before.
const LASTS: f64 = 2.0;

/// An open time is lengthened by up to this share, so that many breakers which tripped together do not probe together.
const OPEN_SPREAD: f64 = 0.1;

impl OpenTime {
    /// The open time after this many failed recoveries: longer each time, up to the cap, then spread by `chance`
    /// (0 to 1).
    pub(crate) fn after(self, failed_recoveries: u32, chance: f64) -> Duration {
        let growth = self.growth.powi(i32::try_from(failed_recoveries).unwrap_or(i32::MAX));
        let grown = scaled(self.first, growth).min(self.cap).max(self.first);
        grown.saturating_add(scaled(grown, OPEN_SPREAD * chance))
    }
}

/// The one place where a breaker's state changes. `None`: this input moves nothing in this state.
pub(crate) fn transition(
    phase: Phase,
    input: Input,
    now: Moment,
    open: OpenTime,
    chance: f64,
) -> Option<Phase> {
    use State::{Closed, ForcedClosed, ForcedOpen, HalfOpen, Open};
    let phase = phase.at(now);
    let opened = |failed_recoveries: u32, hold: Duration, trust: Trust| {
        let until = now + open.after(failed_recoveries, chance).max(hold);
        let held_until = if trust == Trust::Lost { until } else { now + hold };
        Phase { state: Open, until, held_until, failed_recoveries, lasts_from: Moment::ZERO, trust }
    };
    // A service that goes up and down is met as one that stays down: the open time grows on.
    let recovered = || {
        let lasts_from = now + scaled(open.after(phase.failed_recoveries, 0.0), LASTS);
        Phase { failed_recoveries: phase.failed_recoveries, lasts_from, ..Phase::CLOSED }
    };
    let reopened =
        |hold| opened(phase.failed_recoveries.saturating_add(1), hold, phase.trust.after_failure());
    let kept = |state: State| Phase { state, until: Moment::ZERO, held_until: Moment::ZERO, ..phase };
    // Whether the service named that time is not told: a health check here must not end it early.
    let told = |until: Moment, failed_recoveries: u32| Phase {
        state: Open,
        until,
        held_until: until,
        failed_recoveries,
        lasts_from: Moment::ZERO,
        trust: phase.trust,
    };
    match (phase.state, input) {
        (Closed, Input::Tripped { hold }) if now < phase.lasts_from => Some(reopened(hold)),
        (Closed, Input::Tripped { hold }) => Some(opened(0, hold, Trust::Full)),
        (Open | ForcedOpen, Input::ProbeDue) => (now >= phase.until).then(|| kept(HalfOpen)),
        // To half-open and no further: real calls decide, and an operator's hold is not a check's to end.
        (Open, Input::FoundUp) => {
            (now >= phase.held_until).then(|| Phase { trust: phase.trust.put(), ..kept(HalfOpen) })
        }
        (HalfOpen, Input::ProbeFailed { hold }) => Some(reopened(hold)),
        (HalfOpen, Input::Stalled) => Some(reopened(Duration::ZERO)),
        (HalfOpen, Input::Recovered) | (Open | HalfOpen, Input::OthersRecovered) => Some(recovered()),
        (_, Input::ForceOpen { until }) => {
            Some(Phase { state: ForcedOpen, until: until.unwrap_or(Moment::FAR), ..Phase::CLOSED })
        }
        (_, Input::ForceClosed) => Some(Phase { state: ForcedClosed, ..Phase::CLOSED }),
        (_, Input::ForceHalfOpen) => Some(kept(HalfOpen)),
        (_, Input::Reset) => Some(Phase::CLOSED),
        (Closed | HalfOpen, Input::OthersOpened { until, failed_recoveries }) => {
            (until > now).then(|| told(until, failed_recoveries))
        }
        (Open, Input::OthersOpened { until, failed_recoveries }) => {
            (until > phase.until).then(|| told(until, failed_recoveries.max(phase.failed_recoveries)))
        }
        // Late, doubled or foreign: what an earlier state began ends nothing in this one.
        (Open | ForcedOpen | ForcedClosed | HalfOpen, Input::Tripped { .. })
        | (Closed | HalfOpen | ForcedClosed, Input::ProbeDue)
        | (Closed | HalfOpen | ForcedOpen | ForcedClosed, Input::FoundUp)
        | (
            Closed | Open | ForcedOpen | ForcedClosed,
            Input::ProbeFailed { .. } | Input::Stalled | Input::Recovered,
        )
        | (ForcedOpen | ForcedClosed, Input::OthersOpened { .. })
        | (Closed | ForcedOpen | ForcedClosed, Input::OthersRecovered) => None,
    }
}
