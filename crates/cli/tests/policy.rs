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

#[test]
fn the_examples_are_clean_but_for_the_one_that_is_meant_to_hurt() {
    let good = policy(&["check", "--strict", "examples/policies/shop.toml"]);
    assert_eq!(text(&good), "examples/policies/shop.toml: ok\n");
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
    let folder = std::env::temp_dir().join(format!("steadfast-cli-policy-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("bad.yaml");
    std::fs::write(&path, "service:\n  a:\n    retri: 1\n").unwrap();
    let path = path.to_str().unwrap();
    let refused = policy(&["check", path, "none.toml"]);
    assert_eq!(refused.status.code(), Some(1));
    let expected = format!(
        "{path}:3:5: service.a.retri: unknown key: did you mean `retry`? (SF113)\n{path}: refused\n\
         none.toml: there is no such file (SF111)\nnone.toml: refused\n"
    );
    assert_eq!(text(&refused), expected);
    let json = policy(&["check", "--json", path]);
    let line: serde_json::Value = serde_json::from_str(text(&json).trim()).unwrap();
    assert_eq!((line["line"].as_u64(), line["rule"].as_str()), (Some(3), Some("SF113")));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn warnings_fail_only_if_asked() {
    let folder = std::env::temp_dir().join(format!("steadfast-cli-strict-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let path = folder.join("p.toml");
    std::fs::write(&path, "[service.a]\nretry = { jitter = \"none\" }\n").unwrap();
    let path = path.to_str().unwrap();
    assert_eq!(policy(&["check", path]).status.code(), Some(0));
    assert_eq!(policy(&["check", "--strict", path]).status.code(), Some(1));
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn the_schema_is_printed() {
    let schema: serde_json::Value = serde_json::from_str(&text(&policy(&["schema"]))).unwrap();
    assert_eq!(schema["title"], "Steadfast policies");
}
