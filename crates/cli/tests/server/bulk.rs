//! `steadfast bulk`.

use serde_json::json;
use steadfast_client::wire::state::TaskState;

use crate::snapshot;
use crate::world::World;

fn failed(world: &World, count: usize) -> Vec<String> {
    (0..count).map(|_| world.task("charge", json!({}), TaskState::Failed)).collect()
}

#[test]
fn a_bulk_is_prepared_looked_at_and_begun() {
    let world = World::start();
    let ids = failed(&world, 3);
    let prepare =
        ["bulk", "prepare", "undo", "--state", "failed", "--rate", "500", "--because", "a wrong import"];
    let prepared = world.run(&prepare).badly(0, "nothing is asked yet");
    snapshot::check("bulk-prepare", &prepared.out);
    let bulk =
        world.run(&[&prepare[..], &["--json"]].concat()).json()["bulk"]["id"].as_str().unwrap().to_owned();
    assert_eq!(world.state(&ids[0]), "failed");

    let shown = world.run(&["bulk", "show", &bulk, "--tasks", "2"]).well();
    assert!(
        shown.contains("prepared")
            && shown.lines().filter(|line| ids.contains(&(*line).to_owned())).count() == 2
    );
    let over = world.run(&["bulk", "begin", &bulk, "--wait"]).well();
    snapshot::check("bulk-over", &over);
    ids.iter().for_each(|id| world.reach(id, TaskState::Undone));
    let listed = world.run(&["bulk", "list"]).well();
    assert!(listed.contains(&bulk) && listed.lines().count() == 3, "{listed}");
}

#[test]
fn run_does_all_of_it_and_fails_if_some_refuse() {
    let world = World::start();
    failed(&world, 2);
    let run = |verb: &str, more: &[&str]| {
        let args = ["bulk", "run", verb, "--yes", "--state", "failed,undone", "--because", "ticket 311"];
        world.run(&[&args[..], more].concat())
    };
    let ran = run("retry", &["--step", "charge", "--json"]);
    assert_eq!((ran.code, &ran.json()["done"]), (Some(0), &json!(2)), "{ran:?}");
    let refused = run("pause", &[]);
    assert_eq!(refused.code, Some(1), "{refused:?}");
    assert!(refused.out.contains("refused"), "{refused:?}");
    let none = world.run(&["bulk", "run", "pause", "--yes", "--workflow", "parent", "--because", "x"]);
    assert!(none.well().contains("there is no task to ask"));
}

#[test]
fn a_bulk_that_was_begun_is_stopped() {
    let world = World::start();
    failed(&world, 3);
    let prepare =
        ["bulk", "prepare", "undo", "--state", "failed", "--rate", "0.001", "--because", "slowly", "--json"];
    let bulk = world.run(&prepare).json()["bulk"]["id"].as_str().unwrap().to_owned();
    world.run(&["bulk", "begin", &bulk]).well();
    assert!(world.run(&["bulk", "stop", &bulk]).well().contains("stopped"));
}

#[test]
fn bad_bulks_say_what_to_do() {
    let world = World::start();
    for (args, words) in [
        (vec!["run", "pause", "--state", "failed"], "there is nobody to ask: say --yes"),
        (vec!["prepare", "pause"], "say which tasks, such as --state failed; or --all"),
        (vec!["prepare", "retry", "--state", "failed"], "say which with --step NAME"),
        (vec!["prepare", "pause", "--step", "charge", "--all"], "--step means nothing for this action"),
        (vec!["prepare", "pause", "--happened", "--all"], "--happened means nothing"),
        (
            vec!["prepare", "skip", "--step", "a", "--did-not-happen", "--all"],
            "--did-not-happen means nothing",
        ),
        (vec!["prepare", "undo", "--none", "--all"], "a deadline means nothing"),
        (vec!["prepare", "deadline", "--all"], "say which deadline"),
        (vec!["prepare", "explode", "--all"], "invalid value 'explode'"),
        (vec!["prepare", "pause", "--all", "--rate", "0"], "give a number above 0"),
    ] {
        world.run(&[&["bulk"], &args[..], &["--because", "x"]].concat()).badly(2, words);
    }
    for verb in ["begin", "stop", "show"] {
        world.run(&["bulk", verb, "0192f3a0-5b1c-7d2e-8f00-0123456789ab"]).badly(1, "[SF");
    }
}
