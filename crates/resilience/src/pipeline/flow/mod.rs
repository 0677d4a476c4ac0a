//! One call from its beginning to its end: the decisions, without running or waiting. Every door drives this.
//!
//! The order, from the outside in: retry, budget, breaker, attempt timeout, operation. A breaker's refusal costs
//! neither an attempt nor budget, and nothing is held while a call waits.

mod end;
#[cfg(feature = "simulate")]
mod look;
mod room;
mod told;

use std::ops::Deref;
use std::time::Duration;

use super::Inner;
use super::attempt::Attempt;
use super::call::Options;
use super::nesting::Nesting;
use super::reclassified;
use crate::breaker::core::{Ended, Ticket};
use crate::breaker::{Breaker, Refused};
use crate::cancel::Listener;
use crate::classify::{Class, Classifier, Kind, Verdict};
use crate::clock::Moment;
use crate::key::{self, CallKey};
use crate::limit::Taken;
use crate::log;
use crate::retry::{At, Budget, Decision, Nested, Retry, State, Stop};
use crate::story::{Story, Tried};

/// The state of one call. Dropped in the middle of an attempt, it gives the breaker's place back.
pub(crate) struct Flow<P: Deref<Target = Inner>> {
    pub(crate) pipeline: P,
    /// What this call does differently; most do nothing.
    pub(crate) options: Option<Box<Options>>,
    started: Moment,
    deadline: Option<Moment>,
    /// Among all calls of this process; its key comes from it, unless it was given one.
    nth: u64,
    begun: bool,
    /// Whether an attempt has begun and not ended.
    under_way: bool,
    number: u32,
    attempt_began: Moment,
    ticket: Option<Ticket>,
    outer: Nesting,
    previous: Option<Kind>,
    /// When the budget paid for the retry that comes next.
    paid: Option<Moment>,
    /// What the attempt has of the pipeline's limit, or waits for.
    taken: Option<Box<Taken>>,
    spans: log::Spans,
    /// Whether the end of the call was told and counted.
    closed: bool,
    /// Made at the first failure: a call that succeeds never needs them.
    failed: Option<Box<Failed>>,
}

struct Failed {
    story: Story,
    retry: Option<State>,
    /// The wait that the policy wants, for a caller who sees to long waits.
    next_try: Option<Duration>,
}

/// A failure in words, made only when somebody reads them.
type Words<'a> = &'a dyn Fn() -> Option<String>;

/// What the door has to do before the next attempt can begin.
pub(crate) enum Begin {
    /// Make this attempt, within this time.
    Attempt(Attempt),
    /// Wait for the breaker.
    Wait(Duration),
    /// Nothing more is attempted.
    End(Stop, Option<Refused>),
}

/// What follows an attempt.
#[derive(Clone, Copy)]
pub(crate) enum Next {
    /// It succeeded.
    Done,
    /// Wait, then begin again.
    Wait(Duration),
    /// It failed for good.
    End(Stop),
}

/// How the last attempt ended, kept while waiting for the next.
pub(crate) enum Last<T, E> {
    Outcome(Result<T, E>),
    /// Only async doors can cut an attempt off.
    #[cfg_attr(not(feature = "tokio"), expect(dead_code, reason = "made by the async doors"))]
    TimedOut,
}

impl<P: Deref<Target = Inner>> Flow<P> {
    #[inline]
    pub(crate) fn new(pipeline: P, mut options: Option<Box<Options>>) -> Self {
        if let Some(own) = &mut options {
            own.fill_in(&pipeline);
        }
        let own = options.as_deref();
        Self {
            started: Moment::ZERO,
            deadline: None,
            nth: key::next_number(),
            begun: false,
            under_way: false,
            number: 0,
            attempt_began: Moment::ZERO,
            ticket: None,
            outer: own.and_then(|own| own.under).unwrap_or_else(Nesting::current),
            previous: None,
            paid: None,
            taken: None,
            spans: log::Spans::default(),
            closed: false,
            failed: None,
            pipeline,
            options,
        }
    }

    /// This call's own choice, where it made one.
    #[inline]
    fn own<T>(&self, choice: impl FnOnce(&Options) -> Option<T>) -> Option<T> {
        self.options.as_deref().and_then(choice)
    }

    #[inline]
    fn key(&self) -> CallKey {
        self.own(|own| own.key).map_or(CallKey::Numbered(self.nth), CallKey::Given)
    }

    pub(crate) fn listener(&self) -> Option<&Listener> {
        self.options.as_deref().and_then(|own| own.cancel.as_ref())
    }

    /// The breaker that this call brought along.
    #[inline]
    fn own_breaker(&self) -> Option<&Breaker> {
        self.options.as_deref().and_then(|own| own.breaker.as_ref())
    }

    #[inline]
    fn breaker(&self) -> Option<&Breaker> {
        self.own_breaker().or(self.pipeline.breaker.as_ref())
    }

    /// The budget that pays for this call's retries: its own, that of the resource it brought along, the pipeline's.
    #[inline]
    fn budget(&self) -> Option<&Budget> {
        self.options.as_deref().and_then(Options::own_budget).or(self.pipeline.budget.as_ref())
    }

    fn retry(&self) -> Option<&Retry> {
        self.options.as_deref().and_then(|own| own.retry.as_ref()).or(self.pipeline.retry.as_ref())
    }

    /// The retries around the operation: those around this call, and its own.
    pub(crate) fn nesting(&self) -> Nesting {
        let own = match self.retry() {
            Some(retry) if !self.leaves_retrying(retry) && !self.is_once() => self
                .own(|own| own.max_retries)
                .map_or_else(|| retry.max_calls(), |retries| retries.saturating_add(1)),
            _ => 1,
        };
        self.outer.with(own.saturating_mul(self.pipeline.sdk_calls))
    }

    fn leaves_retrying(&self, retry: &Retry) -> bool {
        retry.nested() == Nested::FailFast && self.outer.calls > 1
    }

    fn is_once(&self) -> bool {
        self.options.as_deref().is_some_and(|own| own.once)
    }

    fn operation(&self) -> &str {
        self.options.as_deref().map_or("", |own| &own.operation)
    }

    fn waits_for_breaker(&self) -> bool {
        self.pipeline.wait_for_breaker || self.options.as_deref().is_some_and(|own| own.wait_for_breaker)
    }

    // ---- before an attempt ----

    #[inline]
    pub(crate) fn begin(&mut self) -> Begin {
        if self.listener().is_some_and(|listener| listener.cancel().is_cancelled()) {
            return Begin::End(Stop::Cancelled, None);
        }
        let now = self.pipeline.clock.now();
        if !self.begun {
            self.start(now);
        }
        if self.deadline.is_some_and(|deadline| now >= deadline) {
            return self.out_of_time(now);
        }
        if self.pipeline.limit.is_some()
            && let Some(begin) = self.enter(now)
        {
            return begin;
        }
        if let Some(breaker) = self.breaker() {
            let now = self.breaker_now(now);
            match breaker.core().acquire(|| now) {
                Ok(ticket) => self.ticket = Some(ticket),
                Err(refused) => return self.refused(refused, now),
            }
        }
        // The breaker was about to refuse when the limit was asked, and has changed its mind since.
        if self.pipeline.limit.is_some()
            && self.taken.is_none()
            && let Some(begin) = self.take_room(now)
        {
            self.give_place_back();
            return begin;
        }
        if let Some(taken) = &mut self.taken {
            taken.begin();
        }
        self.attempt_began = now;
        self.under_way = true;
        self.spans.begin_attempt(self.number);
        self.paid = None;
        Begin::Attempt(self.attempt(now))
    }

    /// A call starts when it is first driven, not when its future is made.
    #[inline]
    fn start(&mut self, now: Moment) {
        self.begun = true;
        self.started = now;
        if log::Spans::wanted() {
            self.spans = log::Spans::of_call(&self.told());
        }
        let within =
            self.own(|own| own.complete_within).or(self.pipeline.complete_within).map(|time| now + time);
        let told = self.own(|own| own.deadline);
        self.deadline = earlier(earlier(within, told), self.outer.deadline(self.pipeline.clock.id()));
    }

    /// The time on the breaker's clock: the pipeline's, but for a breaker that this call brought along.
    #[inline]
    fn breaker_now(&self, now: Moment) -> Moment {
        match self.own_breaker() {
            None => now,
            Some(breaker) => breaker.clock().now(),
        }
    }

    fn attempt(&self, now: Moment) -> Attempt {
        let left = self.deadline.map(|deadline| deadline.since(now));
        let limit = self.own(|own| own.attempt_timeout).or(self.pipeline.attempt_timeout);
        let time_left = earlier(left, limit);
        let mut nesting = self.nesting();
        if let Some(time) = time_left {
            nesting = nesting.until(self.pipeline.clock.id(), now + time);
        }
        if self.number == 0 && self.outer.calls > 1 && nesting.calls > self.outer.calls {
            self.pipeline.report_nesting(nesting);
        }
        Attempt {
            number: self.number,
            hedge: 0,
            key: self.key(),
            deadline: self.deadline,
            time_left,
            server_timeout: self.own(|own| own.server_timeout).or(self.pipeline.server_timeout),
            previous: self.previous,
            nesting,
        }
    }

    /// The deadline has passed: in the limit's queue, or anywhere else.
    #[cold]
    fn out_of_time(&mut self, now: Moment) -> Begin {
        match &mut self.taken {
            Some(taken) => {
                taken.give_up(now);
                Begin::End(Stop::Limited, None)
            }
            None => Begin::End(Stop::Deadline, None),
        }
    }

    /// A refusal ends the call, unless it was asked to wait for the breaker and the deadline leaves room for that.
    #[cold]
    fn refused(&mut self, refused: Refused, now: Moment) -> Begin {
        // Nobody holds a place while waiting for a probe.
        self.leave();
        if self.waits_for_breaker()
            && let (Some(wait), Some(deadline)) = (refused.retry_in(), self.deadline)
        {
            let wait = self.spread(wait.max(PROBE_POLL), deadline.since(now));
            if now + wait < deadline {
                log::waits_for_breaker(&self.pipeline.name, self.operation(), wait);
                return Begin::Wait(wait);
            }
        }
        Begin::End(Stop::BreakerOpen, Some(refused))
    }

    /// Calls that waited for the same probe do not come back together: over as long again as they wait, or a second if
    /// that is longer, where the time that is left allows it.
    fn spread(&self, wait: Duration, left: Duration) -> Duration {
        let room = left.saturating_sub(wait) / 2;
        let more = wait.max(PROBE_SPREAD).min(room);
        wait + self.pipeline.randomness.rng().between(Duration::ZERO, more)
    }

    // ---- after an attempt ----

    /// Judges an attempt that came back.
    #[inline]
    pub(crate) fn ended<T, E>(&mut self, outcome: &Result<T, E>, classifier: &impl Classifier<T, E>) -> Next {
        let mut verdict = classifier.classify(outcome);
        if !verdict.is_success() {
            verdict = self.reclassified(verdict);
        }
        let now = self.pipeline.clock.now();
        self.settle(&verdict, now, &|| classifier.message(outcome));
        if verdict.is_success() {
            if let Some(budget) = self.budget() {
                budget.deposit(now);
            }
            self.tell_success(now);
            return Next::Done;
        }
        if verdict.class() == Class::Unclassified {
            let message = || classifier.message(outcome).unwrap_or_default();
            self.pipeline.seen.unclassified.record(std::any::type_name::<E>(), message);
            self.pipeline.seen.watch.unclassified(&self.watched());
        }
        self.failed(&verdict, now, &|| classifier.message(outcome))
    }

    /// Judges an attempt that was cut off by its time limit. One that the caller's deadline ended long before it had
    /// the time that attempts have here says nothing about the service: an impatient caller must not trip the breaker
    /// for the patient ones.
    #[cfg(any(feature = "tokio", feature = "simulate"))]
    pub(crate) fn timed_out(&mut self) -> Next {
        let verdict = self.reclassified(Verdict::transient(Kind::TIMEOUT));
        let now = self.pipeline.clock.now();
        let had = now.since(self.attempt_began);
        let limit = self.own(|own| own.attempt_timeout).or(self.pipeline.attempt_timeout);
        let by_deadline = self.deadline.is_some_and(|deadline| now >= deadline);
        let words = || {
            let ended_by = if by_deadline { "deadline" } else { "attempt_timeout" };
            Some(format!("no answer within {had:.0?} ({ended_by})"))
        };
        if by_deadline && limit.is_some_and(|limit| had < limit / IMPATIENT) {
            self.under_way = false;
            self.leave();
            self.spans.end_attempt(&verdict);
            self.give_place_back();
        } else {
            self.settle(&verdict, now, &words);
        }
        self.failed(&verdict, now, &words)
    }

    /// What a failure means where the settings say so: first those of the operation, then those of the service.
    #[cold]
    fn reclassified(&self, verdict: Verdict) -> Verdict {
        reclassified(verdict, self.pipeline.rules_for(self.operation()))
    }

    #[inline]
    fn settle(&mut self, verdict: &Verdict, now: Moment, message: Words<'_>) {
        self.under_way = false;
        self.leave();
        self.spans.end_attempt(verdict);
        if let (Some(ticket), Some(breaker)) = (self.ticket.take(), self.breaker()) {
            let took = now.since(self.attempt_began);
            breaker.core().settle(ticket, Ended { verdict, took, now: self.breaker_now(now), message });
        }
    }

    #[cold]
    fn failed(&mut self, verdict: &Verdict, now: Moment, message: Words<'_>) -> Next {
        let tried = Tried {
            number: self.number,
            began: self.attempt_began.since(self.started),
            took: now.since(self.attempt_began),
            failure: *verdict,
            wait: None,
        };
        let (key, calls, kept) = (self.key(), self.nesting().calls, self.pipeline.story_kept);
        let begin =
            || Box::new(Failed { story: Story::new(key.get(), calls, kept), retry: None, next_try: None });
        self.failed.get_or_insert_with(begin).story.add(tried);
        let decision = self.decide(verdict, now);
        self.tell(verdict, &decision, now, message);
        match decision {
            Decision::After(wait) => {
                if let Some(failed) = &mut self.failed {
                    failed.story.wait(wait);
                }
                self.number = self.number.saturating_add(1);
                self.previous = Some(verdict.kind());
                Next::Wait(wait)
            }
            Decision::Stop(stop) => Next::End(stop),
        }
    }

    fn decide(&mut self, verdict: &Verdict, now: Moment) -> Decision {
        let longest = self.own(|own| own.longest_wait);
        let at = At::now(now)
            .deadline(self.deadline.filter(|_| longest.is_none()))
            .idempotent(self.own(|own| own.idempotent).unwrap_or(self.pipeline.idempotent))
            .max_retries(self.own(|own| own.max_retries))
            .max_elapsed(self.own(|own| own.max_elapsed));
        let mut failed = self.failed.take();
        let decision = self.ask(failed.as_deref_mut(), verdict, at);
        if let (Some(failed), Some(_)) = (&mut failed, longest) {
            failed.next_try = match decision {
                Decision::After(wait) => Some(wait),
                Decision::Stop(_) => None,
            };
        }
        self.failed = failed;
        let beyond = |wait| self.deadline.is_some_and(|deadline| now + wait >= deadline);
        match decision {
            Decision::After(_) if self.is_once() => Decision::Stop(Stop::NotRepeatable),
            Decision::After(wait) if longest.is_some_and(|longest| wait > longest || beyond(wait)) => {
                Decision::Stop(Stop::LongWait)
            }
            Decision::After(wait) => self.check_wait(wait, now),
            stop => stop,
        }
    }

    fn ask(&self, failed: Option<&mut Failed>, verdict: &Verdict, at: At) -> Decision {
        let (Some(retry), Some(failed)) = (self.retry(), failed) else {
            return Decision::Stop(Stop::NoRetry);
        };
        if self.leaves_retrying(retry) {
            return Decision::Stop(Stop::NestedFailFast);
        }
        let state = failed.retry.get_or_insert_with(|| self.start_retrying(retry));
        retry.next(state, verdict, at)
    }

    fn start_retrying(&self, retry: &Retry) -> State {
        let used = self.options.as_deref().map_or(0, |own| own.retries_used);
        retry.start_with(self.started, self.pipeline.randomness.rng()).after(used)
    }

    /// A retry that the policy grants must also be let through by the breaker and paid from the budget.
    fn check_wait(&mut self, wait: Duration, now: Moment) -> Decision {
        let refusing =
            self.breaker().is_some_and(|breaker| breaker.core().refuses_at(self.breaker_now(now) + wait));
        if refusing && !(self.waits_for_breaker() && self.deadline.is_some()) {
            return Decision::Stop(Stop::BreakerOpen);
        }
        if self.budget().is_some_and(|budget| !budget.withdraw(now)) {
            return Decision::Stop(Stop::BudgetSpent);
        }
        self.paid = Some(now);
        Decision::After(wait)
    }
}

/// The earlier or shorter of two that may be there.
#[inline]
fn earlier<T: Ord>(one: Option<T>, other: Option<T>) -> Option<T> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

/// An attempt that a deadline ended within this part of its own limit says nothing about the service.
#[cfg(any(feature = "tokio", feature = "simulate"))]
const IMPATIENT: u32 = 10;

/// The least time over which calls that waited for a probe are spread.
const PROBE_SPREAD: Duration = Duration::from_secs(1);

/// How often a call that waits for the breaker looks while another caller's probe is under way.
const PROBE_POLL: Duration = Duration::from_millis(20);
