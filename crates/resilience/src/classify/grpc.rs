//! What a gRPC status means: the 17 codes, `RetryInfo` and the server's push-back.
//!
//! Works on plain numbers and strings, so that any gRPC library will do. The reasons follow gRPC's own notes
//! on its status codes and gRFC A6 (client retries).
//!
//! ```
//! use std::time::Duration;
//! use steadfast_resilience::{Class, classify::grpc::{self, Code}};
//!
//! let verdict = grpc::status(Code::from_i32(8), Some(Duration::from_secs(3)));
//! assert_eq!(verdict.class(), Class::Throttled);
//! assert_eq!(verdict.hint(), Some(Duration::from_secs(3)));
//! ```

use std::time::Duration;

use super::http::LONGEST_HINT;
use super::{Class, Classify, Effect, Kind, Verdict};

/// A gRPC status code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(i32)]
pub enum Code {
    /// It worked.
    Ok = 0,
    /// The call was cancelled, as a rule by its caller.
    Cancelled = 1,
    /// An error without a better code.
    Unknown = 2,
    /// The request is wrong, whatever the state of the service.
    InvalidArgument = 3,
    /// The deadline passed before the call was done.
    DeadlineExceeded = 4,
    /// The thing asked for does not exist.
    NotFound = 5,
    /// The thing to be made exists.
    AlreadyExists = 6,
    /// The caller is known and may not do this.
    PermissionDenied = 7,
    /// A quota or another resource is used up.
    ResourceExhausted = 8,
    /// The service is not in the state that the call needs.
    FailedPrecondition = 9,
    /// The call lost against a concurrent one.
    Aborted = 10,
    /// The call went past the end of what there is.
    OutOfRange = 11,
    /// The service does not have this method.
    Unimplemented = 12,
    /// Something that must hold in the service does not.
    Internal = 13,
    /// The service cannot be reached or cannot answer now.
    Unavailable = 14,
    /// Data is lost or damaged beyond repair.
    DataLoss = 15,
    /// The caller is not known.
    Unauthenticated = 16,
}

impl Code {
    /// The code of a number. Numbers that gRPC has not given out are [`Code::Unknown`], as gRPC asks for.
    #[must_use]
    pub const fn from_i32(number: i32) -> Self {
        match number {
            0 => Self::Ok,
            1 => Self::Cancelled,
            3 => Self::InvalidArgument,
            4 => Self::DeadlineExceeded,
            5 => Self::NotFound,
            6 => Self::AlreadyExists,
            7 => Self::PermissionDenied,
            8 => Self::ResourceExhausted,
            9 => Self::FailedPrecondition,
            10 => Self::Aborted,
            11 => Self::OutOfRange,
            12 => Self::Unimplemented,
            13 => Self::Internal,
            14 => Self::Unavailable,
            15 => Self::DataLoss,
            16 => Self::Unauthenticated,
            _ => Self::Unknown,
        }
    }

    /// The code's number.
    #[must_use]
    pub const fn as_i32(self) -> i32 {
        self as i32
    }
}

impl Classify for Code {
    fn classify(&self) -> Verdict {
        status(*self, None)
    }
}

/// What a status means. `retry_info` is the delay in the status's `google.rpc.RetryInfo`, if it has one.
///
/// The delay becomes the hint of codes that may be tried again, and `UNAVAILABLE` with a delay is throttled,
/// as HTTP's 503 with `Retry-After` is. It does not make a final code worth another try.
#[must_use]
pub fn status(code: Code, retry_info: Option<Duration>) -> Verdict {
    let verdict = plain(code).with_code(code.as_i32());
    let Some(delay) = retry_info.filter(|_| verdict.class().is_retryable()) else { return verdict };
    match code {
        // The service itself refused and says when to come back, so it has not carried the call out.
        Code::ResourceExhausted => verdict.without_effect(),
        Code::Unavailable => {
            Verdict::new(Class::Throttled, Kind::OVERLOADED, Effect::Possible).with_code(code.as_i32())
        }
        _ => verdict,
    }
    .with_hint(delay.min(LONGEST_HINT))
}

fn plain(code: Code) -> Verdict {
    match code {
        Code::Ok => Verdict::success(),
        Code::Cancelled => Verdict::neutral(Kind::CANCELLED),
        // Whatever a server failed to name: a passing fault or a bug, nobody can tell.
        Code::Unknown => Verdict::unclassified(),
        // `OUT_OF_RANGE` could pass once there is more to read, but only its caller can tell.
        Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented => {
            Verdict::terminal(Kind::BAD_REQUEST)
        }
        // The answer may have been on its way: gRPC says so itself.
        Code::DeadlineExceeded => Verdict::transient(Kind::TIMEOUT),
        Code::NotFound => Verdict::terminal(Kind::NOT_FOUND),
        Code::PermissionDenied | Code::Unauthenticated => Verdict::terminal(Kind::DENIED),
        // Libraries also raise it for an answer that is too big to receive, that is after the work was done:
        // unlike HTTP's 429 it leaves an effect possible.
        Code::ResourceExhausted => Verdict::new(Class::Throttled, Kind::THROTTLED, Effect::Possible),
        // "Do not retry until the state has been fixed": another try meets the same state.
        Code::AlreadyExists | Code::FailedPrecondition => Verdict::terminal(Kind::CONFLICT),
        // To be retried "at a higher level": the operation that is retried must be the whole of reading,
        // changing and writing. That nothing took effect is usual but not promised.
        Code::Aborted => Verdict::transient(Kind::CONFLICT),
        // Reserved for broken invariants: a bug or lost data, both of which the next try finds again.
        Code::Internal | Code::DataLoss => Verdict::terminal(Kind::SERVER_ERROR),
        // The one code made for retries. But gRPC warns that the server may have seen the call (a connection
        // that broke half-way gives the same code), so an effect is possible.
        Code::Unavailable => Verdict::transient(Kind::UNREACHABLE),
    }
}

/// The server's push-back: the value of the `grpc-retry-pushback-ms` trailer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pushback {
    /// Try again, but not before this time has passed.
    After(Duration),
    /// Do not try again.
    Never,
}

impl Pushback {
    /// Reads the trailer's value. By gRFC A6, what is negative or cannot be read means "do not retry": a
    /// server that pushes back in a way we do not understand is better left alone.
    ///
    /// ```
    /// use std::time::Duration;
    /// use steadfast_resilience::classify::grpc::Pushback;
    ///
    /// assert_eq!(Pushback::parse("250"), Pushback::After(Duration::from_millis(250)));
    /// assert_eq!(Pushback::parse("-1"), Pushback::Never);
    /// ```
    #[must_use]
    pub fn parse(value: &str) -> Self {
        let digits = value.trim_matches([' ', '\t']);
        // `parse` alone would let a plus sign pass. The gRFC's numbers have 32 bits with a sign.
        let number = if digits.starts_with('+') { None } else { digits.parse::<i32>().ok() };
        match number.and_then(|millis| u64::try_from(millis).ok()) {
            Some(millis) => Self::After(Duration::from_millis(millis)),
            None => Self::Never,
        }
    }

    /// The verdict with the push-back taken into account. Only verdicts that may be tried again change: a
    /// push-back does not make a final code worth another try.
    ///
    /// `Never` makes them lasting, not terminal: the call is not wrong, so it can wait in a queue or be tried
    /// after the breaker has let the service rest. Of a hint and a push-back the longer one counts.
    #[must_use]
    pub fn apply(self, verdict: Verdict) -> Verdict {
        if !verdict.class().is_retryable() {
            return verdict;
        }
        match self {
            Self::After(delay) => verdict.with_hint(verdict.hint().map_or(delay, |hint| hint.max(delay))),
            Self::Never => Verdict { class: Class::Lasting, hint: None, ..verdict },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DELAY: Duration = Duration::from_secs(3);

    #[test]
    fn every_code_has_its_verdict() {
        use Class::{Neutral, Success, Terminal, Throttled, Transient, Unclassified};
        let table = [
            (Success, Kind::OK),
            (Neutral, Kind::CANCELLED),
            (Unclassified, Kind::UNCLASSIFIED),
            (Terminal, Kind::BAD_REQUEST),
            (Transient, Kind::TIMEOUT),
            (Terminal, Kind::NOT_FOUND),
            (Terminal, Kind::CONFLICT),
            (Terminal, Kind::DENIED),
            (Throttled, Kind::THROTTLED),
            (Terminal, Kind::CONFLICT),
            (Transient, Kind::CONFLICT),
            (Terminal, Kind::BAD_REQUEST),
            (Terminal, Kind::BAD_REQUEST),
            (Terminal, Kind::SERVER_ERROR),
            (Transient, Kind::UNREACHABLE),
            (Terminal, Kind::SERVER_ERROR),
            (Terminal, Kind::DENIED),
        ];
        for (number, (class, kind)) in (0..).zip(table) {
            let code = Code::from_i32(number);
            let verdict = code.classify();
            assert_eq!(code.as_i32(), number);
            assert_eq!((verdict.class(), verdict.kind()), (class, kind), "{code:?}");
            assert_eq!((verdict.code(), verdict.hint()), (Some(number), None), "{code:?}");
            assert_eq!(verdict.effect(), Effect::Possible, "{code:?}");
        }
    }

    #[test]
    fn numbers_not_given_out_are_unknown() {
        for number in [-1, 17, 99, i32::MIN, i32::MAX] {
            assert_eq!(Code::from_i32(number), Code::Unknown);
        }
    }

    #[test]
    fn a_retry_delay_is_a_hint_for_retryable_codes_only() {
        for number in 0..=16 {
            let code = Code::from_i32(number);
            let (bare, with_delay) = (status(code, None), status(code, Some(DELAY)));
            if bare.class().is_retryable() {
                assert_eq!(with_delay.hint(), Some(DELAY), "{code:?}");
                assert_eq!(with_delay.code(), Some(number), "{code:?}");
                assert!(with_delay.class().is_retryable(), "{code:?}");
            } else {
                assert_eq!(with_delay, bare, "{code:?}");
            }
        }
        assert_eq!(status(Code::Unavailable, Some(Duration::MAX)).hint(), Some(LONGEST_HINT));
    }

    #[test]
    fn a_retry_delay_says_more_about_refusals() {
        let busy = status(Code::Unavailable, Some(DELAY));
        assert_eq!((busy.class(), busy.kind()), (Class::Throttled, Kind::OVERLOADED));
        assert_eq!(busy.effect(), Effect::Possible);
        assert_eq!(status(Code::ResourceExhausted, Some(DELAY)).effect(), Effect::None);
    }

    #[test]
    fn pushback_that_is_negative_or_garbage_means_never() {
        for (value, millis) in
            [("0", 0), ("250", 250), (" 7\t", 7), ("007", 7), ("2147483647", 2_147_483_647)]
        {
            assert_eq!(Pushback::parse(value), Pushback::After(Duration::from_millis(millis)), "{value:?}");
        }
        let long = "1".repeat(10_000);
        for value in [
            "",
            " ",
            "-1",
            "-0.5",
            "+5",
            "--5",
            "1e9",
            "1.5",
            "0x10",
            "10ms",
            "2147483648",
            "soon",
            "é",
            "١",
            "\u{0}",
            &long,
        ] {
            assert_eq!(Pushback::parse(value), Pushback::Never, "{value:?}");
        }
        // The number 0 with a sign is not negative.
        assert_eq!(Pushback::parse("-0"), Pushback::After(Duration::ZERO));
    }

    #[test]
    fn pushback_lengthens_the_wait_and_never_shortens_it() {
        let after = |millis| Pushback::After(Duration::from_millis(millis));
        let bare = status(Code::Unavailable, None);
        assert_eq!(after(250).apply(bare), bare.with_hint(Duration::from_millis(250)));
        let hinted = status(Code::Unavailable, Some(DELAY));
        assert_eq!(after(250).apply(hinted), hinted);
        assert_eq!(after(9_000).apply(hinted), hinted.with_hint(Duration::from_secs(9)));
    }

    #[test]
    fn never_makes_a_retryable_verdict_lasting_and_leaves_the_rest() {
        for number in 0..=16 {
            let verdict = status(Code::from_i32(number), Some(DELAY));
            let pushed = Pushback::Never.apply(verdict);
            if verdict.class().is_retryable() {
                assert_eq!((pushed.class(), pushed.hint()), (Class::Lasting, None), "{number}");
                assert_eq!(
                    (pushed.kind(), pushed.code(), pushed.effect()),
                    (verdict.kind(), verdict.code(), verdict.effect()),
                    "{number}"
                );
            } else {
                assert_eq!(pushed, verdict, "{number}");
                assert_eq!(Pushback::After(DELAY).apply(verdict), verdict, "{number}");
            }
        }
    }
}
