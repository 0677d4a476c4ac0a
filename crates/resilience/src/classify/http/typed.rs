//! The types of the `http` crate classify themselves.

use std::time::SystemTime;

use super::{reply, status};
use crate::classify::{Classify, Verdict};

/// What a reply means, by its status and its header map; see [`reply`]. `now` is the wall clock's time.
#[must_use]
pub fn with_headers(status: ::http::StatusCode, headers: &::http::HeaderMap, now: SystemTime) -> Verdict {
    // A value that is not text is no number and no date either.
    reply(status.as_u16(), |name| headers.get(name)?.to_str().ok(), now)
}

impl Classify for ::http::StatusCode {
    fn classify(&self) -> Verdict {
        status(self.as_u16())
    }
}

impl<B> Classify for ::http::Response<B> {
    fn classify(&self) -> Verdict {
        let plain = self.status().classify();
        // Most replies are successes: they need neither the clock nor a header.
        if plain.is_success() {
            plain
        } else {
            with_headers(self.status(), self.headers(), crate::clock::wall())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::classify::{Class, Kind};
    use std::time::Duration;

    fn response(status: u16, headers: &[(&str, &[u8])]) -> ::http::Response<()> {
        let mut builder = ::http::Response::builder().status(status);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder.body(()).expect("a valid response")
    }

    #[test]
    fn a_status_code_classifies_itself() {
        assert_eq!(::http::StatusCode::OK.classify(), status(200));
        assert_eq!(::http::StatusCode::BAD_GATEWAY.classify(), status(502));
        let odd = ::http::StatusCode::from_u16(999).expect("three digits");
        assert_eq!(odd.classify().class(), Class::Unclassified);
    }

    #[test]
    fn a_response_is_judged_with_its_headers() {
        let verdict = response(503, &[("Retry-After", b"7")]).classify();
        assert_eq!((verdict.class(), verdict.kind()), (Class::Throttled, Kind::OVERLOADED));
        assert_eq!(verdict.hint(), Some(Duration::from_secs(7)));
        assert!(response(200, &[("Retry-After", b"7")]).classify().is_success());
    }

    #[test]
    fn a_header_that_is_not_text_is_passed_over() {
        let verdict = response(429, &[("Retry-After", b"\xff7"), ("X-RateLimit-Reset", b"9")]).classify();
        assert_eq!(verdict.hint(), Some(Duration::from_secs(9)));
    }
}
