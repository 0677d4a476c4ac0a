//! The server that is not there, does not answer, or is none; Ctrl-C; who asks; completions.

use std::net::TcpListener;
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use steadfast_client::wire::state::TaskState;

use crate::raw::Raw;
use crate::world::{World, alone, binary};

/// An address at which nobody listens.
fn nobody() -> String {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    format!("http://{address}")
}

#[test]
fn a_server_that_cannot_be_reached_has_its_code_and_a_hint() {
    let server = nobody();
    let ran =
        alone(&["--server", &server, "task", "list"]).badly(6, "is it running? `steadfast serve` starts it");
    assert!(ran.said.contains(&server) && ran.out.is_empty(), "{ran:?}");
    let ran = binary().env("STEADFAST_SERVER", &server).args(["service", "list", "--json"]).output().unwrap();
    assert_eq!(ran.status.code(), Some(6));
    let told: Value = serde_json::from_slice(&ran.stderr).unwrap();
    assert_eq!((&told["error"]["exit"], &told["error"]["transient"]), (&json!(6), &json!(true)), "{told}");
}

#[test]
fn a_server_that_does_not_answer_is_given_up() {
    let raw = Raw::start(None, "", "");
    let ran = alone(&["--server", &raw.url(), "--timeout", "50ms", "breaker", "list"]);
    ran.badly(6, "has not answered within 50ms");
}

#[test]
fn whoever_is_no_steadfast_server_is_told_apart() {
    let raw = Raw::start(Some(404), "text/html", "<html>");
    alone(&["--server", &raw.url(), "audit", "list"]).badly(1, "not as a Steadfast server does");
    let raw = Raw::start(Some(200), "application/json", r#"{"hello": 1}"#);
    alone(&["--server", &raw.url(), "audit", "list"]).badly(1, "is it a Steadfast server of this version?");
}

#[test]
fn an_address_that_is_none_is_a_bad_command_line() {
    alone(&["--server", "127.0.0.1:7171", "task", "list"])
        .badly(2, "use one such as `http://127.0.0.1:7171`");
    alone(&["task", "list", "--timeout", "fast"]).badly(2, "units are");
    alone(&["task", "explode"]).badly(2, "unrecognized subcommand");
}

#[test]
fn who_asks_is_said_or_found_out() {
    let world = World::start();
    let by = |command: &mut Command| {
        let id = world.task("approve", Value::Null, TaskState::Waiting);
        command.args(["--server", &world.url(), "task", "pause", &id, "--because", "x"]);
        assert!(command.output().unwrap().status.success());
        world.run(&["audit", "list", "--task", &id, "--json"]).json()["audits"][0]["by"]
            .as_str()
            .unwrap()
            .to_owned()
    };
    assert_eq!(by(binary().env("STEADFAST_BY", "ben@shop")), "ben@shop");
    assert_eq!(by(binary().env("STEADFAST_BY", "ben@shop").args(["--by", "cleo"])), "cleo");
    let found = by(binary().env("USER", "dora"));
    assert!(found == "dora" || found.starts_with("dora@"), "{found}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_watch_with_its_code() {
    use std::io::{BufRead as _, BufReader};
    let world = World::start();
    let id = world.task("approve", Value::Null, TaskState::Waiting);
    let mut watch = world.command(&["task", "watch", &id]).stderr(Stdio::piped()).spawn().unwrap();
    // Once it talks, it listens.
    BufReader::new(watch.stderr.as_mut().unwrap()).read_line(&mut String::new()).unwrap();
    let interrupt = Command::new("kill").args(["-INT", &watch.id().to_string()]).status();
    assert!(interrupt.unwrap().success());
    assert_eq!(watch.wait().unwrap().code(), Some(130));
    assert_eq!(world.state(&id), "waiting");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let world = World::start();
    let mut list =
        world.command(&["service", "list"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(list.stdout.take());
    let ended = list.wait_with_output().unwrap();
    assert!(ended.status.success() && ended.stderr.is_empty(), "{ended:?}");
}

#[test]
fn each_shell_has_completions() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let text = alone(&["completions", shell]).well();
        assert!(text.contains("take-as-undone"), "{shell}");
    }
    alone(&["completions", "cobol"]).badly(2, "invalid value 'cobol'");
}

#[test]
fn what_goes_to_a_pipe_has_no_colours() {
    let world = World::start();
    let id = world.task("charge", Value::Null, TaskState::Failed);
    let shown = world.run(&["task", "show", &id]).well();
    assert!(shown.contains("failed") && !shown.contains('\u{1b}'), "{shown}");
}
