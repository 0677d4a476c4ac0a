//! What a request is refused with: problem+json, whoever refuses it.

use std::fmt;
use std::time::Duration;

use axum::response::{IntoResponse, Response};
use http::header::{CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderValue, StatusCode};
use steadfast_client::wire::problem::{MEDIA_TYPE, Problem};

use crate::code::Code;

/// When to come again after a refusal for too much work: long enough for some of it to be done, short enough for nobody to notice.
const AFTER_OVERLOAD: Duration = Duration::from_secs(1);
/// When to come again after a fault of the store, or while the server shuts down: the next one has to start first.
const AFTER_FAULT: Duration = Duration::from_secs(2);

/// When a service should call back again whose step is between two attempts: the supervisor looks about as often.
const BETWEEN_ATTEMPTS: Duration = Duration::from_secs(5);

/// A request that was refused. It answers as problem+json, with `Retry-After` where the same may work later.
#[derive(Debug)]
pub struct Refusal(Box<Problem>);

impl Refusal {
    /// A refusal of the server's own.
    pub(crate) fn new(status: StatusCode, code: Code, detail: impl Into<String>) -> Self {
        Self(Box::new(Problem::new(status.as_u16(), code.as_str(), code.title(), detail)))
    }

    /// A body that does not say what it should, at this place.
    pub(crate) fn body(place: &str, message: impl Into<String>) -> Self {
        let place = if place.is_empty() { "body".to_owned() } else { format!("body.{place}") };
        let message = message.into();
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, Code::BadBody, format!("`{place}`: {message}"))
            .at(place, message)
    }

    /// Something behind the `?` that makes no sense.
    pub(crate) fn query(name: &str, message: impl Into<String>) -> Self {
        Self::address(format!("query.{name}"), message)
    }

    /// A part of the address that makes no sense.
    pub(crate) fn path(name: &str, message: impl Into<String>) -> Self {
        Self::address(format!("path.{name}"), message)
    }

    fn address(place: String, message: impl Into<String>) -> Self {
        let message = message.into();
        Self::new(StatusCode::BAD_REQUEST, Code::BadQuery, format!("`{place}`: {message}")).at(place, message)
    }

    /// Too much at a time, of what is said.
    pub(crate) fn overloaded(what: &str) -> Self {
        let detail = format!("{what}: nothing of this request was done, ask again in a moment");
        Self::new(StatusCode::TOO_MANY_REQUESTS, Code::Overloaded, detail).after(AFTER_OVERLOAD)
    }

    /// The same may work after this long.
    pub(crate) fn after(mut self, time: Duration) -> Self {
        self.0 = Box::new(self.0.transient(time));
        self
    }

    fn at(mut self, place: String, message: String) -> Self {
        self.0 = Box::new(self.0.at(place, message));
        self
    }

    /// With every place put behind this one: for what stands inside of something larger.
    pub(crate) fn inside(mut self, outer: &str) -> Self {
        for wrong in &mut self.0.errors {
            if let Some(rest) = wrong.place.strip_prefix("body") {
                wrong.place = format!("{outer}{rest}");
            }
        }
        self
    }

    /// What it says.
    #[must_use]
    pub fn into_problem(self) -> Problem {
        *self.0
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.0.detail, self.0.code)
    }
}

impl From<Problem> for Refusal {
    fn from(problem: Problem) -> Self {
        Self(Box::new(problem))
    }
}

impl From<steadfast::Error> for Refusal {
    fn from(error: steadfast::Error) -> Self {
        let code = error.code();
        let (status, title, passing) = meaning(code);
        if status.is_server_error() {
            tracing::error!(%error, "a request could not be done");
        }
        let words = error.to_string();
        let words = words.strip_suffix(&format!(" [{code}]")).unwrap_or(&words).to_owned();
        let problem = Problem::new(status.as_u16(), code.as_str(), title, words);
        match error.try_again_in().or(passing) {
            Some(after) => problem.transient(after).into(),
            None if error.is_transient() => problem.transient(AFTER_FAULT).into(),
            None => problem.into(),
        }
    }
}

/// What a code of the engine means over HTTP: the status, a title, and after how long the same may work.
fn meaning(code: steadfast::Code) -> (StatusCode, &'static str, Option<Duration>) {
    use StatusCode as S;
    use steadfast::Code as C;
    match code {
        C::BadWorkflow => (S::UNPROCESSABLE_ENTITY, "The workflow makes no sense", None),
        C::BadPayload => (S::UNPROCESSABLE_ENTITY, "A value does not fit", None),
        C::EmptyKey => (S::UNPROCESSABLE_ENTITY, "The key is empty", None),
        C::UnknownSignal => (S::UNPROCESSABLE_ENTITY, "Nobody waits for such a signal", None),
        C::BadSchedule => (S::UNPROCESSABLE_ENTITY, "The schedule makes no sense", None),
        C::UnknownTimeZone => (S::UNPROCESSABLE_ENTITY, "There is no such time zone", None),
        C::BadReplyAddress => (S::UNPROCESSABLE_ENTITY, "Nobody can reply to this address", None),
        C::BadImport => (S::UNPROCESSABLE_ENTITY, "This is no export of tasks", None),
        C::TooLarge => (S::PAYLOAD_TOO_LARGE, "It is too large to be stored", None),
        C::UnknownWorkflow => (S::NOT_FOUND, "There is no such workflow", None),
        C::UnknownTask => (S::NOT_FOUND, "There is no such task", None),
        C::UnknownBulk => (S::NOT_FOUND, "There is no such bulk", None),
        C::UnknownSchedule => (S::NOT_FOUND, "There is no such schedule", None),
        C::UnknownCallback => (S::NOT_FOUND, "No service was given this URL", None),
        C::CallbackUsed => (S::CONFLICT, "Another answer was taken at this URL", None),
        C::CallbackOver => (S::GONE, "The answer comes too late", None),
        C::CallbackEarly => {
            (S::SERVICE_UNAVAILABLE, "The step is between two attempts", Some(BETWEEN_ATTEMPTS))
        }
        C::KeyReused => (S::CONFLICT, "The key was used for another input", None),
        C::TooLate => (S::CONFLICT, "It is too late for that", None),
        C::Refused => (S::CONFLICT, "It was refused", None),
        C::BackupExists => (S::CONFLICT, "A file of that name is there", None),
        C::TooManyOpen => (S::TOO_MANY_REQUESTS, "Too many tasks are open", Some(AFTER_OVERLOAD)),
        C::QueueFull => (S::TOO_MANY_REQUESTS, "Too many replies wait", Some(AFTER_OVERLOAD)),
        C::NotActedOn => {
            (S::GATEWAY_TIMEOUT, "It is stored, and nobody has acted on it yet", Some(AFTER_FAULT))
        }
        C::ShuttingDown => (S::SERVICE_UNAVAILABLE, "The engine is shutting down", Some(AFTER_FAULT)),
        C::StoreUnavailable => (S::SERVICE_UNAVAILABLE, "The store does not answer", Some(AFTER_FAULT)),
        C::StoreOwned => (S::SERVICE_UNAVAILABLE, "Another process has the store", None),
        C::StoreReadOnly => (S::SERVICE_UNAVAILABLE, "The store cannot be written", None),
        C::StoreFull => (S::INSUFFICIENT_STORAGE, "The disk is full", None),
        C::Unsupported => (S::NOT_IMPLEMENTED, "The store cannot do such a thing", None),
        C::BadAddress | C::BadSettings | C::UnfitConnection => {
            (S::INTERNAL_SERVER_ERROR, "The server is set up badly", None)
        }
        C::StoreCorrupt | C::StoreNewer => (S::INTERNAL_SERVER_ERROR, "The store cannot be used", None),
        C::TransferFailed => (S::INTERNAL_SERVER_ERROR, "It could not be written or read", None),
        // A code that this server is too old for.
        _ => (S::INTERNAL_SERVER_ERROR, UNNAMED, None),
    }
}

const UNNAMED: &str = "Something went wrong in the engine";

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        let problem = self.0;
        let status = StatusCode::from_u16(problem.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        // Writing into memory fails for no value of this type.
        let body = serde_json::to_vec(&*problem).unwrap_or_default();
        let mut response = (status, [(CONTENT_TYPE, MEDIA_TYPE)], body).into_response();
        if let Some(after) = problem.retry_after() {
            // Whole seconds, rounded up, so that nobody comes too early.
            let seconds = after.as_millis().div_ceil(1_000).max(1);
            if let Ok(value) = HeaderValue::from_str(&seconds.to_string()) {
                response.headers_mut().insert(RETRY_AFTER, value);
            }
        }
        response
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_of_the_engine_has_a_meaning_of_its_own() {
        for code in steadfast::Code::ALL {
            let (status, title, passing) = meaning(code);
            assert!(status.is_client_error() || status.is_server_error(), "{code}: {status}");
            assert_ne!(title, UNNAMED, "{code} has no line in `meaning`");
            let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::GATEWAY_TIMEOUT];
            assert!(!busy.contains(&status) || passing.is_some(), "{code}: after how long?");
        }
    }

    #[test]
    fn what_passes_says_when_to_come_again() {
        let response = Refusal::overloaded("too much").into_response();
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()[RETRY_AFTER], "1");
        assert_eq!(response.headers()[CONTENT_TYPE], MEDIA_TYPE);
        let wrong = Refusal::body("workflow", "there is none").inside("body.tasks[3]").into_problem();
        assert_eq!(wrong.errors[0].place, "body.tasks[3].workflow");
        assert!(!wrong.transient);
    }
}
