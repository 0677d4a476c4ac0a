//! The decision: another try and when, or the reason to stop. The one place where a retry is granted or refused.

use std::fmt;
use std::time::Duration;

use super::policy::Policy;
use super::strategy::{Draw, Strategy};
use super::{Retry, Rule};
use crate::classify::{Class, Effect, Verdict};
use crate::clock::{Moment, scaled};
use crate::random::Rng;

/// The shortest wait between two tries, but for the one immediate retry: a strategy that says zero again gets this.
const MIN_WAIT: Duration = Duration::from_millis(1);

/// A service's hint is lengthened by up to this share, never shortened.
const HINT_SPREAD: f64 = 0.2;

/// What to do after a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Try again after this wait.
    After(Duration),
    /// Do not try again.
    Stop(Stop),
}

/// Why there is no further try.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Stop {
    /// Trying again cannot help.
    Terminal,
    /// Nobody classified the error.
    Unclassified,
    /// The service is away for long.
    Lasting,
    /// The outcome says nothing about the service, such as a cancelled call.
    Neutral,
    /// The request may have taken effect, and the operation must not be repeated.
    NotIdempotent,
    /// The operation can be made only once, such as a request whose body is a stream.
    NotRepeatable,
    /// All retries are used.
    MaxRetries,
    /// The strategy has no further wait.
    StrategyEnded,
    /// The service asks for a longer wait than the policy accepts.
    HintBeyondCap,
    /// The wait would end after the limit over all attempts.
    MaxElapsed,
    /// The wait would end after the caller's deadline.
    Deadline,
    /// The service's retry budget is spent.
    BudgetSpent,
    /// The circuit breaker refuses: the fault is not transient.
    BreakerOpen,
    /// The next try is further away than the caller waits.
    LongWait,
    /// A limit on calls refuses.
    Limited,
    /// The caller cancelled.
    Cancelled,
    /// This policy leaves retrying to the one around it.
    NestedFailFast,
    /// There is no retry policy.
    NoRetry,
}

impl Stop {
    /// The reason in words, as it stands at the end of an error message.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Terminal => "the error is terminal",
            Self::Unclassified => "nobody classified the error",
            Self::Lasting => "the service is away for long",
            Self::Neutral => "the outcome says nothing about the service",
            Self::NotIdempotent => "the request may have taken effect and the operation is not idempotent",
            Self::NotRepeatable => "the request cannot be sent again: its body is a stream",
            Self::MaxRetries => "all retries are used",
            Self::StrategyEnded => "the retry strategy has ended",
            Self::HintBeyondCap => "the service asks for a longer wait than the policy accepts",
            Self::MaxElapsed => "max_elapsed leaves no room for another try",
            Self::Deadline => "the deadline leaves no room for another try",
            Self::BudgetSpent => "the retry budget is spent",
            Self::BreakerOpen => "the circuit is open",
            Self::LongWait => "the next try is further away than its caller waits",
            Self::Limited => "the limit on calls is reached",
            Self::Cancelled => "the caller cancelled",
            Self::NestedFailFast => "retrying is left to the outer policy",
            Self::NoRetry => "it is not retried",
        }
    }
}

impl fmt::Display for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// When and under which limits a failure is judged.
#[derive(Clone, Copy, Debug)]
pub struct At {
    now: Moment,
    deadline: Option<Moment>,
    idempotent: bool,
    max_retries: Option<u32>,
    max_elapsed: Option<Duration>,
}

impl At {
    /// Judged now, with no deadline, for an operation that may be repeated.
    #[must_use]
    pub const fn now(now: Moment) -> Self {
        Self { now, deadline: None, idempotent: true, max_retries: None, max_elapsed: None }
    }

    /// The caller's deadline: no wait ends after it.
    #[must_use]
    pub const fn deadline(mut self, deadline: Option<Moment>) -> Self {
        self.deadline = deadline;
        self
    }

    /// Another limit on the number of retries for this operation, in place of the policy's.
    #[must_use]
    pub const fn max_retries(mut self, retries: Option<u32>) -> Self {
        self.max_retries = retries;
        self
    }

    /// Another limit over all attempts and waits for this operation, in place of the policy's.
    #[must_use]
    pub const fn max_elapsed(mut self, limit: Option<Duration>) -> Self {
        self.max_elapsed = limit;
        self
    }

    /// Whether the operation may be repeated after it may have taken effect.
    #[must_use]
    pub const fn idempotent(mut self, idempotent: bool) -> Self {
        self.idempotent = idempotent;
        self
    }
}

/// What one call has used up of its retries.
#[derive(Debug)]
pub struct State {
    started: Moment,
    retries: u32,
    last_wait: Duration,
    rng: Rng,
    /// What only few need: not made for the others.
    special: Option<Box<Special>>,
}

#[derive(Debug, Default)]
struct Special {
    /// Retries made under each rule, by its place in the settings.
    rule_retries: Vec<u32>,
    /// The instances of the user's own policies: of the strategy (`None`) and of rules, by their place.
    custom: Vec<(Option<usize>, Box<dyn Policy>)>,
}

impl State {
    /// Goes on after so many retries.
    pub(crate) fn after(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Retries granted so far.
    #[must_use]
    pub fn retries(&self) -> u32 {
        self.retries
    }

    /// When the call began.
    #[must_use]
    pub fn started(&self) -> Moment {
        self.started
    }
}

impl Retry {
    /// The state of a call that begins at `now`.
    #[must_use]
    pub fn start(&self, now: Moment) -> State {
        self.start_with(now, Rng::from_entropy())
    }

    /// The same, with random numbers of your own: a seed replays the waits.
    #[must_use]
    pub fn start_with(&self, now: Moment, rng: Rng) -> State {
        State { started: now, retries: 0, last_wait: Duration::ZERO, rng, special: None }
    }

    /// The state of a call that was begun earlier and has used some retries, such as one read from a store. Counts by
    /// kind or code, and instances of your own policies, start anew.
    #[must_use]
    pub fn resume(&self, started: Moment, retries: u32, last_wait: Duration) -> State {
        State { retries, last_wait, ..self.start(started) }
    }

    /// Decides after a failure. A granted retry is counted in `state`.
    pub fn next(&self, state: &mut State, failure: &Verdict, at: At) -> Decision {
        match self.grant(state, failure, at) {
            Ok(wait) => {
                state.retries = state.retries.saturating_add(1);
                state.last_wait = wait;
                Decision::After(wait)
            }
            Err(stop) => Decision::Stop(stop),
        }
    }

    fn grant(&self, state: &mut State, failure: &Verdict, at: At) -> Result<Duration, Stop> {
        let settings = self.settings();
        self.check_class(failure, at)?;
        if at.max_retries.or(settings.max_retries).is_some_and(|max| state.retries >= max) {
            return Err(Stop::MaxRetries);
        }
        let wait = self.wait(state, failure)?;
        let wait = heed(wait, failure, settings.max_hint, settings.min_throttled, &mut state.rng)?;
        // There is at most one immediate retry, ever: the first.
        let wait = if state.retries > 0 { wait.max(MIN_WAIT) } else { wait };
        let end = at.now + wait;
        if at.max_elapsed.or(settings.max_elapsed).is_some_and(|max| end.since(state.started) >= max) {
            return Err(Stop::MaxElapsed);
        }
        if at.deadline.is_some_and(|deadline| end >= deadline) {
            return Err(Stop::Deadline);
        }
        Ok(wait)
    }

    fn check_class(&self, failure: &Verdict, at: At) -> Result<(), Stop> {
        match failure.class() {
            Class::Transient | Class::Throttled => {}
            Class::Terminal => return Err(Stop::Terminal),
            Class::Unclassified => return Err(Stop::Unclassified),
            Class::Lasting => return Err(Stop::Lasting),
            Class::Neutral | Class::Success => return Err(Stop::Neutral),
        }
        let repeatable = at.idempotent || failure.effect() == Effect::None || self.settings().repeat_effects;
        if repeatable { Ok(()) } else { Err(Stop::NotIdempotent) }
    }

    /// The strategy's wait, from the rule for this error if there is one.
    fn wait(&self, state: &mut State, failure: &Verdict) -> Result<Duration, Stop> {
        let settings = self.settings();
        let rule = settings.rules.iter().position(|rule| rule.on.matches(failure));
        let main = (None, &settings.strategy, state.retries);
        let (place, strategy, n) = match rule {
            None => main,
            Some(place) => {
                let used = state.count_rule(&settings.rules, place)?;
                settings.rules[place].strategy.as_ref().map_or(main, |strategy| (Some(place), strategy, used))
            }
        };
        // A hint of no time is none: a service that keeps saying so must not be hammered.
        if strategy.is_adaptive() && failure.hint().is_some_and(|hint| !hint.is_zero()) {
            return Ok(Duration::ZERO); // the hint itself is the wait, see `heed`
        }
        if settings.fast_first && state.retries == 0 {
            return Ok(Duration::ZERO);
        }
        state.ask((place, strategy), n, settings.jitter, failure).ok_or(Stop::StrategyEnded)
    }
}

impl State {
    /// Counts a retry under a rule; returns those used before, or stops when the rule's own count is used up.
    fn count_rule(&mut self, rules: &[Rule], place: usize) -> Result<u32, Stop> {
        let retries = &mut self.special.get_or_insert_default().rule_retries;
        retries.resize(rules.len(), 0);
        let used = retries[place];
        if rules[place].max_retries.is_some_and(|max| used >= max) {
            return Err(Stop::MaxRetries);
        }
        retries[place] = used.saturating_add(1);
        Ok(used)
    }

    /// The strategy's wait; for a policy of the user's own, its instance's, which is made at its first failure.
    fn ask(
        &mut self,
        (place, strategy): (Option<usize>, &Strategy),
        n: u32,
        jitter: super::Jitter,
        failure: &Verdict,
    ) -> Option<Duration> {
        let Some(policy) = strategy.custom() else {
            return strategy.wait(n, &mut Draw { jitter, previous: self.last_wait, rng: &mut self.rng });
        };
        let custom = &mut self.special.get_or_insert_default().custom;
        let slot = custom.iter().position(|(of, _)| *of == place).unwrap_or_else(|| {
            custom.push((place, policy.fresh()));
            custom.len() - 1
        });
        custom[slot].1.next(n, failure)
    }
}

/// Lets the service have its say: its hint is a lower bound that jitter only lengthens, and one beyond the cap means
/// stop; a service that throttles without a hint is left alone for a while at least.
fn heed(
    wait: Duration,
    failure: &Verdict,
    cap: Duration,
    throttled: Duration,
    rng: &mut Rng,
) -> Result<Duration, Stop> {
    match failure.hint() {
        Some(hint) if hint > cap => Err(Stop::HintBeyondCap),
        Some(hint) => Ok(wait.max(hint.saturating_add(scaled(hint, HINT_SPREAD * rng.unit())))),
        None if failure.class() == Class::Throttled => {
            Ok(wait.max(throttled.saturating_add(scaled(throttled, HINT_SPREAD * rng.unit()))))
        }
        None => Ok(wait),
    }
}
