//! Hedging: when an attempt takes long, a second one is made beside it, and the first good answer counts.
//!
//! For reads whose slowest answers matter. All requests of one attempt share its number, key and time limit; each one
//! more needs a closed circuit, a place under the limit and a retry's price from the budget, so that hedges cannot feed
//! an outage. The breaker hears of every request that ended. A door of its own: calls without hedges pay nothing.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use super::Pipeline;
use super::attempt::Attempt;
use super::call::Call;
use super::reclassified;
use crate::breaker::Breaker;
use crate::breaker::core::{Ended, Ticket};
use crate::classify::{Class, Classifier, Verdict};
use crate::clock::{Clock, Moment, Sleep};
use crate::error::Error;
use crate::limit::{Limit, Place};
use crate::retry::{Budget, On};
use crate::telemetry::Watched;

/// The most requests beside the first: more would be an attack.
const MOST: u32 = 5;

/// When to ask a second time although the first answer may still come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hedge {
    after: Duration,
    at_most: u32,
}

impl Hedge {
    /// One more request when there is no answer after this time. A good choice is what 95 of 100 answers take: then one
    /// call in twenty is made twice.
    #[must_use]
    pub const fn after(time: Duration) -> Self {
        Self { after: time, at_most: 1 }
    }

    /// Up to this many more, each after the same time again; at most 5.
    #[must_use]
    pub const fn at_most(mut self, requests: u32) -> Self {
        self.at_most = if requests > MOST { MOST } else { requests };
        self
    }
}

/// A call with hedges, from [`Call::hedge`].
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use std::time::Duration;
/// use steadfast_resilience::{Pipeline, pipeline::Hedge};
///
/// let prices = Pipeline::standard("prices");
/// let price = prices
///     .call()
///     .hedge(Hedge::after(Duration::from_millis(20)))
///     .run(|attempt| async move {
///         if attempt.hedge() == 0 {
///             std::future::pending::<()>().await; // the first one hangs
///         }
///         Ok::<_, std::io::Error>(100)
///     })
///     .await;
/// assert_eq!(price.unwrap(), 100);
/// # });
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is called until `run`"]
pub struct WithHedge<'p, C> {
    pub(super) call: Call<'p, C>,
    pub(super) hedge: Hedge,
}

impl<C> WithHedge<'_, C> {
    /// Runs the operation, with up to as many requests beside each other as the hedge says. An operation that is not
    /// idempotent is never hedged.
    ///
    /// # Errors
    /// As [`Call::run`]. When all requests of an attempt failed, the last failure is the attempt's.
    pub async fn run<T, E, F, Fut>(self, operation: F) -> Result<T, Error<E>>
    where
        F: Fn(Attempt) -> Fut,
        Fut: Future<Output = Result<T, E>>,
        C: Classifier<T, E>,
    {
        let Call { pipeline, mut options, classifier } = self.call;
        let settings = pipeline.source.hold();
        options.fill_in(&settings);
        let idempotent = options.idempotent.unwrap_or(settings.idempotent);
        let shared = Arc::new(Shared {
            operation,
            classifier,
            clock: settings.clock.clone(),
            breaker: options.breaker.clone().or_else(|| settings.breaker.clone()),
            budget: options.own_budget().or(settings.budget.as_ref()).cloned(),
            limit: settings.limit.clone(),
            rules: settings.rules_for(&options.operation).cloned().collect(),
            hedge: if idempotent { self.hedge } else { self.hedge.at_most(0) },
            pipeline: pipeline.clone(),
            name: options.operation.clone(),
        });
        drop(settings);
        let judge = Judge(Arc::clone(&shared));
        Call { pipeline, options, classifier: judge }.run(move |attempt| Hedged::new(&shared, attempt)).await
    }
}

/// What all requests of a call have in common.
struct Shared<F, C> {
    operation: F,
    classifier: C,
    clock: Clock,
    breaker: Option<Breaker>,
    budget: Option<Budget>,
    limit: Option<Limit>,
    /// What failures mean where the settings say so.
    rules: Vec<(On, Class)>,
    hedge: Hedge,
    pipeline: Pipeline,
    /// The operation's, as it is counted.
    name: Cow<'static, str>,
}

/// The call's classifier, which its requests ask too.
struct Judge<F, C>(Arc<Shared<F, C>>);

impl<T, E, F, C: Classifier<T, E>> Classifier<T, E> for Judge<F, C> {
    fn classify(&self, outcome: &Result<T, E>) -> Verdict {
        self.0.classifier.classify(outcome)
    }

    fn message(&self, outcome: &Result<T, E>) -> Option<String> {
        self.0.classifier.message(outcome)
    }
}

/// One attempt: a request, and more beside it.
struct Hedged<F, C, Fut> {
    shared: Arc<Shared<F, C>>,
    attempt: Attempt,
    began: Moment,
    under_way: Vec<Pin<Box<Fut>>>,
    /// What the requests beside the first have taken.
    beside: Vec<Beside>,
    made: u32,
    next: Option<Pin<Box<Sleep>>>,
}

/// What a request beside the first holds: its place in the breaker and under the limit.
struct Beside {
    began: Moment,
    permit: Option<(Breaker, Ticket)>,
    place: Option<Place>,
}

impl<F, C, Fut> Hedged<F, C, Fut>
where
    F: Fn(Attempt) -> Fut,
{
    fn new(shared: &Arc<Shared<F, C>>, attempt: Attempt) -> Self {
        let mut hedged = Self {
            shared: Arc::clone(shared),
            attempt,
            began: shared.clock.now(),
            under_way: Vec::new(),
            beside: Vec::new(),
            made: 0,
            next: None,
        };
        hedged.ask();
        hedged
    }

    fn ask(&mut self) {
        let gone = self.shared.clock.now().since(self.began);
        let time_left = self.attempt.time_left.map(|time| time.saturating_sub(gone));
        let attempt = Attempt { hedge: self.made, time_left, ..self.attempt };
        self.under_way.push(Box::pin((self.shared.operation)(attempt)));
        self.made += 1;
        self.next = (self.made <= self.shared.hedge.at_most)
            .then(|| Box::pin(self.shared.clock.sleep(self.shared.hedge.after)));
    }

    /// Makes one more request if everybody agrees; otherwise none is made in this attempt any more.
    fn ask_beside(&mut self) {
        match self.shared.room_beside() {
            Some(beside) => {
                self.beside.push(beside);
                self.shared.count();
                self.ask();
            }
            None => self.next = None,
        }
    }

    /// A request failed while others are under way: the breaker hears of it, and they go on.
    fn failed_beside<T, E>(&mut self, outcome: &Result<T, E>, verdict: &Verdict)
    where
        C: Classifier<T, E>,
    {
        // Which of the places it was does not matter: there is one for each request, and the call itself has the last.
        if let Some(beside) = self.beside.pop() {
            let message = || self.shared.classifier.message(outcome);
            beside.settle(verdict, &message);
        }
    }
}

impl<F, C> Shared<F, C> {
    fn count(&self) {
        let settings = self.pipeline.source.hold();
        settings.seen.watch.hedged(&Watched { pipeline: &settings, operation: &self.name });
    }

    /// Room for a request beside the first: the circuit is closed, the limit has a place, the budget pays.
    fn room_beside(&self) -> Option<Beside> {
        let now = self.clock.now();
        let permit = match &self.breaker {
            // Half-open, every place is for a call of its own.
            Some(breaker) if !breaker.is_closed() => return None,
            Some(breaker) => {
                let now = breaker.clock().now();
                let ticket = breaker.core().acquire(|| now).ok()?;
                Some((breaker.clone(), ticket))
            }
            None => None,
        };
        let mut beside = Beside { began: now, permit, place: None };
        if self.budget.as_ref().is_some_and(|budget| !budget.withdraw(now)) {
            return None;
        }
        // Last, because a turn that the rate gave is not given back.
        match self.limit.as_ref().map(|limit| limit.try_enter(now)) {
            None => {}
            Some(Ok(place)) => beside.place = Some(place),
            Some(Err(_)) => {
                self.budget.iter().for_each(|budget| budget.refund(now));
                return None;
            }
        }
        Some(beside)
    }

    fn judge<T, E>(&self, outcome: &Result<T, E>) -> Verdict
    where
        C: Classifier<T, E>,
    {
        let verdict = self.classifier.classify(outcome);
        if verdict.is_success() { verdict } else { reclassified(verdict, &self.rules) }
    }
}

impl Beside {
    fn settle(mut self, verdict: &Verdict, message: &dyn Fn() -> Option<String>) {
        if let Some((breaker, ticket)) = self.permit.take() {
            let now = breaker.clock().now();
            breaker.core().settle(ticket, Ended { verdict, took: now.since(self.began), now, message });
        }
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if let Some((breaker, ticket)) = self.permit.take() {
            breaker.core().abandon(ticket, self.began);
        }
    }
}

// Futures are pinned in boxes of their own.
impl<F, C, Fut> Unpin for Hedged<F, C, Fut> {}

impl<T, E, F, C, Fut> Future for Hedged<F, C, Fut>
where
    F: Fn(Attempt) -> Fut,
    Fut: Future<Output = Result<T, E>>,
    C: Classifier<T, E>,
{
    type Output = Result<T, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            let mut index = 0;
            while let Some(request) = this.under_way.get_mut(index) {
                let Poll::Ready(outcome) = request.as_mut().poll(cx) else {
                    index += 1;
                    continue;
                };
                drop(this.under_way.swap_remove(index));
                let verdict = this.shared.judge(&outcome);
                // A terminal answer is one: asking elsewhere cannot change it.
                let answers = verdict.is_success() || verdict.class() == Class::Terminal;
                if answers || this.under_way.is_empty() {
                    return Poll::Ready(outcome);
                }
                this.failed_beside(&outcome, &verdict);
            }
            let due = this.next.as_mut().is_some_and(|next| next.as_mut().poll(cx).is_ready());
            if !due {
                return Poll::Pending;
            }
            this.ask_beside();
        }
    }
}
