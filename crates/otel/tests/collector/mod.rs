//! A collector: an HTTP server on loopback that decodes what it gets, and keeps it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceRequest;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use prost::Message as _;

#[derive(Default)]
pub(crate) struct Received {
    pub(crate) traces: Vec<ExportTraceServiceRequest>,
    pub(crate) metrics: Vec<ExportMetricsServiceRequest>,
}

pub(crate) struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Received>>,
    server: JoinHandle<()>,
}

impl Collector {
    pub(crate) fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let received: Arc<Mutex<Received>> = Arc::default();
        let server = std::thread::spawn({
            let received = Arc::clone(&received);
            move || {
                // One thread for each connection: a client may hold one open while it uses another.
                let mut connections = Vec::new();
                for stream in listener.incoming() {
                    let (stream, received) = (stream.unwrap(), Arc::clone(&received));
                    let mut first = [0];
                    if stream.peek(&mut first).unwrap_or(0) == 0 {
                        break; // `stop` connects and says nothing
                    }
                    connections.push(std::thread::spawn(move || serve(stream, &received)));
                }
                connections.into_iter().for_each(|connection| connection.join().unwrap());
            }
        });
        Self { address, received, server }
    }

    pub(crate) fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Ends the server; gives what came.
    pub(crate) fn stop(self) -> Received {
        drop(TcpStream::connect(self.address).unwrap());
        self.server.join().unwrap();
        std::mem::take(&mut self.received.lock().unwrap())
    }
}

/// Serves requests until the client closes.
fn serve(stream: TcpStream, received: &Mutex<Received>) {
    let mut reader = BufReader::new(stream.try_clone().unwrap());
    let mut stream = stream;
    loop {
        let mut head = Vec::new();
        loop {
            let mut line = String::new();
            if reader.read_line(&mut line).unwrap_or(0) == 0 {
                return;
            }
            match line.trim_end() {
                "" => break,
                line => head.push(line.to_ascii_lowercase()),
            }
        }
        let header = |name: &str| head.iter().find_map(|line| line.strip_prefix(name)).map(str::trim);
        assert_eq!(header("content-type:"), Some("application/x-protobuf"), "{head:?}");
        let length: usize = header("content-length:").unwrap().parse().unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let mut received = received.lock().unwrap();
        match head[0].split(' ').nth(1).unwrap() {
            "/v1/traces" => received.traces.push(ExportTraceServiceRequest::decode(&*body).unwrap()),
            "/v1/metrics" => received.metrics.push(ExportMetricsServiceRequest::decode(&*body).unwrap()),
            path => panic!("no such path: {path}"),
        }
        drop(received);
        let reply = "HTTP/1.1 200 OK\r\ncontent-type: application/x-protobuf\r\ncontent-length: 0\r\n\r\n";
        stream.write_all(reply.as_bytes()).unwrap();
    }
}
