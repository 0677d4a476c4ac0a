//! One call to a service: one try, and what it means. Retry, breaker and time limits are around it.

use reqwest::redirect::Policy;
use reqwest::{Client, Method, Response};
use serde::Deserialize;
use serde_json::Value;
use steadfast::Failure;
use steadfast::resilience::IdempotencyKey;
use steadfast_resilience::{Classify as _, Kind, Verdict};

use crate::error::Error;

/// The most letters of a service's own words in a failure.
const MOST_WORDS: usize = 200;

/// Calls one service.
#[derive(Clone, Debug)]
pub(super) struct Caller {
    client: Client,
    url: String,
}

/// What all services answer when they have done something.
#[derive(Debug, serde::Serialize, Deserialize)]
pub(super) struct Made {
    pub(super) id: String,
}

/// A client for all callers: no proxies, no redirects, what is on this machine stays there.
pub(super) fn client() -> Result<Client, Error> {
    let client = Client::builder().no_proxy().redirect(Policy::none()).build();
    client.map_err(|error| Error::engine("make an HTTP client", error))
}

impl Caller {
    pub(super) fn new(client: &Client, url: String) -> Self {
        Self { client: client.clone(), url }
    }

    /// Asks for something to be done.
    pub(super) async fn post(
        &self,
        path: &str,
        key: IdempotencyKey,
        body: Value,
    ) -> Result<Response, Failure> {
        self.ask(Method::POST, path, key, Some(body)).await
    }

    /// Asks for something to be taken back.
    pub(super) async fn delete(&self, path: &str, key: IdempotencyKey) -> Result<(), Failure> {
        self.ask(Method::DELETE, path, key, None).await.map(drop)
    }

    async fn ask(
        &self,
        method: Method,
        path: &str,
        key: IdempotencyKey,
        body: Option<Value>,
    ) -> Result<Response, Failure> {
        let mut request = self.client.request(method, format!("{}{path}", self.url));
        request = request.header("idempotency-key", key.to_string());
        if let Some(body) = body {
            request = request.header("content-type", "application/json").body(body.to_string());
        }
        let response = request.send().await.map_err(Failure::of)?;
        if response.status().is_success() { Ok(response) } else { Err(refused(response).await) }
    }
}

/// What the service says of what it has done.
pub(super) async fn made(response: Response) -> Result<Made, Failure> {
    let body = response.bytes().await.map_err(Failure::of)?;
    serde_json::from_slice(&body).map_err(|error| {
        // It was done: nobody must take this for a no.
        let verdict = Verdict::lasting(Kind::named("unreadable-answer"));
        Failure::transient("unreadable-answer", format!("the answer cannot be read: {error}"))
            .with_verdict(verdict)
    })
}

async fn refused(response: Response) -> Failure {
    let (status, verdict) = (response.status(), response.classify());
    let body = response.bytes().await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let words: String =
        body["error"].as_str().unwrap_or("no reason given").chars().take(MOST_WORDS).collect();
    Failure::terminal("refused", format!("it answered {}: {words}", status.as_u16())).with_verdict(verdict)
}
