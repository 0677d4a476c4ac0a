//! A small HTTP/1.1 server: one request for each connection, answered by a script, and kept in a ledger.

use std::io;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;

/// A request as it came in.
#[derive(Clone, Debug)]
pub(crate) struct Received {
    pub(crate) line: String,
    headers: Vec<(String, String)>,
    pub(crate) body: String,
}

impl Received {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| &**value)
    }
}

/// What the server does with a request.
#[derive(Clone, Debug)]
pub(crate) enum Reply {
    Status(u16, Vec<(&'static str, String)>, String),
    /// Never answers.
    Hang,
    /// Closes the connection in the middle of the answer's head.
    BreakOff,
    /// Closes it in the middle of a JSON body.
    BreakOffInBody,
}

impl Reply {
    pub(crate) fn status(status: u16) -> Self {
        Self::Status(status, Vec::new(), String::new())
    }

    pub(crate) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        if let Self::Status(_, headers, _) = &mut self {
            headers.push((name, value.into()));
        }
        self
    }

    pub(crate) fn body(mut self, text: impl Into<String>) -> Self {
        if let Self::Status(_, _, body) = &mut self {
            *body = text.into();
        }
        self
    }

    pub(crate) fn json(status: u16, text: impl Into<String>) -> Self {
        Self::status(status).header("content-type", "application/json; charset=utf-8").body(text)
    }
}

type Ledger = Arc<Mutex<Vec<Received>>>;

/// Stops when it is dropped.
pub(crate) struct Server {
    address: String,
    ledger: Ledger,
    task: JoinHandle<()>,
}

impl Drop for Server {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Server {
    /// Answers the n-th request with the n-th reply, and all that follow with the last one.
    pub(crate) async fn start(replies: impl Into<Vec<Reply>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let ledger = Ledger::default();
        let task = tokio::spawn(serve(listener, replies.into(), Arc::clone(&ledger)));
        Self { address, ledger, task }
    }

    pub(crate) fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub(crate) fn received(&self) -> Vec<Received> {
        self.ledger.lock().unwrap().clone()
    }

    pub(crate) fn count(&self) -> usize {
        self.received().len()
    }
}

/// An address where nobody listens.
pub(crate) async fn nobody() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    format!("http://{}/", listener.local_addr().unwrap())
}

async fn serve(listener: TcpListener, replies: Vec<Reply>, ledger: Ledger) {
    let mut hanging = Vec::new();
    while let Ok((mut stream, _)) = listener.accept().await {
        let Ok(received) = receive(&mut stream).await else { continue };
        let number = {
            let mut ledger = ledger.lock().unwrap();
            ledger.push(received);
            ledger.len() - 1
        };
        match replies.get(number).or_else(|| replies.last()).cloned().unwrap_or(Reply::Hang) {
            Reply::Hang => hanging.push(stream),
            Reply::BreakOff => drop(stream.write_all(b"HTTP/1.1 200 O").await),
            Reply::BreakOffInBody => {
                let head =
                    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{";
                drop(stream.write_all(head.as_bytes()).await);
            }
            Reply::Status(status, headers, body) => drop(answer(&mut stream, status, &headers, &body).await),
        }
    }
}

async fn answer(
    stream: &mut TcpStream,
    status: u16,
    headers: &[(&str, String)],
    body: &str,
) -> io::Result<()> {
    let headers: String = headers.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    let length = body.len();
    let head =
        format!("HTTP/1.1 {status} .\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body.as_bytes()).await?;
    stream.shutdown().await
}

/// Reads a request to its end: by its length, or to the last chunk.
async fn receive(stream: &mut TcpStream) -> io::Result<Received> {
    let mut bytes = Vec::new();
    loop {
        if stream.read_buf(&mut bytes).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        let text = String::from_utf8_lossy(&bytes);
        let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
        let mut lines = head.lines();
        let line = lines.next().unwrap_or_default().to_owned();
        let headers: Vec<_> = lines
            .filter_map(|line| line.split_once(": "))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.to_owned()))
            .collect();
        let received = Received { line, headers, body: body.to_owned() };
        let complete = match received.header("transfer-encoding") {
            Some(_) => body.ends_with("0\r\n\r\n"),
            None => {
                let length = received.header("content-length").map_or(Ok(0), str::parse);
                length.is_ok_and(|length: usize| body.len() >= length)
            }
        };
        if complete {
            return Ok(received);
        }
    }
}
