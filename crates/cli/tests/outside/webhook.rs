//! Alerts outlive the process that should have told them, and what they are signed with is said nowhere.

use serde_json::Value;
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Ending, Ledger, Script};

use crate::serving::Premises;

const KEY: &str = "a-key-that-is-written-nowhere";
const TOKEN: &str = "a-token-that-is-written-nowhere";
const TAKEN: Ending = Ending::Answered(200);
const FLOW: (&str, &str) = (
    "pay.yaml",
    "workflow: pay\nsteps:\n  charge:\n    service: bank\n    request: { method: POST, path: /charges }\n    \
     nothing_to_undo: true\n    on_failure: error\n",
);

fn answering(status: u16) -> Server {
    let answer = Answer::new().status(status).header("content-type", "application/json").body("{}");
    Server::start(Script::answer(answer).unwrap()).unwrap()
}

/// O1
#[tokio::test]
async fn an_alert_outlives_a_server_that_is_killed_and_its_key_is_said_nowhere() {
    let (bank, pager) = (answering(402), answering(500));
    let settings = format!(
        "[service.bank]\nurl = \"{}\"\n\
         [alerts]\nfirst_wait = \"50ms\"\nlongest_wait = \"200ms\"\ntries = 1000\n\
         [alerts.webhook.pager]\nurl = \"{}\"\nsign_with = \"pager-key\"\nheaders = {{ X-Token = \"secret://pager-token\" }}\n",
        bank.url(),
        pager.url()
    );
    let mut premises = Premises::new(&settings, &[FLOW]);
    let variables = [
        ("STEADFAST_SECRET_PAGER_KEY", KEY),
        ("STEADFAST_SECRET_PAGER_TOKEN", TOKEN),
        ("STEADFAST_LOG__LEVEL", "debug"),
    ];
    premises.variables = variables.map(|(name, value)| (name, value.to_owned())).to_vec();
    let serving = premises.open();
    let failed = serving.ask(&["task", "submit", "pay", "--wait", "--input", "{}", "--json"]);
    assert!(!failed.status.success(), "{failed:?}");
    pager.ledger_when(|ledger| ledger.attempts() >= 2).await;
    let before = serving.killed();
    let answer = Answer::new().status(200);
    pager.follow(Script::answer(answer).unwrap());
    let missed = pager.ledger().attempts();
    let serving = premises.open();
    // One whose head has come is in the ledger before its body has.
    let is_taken = |ledger: &Ledger| ledger.attempts() > missed && ledger.endings().ends_with(&[TAKEN]);
    let ledger = pager.ledger_when(is_taken).await;
    let after = serving.killed();
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
