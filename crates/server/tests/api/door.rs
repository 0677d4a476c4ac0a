//! The door: who may listen where, and how it closes.

use std::time::Duration;

use serde_json::json;
use steadfast_client::Kind;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;
use steadfast_server::{Limits, check_address};

use crate::raw::Wire;
use crate::world::World;

#[test]
fn only_this_machine_is_listened_to() {
    for near in ["127.0.0.1:80", "127.8.9.10:80", "[::1]:80"] {
        check_address(near.parse().unwrap()).unwrap();
    }
    for far in ["0.0.0.0:80", "[::]:80", "10.0.0.1:80", "192.168.1.1:80", "[::ffff:8.8.8.8]:80"] {
        let refused = check_address(far.parse().unwrap()).unwrap_err().to_string();
        assert!(
            refused.contains(far.split(":80").next().unwrap()) && refused.ends_with("[SF551]"),
            "{refused}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_under_way_ends_before_the_door_is_shut() {
    let world = World::start().await;
    let mut wire = Wire::open(world.address).await;
    wire.send("POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 20\r\n\r\n").await;
    wire.until(|text| text.contains("100 Continue")).await;
    world.stop.send(true).unwrap();
    wire.send(r#"{"workflow": "echo"}"#).await;
    let answer = wire.answer().await;
    assert_eq!(answer.status, 202, "{answer:?}");
    world.door.await.unwrap().unwrap();
    // Nobody listens any more.
    let gone = world.client.is_alive().await.unwrap_err();
    assert_eq!(gone.kind(), Kind::Unreachable, "{gone}");
    world.engine.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn those_who_wait_are_told_when_the_server_ends() {
    let world = World::start().await;
    let client = world.client.clone();
    let waiting = tokio::spawn(async move {
        client.submit_and_wait(&Submit::new("approve", json!(1)), Duration::from_secs(30)).await
    });
    while world.engine.tasks().await.unwrap().tasks.is_empty() {
        tokio::task::yield_now().await;
    }
    world.stop.send(true).unwrap();
    let told = waiting.await.unwrap().unwrap();
    assert_eq!(told.outcome, None, "it is stored, and goes on later");
    world.door.await.unwrap().unwrap();
    world.engine.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_than_the_grace_is_cut_off() {
    let mut limits = Limits::default();
    limits.grace = Duration::from_millis(50);
    let world = World::with(limits).await;
    let mut wire = Wire::open(world.address).await;
    wire.send("POST /api/v1/tasks HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\nexpect: 100-continue\r\ncontent-length: 20\r\n\r\n").await;
    wire.until(|text| text.contains("100 Continue")).await;
    world.stop.send(true).unwrap();
    world.door.await.unwrap().unwrap();
    assert_eq!(wire.rest().await, "", "its connection is closed");
    world.engine.shut_down().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_are_used_again_and_idle_ones_are_cheap() {
    let world = World::start().await;
    let mut idle = Vec::new();
    for _ in 0..200 {
        let mut wire = Wire::open(world.address).await;
        wire.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert_eq!(wire.answer().await.status, 200);
        idle.push(wire);
    }
    let ended =
        world.client.submit_and_wait(&Submit::new("echo", json!(1)), Duration::from_secs(30)).await.unwrap();
    assert_eq!(ended.outcome.unwrap().state, TaskState::Completed);
    for wire in &mut idle {
        wire.send("GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
        assert_eq!(wire.answer().await.body, "alive\n");
    }
    // Nothing of it holds the end up.
    world.end().await;
}
