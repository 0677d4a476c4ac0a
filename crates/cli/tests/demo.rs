//! The real binary, as a user runs it: the demo's numbers, its words, and what it says about bad flags.

use std::borrow::Cow;
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

fn steadfast(args: &[&str]) -> std::io::Result<Output> {
    Command::new(env!("CARGO_BIN_EXE_steadfast")).args(args).output()
}

fn text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(bytes)
}

#[test]
fn the_demo_shows_a_trip_and_a_recovery_and_spares_the_dead_service() {
    let output = steadfast(&["demo", "--seconds", "3", "--json"]).unwrap();
    let talk = text(&output.stderr);
    assert!(output.status.success(), "{talk}");
    let json: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number =
        |run: &str, name: &str| json[run][name].as_u64().unwrap_or_else(|| panic!("{run}.{name}: {json}"));

    for run in ["steadfast", "three_attempts"] {
        assert_eq!(number(run, "calls"), 300, "{run}: {json}");
        let ended = number(run, "ok") + number(run, "failed") + number(run, "refused");
        assert_eq!(ended, 300, "{run}: every call ended in one way: {json}");
        assert!(number(run, "carried_out") >= number(run, "ok"), "{run}: {json}");
        assert!(number(run, "requests_while_down") > 0, "{run}: the outage happened: {json}");
    }
    assert!(number("steadfast", "ok") > 0 && number("steadfast", "refused") > 0, "{json}");
    assert!(json["steadfast"]["breaker"]["trips"].as_u64() >= Some(1), "{json}");
    assert_eq!(json["steadfast"]["breaker"]["state"], "closed", "{json}\n{talk}");
    assert_eq!(number("three_attempts", "refused"), 0, "{json}");
    assert!(
        number("steadfast", "requests_while_down") < number("three_attempts", "requests_while_down"),
        "{json}"
    );

    for words in ["closed -> open", "half-open -> closed", "First failed call: ", "First refused call: "] {
        assert!(talk.contains(words), "{words:?} is missing:\n{talk}");
    }
    assert!(talk.lines().all(|line| line.chars().count() <= 100), "fits 100 columns:\n{talk}");
}

#[test]
fn bad_values_are_refused_with_what_to_give_instead() {
    for (flag, value, hint) in [
        ("--seconds", "2", "give a whole number of seconds from 3 to 45"),
        ("--seconds", "46", "give a whole number of seconds from 3 to 45"),
        ("--seconds", "nine", "give a whole number of seconds from 3 to 45"),
        ("--rate", "0", "give a whole number of calls a second from 50 to 500"),
        ("--rate", "1.5", "give a whole number of calls a second from 50 to 500"),
        ("--rate", "99999999999", "give a whole number of calls a second from 50 to 500"),
    ] {
        let output = steadfast(&["demo", &format!("{flag}={value}")]).unwrap();
        let talk = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{flag} {value}");
        assert!(talk.contains(flag) && talk.contains(value) && talk.contains(hint), "{flag} {value}: {talk}");
        assert!(output.stdout.is_empty());
    }
}

#[test]
fn an_unknown_command_and_no_command_get_help() {
    for args in [&["dmeo"][..], &[]] {
        let output = steadfast(args).unwrap();
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        assert!(text(&output.stderr).contains("demo"), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn help_and_version_go_to_stdout() {
    let version = steadfast(&["--version"]).unwrap();
    assert!(version.status.success());
    assert_eq!(text(&version.stdout), format!("steadfast {}\n", env!("CARGO_PKG_VERSION")));
    let help = steadfast(&["demo", "--help"]).unwrap();
    assert!(help.status.success());
    for flag in ["--seconds", "--rate", "--json"] {
        assert!(text(&help.stdout).contains(flag), "{}", text(&help.stdout));
    }
}

#[test]
#[cfg(unix)]
fn ctrl_c_ends_the_demo_at_once() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_steadfast"))
        .args(["demo", "--seconds", "45"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut talk = BufReader::new(demo.stderr.take().unwrap());
    let mut line = String::new();
    // The first row of numbers: it is in the middle of its work.
    while !line.contains("0.50s") {
        line.clear();
        assert!(talk.read_line(&mut line).unwrap() > 0, "the demo ended too soon");
    }
    assert!(Command::new("kill").args(["-INT", &demo.id().to_string()]).status().unwrap().success());
    let mut rest = String::new();
    talk.read_to_string(&mut rest).unwrap();
    assert_eq!(demo.wait().unwrap().code(), Some(130), "{rest}");
    assert!(rest.contains("Stopped by Ctrl-C"), "{rest}");
    assert!(!rest.contains("45.00s"), "{rest}");
}
