//! Workflows, services, policies, schedules, health.

use serde_json::json;
use steadfast_client::wire::schedule::{Declared, Missed, NewSchedule, Overlap};
use steadfast_client::wire::workflow::{Change, Format};

use crate::raw::ask;
use crate::world::World;

#[tokio::test(flavor = "multi_thread")]
async fn workflows_are_listed_shown_and_taken_in() {
    let world = World::start().await;
    let client = &world.client;
    let all = client.workflows().await.unwrap().workflows;
    assert!(all.iter().any(|workflow| workflow.name == "echo"));
    assert!(
        all.iter().all(|workflow| workflow.versions[0].definition.is_none()),
        "a list leaves definitions out"
    );
    let echo = client.workflow("echo", None).await.unwrap();
    assert_eq!(echo.versions[0].definition, Some(json!({ "workflow": "echo" })));
    assert_eq!(client.workflow("echo", Some(1)).await.unwrap(), echo);
    for (name, version) in [("nobody", None), ("echo", Some(2))] {
        let unknown = client.workflow(name, version).await.unwrap_err();
        assert_eq!((unknown.code(), unknown.problem().unwrap().status), (Some("SF407"), 404));
    }
    let same = client.apply_workflow("echo", "workflow: echo", Format::Yaml, false).await.unwrap();
    assert_eq!(same.change, Change::Same);
    let new = client.apply_workflow("new", r#"{"workflow": "new"}"#, Format::Json, true).await.unwrap();
    assert_eq!((new.change, new.dry_run), (Change::New, true));
    let other = client.apply_workflow("new", "workflow: old", Format::Yaml, false).await.unwrap_err();
    assert_eq!(other.problem().unwrap().errors[0].place, "line 1, column 1");
    let path = "/api/v1/workflows/new";
    let plain = ask(world.address, "PUT", path, "content-type: text/plain\r\n", b"workflow: new").await;
    assert_eq!((plain.status, plain.code().as_str()), (415, "SF545"));
    let yaml = "content-type: text/yaml; charset=utf-8\r\n";
    let created = ask(world.address, "PUT", path, yaml, b"workflow: new").await;
    assert_eq!(created.status, 201, "{}", created.body);
    let latin = ask(world.address, "PUT", path, yaml, b"workflow: \xff").await;
    assert_eq!((latin.status, latin.code().as_str()), (400, "SF540"));
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn services_and_policies_are_listed() {
    let world = World::start().await;
    let services = world.client.services().await.unwrap().services;
    let names: Vec<_> = services.iter().map(|service| service.name.as_str()).collect();
    assert_eq!(names, ["bank", "bare", "echo"]);
    assert_eq!(services[0].breaker.as_deref(), Some("closed"));
    assert_eq!(services[1].breaker, None);
    // A name with a slash and a blank is one part of the address.
    let unknown = world.client.service("no/body is").await.unwrap_err();
    assert_eq!((unknown.code(), unknown.problem().unwrap().status), (Some("SF548"), 404));
    assert!(unknown.to_string().contains("there is no service `no/body is`"), "{unknown}");
    assert_eq!(world.client.policies().await.unwrap().policies[0].name, "standard");
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_is_declared_paused_resumed_and_removed() {
    let world = World::start().await;
    let client = &world.client.saying("ana@shop", "ticket 311");
    let schedule = NewSchedule {
        workflow: "echo".to_owned(),
        when: "30 2 * * MON-FRI".to_owned(),
        time_zone: Some("UTC".to_owned()),
        missed: Some(Missed::RunAll { most: 3 }),
        overlap: Some(Overlap::QueueOne),
        jitter_ms: Some(1_000),
        starts_at: Some("2026-01-01T00:00:00Z".to_owned()),
        ends_at: Some("2126-01-01T00:00:00Z".to_owned()),
        namespace: Some("shop".to_owned()),
        ..NewSchedule::default()
    };
    let name = "books.every-night";
    assert_eq!(client.put_schedule(name, &schedule).await.unwrap().declared, Declared::New);
    assert_eq!(client.put_schedule(name, &schedule).await.unwrap().declared, Declared::Same);
    let other = NewSchedule { jitter_ms: None, ..schedule.clone() };
    assert_eq!(client.put_schedule(name, &other).await.unwrap().declared, Declared::Changed);
    let listed = client.schedules().await.unwrap().schedules;
    assert_eq!((listed[0].name.as_str(), listed[0].missed), (name, Missed::RunAll { most: 3 }));
    assert!(listed[0].next.is_some());
    assert!(client.pause_schedule(name).await.unwrap().changed);
    assert!(!client.pause_schedule(name).await.unwrap().changed);
    assert!(client.schedules().await.unwrap().schedules[0].paused_since.is_some());
    assert!(client.resume_schedule(name).await.unwrap().changed);
    client.delete_schedule(name).await.unwrap();
    for error in [
        client.delete_schedule(name).await.err(),
        client.pause_schedule(name).await.err(),
        client.resume_schedule(name).await.err(),
    ] {
        let error = error.unwrap();
        assert_eq!((error.code(), error.problem().unwrap().status), (Some("SF433"), 404));
    }
    let bad = [
        (NewSchedule { when: "at dawn".to_owned(), ..schedule.clone() }, 422, "SF431"),
        (NewSchedule { time_zone: Some("Moon/Base".to_owned()), ..schedule.clone() }, 422, "SF432"),
        (NewSchedule { workflow: "nobody".to_owned(), ..schedule.clone() }, 404, "SF407"),
        (NewSchedule { starts_at: Some("soon".to_owned()), ..schedule }, 422, "SF540"),
    ];
    for (schedule, status, code) in bad {
        let refused = client.put_schedule("bad", &schedule).await.unwrap_err();
        assert_eq!((refused.problem().unwrap().status, refused.code()), (status, Some(code)), "{refused}");
    }
    assert_eq!(client.schedules().await.unwrap().schedules.len(), 0);
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_says_whether_it_is_well() {
    let world = World::start().await;
    world.client.is_alive().await.unwrap();
    world.client.is_ready().await.unwrap();
    let metrics = world.client.metrics().await.unwrap();
    assert!(
        metrics.contains("# TYPE steadfast_engine_owned_tasks gauge\nsteadfast_engine_owned_tasks 0\n"),
        "{metrics}"
    );
    world.engine.clone().shut_down().await.unwrap();
    let stopped = world.client.is_ready().await.unwrap_err();
    assert_eq!((stopped.code(), stopped.is_transient()), (Some("SF553"), true));
    assert!(stopped.to_string().contains("the engine has stopped"), "{stopped}");
    world.client.is_alive().await.unwrap();
    world.stop.send(true).unwrap();
    world.door.await.unwrap().unwrap();
}
