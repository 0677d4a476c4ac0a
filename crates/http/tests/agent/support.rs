//! What all tests need: calls, agents, and services that speak raw bytes.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use steadfast_http::{Agent as _, Call, Expect, HttpAgent, NoSecret, Reply, Secret, Secrets, Target};
use steadfast_resilience::{Attempt, Effect, IdempotencyKey, Kind, Pipeline};
use steadfast_runtime::Fault;
use steadfast_store::TaskId;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// Long enough for loopback on a busy machine.
pub(crate) const LONG: Duration = Duration::from_secs(20);

/// An attempt with this much time.
pub(crate) fn attempt(left: Duration) -> Attempt {
    let pipeline = Pipeline::builder("attempt").attempt_timeout(left).build().unwrap();
    pipeline.run_blocking(Ok::<_, Infallible>).unwrap()
}

/// A call to service `pay`, with nothing special about it.
pub(crate) fn call(method: &str, path: &str) -> Call {
    Call {
        service: "pay".into(),
        operation: "charge".into(),
        method: method.into(),
        path: path.into(),
        query: Vec::new(),
        headers: Vec::new(),
        body: None,
        expect: Expect::default(),
        key: IdempotencyKey::from_u128(0xabc),
        task: TaskId::from_u128(7),
        step: "charge".into(),
        undo: false,
        attempt: attempt(LONG),
        number: 3,
        callback: None,
        trace: None,
    }
}

pub(crate) fn agent(target: Target) -> HttpAgent {
    HttpAgent::builder().secrets(Drawer).target("pay", target).build().unwrap()
}

pub(crate) async fn get(url: &str) -> Result<Reply, Fault> {
    agent(Target::new(url)).call(call("GET", "/")).await
}

/// Why a call failed: its kind, whether it may have had an effect, and its words.
pub(crate) fn why(answered: Result<Reply, Fault>) -> (Kind, Effect, String) {
    let fault = answered.expect_err("a fault");
    (fault.verdict.kind(), fault.verdict.effect(), fault.message)
}

/// A few secrets.
pub(crate) struct Drawer;

pub(crate) const TOKEN: &str = "t0ken/with \"quotes\" & more";
pub(crate) const PASSWORD: &str = "hunter22hunter22";

impl Secrets for Drawer {
    fn get(&self, name: &str) -> Result<Secret, NoSecret> {
        match name {
            "token" => Ok(Secret::new(TOKEN)),
            "password" => Ok(Secret::new(PASSWORD)),
            "lines" => Ok(Secret::new("first line\nsecond line")),
            _ => Err(NoSecret::new("the drawer does not have it")),
        }
    }
}

/// A service that does with each connection what a test says. It stops when it is dropped.
pub(crate) struct Raw {
    address: SocketAddr,
    connections: Arc<AtomicUsize>,
    accepting: AbortHandle,
}

impl Raw {
    pub(crate) async fn start<F, Fut>(serve: F) -> Self
    where
        F: Fn(TcpStream) -> Fut + Send + 'static,
        Fut: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let connections = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&connections);
        let accepting = tokio::spawn(async move {
            let mut open = JoinSet::new();
            while let Ok((stream, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                open.spawn(serve(stream));
            }
        });
        Self { address, connections, accepting: accepting.abort_handle() }
    }

    /// Answers the first request of each connection with these bytes, and closes it.
    pub(crate) async fn answering(bytes: impl Into<Vec<u8>>) -> Self {
        let bytes: Arc<[u8]> = bytes.into().into();
        Self::start(move |mut stream| {
            let bytes = Arc::clone(&bytes);
            async move {
                read_request(&mut stream).await;
                let _ = stream.write_all(&bytes).await;
            }
        })
        .await
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    pub(crate) fn connections(&self) -> usize {
        self.connections.load(Ordering::SeqCst)
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

/// One request, head and body; empty when the other side is gone.
pub(crate) async fn read_request(stream: &mut TcpStream) -> String {
    let mut request = Vec::new();
    loop {
        if let Some(head) = request.windows(4).position(|window| window == b"\r\n\r\n") {
            let text = String::from_utf8_lossy(&request[..head]).to_lowercase();
            let size = text.lines().find_map(|line| line.strip_prefix("content-length: ")?.parse().ok());
            if request.len() >= head + 4 + size.unwrap_or(0) {
                return String::from_utf8(request).unwrap();
            }
        }
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes).await {
            Ok(0) | Err(_) => return String::new(),
            Ok(read) => request.extend_from_slice(&bytes[..read]),
        }
    }
}

/// An answer on the wire, whose size is named.
pub(crate) fn answer(status: u16, headers: &str, body: &str) -> String {
    format!("HTTP/1.1 {status} X\r\n{headers}content-length: {}\r\n\r\n{body}", body.len())
}
