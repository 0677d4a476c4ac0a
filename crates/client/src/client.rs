//! The client: where the server is, and how it is asked.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;
use reqwest::header::{HeaderMap, HeaderValue, USER_AGENT};
use steadfast_resilience::clock::Clock;
use steadfast_resilience::{Pipeline, Retry};

use crate::error::{Error, Kind};

/// How long a connection may take to come about: the server is near, or it is not there.
const CONNECT_WITHIN: Duration = Duration::from_secs(5);
/// How long an answer may take beside what the server was asked to wait: longer than the server itself takes for anything.
pub(crate) const ANSWER_WITHIN: Duration = Duration::from_secs(45);
/// How often what failed in passing is made again where nothing is said.
const RETRIES: u32 = 4;
/// How long a stream may be silent: three heartbeats of the server.
const SILENT_FOR: Duration = Duration::from_secs(45);

/// A client of one server. Clones are one and the same.
#[derive(Clone)]
pub struct Client {
    pub(crate) inner: Arc<Inner>,
    /// Who asks and why, for what says that behind the `?`.
    pub(crate) said: Option<Arc<(String, String)>>,
}

pub(crate) struct Inner {
    pub(crate) base: Url,
    pub(crate) http: reqwest::Client,
    /// For streams, which end when nothing comes for a while and otherwise never.
    pub(crate) streams: reqwest::Client,
    pub(crate) pipeline: Pipeline,
    pub(crate) clock: Clock,
}

/// A client that is being set up.
#[derive(Clone, Debug)]
#[must_use = "a builder does nothing until `build`"]
pub struct Builder {
    base: String,
    retries: u32,
    clock: Clock,
}

impl Client {
    /// A client of the server at this address, such as `http://127.0.0.1:7171`.
    ///
    /// # Errors
    /// An address that is none.
    pub fn new(base: &str) -> Result<Self, Error> {
        Self::builder(base).build()
    }

    /// Begins to set a client up for the server at this address.
    pub fn builder(base: &str) -> Builder {
        Builder { base: base.to_owned(), retries: RETRIES, clock: Clock::system() }
    }

    /// The same for somebody who sets schedules, takes workflows in or copies the store: who, and why, for the audit log. What has
    /// a body to say it in has it there.
    #[must_use]
    pub fn saying(&self, by: &str, because: &str) -> Self {
        Self { inner: Arc::clone(&self.inner), said: Some(Arc::new((by.to_owned(), because.to_owned()))) }
    }

    /// Where the server is.
    #[must_use]
    pub fn base(&self) -> &str {
        self.inner.base.as_str().trim_end_matches('/')
    }
}

impl Builder {
    /// How often what failed in passing is made again; 4 where nothing is said.
    pub fn retries(mut self, retries: u32) -> Self {
        self.retries = retries;
        self
    }

    /// Another clock for waits between tries: [`Clock::tokio`] for tests in paused time.
    pub fn clock(mut self, clock: Clock) -> Self {
        self.clock = clock;
        self
    }

    /// Makes it. Nothing is asked of the server yet.
    ///
    /// # Errors
    /// An address that is none.
    pub fn build(self) -> Result<Client, Error> {
        let base = base(&self.base)?;
        #[cfg(feature = "tls")]
        install_crypto();
        let http = http(&base).build().map_err(|error| Error::lost(base.as_str(), error))?;
        let streams = http_of_streams(&base)?;
        let retry = Retry::exponential().max_retries(self.retries);
        let pipeline = Pipeline::builder("steadfast")
            .retry(retry)
            // Whoever asks wants to know what the server says now.
            .no_breaker()
            .no_budget()
            .attempt_timeout(ANSWER_WITHIN)
            .clock(self.clock.clone());
        let pipeline = pipeline.build().map_err(|error| Error::new(Kind::BadRequest, error.to_string()))?;
        let inner = Inner { base, http, streams, pipeline, clock: self.clock };
        Ok(Client { inner: Arc::new(inner), said: None })
    }
}

/// Has TLS use ring in this process, unless something else was chosen before.
#[cfg(feature = "tls")]
fn install_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may be quicker, which is as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// An address as it was written, checked.
fn base(text: &str) -> Result<Url, Error> {
    let bad = |why: &str| {
        let shown: String = text.chars().take(200).collect();
        Error::new(
            Kind::BadRequest,
            format!("`{shown}` is no address of a server: {why}; use one such as `http://127.0.0.1:7171`"),
        )
    };
    let url = Url::parse(text).map_err(|error| bad(&error.to_string()))?;
    match url.scheme() {
        "http" => {}
        "https" if cfg!(feature = "tls") => {}
        "https" => return Err(bad("this program was built without TLS (feature `tls`)")),
        _ => return Err(bad("it begins with neither `http://` nor `https://`")),
    }
    if url.cannot_be_a_base() || url.query().is_some() || url.fragment().is_some() {
        return Err(bad("it has more than scheme, host, port and path"));
    }
    Ok(url)
}

fn http(base: &Url) -> reqwest::ClientBuilder {
    let mut headers = HeaderMap::new();
    let agent = HeaderValue::from_static(concat!("steadfast-client/", env!("CARGO_PKG_VERSION")));
    headers.insert(USER_AGENT, agent);
    let builder = reqwest::Client::builder()
        .default_headers(headers)
        .connect_timeout(CONNECT_WITHIN)
        // The API has none: whoever answers with one is not the server.
        .redirect(reqwest::redirect::Policy::none());
    let is_near = matches!(base.host_str(), Some("localhost" | "127.0.0.1" | "[::1]"));
    // What a proxy calls 127.0.0.1 is another machine.
    if is_near { builder.no_proxy() } else { builder }
}

fn http_of_streams(base: &Url) -> Result<reqwest::Client, Error> {
    let built = http(base).read_timeout(SILENT_FOR).build();
    built.map_err(|error| Error::lost(base.as_str(), error))
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base()).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_that_is_none_is_refused_with_what_to_write() {
        for (bad, why) in [
            ("127.0.0.1:7171", "no address"),
            ("ftp://host", "neither `http://`"),
            ("http://host/?a=b", "more than scheme"),
            ("", "no address"),
        ] {
            let told = Client::new(bad).unwrap_err().to_string();
            assert!(told.contains(why) && told.contains("http://127.0.0.1:7171"), "{bad}: {told}");
        }
        assert_eq!(Client::new("http://127.0.0.1:7171/").unwrap().base(), "http://127.0.0.1:7171");
        assert_eq!(Client::new("http://host/steadfast").unwrap().base(), "http://host/steadfast");
    }
}
