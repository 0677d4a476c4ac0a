//! Alerts that are posted to webhooks: signed, at least once, whoever else fails.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use serde_json::{Value, json};
use sha2::Sha256;
use steadfast_client::Client;
use steadfast_client::wire::breaker::ForceOpen;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;
use steadfast_server::{Config, Running};
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Ledger, Request, Script};

const KEY: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const TOKEN: &str = "a-token-that-nobody-knows";

/// One step that fails into an operator's hands.
const PAY: &str = "workflow: pay\nsteps:\n  charge:\n    service: bank\n    request: { method: POST, path: /charges }\n    \
                   nothing_to_undo: true\n    on_failure: error\n";

fn answering(status: u16) -> Script {
    Script::answer(Answer::new().status(status).header("content-type", "application/json").body("{}"))
        .unwrap()
        .into()
}

/// A folder with settings, a workflow and secrets, and a bank that declines.
struct Place {
    folder: tempfile::TempDir,
    bank: Server,
}

impl Place {
    fn new(webhooks: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("flows/pay.yaml", PAY), ("secrets/pager-key", KEY), ("secrets/pager-token", TOKEN)]
        {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let place = Self { folder, bank: Server::start(answering(402)).unwrap() };
        place.settings(webhooks);
        place
    }

    fn settings(&self, webhooks: &str) {
        let bank = self.bank.url();
        let text = format!(
            "listen = \"127.0.0.1:0\"\nworkflows = \"flows\"\nsecrets = \"secrets\"\n[service.bank]\nurl = \"{bank}\"\n\
             [alerts]\nfirst_wait = \"20ms\"\nlongest_wait = \"200ms\"\ntries = 1000\n{webhooks}"
        );
        std::fs::write(self.file(), text).unwrap();
    }

    fn file(&self) -> std::path::PathBuf {
        self.folder.path().join("steadfast.toml")
    }

    async fn start(&self) -> (Running, Client) {
        let running = steadfast_server::start(read(&self.file()), None, Vec::new()).await.unwrap();
        let client = Client::new(&format!("http://{}", running.address())).unwrap();
        (running, client)
    }
}

fn read(file: &Path) -> Config {
    Config::read(Some(file), []).unwrap()
}

fn webhook(name: &str, to: &Server, more: &str) -> String {
    format!("[alerts.webhook.{name}]\nurl = \"{}/hooks/7\"\n{more}", to.url())
}

const SIGNED: &str =
    "headers = { Authorization = \"Bearer secret://pager-token\" }\nsign_with = \"pager-key\"\n";

/// A task that fails; its id.
async fn fail(client: &Client) -> String {
    let done = client.submit_and_wait(&Submit::new("pay", json!({})), Duration::from_secs(20)).await.unwrap();
    assert_eq!(done.outcome.unwrap().state, TaskState::Failed);
    done.id
}

/// The alerts that were taken, each with what it came in.
fn taken(ledger: &Ledger) -> Vec<(Value, Request)> {
    // One whose body is still on its way is none yet.
    let read = |request: &Request| Some((serde_json::from_slice(request.body()).ok()?, request.clone()));
    ledger.entries().iter().filter_map(|entry| read(entry.request())).collect()
}

fn is_of(kind: &str) -> impl Fn(&Ledger) -> bool {
    move |ledger| taken(ledger).iter().any(|(alert, _)| alert["kind"] == kind)
}

/// Whether a message is signed as Standard Webhooks has it, seen from the other side.
fn is_signed(request: &Request) -> bool {
    let header = |name| request.header(name).unwrap();
    let key = BASE64.decode(KEY.strip_prefix("whsec_").unwrap()).unwrap();
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).unwrap();
    mac.update(format!("{}.{}.", header("webhook-id"), header("webhook-timestamp")).as_bytes());
    mac.update(request.body());
    let signature = BASE64.decode(header("webhook-signature").strip_prefix("v1,").unwrap()).unwrap();
    mac.verify_slice(&signature).is_ok()
}

/// O1: each has one id wherever it is, is signed, and says what to do.
#[tokio::test(flavor = "multi_thread")]
async fn a_task_that_fails_and_a_breaker_that_opens_are_posted_and_signed() {
    let pager = Server::start(answering(204)).unwrap();
    let place = Place::new(&webhook("pager", &pager, SIGNED));
    let (running, client) = place.start().await;
    let id = fail(&client).await;
    let open = ForceOpen { by: "ana".to_owned(), because: "repairs".to_owned(), for_ms: None };
    client.open_breaker("bank", &open).await.unwrap();
    let both = |ledger: &Ledger| is_of("task-failed")(ledger) && is_of("circuit-opened")(ledger);
    let ledger = pager.ledger_when(both).await;
    for (alert, request) in taken(&ledger) {
        assert_eq!((request.method(), request.path()), ("POST", "/hooks/7"));
        assert_eq!(request.header("authorization"), Some(format!("Bearer {TOKEN}").as_str()));
        assert_eq!(request.header("webhook-id"), alert["id"].as_str());
        assert_eq!(request.key(), alert["id"].as_str(), "whoever knows keys repeats nothing");
        let seconds: u64 = request.header("webhook-timestamp").unwrap().parse().unwrap();
        assert!(seconds > 1_700_000_000, "{seconds}");
        assert!(is_signed(&request), "{request:?}");
        assert!(alert["advice"].as_str().is_some_and(|advice| !advice.is_empty()), "{alert}");
    }
    let failed: Vec<_> =
        taken(&ledger).into_iter().filter(|(alert, _)| alert["kind"] == "task-failed").collect();
    assert_eq!((failed.len(), &failed[0].0["task"]), (1, &json!(id)));
    running.shut_down().await.unwrap();
}

/// O1: it is stored with the failure, and told until somebody takes it.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_receiver_could_not_take_arrives_when_the_server_has_been_started_again() {
    let pager = Server::start(answering(200)).unwrap();
    pager.switch_off();
    let place = Place::new(&webhook("pager", &pager, SIGNED));
    let (running, client) = place.start().await;
    let id = fail(&client).await;
    running.shut_down().await.unwrap();
    assert_eq!(taken(&pager.ledger()).len(), 0, "it was away");
    let (running, _) = place.start().await;
    pager.switch_on();
    let ledger = pager.ledger_when(is_of("task-failed")).await;
    let (alert, request) = &taken(&ledger)[0];
    assert!(alert["task"] == id && is_signed(request), "{alert}");
    running.shut_down().await.unwrap();
}

/// One that hangs, one that fails and one whose secret is missing keep neither the fourth nor each other.
#[tokio::test(flavor = "multi_thread")]
async fn a_receiver_that_hangs_or_fails_holds_nobody_back_and_is_told_again_alone() {
    let slow = Server::start(Script::hang()).unwrap();
    let (broken, pager) = (Server::start(answering(503)).unwrap(), Server::start(answering(200)).unwrap());
    let webhooks = [
        webhook("slow", &slow, ""),
        webhook("broken", &broken, ""),
        webhook("keyless", &pager, "sign_with = \"nobody-has-this\"\n"),
        webhook("pager", &pager, "kinds = [\"task-failed\"]\n"),
    ];
    let place = Place::new(&format!("within = \"300ms\"\n{}", webhooks.concat()));
    let (running, client) = place.start().await;
    let ids = [fail(&client).await, fail(&client).await];
    let tasks = |ledger: &Ledger| {
        let mut tasks: Vec<_> =
            taken(ledger).iter().map(|(alert, _)| alert["task"].as_str().unwrap().to_owned()).collect();
        tasks.dedup();
        tasks
    };
    let ledger = pager.ledger_when(|ledger| tasks(ledger).len() == 2).await;
    assert!(tasks(&ledger).iter().all(|task| ids.contains(task)), "{ids:?}");
    // The two that fail are told again; who has taken it is not, as long as this server lives.
    broken.ledger_when(|ledger| ledger.attempts() >= 6).await;
    slow.ledger_when(|ledger| ledger.attempts() >= 4).await;
    assert_eq!(pager.ledger().attempts(), 2);
    assert!(broken.ledger().keys().len() == 2, "each time under the same id");
    broken.follow(answering(200));
    running.shut_down().await.unwrap();
}

/// Address, secrets and kinds follow the settings; which webhooks there are does not.
#[tokio::test(flavor = "multi_thread")]
async fn a_webhook_follows_the_settings_while_the_server_works() {
    let (before, after) = (Server::start(answering(500)).unwrap(), Server::start(answering(200)).unwrap());
    let place = Place::new(&webhook("pager", &before, ""));
    let (running, client) = place.start().await;
    fail(&client).await;
    before.ledger_when(is_of("task-failed")).await;
    place.settings(&webhook("pager", &after, SIGNED));
    running.reload();
    let ledger = after.ledger_when(is_of("task-failed")).await;
    assert!(is_signed(&taken(&ledger)[0].1));
    // What makes no sense changes nothing.
    place.settings("[alerts.webhook.pager]\nurl = \"ftp://nowhere\"\n");
    running.reload();
    fail(&client).await;
    after.ledger_when(|ledger| ledger.attempts() == 2).await;
    running.shut_down().await.unwrap();
}
