//! What an HTTP reply means: its status, and when its headers ask to be left alone.
//!
//! Works on plain numbers and strings, so that any HTTP client will do. With the feature `http`, `StatusCode`
//! and `Response` of the `http` crate classify themselves and `with_headers` reads a `HeaderMap`.
//!
//! ```
//! use std::time::{Duration, SystemTime};
//! use steadfast_resilience::{Class, classify::http};
//!
//! let headers = [("retry-after", "30")];
//! let find = |name: &str| headers.iter().find(|header| header.0 == name).map(|header| header.1);
//! let verdict = http::reply(503, find, SystemTime::UNIX_EPOCH);
//! assert_eq!(verdict.class(), Class::Throttled);
//! assert_eq!(verdict.hint(), Some(Duration::from_secs(30)));
//! ```

mod rate_limit;
mod retry_after;
#[cfg(feature = "http")]
mod typed;

use std::time::{Duration, SystemTime};

use super::{Class, Effect, Kind, Verdict};

pub use retry_after::retry_after;
#[cfg(feature = "http")]
pub use typed::with_headers;

/// The longest hint that is passed on, about a hundred years. It is beyond every policy's cap, so shortening
/// to it changes no decision, and short enough that adding it to a clock does not overflow.
pub(super) const LONGEST_HINT: Duration = Duration::from_secs(100 * 365 * 24 * 60 * 60);

/// The connection was too young for the server to trust the request. Says nothing about the service's health.
const TOO_EARLY: Kind = Kind::new("too-early");

/// Finds a header's value by its name in lower case.
type Lookup<'l, 'h> = &'l dyn Fn(&str) -> Option<&'h str>;

/// What a status code alone means. Prefer [`reply`] where the headers are at hand.
///
/// ```
/// use steadfast_resilience::{Class, classify::http};
///
/// assert_eq!(http::status(404).class(), Class::Terminal);
/// assert_eq!(http::status(504).class(), Class::Transient);
/// ```
#[must_use]
pub fn status(code: u16) -> Verdict {
    let verdict = match code {
        // A redirect is an answer: following it is the client's business, not a failure.
        100..=399 => Verdict::success(),
        400..=499 => client_error(code),
        500..=599 => server_error(code),
        _ => Verdict::unclassified(),
    };
    verdict.with_code(i32::from(code))
}

/// What a reply means, by its status and its headers.
///
/// `header` finds a header's value by its name in lower case; `now` is the wall clock's time. A wait that the
/// service names becomes the verdict's hint, taken from the first of these that can be read:
///
/// 1. `retry-after-ms`, `x-ms-retry-after-ms`
/// 2. `Retry-After`, in seconds or as a date
/// 3. on 429, and when nothing is left also on 403, 503 and 529: `RateLimit`, `RateLimit-Reset`,
///    `X-RateLimit-Reset`
///
/// With a hint, 503 and 529 are throttled instead of transient, and 403 and 413 are throttled instead of
/// terminal. Other terminal replies stay terminal and have no hint.
#[must_use]
pub fn reply<'h>(code: u16, header: impl Fn(&str) -> Option<&'h str>, now: SystemTime) -> Verdict {
    let plain = status(code);
    if plain.is_success() {
        return plain;
    }
    match hint(code, &header, now) {
        Some(hint) => hinted(code, plain, hint),
        None => plain,
    }
}

fn client_error(code: u16) -> Verdict {
    match code {
        401 | 403 | 407 | 451 => Verdict::terminal(Kind::DENIED),
        404 | 410 => Verdict::terminal(Kind::NOT_FOUND),
        // By RFC 9110 the request came in incomplete, but services also send 408 when their own work took too
        // long: an effect is possible.
        408 => Verdict::transient(Kind::TIMEOUT),
        // Another writer was first, or holds the lock (412: the condition no longer holds, 423: locked). The
        // same request meets the same state, only its caller can look again and decide.
        409 | 412 | 423 => Verdict::terminal(Kind::CONFLICT),
        // The server declined to risk a request that could be a replay, so it did not carry it out (RFC
        // 8470).
        425 => Verdict::transient(TOO_EARLY).without_effect(),
        429 => Verdict::throttled(Kind::THROTTLED),
        _ => Verdict::terminal(Kind::BAD_REQUEST),
    }
}

fn server_error(code: u16) -> Verdict {
    match code {
        // The service does not have this method, this protocol version or this extension, and will not have
        // it a second later.
        501 | 505 | 510 => Verdict::terminal(Kind::BAD_REQUEST),
        // 529 is not registered, but in use for "overloaded". Proxies send 503 also for requests that broke
        // half-way, so an effect is possible.
        503 | 529 => Verdict::transient(Kind::OVERLOADED),
        504 => Verdict::transient(Kind::TIMEOUT),
        // 506 and 508 are faults in the server's set-up, the same for every try. 507: the disk or the quota
        // is full, and RFC 4918 forbids repeating the request until somebody asks for it anew.
        506..=508 => Verdict::terminal(Kind::SERVER_ERROR),
        // A network in between wants a login (a captive portal): the request never left it.
        511 => Verdict::terminal(Kind::DENIED).without_effect(),
        // 500 is retried: it is the catch-all for crashes and deploys, and a lasting fault ends at the
        // attempt limit or the breaker. 502 and the numbers that proxies invented (520 to 527) are passing
        // faults.
        _ => Verdict::transient(Kind::SERVER_ERROR),
    }
}

fn hint(code: u16, header: Lookup<'_, '_>, now: SystemTime) -> Option<Duration> {
    retry_after::read(header, now).or_else(|| match code {
        429 => rate_limit::read(header, now, rate_limit::Trust::UnlessLeft),
        // Many services send these headers with every reply. They explain a refusal only if nothing is left.
        // 403 is how GitHub refuses when its limit is used up.
        403 | 503 | 529 => rate_limit::read(header, now, rate_limit::Trust::OnlyUsedUp),
        _ => None,
    })
}

fn hinted(code: u16, plain: Verdict, hint: Duration) -> Verdict {
    let verdict = match code {
        // A 403 that names a time is a rate limit (GitHub), and a 413 that names one is temporary (RFC 9110).
        403 | 413 => Verdict::throttled(Kind::THROTTLED),
        // A service under load asks for less. Unlike 429 it does not say that it refused at the door: it may
        // pass on what a service behind it said half-way, so an effect stays possible.
        503 | 529 => Verdict::new(Class::Throttled, Kind::OVERLOADED, Effect::Possible),
        _ if plain.class().is_retryable() => plain,
        _ => return plain,
    };
    verdict.with_code(i32::from(code)).with_hint(hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: SystemTime = SystemTime::UNIX_EPOCH;

    fn judge(code: u16, headers: &[(&str, &str)]) -> Verdict {
        reply(code, |name| headers.iter().find(|header| header.0 == name).map(|header| header.1), NOW)
    }

    #[test]
    fn every_status_has_its_verdict() {
        use Class::{Success, Terminal, Throttled, Transient, Unclassified};
        let table = [
            (0, Unclassified, Kind::UNCLASSIFIED),
            (99, Unclassified, Kind::UNCLASSIFIED),
            (100, Success, Kind::OK),
            (200, Success, Kind::OK),
            (204, Success, Kind::OK),
            (301, Success, Kind::OK),
            (304, Success, Kind::OK),
            (399, Success, Kind::OK),
            (400, Terminal, Kind::BAD_REQUEST),
            (401, Terminal, Kind::DENIED),
            (403, Terminal, Kind::DENIED),
            (404, Terminal, Kind::NOT_FOUND),
            (405, Terminal, Kind::BAD_REQUEST),
            (407, Terminal, Kind::DENIED),
            (408, Transient, Kind::TIMEOUT),
            (409, Terminal, Kind::CONFLICT),
            (410, Terminal, Kind::NOT_FOUND),
            (412, Terminal, Kind::CONFLICT),
            (413, Terminal, Kind::BAD_REQUEST),
            (422, Terminal, Kind::BAD_REQUEST),
            (423, Terminal, Kind::CONFLICT),
            (425, Transient, TOO_EARLY),
            (429, Throttled, Kind::THROTTLED),
            (451, Terminal, Kind::DENIED),
            (499, Terminal, Kind::BAD_REQUEST),
            (500, Transient, Kind::SERVER_ERROR),
            (501, Terminal, Kind::BAD_REQUEST),
            (502, Transient, Kind::SERVER_ERROR),
            (503, Transient, Kind::OVERLOADED),
            (504, Transient, Kind::TIMEOUT),
            (505, Terminal, Kind::BAD_REQUEST),
            (506, Terminal, Kind::SERVER_ERROR),
            (507, Terminal, Kind::SERVER_ERROR),
            (508, Terminal, Kind::SERVER_ERROR),
            (509, Transient, Kind::SERVER_ERROR),
            (510, Terminal, Kind::BAD_REQUEST),
            (511, Terminal, Kind::DENIED),
            (520, Transient, Kind::SERVER_ERROR),
            (529, Transient, Kind::OVERLOADED),
            (599, Transient, Kind::SERVER_ERROR),
            (600, Unclassified, Kind::UNCLASSIFIED),
            (999, Unclassified, Kind::UNCLASSIFIED),
            (u16::MAX, Unclassified, Kind::UNCLASSIFIED),
        ];
        for (code, class, kind) in table {
            let verdict = status(code);
            assert_eq!((verdict.class(), verdict.kind()), (class, kind), "{code}");
            assert_eq!((verdict.code(), verdict.hint()), (Some(i32::from(code)), None), "{code}");
            assert_eq!(judge(code, &[]), verdict, "{code}");
        }
    }

    #[test]
    fn only_plain_refusals_are_without_effect() {
        let without: Vec<u16> = (0..=999).filter(|&code| status(code).effect() == Effect::None).collect();
        assert_eq!(without, [425, 429, 511]);
        assert_eq!(judge(503, &[("retry-after", "1")]).effect(), Effect::Possible);
        assert_eq!(judge(403, &[("retry-after", "1")]).effect(), Effect::None);
    }

    #[test]
    fn a_named_wait_throttles_or_delays_but_never_revives_a_terminal_reply() {
        use Class::{Success, Terminal, Throttled, Transient, Unclassified};
        let table = [
            (200, Success, Kind::OK, None),
            (302, Success, Kind::OK, None),
            (400, Terminal, Kind::BAD_REQUEST, None),
            (403, Throttled, Kind::THROTTLED, Some(30)),
            (404, Terminal, Kind::NOT_FOUND, None),
            (408, Transient, Kind::TIMEOUT, Some(30)),
            (413, Throttled, Kind::THROTTLED, Some(30)),
            (425, Transient, TOO_EARLY, Some(30)),
            (429, Throttled, Kind::THROTTLED, Some(30)),
            (500, Transient, Kind::SERVER_ERROR, Some(30)),
            (501, Terminal, Kind::BAD_REQUEST, None),
            (503, Throttled, Kind::OVERLOADED, Some(30)),
            (507, Terminal, Kind::SERVER_ERROR, None),
            (529, Throttled, Kind::OVERLOADED, Some(30)),
            (600, Unclassified, Kind::UNCLASSIFIED, None),
        ];
        for (code, class, kind, hint) in table {
            let verdict = judge(code, &[("retry-after", "30")]);
            assert_eq!((verdict.class(), verdict.kind()), (class, kind), "{code}");
            assert_eq!(verdict.hint(), hint.map(Duration::from_secs), "{code}");
            assert_eq!(verdict.code(), Some(i32::from(code)), "{code}");
        }
    }

    #[test]
    fn rate_limit_headers_count_only_where_they_explain_the_refusal() {
        let reset = ("x-ratelimit-reset", "30");
        let (used_up, left) = (("x-ratelimit-remaining", "0"), ("x-ratelimit-remaining", "14"));
        let wait = Some(Duration::from_secs(30));
        for (code, headers, hint) in [
            (429, &[reset][..], wait),
            (429, &[reset, used_up], wait),
            (429, &[reset, left], None),
            (503, &[reset], None),
            (503, &[reset, used_up], wait),
            (503, &[reset, left], None),
            (403, &[reset, used_up], wait),
            (403, &[reset, left], None),
            (500, &[reset, used_up], None),
            (404, &[reset, used_up], None),
            (200, &[reset, used_up], None),
        ] {
            let verdict = judge(code, headers);
            assert_eq!(verdict.hint(), hint, "{code} {headers:?}");
            assert!(hint.is_none() || verdict.class() == Class::Throttled, "{code} {headers:?}");
        }
    }

    #[test]
    fn retry_after_goes_before_the_rate_limit_unless_it_is_garbage() {
        let limit = ("ratelimit", r#""default";r=0;t=60"#);
        let hint = |value| judge(429, &[("retry-after", value), limit]).hint();
        assert_eq!(hint("5"), Some(Duration::from_secs(5)));
        assert_eq!(hint("Thu, 01 Jan 1970 00:00:09 GMT"), Some(Duration::from_secs(9)));
        for garbage in ["", "-5", "1e9", "later", "é"] {
            assert_eq!(hint(garbage), Some(Duration::from_secs(60)), "{garbage:?}");
        }
    }
}
