//! Errors whose type is lost: boxed ones, and those of `anyhow` and the like.

use std::error::Error as StdError;
use std::io;

use super::{Classify, Verdict};
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
    let mut next = Some(error);
    for _ in 0..DEPTH {
        let Some(error) = next else { break };
        if let Some(known) = error.downcast_ref::<io::Error>() {
            return known.classify();
        }
        if let Some(known) = error.downcast_ref::<Refused>() {
            return known.classify();
        }
        next = error.source();
    }
    Verdict::unclassified()
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
