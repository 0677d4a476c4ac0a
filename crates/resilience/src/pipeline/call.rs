//! Options for one call, on top of the pipeline's settings.

use std::borrow::Cow;
use std::time::Duration;

use super::attempt::Attempt;
use super::fallback::WithFallback;
use super::group::Group;
#[cfg(feature = "tokio")]
use super::hedge::{Hedge, WithHedge};
use super::nesting::Nesting;
use super::{Inner, OperationSettings, Pipeline};
use crate::breaker::Breaker;
use crate::cancel::{Cancel, Listener};
use crate::classify::{ErrorsOnly, Judged, Verdict};
use crate::clock::Moment;
use crate::key::IdempotencyKey;
use crate::retry::{Budget, Retry};

/// What one call does differently. All `None`: as the pipeline says.
#[derive(Clone, Debug, Default)]
pub(crate) struct Options {
    pub(crate) operation: Cow<'static, str>,
    pub(crate) retry: Option<Retry>,
    pub(crate) breaker: Option<Breaker>,
    pub(crate) budget: Option<Budget>,
    pub(crate) max_retries: Option<u32>,
    pub(crate) max_elapsed: Option<Duration>,
    pub(crate) deadline: Option<Moment>,
    pub(crate) complete_within: Option<Duration>,
    pub(crate) attempt_timeout: Option<Duration>,
    pub(crate) server_timeout: Option<Duration>,
    pub(crate) key: Option<IdempotencyKey>,
    pub(crate) idempotent: Option<bool>,
    pub(crate) under: Option<Nesting>,
    pub(crate) cancel: Option<Listener>,
    /// Whether something stands in when the service cannot be had.
    pub(crate) has_fallback: bool,
    pub(crate) wait_for_breaker: bool,
    /// The longest wait that is made in place.
    pub(crate) longest_wait: Option<Duration>,
    /// Retries that were made before this call.
    pub(crate) retries_used: u32,
    /// Whether the operation can be made only once, such as a request whose body is a stream.
    pub(crate) once: bool,
}

impl Options {
    /// The budget of this call, or of the resource that it brought along.
    #[inline]
    pub(super) fn own_budget(&self) -> Option<&Budget> {
        self.budget.as_ref().or_else(|| self.breaker.as_ref()?.budget())
    }

    /// Takes over what the settings of the operation say and the call does not.
    #[inline]
    pub(super) fn fill_in(&mut self, pipeline: &Inner) {
        if let Some(settings) = pipeline.operations.get(&*self.operation) {
            self.fill_in_from(settings);
        }
    }

    fn fill_in_from(&mut self, settings: &OperationSettings) {
        fn fill<T: Clone>(own: &mut Option<T>, told: &Option<T>) {
            if own.is_none() {
                own.clone_from(told);
            }
        }
        fill(&mut self.retry, &settings.retry);
        fill(&mut self.attempt_timeout, &settings.attempt_timeout);
        fill(&mut self.server_timeout, &settings.server_timeout);
        fill(&mut self.complete_within, &settings.complete_within);
        fill(&mut self.idempotent, &settings.idempotent);
    }
}

/// One call to be made, from [`Pipeline::call`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use std::time::Duration;
/// use steadfast_resilience::{Kind, Pipeline, Verdict};
///
/// let payments = Pipeline::standard("payments");
/// let answer = payments
///     .call()
///     .named("charge")
///     .complete_within(Duration::from_secs(2))
///     .not_idempotent()
///     .classify(|outcome: &Result<u32, String>| match outcome {
///         Ok(_) => Verdict::success(),
///         Err(text) if text == "busy" => Verdict::transient(Kind::OVERLOADED).without_effect(),
///         Err(_) => Verdict::terminal(Kind::BAD_REQUEST),
///     })
///     .run(|attempt| async move { if attempt.number() == 0 { Err("busy".to_owned()) } else { Ok(7) } })
///     .await;
/// assert_eq!(answer.unwrap(), 7);
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is called until `run`"]
pub struct Call<'p, C = ErrorsOnly> {
    pub(super) pipeline: &'p Pipeline,
    pub(super) options: Box<Options>,
    pub(super) classifier: C,
}

impl<'p> Call<'p> {
    pub(super) fn new(pipeline: &'p Pipeline) -> Self {
        Self { pipeline, options: Box::default(), classifier: ErrorsOnly }
    }
}

impl<'p, C> Call<'p, C> {
    /// The operation's name in logs and errors. A few names that say what is asked for, such as `charge`: with an id in
    /// it, every call would be an operation of its own.
    pub fn named(mut self, operation: impl Into<Cow<'static, str>>) -> Self {
        self.options.operation = operation.into();
        self
    }

    /// Another retry policy for this operation.
    pub fn retry(mut self, retry: &Retry) -> Self {
        self.options.retry = Some(retry.clone());
        self
    }

    /// Another breaker for this call, such as the one of this host or tenant from a
    /// [`Registry`](crate::breaker::Registry), and its [budget](crate::breaker::RegistryBuilder::budget) if it has one.
    /// It counts on its own clock, which in tests should be the pipeline's.
    pub fn breaker(mut self, breaker: &Breaker) -> Self {
        self.options.breaker = Some(breaker.clone());
        self
    }

    /// Another retry budget for this call, such as the one of this tenant.
    pub fn budget(mut self, budget: &Budget) -> Self {
        self.options.budget = Some(budget.clone());
        self
    }

    /// Waits for the breaker where the deadline leaves room for it:
    /// see [`Builder::wait_for_breaker`](super::Builder::wait_for_breaker).
    pub fn wait_for_breaker(mut self) -> Self {
        self.options.wait_for_breaker = true;
        self
    }

    /// Another number of retries for this operation; 0 for none. Without a retry policy it changes nothing.
    pub fn max_retries(mut self, retries: u32) -> Self {
        self.options.max_retries = Some(retries);
        self
    }

    /// Leaves longer waits to the caller, such as a durable timer: when the policy wants to wait longer than this, or beyond
    /// the deadline, the call ends with [`Stop::LongWait`](crate::retry::Stop::LongWait) and
    /// [`next_try_in`](crate::Error::next_try_in) says how long. Go on with
    /// [`retries_used`](Self::retries_used).
    pub fn longest_wait(mut self, wait: Duration) -> Self {
        self.options.longest_wait = Some(wait);
        self
    }

    /// Goes on with a call that was tried before: so many of its retries are used.
    pub fn retries_used(mut self, retries: u32) -> Self {
        self.options.retries_used = retries;
        self
    }

    /// Another limit over all attempts and waits.
    pub fn max_elapsed(mut self, limit: Duration) -> Self {
        self.options.max_elapsed = Some(limit);
        self
    }

    /// The caller's deadline, on the pipeline's clock ([`Pipeline::now`]). No attempt and no wait goes beyond it.
    pub fn deadline(mut self, deadline: Moment) -> Self {
        self.options.deadline = Some(deadline);
        self
    }

    /// The same as a time from the beginning of the call, which is its future's first poll.
    pub fn complete_within(mut self, limit: Duration) -> Self {
        self.options.complete_within = Some(limit);
        self
    }

    /// Another time limit for each attempt. Zero leaves time only for what is ready at once.
    pub fn attempt_timeout(mut self, limit: Duration) -> Self {
        self.options.attempt_timeout = Some(limit);
        self
    }

    /// Another time limit to send with the request.
    pub fn server_timeout(mut self, limit: Duration) -> Self {
        self.options.server_timeout = Some(limit);
        self
    }

    /// An idempotency key of your own. Default: a fresh one.
    pub fn key(mut self, key: IdempotencyKey) -> Self {
        self.options.key = Some(key);
        self
    }

    /// This operation may be repeated, whatever the pipeline says of its operations.
    pub fn idempotent(mut self) -> Self {
        self.options.idempotent = Some(true);
        self
    }

    /// This operation must not be repeated once the request may have taken effect.
    pub fn not_idempotent(mut self) -> Self {
        self.options.idempotent = Some(false);
        self
    }

    /// Stops when `cancel` says so: waits end at once, an async attempt is dropped.
    pub fn cancel(mut self, cancel: &Cancel) -> Self {
        self.options.cancel = Some(Listener::new(cancel));
        self
    }

    /// This call is made by that attempt of an outer pipeline. Needed only where the outer operation spawns the inner
    /// call as a task of its own; otherwise it is seen.
    pub fn under(mut self, attempt: &Attempt) -> Self {
        self.options.under = Some(attempt.nesting);
        self
    }

    /// The operation is this group of operations, retried as a whole.
    pub fn group(mut self, group: &Group) -> Self {
        self.options.operation = group.name().into();
        if !group.is_idempotent() {
            self.options.idempotent = Some(false);
        }
        self
    }

    /// Classifies this operation's outcomes with a function: the same error may be transient for a read and terminal
    /// for a write.
    pub fn classify<T, E, F>(self, classify: F) -> Call<'p, F>
    where
        F: Fn(&Result<T, E>) -> Verdict,
    {
        self.classify_with(classify)
    }

    /// Classifies this operation's outcomes with a classifier of your own.
    pub fn classify_with<D>(self, classifier: D) -> Call<'p, D> {
        Call { pipeline: self.pipeline, options: self.options, classifier }
    }

    /// Judges values too: an `Ok` that classifies as a failure is retried and counted. When retries end, it is still
    /// returned as `Ok`.
    pub fn judge_values(self) -> Call<'p, Judged> {
        self.classify_with(Judged)
    }

    /// Asks a second time when an answer takes long, and takes the first good one: see [`WithHedge`].
    #[cfg(feature = "tokio")]
    pub fn hedge(self, hedge: Hedge) -> WithHedge<'p, C> {
        WithHedge { call: self, hedge }
    }

    /// What to do when the service cannot be had: see [`WithFallback`].
    pub fn fallback<F>(mut self, fallback: F) -> WithFallback<'p, C, F> {
        self.options.has_fallback = true;
        WithFallback { call: self, fallback }
    }
}
