//! A plain HTTP/1.1 client over TCP, written apart from the server that it tests.
#![allow(dead_code, reason = "each test binary uses a part of it")]

use std::io;
use std::net::SocketAddr;

use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

pub(crate) struct Client(BufReader<TcpStream>);

/// An answer, as far as it came.
#[derive(Debug, Default)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
    /// All of the body that was promised came.
    pub(crate) is_whole: bool,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|header| header.0 == name).map(|header| header.1.as_str())
    }
}

impl Client {
    pub(crate) async fn connect(address: SocketAddr) -> io::Result<Self> {
        Ok(Self(BufReader::new(TcpStream::connect(address).await?)))
    }

    pub(crate) async fn send(&mut self, text: &str) -> io::Result<()> {
        self.0.write_all(text.as_bytes()).await
    }

    /// Sends a request without a body.
    pub(crate) async fn ask(&mut self, line: &str, headers: &[&str]) -> io::Result<()> {
        let headers: String = headers.iter().map(|header| format!("{header}\r\n")).collect();
        self.send(&format!("{line} HTTP/1.1\r\nhost: here\r\n{headers}\r\n")).await
    }

    /// The next answer; nothing if the connection ends before one.
    pub(crate) async fn receive(&mut self) -> Option<Got> {
        self.receive_to("GET").await
    }

    /// The next answer to a request of this method: one to `HEAD` has no body, whatever it promises.
    pub(crate) async fn receive_to(&mut self, method: &str) -> Option<Got> {
        let first = self.line().await?;
        let status = first.split(' ').nth(1)?.parse().ok()?;
        let mut got = Got { status, ..Got::default() };
        loop {
            let line = self.line().await?;
            let Some((name, value)) = line.split_once(':') else { break };
            got.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
        let length = got.header("content-length").and_then(|length| length.parse().ok());
        let body = match length {
            _ if method == "HEAD" || status == 204 => Some(Vec::new()),
            Some(length) => self.bytes(length, &mut got).await,
            None => self.chunks(&mut got).await,
        };
        got.is_whole = body.is_some();
        got.body += &String::from_utf8_lossy(&body.unwrap_or_default());
        Some(got)
    }

    /// Whether the server has closed the connection. Waits until it says something or closes.
    pub(crate) async fn is_closed(&mut self) -> bool {
        self.0.read_u8().await.is_err()
    }

    async fn line(&mut self) -> Option<String> {
        let mut line = String::new();
        self.0.read_line(&mut line).await.ok()?;
        Some(line.strip_suffix("\r\n")?.to_owned())
    }

    /// That many bytes; what came of them goes to `got` if they end early.
    async fn bytes(&mut self, length: usize, got: &mut Got) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        (&mut self.0).take(length as u64).read_to_end(&mut body).await.ok()?;
        if body.len() == length {
            return Some(body);
        }
        got.body = String::from_utf8_lossy(&body).into_owned();
        None
    }

    async fn chunks(&mut self, got: &mut Got) -> Option<Vec<u8>> {
        let mut body = Vec::new();
        loop {
            let size = usize::from_str_radix(self.line().await?.trim(), 16).ok()?;
            let chunk = self.bytes(size, got).await?;
            self.line().await?;
            if size == 0 {
                return Some(body);
            }
            body.extend(chunk);
        }
    }
}

/// One request on a connection of its own; nothing if it was closed without an answer.
pub(crate) async fn get(address: SocketAddr, path: &str, headers: &[&str]) -> Option<Got> {
    let mut client = Client::connect(address).await.ok()?;
    client.ask(&format!("GET {path}"), headers).await.ok()?;
    client.receive().await
}
