//! A little web service that says yes to everything: what the steps of the world call.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::thread;

use anyhow::{Context, Result};

/// Enough for every workflow of the world: an id to undo by.
const ANSWER: &str = r#"{"id":"7"}"#;
/// No step sends more.
const MOST_BODY: u64 = 16 << 20;

/// Where it listens. It serves until this process ends.
pub(super) fn start() -> Result<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0").context("cannot open a port of this machine")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            // A caller that goes away in the middle is no news.
            thread::spawn(move || drop(serve(&caller)));
        }
    });
    Ok(address)
}

fn serve(mut caller: &TcpStream) -> io::Result<()> {
    caller.set_nodelay(true)?;
    let mut reader = BufReader::new(caller.try_clone()?);
    while let Some(length) = head(&mut reader)? {
        io::copy(&mut reader.by_ref().take(length.min(MOST_BODY)), &mut io::sink())?;
        let length = ANSWER.len();
        let head = format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {length}");
        // In one piece: each is a packet of its own.
        caller.write_all(format!("{head}\r\n\r\n{ANSWER}").as_bytes())?;
    }
    Ok(())
}

/// Reads to the end of a head: how many bytes follow. `None` when there is no more.
fn head(reader: &mut impl BufRead) -> io::Result<Option<u64>> {
    let mut length = 0;
    for number in 0.. {
        let mut line = String::new();
        if reader.read_line(&mut line)? == 0 {
            return Ok(None);
        }
        if number > 0 && line.trim().is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':')
            && name.eq_ignore_ascii_case("content-length")
        {
            length = value.trim().parse().map_err(io::Error::other)?;
        }
    }
    Ok(Some(length))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_answers_one_after_another_on_one_connection() {
        let mut caller = TcpStream::connect(start().unwrap()).unwrap();
        for _ in 0..2 {
            caller.write_all(b"POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc").unwrap();
            let mut answer = Vec::new();
            while !answer.ends_with(ANSWER.as_bytes()) {
                let mut byte = [0];
                caller.read_exact(&mut byte).unwrap();
                answer.extend(byte);
            }
            assert!(answer.starts_with(b"HTTP/1.1 200 OK\r\n"));
        }
    }

    #[test]
    fn a_head_says_how_much_follows() {
        let read = |text: &str| head(&mut text.as_bytes()).unwrap();
        assert_eq!(read("GET / HTTP/1.1\r\n\r\n"), Some(0));
        assert_eq!(read("GET / HTTP/1.1\r\ncontent-LENGTH: 12\r\n\r\n"), Some(12));
        assert_eq!(read(""), None);
    }
}
