//! Very many idle connections and event streams at once, and how much memory the server's process takes for them.

use serde_json::json;
use steadfast_client::wire::submit::Submit;

use crate::serving::{BINARY, Premises, Serving, program};
use crate::wire::Wire;

/// How many connections there are where nothing is said; `cargo xtask large` has 10 000, and a tenth as many streams.
const CONNECTIONS: usize = 1_000;
/// What the server's process may use with all of them, and with none: 400 MiB for 10 000 connections and 1 000 streams is promised.
const MOST_MEMORY: u64 = 400 << 20;
/// Files that a process may have open: a connection is one, and some are for others.
const FILES: usize = 500;

const WAITS: (&str, &str) =
    ("wait.yaml", "workflow: wait\nsteps: { approval: { wait_for_signal: approval } }\n");

/// How many files this process may have open. There is one for each of its ends of the connections.
fn may_open() -> usize {
    let limits = std::fs::read_to_string("/proc/self/limits").unwrap();
    let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
    line.split_whitespace().nth(3).unwrap().parse().unwrap_or(usize::MAX)
}

/// A server that may have as many files open as the system lets anybody.
fn open(premises: &Premises) -> Serving {
    let mut shell = program("sh");
    shell.args(["-c", "ulimit -S -n $(ulimit -H -n) && exec \"$@\"", "sh", BINARY, "serve", "--config"]);
    Serving::of(shell.arg(premises.path("steadfast.toml")))
}

/// F3: 10 000 idle connections and 1 000 event streams take less than 400 MiB.
#[tokio::test(flavor = "multi_thread")]
async fn thousands_of_idle_connections_and_streams_fit_into_little_memory() {
    let connections =
        std::env::var("STEADFAST_CONNECTIONS").map_or(CONNECTIONS, |text| text.parse().unwrap());
    let streams = connections / 10;
    let needed = connections + streams + FILES;
    assert!(may_open() >= needed, "this needs {needed} open files: ulimit -n {needed}");
    let premises = Premises::new("", &[WAITS]);
    let serving = open(&premises);
    let before = serving.memory();

    let mut idle = Vec::new();
    for _ in 0..connections {
        let mut wire = Wire::open(&serving).await;
        wire.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        wire.until(|text| text.ends_with("alive\n")).await;
        idle.push(wire);
    }
    let with_idle = serving.memory();
    let client = serving.client();
    let mut listening = Vec::new();
    for _ in 0..streams {
        let id = client.submit(&Submit::new("wait", json!(null))).await.unwrap().id;
        let mut wire = Wire::open(&serving).await;
        wire.send(format!("GET /api/v1/tasks/{id}/events HTTP/1.1\r\nhost: localhost\r\n\r\n")).await;
        wire.until(|text| text.contains("event: change")).await;
        listening.push((id, wire));
    }
    let with_all = serving.memory();
    eprintln!(
        "{} MiB alone, {} MiB with {connections} idle connections, {} MiB with {streams} streams as well",
        before >> 20,
        with_idle >> 20,
        with_all >> 20
    );
    assert!(with_all < MOST_MEMORY, "{with_all}");

    // They are all alive: the streams hear of their task, the connections are answered.
    for (id, wire) in &mut listening {
        let signal =
            steadfast_client::wire::submit::Signal { name: "approval".to_owned(), ..Default::default() };
        client.signal(id, &signal).await.unwrap();
        wire.until(|text| text.contains("event: end")).await;
    }
    for wire in &mut idle {
        wire.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        wire.until(|text| text.ends_with("alive\n")).await;
    }
    assert!(serving.memory() < MOST_MEMORY);
}
