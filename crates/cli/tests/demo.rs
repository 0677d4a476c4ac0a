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

/// A machine that stands still for this long makes answers late, whatever the service does: half of an attempt's time.
const MAX_LATE_MS: u64 = 150;
/// Runs until the machine keeps up; the last one counts in any case.
const RUNS: u32 = 3;

#[test]
fn with_steadfast_calls_recover_after_an_outage_and_with_three_attempts_they_do_not() {
    let (json, talk) = timely_run().unwrap();
    adds_up(&json["steadfast"]);
    adds_up(&json["three_attempts"]);
    tells_the_story(&json["steadfast"], &json["three_attempts"], &talk);

    for words in ["closed -> open", "half-open -> closed", "First failed call: ", "First refused call: "] {
        assert!(talk.contains(words), "{words:?} is missing:\n{talk}");
    }
    assert!(talk.lines().all(|line| line.chars().count() <= 100), "fits 100 columns:\n{talk}");
}

fn timely_run() -> std::io::Result<(Value, String)> {
    let mut run = 1;
    loop {
        let output = steadfast(&["demo", "--seconds", "5", "--json"])?;
        let talk = text(&output.stderr).into_owned();
        assert!(output.status.success(), "{talk}");
        let json: Value = serde_json::from_slice(&output.stdout)?;
        let late =
            number(&json["steadfast"], "most_late_ms").max(number(&json["three_attempts"], "most_late_ms"));
        if late <= MAX_LATE_MS || run == RUNS {
            return Ok((json, talk));
        }
        println!("run {run}: calls began up to {late} ms late, once more");
        run += 1;
    }
}

/// What holds for every run, whatever the machine does meanwhile.
fn adds_up(run: &Value) {
    let number = |name| number(run, name);
    assert_eq!(number("calls"), 500, "{run}");
    assert_eq!(
        number("ok") + number("failed") + number("refused"),
        500,
        "every call ended in one way: {run}"
    );
    assert!(number("carried_out") >= number("ok"), "{run}");
    assert_eq!(number("carried_out") + number("repeats"), number("served"), "{run}");
    assert_eq!(number("served") + number("queued_at_end"), number("requests"), "{run}");
    assert!(
        number("requests_while_down") > 0 && number("served_for_nobody") > 0,
        "the outage happened: {run}"
    );
}

/// The claims of the show, each with room for a busy machine. Usually 280 calls succeed against 111; of the 222 made
/// after the return 170 against none; 40 requests reach the dead service against 345, and 41 are served for nobody
/// against 469.
fn tells_the_story(ours: &Value, theirs: &Value, talk: &str) {
    assert_eq!(ours["recovered"], true, "{ours}\n{talk}");
    assert_eq!(theirs["recovered"], false, "{theirs}\n{talk}");
    assert!(number(ours, "ok") > number(theirs, "ok") * 3 / 2, "{ours} {theirs}");
    assert!(number(ours, "ok_after_return") * 2 > number(ours, "calls_after_return"), "{ours}");
    assert!(number(theirs, "ok_after_return") * 4 < number(theirs, "calls_after_return"), "{theirs}");
    assert!(
        number(theirs, "requests_while_down") > number(ours, "requests_while_down") * 2,
        "{ours} {theirs}"
    );
    assert!(number(theirs, "served_for_nobody") > number(ours, "served_for_nobody") * 2, "{ours} {theirs}");
    assert!(number(ours, "refused") > 0, "{ours}");
    assert_eq!(number(theirs, "refused"), 0, "{theirs}");
    assert!(number(&ours["breaker"], "trips") >= 1, "{ours}");
    assert_eq!(ours["breaker"]["state"], "closed", "{ours}\n{talk}");
}

fn number(run: &Value, name: &str) -> u64 {
    let number = run[name].as_u64();
    assert!(number.is_some(), "no {name}: {run}");
    number.unwrap_or_default()
}

#[test]
fn bad_values_are_refused_with_what_to_give_instead() {
    for (flag, value, hint) in [
        ("--seconds", "3", "give a whole number of seconds from 4 to 45"),
        ("--seconds", "46", "give a whole number of seconds from 4 to 45"),
        ("--seconds", "nine", "give a whole number of seconds from 4 to 45"),
        ("--rate", "0", "give a whole number of calls a second from 50 to 400"),
        ("--rate", "1.5", "give a whole number of calls a second from 50 to 400"),
        ("--rate", "99999999999", "give a whole number of calls a second from 50 to 400"),
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
