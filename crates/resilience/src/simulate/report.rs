//! What the policy did: the figures that matter in an outage.

use std::fmt;
use std::time::Duration;

use super::ledger::{BIN, Ledger, PER_SECOND};
use super::scenario::{BEFORE, Scenario};

/// Amplification is judged over this many seconds.
const OVER: usize = 10;
/// The service is back for the callers when all but this share of the calls of a second succeed.
const BAD_SHARE: f64 = 0.01;
/// The longest that the last calls are given to end before the end of the run is not judged.
const LAST_CALLS_MAX: Duration = Duration::from_secs(30);
/// What an attempt without a limit is given.
const LAST_CALLS_DEFAULT: Duration = Duration::from_secs(10);

/// How one run went. All figures follow from a seed: the same scenario and policy give the same report.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    seconds: Vec<Second>,
    outage_begins: usize,
    outage_ends: usize,
    recovery: Option<Duration>,
    /// The share of calls that succeeded before the outage.
    before: f64,
    herd_peak: f64,
    steady_peak: f64,
    retries: u64,
    slowest_success: Duration,
}

/// One second of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Second {
    /// Calls that were made.
    pub offered: u32,
    /// Requests that reached the service.
    pub sent: u32,
    /// Calls that succeeded in this second, whenever they were made.
    pub served: u32,
    /// Of the calls made in this second, those that succeeded sooner or later.
    pub succeeded: u32,
    /// Of the calls made in this second, those that a breaker refused at once.
    pub refused: u32,
    /// Of the calls made in this second, those that had not ended when the run did.
    pub under_way: u32,
}

impl Report {
    pub(super) fn new(scenario: &Scenario, ledger: &Ledger, attempt_timeout: Option<Duration>) -> Self {
        let mut seconds = vec![Second::default(); ledger.offered.seconds().count()];
        let counts = ledger.offered.seconds().zip(ledger.sent.seconds()).zip(ledger.served.seconds());
        let of_made = ledger.succeeded.seconds().zip(ledger.refused.seconds()).zip(ledger.ended.seconds());
        for (second, (((offered, sent), served), ((succeeded, refused), ended))) in
            seconds.iter_mut().zip(counts.zip(of_made))
        {
            *second = Second { offered, sent, served, succeeded, refused, under_way: offered - ended };
        }
        let begins = whole(BEFORE);
        let ends = whole(BEFORE + scenario.outage);
        // The last calls are not judged: they may still be under way.
        let last_calls = attempt_timeout.unwrap_or(LAST_CALLS_DEFAULT).min(LAST_CALLS_MAX);
        let judged = seconds.len().saturating_sub(whole(last_calls) + 1).max(ends);
        let before = share(&seconds[..begins.saturating_sub(1)]);
        let mean = scenario.rps / 10.0;
        let sent = ledger.sent.all();
        let peak = |bins: &[u32]| bins.iter().max().copied().map_or(0.0, |most| f64::from(most) / mean);
        Self {
            seconds,
            outage_begins: begins,
            outage_ends: ends,
            recovery: recovery(ledger, begins, ends, judged).filter(|_| before >= 1.0 - BAD_SHARE),
            before,
            herd_peak: peak(&sent[(ends * PER_SECOND).min(sent.len())..]),
            steady_peak: peak(&sent[..(begins * PER_SECOND).min(sent.len())]),
            retries: ledger.retries,
            slowest_success: ledger.slowest_success,
        }
    }

    /// The run second by second. The outage is the seconds of [`outage`](Self::outage).
    #[must_use]
    pub fn seconds(&self) -> &[Second] {
        &self.seconds
    }

    /// The seconds in which the service was down.
    #[must_use]
    pub fn outage(&self) -> std::ops::Range<usize> {
        self.outage_begins..self.outage_ends
    }

    /// Requests sent for each call made, over the worst ten seconds from one second after the beginning of the outage
    /// on. 1 is as without retries; above 1 the callers feed the outage.
    #[must_use]
    pub fn amplification(&self) -> f64 {
        let from = (self.outage_begins + 1).min(self.seconds.len());
        let share = |seconds: &[Second]| {
            let offered: u32 = seconds.iter().map(|second| second.offered).sum();
            let sent: u32 = seconds.iter().map(|second| second.sent).sum();
            f64::from(sent) / f64::from(offered.max(1))
        };
        self.seconds[from..].windows(OVER).map(share).fold(0.0, f64::max)
    }

    /// The most requests in a tenth of a second after the service's return, as a multiple of the mean of normal times.
    /// Chance alone makes some: compare it with [`steady_peak`](Self::steady_peak).
    #[must_use]
    pub fn herd_peak(&self) -> f64 {
        self.herd_peak
    }

    /// The same before the outage.
    #[must_use]
    pub fn steady_peak(&self) -> f64 {
        self.steady_peak
    }

    /// From the service's return until 99 of 100 calls of a second succeed again, for good; `None` when they do not before
    /// the end, when no call was made after the return, and when they did not even before the outage: see
    /// [`success_before`](Self::success_before).
    #[must_use]
    pub fn recovery(&self) -> Option<Duration> {
        self.recovery
    }

    /// The share of calls that succeeded before the outage. Below 0.99 the policy and the service do not fit, and the
    /// outage has nothing to do with it.
    #[must_use]
    pub fn success_before(&self) -> f64 {
        self.before
    }

    /// Whether calls succeed again no later than this after the service's return.
    #[must_use]
    pub fn recovers_within(&self, time: Duration) -> bool {
        self.recovery().is_some_and(|took| took <= time)
    }

    /// Calls made from the beginning of the outage until the callers had recovered, or the end.
    #[must_use]
    pub fn calls_in_trouble(&self) -> u64 {
        self.trouble(|second| second.offered)
    }

    /// Those of them that succeeded all the same.
    #[must_use]
    pub fn calls_saved(&self) -> u64 {
        self.trouble(|second| second.succeeded)
    }

    /// Those of them that a breaker refused at once.
    #[must_use]
    pub fn calls_refused(&self) -> u64 {
        self.trouble(|second| second.refused)
    }

    /// Those of them that failed after one attempt or more.
    #[must_use]
    pub fn calls_failed(&self) -> u64 {
        self.trouble(|second| second.offered - second.succeeded - second.refused - second.under_way)
    }

    /// Those of them that had not ended when the run did.
    #[must_use]
    pub fn calls_under_way(&self) -> u64 {
        self.trouble(|second| second.under_way)
    }

    fn trouble(&self, count: impl Fn(&Second) -> u32) -> u64 {
        let until = self.recovery.map_or(self.seconds.len(), |took| self.outage_ends + whole(took) + 1);
        let seconds = &self.seconds[self.outage_begins..until.min(self.seconds.len())];
        seconds.iter().map(|second| u64::from(count(second))).sum()
    }

    /// Requests that reached the service while it was down.
    #[must_use]
    pub fn sent_in_outage(&self) -> u64 {
        self.seconds[self.outage()].iter().map(|second| u64::from(second.sent)).sum()
    }

    /// Requests that were not the first of their call.
    #[must_use]
    pub fn retries(&self) -> u64 {
        self.retries
    }

    /// The longest that a call took that succeeded.
    #[must_use]
    pub fn slowest_success(&self) -> Duration {
        self.slowest_success
    }
}

/// The share of calls that succeeded; 1 when there were none.
fn share(seconds: &[Second]) -> f64 {
    let offered: u32 = seconds.iter().map(|second| second.offered).sum();
    let succeeded: u32 = seconds.iter().map(|second| second.succeeded).sum();
    if offered == 0 { 1.0 } else { f64::from(succeeded) / f64::from(offered) }
}

/// The time after the return at which the last bad second began; all in bins. A second without calls tells nothing.
fn recovery(ledger: &Ledger, begins: usize, ends: usize, judged: usize) -> Option<Duration> {
    let (offered, succeeded) = (ledger.offered.all(), ledger.succeeded.all());
    let bad = |from: &usize| {
        let second = *from..*from + PER_SECOND;
        let offered: u32 = offered[second.clone()].iter().sum();
        let succeeded: u32 = succeeded[second].iter().sum();
        f64::from(offered - succeeded) > f64::from(offered) * BAD_SHARE
    };
    let has_calls = |from: &usize| offered[*from..*from + PER_SECOND].iter().any(|calls| *calls > 0);
    let last = judged.saturating_sub(1) * PER_SECOND;
    let mut told = (begins * PER_SECOND..=last).rev().filter(has_calls).peekable();
    let newest = *told.peek().filter(|from| **from >= ends * PER_SECOND)?;
    match told.find(bad) {
        Some(from) if from == newest => None,
        Some(from) => {
            Some(BIN * u32::try_from((from + 1).saturating_sub(ends * PER_SECOND)).unwrap_or(u32::MAX))
        }
        None => Some(Duration::ZERO),
    }
}

fn whole(time: Duration) -> usize {
    usize::try_from(time.as_secs()).unwrap_or(usize::MAX)
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.recovery() {
            Some(took) => {
                write!(f, "calls succeed again {:.1} s after the service's return", took.as_secs_f64())?;
            }
            None => write!(f, "calls do not succeed again before the end of the run")?,
        }
        write!(
            f,
            "; {:.2} requests for each call in the worst ten seconds; at most {:.1} times the normal requests at once \
             after the return ({:.1} in normal times); of {} calls from the outage on {} succeeded, {} failed, {} were \
             refused, {} were under way at the end",
            self.amplification(),
            self.herd_peak,
            self.steady_peak,
            self.calls_in_trouble(),
            self.calls_saved(),
            self.calls_failed(),
            self.calls_refused(),
            self.calls_under_way(),
        )
    }
}
