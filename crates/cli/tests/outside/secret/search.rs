//! Every place where a secret could stand: all that the API can be asked, all that the command line prints, what the process has said, and
//! the bytes of every file that it has written.

use std::path::Path;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::needle::find;
use crate::serving::{Premises, Serving};

pub(super) struct Place {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
}

impl Place {
    pub(super) fn new(name: impl Into<String>, bytes: impl AsRef<[u8]>) -> Self {
        Self { name: name.into(), bytes: bytes.as_ref().to_vec() }
    }
}

/// All places. The server is stopped in between: its files are read while it works, and afterwards.
pub(super) async fn everywhere(premises: &Premises, serving: Serving) -> Vec<Place> {
    let client = serving.client();
    let tasks = client.tasks(&Default::default(), &Default::default()).await.unwrap().tasks;
    let ids: Vec<_> = tasks.into_iter().map(|task| task.id).collect();
    let bulks: Vec<_> = client.bulks(None).await.unwrap().bulks.into_iter().map(|bulk| bulk.id).collect();
    let flows: Vec<_> =
        client.workflows().await.unwrap().workflows.into_iter().map(|flow| flow.name).collect();
    let mut places = Vec::new();
    let document = client.openapi().await.unwrap();
    for path in gets(&document) {
        let of = match &path {
            path if path.contains("/bulks/{id}") => &bulks,
            path if path.contains("{id}") => &ids,
            path if path.contains("/workflows/{name}") => &flows,
            path if path.contains('{') => &vec!["bank".to_owned()],
            _ => &vec![String::new()],
        };
        for name in of {
            let path = path.replace("{id}", name).replace("{name}", name).replace("{service}", name);
            places.push(get(&serving, &path).await);
            if path.ends_with(&**name) && path.contains("/tasks/") {
                places.push(get(&serving, &format!("{path}?payloads=true")).await);
            }
        }
    }
    let copy = premises.path("copy.db");
    printed(&serving, premises, &ids, &flows, &copy, &mut places);
    files(premises.folder(), "while it works", &mut places);
    serving.terminate();
    let (code, said) = serving.ended();
    assert_eq!(code, Some(0));
    places.push(Place::new("log", said));
    files(premises.folder(), "afterwards", &mut places);
    places
}

/// Where the document has a GET.
fn gets(document: &Value) -> Vec<String> {
    let paths = document["paths"].as_object().unwrap();
    paths.iter().filter(|(_, item)| item["get"].is_object()).map(|(path, _)| path.clone()).collect()
}

async fn get(serving: &Serving, path: &str) -> Place {
    let host = serving.url.strip_prefix("http://").unwrap();
    let mut wire = TcpStream::connect(host).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n");
    wire.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    wire.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 2"), "GET {path}: {}", String::from_utf8_lossy(&answer));
    Place::new(format!("GET {path}"), answer)
}

/// What the command line prints, for people and for programs.
fn printed(
    serving: &Serving,
    premises: &Premises,
    ids: &[String],
    flows: &[String],
    copy: &Path,
    places: &mut Vec<Place>,
) {
    let settings = premises.path("steadfast.toml").display().to_string();
    let copy = copy.display().to_string();
    let mut lines: Vec<Vec<&str>> = vec![
        vec!["task", "list"],
        vec!["bulk", "list"],
        vec!["workflow", "list"],
        vec!["service", "list"],
        vec!["service", "show", "bank"],
        vec!["breaker", "list"],
        vec!["breaker", "show", "bank"],
        vec!["policy", "list"],
        vec!["audit", "list"],
        vec!["schedule", "list"],
        vec!["config", "check", &settings],
        vec!["store", "verify"],
    ];
    for id in ids {
        lines.extend([
            vec!["task", "show", id, "--full"],
            vec!["task", "why", id],
            vec!["task", "history", id],
            vec!["task", "children", id],
            vec!["task", "watch", id],
        ]);
    }
    lines.extend(flows.iter().map(|flow| vec!["workflow", "show", flow]));
    let more: Vec<Vec<&str>> = lines.iter().map(|line| [line.clone(), vec!["--json"]].concat()).collect();
    for line in lines.into_iter().chain(more).chain([vec!["store", "backup", &copy]]) {
        let ran = serving.ask(&line);
        places.push(Place::new(line.join(" "), [ran.stdout, ran.stderr].concat()));
    }
}

/// Every file of the premises but what the test itself has put there.
fn files(folder: &Path, when: &str, places: &mut Vec<Place>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        match path.is_dir() {
            true if name == "drawer" => {}
            true => files(&path, when, places),
            false => places.push(Place::new(format!("file {name} {when}"), std::fs::read(&path).unwrap())),
        }
    }
}

/// What is no secret and went the same ways stands where it should: a search that finds nothing anywhere proves nothing.
pub(super) fn was_thorough(places: &[Place], canary: &str) {
    for kind in [
        "file steadfast.db",
        "file steadfast.db-wal",
        "file copy.db",
        "/history",
        "/events",
        "/why",
        "?payloads=true",
        "GET /api/v1/audit",
        "GET /api/v1/bulks",
        "task show",
        "task watch",
        "task history",
        "audit list",
    ] {
        let found = places
            .iter()
            .any(|place| place.name.contains(kind) && find(&place.bytes, canary.as_bytes()).is_some());
        assert!(found, "`{canary}` stands nowhere in {kind}, where it should");
    }
    // What services say is not for the log; the calls are, down to their bytes.
    let log = places.iter().find(|place| place.name == "log").unwrap();
    for word in ["TRACE", "ERROR", "tell"] {
        assert!(find(&log.bytes, word.as_bytes()).is_some(), "the log has no {word}");
    }
}
