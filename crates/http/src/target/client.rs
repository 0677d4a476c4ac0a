//! The connections to a service.

use std::time::Duration;

use reqwest::{Client, redirect, retry};

/// Who calls, for the service's logs.
const USER_AGENT: &str = concat!("steadfast/", env!("CARGO_PKG_VERSION"));

/// The largest head of an answer over HTTP/2: what is kept of it is much less. Over HTTP/1 hyper takes a hundred headers.
const MAX_HTTP2_HEADERS: u32 = 32 * 1024;

/// How connections are made and kept. Targets that are the same in this share what they have.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Wire {
    pub(super) connect_timeout: Duration,
    pub(super) idle_connections: usize,
    pub(super) idle_for: Duration,
    pub(super) http2_prior_knowledge: bool,
    pub(super) root_certificates: Vec<u8>,
}

impl Wire {
    /// A client that does what it is told and nothing else: it follows no redirect, asks no proxy, keeps no cookie, unpacks
    /// nothing and tries nothing again.
    pub(super) fn client(&self) -> Result<Client, String> {
        let mut builder = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(redirect::Policy::none())
            .referer(false)
            .retry(retry::never())
            .no_proxy()
            .connect_timeout(self.connect_timeout)
            .pool_max_idle_per_host(self.idle_connections)
            .pool_idle_timeout(self.idle_for)
            .http2_max_header_list_size(MAX_HTTP2_HEADERS);
        if self.http2_prior_knowledge {
            builder = builder.http2_prior_knowledge();
        }
        #[cfg(feature = "tls")]
        {
            builder = self.with_tls(builder)?;
        }
        builder.build().map_err(|error| format!("it cannot be made: {}", causes(&error)))
    }

    #[cfg(feature = "tls")]
    fn with_tls(&self, builder: reqwest::ClientBuilder) -> Result<reqwest::ClientBuilder, String> {
        install_crypto();
        if self.root_certificates.is_empty() {
            return Ok(builder);
        }
        let unread = |why: &str| format!("the root certificates cannot be read ({why}): give them as PEM");
        match reqwest::Certificate::from_pem_bundle(&self.root_certificates) {
            Ok(certificates) if certificates.is_empty() => Err(unread("there is none")),
            Ok(certificates) => Ok(builder.tls_certs_merge(certificates)),
            Err(error) => Err(unread(&causes(&error))),
        }
    }
}

/// Has TLS use ring in this process, unless something else was chosen before. An agent does it by itself; a program that makes
/// other clients of `reqwest` before its first agent calls it first, because those would panic without.
#[cfg(feature = "tls")]
pub fn install_crypto() {
    if rustls::crypto::CryptoProvider::get_default().is_none() {
        // Somebody else may be quicker, which is as well.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
}

/// An error and what caused it, in one line.
fn causes(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        words = format!("{words}: {cause}");
        next = cause.source();
    }
    words
}
