//! A health check over HTTP: the status code, and the `status` that the body reports.

use reqwest::header::CONTENT_TYPE;
use reqwest::{Client, IntoUrl, Response};

use super::{Health, reports};
use crate::classify::Classify as _;

/// The longest answer that is read. Spring's with all its components has a few kilobytes; a page of a megabyte is not
/// a health report.
const BODY_MAX: usize = 64 * 1024;

/// A check that asks a health endpoint, for [`Breaker::health_check`](super::super::Breaker::health_check).
///
/// - A status other than 2xx is *down*, whatever the body says.
/// - A JSON answer with a word in its `status` means what [`Health::reported`] says: Spring's actuator,
///   `application/health+json`, gRPC's health service as JSON.
/// - A JSON answer that is broken, or longer than 64 KiB, is *down*.
/// - Otherwise the 2xx is all that the service reports, and means *up*.
///
/// It goes around the breaker and is not retried: the next look comes anyway. Leave its time limit to
/// [`HealthCheck::timeout`](super::HealthCheck::timeout).
///
/// ```
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// use steadfast_resilience::breaker::health;
/// use steadfast_resilience::Breaker;
///
/// let breaker = Breaker::standard().build("payments")?;
/// let check = health::http(reqwest::Client::new(), "http://payments/actuator/health")?;
/// let checking = tokio::spawn(breaker.health_check(check).run());
/// // ... and when the program ends:
/// checking.abort();
/// # Ok(()) }
/// ```
///
/// # Errors
/// A URL that is none.
pub fn http(
    client: Client,
    url: impl IntoUrl,
) -> reqwest::Result<impl Fn() -> HttpCheck + Clone + Send + Sync + 'static> {
    let url = url.into_url()?;
    Ok(move || -> HttpCheck { Box::pin(ask(client.get(url.clone()))) })
}

/// One question, under way.
type HttpCheck = std::pin::Pin<Box<dyn Future<Output = Health> + Send>>;

async fn ask(request: reqwest::RequestBuilder) -> Health {
    match request.send().await {
        Ok(response) => read(response).await,
        Err(error) => no_answer(&error),
    }
}

/// Not by the error's verdict: for a health endpoint an answer that cannot be read is no good news, whatever it means for
/// a retry.
fn no_answer(error: &reqwest::Error) -> Health {
    Health::down(error.message().unwrap_or_default())
}

async fn read(response: Response) -> Health {
    let status = response.status();
    match (status.is_success(), reported(response).await) {
        (true, Ok(Some(word))) => Health::reported(&word),
        (true, Ok(None)) => Health::Up,
        (true, Err(reason)) => Health::down(reason),
        (false, Ok(Some(word))) => Health::down(format!("it answered {status}; {}", reports(&word))),
        (false, _) => Health::down(format!("it answered {status}")),
    }
}

/// The word that the body reports, or why it cannot be read. `None` when it is no JSON, or has no such word.
async fn reported(mut response: Response) -> Result<Option<String>, String> {
    if !is_json(&response) {
        return Ok(None);
    }
    let mut body = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(|error| error.message().unwrap_or_default())? {
        if body.len() + chunk.len() > BODY_MAX {
            return Err(format!("its answer is longer than {BODY_MAX} bytes"));
        }
        body.extend_from_slice(&chunk);
    }
    let report: serde_json::Value =
        serde_json::from_slice(&body).map_err(|error| format!("its answer is not JSON: {error}"))?;
    Ok(report.get("status").and_then(serde_json::Value::as_str).map(str::to_owned))
}

/// `application/json`, and all that ends so: `application/health+json`, Spring's own.
fn is_json(response: &Response) -> bool {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    let essence =
        kind.and_then(|kind| kind.split(';').next()).unwrap_or_default().trim().to_ascii_lowercase();
    essence == "application/json" || essence.ends_with("+json")
}
