//! Bytes on the wire, as no client sends them.

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::serving::Serving;

/// A connection.
pub(crate) struct Wire(TcpStream);

/// An answer: its status, the code of its problem, and its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) body: String,
}

impl Wire {
    pub(crate) async fn open(serving: &Serving) -> Self {
        Self(TcpStream::connect(serving.url.strip_prefix("http://").unwrap()).await.unwrap())
    }

    /// A server that has answered and closed need not read the rest.
    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        let _ = self.0.write_all(bytes.as_ref()).await;
    }

    /// Says that no more comes, and leaves the other way open.
    pub(crate) async fn half_close(&mut self) {
        let _ = self.0.shutdown().await;
    }

    /// Reads until the text is as wanted.
    pub(crate) async fn until(&mut self, wanted: impl Fn(&str) -> bool) -> String {
        let mut text = String::new();
        let mut part = [0; 1024];
        while !wanted(&text) {
            let read = self.0.read(&mut part).await.unwrap_or(0);
            assert!(read > 0, "the server closed after {text:?}");
            text += &String::from_utf8_lossy(&part[..read]);
        }
        text
    }

    /// Reads all until the server closes.
    pub(crate) async fn rest(&mut self) -> Answer {
        let mut bytes = Vec::new();
        let _ = self.0.read_to_end(&mut bytes).await;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let status = text.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        let body = text.split_once("\r\n\r\n").map(|(_, body)| body.to_owned()).unwrap_or_default();
        let problem: serde_json::Value = serde_json::from_str(&body).unwrap_or_default();
        Answer { status, code: problem["code"].as_str().unwrap_or_default().to_owned(), body }
    }
}

/// One request with a body, answered.
pub(crate) async fn ask(serving: &Serving, method: &str, path: &str, media: &str, body: &[u8]) -> Answer {
    let mut wire = Wire::open(serving).await;
    let length = body.len();
    wire.send(format!(
        "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: {media}\r\ncontent-length: {length}\r\n\r\n"
    ))
    .await;
    wire.send(body).await;
    wire.rest().await
}
