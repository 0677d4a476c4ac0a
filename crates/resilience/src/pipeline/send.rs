//! The door for requests of `reqwest`: each attempt sends a copy of the request, with the same idempotency key.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;

use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
use reqwest::{Client, Request, RequestBuilder, Response};

use super::Pipeline;
use super::attempt::Attempt;
use super::call::Call;
use super::fallback::{WithFallback, told};
use crate::classify::{Classifier, Classify, Judged, Verdict};
use crate::error::Error;

/// Names the operation to the service, so that a repeated request is carried out once
/// (draft-ietf-httpapi-idempotency-key-header).
const KEY: HeaderName = HeaderName::from_static("idempotency-key");

/// Tells the service how long it has, in whole milliseconds. There is no standard for it; this name says its unit.
const TIMEOUT: HeaderName = HeaderName::from_static("x-request-timeout-ms");

impl Pipeline {
    /// Sends a request through this pipeline: a copy of it for each attempt, judged by status and headers.
    ///
    /// - **The answer** is what `reqwest` gives: a failing status comes back as `Ok` when there is no further try, as
    ///   from `RequestBuilder::send`. [`error_for_status`](Sending::error_for_status) makes an error of it.
    /// - **`Idempotency-Key`**: the same in all attempts, unless the request has one; not for `GET`, `HEAD`, `OPTIONS`
    ///   and `TRACE`, which change nothing. So a `POST` may be repeated, where the service keeps such keys. Where it does
    ///   not, say `not_idempotent()`, on the pipeline or for the call: it is then repeated only when it is known that
    ///   nothing took effect.
    /// - **The time limit for the service** ([`server_timeout`](super::Builder::server_timeout)), where there is one, is
    ///   sent as `X-Request-Timeout-Ms`, in whole milliseconds.
    /// - **A body that is a stream** cannot be sent twice: there is one attempt, and a failure ends with
    ///   [`Stop::NotRepeatable`](crate::retry::Stop::NotRepeatable).
    /// - Attempts and their time limit end when the headers are there. The body is read by the caller, outside of the
    ///   pipeline; where that is to be retried too, send and read inside of [`run`](Self::run).
    ///
    /// ```
    /// # use std::io::{Read as _, Write as _};
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// # let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
    /// # let url = format!("http://{}/charges", listener.local_addr()?);
    /// # let service = std::thread::spawn(move || {
    /// #     let (mut stream, _) = listener.accept()?;
    /// #     let _ = stream.read(&mut [0; 4096])?;
    /// #     stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 4\r\nconnection: close\r\n\r\npaid")
    /// # });
    /// # let order = serde_json::json!({ "cents": 1299 });
    /// use steadfast_resilience::Pipeline;
    ///
    /// let client = reqwest::Client::new();
    /// let payments = Pipeline::standard("payments");
    /// let response = payments.send(client.post(url).json(&order)).await?;
    /// let receipt = response.error_for_status()?.text().await?;
    /// assert_eq!(receipt, "paid");
    /// # Ok(()) }
    /// ```
    pub fn send(&self, request: RequestBuilder) -> Sending<'_> {
        self.call().send(request)
    }
}

impl<'p> Call<'p> {
    /// Sends a request with these options: see [`Pipeline::send`].
    pub fn send(self, request: RequestBuilder) -> Sending<'p> {
        Sending { call: self.judge_values(), request, error_for_status: false, timeout_header: TIMEOUT }
    }
}

impl<F> WithFallback<'_, crate::classify::ErrorsOnly, F> {
    /// Sends a request, and asks the fallback when it is needed: see [`Pipeline::send`]. A failing status is an error
    /// here, so that the fallback can stand in for it.
    ///
    /// # Errors
    /// What the fallback says, or the call's error when no fallback may stand in.
    pub async fn send<FFut>(self, request: RequestBuilder) -> Result<Response, Error<SendError>>
    where
        F: FnOnce(Error<SendError>) -> FFut,
        FFut: Future<Output = Result<Response, Error<SendError>>>,
    {
        match self.call.send(request).error_for_status().await {
            Err(error) if error.allows_fallback() => told((self.fallback)(error).await),
            outcome => outcome,
        }
    }
}

/// A request to be sent, from [`Pipeline::send`]. Await it.
#[must_use = "nothing is sent until it is awaited"]
pub struct Sending<'p, C = Judged> {
    call: Call<'p, C>,
    request: RequestBuilder,
    error_for_status: bool,
    timeout_header: HeaderName,
}

impl<'p, C> Sending<'p, C> {
    /// An answer whose status is a failure (4xx or 5xx) becomes [`SendError::Status`], with the response inside, so that
    /// a caller's `?` and a fallback see it.
    pub fn error_for_status(mut self) -> Self {
        self.error_for_status = true;
        self
    }

    /// Another header for the service's time limit, in whole milliseconds, such as Envoy's
    /// `x-envoy-expected-rq-timeout-ms`. Default: `x-request-timeout-ms`.
    pub fn server_timeout_header(mut self, name: HeaderName) -> Self {
        self.timeout_header = name;
        self
    }

    /// Judges the outcomes with a function instead of by status and headers.
    pub fn classify<F>(self, classify: F) -> Sending<'p, F>
    where
        F: Fn(&Result<Response, SendError>) -> Verdict,
    {
        Sending {
            call: self.call.classify_with(classify),
            request: self.request,
            error_for_status: self.error_for_status,
            timeout_header: self.timeout_header,
        }
    }
}

impl<'p, C> IntoFuture for Sending<'p, C>
where
    C: Classifier<Response, SendError> + Send + 'p,
{
    type Output = Result<Response, Error<SendError>>;
    /// Boxed: beside a request's own allocations one more is nothing.
    type IntoFuture = Pin<Box<dyn Future<Output = Self::Output> + Send + 'p>>;

    fn into_future(self) -> Self::IntoFuture {
        let Self { mut call, request, error_for_status, timeout_header } = self;
        let (client, request) = request.build_split();
        let mut copies = Copies::of(request);
        call.options.once = copies.is_once();
        Box::pin(call.run(move |attempt| {
            let request = copies.next().map(|request| {
                request.map(|mut request| {
                    stamp(&mut request, &attempt, &timeout_header);
                    request
                })
            });
            send_once(client.clone(), request, error_for_status)
        }))
    }
}

impl<C> fmt::Debug for Sending<'_, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sending")
            .field("pipeline", &self.call.pipeline)
            .field("error_for_status", &self.error_for_status)
            .finish_non_exhaustive()
    }
}

/// The requests for the attempts of one call.
enum Copies {
    Many(Request),
    /// A body that is a stream, or a request that could not be built.
    One(Option<reqwest::Result<Request>>),
}

impl Copies {
    fn of(request: reqwest::Result<Request>) -> Self {
        match request {
            Ok(request) if request.try_clone().is_some() => Self::Many(request),
            once => Self::One(Some(once)),
        }
    }

    fn is_once(&self) -> bool {
        matches!(self, Self::One(_))
    }

    fn next(&mut self) -> Option<reqwest::Result<Request>> {
        match self {
            Self::Many(request) => request.try_clone().map(Ok),
            Self::One(request) => request.take(),
        }
    }
}

/// Writes the call's key and the service's time limit into a request's headers.
fn stamp(request: &mut Request, attempt: &Attempt, timeout_header: &HeaderName) {
    let safe = matches!(*request.method(), Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE);
    let headers = request.headers_mut();
    if !safe {
        insert_if_absent(headers, KEY, || HeaderValue::try_from(attempt.key().to_string()).ok());
    }
    if let Some(limit) = attempt.server_timeout() {
        // Never zero: to some services that means no limit.
        let millis = u64::try_from(limit.as_millis()).unwrap_or(u64::MAX).max(1);
        insert_if_absent(headers, timeout_header.clone(), || Some(HeaderValue::from(millis)));
    }
}

fn insert_if_absent(headers: &mut HeaderMap, name: HeaderName, value: impl FnOnce() -> Option<HeaderValue>) {
    if !headers.contains_key(&name)
        && let Some(value) = value()
    {
        headers.insert(name, value);
    }
}

async fn send_once(
    client: Client,
    request: Option<reqwest::Result<Request>>,
    error_for_status: bool,
) -> Result<Response, SendError> {
    let request = request.ok_or(SendError::Spent)?.map_err(SendError::Request)?;
    let response = client.execute(request).await.map_err(SendError::Request)?;
    let status = response.status();
    if error_for_status && (status.is_client_error() || status.is_server_error()) {
        return Err(SendError::Status(Box::new(response)));
    }
    Ok(response)
}

/// Why a request did not bring the answer that was asked for.
#[derive(Debug)]
#[non_exhaustive]
pub enum SendError {
    /// It could not be built or sent, or no answer came.
    Request(reqwest::Error),
    /// The answer's status is a failure, and [`Sending::error_for_status`] was asked for. The body can still be read.
    Status(Box<Response>),
    /// The body is a stream and has been sent already.
    Spent,
}

impl SendError {
    /// The status of the answer, where there was one.
    #[must_use]
    pub fn status(&self) -> Option<reqwest::StatusCode> {
        match self {
            Self::Request(error) => error.status(),
            Self::Status(response) => Some(response.status()),
            Self::Spent => None,
        }
    }
}

impl fmt::Display for SendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(_) => f.write_str("the request brought no answer"),
            Self::Status(response) => write!(f, "the service answered {}", response.status()),
            Self::Spent => f.write_str("the request's body is a stream and has been sent already"),
        }
    }
}

impl std::error::Error for SendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Request(error) => Some(error),
            Self::Status(_) | Self::Spent => None,
        }
    }
}

impl Classify for SendError {
    fn classify(&self) -> Verdict {
        match self {
            Self::Request(error) => error.classify(),
            Self::Status(response) => response.classify(),
            Self::Spent => Verdict::terminal(crate::classify::Kind::BAD_REQUEST).without_effect(),
        }
    }

    fn message(&self) -> Option<String> {
        match self {
            Self::Request(error) => error.message(),
            Self::Status(_) | Self::Spent => Some(self.to_string()),
        }
    }
}
