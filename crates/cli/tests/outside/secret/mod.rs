//! Secrets: they arrive at the service, which tells them back in every way there is, and stand nowhere else: in no file of the store, no
//! line of the log, no answer of the API, nothing that the command line prints.

mod echo;
mod needle;
mod search;

use serde_json::json;
use std::time::Duration;
use steadfast_client::wire::ask::Ask;
use steadfast_client::wire::bulk::{Action, NewBulk};
use steadfast_client::wire::filter::Filter;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;

use crate::serving::{Premises, Serving, until};
use echo::Echo;
use needle::Needle;

/// With signs that are written otherwise in JSON, in addresses and in logs.
const TOKEN: &str = "t0k3n-Qx7/\"zz\"&vZ 9mm";
const PASSWORD: &str = "hunter22-Correct-Horse";
/// A header of each call to the service, from the settings.
const HOUSE: &str = "h0use-K3y-Battery-Staple";
/// What is no secret, and goes the same ways: where this is not found, nothing could be.
const CANARY: &str = "canary-4711-in-the-mine";
const LONG: Duration = Duration::from_secs(60);

/// The ways in which the service tells what it was sent, with how the task ends.
const WAYS: [(&str, TaskState); 6] = [
    ("echo", TaskState::Completed),
    ("refuse", TaskState::Undone),
    ("redirect", TaskState::Undone),
    ("broken", TaskState::Undone),
    ("fail", TaskState::Undone),
    ("encoded", TaskState::Completed),
];

/// A workflow that calls once what is well, and is undone with secrets too, and then in this way.
fn workflow(way: &str) -> String {
    let call = |path: &str| {
        format!(
            "{{ method: POST, path: {path}, headers: {{ Authorization: \"Bearer secret://token\" }}, \
             body: {{ password: \"secret://password\", canary: \"${{input.canary}}\" }} }}"
        )
    };
    let (first, second, undo) = (call("/echo"), call(&format!("/{way}")), call("/undo"));
    format!(
        "workflow: {way}\nreturns: tell\nsteps:\n  first:\n    service: bank\n    request: {first}\n    undo: {undo}\n  tell:\n    after: first\n    \
         service: bank\n    request: {second}\n    output: {{ status: \"${{response.status}}\", headers: \"${{response.headers}}\", body: \"${{response.body}}\" }}\n    \
         nothing_to_undo: true\n"
    )
}

fn settings(echo: &Echo, more: &str) -> String {
    format!(
        "{more}\n[log]\nlevel = \"trace\"\n[retry.once]\nstrategy = \"fixed\"\nwait = \"10ms\"\nmax_retries = 1\n\
         [service.bank]\nurl = \"{}\"\nretry = \"once\"\nsecrets = [\"token\", \"password\"]\nheaders = {{ X-House = \"secret://house\" }}\n",
        echo.url()
    )
}

fn premises(echo: &Echo, more: &str) -> Premises {
    let flows: Vec<_> = WAYS.iter().map(|(way, _)| (format!("{way}.yaml"), workflow(way))).collect();
    let flows: Vec<_> = flows.iter().map(|(name, text)| (&**name, &**text)).collect();
    Premises::new(&settings(echo, more), &flows)
}

/// One task goes each way, and operators ask this and that.
async fn live(serving: &Serving) {
    let client = serving.client();
    for (way, state) in WAYS {
        let submit = Submit::new(way, json!({ "canary": CANARY })).key(format!("key-{way}"));
        let id = client.submit(&submit).await.unwrap().id;
        let is_there = || async { client.task(&id, false).await.unwrap().summary.state == state };
        until(&format!("`{way}` is {state}"), LONG, is_there).await;
    }
    let some = client.tasks(&Filter::default(), &Default::default()).await.unwrap().tasks;
    let done = some.iter().find(|task| task.state == TaskState::Completed).unwrap();
    client.undo(&done.id, &Ask::new("ana", CANARY)).await.unwrap();
    let is_undone =
        || async { client.task(&done.id, false).await.unwrap().summary.state == TaskState::Undone };
    until("it is undone", LONG, is_undone).await;
    let bulk = NewBulk {
        filter: Filter { workflow: Some("refuse".to_owned()), ..Filter::default() },
        action: Action::Resume,
        by: "ana".to_owned(),
        because: CANARY.to_owned(),
        rate: None,
        most: None,
    };
    client.prepare_bulk(&bulk).await.unwrap();
}

async fn nothing_shows_them(premises: Premises, echo: &Echo) {
    let serving = premises.open();
    live(&serving).await;
    echo.has_seen(&[TOKEN, PASSWORD, HOUSE]);
    let places = search::everywhere(&premises, serving).await;
    let needles: Vec<_> = [TOKEN, PASSWORD, HOUSE].into_iter().map(Needle::new).collect();
    let shown: Vec<_> = places
        .iter()
        .flat_map(|place| needles.iter().filter_map(move |needle| needle.shown_in(place)))
        .collect();
    assert!(shown.is_empty(), "{}", shown.join("\n"));
    search::was_thorough(&places, CANARY);
}

/// A4: out of the environment.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_the_environment_stands_nowhere() {
    let echo = Echo::open().await;
    let mut premises = premises(&echo, "");
    for (name, value) in [
        ("STEADFAST_SECRET_TOKEN", TOKEN),
        ("STEADFAST_SECRET_PASSWORD", PASSWORD),
        ("STEADFAST_SECRET_HOUSE", HOUSE),
    ] {
        premises.variables.push((name, value.to_owned()));
    }
    nothing_shows_them(premises, &echo).await;
}

/// A4: out of a folder, with the log in JSON.
#[tokio::test(flavor = "multi_thread")]
async fn a_secret_of_the_folder_stands_nowhere() {
    let echo = Echo::open().await;
    let mut premises = premises(&echo, "secrets = \"drawer\"");
    premises.variables.push(("STEADFAST_LOG__FORMAT", "json".to_owned()));
    let drawer = premises.path("drawer");
    std::fs::create_dir(&drawer).unwrap();
    for (name, value) in [("token", TOKEN), ("password", PASSWORD), ("house", HOUSE)] {
        std::fs::write(drawer.join(name), format!("{value}\n")).unwrap();
    }
    nothing_shows_them(premises, &echo).await;
}

/// The search is no good if it finds nothing: this one was put where secrets do not belong.
#[tokio::test(flavor = "multi_thread")]
async fn what_was_put_into_an_input_is_found_wherever_inputs_stand() {
    let echo = Echo::open().await;
    let mut premises = premises(&echo, "");
    for name in ["STEADFAST_SECRET_TOKEN", "STEADFAST_SECRET_PASSWORD", "STEADFAST_SECRET_HOUSE"] {
        premises.variables.push((name, "another-one-entirely".to_owned()));
    }
    let serving = premises.open();
    let misplaced = Submit::new("refuse", json!({ "canary": PASSWORD }));
    serving.client().submit_and_wait(&misplaced, LONG).await.unwrap();
    let places = search::everywhere(&premises, serving).await;
    let needle = Needle::new(PASSWORD);
    let shown: Vec<_> = places.iter().filter_map(|place| needle.shown_in(place)).collect();
    for kind in ["file steadfast.db", "file copy.db", "GET /api/v1/tasks/", "task show"] {
        assert!(shown.iter().any(|place| place.contains(kind)), "{kind} is not in:\n{}", shown.join("\n"));
    }
}
