//! Alerts of a server as a process: they outlive it, and what they are signed with is said nowhere.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};

use serde_json::Value;
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Ending, Ledger, Script};

const BINARY: &str = env!("CARGO_BIN_EXE_steadfast");
const KEY: &str = "a-key-that-is-written-nowhere";
const TAKEN: Ending = Ending::Answered(200);
const TOKEN: &str = "a-token-that-is-written-nowhere";
const FLOW: &str = "workflow: pay\nsteps:\n  charge:\n    service: bank\n    request: { method: POST, path: /charges }\n    \
                    nothing_to_undo: true\n    on_failure: error\n";

/// A server, and all that it has said. It is killed when it is dropped.
struct Serving {
    process: Child,
    url: String,
    said: Arc<Mutex<String>>,
}

impl Serving {
    fn start(folder: &Path) -> Self {
        let mut process = Command::new(BINARY)
            .args(["serve", "--config"])
            .arg(folder.join("steadfast.toml"))
            .env("STEADFAST_SECRET_PAGER_KEY", KEY)
            .env("STEADFAST_SECRET_PAGER_TOKEN", TOKEN)
            .env("STEADFAST_LOG__LEVEL", "debug")
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let said = Arc::new(Mutex::new(String::new()));
        let (heard, listens) = (Arc::clone(&said), std::sync::mpsc::channel());
        let mut lines = BufReader::new(process.stderr.take().unwrap()).lines();
        std::thread::spawn(move || {
            while let Some(Ok(line)) = lines.next() {
                if line.contains("listens on") {
                    let url = line.split_whitespace().find(|word| word.starts_with("http://"));
                    let _ = listens.0.send(url.unwrap_or_default().trim_end_matches(',').to_owned());
                }
                *heard.lock().unwrap() += &format!("{line}\n");
            }
        });
        let url = listens.1.recv().unwrap_or_else(|_| panic!("it did not start: {}", said.lock().unwrap()));
        Self { process, url, said }
    }

    fn kill(mut self) -> String {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
        let said = self.said.lock().unwrap();
        said.clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

fn answering(status: u16) -> Server {
    let answer = Answer::new().status(status).header("content-type", "application/json").body("{}");
    Server::start(Script::answer(answer).unwrap()).unwrap()
}

/// O1
#[tokio::test]
async fn an_alert_outlives_a_server_that_is_killed_and_its_key_is_said_nowhere() {
    let folder = tempfile::tempdir().unwrap();
    let (bank, pager) = (answering(402), answering(500));
    std::fs::create_dir(folder.path().join("flows")).unwrap();
    std::fs::write(folder.path().join("flows/pay.yaml"), FLOW).unwrap();
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkflows = \"flows\"\n[service.bank]\nurl = \"{}\"\n\
         [alerts]\nfirst_wait = \"50ms\"\nlongest_wait = \"200ms\"\ntries = 1000\n\
         [alerts.webhook.pager]\nurl = \"{}\"\nsign_with = \"pager-key\"\nheaders = {{ X-Token = \"secret://pager-token\" }}\n",
        bank.url(),
        pager.url()
    );
    std::fs::write(folder.path().join("steadfast.toml"), settings).unwrap();
    let serving = Serving::start(folder.path());
    let submit = ["task", "submit", "pay", "--wait", "--input", "{}", "--json"];
    let failed = Command::new(BINARY).args(["--server", &serving.url]).args(submit).output().unwrap();
    assert!(!failed.status.success(), "{failed:?}");
    pager.ledger_when(|ledger| ledger.attempts() >= 2).await;
    let before = serving.kill();
    let answer = Answer::new().status(200);
    pager.follow(Script::answer(answer).unwrap());
    let missed = pager.ledger().attempts();
    let serving = Serving::start(folder.path());
    // One whose head has come is in the ledger before its body has.
    let is_taken = |ledger: &Ledger| ledger.attempts() > missed && ledger.endings().ends_with(&[TAKEN]);
    let ledger = pager.ledger_when(is_taken).await;
    let after = serving.kill();
    let alert = last(&ledger);
    assert_eq!(
        (alert["kind"].as_str(), ledger.keys().len()),
        (Some("task-failed"), 1),
        "one id, however often"
    );
    assert!(before.contains("webhook `pager` answered 500"), "{before}");
    for said in [&before, &after] {
        assert!(!said.contains(KEY) && !said.contains(TOKEN), "{said}");
    }
    assert!(!format!("{alert}").contains(KEY), "{alert}");
}

fn last(ledger: &Ledger) -> Value {
    serde_json::from_slice(ledger.entries().last().unwrap().request().body()).unwrap()
}
