//! The headers of a request: the service's own, the step's, and those that the agent sets itself and nobody can replace.

use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{HeaderMap, HeaderName, HeaderValue};
use steadfast_runtime::Fault;

use crate::error::Code;
use crate::fault::{MOST_NAME, not_sent, shortened};
use crate::secret::{Author, REFERENCE, Vault};
use crate::target::Ready;
use steadfast_flow::{Call, is_json_kind};

/// The most bytes of names and values that a service and a step may send together: what common servers take (nginx 32 KiB,
/// Apache and Node.js 8 to 16 KiB for all), with ours beside it.
pub const MAX_REQUEST_HEADERS: usize = 12 * 1024;

/// Names the operation to the service, so that a repeated request is carried out once.
const KEY: HeaderName = HeaderName::from_static("idempotency-key");
const TASK: HeaderName = HeaderName::from_static("steadfast-task");
const STEP: HeaderName = HeaderName::from_static("steadfast-step");
const UNDO: HeaderName = HeaderName::from_static("steadfast-undo");
const ATTEMPT: HeaderName = HeaderName::from_static("steadfast-attempt");
/// In whole milliseconds.
const TIME_LEFT: HeaderName = HeaderName::from_static("steadfast-time-left");
const CALLBACK: HeaderName = HeaderName::from_static("steadfast-callback-url");
/// Who calls, for the service's logs.
pub(crate) const WHO: HeaderValue =
    HeaderValue::from_static(concat!("steadfast/", env!("CARGO_PKG_VERSION")));
const JSON: HeaderValue = HeaderValue::from_static("application/json");

/// As many headers as the agent sets itself, and its client.
const MOST_OURS: usize = 16;

/// What all names begin with that are ours.
const OURS: &str = "steadfast-";

/// Headers that only the agent sets.
const AGENTS: [&str; 3] = ["idempotency-key", "traceparent", "tracestate"];

/// Headers of the connection, which belong to whoever makes it: another value would let one request pass for two, or go to
/// another host.
const CONNECTIONS: [&str; 11] = [
    "connection",
    "content-length",
    "expect",
    "host",
    "http2-settings",
    "keep-alive",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Headers whose values are shown by nobody, also where they are no references.
const CREDENTIALS: [&str; 4] = ["authorization", "cookie", "proxy-authorization", "x-api-key"];

/// Whether a service or a step may send this header: for whoever reads definitions, so that mistakes are found before a call
/// is made. Values that are computed later are checked with the call.
///
/// ```
/// assert!(steadfast_http::check_header("X-Tenant", "shop-7").is_ok());
/// assert!(steadfast_http::check_header("Host", "elsewhere").unwrap_err().contains("`host`"));
/// ```
///
/// # Errors
/// What is wrong with it, and what to do.
pub fn check_header(name: &str, value: &str) -> Result<(), String> {
    let name = name_of(name)?;
    value_of(&name, value).map(drop)
}

fn name_of(name: &str) -> Result<HeaderName, String> {
    let Ok(header) = HeaderName::try_from(name) else {
        let shown = shortened(name, MOST_NAME);
        return Err(format!("`{shown}` is no name of a header: use letters, digits and `-`"));
    };
    let name = header.as_str();
    if AGENTS.contains(&name) || name.starts_with(OURS) {
        return Err(format!("header `{name}` is set by the agent: leave it out"));
    }
    if CONNECTIONS.contains(&name) {
        return Err(format!("header `{name}` belongs to the connection: leave it out"));
    }
    Ok(header)
}

fn value_of(name: &HeaderName, value: &str) -> Result<HeaderValue, String> {
    let mut header = HeaderValue::try_from(value).map_err(|_| {
        // Without the value: it may be a secret's.
        format!("the value of header `{name}` has a line break or another control character: take it out")
    })?;
    if *name == CONTENT_TYPE && !is_json_kind(value) {
        return Err(format!(
            "bodies are JSON: header `{name}` must be `application/json` or end with `+json`"
        ));
    }
    header.set_sensitive(CREDENTIALS.contains(&name.as_str()));
    Ok(header)
}

/// All headers of a request.
pub(crate) fn headers_of(
    call: &Call,
    target: &Ready,
    trace: Vec<(String, String)>,
    vault: &mut Vault<'_>,
) -> Result<HeaderMap, Fault> {
    let mut headers = HeaderMap::with_capacity(MOST_OURS + target.headers().len() + call.headers.len());
    let own = written(target.headers(), Author::Target, vault)?;
    let steps = written(&call.headers, Author::Step, vault)?;
    // A step's header stands in the place of the service's of the same name.
    for (name, value) in own {
        if !steps.iter().any(|(other, _)| *other == name) {
            headers.append(name, value);
        }
    }
    for (name, value) in steps {
        headers.append(name, value);
    }
    let size: usize = headers.iter().map(|(name, value)| name.as_str().len() + value.len()).sum();
    if size > MAX_REQUEST_HEADERS {
        let words = format!(
            "the headers for `{}` have {size} bytes, at most {MAX_REQUEST_HEADERS} are allowed: send it in the body",
            call.service
        );
        return Err(not_sent(Code::RequestTooLarge, words));
    }
    add_trace(&mut headers, trace);
    add_ours(&mut headers, call)?;
    Ok(headers)
}

/// Headers as they are sent, with secrets in them.
pub(crate) fn written(
    headers: &[(String, String)],
    by: Author,
    vault: &mut Vault<'_>,
) -> Result<Vec<(HeaderName, HeaderValue)>, Fault> {
    let refused = |why| not_sent(Code::BadHeader, why);
    let written = headers.iter().map(|(name, text)| {
        let name = name_of(name).map_err(refused)?;
        let mut value = value_of(&name, &vault.in_text(text, by)?).map_err(refused)?;
        if text.contains(REFERENCE) {
            value.set_sensitive(true);
        }
        Ok((name, value))
    });
    written.collect()
}

/// A trace that cannot be sent is left out: nobody's call fails because of it.
fn add_trace(headers: &mut HeaderMap, trace: Vec<(String, String)>) {
    for (name, value) in trace {
        if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::try_from(value))
            && !CONNECTIONS.contains(&name.as_str())
        {
            headers.insert(name, value);
        }
    }
}

fn add_ours(headers: &mut HeaderMap, call: &Call) -> Result<(), Fault> {
    let time_left = call.attempt.time_left().map(|left| {
        // Never zero: to some services that means no limit.
        u64::try_from(left.as_millis()).unwrap_or(u64::MAX).max(1).to_string()
    });
    let ours = [
        (KEY, Some(call.key.to_string())),
        (TASK, Some(call.task.to_string())),
        (STEP, Some(call.step.to_string())),
        (UNDO, call.undo.then(|| "true".to_owned())),
        (ATTEMPT, Some(call.number.to_string())),
        (TIME_LEFT, time_left),
        (CALLBACK, call.callback.clone()),
    ];
    for (name, value) in ours {
        if let Some(value) = value {
            let mut value = HeaderValue::try_from(value).map_err(|_| {
                not_sent(Code::BadHeader, format_args!("what goes into `{name}` cannot be sent in a header"))
            })?;
            // Whoever has it may answer for the step.
            value.set_sensitive(name == CALLBACK);
            headers.insert(name, value);
        }
    }
    headers.entry(USER_AGENT).or_insert(WHO);
    headers.entry(ACCEPT).or_insert(JSON);
    if call.body.is_some() {
        headers.entry(CONTENT_TYPE).or_insert(JSON);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_agent_or_the_connection_sets_is_refused_in_any_case() {
        for name in AGENTS.iter().chain(&CONNECTIONS).chain(&["steadfast-task", "steadfast-anything"]) {
            for name in [(*name).to_owned(), name.to_uppercase()] {
                let why = check_header(&name, "x").unwrap_err();
                assert!(why.contains(&format!("header `{}`", name.to_lowercase())), "{why}");
            }
        }
    }

    #[test]
    fn names_and_values_that_would_make_another_header_are_refused() {
        for name in ["", " ", "a b", "a:", "a\r\nb", "é", "a\0"] {
            assert!(check_header(name, "x").unwrap_err().contains("is no name of a header"), "{name:?}");
        }
        for value in ["a\r\nHost: evil", "a\nb", "a\rb", "a\0b", "\u{7f}"] {
            let why = check_header("X-A", value).unwrap_err();
            assert!(why.contains("header `x-a`") && !why.contains("evil"), "{value:?}: {why}");
        }
        assert_eq!(check_header("X-A", "plain\tand é"), Ok(()));
    }

    #[test]
    fn a_body_is_always_json() {
        for fits in
            ["application/json", "application/merge-patch+json", "application/vnd.api+json; charset=utf-8"]
        {
            assert_eq!(check_header("Content-Type", fits), Ok(()), "{fits}");
        }
        for unfit in ["text/plain", "application/xml", "application/x-www-form-urlencoded", ""] {
            assert!(check_header("content-type", unfit).unwrap_err().contains("bodies are JSON"), "{unfit}");
        }
        assert_eq!(check_header("Accept", "application/vnd.github+json"), Ok(()));
    }

    #[test]
    fn credentials_are_marked_so_that_nobody_shows_them() {
        let name = HeaderName::from_static("authorization");
        assert_eq!(format!("{:?}", value_of(&name, "Bearer abc").unwrap()), "Sensitive");
    }
}
