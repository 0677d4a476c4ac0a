//! Errors whose type is lost: boxed ones, and those of `anyhow` and the like.

use std::error::Error as StdError;
use std::io;

use super::{Classifier, Classify, Verdict};
use crate::breaker::Refused;

/// How many causes are looked at: a chain can be a ring.
const DEPTH: usize = 32;

/// What an error of unknown type means: what the first `std::io::Error` or [`Refused`] says among the error and its
/// causes; unclassified without one. For `anyhow::Error` and other wrappers: `chain(error.as_ref())`.
///
/// ```
/// use std::io::{Error, ErrorKind};
/// use steadfast_resilience::{Class, Classify, classify::chain};
///
/// let boxed: Box<dyn std::error::Error + Send + Sync> = Error::from(ErrorKind::ConnectionRefused).into();
/// assert_eq!(chain(&*boxed).class(), Class::Transient);
/// assert_eq!(boxed.classify().class(), Class::Transient); // boxed errors classify themselves so
/// ```
#[must_use]
pub fn chain(error: &(dyn StdError + 'static)) -> Verdict {
    let known = causes(error).find_map(|cause| {
        let io = cause.downcast_ref::<io::Error>().map(Classify::classify);
        io.or_else(|| cause.downcast_ref::<Refused>().map(Classify::classify))
    });
    known.unwrap_or(Verdict::unclassified())
}

/// Classifies errors whose type is lost, with types of your own beside those that [`chain`] knows: for
/// [`classify_with`](crate::pipeline::Call::classify_with), with boxed errors, `anyhow` and tower's `BoxError`.
///
/// ```
/// use steadfast_resilience::{Classify, Kind, Pipeline, Verdict, classify::Chain};
///
/// #[derive(Debug)]
/// struct Busy;
/// impl Classify for Busy {
///     fn classify(&self) -> Verdict { Verdict::transient(Kind::OVERLOADED) }
/// }
/// impl std::fmt::Display for Busy {
///     fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result { f.write_str("busy") }
/// }
/// impl std::error::Error for Busy {}
///
/// let stock = Pipeline::standard("stock");
/// let mut calls = 0;
/// let answer = stock.call().classify_with(Chain::new().knows::<Busy>()).run_blocking(|_| {
///     calls += 1;
///     if calls == 1 { Err(Box::<dyn std::error::Error + Send + Sync>::from(Busy)) } else { Ok(7) }
/// });
/// assert_eq!((answer.unwrap(), calls), (7, 2));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Chain {
    known: Vec<fn(&(dyn StdError + 'static)) -> Option<Verdict>>,
}

impl Chain {
    /// Knows what [`chain`] knows.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Knows this type too, and asks it first.
    #[must_use]
    pub fn knows<K: Classify + StdError + 'static>(mut self) -> Self {
        self.known.push(|error| error.downcast_ref::<K>().map(Classify::classify));
        self
    }
}

impl<T, E: AsRef<dyn StdError + Send + Sync>> Classifier<T, E> for Chain {
    fn classify(&self, outcome: &Result<T, E>) -> Verdict {
        let Err(error) = outcome else { return Verdict::success() };
        let error: &(dyn StdError + 'static) = error.as_ref();
        let own = causes(error).find_map(|cause| self.known.iter().find_map(|known| known(cause)));
        own.unwrap_or_else(|| chain(error))
    }

    fn message(&self, outcome: &Result<T, E>) -> Option<String> {
        outcome.as_ref().err().map(|error| error.as_ref().to_string())
    }
}

/// The error and what caused it, as far as one should look.
pub(super) fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    let mut next = Some(error);
    std::iter::from_fn(move || {
        let cause = next?;
        next = cause.source();
        Some(cause)
    })
    .take(DEPTH)
}

macro_rules! classify_chain {
    ($($error:ty),*) => {$(
        impl Classify for $error {
            fn classify(&self) -> Verdict {
                chain(self)
            }

            fn message(&self) -> Option<String> {
                Some(self.to_string())
            }
        }
    )*};
}

classify_chain!(dyn StdError, dyn StdError + Send, dyn StdError + Send + Sync);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Class, Kind};

    #[derive(Debug)]
    struct Wrapped(Option<Box<dyn StdError + Send + Sync>>);

    impl std::fmt::Display for Wrapped {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("wrapped")
        }
    }

    impl StdError for Wrapped {
        fn source(&self) -> Option<&(dyn StdError + 'static)> {
            self.0.as_deref().map(|inner| inner as &(dyn StdError + 'static))
        }
    }

    #[test]
    fn the_first_known_cause_says_what_a_boxed_error_means() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let inner = Wrapped(Some(Box::new(refused)));
        let outer: Box<dyn StdError + Send + Sync> = Box::new(Wrapped(Some(Box::new(inner))));
        assert_eq!(outer.classify().kind(), Kind::CONNECT_REFUSED);
        assert_eq!(outer.message().as_deref(), Some("wrapped"));
    }

    #[test]
    fn a_breakers_refusal_inside_of_a_boxed_error_is_seen() {
        let breaker = crate::Breaker::consecutive(1).build("inner").unwrap();
        breaker.trip(&Verdict::transient(Kind::TIMEOUT));
        let refused = breaker.try_acquire(crate::clock::Clock::system().now()).unwrap_err();
        let boxed: Box<dyn StdError> = Box::new(refused);
        assert_eq!((boxed.classify().class(), boxed.classify().kind()), (Class::Neutral, Kind::REFUSED));
    }

    #[test]
    fn without_a_known_cause_nobody_classified_it() {
        let boxed: Box<dyn StdError + Send> = Box::new(Wrapped(None));
        assert_eq!(boxed.classify().class(), Class::Unclassified);
    }
}
