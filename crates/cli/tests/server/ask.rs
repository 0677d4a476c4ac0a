//! What an operator asks of one task.

use serde_json::{Value, json};
use steadfast_client::wire::state::TaskState;

use crate::snapshot;
use crate::world::{BY, World};

const BECAUSE: [&str; 2] = ["--because", "ticket 311"];

fn ask(world: &World, args: &[&str]) -> crate::world::Ran {
    world.run(&[&["task"], args, &BECAUSE[..]].concat())
}

#[test]
fn a_failed_step_is_made_again_with_another_input() {
    let world = World::start();
    let id = world.task("charge", json!({}), TaskState::Failed);
    let done = ask(&world, &["retry", &id, "charge", "--input", r#"{"good": true}"#]).well();
    assert!(done.starts_with(&format!("done: retry of `charge` of task {id}")), "{done}");
    world.reach(&id, TaskState::Completed);
}

#[test]
fn a_failed_step_is_skipped_with_an_output() {
    let world = World::start();
    let id = world.task("charge", json!({}), TaskState::Failed);
    ask(&world, &["skip", &id, "charge", "--output", r#"{"paid": "in cash"}"#, "--happened"]).well();
    world.reach(&id, TaskState::Completed);
    let task = world.run(&["task", "show", &id, "--json"]).json();
    assert_eq!(task["outcome"]["result"], json!({ "paid": "in cash" }));
}

#[test]
fn a_task_is_held_and_let_go() {
    let world = World::start();
    let id = world.task("approve", json!({}), TaskState::Waiting);
    ask(&world, &["pause", &id]).well();
    let shown = world.run(&["task", "show", &id]).well();
    assert!(shown.contains(&format!("by {BY} since ")) && shown.contains("ticket 311"), "{shown}");
    ask(&world, &["resume", &id]).well();
    assert_eq!(world.state(&id), "waiting");
}

#[test]
fn a_task_is_cancelled_or_undone() {
    let world = World::start();
    let open = world.task("approve", json!({}), TaskState::Waiting);
    ask(&world, &["cancel", &open]).well();
    world.reach(&open, TaskState::Undone);
    let ended = world.task("place-order", json!({}), TaskState::Completed);
    ask(&world, &["undo", &ended]).well();
    world.reach(&ended, TaskState::Undone);
}

#[test]
fn a_deadline_is_set_and_taken_away() {
    let world = World::start();
    let id = world.task("approve", json!({}), TaskState::Waiting);
    let deadline = || world.run(&["task", "show", &id, "--json"]).json()["deadline"].clone();
    ask(&world, &["deadline", &id, "--at", "2099-01-01 12:00"]).well();
    assert!(deadline().as_str().unwrap().starts_with("2099-01-01T12:00:00"), "{}", deadline());
    ask(&world, &["deadline", &id, "--in", "2h"]).well();
    assert!(deadline().is_string());
    ask(&world, &["deadline", &id, "--none"]).well();
    assert_eq!(deadline(), Value::Null);
    ask(&world, &["deadline", &id]).badly(2, "say which deadline: --at WHEN, --in TIME or --none");
    ask(&world, &["deadline", &id, "--none", "--in", "2h"]).badly(2, "cannot be used with");
}

#[test]
fn an_undo_that_is_stuck_is_tried_again_or_taken_as_done() {
    let world = World::start();
    let id = world.task("hold", json!({}), TaskState::Waiting);
    ask(&world, &["cancel", &id]).well();
    world.reach(&id, TaskState::Failed);
    ask(&world, &["retry-undo", &id, "hold"]).well();
    ask(&world, &["retry-undo", &id, "go"]).badly(1, "[SF414]");
    world.run(&["task", "watch", &id, "--new"]).badly(4, "");
    ask(&world, &["take-as-undone", &id, "hold"]).well();
    world.reach(&id, TaskState::Undone);
}

#[test]
fn labels_are_given_and_taken_away() {
    let world = World::start();
    let id = world.run(&["task", "submit", "approve", "--label", "new=yes"]).well().trim().to_owned();
    ask(&world, &["label", &id, "case=311", "--remove", "new"]).well();
    let labels = world.run(&["task", "show", &id, "--json"]).json()["labels"].clone();
    assert_eq!(labels, json!({ "case": "311" }));
    ask(&world, &["label", &id]).badly(2, "say which label");
}

#[test]
fn what_makes_no_sense_is_refused_with_the_reason_and_in_the_audit_log() {
    let world = World::start();
    let ended = world.task("place-order", json!({}), TaskState::Completed);
    ask(&world, &["pause", &ended]).badly(1, "[SF409]");
    let id = world.task("approve", json!({}), TaskState::Waiting);
    ask(&world, &["pause", &id]).well();
    let refused = ask(&world, &["pause", &id]).badly(1, "[SF414]");
    assert!(refused.said.contains("page: https://") && refused.out.is_empty(), "{refused:?}");
    world.run(&["task", "pause", &id]).badly(2, "--because <WHY>");
    ask(&world, &["retry", &id, "no-such-step"]).badly(1, "[SF");
    ask(&world, &["pause", &id, "--id", "7"]).badly(2, "invalid value '7' for '--id <UUID>'");
    snapshot::check("audit-list", &world.run(&["audit", "list", "--task", &id]).well());
}

#[test]
fn what_is_asked_twice_under_one_id_is_done_once() {
    let world = World::start();
    let id = world.task("approve", json!({}), TaskState::Waiting);
    let own = "0192f3a0-5b1c-7d2e-8f00-0123456789ab";
    for _ in 0..2 {
        let done = ask(&world, &["pause", &id, "--id", own, "--json"]);
        assert_eq!(done.json(), json!({ "id": own }));
    }
    let log = world.run(&["audit", "list", "--task", &id, "--who", BY, "--action", "pause", "--json"]).json();
    assert_eq!(log["audits"].as_array().unwrap().len(), 1, "{log}");
    world.run(&["audit", "list", "--who", "nobody"]).badly(0, "nobody has done anything like that");
}
