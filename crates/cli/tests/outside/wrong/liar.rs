//! A service that lies: it sends without an end, names ten gigabytes, sends callers in circles, drips, and talks nonsense.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use steadfast_resilience::clock::Clock;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

/// How it lies, by the path that is asked for, and what a task that has called it says.
pub(super) const WAYS: &[(&str, &str)] = &[
    ("fine", "completed"),
    ("endless", "SF527"),
    ("ten-gigabytes", "SF527"),
    ("chunks", "SF527"),
    ("circle", "SF529"),
    ("endless-head", "SF53"),
    ("nonsense", "SF53"),
    ("short", "SF533"),
    ("no-json", "SF528"),
    ("deep-json", "SF528"),
    ("drips", "SF303"),
    ("teapot", "418"),
];

pub(super) struct Liar {
    address: SocketAddr,
    sent: Arc<AtomicU64>,
    server: tokio::task::JoinHandle<()>,
}

impl Liar {
    pub(super) async fn open() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, sent) = (listener.local_addr().unwrap(), Arc::new(AtomicU64::new(0)));
        let count = Arc::clone(&sent);
        let server = tokio::spawn(async move {
            while let Ok((caller, _)) = listener.accept().await {
                tokio::spawn(answer(caller, Arc::clone(&count)));
            }
        });
        Self { address, sent, server }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// How many bytes it got rid of.
    pub(super) fn sent(&self) -> u64 {
        self.sent.load(Ordering::SeqCst)
    }
}

impl Drop for Liar {
    fn drop(&mut self) {
        self.server.abort();
    }
}

/// One answer, whatever it is; then it closes.
async fn answer(mut caller: TcpStream, sent: Arc<AtomicU64>) {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        match caller.read_u8().await {
            Ok(byte) => head.push(byte),
            Err(_) => return,
        }
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let way = head.split(' ').nth(1).unwrap_or_default().trim_start_matches('/');
    let ok = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-type: application/json\r\n";
    let whole = |body: &str| format!("{ok}content-length: {}\r\n\r\n{body}", body.len());
    let (first, endless): (String, Vec<u8>) = match way {
        "endless" => (format!("{ok}\r\n"), vec![b' '; 64 << 10]),
        "ten-gigabytes" => (format!("{ok}content-length: 10000000000\r\n\r\n"), vec![b' '; 64 << 10]),
        "chunks" => {
            let chunk = [b"8000\r\n".to_vec(), vec![b' '; 0x8000], b"\r\n".to_vec()].concat();
            (format!("{ok}transfer-encoding: chunked\r\n\r\n"), chunk)
        }
        "endless-head" => {
            ("HTTP/1.1 200 OK\r\n".to_owned(), b"x-more: and more and more and more\r\n".to_vec())
        }
        "circle" => (
            format!(
                "HTTP/1.1 302 Found\r\nlocation: /{way}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"
            ),
            Vec::new(),
        ),
        "nonsense" => ("\u{16}\u{3}\u{1} I am no web service\r\n\r\n".to_owned(), Vec::new()),
        "short" => (format!("{ok}content-length: 100\r\n\r\n{{\"half\":"), Vec::new()),
        "no-json" => (whole("<html>"), Vec::new()),
        "deep-json" => (whole(&"[".repeat(1 << 20)), Vec::new()),
        "teapot" => {
            ("HTTP/1.1 418 X\r\ncontent-length: 0\r\nconnection: close\r\n\r\n".to_owned(), Vec::new())
        }
        "drips" => {
            let _ = caller.write_all(format!("{ok}content-length: 1000\r\n\r\n").as_bytes()).await;
            while caller.write_all(b" ").await.is_ok() {
                Clock::system().sleep(Duration::from_millis(50)).await;
            }
            return;
        }
        _ => (whole("{\"id\":\"7\"}"), Vec::new()),
    };
    let _ = caller.write_all(first.as_bytes()).await;
    while !endless.is_empty() && caller.write_all(&endless).await.is_ok() {
        sent.fetch_add(u64::try_from(endless.len()).unwrap(), Ordering::SeqCst);
    }
}
