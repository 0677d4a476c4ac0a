//! Where a service is, and how it is called.

mod check;
mod client;
#[cfg(feature = "tls")]
mod trust;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use url::Url;

use crate::error::{Error, Problem};
use client::Wire;
pub(crate) use client::{Client, Lost};

/// The largest answer that is read, unless the service says otherwise: 8 MiB. More than a step can keep (1 MiB), because its
/// output may be a part of the answer; and a hundred of them at once still fit into a small machine.
pub const DEFAULT_MAX_RESPONSE: usize = 8 * 1024 * 1024;
/// The largest body that is sent, unless the service says otherwise: 8 MiB. A step's input is a few outputs of at most 1 MiB.
pub const DEFAULT_MAX_REQUEST: usize = 8 * 1024 * 1024;
/// The most that either limit can be raised to: bodies are in memory as a whole, one for each call.
pub const MAX_BODY: usize = 256 * 1024 * 1024;
/// How long a connection may take, unless the service says otherwise: a lost packet is sent again after one second, and after three.
pub const DEFAULT_CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// How many unused connections are kept: more than calls that begin at once. One commit makes the next steps of hundreds of tasks
/// durable, and all of them are sent then; what they find no connection for makes a new one, which costs both sides more than the
/// call. An unused one costs some kilobytes, and is gone after [`DEFAULT_IDLE_FOR`].
const DEFAULT_IDLE_CONNECTIONS: usize = 512;
/// How long an unused connection is kept: balancers drop them after a minute, and a request that meets that is lost.
const DEFAULT_IDLE_FOR: Duration = Duration::from_secs(30);

/// Where a service is, and how it is called. What makes no sense is said when it is given to the agent.
///
/// ```
/// use steadfast_http::Target;
///
/// let payments = Target::new("http://payments.internal:8080/v2")
///     .header("Authorization", "Bearer secret://payments-token")
///     .max_response(1024 * 1024);
/// ```
#[derive(Clone)]
#[must_use = "a target does nothing until an agent has it"]
pub struct Target {
    base_url: String,
    headers: Vec<(String, String)>,
    secrets: BTreeSet<String>,
    max_response: usize,
    max_request: usize,
    wire: Wire,
}

impl Target {
    /// A service at this address, such as `http://payments.internal:8080/v2`: paths of steps go behind it.
    pub fn new(base_url: impl Into<String>) -> Self {
        Self {
            base_url: base_url.into(),
            headers: Vec::new(),
            secrets: BTreeSet::new(),
            max_response: DEFAULT_MAX_RESPONSE,
            max_request: DEFAULT_MAX_REQUEST,
            wire: Wire {
                connect_timeout: DEFAULT_CONNECT_TIMEOUT,
                idle_connections: DEFAULT_IDLE_CONNECTIONS,
                idle_for: DEFAULT_IDLE_FOR,
                http2_prior_knowledge: false,
                root_certificates: Vec::new(),
                tls: false,
            },
        }
    }

    /// A header of every request, unless the step has one of this name. `secret://name` in its value is replaced when a call is
    /// made.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.headers.push((name.into(), value.into()));
        self
    }

    /// A secret that steps may send to this service, in headers and bodies. Others are refused: what a step sends may come from
    /// a task's input, and whoever may submit a task could have any secret sent.
    pub fn allow_secret(mut self, name: impl Into<String>) -> Self {
        self.secrets.insert(name.into());
        self
    }

    /// The largest answer that is read, in bytes. Default: 8 MiB.
    pub const fn max_response(mut self, bytes: usize) -> Self {
        self.max_response = bytes;
        self
    }

    /// The largest body that is sent, in bytes. Default: 8 MiB.
    pub const fn max_request(mut self, bytes: usize) -> Self {
        self.max_request = bytes;
        self
    }

    /// How long a connection may take to be made. Default: 5 s.
    pub const fn connect_timeout(mut self, limit: Duration) -> Self {
        self.wire.connect_timeout = limit;
        self
    }

    /// How many unused connections are kept; none with 0. Default: 512.
    pub const fn idle_connections(mut self, most: usize) -> Self {
        self.wire.idle_connections = most;
        self
    }

    /// How long an unused connection is kept. Shorter than the service keeps it, or requests are lost. Default: 30 s.
    pub const fn idle_for(mut self, time: Duration) -> Self {
        self.wire.idle_for = time;
        self
    }

    /// Speaks HTTP/2 without asking, also without TLS. With TLS, HTTP/2 is used anyway where the service offers it.
    pub const fn http2_prior_knowledge(mut self) -> Self {
        self.wire.http2_prior_knowledge = true;
        self
    }

    /// Trusts these certificates beside the system's, as PEM: for services with a certificate of your own. For `https://` alone.
    pub fn root_certificates(mut self, pem: impl Into<Vec<u8>>) -> Self {
        self.wire.root_certificates = pem.into();
        self
    }
}

/// Without the values of headers: some write credentials into them.
impl fmt::Debug for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let headers: Vec<_> = self.headers.iter().map(|(name, _)| name).collect();
        f.debug_struct("Target")
            .field("base_url", &self.base_url)
            .field("headers", &headers)
            .field("max_response", &self.max_response)
            .field("max_request", &self.max_request)
            .finish_non_exhaustive()
    }
}

/// A target that was checked, and has what it takes to be called.
pub(crate) struct Ready {
    name: Arc<str>,
    base: Url,
    target: Target,
    client: Client,
}

impl Ready {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn base(&self) -> &Url {
        &self.base
    }

    pub(crate) fn headers(&self) -> &[(String, String)] {
        &self.target.headers
    }

    pub(crate) fn secrets(&self) -> &BTreeSet<String> {
        &self.target.secrets
    }

    pub(crate) fn max_response(&self) -> usize {
        self.target.max_response
    }

    pub(crate) fn max_request(&self) -> usize {
        self.target.max_request
    }

    pub(crate) fn client(&self) -> &Client {
        &self.client
    }

    /// Its client, with the connections that it has, for one whose connections are made in the same way.
    fn client_for(&self, target: &Target) -> Option<Client> {
        (self.target.wire == target.wire).then(|| self.client.clone())
    }
}

/// All services, by name.
#[derive(Default)]
pub(crate) struct Targets(BTreeMap<Arc<str>, Arc<Ready>>);

impl Targets {
    /// Checks all of them, and makes a client for each. One whose connections are made in the same way as `before` keeps its
    /// client, and with it the connections that it has.
    pub(crate) fn ready(
        targets: impl IntoIterator<Item = (String, Target)>,
        before: &Self,
    ) -> Result<Self, Error> {
        let mut problems: Vec<Problem> = Vec::new();
        let mut ready = BTreeMap::new();
        for (name, target) in targets {
            match check::check(&name, target, before.get(&name)) {
                Ok(target) => {
                    let twice = ready.insert(Arc::clone(&target.name), Arc::new(target)).is_some();
                    problems.extend(twice.then(|| check::twice(&name)));
                }
                Err(found) => problems.extend(found),
            }
        }
        if problems.is_empty() { Ok(Self(ready)) } else { Err(Error::of(problems)) }
    }

    pub(crate) fn get(&self, service: &str) -> Option<&Arc<Ready>> {
        self.0.get(service)
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Ready> {
        self.0.values().map(|ready| &**ready)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(|name| &**name)
    }
}
