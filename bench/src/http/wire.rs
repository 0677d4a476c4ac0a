//! HTTP/1.1 as all of this benchmark speaks it: connections that are kept, with no delay for small packets.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;

use anyhow::Result;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Body, Bytes, Incoming};
use hyper::client::conn::http1::{self, SendRequest};
use hyper::service::Service;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpStream};

/// A connection that is used again and again, by one request at a time.
pub(super) struct Line {
    sender: SendRequest<Full<Bytes>>,
    host: String,
}

/// What came back.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) says_when: bool,
    pub(super) body: Bytes,
}

impl Line {
    pub(super) async fn open(to: SocketAddr) -> Result<Self> {
        let stream = TcpStream::connect(to).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        // It ends with its sender, or when the server closes it; what goes wrong shows there.
        drop(tokio::spawn(connection));
        Ok(Self { sender, host: to.to_string() })
    }

    pub(super) async fn post(&mut self, path: &str, body: Bytes) -> Result<Answer> {
        self.ask(Request::post(path).header("content-type", "application/json"), body).await
    }

    pub(super) async fn get(&mut self, path: &str) -> Result<Answer> {
        self.ask(Request::get(path), Bytes::new()).await
    }

    async fn ask(&mut self, request: hyper::http::request::Builder, body: Bytes) -> Result<Answer> {
        let request = request.header("host", &self.host).body(Full::new(body))?;
        self.sender.ready().await?;
        let response = self.sender.send_request(request).await?;
        let (status, says_when) =
            (response.status().as_u16(), response.headers().contains_key("retry-after"));
        let body = response.into_body().collect().await?.to_bytes();
        Ok(Answer { status, says_when, body })
    }
}

/// Serves whoever comes.
pub(super) async fn serve<S, B>(listener: TcpListener, service: S) -> Result<()>
where
    S: Service<Request<Incoming>, Response = Response<B>, Error = Infallible> + Clone + Send + 'static,
    S::Future: Send,
    B: Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let builder = hyper::server::conn::http1::Builder::new();
        // A client that goes away is no news.
        drop(tokio::spawn(builder.serve_connection(TokioIo::new(stream), service.clone())));
    }
}
