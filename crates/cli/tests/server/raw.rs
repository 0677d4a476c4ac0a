//! A server that answers as a test says, for what a good one never does.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// A server that gives everybody the same answer, or none. It lives as long as the test's process.
pub(crate) struct Raw {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl Raw {
    /// Answers everything with this status and body; with no status it never answers.
    pub(crate) fn start(status: Option<u16>, media_type: &'static str, body: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let asked: Arc<Mutex<Vec<String>>> = Arc::default();
        let seen = Arc::clone(&asked);
        std::thread::spawn(move || {
            // Those who get no answer are kept, so that their connections stay.
            let mut kept = Vec::new();
            for caller in listener.incoming() {
                let mut caller = caller.unwrap();
                seen.lock().unwrap().push(read(&caller));
                match status {
                    Some(status) => {
                        let length = body.len();
                        let head = format!(
                            "HTTP/1.1 {status} X\r\ncontent-type: {media_type}\r\ncontent-length: {length}"
                        );
                        let _ = write!(caller, "{head}\r\nconnection: close\r\n\r\n{body}");
                    }
                    None => kept.push(caller),
                }
            }
        });
        Self { address, asked }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// What was asked: the first line, and the body.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

fn read(caller: &TcpStream) -> String {
    let mut reader = BufReader::new(caller);
    let (mut first, mut length) = (String::new(), 0);
    reader.read_line(&mut first).unwrap();
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap();
        }
        if line.trim().is_empty() {
            break;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).unwrap();
    format!("{} {}", first.trim(), String::from_utf8(body).unwrap()).trim().to_owned()
}
