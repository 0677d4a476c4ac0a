//! What stands in when a service cannot be had: a default, the last good value, another service, a simpler function.

use std::sync::Arc;

use arc_swap::ArcSwapOption;

use super::Attempt;
use super::call::Call;
use crate::classify::Classifier;
use crate::error::Error;
use crate::log;

/// A call with a fallback, from [`Call::fallback`].
///
/// The fallback gets the error and answers with a value, or with the error again. It stands in for refusals, timeouts
/// and failures; not for terminal errors, which are an answer, nor for what the caller cancelled.
///
/// ```
/// # tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
/// use steadfast_resilience::{Pipeline, Retry};
///
/// let prices = Pipeline::builder("prices").retry(Retry::none()).build()?;
/// let price = prices
///     .call()
///     .fallback(|_error| async { Ok(100) }) // a default; or ask a cache, or another pipeline
///     .run(|_| async { Err::<u32, _>(std::io::Error::from(std::io::ErrorKind::ConnectionRefused)) })
///     .await;
/// assert_eq!(price.unwrap(), 100);
/// # Ok::<(), steadfast_resilience::BuildError>(()) }).unwrap();
/// ```
#[derive(Clone, Debug)]
#[must_use = "nothing is called until `run`"]
pub struct WithFallback<'p, C, F> {
    pub(super) call: Call<'p, C>,
    pub(super) fallback: F,
}

impl<C, F> WithFallback<'_, C, F> {
    /// Runs the operation, and the fallback when it is needed.
    ///
    /// # Errors
    /// What the fallback says, or the call's error when no fallback may stand in.
    #[cfg(feature = "tokio")]
    pub async fn run<T, E, O, OFut, FFut>(self, operation: O) -> Result<T, Error<E>>
    where
        O: FnMut(Attempt) -> OFut,
        OFut: Future<Output = Result<T, E>>,
        C: Classifier<T, E>,
        F: FnOnce(Error<E>) -> FFut,
        FFut: Future<Output = Result<T, Error<E>>>,
    {
        match self.call.run(operation).await {
            Err(error) if error.allows_fallback() => told((self.fallback)(error).await),
            outcome => outcome,
        }
    }

    /// The same on this thread, with a fallback that does not wait.
    ///
    /// # Errors
    /// What the fallback says, or the call's error when no fallback may stand in.
    pub fn run_blocking<T, E>(self, operation: impl FnMut(Attempt) -> Result<T, E>) -> Result<T, Error<E>>
    where
        C: Classifier<T, E>,
        F: FnOnce(Error<E>) -> Result<T, Error<E>>,
    {
        match self.call.run_blocking(operation) {
            Err(error) if error.allows_fallback() => told((self.fallback)(error)),
            outcome => outcome,
        }
    }
}

/// Notes that a fallback could not help: the failure before it was logged as one that may do no harm.
pub(super) fn told<T, E>(outcome: Result<T, Error<E>>) -> Result<T, Error<E>> {
    if let Err(error) = &outcome {
        log::fallback_failed(&error.name(), error.operation_name().unwrap_or_default(), &|| {
            error.to_string()
        });
    }
    outcome
}

/// Remembers the last good value, to give it again while its service is away.
///
/// ```
/// let last = steadfast_resilience::LastGood::new();
/// assert!(last.get().is_none());
/// last.set(7);
/// assert_eq!(*last.get().unwrap(), 7);
/// ```
#[derive(Debug)]
pub struct LastGood<T> {
    value: ArcSwapOption<T>,
}

impl<T> LastGood<T> {
    /// Nothing yet.
    #[must_use]
    pub fn new() -> Self {
        Self { value: ArcSwapOption::empty() }
    }

    /// Remembers this one.
    pub fn set(&self, value: T) {
        self.value.store(Some(Arc::new(value)));
    }

    /// The last one, if there was any.
    #[must_use]
    pub fn get(&self) -> Option<Arc<T>> {
        self.value.load_full()
    }
}

impl<T> Default for LastGood<T> {
    fn default() -> Self {
        Self::new()
    }
}
