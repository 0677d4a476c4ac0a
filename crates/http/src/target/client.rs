//! The connections to a service, and one request over one of them.

use std::error::Error;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use http::{Request, Response, Uri};
use http_body_util::Full;
use hyper::body::{Bytes, Incoming};
use hyper_util::client::legacy::Client as Pool;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use steadfast_resilience::clock::Clock;
use tower_service::Service;

#[cfg(feature = "tls")]
use super::trust;

/// The largest head of an answer over HTTP/2: what is kept of it is much less. Over HTTP/1 hyper takes a hundred headers.
const MAX_HTTP2_HEADERS: u32 = 32 * 1024;
/// How long nothing may come before the system asks whether the other side is there, and how often it asks.
const SILENT_FOR: Duration = Duration::from_secs(15);
const ASKED: u32 = 3;
/// How long the other side's system may leave what was sent without a word. Only Linux can be told.
#[cfg(target_os = "linux")]
const UNHEARD_FOR: Duration = Duration::from_secs(30);

#[cfg(not(feature = "tls"))]
type Connector = HttpConnector;
#[cfg(feature = "tls")]
type Connector = hyper_rustls::HttpsConnector<HttpConnector>;

/// What went wrong on the way, of whatever type it is.
type AnyError = Box<dyn Error + Send + Sync>;

/// How connections are made and kept. Targets that are the same in this share what they have.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) connect_timeout: Duration,
    pub(super) idle_connections: usize,
    pub(super) idle_for: Duration,
    pub(super) http2_prior_knowledge: bool,
    pub(super) root_certificates: Vec<u8>,
    /// Whether it is spoken to over TLS: its address says so.
    pub(super) tls: bool,
}

/// Sends what it is told and nothing else: it follows no redirect, asks no proxy, keeps no cookie, unpacks nothing, and tries again only
/// what never went out, because the connection that it was meant for had ended.
#[derive(Clone)]
pub(crate) struct Client(Pool<InTime, Full<Bytes>>);

impl Client {
    /// Sends a request; the answer's head is here, and its body to come.
    pub(crate) async fn send(&self, request: Request<Full<Bytes>>) -> Result<Response<Incoming>, Lost> {
        self.0.request(request).await.map_err(|error| match error.is_connect() {
            true => Lost::Unconnected(error.into()),
            false => Lost::Broken(error.into()),
        })
    }
}

/// Why there is no answer, or no whole one.
#[derive(Debug)]
pub(crate) enum Lost {
    /// There was no connection: nothing was sent.
    Unconnected(AnyError),
    /// There was one, and it ended too early, or what came over it is no HTTP.
    Broken(AnyError),
    /// It took longer than it may.
    Late,
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unconnected(error) | Self::Broken(error) => f.write_str(&causes(&**error)),
            Self::Late => f.write_str("operation timed out"),
        }
    }
}

impl From<hyper::Error> for Lost {
    fn from(error: hyper::Error) -> Self {
        Self::Broken(error.into())
    }
}

impl Wire {
    pub(super) fn client(&self) -> Result<Client, String> {
        let mut tcp = HttpConnector::new();
        self.set_up(&mut tcp);
        let connector =
            InTime { connector: self.connector(tcp)?, within: self.connect_timeout, clock: Clock::system() };
        let mut pool = Pool::builder(TokioExecutor::new());
        pool.timer(TokioTimer::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(self.idle_for)
            .pool_max_idle_per_host(self.idle_connections)
            .http2_only(self.http2_prior_knowledge)
            .http2_max_header_list_size(MAX_HTTP2_HEADERS);
        Ok(Client(pool.build(connector)))
    }

    fn set_up<R>(&self, tcp: &mut HttpConnector<R>) {
        tcp.set_nodelay(true);
        // Of several addresses each has its part of it, and the next one is tried then.
        tcp.set_connect_timeout(Some(self.connect_timeout));
        tcp.set_keepalive(Some(SILENT_FOR));
        tcp.set_keepalive_interval(Some(SILENT_FOR));
        tcp.set_keepalive_retries(Some(ASKED));
        #[cfg(target_os = "linux")]
        tcp.set_tcp_user_timeout(Some(UNHEARD_FOR));
    }

    #[cfg(not(feature = "tls"))]
    #[expect(clippy::unused_self, clippy::unnecessary_wraps, reason = "as with TLS, where it can fail")]
    fn connector(&self, tcp: HttpConnector) -> Result<Connector, String> {
        Ok(tcp)
    }

    #[cfg(feature = "tls")]
    fn connector(&self, mut tcp: HttpConnector) -> Result<Connector, String> {
        tcp.enforce_http(false);
        let builder = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(self.tls()?).https_or_http();
        Ok(match self.http2_prior_knowledge {
            true => builder.enable_http2().wrap_connector(tcp),
            false => builder.enable_all_versions().wrap_connector(tcp),
        })
    }

    /// Trusts whom the system trusts, and whose certificates were given; nobody, where TLS is not spoken: the system may have none then.
    #[cfg(feature = "tls")]
    fn tls(&self) -> Result<rustls::ClientConfig, String> {
        use std::sync::Arc;

        use rustls::crypto::{CryptoProvider, ring};
        use rustls::{ClientConfig, RootCertStore};

        let made = |error: rustls::Error| format!("TLS cannot be set up: {}", causes(&error));
        // What the program has chosen, if it has.
        let chosen = CryptoProvider::get_default().cloned();
        let provider = chosen.unwrap_or_else(|| Arc::new(ring::default_provider()));
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
        let builder = builder.with_safe_default_protocol_versions().map_err(made)?;
        let trusting = if self.tls {
            let verifier = trust::verifier(&self.root_certificates, provider)?;
            builder.dangerous().with_custom_certificate_verifier(Arc::new(verifier))
        } else {
            builder.with_root_certificates(RootCertStore::empty())
        };
        Ok(trusting.with_no_client_auth())
    }
}

/// Makes connections, name and TLS included, or gives up after a while.
#[derive(Clone)]
struct InTime {
    connector: Connector,
    within: Duration,
    clock: Clock,
}

impl Service<Uri> for InTime {
    type Response = <Connector as Service<Uri>>::Response;
    type Error = AnyError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, AnyError>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), AnyError>> {
        self.connector.poll_ready(context).map_err(any)
    }

    fn call(&mut self, to: Uri) -> Self::Future {
        let (connecting, clock, within) = (self.connector.call(to), self.clock.clone(), self.within);
        Box::pin(async move {
            tokio::select! {
                biased;
                connected = connecting => connected.map_err(any),
                () = clock.sleep(within) => Err(std::io::Error::from(std::io::ErrorKind::TimedOut).into()),
            }
        })
    }
}

/// Without TLS it is a type of its own.
fn any(error: impl Into<AnyError>) -> AnyError {
    error.into()
}

/// An error and what caused it, in one line.
pub(super) fn causes(error: &(dyn Error + 'static)) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words = format!("{words}: {cause}");
        next = cause.source();
    }
    words
}

// Only Linux has more than one address of its own without being told.
#[cfg(test)]
#[cfg(target_os = "linux")]
mod tests {
    use super::*;
    use std::future::{Ready, ready};
    use std::net::{SocketAddr, TcpStream};

    use hyper_util::client::legacy::connect::dns::Name;
    use tokio::net::{TcpListener, TcpSocket};

    /// A name with two addresses.
    #[derive(Clone)]
    struct Two([SocketAddr; 2]);

    impl Service<Name> for Two {
        type Response = std::array::IntoIter<SocketAddr, 2>;
        type Error = std::convert::Infallible;
        type Future = Ready<Result<Self::Response, Self::Error>>;

        fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
            Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: Name) -> Self::Future {
            ready(Ok(self.0.into_iter()))
        }
    }

    /// An address at which nobody says anything: those who wait to be let in are as many as may wait.
    fn silent() -> (Held, SocketAddr) {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind("127.0.0.2:0".parse().unwrap()).unwrap();
        let listener = socket.listen(1).unwrap();
        let address = listener.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200)) {
            waiting.push(stream);
        }
        (Held { _listener: listener, _waiting: waiting }, address)
    }

    struct Held {
        _listener: TcpListener,
        _waiting: Vec<TcpStream>,
    }

    #[tokio::test]
    async fn a_silent_address_leaves_time_for_the_next_one() {
        let (_held, dead) = silent();
        let alive = TcpListener::bind("127.0.0.3:0").await.unwrap();
        let wire = Wire {
            connect_timeout: Duration::from_secs(1),
            idle_connections: 1,
            idle_for: Duration::from_secs(1),
            http2_prior_knowledge: false,
            root_certificates: Vec::new(),
            tls: false,
        };
        let mut tcp = HttpConnector::new_with_resolver(Two([dead, alive.local_addr().unwrap()]));
        wire.set_up(&mut tcp);
        let connecting = tcp.call(Uri::from_static("http://two.test"));
        let connected = tokio::select! {
            connected = connecting => connected,
            () = Clock::system().sleep(wire.connect_timeout * 10) => panic!("the first one has taken all of the time"),
        };
        assert!(connected.is_ok(), "{:?}", connected.err());
    }
}
