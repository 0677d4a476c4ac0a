//! `steadfast workflow`.

use std::path::PathBuf;

use serde_json::json;
use tempfile::TempDir;

use crate::snapshot;
use crate::world::{World, alone};

const GOOD: &str = "\
workflow: greet
steps:
  hello:
    service: inventory
    request: { method: POST, path: /greetings }
    idempotent: true
    nothing_to_undo: true
";

fn file(name: &str, text: &str) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    std::fs::write(&path, text).unwrap();
    (folder, path)
}

#[test]
fn files_are_checked_without_a_server() {
    let (_folder, good) = file("greet.yaml", GOOD);
    let good = good.to_str().unwrap();
    let ran = alone(&["workflow", "check", good]);
    let services = "whether there are its services (`inventory`) is checked with --config";
    assert_eq!(ran.well(), format!("{good}: ok, workflow `greet`; {services}\n"));
    assert_eq!(alone(&["workflow", "check", "--json", good]).well(), "");

    let (_folder, bad) = file("bad.yaml", &GOOD.replace("service:", "servce:").replace("POST", "SHOUT"));
    let bad = bad.to_str().unwrap();
    let ran = alone(&["workflow", "check", good, bad]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    assert!(ran.out.contains(&format!("{good}: ok")), "{ran:?}");
    assert!(
        ran.out.contains(&format!("{bad}:4:5: ")) && ran.out.contains("did you mean `service`?"),
        "{ran:?}"
    );
    assert!(ran.out.ends_with(&format!("{bad}: refused\n")), "{ran:?}");
    let ran = alone(&["workflow", "check", "--json", bad]);
    let first: serde_json::Value = serde_json::from_str(ran.out.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&first["line"], &first["column"], &first["severity"]),
        (&json!(4), &json!(5), &json!("error"))
    );
    let ran = alone(&["workflow", "check", "no/such/file.yaml"]);
    assert!(ran.code == Some(1) && ran.out.contains("there is no such file"), "{ran:?}");
}

/// W10: also whether the settings have what they name.
#[test]
fn files_are_checked_with_the_settings_of_a_server() {
    let (folder, good) = file("greet.yaml", GOOD);
    let asks = GOOD.replace("greet", "ask").replace("inventory", "inventry");
    let parent = "workflow: parent\nsteps:\n  greet: { child: greet }\n  other: { child: none }\n";
    let path = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    for (name, text) in [
        ("ask.yaml", &*asks),
        ("parent.yaml", parent),
        ("steadfast.toml", "workflows = \"there\"\n[service.inventory]\nurl = \"http://127.0.0.1:1\"\n"),
    ] {
        std::fs::write(path(name), text).unwrap();
    }
    std::fs::create_dir(path("there")).unwrap();
    std::fs::write(path("there/none.yaml"), "workflow: [").unwrap();
    let (good, config) = (good.to_str().unwrap(), path("steadfast.toml"));
    let check = |files: &[&str]| alone(&[&["workflow", "check", "--config", &config], files].concat());
    assert_eq!(check(&[good]).well(), format!("{good}: ok, workflow `greet`\n"));
    let (asks, parent) = (path("ask.yaml"), path("parent.yaml"));
    let ran = check(&[&asks, good, &parent]);
    assert_eq!(ran.code, Some(1), "{ran:?}");
    for part in [
        &*format!(
            "{asks}:4:14: steps.hello.service: there is no service `inventry`: did you mean `inventory`?"
        ),
        &*format!("{good}: ok, workflow `greet`\n"),
        &*format!("{parent}:4:19: steps.other.child: there is no workflow `none`"),
    ] {
        assert!(ran.out.contains(part), "{part} is not in {ran:?}");
    }
    std::fs::write(path("own.yaml"), "workflow: own\nsteps:\n  again: { child: own }\n").unwrap();
    let ran = check(&[&path("own.yaml")]);
    assert!(ran.code == Some(1) && ran.out.contains("`own` cannot be asked for"), "{ran:?}");
    alone(&["workflow", "check", "--config", "no.toml", good]).badly(1, "there is no such file");
}

#[test]
fn files_are_handed_in() {
    let world = World::start();
    let (_folder, greet) = file("greet.yaml", "workflow: greet\nsteps: {}\n");
    let (_folder, known) = file("known.json", r#"{"workflow": "place-order", "steps": {}}"#);
    let (greet, known) = (greet.to_str().unwrap(), known.to_str().unwrap());
    let ran = world.run(&["workflow", "apply", greet, known]).badly(0, "warning: nobody calls it yet");
    snapshot::check("workflow-apply", &ran.out);
    let dry = world.run(&["workflow", "apply", greet, "--dry-run", "--json"]).json();
    assert_eq!((&dry[0]["change"], &dry[0]["dry_run"]), (&json!("new"), &json!(true)));
    assert!(world.run(&["workflow", "apply", greet, "--dry-run"]).well().contains("would be new"));
}

#[test]
fn one_that_is_refused_is_told_with_its_places_and_the_others_are_applied() {
    let world = World::start();
    let (_folder, broken) = file("broken.yaml", "workflow: greet\nstesp: broken\n");
    let (_folder, good) = file("good.yaml", "workflow: other\nsteps: {}\n");
    let ran = world.run(&["workflow", "apply", broken.to_str().unwrap(), good.to_str().unwrap()]);
    let ran = ran.badly(1, "2:1: stesp: unknown key: did you mean `steps`?");
    assert!(
        ran.said.contains("broken.yaml:") && ran.said.contains("[SF502]") && ran.out.contains("other"),
        "{ran:?}"
    );
}

#[test]
fn files_that_are_none_are_refused_before_anything_is_applied() {
    let world = World::start();
    for (name, text, words) in [
        ("greet.txt", "workflow: greet", "ends in .yaml, .yml or .json"),
        ("greet.yaml", "workflow: [", "greet.yaml:2:1: "),
        ("greet.yaml", "steps: {}", "give the workflow a name"),
    ] {
        let (_folder, path) = file(name, text);
        world.run(&["workflow", "apply", path.to_str().unwrap()]).badly(1, words);
    }
    world.run(&["workflow", "apply", "no/such/file.yaml"]).badly(1, "there is no such file");
    world.run(&["workflow", "apply"]).badly(2, "<FILE>");
}

#[test]
fn workflows_are_listed_and_drawn() {
    let world = World::start();
    snapshot::check("workflow-list", &world.run(&["workflow", "list"]).well());
    let drawn = world.run(&["workflow", "show", "place-order"]).well();
    snapshot::check("workflow-show", &drawn);
    assert!(
        drawn.lines().take_while(|line| !line.starts_with("STEP")).all(|line| line.chars().count() <= 80)
    );
    assert_eq!(
        world.run(&["workflow", "show", "place-order", "--version", "1", "--json"]).json()["active"],
        1
    );
    assert!(world.run(&["workflow", "show", "hold"]).well().contains("it was made by a program"));
    world.run(&["workflow", "show", "place-ordr"]).badly(1, "[SF");
    world.run(&["workflow", "show", "place-order", "--version", "9"]).badly(1, "[SF");
}
