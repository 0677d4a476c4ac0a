//! A client of a small stock service, complete: its errors classified, a breaker and a retry budget for each host, a
//! deadline for each question, and the last good answer while the service is away.
//!
//! `cargo run -p steadfast-resilience --example client`

use std::fmt;
use std::io::{self, BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use steadfast_resilience::breaker::Registry;
use steadfast_resilience::retry::Budget;
use steadfast_resilience::{Attempt, Breaker, Classify, Error, Kind, LastGood, Pipeline, Retry, Verdict};

/// What can go wrong when one asks the service.
#[derive(Debug)]
enum StockError {
    /// The network: `std::io::Error` already knows what it means.
    Network(io::Error),
    /// The service has too much to do.
    Busy,
    /// There is no such thing: an answer, and no retry changes it.
    Unknown(String),
}

impl Classify for StockError {
    fn classify(&self) -> Verdict {
        match self {
            Self::Network(error) => error.classify(),
            Self::Busy => Verdict::transient(Kind::OVERLOADED).without_effect(),
            Self::Unknown(_) => Verdict::terminal(Kind::NOT_FOUND),
        }
    }

    fn message(&self) -> Option<String> {
        Some(self.to_string())
    }
}

impl fmt::Display for StockError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Network(error) => write!(f, "network: {error}"),
            Self::Busy => f.write_str("the service is busy"),
            Self::Unknown(thing) => write!(f, "no such thing: {thing}"),
        }
    }
}

impl std::error::Error for StockError {}

/// One pipeline for the service; each of its hosts has a breaker and a budget of its own.
struct Stock {
    pipeline: Pipeline,
    hosts: Registry,
    last: LastGood<u32>,
}

impl Stock {
    fn new() -> Result<Self, steadfast_resilience::BuildError> {
        let pipeline = Pipeline::builder("stock")
            .retry(Retry::interactive())
            .attempt_timeout(Duration::from_millis(500))
            .complete_within(Duration::from_secs(2))
            .no_breaker()
            .build()?;
        let hosts = Registry::builder(Breaker::consecutive(3).open_for(Duration::from_secs(1)))
            .budget(Budget::share(0.1))
            .build("stock")?;
        Ok(Self { pipeline, hosts, last: LastGood::new() })
    }

    /// How many there are; while the service is away, how many there were.
    fn count(&self, host: SocketAddr, thing: &str) -> Result<u32, Error<StockError>> {
        let count = self
            .pipeline
            .call()
            .named("count")
            .breaker(&self.hosts.get(&host.to_string()))
            .fallback(|error| self.last.get().map(|count| *count).ok_or(error))
            .run_blocking(|attempt| ask(host, thing, attempt))?;
        self.last.set(count);
        Ok(count)
    }
}

/// One attempt, within its time.
fn ask(host: SocketAddr, thing: &str, attempt: Attempt) -> Result<u32, StockError> {
    let limit = attempt.time_left().unwrap_or(Duration::from_secs(1));
    let mut stream = TcpStream::connect_timeout(&host, limit).map_err(StockError::Network)?;
    stream.set_read_timeout(Some(limit)).map_err(StockError::Network)?;
    writeln!(stream, "{thing}").map_err(StockError::Network)?;
    let mut answer = String::new();
    BufReader::new(stream).read_line(&mut answer).map_err(StockError::Network)?;
    match answer.trim() {
        "busy" => Err(StockError::Busy),
        "unknown" => Err(StockError::Unknown(thing.to_owned())),
        count => {
            count.parse().map_err(|_| StockError::Network(io::Error::from(io::ErrorKind::UnexpectedEof)))
        }
    }
}

/// The service: busy at its first call, dead after its third.
fn serve(listener: &TcpListener, calls: &AtomicU32) -> io::Result<()> {
    for stream in listener.incoming() {
        let mut stream = stream?;
        let mut thing = String::new();
        BufReader::new(&stream).read_line(&mut thing)?;
        let answer = match (calls.fetch_add(1, Ordering::Relaxed), thing.trim()) {
            (0, _) => "busy",
            (3.., _) => return Ok(()),
            (_, "apples") => "7",
            _ => "unknown",
        };
        writeln!(stream, "{answer}")?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let host = listener.local_addr()?;
    let calls = Arc::new(AtomicU32::new(0));
    let service = std::thread::spawn({
        let calls = Arc::clone(&calls);
        move || serve(&listener, &calls)
    });

    let stock = Stock::new()?;
    println!("apples: {} (after {} calls)", stock.count(host, "apples")?, calls.load(Ordering::Relaxed));
    if let Err(error) = stock.count(host, "dragons") {
        println!("dragons: {error}");
    }
    for _ in 0..3 {
        println!("apples, as it was: {}", stock.count(host, "apples")?);
    }
    println!("{:?}", stock.hosts.get(&host.to_string()));
    service.join().map_err(|_| "the service panicked")??;
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_example_runs() {
        super::main().unwrap();
    }
}
