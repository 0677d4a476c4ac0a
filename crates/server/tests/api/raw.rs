//! Bytes on the wire, as no client sends them.

use std::net::SocketAddr;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// An answer, head and body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn code(&self) -> String {
        let problem: Value = serde_json::from_str(&self.body).unwrap_or_default();
        problem["code"].as_str().unwrap_or_default().to_owned()
    }

    pub(crate) fn is_problem(&self) -> bool {
        self.head.contains("application/problem+json")
    }
}

/// A connection.
pub(crate) struct Wire(TcpStream);

impl Wire {
    pub(crate) async fn open(address: SocketAddr) -> Self {
        Self(TcpStream::connect(address).await.unwrap())
    }

    pub(crate) async fn send(&mut self, text: impl AsRef<[u8]>) {
        // A server that has answered and closed need not read the rest.
        let _ = self.0.write_all(text.as_ref()).await;
    }

    /// Says that no more comes, and leaves the other way open.
    pub(crate) async fn half_close(&mut self) {
        self.0.shutdown().await.unwrap();
    }

    /// Reads all until the server closes.
    pub(crate) async fn rest(mut self) -> String {
        let mut bytes = Vec::new();
        let _ = self.0.read_to_end(&mut bytes).await;
        String::from_utf8_lossy(&bytes).into_owned()
    }

    /// Reads until the text is as wanted.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        let mut part = [0; 4096];
        while !wanted(&text) {
            let read = self.0.read(&mut part).await.unwrap_or(0);
            assert!(read > 0, "the server closed after {text:?}");
            text += &String::from_utf8_lossy(&part[..read]);
        }
        text
    }

    /// Reads one answer with a length.
    pub(crate) async fn answer(&mut self) -> Answer {
        let mut bytes = Vec::new();
        let mut part = [0; 4096];
        loop {
            if let Some(answer) = whole(&bytes) {
                return answer;
            }
            let read = self.0.read(&mut part).await.unwrap_or(0);
            assert!(read > 0, "the server closed after {:?}", String::from_utf8_lossy(&bytes));
            bytes.extend_from_slice(&part[..read]);
        }
    }
}

fn whole(bytes: &[u8]) -> Option<Answer> {
    let text = String::from_utf8_lossy(bytes);
    let (head, body) = text.split_once("\r\n\r\n")?;
    let head = head.to_lowercase();
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let length: usize = length.map_or(0, |length| length.parse().unwrap());
    let status = head.split(' ').nth(1)?.parse().ok()?;
    (body.len() >= length).then(|| Answer { status, body: body[..length].to_owned(), head })
}

/// One request with a body, answered.
pub(crate) async fn ask(address: SocketAddr, method: &str, path: &str, headers: &str, body: &[u8]) -> Answer {
    let mut wire = Wire::open(address).await;
    let length = body.len();
    wire.send(format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}content-length: {length}\r\n\r\n"
    ))
    .await;
    wire.send(body).await;
    wire.answer().await
}

pub(crate) const JSON: &str = "content-type: application/json\r\n";
