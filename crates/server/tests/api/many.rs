//! Very many connections and streams, held at once.

use serde_json::json;
use steadfast_client::wire::submit::Submit;

use crate::raw::Wire;
use crate::world::World;

/// Both ends are in this process, and most systems allow 20 000 open files.
const CONNECTIONS: usize = 8_500;
const STREAMS: usize = 1_000;
/// What the whole process may use, with the test's own ends of all connections. It is promised for 10 000, without them.
const MOST_MEMORY: usize = 340 << 20;

/// The memory of this process, in bytes.
fn memory() -> usize {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<usize>().unwrap() << 10
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "needs 19 500 open files: ulimit -n 20000"]
async fn thousands_of_idle_connections_and_streams_fit() {
    let world = World::start().await;
    let before = memory();
    let mut idle = Vec::new();
    for _ in 0..CONNECTIONS {
        let mut wire = Wire::open(world.address).await;
        wire.send("GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").await;
        assert_eq!(wire.answer().await.status, 200);
        idle.push(wire);
    }
    let id = world.client.submit(&Submit::new("approve", json!(null))).await.unwrap().id;
    let mut streams = Vec::new();
    for _ in 0..STREAMS {
        let mut wire = Wire::open(world.address).await;
        wire.send(format!("GET /api/v1/tasks/{id}/events HTTP/1.1\r\nhost: x\r\n\r\n")).await;
        wire.until(|text| text.contains("event: change")).await;
        streams.push(wire);
    }
    let used = memory();
    eprintln!("{} MiB before, {} MiB with all of them", before >> 20, used >> 20);
    assert!(used < MOST_MEMORY, "{used}");
    drop((idle, streams));
    world.end().await;
}
