//! What a service answers: read as a stream up to a limit, and made into a value.

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Response, StatusCode};
use http_body_util::BodyExt as _;
use hyper::body::{Body as _, Bytes, Incoming};
use serde_json::Value;
use std::pin::Pin;
use std::time::Duration;
use steadfast_resilience::Classify;
use steadfast_resilience::clock::Clock;
use steadfast_runtime::Fault;

use crate::error::Code;
use crate::fault::{
    MOST_WORDS, OVERSIZED, REDIRECTED, UNEXPECTED, UNREADABLE, no_use, shortened, told, unanswered,
};
use crate::secret::Scrub;
use crate::target::Lost;
use steadfast_flow::{Call, Reply, is_json_kind};

/// The headers of an answer that go into a [`Reply`]: what a later step can make something of. The others are the business
/// of the connection, or of caches and browsers.
pub const KEPT_HEADERS: [&str; 10] = [
    "content-location",
    "content-type",
    "etag",
    "last-modified",
    "link",
    "location",
    "request-id",
    "retry-after",
    "x-correlation-id",
    "x-request-id",
];

/// The most bytes of names and values that a [`Reply`] has: they are stored with the task. What goes beyond is left out.
pub const MAX_KEPT_HEADERS: usize = 4 * 1024;

/// The most values (numbers, strings, names, lists, ...) of a JSON answer. In memory each takes up to a hundred bytes, however
/// short it is: without this, 8 MiB of `[[],[],` would take half a gigabyte.
pub const MAX_VALUES: usize = 500_000;

/// The most bytes of a redirect's address that are shown: there is advice behind it.
const MOST_LOCATION: usize = 160;
/// How much of a failure's body is read to be shown: more than is shown, so that JSON can be read as a whole.
const MAX_ERROR_BODY: usize = 16 * 1024;
/// How long a failure's body is waited for: the status is known by then, and says what it means.
const ERROR_BODY_WAIT: Duration = Duration::from_secs(1);
/// The part of an attempt's time that it may take at most, so that the attempt does not end by its own limit meanwhile.
const ERROR_BODY_SHARE: u32 = 4;
/// What is asked for at first for a body whose size nobody has named, or named too high.
const FIRST_BUFFER: usize = 16 * 1024;

/// An answer whose head is here, and whose body may come until it is too late.
pub(crate) struct Answer<'l, L> {
    response: Response<Incoming>,
    late: Pin<&'l mut L>,
}

impl<'l, L: Future<Output = ()>> Answer<'l, L> {
    pub(crate) fn new(response: Response<Incoming>, late: Pin<&'l mut L>) -> Self {
        Self { response, late }
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.response.status()
    }

    /// How many bytes the body has, where the head says so.
    fn named(&self) -> u64 {
        self.response.body().size_hint().exact().unwrap_or_default()
    }

    /// The next bytes of the body; `None` behind the last.
    async fn chunk(&mut self) -> Result<Option<Bytes>, Lost> {
        let Self { response, late } = self;
        let body = response.body_mut();
        let data = async {
            loop {
                match body.frame().await {
                    // What comes behind a body says nothing that is used.
                    Some(frame) => match frame?.into_data() {
                        Ok(data) => return Ok(Some(data)),
                        Err(_) => continue,
                    },
                    None => return Ok(None),
                }
            }
        };
        tokio::select! {
            biased;
            data = data => data,
            () = late.as_mut() => Err(Lost::Late),
        }
    }
}

/// Reads an answer whose status was expected.
pub(crate) async fn expected<L: Future<Output = ()>>(
    call: &Call,
    mut answer: Answer<'_, L>,
    most: usize,
    scrub: &Scrub,
) -> Result<Reply, Fault> {
    let status = answer.status().as_u16();
    let body = whole_body(call, &mut answer, most).await?;
    let headers = kept(answer.response.headers(), scrub);
    let kind = answer.response.headers().get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
    let kind = scrub.text(String::from_utf8_lossy(kind));
    let body = value_of(&kind, &body).map_err(|why| {
        let service = &call.service;
        let words = format!(
            "`{service}` answered {status}, so it did what was asked, but its answer cannot be read: {why}"
        );
        no_use(UNREADABLE, status, Code::Unreadable, words)
    })?;
    Ok(Reply { status, headers, body: scrub.value(body) })
}

/// What an answer means whose status was not expected.
pub(crate) async fn unexpected<L: Future<Output = ()>>(
    call: &Call,
    mut answer: Answer<'_, L>,
    scrub: &Scrub,
    clock: &Clock,
) -> Fault {
    let (service, status) = (&call.service, answer.status());
    let code = status.as_u16();
    if status.is_redirection()
        && let Some(location) = answer.response.headers().get("location")
    {
        let to = scrub.text(String::from_utf8_lossy(location.as_bytes()));
        let words = format!(
            "`{service}` answered {code} and points to `{}`: redirects are not followed, give the address itself as the \
             service's base URL or the step's path",
            shortened(&to, MOST_LOCATION)
        );
        return no_use(REDIRECTED, code, Code::Redirected, words);
    }
    let verdict = answer.response.classify();
    let said = error_words(call, &mut answer, scrub, clock).await;
    if verdict.is_success() {
        let words = format!("`{service}` answered {status}, expected was {}{said}", call.expect);
        return no_use(UNEXPECTED, code, Code::UnexpectedStatus, words);
    }
    told(verdict, Code::Failed, format_args!("`{service}` answered {status}{said}"))
}

/// The whole body, unless it is larger than may be. Nothing beyond that is read: the connection is closed.
async fn whole_body<L: Future<Output = ()>>(
    call: &Call,
    answer: &mut Answer<'_, L>,
    most: usize,
) -> Result<Bytes, Fault> {
    let (service, status) = (&call.service, answer.status().as_u16());
    let too_large = || {
        let words = format!(
            "`{service}` answered {status}, so it did what was asked, but its answer has more than {most} bytes: have it \
             answer with less, or raise `max_response` of the service"
        );
        no_use(OVERSIZED, status, Code::AnswerTooLarge, words)
    };
    let named = answer.named();
    if named > most as u64 {
        return Err(too_large());
    }
    // Most answers come in one piece, and need no other place.
    let mut first = Bytes::new();
    let mut body = Vec::new();
    loop {
        let so_far = first.len() + body.len();
        match answer.chunk().await {
            Ok(Some(chunk)) if chunk.len() > most - so_far => return Err(too_large()),
            Ok(Some(chunk)) if so_far == 0 => first = chunk,
            Ok(Some(chunk)) => {
                if body.is_empty() {
                    // Not more than the answer says, and not much because it says so.
                    body.reserve(usize::try_from(named).unwrap_or(FIRST_BUFFER).min(FIRST_BUFFER));
                    body.extend_from_slice(&std::mem::take(&mut first));
                }
                body.extend_from_slice(&chunk);
            }
            Ok(None) if body.is_empty() => return Ok(first),
            Ok(None) => return Ok(body.into()),
            Err(lost) => {
                let why = shortened(&lost.to_string(), MOST_WORDS);
                let words = format!(
                    "`{service}` answered {status}, and the answer broke off after {so_far} bytes: {why}"
                );
                return Err(told(unanswered(&lost), Code::BrokenOff, words));
            }
        }
    }
}

/// What a failure says in its body, behind a colon; nothing if it does not say it soon.
async fn error_words<L: Future<Output = ()>>(
    call: &Call,
    answer: &mut Answer<'_, L>,
    scrub: &Scrub,
    clock: &Clock,
) -> String {
    let left = call.attempt.time_left().map_or(ERROR_BODY_WAIT, |left| left / ERROR_BODY_SHARE);
    let mut body = Vec::new();
    let is_whole = tokio::select! {
        biased;
        is_whole = beginning(answer, &mut body) => is_whole,
        () = clock.sleep(left.min(ERROR_BODY_WAIT)) => false,
    };
    let text = match is_whole.then(|| serde_json::from_slice::<Value>(&body)) {
        // Written anew: however the service has escaped it, a secret in it is found.
        Some(Ok(value)) => scrub.text(scrub.value(value).to_string()).into_owned(),
        _ => scrub.cut_text(&String::from_utf8_lossy(&body)),
    };
    match shortened(&text, MOST_WORDS) {
        empty if empty.is_empty() => empty,
        words => format!(": {words}"),
    }
}

/// Reads the beginning of a body; whether it was all of it. What breaks off has its beginning too.
async fn beginning<L: Future<Output = ()>>(answer: &mut Answer<'_, L>, body: &mut Vec<u8>) -> bool {
    loop {
        match answer.chunk().await {
            Ok(Some(chunk)) => {
                let room = MAX_ERROR_BODY - body.len();
                body.extend_from_slice(&chunk[..chunk.len().min(room)]);
                if chunk.len() > room {
                    return false;
                }
            }
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

/// The headers that are kept, as far as there is room for them.
fn kept(headers: &HeaderMap, scrub: &Scrub) -> Vec<(String, String)> {
    let mut room = MAX_KEPT_HEADERS;
    let named =
        KEPT_HEADERS.iter().flat_map(|name| headers.get_all(*name).iter().map(move |value| (name, value)));
    let texts =
        named.filter_map(|(name, value)| Some((*name, scrub.text(value.to_str().ok()?).into_owned())));
    texts
        .filter(|(name, text)| {
            let fits = room.checked_sub(name.len() + text.len());
            room = fits.unwrap_or(room);
            fits.is_some()
        })
        .map(|(name, text)| (name.to_owned(), text))
        .collect()
}

/// A body as a value, or why it is none.
fn value_of(kind: &str, body: &[u8]) -> Result<Value, String> {
    if body.is_empty() {
        return Ok(Value::Null);
    }
    if !is_json_kind(kind) {
        let text = std::str::from_utf8(body).map(Value::from);
        return text.map_err(|_| {
            let (size, kind) = (body.len(), shortened(kind, MOST_WORDS / 4));
            format!(
                "it is neither JSON nor UTF-8 text, but {size} bytes of `{kind}`; have it answer with JSON"
            )
        });
    }
    // Some write a byte order mark in front, which JSON does not have.
    let json = body.strip_prefix("\u{feff}".as_bytes()).unwrap_or(body);
    // Each value but the first has a sign in front of it.
    if json.len() > MAX_VALUES && values_in(json) > MAX_VALUES {
        return Err(format!("it has more than {MAX_VALUES} values; have it answer with less"));
    }
    serde_json::from_slice(json).map_err(|error| format!("it says that it is JSON, and is not: {error}"))
}

/// How many values a JSON text has at most: each but the first comes after a comma, a colon or an opening bracket.
#[must_use]
pub fn values_in(json: &[u8]) -> usize {
    let (mut count, mut quoted, mut escaped) = (1, false, false);
    for byte in json {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            b',' | b':' | b'[' | b'{' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;
    use serde_json::json;

    fn value(kind: &str, body: &[u8]) -> Result<Value, String> {
        value_of(kind, body)
    }

    #[test]
    fn json_is_read_text_is_a_string_and_nothing_is_null() {
        for kind in
            ["application/json", "Application/JSON; charset=utf-8", "application/problem+json", "text/json"]
        {
            assert_eq!(value(kind, b"{\"a\":[1]}"), Ok(json!({ "a": [1] })), "{kind}");
            assert_eq!(value(kind, b""), Ok(Value::Null));
        }
        assert_eq!(value("application/json", b"\xef\xbb\xbf7"), Ok(json!(7)));
        for kind in ["text/plain", "", "application/xml", "application/jsonp", "text/html"] {
            assert_eq!(value(kind, "{\"a\": é".as_bytes()), Ok(json!("{\"a\": é")), "{kind}");
            assert_eq!(value(kind, b""), Ok(Value::Null));
        }
    }

    #[test]
    fn what_cannot_be_read_is_said_without_being_shown() {
        for (kind, body, why) in [
            ("application/json", &b"{\"token\": hunter22"[..], "is not: expected value at line 1 column 11"),
            ("application/json", b"\xff", "says that it is JSON"),
            ("image/png", b"\x89PNG", "4 bytes of `image/png`"),
            ("", b"\xff", "neither JSON nor UTF-8 text"),
        ] {
            let said = value(kind, body).unwrap_err();
            assert!(said.contains(why) && !said.contains("hunter22"), "{said}");
        }
    }

    #[test]
    fn deep_and_many_values_are_refused_before_they_take_memory() {
        assert!(value("application/json", &[b'['; 100_000]).unwrap_err().contains("recursion limit"));
        let many = format!("[{}0]", "[],".repeat(MAX_VALUES / 2));
        assert!(value("application/json", many.as_bytes()).unwrap_err().contains("more than 500000 values"));
        let text = format!("[\"{}\\\"\"]", ",:[{".repeat(MAX_VALUES));
        assert!(value("application/json", text.as_bytes()).is_ok(), "a string is one value");
    }

    #[test]
    fn few_headers_are_kept_and_no_more_than_there_is_room_for() {
        let mut headers = HeaderMap::new();
        for (name, text) in [
            ("set-cookie", "a=b"),
            ("location", "/x/1"),
            ("server", "z"),
            ("etag", "\"7\""),
            ("link", "a"),
            ("link", "b"),
        ] {
            headers.append(name, HeaderValue::from_static(text));
        }
        headers.insert("x-request-id", HeaderValue::from_bytes(b"\xff").unwrap());
        let pairs = |kept: Vec<(String, String)>| {
            kept.into_iter().map(|(a, b)| format!("{a}={b}")).collect::<Vec<_>>()
        };
        assert_eq!(
            pairs(kept(&headers, &Scrub::default())),
            ["etag=\"7\"", "link=a", "link=b", "location=/x/1"]
        );
        headers.insert("link", HeaderValue::try_from("x".repeat(MAX_KEPT_HEADERS)).unwrap());
        assert_eq!(pairs(kept(&headers, &Scrub::default())), ["etag=\"7\"", "location=/x/1"]);
    }
}
