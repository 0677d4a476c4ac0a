//! `steadfast serve` as a process: workflow files over web services, killed and stopped, and asked by the command line.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Script};

const BINARY: &str = env!("CARGO_BIN_EXE_steadfast");
const INPUT: &str = r#"{"order":"o-1","sku":"chair","quantity":1,"total_cents":1299,"card":"good"}"#;

/// A server in a folder of its own, over the workflow of `examples/hello`. It is killed when it is dropped.
pub(crate) struct Serving {
    process: Child,
    pub(crate) url: String,
}

impl Serving {
    pub(crate) fn start(folder: &Path) -> Self {
        let mut process = Command::new(BINARY)
            .args(["serve", "--config"])
            .arg(folder.join("steadfast.toml"))
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        let mut said = String::new();
        let listens = lines.by_ref().map_while(Result::ok).find(|line| {
            said = format!("{said}\n{line}");
            line.contains("listens on")
        });
        let line = listens.unwrap_or_else(|| panic!("it did not start, and said:{said}"));
        let url = line.split_whitespace().find(|word| word.starts_with("http://")).unwrap();
        let url = url.trim_end_matches(',').to_owned();
        // Somebody reads what it says, or it would wait for that.
        std::thread::spawn(move || lines.map_while(Result::ok).for_each(drop));
        Self { process, url }
    }

    pub(crate) fn ask(&self, args: &[&str]) -> Output {
        Command::new(BINARY).args(["--server", &self.url]).args(args).output().unwrap()
    }

    /// What it answers to a plain GET, head and all.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.url.trim_start_matches("http://")).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// Has it stop in good order; its exit code.
    fn terminate(&mut self) -> Option<i32> {
        let id = self.process.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &id]).status().unwrap().success());
        self.process.wait().unwrap().code()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn yes() -> Server {
    let answer = Answer::new().status(200).header("content-type", "application/json").body(r#"{"id":"x-7"}"#);
    Server::start(Script::answer(answer).unwrap()).unwrap()
}

fn settings(folder: &Path, inventory: &Server, payments: &Server) {
    let flows = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/hello/workflows");
    let text = format!(
        "listen = \"127.0.0.1:0\"\nworkflows = \"{flows}\"\n[service.inventory]\nurl = \"{}\"\n[service.payments]\nurl = \"{}\"\n",
        inventory.url(),
        payments.url()
    );
    std::fs::write(folder.join("steadfast.toml"), text).unwrap();
}

pub(crate) fn out(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A4, X1: a server of files alone does the work, is killed in the middle of its life, goes on, and stops in good order.
#[test]
fn a_server_of_files_outlives_a_kill_and_stops_in_good_order() {
    let folder = tempfile::tempdir().unwrap();
    let (inventory, payments) = (yes(), yes());
    settings(folder.path(), &inventory, &payments);
    let serving = Serving::start(folder.path());
    let done = serving.ask(&["task", "submit", "order", "--wait", "--input", INPUT, "--key", "o-1"]);
    assert_eq!((done.status.code(), out(&done).contains("x-7")), (Some(0), true), "{done:?}");
    let shown = out(&serving.ask(&["workflow", "show", "order"]));
    assert!(shown.contains("reserve") && shown.contains("charge") && shown.contains('│'), "{shown}");
    drop(serving);

    payments.switch_off();
    let mut serving = Serving::start(folder.path());
    let again = serving.ask(&["task", "submit", "order", "--wait", "--input", INPUT, "--key", "o-1"]);
    assert_eq!(
        (again.status.code(), payments.ledger().attempts()),
        (Some(0), 1),
        "the key is known: {again:?}"
    );
    let waits = serving.ask(&["task", "submit", "order", "--input", INPUT, "--json"]);
    let waits: serde_json::Value = serde_json::from_slice(&waits.stdout).unwrap();
    let id = waits["id"].as_str().unwrap();
    drop(serving);
    payments.switch_on();
    serving = Serving::start(folder.path());
    let watched = serving.ask(&["task", "watch", id]);
    assert_eq!(watched.status.code(), Some(0), "{watched:?}");
    assert_eq!(serving.terminate(), Some(0));
}

/// T3: times are counted in buckets, and added up also where nobody asks.
#[test]
fn what_a_server_measures_is_counted_in_buckets() {
    let folder = tempfile::tempdir().unwrap();
    let (inventory, payments) = (yes(), yes());
    settings(folder.path(), &inventory, &payments);
    let serving = Serving::start(folder.path());
    assert_eq!(serving.ask(&["task", "submit", "order", "--wait", "--input", INPUT]).status.code(), Some(0));
    let measured = serving.get("/metrics");
    for bucket in ["steadfast_http_request_seconds_bucket{", "steadfast_call_duration_seconds_bucket{"] {
        assert!(measured.contains(bucket), "{measured}");
    }
}

/// What is wrong with settings is said with its place, and nothing starts.
#[test]
fn settings_that_make_no_sense_are_refused_with_their_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("steadfast.toml");
    std::fs::write(&file, "listn = \"127.0.0.1:0\"\n").unwrap();
    for args in [&["serve", "--config"][..], &["config", "check"], &["config", "check", "--config"]] {
        let refused = Command::new(BINARY).args(args).arg(&file).output().unwrap();
        let words = String::from_utf8_lossy(&refused.stderr).into_owned();
        assert_eq!(refused.status.code(), Some(1), "{words}");
        assert!(words.contains("steadfast.toml:1:1: listn: unknown key: did you mean `listen`?"), "{words}");
    }
}
