//! What is done over the API and is about no task is in the audit log, with who, when and why.

use serde_json::json;
use steadfast_client::Client;
use steadfast_client::wire::audit::{Audit, AuditFilter};
use steadfast_client::wire::breaker::{Force, ForceOpen};
use steadfast_client::wire::filter::Paging;
use steadfast_client::wire::schedule::NewSchedule;
use steadfast_client::wire::workflow::Format;

use crate::raw::{JSON, ask};
use crate::world::World;

const BY: &str = "ana@shop";
const BECAUSE: &str = "ticket 311";

/// The log, oldest first.
async fn log(client: &Client) -> Vec<Audit> {
    let mut audits = client.audit(&AuditFilter::default(), &Paging::default()).await.unwrap().audits;
    audits.reverse();
    audits
}

/// Action, what it was about, and whether it was refused.
fn told(audits: &[Audit]) -> Vec<(&str, &str, bool)> {
    let told = |audit: &'_ Audit| audit.about.is_some() && audit.task.is_none();
    assert!(audits.iter().all(told), "{audits:?}");
    audits
        .iter()
        .map(|audit| {
            (audit.action.as_str(), audit.about.as_deref().unwrap_or_default(), audit.refused.is_some())
        })
        .collect()
}

fn force() -> Force {
    Force { by: BY.to_owned(), because: BECAUSE.to_owned() }
}

/// O3
#[tokio::test(flavor = "multi_thread")]
async fn a_breaker_that_is_set_by_hand_is_in_the_log_with_who_when_and_why() {
    let world = World::start().await;
    let client = &world.client;
    client.probe_breaker("bank", &force()).await.unwrap_err();
    let open = ForceOpen { by: BY.to_owned(), because: BECAUSE.to_owned(), for_ms: Some(600_000) };
    client.open_breaker("bank", &open).await.unwrap();
    client.probe_breaker("bank", &force()).await.unwrap();
    client.half_open_breaker("bank", &force()).await.unwrap();
    client.close_breaker("bank", &force()).await.unwrap();
    client.reset_breaker("bank", &force()).await.unwrap();
    // What makes no sense is nobody's deed.
    client.reset_breaker("nobody", &force()).await.unwrap_err();
    client.reset_breaker("bank", &Force { by: String::new(), ..force() }).await.unwrap_err();
    let log = log(client).await;
    let actions =
        ["probe", "open", "probe", "half-open", "close", "reset"].map(|verb| format!("breaker {verb}"));
    let expected: Vec<_> =
        actions.iter().enumerate().map(|(nth, action)| (action.as_str(), "service bank", nth == 0)).collect();
    assert_eq!(told(&log), expected);
    assert!(log.iter().all(|audit| audit.by == BY && audit.because == BECAUSE), "{log:?}");
    assert!(log.iter().all(|audit| audit.at.ends_with('Z')), "{log:?}");
    let before: Vec<_> = log.iter().map(|audit| audit.detail["before"].clone()).collect();
    assert_eq!(before, ["closed", "closed", "forced_open", "half_open", "half_open", "forced_closed"]);
    assert_eq!(log[1].detail["for_ms"], json!(600_000));
    assert!(log[0].refused.as_ref().is_some_and(|why| why.contains("only one that is open")), "{log:?}");
    let filter = AuditFilter { action: Some("breaker open".to_owned()), ..AuditFilter::default() };
    assert_eq!(client.audit(&filter, &Paging::default()).await.unwrap().audits, [log[1].clone()]);
    world.end().await;
}

/// O3
#[tokio::test(flavor = "multi_thread")]
async fn what_is_done_to_schedules_is_in_the_log() {
    let world = World::start().await;
    let client = &world.client.saying(BY, BECAUSE);
    let schedule = NewSchedule {
        workflow: "echo".to_owned(),
        when: "@daily".to_owned(),
        input: json!({ "card": "4242" }),
        ..NewSchedule::default()
    };
    client.put_schedule("books", &schedule).await.unwrap();
    client.pause_schedule("books").await.unwrap();
    client.resume_schedule("books").await.unwrap();
    client.delete_schedule("books").await.unwrap();
    // What makes no sense, or is about nothing, is nobody's deed.
    let bad = NewSchedule { when: "at dawn".to_owned(), ..schedule.clone() };
    client.put_schedule("books", &bad).await.unwrap_err();
    client.pause_schedule("nobody").await.unwrap_err();
    let log = log(client).await;
    let about = "schedule books";
    let verbs = ["schedule set", "schedule pause", "schedule resume", "schedule remove"];
    assert_eq!(told(&log), verbs.map(|verb| (verb, about, false)));
    assert!(log.iter().all(|audit| audit.by == BY && audit.because == BECAUSE), "{log:?}");
    assert_eq!(log[0].detail["declared"]["when"], "@daily");
    assert!(!format!("{log:?}").contains("4242"), "an input is somebody's: {log:?}");
    world.end().await;
}

/// O3
#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_taken_in_is_in_the_log_once() {
    let world = World::start().await;
    let client = &world.client.saying(BY, "");
    client.apply_workflow("new", "workflow: new", Format::Yaml, true).await.unwrap();
    client.apply_workflow("echo", "workflow: echo", Format::Yaml, false).await.unwrap();
    client.apply_workflow("new", "workflow: old", Format::Yaml, false).await.unwrap_err();
    assert_eq!(log(client).await, [], "checked, the same, and refused");
    client.apply_workflow("new", "workflow: new", Format::Yaml, false).await.unwrap();
    let log = log(client).await;
    assert_eq!(told(&log), [("workflow apply", "workflow new", false)]);
    assert_eq!((log[0].by.as_str(), log[0].because.as_str()), (BY, ""));
    assert_eq!(log[0].detail["version"], 1);
    world.end().await;
}

/// O3: an engine in memory cannot be copied.
#[tokio::test(flavor = "multi_thread")]
async fn what_could_not_be_done_after_all_has_a_second_entry_that_says_why() {
    let world = World::start().await;
    let body = json!({ "to": "/nowhere/copy.db" }).to_string();
    let answer = ask(world.address, "POST", "/api/v1/store/backup", JSON, body.as_bytes()).await;
    assert!(answer.status >= 400, "{answer:?}");
    let log = log(&world.client).await;
    assert_eq!(told(&log), [("store backup", "store", false), ("store backup", "store", true)]);
    assert_eq!((log[1].by.as_str(), &log[1].detail["to"]), ("somebody", &json!("/nowhere/copy.db")));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn nobody_pauses_or_removes_a_schedule_without_a_name_and_a_reason() {
    let world = World::start().await;
    for (method, path) in [("POST", "/pause"), ("POST", "/resume"), ("DELETE", "")] {
        for (query, place) in
            [("", "query.by"), ("?by=ana", "query.because"), ("?by=+&because=x", "query.by")]
        {
            let path = format!("/api/v1/schedules/books{path}{query}");
            let refused = ask(world.address, method, &path, "", b"").await;
            assert_eq!((refused.status, refused.code().as_str()), (400, "SF541"), "{path}: {refused:?}");
            assert!(refused.body.contains(place), "{path}: {refused:?}");
        }
    }
    assert_eq!(log(&world.client).await, []);
    world.end().await;
}
