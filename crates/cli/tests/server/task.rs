//! `steadfast task list`, `show`, `why`, `watch`, `history`, `children`, `signal`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::{Value, json};
use steadfast_client::wire::state::TaskState;

use crate::snapshot;
use crate::world::World;

#[test]
fn tasks_are_listed_with_why_they_do_not_move() {
    let world = World::start();
    world.run(&["task", "submit", "charge", "--key", "a", "--label", "team=shop", "--wait"]).badly(4, "");
    world.task("approve", Value::Null, TaskState::Waiting);
    world.task("place-order", json!({}), TaskState::Completed);
    snapshot::check("task-list", &world.run(&["task", "list"]).well());
    let only = world.run(&["task", "list", "--state", "failed,waiting", "--service", "payments"]).well();
    snapshot::check("task-list-filtered", &only);
    let labelled = world.run(&["task", "list", "--label", "team=shop", "--key", "a", "--json"]).json();
    assert_eq!(labelled["tasks"].as_array().unwrap().len(), 1, "{labelled}");
    world.run(&["task", "list", "--workflow", "parent"]).badly(0, "no task is like that");
    world
        .run(&["task", "list", "--workflow", "charg"])
        .badly(0, "there is no workflow `charg`: did you mean `charge`?");
    world
        .run(&["task", "list", "--parked-on", "inventry"])
        .badly(0, "there is no service `inventry`: did you mean");
    let none = world.run(&["task", "list", "--older-than", "1h", "--reason", "x", "--text", "y", "--json"]);
    assert_eq!(none.json(), json!({ "tasks": [] }));
}

#[test]
fn a_list_goes_on_from_its_cursor() {
    let world = World::start();
    let ids: Vec<_> =
        (0..3).map(|_| world.run(&["task", "submit", "approve"]).well().trim().to_owned()).collect();
    let first = world.run(&["task", "list", "--limit", "2"]).badly(0, "--cursor ");
    let cursor = first.said.trim().rsplit(' ').next().unwrap().to_owned();
    let rest = world.run(&["task", "list", "--limit", "2", "--cursor", &cursor]);
    assert!(rest.out.contains(&ids[0]) && !rest.out.contains(&ids[2]), "{rest:?}");
    assert!(first.out.contains(&ids[2]) && first.out.contains(&ids[1]), "{first:?}");
}

#[test]
fn bad_filters_say_what_to_do() {
    let world = World::start();
    for (args, code, words) in [
        (vec!["--state", "lost"], 2, "`lost` is no state of a task: use `pending`"),
        (vec!["--from", "yesterday"], 2, "is no time"),
        (vec!["--limit", "0"], 2, "0 is not in 1..=10000"),
        (vec!["--cursor", "nonsense"], 1, "[SF"),
        (vec!["--parent", "xyz"], 2, "is no id of a task"),
    ] {
        world.run(&[&["task", "list"], &args[..]].concat()).badly(code, words);
    }
}

#[test]
fn a_task_is_shown_with_all_that_belongs_to_it() {
    let world = World::start();
    let failed = world.task("charge", json!({ "order": 7 }), TaskState::Failed);
    snapshot::check("task-show-failed", &world.run(&["task", "show", &failed]).well());
    let done = world.task("place-order", json!({ "long": "x".repeat(300) }), TaskState::Completed);
    let short = world.run(&["task", "show", &done]).well();
    snapshot::check("task-show-completed", &short);
    assert!(!short.contains(&"x".repeat(300)) && short.contains("--full shows all"), "{short}");
    assert!(world.run(&["task", "show", &done, "--full"]).well().contains(&"x".repeat(300)));
    assert!(!world.run(&["task", "show", &done, "--no-payloads"]).well().contains("xxx"));
}

#[test]
fn an_id_can_be_shortened_as_long_as_it_means_one_task() {
    let world = World::start();
    let id = world.task("charge", Value::Null, TaskState::Failed);
    assert!(world.run(&["task", "show", &id[..8]]).well().contains(&id));
    // Tasks of the same moments begin alike.
    let other = world.task("charge", Value::Null, TaskState::Failed);
    assert_eq!(id[..6], other[..6]);
    assert!(world.run(&["task", "show", &id[id.len() - 8..]]).well().contains(&id));
    world.run(&["task", "why", &id[..6]]).badly(1, "several tasks have an id that begins or ends with");
    world.run(&["task", "why", "ffff"]).badly(1, "there is no task whose id begins or ends with `ffff`");
    world.run(&["task", "why", "abc"]).badly(2, "at least 4 characters of its beginning or end");
    world.run(&["task", "why", "order-7"]).badly(2, "is no id of a task");
    world.run(&["task", "show", "0192f3a0-5b1c-7d2e-8f00-0123456789ab"]).badly(1, "[SF408]");
}

#[test]
fn why_says_what_it_waits_for() {
    let world = World::start();
    let waiting = world.task("approve", Value::Null, TaskState::Waiting);
    snapshot::check("task-why-waiting", &world.run(&["task", "why", &waiting]).well());
    let failed = world.task("charge", Value::Null, TaskState::Failed);
    snapshot::check("task-why-failed", &world.run(&["task", "why", &failed]).well());
    assert_eq!(world.run(&["task", "why", &failed, "--json"]).json()["state"], "failed");
}

#[test]
fn watching_says_how_it_stands_and_shows_each_change_until_the_end() {
    let world = World::start();
    let id = world.task("approve", Value::Null, TaskState::Waiting);
    let mut watch =
        world.command(&["task", "watch", &id]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(watch.stderr.as_mut().unwrap()).read_line(&mut said).unwrap();
    assert!(
        said.starts_with(&format!("task {id} is waiting: ")) && said.contains("signal `approval`"),
        "{said}"
    );
    world.run(&["task", "signal", &id, "approval", "--says", r#"{"by": "ana"}"#]).well();
    let ended: crate::world::Ran = watch.wait_with_output().unwrap().into();
    assert!(ended.out.contains("  approval completed\n"), "{ended:?}");
    assert!(ended.out.ends_with(&format!("task {id} completed\n")), "{ended:?}");
    assert_eq!(ended.code, Some(0));
}

#[test]
fn watching_for_programs_is_a_line_for_each_event() {
    let world = World::start();
    let id = world.task("charge", Value::Null, TaskState::Failed);
    let ran = world.run(&["task", "watch", &id, "--json"]);
    assert_eq!(ran.code, Some(4), "{ran:?}");
    let events: Vec<Value> = ran.out.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert!(events.len() >= 2 && events[0]["event"] == "change", "{events:?}");
    let end = events.last().unwrap();
    assert_eq!((&end["event"], &end["state"]), (&json!("end"), &json!("failed")));
    let ran = world.run(&["task", "watch", &id, "--new"]);
    assert_eq!((ran.code, ran.out.lines().count()), (Some(4), 1), "{ran:?}");
    world.run(&["task", "watch", "0192f3a0-5b1c-7d2e-8f00-0123456789ab"]).badly(1, "[SF408]");
}

#[test]
fn the_history_has_every_change() {
    let world = World::start();
    let id = world.task("place-order", json!({ "card": "declined" }), TaskState::Undone);
    snapshot::check("task-history", &world.run(&["task", "history", &id]).well());
    let some = world.run(&["task", "history", &id, "--limit", "1"]).badly(0, "--after ");
    assert_eq!(some.out.lines().count(), 2, "{some:?}");
    let all = world.run(&["task", "history", &id, "--json"]).json();
    let last = all["changes"].as_array().unwrap().last().unwrap()["revision"].as_u64().unwrap();
    let none = world.run(&["task", "history", &id, "--after", &last.to_string(), "--json"]).json();
    assert_eq!(none, json!({ "changes": [] }));
}

#[test]
fn children_are_listed() {
    let world = World::start();
    let id = world.task("parent", json!({}), TaskState::Completed);
    let out = world.run(&["task", "children", &id]).well();
    assert!(out.contains("place-order") && out.lines().count() == 2, "{out}");
    let child = world.task("approve", json!({}), TaskState::Waiting);
    world.run(&["task", "children", &child]).badly(0, "it has asked for no task");
}

#[test]
fn a_signal_is_stored_once_and_refused_where_nobody_waits() {
    let world = World::start();
    let id = world.task("approve", Value::Null, TaskState::Waiting);
    let signal = ["task", "signal", &id, "approval", "--says", "7", "--id", "mail-1"];
    assert!(world.run(&signal).well().contains("signal `approval` is stored"));
    world.reach(&id, TaskState::Completed);
    let result = world.run(&["task", "show", &id, "--json"]).json()["outcome"]["result"].clone();
    assert_eq!(result, json!(7));
    world.run(&["task", "signal", &id, "approval"]).badly(1, "[SF");
    world.run(&["task", "signal", &id, "approval", "--says", "seven"]).badly(2, "that is no JSON");
}
