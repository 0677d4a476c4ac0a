//! Who classifies an operation's outcomes: the error itself, error and value, or a function of the caller's.

use super::{Classify, Verdict};

/// Classifies the outcomes of one operation.
///
/// Any `Fn(&Result<T, E>) -> Verdict` is one, so the same error can be transient for a read and terminal for
/// a write.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot classify `Result<{T}, {E}>`",
    note = "errors need `Classify` (and values too where they are judged), or a classifier of your own",
    note = "a closure needs its type spelled out: `|outcome: &Result<Value, MyError>| ...`"
)]
pub trait Classifier<T, E> {
    /// What this outcome means.
    fn classify(&self, outcome: &Result<T, E>) -> Verdict;

    /// The failure in words, where there are any.
    fn message(&self, outcome: &Result<T, E>) -> Option<String> {
        let _ = outcome;
        None
    }
}

/// The default: an `Ok` is a success, an error classifies itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct ErrorsOnly;

impl<T, E: Classify> Classifier<T, E> for ErrorsOnly {
    #[inline]
    fn classify(&self, outcome: &Result<T, E>) -> Verdict {
        match outcome {
            Ok(_) => Verdict::success(),
            Err(error) => error.classify(),
        }
    }

    fn message(&self, outcome: &Result<T, E>) -> Option<String> {
        outcome.as_ref().err().and_then(Classify::message)
    }
}

/// Values are judged too: an `Ok` that classifies as a failure is retried and counted like an error.
#[derive(Clone, Copy, Debug, Default)]
pub struct Judged;

impl<T: Classify, E: Classify> Classifier<T, E> for Judged {
    #[inline]
    fn classify(&self, outcome: &Result<T, E>) -> Verdict {
        match outcome {
            Ok(value) => value.classify(),
            Err(error) => error.classify(),
        }
    }

    fn message(&self, outcome: &Result<T, E>) -> Option<String> {
        match outcome {
            Ok(value) => value.message(),
            Err(error) => error.message(),
        }
    }
}

impl<T, E, F> Classifier<T, E> for F
where
    F: Fn(&Result<T, E>) -> Verdict,
{
    #[inline]
    fn classify(&self, outcome: &Result<T, E>) -> Verdict {
        self(outcome)
    }
}
