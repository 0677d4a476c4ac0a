//! `steadfast task submit`.

use serde_json::json;

use crate::snapshot;
use crate::world::World;

#[test]
fn the_id_is_printed_and_the_same_key_gives_the_same_task() {
    let world = World::start();
    let submit = ["task", "submit", "place-order", "--input", r#"{"sku": "a chair"}"#, "--key", "order-7"];
    let first = world.run(&submit).well();
    assert_eq!(first.trim().len(), 36, "{first}");
    assert_eq!(world.run(&submit).well(), first);
    let ran = world.run(&[&submit[..], &["--json"]].concat());
    assert_eq!(ran.json(), json!({ "id": first.trim() }));
}

#[test]
fn everything_that_can_be_said_of_a_task_arrives() {
    let world = World::start();
    let id = world
        .run(&[
            "task",
            "submit",
            "approve",
            "--key",
            "k",
            "--namespace",
            "shop",
            "--label",
            "team=shop",
            "--label",
            "a=b=c",
            "--priority",
            "-3",
            "--start-after",
            "2h",
            "--correlation",
            "mail-7",
            "--reply-to",
            "queue:shop",
            "--version",
            "1",
        ])
        .well();
    let task = world.run(&["task", "show", id.trim(), "--json"]).json();
    assert_eq!((&task["key"], &task["namespace"]), (&json!("k"), &json!("shop")));
    assert_eq!(task["labels"], json!({ "team": "shop", "a": "b=c" }));
    assert_eq!(task["state"], "pending");
    assert!(task["why"].as_str().unwrap().starts_with("it starts in 7"), "{task}");
}

#[test]
fn waiting_ends_with_the_code_of_the_outcome() {
    let world = World::start();
    for (workflow, input, code, snapshot) in [
        ("place-order", r#"{"card": "good"}"#, 0, "submit-completed"),
        ("place-order", r#"{"card": "declined"}"#, 3, "submit-undone"),
        ("charge", "{}", 4, "submit-failed"),
    ] {
        let ran = world.run(&["task", "submit", workflow, "--input", input, "--wait"]);
        assert_eq!(ran.code, Some(code), "{ran:?}");
        snapshot::check(snapshot, &ran.out);
    }
    let ran = world.run(&["task", "submit", "approve", "--wait", "20ms"]);
    assert_eq!(ran.code, Some(5), "{ran:?}");
    assert!(ran.out.contains("has not ended yet") && ran.said.contains("task watch"), "{ran:?}");
}

#[test]
fn waiting_for_programs_is_one_document() {
    let world = World::start();
    let ran = world.run(&["--json", "task", "submit", "place-order", "--wait", "1m"]);
    assert_eq!(ran.code, Some(0), "{ran:?}");
    assert_eq!(ran.json()["outcome"], json!({ "state": "completed", "result": { "receipt": 7 } }));
    let ran = world.run(&["task", "submit", "approve", "--wait", "10ms", "--json"]);
    assert_eq!((ran.code, ran.json().get("outcome")), (Some(5), None));
}

#[test]
fn the_input_comes_from_the_line_a_file_or_stdin() {
    let world = World::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.json");
    std::fs::write(&path, r#"{"from": "a file"}"#).unwrap();
    let input = |id: &str| world.run(&["task", "show", id.trim(), "--json"]).json()["input"].clone();

    let at = format!("@{}", path.display());
    let id = world.run(&["task", "submit", "approve", "--input", &at]).well();
    assert_eq!(input(&id), json!({ "from": "a file" }));
    let id = world.run_with(r#"["from stdin"]"#, &["task", "submit", "approve", "--input", "-"]).well();
    assert_eq!(input(&id), json!(["from stdin"]));
    let id = world.run(&["task", "submit", "approve", "--input", "-1"]).well();
    assert_eq!(input(&id), json!(-1));
}

#[test]
fn bad_submissions_say_what_to_do() {
    let world = World::start();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("order.json");
    std::fs::write(&path, "{\n  \"sku\": chair\n}").unwrap();
    let at = format!("@{}", path.display());
    for (args, code, words) in [
        (vec!["place-order", "--input", "chair"], 2, "a text has quotes of its own"),
        (vec!["place-order", "--input", &at], 1, "order.json:2:10: this is no JSON"),
        (vec!["place-order", "--input", "@no/such/file"], 1, "cannot read no/such/file"),
        (vec!["place-order", "--label", "team"], 2, "write it as NAME=VALUE"),
        (vec!["place-order", "--start-at", "tomorrow"], 2, "write it as 2026-11-17T14:00:00Z"),
        (vec!["place-order", "--start-after", "5"], 2, "it needs a unit"),
        (vec!["--wait", "place-order"], 2, "write the workflow before --wait"),
        (vec!["place-order", "--priority", "1000"], 2, "1000 is not in -128..=127"),
        (vec!["place-ordr"], 1, "page: https://"),
        (vec![], 2, "<WORKFLOW>"),
    ] {
        world.run(&[&["task", "submit"], &args[..]].concat()).badly(code, words);
    }
}
