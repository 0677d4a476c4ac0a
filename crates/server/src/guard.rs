//! What stands around every request of the API: a place, a time limit, a count. And what a panic becomes.

use std::any::Any;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::extract::{MatchedPath, Request, State as Has};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use http::{Method, StatusCode};
use tokio::sync::OwnedSemaphorePermit;

use crate::code::Code;
use crate::measure::{REQUEST_SECONDS, REQUESTS};
use crate::origin;
use crate::problem::Refusal;
use crate::state::State;

/// The places of a request among those that are worked on: its own, and that of its body. One that only waits gives them up.
#[derive(Clone, Debug)]
pub(crate) struct Slot(Arc<Mutex<Vec<OwnedSemaphorePermit>>>);

impl Slot {
    fn new(place: OwnedSemaphorePermit) -> Self {
        Self(Arc::new(Mutex::new(vec![place])))
    }

    /// One more place, for as long as the request has its own.
    pub(crate) fn hold(&self, place: OwnedSemaphorePermit) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(place);
    }

    /// Gives the places to others.
    pub(crate) fn leave(&self) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

/// Refuses what is not meant for this server. Whether it lives is everybody's to ask: those who look after it have names of their own for it.
pub(crate) async fn ours(Has(state): Has<State>, request: Request, next: Next) -> Response {
    let is_health = matches!(request.uri().path(), "/healthz" | "/readyz");
    match origin::check(request.headers(), |host| state.house().is_called(host)) {
        Err(refusal) if !is_health => refusal.into_response(),
        _ => next.run(request).await,
    }
}

/// Gives a request a place and a time limit, or refuses it.
pub(crate) async fn guard(Has(state): Has<State>, mut request: Request, next: Next) -> Response {
    let began = state.clock().now();
    // Never the address itself: there would be as many counts as tasks.
    let route =
        request.extensions().get::<MatchedPath>().map(|path| path.as_str().to_owned()).unwrap_or_default();
    let method = counted(request.method());
    let response = match state.place() {
        Ok(place) => {
            let slot = Slot::new(place);
            request.extensions_mut().insert(slot.clone());
            let response = within_time(&state, request, next).await;
            slot.leave();
            response
        }
        Err(refusal) => refusal.into_response(),
    };
    let labels =
        [("method", method.to_owned()), ("route", route), ("status", response.status().as_u16().to_string())];
    metrics::counter!(REQUESTS, &labels).increment(1);
    let took = state.clock().now().since(began);
    metrics::histogram!(REQUEST_SECONDS, &labels).record(took.as_secs_f64());
    response
}

/// How a request is counted: clients can make up methods, and each would be a count of its own.
fn counted(method: &Method) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method.as_str()).unwrap_or("other")
}

async fn within_time(state: &State, request: Request, next: Next) -> Response {
    let limits = state.limits();
    let waits = request.uri().query().is_some_and(|query| query.contains("wait="));
    let whole_store = request.uri().path().contains("/store/");
    let within = match (whole_store, waits) {
        (true, _) => limits.store_within,
        (false, true) => limits.request_within + limits.longest_wait,
        (false, false) => limits.request_within,
    };
    tokio::select! {
        response = next.run(request) => response,
        () = state.clock().sleep(within) => too_slow(within).into_response(),
    }
}

fn too_slow(within: Duration) -> Refusal {
    let detail = format!(
        "it took longer than {within:?}, and nobody knows whether it was done: ask again under the same key or id, or look"
    );
    Refusal::new(StatusCode::GATEWAY_TIMEOUT, Code::TooSlow, detail).after(Duration::from_secs(2))
}

/// A panic, which is a fault of the server: told as a problem, and in the log.
#[expect(clippy::needless_pass_by_value, reason = "the layer that catches panics hands them over so")]
pub(crate) fn panicked(panic: Box<dyn Any + Send + 'static>) -> Response {
    let words = panic.downcast_ref::<&str>().map(|words| (*words).to_owned());
    let words = words.or_else(|| panic.downcast_ref::<String>().cloned()).unwrap_or_default();
    tracing::error!(words, "a request has panicked");
    // What a panic says is for the log: it may hold what others must not see.
    let detail = "the server has a fault, and nobody knows whether this was done: see its log, and report it";
    Refusal::new(StatusCode::INTERNAL_SERVER_ERROR, Code::Internal, detail).into_response()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_that_nobody_knows_are_counted_as_one() {
        let made_up = Method::from_bytes(b"FETCH-4711").unwrap();
        assert_eq!((counted(&Method::GET), counted(&made_up)), ("GET", "other"));
    }
}
