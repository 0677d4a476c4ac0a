//! Answers on the wire: the plain one, failures with their hint, and the changes that a script asks for.

use std::net::SocketAddr;
use std::time::Duration;

use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use hyper::{Method, Response, StatusCode};
use steadfast_resilience::Verdict;

use super::body::{BoxError, Outgoing};
use crate::ledger::Open;
use crate::script::{Answer, Behaviour, Header};

/// Says a hint in milliseconds, where whole seconds would lengthen it.
const RETRY_AFTER_MS: HeaderName = HeaderName::from_static("retry-after-ms");

pub(super) fn plain(status: StatusCode, body: impl Into<Bytes>) -> Response<Outgoing> {
    let mut response = Response::new(Outgoing::whole(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}

pub(super) fn too_large() -> Response<Outgoing> {
    let words = "the body is larger than this server reads: see steadfast_testkit::http::MAX_BODY\n";
    plain(StatusCode::PAYLOAD_TOO_LARGE, words)
}

pub(super) fn no_upstream(upstream: SocketAddr, error: &BoxError) -> Response<Outgoing> {
    plain(
        StatusCode::BAD_GATEWAY,
        format!("the proxy got no answer to pass on from its upstream {upstream}: {error}\n"),
    )
}

pub(super) fn failure(verdict: &Verdict) -> Response<Outgoing> {
    let behaviour = Behaviour::Fail(*verdict);
    let status = behaviour.status().and_then(|status| StatusCode::from_u16(status).ok());
    let status = status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = plain(status, format!("failed as scripted: {behaviour}\n"));
    if let Some(hint) = verdict.hint() {
        let (seconds, millis) = retry_after(hint);
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
        if let Some(millis) = millis {
            response.headers_mut().insert(RETRY_AFTER_MS, HeaderValue::from(millis));
        }
    }
    response
}

/// A hint in whole seconds and, if that is not exact, in milliseconds. Rounded up: a hint is never shortened.
fn retry_after(hint: Duration) -> (u64, Option<u64>) {
    let seconds = hint.as_secs().saturating_add(u64::from(hint.subsec_nanos() > 0));
    let millis = u64::try_from(hint.as_nanos().div_ceil(1_000_000)).unwrap_or(u64::MAX);
    (seconds, (hint.subsec_nanos() > 0).then_some(millis))
}

/// With another status and other headers. The body is not looked at.
pub(super) fn changed(mut response: Response<Outgoing>, answer: &Answer) -> Response<Outgoing> {
    if let Some(status) = answer.status.and_then(|status| StatusCode::from_u16(status).ok()) {
        *response.status_mut() = status;
    }
    for (name, change) in &answer.headers {
        // Both were checked when the script was built.
        if let Ok(name) = HeaderName::try_from(name.as_str()) {
            apply(response.headers_mut(), name, change);
        }
    }
    response
}

fn apply(headers: &mut HeaderMap, name: HeaderName, change: &Header) {
    let value = |text: &String| HeaderValue::try_from(text.as_str()).ok();
    match change {
        Header::Remove => drop(headers.remove(name)),
        Header::Set(text) => drop(value(text).map(|value| headers.insert(name, value))),
        Header::Add(text) => drop(value(text).map(|value| headers.append(name, value))),
    }
}

/// Ties the answer to the ledger: it ends with its body's last byte.
pub(super) fn finish(
    response: Response<Outgoing>,
    entry: Open,
    asked: &Method,
    answer: &Answer,
) -> Response<Outgoing> {
    let status = response.status();
    let has_body = *asked != Method::HEAD && !matches!(status.as_u16(), 204 | 304);
    response.map(|body| body.cut_after(answer.cut_after).ends(entry, status.as_u16(), has_body))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_is_never_shortened_and_exact_where_it_can_be() {
        for (hint, seconds, millis) in [
            (Duration::ZERO, 0, None),
            (Duration::from_secs(3), 3, None),
            (Duration::from_millis(250), 1, Some(250)),
            (Duration::from_nanos(1), 1, Some(1)),
            (Duration::from_micros(1_500), 1, Some(2)),
            (Duration::MAX, u64::MAX, Some(u64::MAX)),
        ] {
            assert_eq!(retry_after(hint), (seconds, millis), "{hint:?}");
        }
    }
}
