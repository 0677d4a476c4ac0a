//! The breaker's shared memory: who may go through, what came back. No caller waits for another here: the one lock is
//! taken to change the state, and a second one, for a moment, to note the last failure.
//!
//! `word` is `generation (32 bits) | mode (8)`: one load tells a caller that the circuit is closed. Every state change
//! raises the generation, and everything counted carries the generation it belongs to, so that a late result of an
//! earlier state changes nothing.

use std::ops::Deref;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};

use super::control::Control;
use super::event::Announcer;
use super::health::Lease;
use super::recent::Recent;
use super::refusing;
use super::settings::Settings;
use super::state::{Input, State};
use super::trip::{Reason, Refused, Trip};
use super::weigh::{Weight, weigh};
use crate::classify::{Kind, Verdict};
use crate::clock::{Moment, nanos};
use crate::renewable::Renewable;
use crate::retry::Budget;
use crate::sync::{AtomicBool, AtomicU64, Mutex, Ordering, lock};
use crate::telemetry::Refusals;
use crate::window::{Counts, Total, reaches};

pub(super) const MODE_BITS: u32 = 8;
const PROBE_BITS: u32 = 16;
const PROBE_MASK: u64 = (1 << PROBE_BITS) - 1;

/// A place in the circuit: given by `acquire`, handed back by exactly one of the `settle` functions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Ticket {
    pub(super) generation: u64,
    pub(super) probe: bool,
}

/// How a call ended, for the breaker.
#[derive(Clone, Copy)]
pub(crate) struct Ended<'a> {
    pub(crate) verdict: &'a Verdict,
    pub(crate) took: Duration,
    pub(crate) now: Moment,
    /// The error in words, asked for only when it trips the breaker.
    pub(crate) message: &'a dyn Fn() -> Option<String>,
}

impl Ended<'_> {
    /// The error in words. They are the user's code: a panic there must not cost the breaker a place or a trip.
    fn words(&self) -> Option<String> {
        catch_unwind(AssertUnwindSafe(self.message)).ok().flatten()
    }
}

pub(crate) struct Core {
    pub(super) word: AtomicU64,
    pub(super) number: u64,
    /// Whether `refusing` knows this breaker.
    known: AtomicBool,
    pub(super) open_until: AtomicU64,
    /// Another instance holds the right to probe until then; 0 when this one may.
    pub(super) probe_gate: AtomicU64,
    /// Held by a health check that lets probes through in the timer's place.
    pub(super) check: Lease,
    /// Whether a call came since the last round of sharing that only a probe could have served.
    pub(super) wanted: AtomicBool,
    /// From here on a call is slow, in nanoseconds.
    slow_over: AtomicU64,
    /// The time limit of calls through the breaker alone, in nanoseconds; 0 for none.
    timeout: AtomicU64,
    log_successes: AtomicBool,
    recent: Renewable<Recent>,
    settings: ArcSwap<Settings>,
    pub(crate) name: Arc<str>,
    /// `generation (32) | failures in a row (32)`.
    pub(super) consecutive: AtomicU64,
    /// `generation (32) | probes under way (16) | probes succeeded (16)`.
    pub(super) probes: AtomicU64,
    /// When a probe last began or ended.
    pub(super) progress: AtomicU64,
    late: AtomicU64,
    refused: Total,
    refusals: Refusals,
    pub(super) last_failure: Mutex<Option<(Verdict, Moment)>>,
    /// What tripped it last.
    pub(super) trip: ArcSwapOption<Trip>,
    pub(super) control: Mutex<Control>,
    pub(super) announcer: Announcer,
    /// Pays for the retries of calls that bring this breaker along.
    pub(super) budget: Option<Budget>,
    #[cfg(test)]
    pub(super) plant: super::plant::Plant,
}

impl Core {
    pub(super) fn new(name: &str, settings: Arc<Settings>, control: Control) -> Self {
        let name: Arc<str> = name.into();
        Self {
            word: AtomicU64::new(word(1, State::Closed)),
            number: refusing::next_number(),
            known: AtomicBool::new(false),
            open_until: AtomicU64::new(0),
            probe_gate: AtomicU64::new(0),
            check: Lease::default(),
            wanted: AtomicBool::new(false),
            slow_over: AtomicU64::new(slow_over(&settings)),
            timeout: AtomicU64::new(settings.timeout.map_or(0, nanos)),
            log_successes: AtomicBool::new(settings.log_successes),
            recent: Renewable::new(Recent::new(&settings)),
            settings: ArcSwap::new(settings),
            name,
            consecutive: AtomicU64::new(1 << 32),
            probes: AtomicU64::new(1 << 32),
            progress: AtomicU64::new(0),
            late: AtomicU64::new(0),
            refused: Total::default(),
            refusals: Refusals::default(),
            last_failure: Mutex::new(None),
            trip: ArcSwapOption::empty(),
            control: Mutex::new(control),
            announcer: Announcer::default(),
            budget: None,
            #[cfg(test)]
            plant: super::plant::Plant::None,
        }
    }

    /// The settings as they are now. One decision looks once.
    pub(crate) fn settings(&self) -> impl Deref<Target = Arc<Settings>> {
        self.settings.load()
    }

    /// Whether calls through the breaker alone are timed: for the slow-call rule, or for the log.
    #[inline]
    pub(crate) fn times_calls(&self) -> bool {
        self.slow_over.load(Ordering::Relaxed) != u64::MAX || self.log_successes()
    }

    #[inline]
    pub(crate) fn log_successes(&self) -> bool {
        self.log_successes.load(Ordering::Relaxed)
    }

    /// The time limit of calls through the breaker alone.
    #[inline]
    pub(crate) fn timeout(&self) -> Option<Duration> {
        match self.timeout.load(Ordering::Relaxed) {
            0 => None,
            limit => Some(Duration::from_nanos(limit)),
        }
    }

    /// Takes other settings over. State, counts, history and listeners stay.
    pub(super) fn reload(&self, settings: Arc<Settings>, now: Moment) {
        // Under the lock, so that two reloads, or a reload and a change of the state, do not mix.
        let _control = lock(&self.control);
        if !self.recent.with(|recent| recent.serves(&settings)) {
            let later = Recent::new(&settings);
            self.recent.with(|recent| later.go_on_from(recent, self.generation(), now));
            self.recent.renew(later);
        }
        self.slow_over.store(slow_over(&settings), Ordering::Relaxed);
        self.timeout.store(settings.timeout.map_or(0, nanos), Ordering::Relaxed);
        self.log_successes.store(settings.log_successes, Ordering::Relaxed);
        self.settings.store(settings);
    }

    pub(crate) fn state(&self) -> State {
        mode(self.word.load(Ordering::Acquire))
    }

    pub(super) fn generation(&self) -> u64 {
        self.word.load(Ordering::Acquire) >> MODE_BITS
    }

    /// Results that came back after their state was over.
    pub(super) fn late(&self) -> u64 {
        self.late.load(Ordering::Relaxed)
    }

    /// Calls refused so far.
    pub(super) fn refusals(&self) -> u64 {
        self.refused.sum()
    }

    // ---- going in ----

    #[inline]
    pub(crate) fn acquire(self: &Arc<Self>, now: impl FnOnce() -> Moment) -> Result<Ticket, Refused> {
        let word = self.word.load(Ordering::Acquire);
        if mode(word).is_closed() {
            return Ok(Ticket { generation: word >> MODE_BITS, probe: false });
        }
        self.acquire_slowly(word, now())
    }

    fn acquire_slowly(self: &Arc<Self>, mut word: u64, now: Moment) -> Result<Ticket, Refused> {
        if !self.wanted.load(Ordering::Relaxed) {
            self.wanted.store(true, Ordering::Relaxed);
        }
        loop {
            let generation = word >> MODE_BITS;
            match mode(word) {
                State::Closed | State::ForcedClosed => return Ok(Ticket { generation, probe: false }),
                State::HalfOpen => match self.reserve_probe(generation, now) {
                    Some(true) => return Ok(Ticket { generation, probe: true }),
                    Some(false) => return Err(self.refused(State::HalfOpen, now)),
                    None => {} // its generation is over: look again
                },
                state => {
                    if now < self.probe_from() || self.leaves_probing(state, now) {
                        return Err(self.refused(state, now));
                    }
                    self.change(&self.settings(), Some(generation), Input::ProbeDue, None, now);
                }
            }
            let seen = self.word.load(Ordering::Acquire);
            if seen == word {
                // Another caller is in the middle of the change. This one does not wait for it.
                return Err(self.refused(mode(word), now));
            }
            word = seen;
        }
    }

    /// Whether a call at that moment is sure to be refused, as far as one can tell now.
    pub(crate) fn refuses_at(&self, moment: Moment) -> bool {
        matches!(self.state(), State::Open | State::ForcedOpen) && moment < self.probe_from()
    }

    /// When this instance may send the next probe.
    fn probe_from(&self) -> Moment {
        let gate = self.probe_gate.load(Ordering::Acquire);
        Moment::from_nanos(self.open_until.load(Ordering::Acquire).max(gate))
    }

    /// Whether a health check, and not the timer, lets probes through. What an operator holds open with an end is not
    /// checked, so there the timer stays.
    fn leaves_probing(&self, state: State, now: Moment) -> bool {
        state == State::Open && self.check.is_held(now)
    }

    /// When somebody who is refused may hope for a probe: after the open time or, where that is over and a health check
    /// has the word, at its next look.
    fn hope_from(&self, state: State, now: Moment) -> Moment {
        let from = self.probe_from();
        if now >= from && self.leaves_probing(state, now) { self.check.next_look() } else { from }
    }

    /// Takes a half-open place: whether there was one, or `None` when the generation is over.
    fn reserve_probe(&self, generation: u64, now: Moment) -> Option<bool> {
        let settings = self.settings();
        let permits = u64::from(settings.permits);
        let mut probes = self.probes.load(Ordering::Acquire);
        loop {
            if probes >> 32 != generation {
                return None;
            }
            if under_way(probes) >= permits && !self.forgets_permits() {
                return self.give_up_stalled(&settings, generation, now);
            }
            let more = probes + (1 << PROBE_BITS);
            match self.probes.compare_exchange_weak(probes, more, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(seen) => probes = seen,
            }
        }
        self.progress.fetch_max(now.as_nanos(), Ordering::AcqRel);
        Some(true)
    }

    /// All places are taken. Probes that have not answered for too long count as failed.
    fn give_up_stalled(&self, settings: &Settings, generation: u64, now: Moment) -> Option<bool> {
        let progress = Moment::from_nanos(self.progress.load(Ordering::Acquire));
        if now.since(progress) < settings.half_open_limit {
            return Some(false);
        }
        let trip = self.new_trip(Reason::Stalled, Verdict::transient(Kind::TIMEOUT), None, now);
        self.change(settings, Some(generation), Input::Stalled, Some(trip), now);
        None
    }

    /// The time until the next probe; `None` when it is held open without an end, zero while a probe is under way.
    pub(crate) fn next_probe_in(&self, now: Moment) -> Option<Duration> {
        let from = self.hope_from(self.state(), now);
        (from != Moment::FAR).then(|| from.since(now))
    }

    fn refused(self: &Arc<Self>, state: State, now: Moment) -> Refused {
        let from = self.hope_from(state, now).as_nanos();
        // While half-open there is no such time: a place may come free at any moment, and this is zero.
        let retry_in = if from == u64::MAX { u64::MAX } else { from.saturating_sub(now.as_nanos()) };
        if !self.known.load(Ordering::Relaxed) && !self.known.swap(true, Ordering::Relaxed) {
            refusing::add(self);
        }
        self.refused.add(1);
        self.refusals.count(&self.name);
        Refused { number: self.number, state, retry_in }
    }

    // ---- coming back ----

    /// Takes a call's end into account.
    #[inline]
    pub(crate) fn settle(&self, ticket: Ticket, ended: Ended<'_>) {
        if ended.verdict.is_success() && !ticket.probe && !self.is_slow(ended.took) {
            self.count_success(ticket, ended.now);
        } else {
            self.settle_slowly(ticket, ended);
        }
    }

    #[inline]
    fn is_slow(&self, took: Duration) -> bool {
        nanos(took) > self.slow_over.load(Ordering::Relaxed)
    }

    /// A call that its caller gave up, or that panicked: it says nothing, but a probe's place is free again.
    pub(crate) fn abandon(&self, ticket: Ticket, now: Moment) {
        if ticket.probe {
            self.end_probe(ticket.generation, 0, now);
        }
    }

    #[inline]
    fn count_success(&self, ticket: Ticket, now: Moment) {
        let Some(generation) = self.current(ticket) else { return };
        self.recent.with(|recent| recent.success(generation, now));
        self.end_row(generation);
    }

    /// The ticket's generation, or `None`, counted as late, when that is over.
    #[inline]
    fn current(&self, ticket: Ticket) -> Option<u64> {
        let current = self.generation();
        if current == ticket.generation || self.forgets_generations() {
            return Some(current);
        }
        self.late.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// A success ends the row of failures. Mostly there is none, and nothing is written.
    #[inline]
    fn end_row(&self, generation: u64) {
        let row = self.consecutive.load(Ordering::Acquire);
        if row != generation << 32 && row >> 32 == generation {
            let _ =
                self.consecutive.compare_exchange(row, generation << 32, Ordering::AcqRel, Ordering::Acquire);
        }
    }

    #[cold]
    fn settle_slowly(&self, ticket: Ticket, ended: Ended<'_>) {
        let settings = self.settings.load();
        let slow = settings.slow.is_some_and(|rule| ended.took > rule.over);
        match weigh(ended.verdict, &settings, ticket.probe) {
            Weight::Neutral => self.abandon(ticket, ended.now),
            Weight::Success if ticket.probe && !slow => {
                self.probe_succeeded(&settings, ticket.generation, ended.now);
            }
            Weight::Success if ticket.probe => self.probe_failed(&settings, ticket, ended, Duration::ZERO),
            Weight::Success if slow => self.count_slow_success(&settings, ticket, ended),
            // Slow by settings that were replaced since.
            Weight::Success => self.count_success(ticket, ended.now),
            Weight::Failure { at_once, hold } => {
                self.note_failure(ended);
                if ticket.probe {
                    self.probe_failed(&settings, ticket, ended, hold);
                } else if let Some(reason) = self.count_failure(&settings, ticket, ended, at_once) {
                    self.trip(&settings, ticket.generation, reason, hold, ended);
                }
            }
        }
    }

    fn note_failure(&self, ended: Ended<'_>) {
        *lock(&self.last_failure) = Some((*ended.verdict, ended.now));
    }

    fn count_slow_success(&self, settings: &Settings, ticket: Ticket, ended: Ended<'_>) {
        let Some(generation) = self.current(ticket) else { return };
        self.recent.with(|recent| recent.slow_success(generation, ended.now));
        self.end_row(generation);
        if let Some(reason) = slow_rule(settings, self.counts(generation, ended.now)) {
            self.trip(settings, generation, reason, Duration::ZERO, ended);
        }
    }

    /// Counts a failure; returns the rule that it breaks, if any.
    fn count_failure(
        &self,
        settings: &Settings,
        ticket: Ticket,
        ended: Ended<'_>,
        at_once: Option<Reason>,
    ) -> Option<Reason> {
        let generation = self.current(ticket)?;
        let slow = settings.slow.is_some_and(|rule| ended.took > rule.over);
        self.recent.with(|recent| recent.failure(generation, ended.now, slow));
        let row = self.lengthen_row(generation);
        at_once.or_else(|| self.broken_rule(settings, generation, row, ended))
    }

    /// Failures in a row.
    pub(super) fn row(&self) -> u64 {
        self.consecutive.load(Ordering::Acquire) & u64::from(u32::MAX)
    }

    /// Adds to the failures in a row; returns how many there are.
    fn lengthen_row(&self, generation: u64) -> u64 {
        let mut row = self.consecutive.load(Ordering::Acquire);
        while row >> 32 == generation {
            match self.consecutive.compare_exchange_weak(row, row + 1, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return (row + 1) & u64::from(u32::MAX),
                Err(seen) => row = seen,
            }
        }
        0
    }

    fn broken_rule(
        &self,
        settings: &Settings,
        generation: u64,
        row: u64,
        ended: Ended<'_>,
    ) -> Option<Reason> {
        let kind = ended.verdict.kind();
        if let Some((_, most)) = settings.kinds.iter().find(|(known, _)| *known == kind) {
            let count = self.recent.with(|recent| recent.kind(kind, generation, ended.now));
            if count >= u64::from(*most) {
                return Some(Reason::Kind(count));
            }
        }
        if settings.consecutive.is_some_and(|most| row >= u64::from(most)) {
            return Some(Reason::Consecutive(row));
        }
        let counts = self.counts(generation, ended.now);
        if settings.failures.is_some_and(|most| counts.failures >= u64::from(most)) {
            return Some(Reason::Failures(counts.failures));
        }
        let (failures, calls) = (counts.failures, counts.calls());
        let enough = calls >= u64::from(settings.min_calls);
        if enough && settings.ratio.is_some_and(|ratio| reaches(failures, calls, ratio)) {
            return Some(Reason::Ratio { failures, calls });
        }
        slow_rule(settings, counts)
    }

    /// What the window of a generation holds.
    pub(super) fn counts(&self, generation: u64, now: Moment) -> Counts {
        self.recent.with(|recent| recent.counts(generation, now))
    }

    fn trip(&self, settings: &Settings, generation: u64, reason: Reason, hold: Duration, ended: Ended<'_>) {
        // A slow success is what failed here.
        let slow = Verdict::transient(Kind::SLOW);
        let failure = if ended.verdict.is_success() { slow } else { *ended.verdict };
        let trip = self.new_trip(reason, failure, ended.words(), ended.now);
        self.change(settings, Some(generation), Input::Tripped { hold }, Some(trip), ended.now);
    }

    pub(super) fn new_trip(
        &self,
        reason: Reason,
        failure: Verdict,
        message: Option<String>,
        at: Moment,
    ) -> Arc<Trip> {
        Arc::new(Trip { breaker: Arc::clone(&self.name), at, reason, failure, message })
    }

    // ---- probes ----

    fn probe_succeeded(&self, settings: &Settings, generation: u64, now: Moment) {
        if let Some(probes) = self.end_probe(generation, 1, now)
            && probes & PROBE_MASK >= u64::from(settings.successes_to_close)
        {
            self.change(settings, Some(generation), Input::Recovered, None, now);
        }
    }

    fn probe_failed(&self, settings: &Settings, ticket: Ticket, ended: Ended<'_>, hold: Duration) {
        if self.current(ticket).is_none() {
            return;
        }
        let trip = self.new_trip(Reason::Probe, *ended.verdict, ended.words(), ended.now);
        self.change(settings, Some(ticket.generation), Input::ProbeFailed { hold }, Some(trip), ended.now);
    }

    /// Frees a probe's place, with or without a success; `None`, counted as late, when its generation is over.
    fn end_probe(&self, generation: u64, successes: u64, now: Moment) -> Option<u64> {
        self.progress.fetch_max(now.as_nanos(), Ordering::AcqRel);
        let mut probes = self.probes.load(Ordering::Acquire);
        while probes >> 32 == generation || self.forgets_generations() && under_way(probes) > 0 {
            let next = probes - (1 << PROBE_BITS) + successes;
            match self.probes.compare_exchange_weak(probes, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(next),
                Err(seen) => probes = seen,
            }
        }
        self.late.fetch_add(1, Ordering::Relaxed);
        None
    }

    /// Probes under way now.
    pub(super) fn probes_under_way(&self) -> u64 {
        under_way(self.probes.load(Ordering::Acquire))
    }

    // ---- planted bugs, so that the tests can be seen to catch them ----

    #[cfg(test)]
    fn forgets_permits(&self) -> bool {
        self.plant == super::plant::Plant::NoPermitCheck
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "the twin of the test build's")]
    const fn forgets_permits(&self) -> bool {
        false
    }

    #[cfg(test)]
    pub(super) fn forgets_generations(&self) -> bool {
        self.plant == super::plant::Plant::NoGenerationCheck
    }

    #[cfg(not(test))]
    #[expect(clippy::unused_self, reason = "the twin of the test build's")]
    pub(super) const fn forgets_generations(&self) -> bool {
        false
    }
}

impl Drop for Core {
    fn drop(&mut self) {
        if self.known.load(Ordering::Relaxed) {
            refusing::remove(self.number);
        }
    }
}

/// From here on a call is slow, in nanoseconds; the largest number where there is no such rule.
fn slow_over(settings: &Settings) -> u64 {
    settings.slow.map_or(u64::MAX, |slow| nanos(slow.over))
}

fn slow_rule(settings: &Settings, counts: Counts) -> Option<Reason> {
    let (slow, calls) = (counts.slow, counts.calls());
    let rule = settings.slow?;
    let broken = calls >= u64::from(settings.min_calls) && reaches(slow, calls, rule.ratio);
    broken.then_some(Reason::Slow { slow, calls })
}

fn under_way(probes: u64) -> u64 {
    probes >> PROBE_BITS & PROBE_MASK
}

pub(super) fn word(generation: u64, state: State) -> u64 {
    generation << MODE_BITS | state as u64
}

#[inline]
fn mode(word: u64) -> State {
    match word & ((1 << MODE_BITS) - 1) {
        0 => State::Closed,
        1 => State::Open,
        2 => State::HalfOpen,
        3 => State::ForcedOpen,
        _ => State::ForcedClosed,
    }
}
