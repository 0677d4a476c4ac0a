//! Services that answer later: the URL that they were given with a call. It is all that they have to know: whoever has one may answer
//! for that step, once, and for nothing else.

use std::time::Duration;

use axum::extract::{Request, State as Has};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use serde_json::{Map, Value};
use steadfast::{CallbackId, CallbackSays, CalledBack as Became};
use steadfast_client::wire::callback::{Callback, CalledBack};
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

use crate::code::Code;
use crate::extract::{Params, Part, media_type, read_bytes, read_values, wrong_media_type};
use crate::guard::Slot;
use crate::measure::CALLBACKS;
use crate::problem::Refusal;
use crate::state::State;

/// The longest message of a failure that is kept, in bytes: people read it.
const MAX_MESSAGE: usize = 2_000;
/// The longest time that a service may ask to be left alone, in seconds: thirty days.
const MAX_RETRY_AFTER: f64 = 30.0 * 86_400.0;
/// When a service should call again whose workflow is not known here just now.
const LATER: Duration = Duration::from_secs(30);

pub(crate) fn routes() -> OpenApiRouter<State> {
    OpenApiRouter::new().routes(routes!(call_back))
}

/// Answers for a step whose service has taken the work on.
///
/// The body is what the service gives: any JSON, or nothing. An object with an `error` that is not null is a failure: a text, or an
/// object with `kind` (`transient` or `terminal`, which is what it means when it is left out), `message` and `retry_after` in
/// seconds. A URL is good for one answer; the same may be sent again.
#[utoipa::path(
    post,
    path = "/callbacks/{callback}",
    tag = "callbacks",
    params(("callback" = String, Path, description = "As it stands in the URL that the service was given",
        pattern = "^[0-9a-fA-F]{68}$")),
    request_body(content = Option<Value>, content_type = "application/json", description = "What the service gives, or how it failed",
        example = json!({ "score": 7 })),
    responses(
        (status = 200, description = "It counts, now or when it came first", body = CalledBack),
        (status = 202, description = "It is stored, and nobody has acted on it yet", body = CalledBack),
        (status = 404, description = "No service was given this URL, or its task is gone", body = steadfast_client::wire::problem::Problem, content_type = "application/problem+json"),
        (status = 409, description = "Another answer was taken at this URL", body = steadfast_client::wire::problem::Problem, content_type = "application/problem+json"),
        (status = 410, description = "It comes too late, and changes nothing", body = steadfast_client::wire::problem::Problem, content_type = "application/problem+json"),
    )
)]
async fn call_back(
    Has(state): Has<State>,
    Part(callback): Part,
    params: Params,
    request: Request,
) -> Result<Response, Refusal> {
    let became = answered(&state, &callback, params, request).await;
    let word = match &became {
        Ok(CalledBack { state: Callback::Taken }) => "taken",
        Ok(CalledBack { state: Callback::Repeated }) => "repeated",
        Ok(CalledBack { state: Callback::Stored }) => "stored",
        Err(_) => "refused",
    };
    metrics::counter!(CALLBACKS, "outcome" => word).increment(1);
    let became = became?;
    let status = if became.state == Callback::Stored { StatusCode::ACCEPTED } else { StatusCode::OK };
    Ok((status, axum::Json(became)).into_response())
}

async fn answered(
    state: &State,
    callback: &str,
    params: Params,
    request: Request,
) -> Result<CalledBack, Refusal> {
    params.done()?;
    let says = says(&state.house().without_secrets(body(state, request).await?))?;
    let id: CallbackId = callback.parse().map_err(|_| unknown())?;
    let became = state.engine().call_back(id, says).await.map_err(|error| match error.code() {
        steadfast::Code::UnknownWorkflow => not_now(),
        _ => error.into(),
    })?;
    let state = match became {
        Became::Taken => Callback::Taken,
        Became::Doubled => Callback::Repeated,
        Became::Stored => Callback::Stored,
    };
    Ok(CalledBack { state })
}

/// The body: any JSON, or nothing, which is null.
async fn body(state: &State, request: Request) -> Result<Value, Refusal> {
    let media_type = media_type(request.headers());
    let slot = request.extensions().get::<Slot>().cloned();
    let bytes = read_bytes(request, state, state.limits().body).await?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    if media_type != "application/json" && !media_type.ends_with("+json") {
        return Err(wrong_media_type(&media_type, "application/json"));
    }
    read_values(&bytes, state, slot.as_ref())
}

/// What the service says.
fn says(body: &Value) -> Result<CallbackSays, Refusal> {
    match body.get("error") {
        None | Some(Value::Null) => {
            // Writing into memory fails for no value of this type.
            Ok(CallbackSays::Done(serde_json::to_vec(body).unwrap_or_default().into()))
        }
        Some(Value::String(message)) => Ok(failed(false, message, None)),
        Some(Value::Object(error)) => failure(error),
        Some(_) => Err(Refusal::body("error", "expected a text, or an object with `kind` and `message`")),
    }
}

fn failure(error: &Map<String, Value>) -> Result<CallbackSays, Refusal> {
    let transient = match error.get("kind").map(Value::as_str) {
        None | Some(Some("terminal")) => false,
        Some(Some("transient")) => true,
        Some(_) => return Err(Refusal::body("error.kind", "expected `transient` or `terminal`")),
    };
    let message = match error.get("message") {
        None | Some(Value::Null) => "the service gave no reason",
        Some(Value::String(message)) => message,
        Some(_) => return Err(Refusal::body("error.message", "expected a text")),
    };
    let retry_after = match error.get("retry_after") {
        None | Some(Value::Null) => None,
        Some(seconds) => {
            let seconds = seconds.as_f64().filter(|seconds| (0.0..=MAX_RETRY_AFTER).contains(seconds));
            let bad = || Refusal::body("error.retry_after", "expected seconds, from 0 to 2592000");
            Some(Duration::from_secs_f64(seconds.ok_or_else(bad)?))
        }
    };
    Ok(failed(transient, message, retry_after))
}

fn failed(transient: bool, message: &str, retry_after: Option<Duration>) -> CallbackSays {
    let end =
        (0..=message.len().min(MAX_MESSAGE)).rev().find(|end| message.is_char_boundary(*end)).unwrap_or(0);
    CallbackSays::Failed { transient, message: message[..end].to_owned(), retry_after }
}

fn unknown() -> Refusal {
    let code = steadfast::Code::UnknownCallback;
    let detail =
        "no service was given this URL, or the task that it was of is gone: call the URL as it was given";
    let problem = steadfast_client::wire::problem::Problem::new(
        404,
        code.as_str(),
        "No service was given this URL",
        detail,
    );
    problem.into()
}

/// A program with the workflow may be there soon: nobody must give its answer up for that.
fn not_now() -> Refusal {
    let detail = "the workflow of the task is not known here in its version just now: call again later";
    Refusal::new(StatusCode::SERVICE_UNAVAILABLE, Code::NotReady, detail).after(LATER)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_error_is_a_failure_and_anything_else_is_what_the_service_gives() {
        for given in
            [json!(null), json!([1]), json!({"error": null, "id": 7}), json!("error"), json!({"errors": 1})]
        {
            let bytes = serde_json::to_vec(&given).unwrap();
            assert_eq!(says(&given).unwrap(), CallbackSays::Done(bytes.into()));
        }
        let none = "the service gave no reason";
        for (given, expected) in [
            (json!("declined"), failed(false, "declined", None)),
            (json!({}), failed(false, none, None)),
            (json!({"kind": "terminal", "message": "no", "code": 7}), failed(false, "no", None)),
            (json!({"kind": "transient"}), failed(true, none, None)),
            (
                json!({"kind": "transient", "retry_after": 1.5}),
                failed(true, none, Some(Duration::from_millis(1_500))),
            ),
        ] {
            assert_eq!(says(&json!({"error": given, "id": 7})).unwrap(), expected);
        }
        for (given, place) in [
            (json!(7), "body.error"),
            (json!({"kind": "odd"}), "body.error.kind"),
            (json!({"kind": null}), "body.error.kind"),
            (json!({"message": 7}), "body.error.message"),
            (json!({"retry_after": -1}), "body.error.retry_after"),
            (json!({"retry_after": 1e300}), "body.error.retry_after"),
        ] {
            let refused = says(&json!({"error": given})).unwrap_err().into_problem();
            assert_eq!((refused.status, refused.errors[0].place.as_str()), (422, place));
        }
    }

    #[test]
    fn a_long_message_is_cut_where_a_letter_ends() {
        let CallbackSays::Failed { message, .. } = failed(false, &"é".repeat(MAX_MESSAGE), None) else {
            panic!()
        };
        assert_eq!(message.len(), MAX_MESSAGE);
    }
}
