//! One request, made as often as is safe and needed.

use std::time::Duration;

use reqwest::header::{CONTENT_TYPE, HeaderName, RETRY_AFTER};
use reqwest::{Method, Response, StatusCode, Url};
use serde::Serialize;
use serde::de::DeserializeOwned;
use steadfast_resilience::Cause;
use steadfast_resilience::pipeline::Call;

use crate::client::{ANSWER_WITHIN, Client};
use crate::error::{Error, Kind};
use crate::wire::problem::Problem;

/// The most bytes of an answer that are read: more than the largest page of the API has.
const MOST_READ: usize = 64 << 20;
/// After how long something that passes is tried again, where nobody said.
const SOON: Duration = Duration::from_secs(1);

/// A request that is being put together.
#[must_use = "nothing is asked until it is sent"]
pub(crate) struct Request<'c> {
    client: &'c Client,
    method: Method,
    path: Vec<String>,
    query: Vec<(&'static str, String)>,
    headers: Vec<(HeaderName, String)>,
    body: Option<Vec<u8>>,
    media_type: &'static str,
    /// Whether it does the same when it is made twice.
    repeatable: bool,
    /// How long the server was asked to wait.
    wait: Duration,
    wrong: Option<Error>,
}

impl Client {
    pub(crate) fn get(&self, path: &[&str]) -> Request<'_> {
        self.request(Method::GET, &["api", "v1"], path).repeatable(true)
    }

    pub(crate) fn post(&self, path: &[&str]) -> Request<'_> {
        self.request(Method::POST, &["api", "v1"], path)
    }

    pub(crate) fn put(&self, path: &[&str]) -> Request<'_> {
        self.request(Method::PUT, &["api", "v1"], path).repeatable(true)
    }

    pub(crate) fn delete(&self, path: &[&str]) -> Request<'_> {
        self.request(Method::DELETE, &["api", "v1"], path)
    }

    /// What is outside of the API: health, readiness, metrics.
    pub(crate) fn outside(&self, path: &[&str]) -> Request<'_> {
        self.request(Method::GET, &[], path)
    }

    fn request(&self, method: Method, root: &[&str], path: &[&str]) -> Request<'_> {
        let path = root.iter().chain(path).map(|&part| part.to_owned()).collect();
        Request {
            client: self,
            method,
            path,
            query: Vec::new(),
            headers: Vec::new(),
            body: None,
            media_type: "application/json",
            repeatable: false,
            wait: Duration::ZERO,
            wrong: None,
        }
    }
}

impl Request<'_> {
    pub(crate) fn query(mut self, pairs: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        self.query.extend(pairs);
        self
    }

    /// With who asks and why, if the client was told: a reason that is empty is none.
    pub(crate) fn said(self) -> Self {
        let Some((by, because)) = self.client.said.as_deref() else { return self };
        let said = [("by", by), ("because", because)].into_iter().filter(|(_, text)| !text.is_empty());
        self.query(said.map(|(name, text)| (name, text.clone())))
    }

    pub(crate) fn header(mut self, name: HeaderName, value: &str) -> Self {
        self.headers.push((name, value.to_owned()));
        self
    }

    pub(crate) fn json(mut self, body: &impl Serialize) -> Self {
        match serde_json::to_vec(body) {
            Ok(json) => self.body = Some(json),
            Err(error) => {
                let message = format!("the request cannot be written as JSON: {error}");
                self.wrong = Some(Error::new(Kind::BadRequest, message));
            }
        }
        self
    }

    pub(crate) fn text(mut self, body: &str, media_type: &'static str) -> Self {
        (self.body, self.media_type) = (Some(body.as_bytes().to_vec()), media_type);
        self
    }

    pub(crate) fn repeatable(mut self, repeatable: bool) -> Self {
        self.repeatable = repeatable;
        self
    }

    pub(crate) fn waiting(mut self, time: Duration) -> Self {
        self.wait = time;
        self
    }

    /// Sends it, and reads the answer as this type.
    pub(crate) async fn answer<T: DeserializeOwned>(self) -> Result<T, Error> {
        let what = format!("{} /{}", self.method, self.path.join("/"));
        let body = self.body().await?;
        serde_json::from_slice(&body).map_err(|error| {
            let message = format!(
                "what the server answered to {what} cannot be read: {error}; is it a Steadfast server of this version?"
            );
            Error::new(Kind::BadAnswer, message)
        })
    }

    /// Sends it, and reads the answer as text.
    pub(crate) async fn plain(self) -> Result<String, Error> {
        Ok(String::from_utf8_lossy(&self.body().await?).into_owned())
    }

    async fn body(self) -> Result<Vec<u8>, Error> {
        let (request, url) = self.checked()?;
        let done = request.call().run(|_| request.read_once(url.clone()));
        done.await.map_err(|error| told(request.client.base(), error.into_cause()))
    }

    /// Sends it, and takes the response when its head is there. A stream goes on from there.
    pub(crate) async fn stream(self) -> Result<Response, Error> {
        let (request, url) = self.checked()?;
        let streams = &request.client.inner.streams;
        let done = request.call().run(|_| request.send_once(streams, url.clone()));
        done.await.map_err(|error| told(request.client.base(), error.into_cause()))
    }

    fn checked(mut self) -> Result<(Self, Url), Error> {
        match self.wrong.take() {
            Some(wrong) => Err(wrong),
            None => self.url().map(|url| (self, url)),
        }
    }

    fn url(&self) -> Result<Url, Error> {
        let mut url = self.client.inner.base.clone();
        {
            let bad = || Error::new(Kind::BadRequest, format!("`{}` has no path", self.client.base()));
            let mut parts = url.path_segments_mut().map_err(|()| bad())?;
            // Each part is escaped: a name with a slash in it is one part.
            parts.pop_if_empty().extend(&self.path);
        }
        if !self.query.is_empty() {
            url.query_pairs_mut().extend_pairs(&self.query);
        }
        Ok(url)
    }

    fn call(&self) -> Call<'_> {
        let call = self.client.inner.pipeline.call();
        let call = call.attempt_timeout(ANSWER_WITHIN.saturating_add(self.wait));
        // Otherwise it is made again only where it is known that nothing was done.
        if self.repeatable { call.idempotent() } else { call.not_idempotent() }
    }

    async fn read_once(&self, url: Url) -> Result<Vec<u8>, Error> {
        let response = self.send_once(&self.client.inner.http, url).await?;
        read(self.client.base(), response).await
    }

    async fn send_once(&self, http: &reqwest::Client, url: Url) -> Result<Response, Error> {
        let mut request = http.request(self.method.clone(), url);
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        if let Some(body) = &self.body {
            request = request.header(CONTENT_TYPE, self.media_type).body(body.clone());
        }
        let base = self.client.base();
        let response = request.send().await.map_err(|error| Error::lost(base, error))?;
        match response.status().is_success() {
            true => Ok(response),
            false => Err(problem(base, response).await),
        }
    }
}

/// The whole body, if it is not too large.
async fn read(base: &str, mut response: Response) -> Result<Vec<u8>, Error> {
    let mut body = Vec::new();
    while let Some(part) = response.chunk().await.map_err(|error| Error::lost(base, error))? {
        if body.len() + part.len() > MOST_READ {
            let message = format!("the answer has more than {MOST_READ} bytes: ask for less at a time");
            return Err(Error::new(Kind::BadAnswer, message));
        }
        body.extend_from_slice(&part);
    }
    Ok(body)
}

/// What the server said, or whoever answered in its place.
async fn problem(base: &str, response: Response) -> Error {
    let status = response.status();
    let after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok()?.parse().ok());
    let body = match read(base, response).await {
        Ok(body) => body,
        Err(error) => return error,
    };
    match serde_json::from_slice::<Problem>(&body) {
        Ok(problem) => problem.into(),
        Err(_) => foreign(status, after.map(Duration::from_secs)).into(),
    }
}

/// An answer that is none of the server's: a proxy's, or another program's at that address.
fn foreign(status: StatusCode, after: Option<Duration>) -> Problem {
    let detail = format!("it answered {status}, and not as a Steadfast server does: is this its address?");
    let problem = Problem::new(status.as_u16(), "", "An answer that is none of a Steadfast server", detail);
    let problem = Problem { page: String::new(), ..problem };
    let passing = matches!(status.as_u16(), 408 | 429 | 502 | 503 | 504);
    if passing { problem.transient(after.unwrap_or(SOON)) } else { problem }
}

/// What ended a call, told by the client.
fn told(base: &str, cause: Cause<Error>) -> Error {
    match cause {
        Cause::Operation(error) => error,
        Cause::TimedOut => Error::new(Kind::TimedOut, format!("the server at {base} did not answer in time")),
        _ => Error::new(Kind::Unreachable, format!("the server at {base} was not asked")),
    }
}
