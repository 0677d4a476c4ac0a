//! What a request says, read with care: each slip has its place and what was expected there.

use std::ops::RangeInclusive;
use std::str::FromStr;
use std::time::Duration;

use axum::extract::rejection::PathRejection;
use axum::extract::{FromRequest, FromRequestParts, Path, Request};
use http::header::CONTENT_TYPE;
use http::request::Parts;
use http::{HeaderMap, StatusCode};
use http_body_util::{BodyExt as _, LengthLimitError, Limited};
use serde::de::DeserializeOwned;
use serde_json::error::Category;
use steadfast::{AuditId, TaskId};
use steadfast_http::values_in;

use crate::code::Code;
use crate::guard::Slot;
use crate::problem::Refusal;
use crate::span::span;
use crate::state::State;

/// A body in JSON, not larger than [`Limits::body`](crate::Limits::body).
pub(crate) struct Json<T>(pub(crate) T);

impl<T: DeserializeOwned> FromRequest<State> for Json<T> {
    type Rejection = Refusal;

    async fn from_request(request: Request, state: &State) -> Result<Self, Refusal> {
        read_json(request, state, state.limits().body).await.map(Self)
    }
}

/// Reads a body in JSON of at most so many bytes.
pub(crate) async fn read_json<T: DeserializeOwned>(
    request: Request,
    state: &State,
    most: usize,
) -> Result<T, Refusal> {
    let media_type = media_type(request.headers());
    if media_type != "application/json" && !media_type.ends_with("+json") {
        return Err(wrong_media_type(&media_type, "application/json"));
    }
    let slot = request.extensions().get::<Slot>().cloned();
    let bytes = read_bytes(request, state, most).await?;
    read_values(&bytes, state, slot.as_ref())
}

/// Reads JSON that is neither too deep nor has too many values, once there is room for it.
pub(crate) fn read_values<T: DeserializeOwned>(
    bytes: &[u8],
    state: &State,
    slot: Option<&Slot>,
) -> Result<T, Refusal> {
    let (values, most) = (values_in(bytes), state.limits().values);
    if values > most {
        let detail = format!("the body has more than {most} values: send less at a time");
        return Err(Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Code::BodyTooLarge, detail));
    }
    let place = state.place_for_values(values)?;
    let read = from_json(bytes, state.limits().depth)?;
    if let Some(slot) = slot {
        slot.hold(place);
    }
    Ok(read)
}

/// The media type of a body, without its parameters, in small letters.
pub(crate) fn media_type(headers: &HeaderMap) -> String {
    let text = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
    text.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

pub(crate) fn wrong_media_type(is: &str, wanted: &str) -> Refusal {
    let is = match is {
        "" => "the body has no `Content-Type`".to_owned(),
        is => format!("the body is `{}`", is.chars().take(100).collect::<String>().escape_debug()),
    };
    let detail = format!("{is}: send it with `Content-Type: {wanted}`");
    Refusal::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, Code::WrongMediaType, detail)
}

/// Reads a whole body, if it is not too large and does not take too long.
pub(crate) async fn read_bytes(request: Request, state: &State, most: usize) -> Result<Vec<u8>, Refusal> {
    let within = state.limits().body_within;
    let read = Limited::new(request.into_body(), most).collect();
    tokio::select! {
        read = read => match read {
            Ok(body) => Ok(body.to_bytes().to_vec()),
            Err(error) if error.is::<LengthLimitError>() => Err(too_large(most)),
            Err(error) => Err(broken(&error)),
        },
        () = state.clock().sleep(within) => Err(too_slow(within)),
    }
}

fn too_large(most: usize) -> Refusal {
    let detail =
        format!("the body has more than {most} bytes: send less at a time, or put large things elsewhere");
    Refusal::new(StatusCode::PAYLOAD_TOO_LARGE, Code::BodyTooLarge, detail)
}

fn broken(error: &axum::BoxError) -> Refusal {
    Refusal::new(StatusCode::BAD_REQUEST, Code::BadBody, format!("the body broke off: {error}"))
}

fn too_slow(within: Duration) -> Refusal {
    let detail = format!("the body did not come within {within:?}: nothing of this request was done");
    let refusal = Refusal::new(StatusCode::REQUEST_TIMEOUT, Code::TooSlow, detail);
    refusal.after(Duration::from_secs(1))
}

/// Reads JSON that is not deeper than this.
fn from_json<T: DeserializeOwned>(bytes: &[u8], depth: usize) -> Result<T, Refusal> {
    if is_deeper_than(bytes, depth) {
        return Err(Refusal::body("", format!("values stand more than {depth} deep inside of each other")));
    }
    let mut json = serde_json::Deserializer::from_slice(bytes);
    let read = serde_path_to_error::deserialize(&mut json).map_err(|error| {
        let path = error.path().to_string();
        not_read(error.inner(), if path == "." { "" } else { &path })
    })?;
    json.end().map_err(|error| not_read(&error, ""))?;
    Ok(read)
}

fn not_read(error: &serde_json::Error, path: &str) -> Refusal {
    match error.classify() {
        Category::Data => Refusal::body(path, error.to_string()),
        _ => {
            let detail = format!("the body is no JSON: {error}");
            Refusal::new(StatusCode::BAD_REQUEST, Code::BadBody, detail)
        }
    }
}

/// Whether lists and objects stand deeper inside of each other than this. It looks at brackets outside of texts.
fn is_deeper_than(bytes: &[u8], most: usize) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in bytes {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            b'[' | b'{' if !in_text => depth += 1,
            b']' | b'}' if !in_text => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth > most {
            return true;
        }
    }
    false
}

/// The part of an address that is not fixed, such as a name.
pub(crate) struct Part(pub(crate) String);

impl FromRequestParts<State> for Part {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Refusal> {
        let part: Result<Path<String>, PathRejection> = Path::from_request_parts(parts, state).await;
        part.map(|Path(part)| Self(part)).map_err(|error| Refusal::path("name", error.body_text()))
    }
}

/// The id of a task, in an address.
pub(crate) struct OfTask(pub(crate) TaskId);
/// The id of a bulk, in an address.
pub(crate) struct OfBulk(pub(crate) AuditId);

impl FromRequestParts<State> for OfTask {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Refusal> {
        let Part(id) = Part::from_request_parts(parts, state).await?;
        id.parse().map(Self).map_err(|error: steadfast::BadId| Refusal::path("id", error.to_string()))
    }
}

impl FromRequestParts<State> for OfBulk {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, state: &State) -> Result<Self, Refusal> {
        let Part(id) = Part::from_request_parts(parts, state).await?;
        id.parse().map(Self).map_err(|error: steadfast::BadId| Refusal::path("id", error.to_string()))
    }
}

/// What stands behind the `?`. Each name is taken once by whoever knows it; what is left in the end is refused.
#[derive(Debug)]
pub(crate) struct Params(Vec<(String, String)>);

impl FromRequestParts<State> for Params {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, _: &State) -> Result<Self, Refusal> {
        let query = parts.uri.query().unwrap_or_default();
        let pairs = form_urlencoded::parse(query.as_bytes());
        Ok(Self(pairs.map(|(name, value)| (name.into_owned(), value.into_owned())).collect()))
    }
}

impl Params {
    /// All values of a name.
    pub(crate) fn all(&mut self, name: &str) -> Vec<String> {
        let (taken, left) = std::mem::take(&mut self.0).into_iter().partition(|(own, _)| own == name);
        self.0 = left;
        let taken: Vec<(String, String)> = taken;
        taken.into_iter().map(|(_, value)| value).collect()
    }

    /// The value of a name that is there at most once.
    pub(crate) fn one(&mut self, name: &str) -> Result<Option<String>, Refusal> {
        let mut all = self.all(name);
        match all.len() {
            0 | 1 => Ok(all.pop()),
            many => Err(Refusal::query(name, format!("it is there {many} times, and can be there once"))),
        }
    }

    pub(crate) fn flag(&mut self, name: &str) -> Result<bool, Refusal> {
        match self.one(name)?.as_deref() {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(Refusal::query(name, "expected `true` or `false`")),
        }
    }

    /// A whole number, not larger than most languages have.
    pub(crate) fn number<N: FromStr>(&mut self, name: &str) -> Result<Option<N>, Refusal> {
        let Some(text) = self.one(name)? else { return Ok(None) };
        let bad = || Refusal::query(name, "expected a whole number that is not too large");
        let plain = text.bytes().all(|byte| byte.is_ascii_digit()) && text.parse::<i64>().is_ok();
        text.parse().ok().filter(|_| plain).map(Some).ok_or_else(bad)
    }

    /// How many, within these bounds.
    pub(crate) fn limit(&mut self, bounds: RangeInclusive<usize>, default: usize) -> Result<usize, Refusal> {
        let limit = self.number("limit")?.unwrap_or(default);
        let (least, most) = (bounds.start(), bounds.end());
        let bad = || Refusal::query("limit", format!("expected a number from {least} to {most}"));
        if bounds.contains(&limit) { Ok(limit) } else { Err(bad()) }
    }

    pub(crate) fn span(&mut self, name: &str) -> Result<Option<Duration>, Refusal> {
        let text = self.one(name)?;
        text.map(|text| span(&text)).transpose().map_err(|why| Refusal::query(name, why))
    }

    /// Nothing is left that nobody knows.
    pub(crate) fn done(self) -> Result<(), Refusal> {
        match self.0.first() {
            None => Ok(()),
            Some((name, _)) => {
                let name: String = name.chars().take(60).collect();
                let name = name.escape_debug().to_string();
                Err(Refusal::query(
                    &name,
                    "nobody here knows this name: see the OpenAPI document for those that there are",
                ))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Value;
    use steadfast_client::wire::submit::Batch;

    use super::*;

    #[test]
    fn depth_is_counted_outside_of_texts() {
        let deep = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert!(!is_deeper_than(deep(64).as_bytes(), 64));
        assert!(is_deeper_than(deep(65).as_bytes(), 64));
        assert!(is_deeper_than("[".repeat(100_000).as_bytes(), 64), "it need not end");
        assert!(!is_deeper_than(br#"["[[[[\"[[[[", {}, [], {}]"#, 2));
        assert!(from_json::<Value>(deep(65).as_bytes(), 64).is_err());
        assert!(from_json::<Value>(deep(64).as_bytes(), 64).is_ok());
    }

    #[test]
    fn a_slip_has_its_place() {
        let read = |text: &str| from_json::<Batch>(text.as_bytes(), 64).unwrap_err().into_problem();
        let wrong = read(r#"{"tasks": [{"workflow": "w"}, {"workflow": "w", "priority": 400}]}"#);
        assert_eq!((wrong.status, wrong.errors[0].place.as_str()), (422, "body.tasks[1].priority"));
        let unknown = read(r#"{"tasks": [{"workflow": "w", "prio": 4}]}"#);
        assert!(unknown.errors[0].message.contains("unknown field `prio`"), "{unknown:?}");
        for bad in ["", "{", "{\"tasks\": [}", "{\"tasks\": []} x"] {
            assert_eq!((read(bad).status, read(bad).code.as_str()), (400, "SF540"), "{bad}");
        }
    }

    #[test]
    fn what_nobody_knows_behind_the_question_mark_is_refused() {
        let params = |query: &str| Params(form_urlencoded::parse(query.as_bytes()).into_owned().collect());
        let mut some = params("limit=7&state=failed&state=paused&x=%00");
        assert_eq!(some.all("state"), ["failed", "paused"]);
        assert_eq!(some.limit(1..=10, 5).unwrap(), 7);
        let left = some.done().unwrap_err().into_problem();
        assert_eq!(left.errors[0].place, "query.x");
        for (query, name) in
            [("limit=0", "limit"), ("limit=-1", "limit"), ("limit=+1", "limit"), ("limit=1&limit=1", "limit")]
        {
            assert_eq!(
                params(query).limit(1..=10, 5).unwrap_err().into_problem().errors[0].place,
                format!("query.{name}")
            );
        }
        assert!(params("wait=5").span("wait").is_err());
        assert!(params("payloads=yes").flag("payloads").is_err());
    }
}
