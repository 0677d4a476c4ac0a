//! Services, breakers, policies, schedules, the store.

use serde_json::json;
use steadfast_client::wire::state::TaskState;

use crate::raw::Raw;
use crate::snapshot;
use crate::world::{World, alone};

#[test]
fn services_are_listed_and_shown() {
    let world = World::start();
    world.task("place-order", json!({}), TaskState::Completed);
    snapshot::check("service-list", &world.run(&["service", "list"]).well());
    snapshot::check("service-show", &world.run(&["service", "show", "payments"]).well());
    assert_eq!(world.run(&["service", "show", "payments", "--json"]).json()["name"], "payments");
    world.run(&["service", "show", "paymnts"]).badly(1, "[SF");
}

#[test]
fn a_breaker_is_held_open_and_what_needs_it_says_so() {
    let world = World::start();
    let open = ["breaker", "open", "payments", "--for", "10m", "--because", "provider maintenance"];
    let opened = world.run(&open).well();
    assert!(opened.contains("forced_open") && opened.contains("ana@shop: provider maintenance"), "{opened}");
    let id = world.task("charge", json!({ "good": true }), TaskState::Waiting);
    let why = world.run(&["task", "why", &id]).well();
    assert!(why.contains("payments") && why.contains("charge"), "{why}");
    let parked = world.run(&["task", "list", "--parked-on", "payments", "--json"]).json();
    assert_eq!(parked["tasks"][0]["id"], json!(id));
    let listed = world.run(&["breaker", "list"]).well();
    assert!(listed.contains("payments") && listed.contains("forced_open"), "{listed}");
    world.run(&["breaker", "reset", "payments", "--because", "maintenance is over"]).well();
    world.reach(&id, TaskState::Completed);
}

#[test]
fn a_breaker_is_set_by_hand_each_way() {
    let world = World::start();
    let set = |verb: &str| world.run(&["breaker", verb, "payments", "--because", "ticket 311", "--json"]);
    assert_eq!(set("close").json()["state"], "forced_closed");
    set("probe").badly(1, "only one that is open has something to find out");
    assert_eq!(set("open").json()["state"], "forced_open");
    assert_eq!(set("probe").json()["state"], "half_open");
    assert_eq!(set("half-open").json()["state"], "half_open");
    assert_eq!(set("reset").json()["state"], "closed");
    let shown = world.run(&["breaker", "show", "payments"]).well();
    assert!(shown.starts_with("service") && shown.contains("in the window"), "{shown}");
    world.run(&["breaker", "open", "payments"]).badly(2, "--because <WHY>");
    world.run(&["breaker", "open", "payments", "--for", "soon", "--because", "x"]).badly(2, "units are");
    world.run(&["breaker", "show", "paymnts"]).badly(1, "[SF");
}

#[test]
fn policies_in_force_are_listed() {
    let world = World::start();
    snapshot::check("policy-list", &world.run(&["policy", "list"]).well());
    assert_eq!(world.run(&["policy", "list", "--json"]).json()["policies"][0]["name"], "patient");
}

#[test]
fn a_schedule_is_set_paused_resumed_and_removed() {
    let world = World::start();
    let set = [
        "schedule",
        "set",
        "books",
        "place-order",
        "--when",
        "30 2 * * MON-FRI",
        "--zone",
        "UTC",
        "--overlap",
        "skip",
        "--missed",
        "3",
        "--input",
        "{}",
        "--jitter",
        "5m",
    ];
    assert_eq!(world.run(&set).well(), "schedule `books` is new\n");
    assert_eq!(world.run(&set).well(), "schedule `books` was declared so before\n");
    assert_eq!(
        world.run(&[&set[..], &["--namespace", "shop"]].concat()).well(),
        "schedule `books` is changed\n"
    );
    assert_eq!(
        world.run(&["schedule", "pause", "books", "--because", "ticket 311"]).well(),
        "schedule `books` is paused\n"
    );
    assert_eq!(
        world.run(&["schedule", "pause", "books", "--because", "ticket 311"]).well(),
        "schedule `books` was paused before\n"
    );
    let all = world.run(&["schedule", "list"]).well();
    assert!(all.contains("30 2 * * MON-FRI") && all.contains("paused since"), "{all}");
    assert_eq!(
        world.run(&["schedule", "resume", "books", "--because", "ticket 311"]).well(),
        "schedule `books` is resumed\n"
    );
    assert_eq!(
        world.run(&["schedule", "remove", "books", "--because", "ticket 311"]).well(),
        "schedule `books` is removed\n"
    );
    world.run(&["schedule", "pause", "books", "--because", "ticket 311"]).badly(1, "[SF");
    world.run(&["schedule", "set", "x", "place-order", "--when", "whenever"]).badly(1, "[SF");
    world.run(&["schedule", "set", "x", "place-order"]).badly(2, "--when <WHEN>");
    world
        .run(&["schedule", "set", "x", "y", "--when", "@daily", "--missed", "all"])
        .badly(2, "say skip, once, or a number");
}

#[test]
fn a_backup_goes_to_a_whole_path_on_the_server() {
    let raw =
        Raw::start(Some(200), "application/json", r#"{"to": "/b/x.db", "bytes": 4096, "took_ms": 1250}"#);
    let ran = alone(&["--server", &raw.url(), "store", "backup", "x.db"]);
    assert_eq!(ran.well(), "/b/x.db: 4096 bytes, made in 1.2s\n");
    let asked = raw.asked();
    assert!(asked[0].starts_with("POST /api/v1/store/backup?by="), "{asked:?}");
    assert!(asked[0].contains(" HTTP/1.1 {\"to\":\"/"), "{asked:?}");
    assert!(asked[0].ends_with("/x.db\"}"), "{asked:?}");
    let taken = r#"{"status": 409, "code": "SF441", "title": "No", "detail": "there is a file of that name", "transient": false}"#;
    let raw = Raw::start(Some(409), "application/problem+json", taken);
    alone(&["--server", &raw.url(), "store", "backup", "x.db"])
        .badly(1, "there is a file of that name [SF441]");
}

#[test]
fn a_store_that_is_not_sound_is_told_with_what_was_found() {
    let raw = Raw::start(Some(200), "application/json", r#"{"looked_at": 7, "findings": []}"#);
    let sound = alone(&["--server", &raw.url(), "store", "verify"]);
    assert_eq!(sound.well(), "7 tasks looked at, the store is sound\n");
    assert_eq!(raw.asked(), ["POST /api/v1/store/verify HTTP/1.1"]);
    let body = r#"{"looked_at": 7, "findings": [
        {"task": "0192f3a0-5b1c-7d2e-8f00-0123456789ab", "kind": "history", "words": "its rows are not the fold of its history"},
        {"kind": "file", "words": "page 3 is damaged"}
    ]}"#;
    let raw = Raw::start(Some(200), "application/json", body);
    let found = alone(&["--server", &raw.url(), "store", "verify"]);
    assert_eq!(found.code, Some(1), "{found:?}");
    snapshot::check("store-verify", &found.out);
}
