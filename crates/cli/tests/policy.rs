//! `steadfast policy`, as a user runs it.

#![expect(clippy::unwrap_used, reason = "a test's own helpers")]

use std::process::{Command, Output};

fn policy(args: &[&str]) -> Output {
    let root = concat!(env!("CARGO_MANIFEST_DIR"), "/../..");
    Command::new(env!("CARGO_BIN_EXE_steadfast")).arg("policy").args(args).current_dir(root).output().unwrap()
}

fn text(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// A folder of this test's own with one file in it, gone at the end.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new(test: &str, file: &str, text: &str) -> (Self, String) {
        let folder = std::env::temp_dir().join(format!("steadfast-cli-{test}-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join(file);
        std::fs::write(&path, text).unwrap();
        (Self(folder), path.to_str().unwrap().to_owned())
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn the_examples_are_clean_but_for_the_one_that_is_meant_to_hurt() {
    let good =
        policy(&["check", "--strict", "examples/policies/shop.toml", "examples/policies/mission.toml"]);
    assert_eq!(text(&good), "examples/policies/shop.toml: ok\nexamples/policies/mission.toml: ok\n");
    assert!(good.status.success());
    let bad = policy(&["check", "examples/policies/hurts.toml"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(
        text(&bad).ends_with("examples/policies/hurts.toml: 3 errors, 5 warnings, 1 note\n"),
        "{}",
        text(&bad)
    );
}

#[test]
fn a_refused_file_and_a_missing_one_say_where_and_why() {
    let (_scratch, path) = Scratch::new("policy", "bad.yaml", "service:\n  a:\n    retri: 1\n");
    let path = path.as_str();
    let refused = policy(&["check", path, "none.toml"]);
    assert_eq!(refused.status.code(), Some(1));
    let expected = format!(
        "{path}:3:5: error: service.a.retri: unknown key: did you mean `retry`? (SF113)\n{path}: refused\n\
         none.toml: error: there is no such file (SF111)\nnone.toml: refused\n"
    );
    assert_eq!(text(&refused), expected);
    let json = policy(&["check", "--json", path]);
    let line: serde_json::Value = serde_json::from_str(text(&json).trim()).unwrap();
    assert_eq!((line["line"].as_u64(), line["rule"].as_str()), (Some(3), Some("SF113")));
}

#[test]
fn warnings_fail_only_if_asked() {
    let (_scratch, path) = Scratch::new("strict", "p.toml", "[service.a]\nretry = { jitter = \"none\" }\n");
    let path = path.as_str();
    assert_eq!(policy(&["check", path]).status.code(), Some(0));
    assert_eq!(policy(&["check", "--strict", path]).status.code(), Some(1));
}

#[test]
fn the_schema_is_printed() {
    let schema: serde_json::Value = serde_json::from_str(&text(&policy(&["schema"]))).unwrap();
    assert_eq!(schema["title"], "Steadfast policies");
}

#[test]
fn a_policy_is_simulated_as_text_json_and_drawing() {
    let (_scratch, path) = Scratch::new("simulate", "drawn.svg", "");
    let storm = ["--outage", "5s", "--rps", "50", "--clients", "5", "--attempt-timeout", "1s"];
    let with = |more: &[&str]| policy(&[&["simulate", "standard"], &storm[..], more].concat());
    let shown = with(&["--svg", &path]);
    assert!(shown.status.success());
    for words in [
        "standard: 5 clients make 50 calls/s",
        "wait before each retry",
        "calls succeed again after",
        "neither",
    ] {
        assert!(text(&shown).contains(words), "{words}: {}", text(&shown));
    }
    assert!(std::fs::read_to_string(&path).unwrap().ends_with("</svg>\n"));
    let json: serde_json::Value = serde_json::from_str(&text(&with(&["--json"]))).unwrap();
    let variants = json["variants"].as_object().unwrap();
    assert_eq!(variants.keys().collect::<Vec<_>>(), ["as_written", "neither", "no_breaker", "no_budget"]);
    assert!(json["variants"]["as_written"]["recovery_ms"].as_u64().unwrap() < 15_000);
    assert!(json["variants"]["neither"]["amplification"].as_f64().unwrap() > 2.0);
    assert_eq!(json["waits"].as_array().unwrap().len(), 3);
    let guide = include_str!("../../../docs/guide/simulating.md");
    let keys = [&json, &json["waits"][0], &json["variants"], &json["variants"]["as_written"]];
    let second = &json["variants"]["as_written"]["seconds"][0];
    for key in keys.iter().chain([&second]).flat_map(|of| of.as_object().unwrap().keys()) {
        assert!(guide.contains(&format!("`{key}`")), "{key} is not in the guide");
    }
}

#[test]
fn a_policy_that_misses_what_is_demanded_fails() {
    let storm = ["simulate", "standard", "--outage", "5s", "--rps", "50", "--attempt-timeout", "1s"];
    let with = |more: &[&str]| policy(&[&storm[..], more].concat());
    assert!(with(&["--max-amplification", "1.1", "--max-recovery", "60s"]).status.success());
    let missed = with(&["--max-recovery", "100ms"]);
    assert_eq!(missed.status.code(), Some(1));
    let said = String::from_utf8(missed.stderr).unwrap();
    assert!(
        said.starts_with("missed: calls succeed again after") && said.ends_with("not within 100ms\n"),
        "{said}"
    );
}

#[test]
fn nonsense_is_answered_with_what_to_do() {
    for (args, words) in [
        (vec!["simulate", "stndard"], "did you mean `standard`?"),
        (vec!["simulate", "standard", "--rps", "0"], "give a number from 0.001"),
        (vec!["simulate", "standard", "--rps", "NaN"], "give a number from 0.001"),
        (vec!["simulate", "standard", "--outage", "5"], "it needs a unit"),
        (vec!["simulate", "standard", "--outage", "0s"], "from 1 s to 24 h"),
        (vec!["simulate", "standard", "--clients", "0"], "1 to 100000 clients"),
        (vec!["simulate", "standard", "--file", "none.toml"], "there is no such file"),
        (vec!["simulate", "standard", "--svg", "no/such/folder/x.svg"], "cannot write the drawing"),
    ] {
        let refused = policy(&args);
        let said = String::from_utf8(refused.stderr.clone()).unwrap();
        assert!(!refused.status.success() && said.contains(words), "{args:?}: {said}");
    }
}

#[test]
fn a_demand_that_is_no_number_is_refused() {
    for demand in ["nan", "inf", "-1", "much"] {
        let refused = policy(&["simulate", "standard", "--max-amplification", demand]);
        assert_eq!(refused.status.code(), Some(2), "{demand}");
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert!(words.contains("give a number from 0 on"), "{words}");
    }
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error_and_no_panic() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let schema = Command::new(env!("CARGO_BIN_EXE_steadfast"))
        .args(["policy", "schema"])
        .stdout(full)
        .output()
        .unwrap();
    assert_eq!(schema.status.code(), Some(1));
    let words = String::from_utf8_lossy(&schema.stderr).into_owned();
    assert!(words.starts_with("error: No space left"), "{words}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_ends_a_simulation() {
    use std::os::unix::process::ExitStatusExt as _;
    // A long one: four hours of many calls.
    let long = ["policy", "simulate", "standard", "--rps", "500", "--outage", "1h"];
    for _ in 0..4 {
        let mut child = Command::new(env!("CARGO_BIN_EXE_steadfast"))
            .args(long)
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let interrupt = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        assert!(interrupt.unwrap().success());
        let status = child.wait().unwrap();
        assert_eq!(status.signal(), Some(2), "{status}");
    }
}
