//! The OpenAPI document and the reference: made of the code, checked in, and the same.

use std::path::{Path, PathBuf};

use serde_json::Value;
use steadfast_server::{metrics_reference, openapi, reference};

use crate::world::World;

fn docs(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs").join(file)
}

/// Compares a file with what the code says; with `STEADFAST_BLESS=1` it is written anew.
fn is_as_checked_in(file: &str, text: &str) {
    let path = docs(file);
    if std::env::var_os("STEADFAST_BLESS").is_some() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, text).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    let differs = kept.lines().zip(text.lines()).position(|(kept, made)| kept != made);
    assert!(
        kept == text,
        "docs/{file} is not what the code says, from line {:?} on: run this test with STEADFAST_BLESS=1 and look at the change",
        differs.map(|line| line + 1)
    );
}

fn document() -> Value {
    serde_json::from_str(&openapi().to_json().unwrap()).unwrap()
}

#[test]
fn the_document_is_checked_in() {
    is_as_checked_in("openapi.json", &(openapi().to_pretty_json().unwrap() + "\n"));
}

#[test]
fn the_reference_is_made_of_the_document() {
    is_as_checked_in("reference/http.md", &reference(&openapi()));
}

#[test]
fn the_reference_of_metrics_is_made_of_the_code() {
    is_as_checked_in("reference/metrics.md", &metrics_reference());
}

/// T3: what the reference says is served.
#[tokio::test(flavor = "multi_thread")]
async fn every_metric_of_the_engine_is_served_with_its_kind() {
    let world = World::start().await;
    let served = world.client.metrics().await.unwrap();
    let reference = metrics_reference();
    let rows = reference.lines().filter_map(|line| line.strip_prefix("| `")?.split_once("` | "));
    let rows: Vec<_> = rows.filter(|(name, _)| name.starts_with("steadfast_engine_")).collect();
    assert!(rows.len() > 15, "{reference}");
    for (name, rest) in rows {
        let kind = rest.split(' ').next().unwrap();
        assert!(served.contains(&format!("# TYPE {name} {kind}\n{name} ")), "{name} {kind}\n{served}");
    }
    world.end().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_document_is_served() {
    let world = World::start().await;
    assert_eq!(world.client.openapi().await.unwrap(), document());
    world.end().await;
}

#[test]
fn every_route_says_what_it_is_for_what_it_answers_and_has_a_name_of_its_own() {
    let document = document();
    assert!(document["openapi"].as_str().unwrap().starts_with("3.1"));
    let mut names = std::collections::BTreeSet::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            let what = format!("{method} {path}");
            assert!(operation["summary"].as_str().is_some_and(|summary| !summary.is_empty()), "{what}");
            assert!(names.insert(operation["operationId"].as_str().unwrap().to_owned()), "{what}");
            let responses = operation["responses"].as_object().unwrap();
            assert!(responses.keys().any(|status| status.starts_with('2')), "{what}");
            for (status, response) in responses {
                let problem = &response["content"]["application/problem+json"]["schema"]["$ref"];
                assert!(
                    status.starts_with('2') || problem == "#/components/schemas/Problem",
                    "{what}: {status}"
                );
            }
        }
    }
}

#[test]
fn every_reference_inside_of_the_document_leads_somewhere() {
    fn walk<'d>(value: &'d Value, found: &mut Vec<&'d str>) {
        match value {
            Value::Object(object) => {
                found.extend(object.get("$ref").and_then(Value::as_str));
                object.values().for_each(|inner| walk(inner, found));
            }
            Value::Array(list) => list.iter().for_each(|inner| walk(inner, found)),
            _ => {}
        }
    }
    let document = document();
    let mut found = Vec::new();
    walk(&document, &mut found);
    assert!(found.len() > 50);
    for path in found {
        let pointer = path.strip_prefix('#').unwrap();
        assert!(document.pointer(pointer).is_some(), "{path}");
    }
}

#[test]
fn every_link_leads_to_a_route_that_takes_what_it_brings() {
    let document = document();
    let operations = || {
        let items = document["paths"].as_object().unwrap().values();
        items.flat_map(|item| item.as_object().unwrap().values())
    };
    let mut links = 0;
    for response in operations().flat_map(|operation| operation["responses"].as_object().unwrap().values()) {
        for (name, link) in response["links"].as_object().into_iter().flatten() {
            let to = operations().find(|operation| operation["operationId"] == link["operationId"]);
            let to = to.unwrap_or_else(|| panic!("`{name}` leads nowhere"));
            for part in link["parameters"].as_object().unwrap().keys() {
                let takes = |own: &Value| own["in"] == "path" && own["name"] == **part;
                assert!(
                    to["parameters"].as_array().unwrap().iter().any(takes),
                    "`{name}` does not take `{part}`"
                );
            }
            links += 1;
        }
    }
    assert!(links > 40, "there are {links}");
}
