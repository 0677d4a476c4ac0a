//! What is behind a proxy: asked over a connection of its own for each request, so that no fault of one reaches another.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use http_body_util::{BodyExt as _, Limited};
use hyper::body::Incoming;
use hyper::client::conn::http1;
use hyper::header::{
    CONNECTION, CONTENT_LENGTH, HeaderMap, HeaderName, PROXY_AUTHENTICATE, PROXY_AUTHORIZATION, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;

use super::MAX_BODY;
use super::body::{BoxError, Outgoing, Passing};
use crate::ledger::Taker;
use crate::script::{Answer, Body};

/// Why there is no answer to pass on.
pub(super) enum Trouble {
    /// The caller broke off in the middle of its request.
    CallerLeft,
    Upstream(BoxError),
}

impl<E: Into<BoxError>> From<E> for Trouble {
    fn from(error: E) -> Self {
        Self::Upstream(error.into())
    }
}

/// Passes a request on and waits for the head of the answer.
pub(super) async fn ask(
    incoming: Request<Incoming>,
    upstream: SocketAddr,
    taker: Taker,
) -> Result<Response<Incoming>, Trouble> {
    let stream = TcpStream::connect(upstream).await?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    // It ends with the answer's body, or when that is dropped. What goes wrong shows there.
    drop(tokio::spawn(connection));
    let broke_off = Arc::new(AtomicBool::new(false));
    let mut request = incoming.map(|body| Passing::new(body, taker, Arc::clone(&broke_off)));
    strip(request.headers_mut());
    let mut response = match sender.send_request(request).await {
        Ok(response) => response,
        Err(_) if broke_off.load(Ordering::Acquire) => return Err(Trouble::CallerLeft),
        Err(error) => return Err(error.into()),
    };
    strip(response.headers_mut());
    Ok(response)
}

/// The answer with the body that a script wants, as long as that can be read.
pub(super) async fn with_body_of(
    answer: &Answer,
    response: Response<Incoming>,
) -> Result<Response<Outgoing>, Trouble> {
    if let Body::Same = answer.body {
        return Ok(response.map(Outgoing::passing));
    }
    let (mut head, body) = response.into_parts();
    // The length was the other body's.
    head.headers.remove(CONTENT_LENGTH);
    let body = match &answer.body {
        Body::Changed(change) => change(&Limited::new(body, MAX_BODY).collect().await?.to_bytes()),
        _ => answer.body_of(&[]),
    };
    Ok(Response::from_parts(head, Outgoing::whole(body)))
}

/// Takes out what is between two neighbours only, by RFC 9110, section 7.6.1. Upgrades are not passed on.
fn strip(headers: &mut HeaderMap) {
    let named: Vec<HeaderName> = headers
        .get_all(CONNECTION)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|names| names.split(','))
        .filter_map(|name| name.trim().parse().ok())
        .collect();
    const BETWEEN: [HeaderName; 8] = [
        CONNECTION,
        PROXY_AUTHENTICATE,
        PROXY_AUTHORIZATION,
        TE,
        TRAILER,
        TRANSFER_ENCODING,
        UPGRADE,
        HeaderName::from_static("keep-alive"),
    ];
    for name in BETWEEN.into_iter().chain(named) {
        headers.remove(name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_between_neighbours_is_not_passed_on() {
        let mut headers = HeaderMap::new();
        for (name, value) in [
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("transfer-encoding", "chunked"),
            ("keep-alive", "5"),
            ("x-fault", "on"),
            ("content-length", "3"),
        ] {
            headers.insert(name, value.parse().unwrap());
        }
        strip(&mut headers);
        let mut left: Vec<_> = headers.keys().map(HeaderName::as_str).collect();
        left.sort_unstable();
        assert_eq!(left, ["content-length", "x-fault"]);
    }
}
