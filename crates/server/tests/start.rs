//! A server from its settings: workflow files, services over HTTP, versions, reload, restart.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use steadfast::resilience::clock::Clock;
use steadfast_client::Client;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::store::NewBackup;
use steadfast_client::wire::submit::Submit;
use steadfast_client::wire::workflow::{Change, Format};
use steadfast_form::Format as SettingsFormat;
use steadfast_server::{Config, Registry, Running};
use steadfast_testkit::http::Server;
use steadfast_testkit::{Answer, Script};

const ORDER: &str = r#"
workflow: order
returns: charge
steps:
  reserve:
    service: stock
    request: { method: POST, path: "/reservations/${input.sku}", body: { quantity: "${input.quantity}" } }
    undo: { method: DELETE, path: "/reservations/${output.id}" }
  charge:
    after: reserve
    service: bank
    request: { method: POST, path: /charges, body: { reservation: "${steps.reserve.output.id}" } }
    nothing_to_undo: true
"#;

/// A service that always answers with this.
fn service(status: u16, body: &str) -> Server {
    let answer = Answer::new().status(status).header("content-type", "application/json").body(body);
    Server::start(Script::answer(answer).unwrap()).unwrap()
}

/// A folder with settings and workflow files.
struct Place {
    folder: tempfile::TempDir,
    stock: Server,
    bank: Server,
}

impl Place {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("flows")).unwrap();
        let place =
            Self { folder, stock: service(201, r#"{"id":"r-7"}"#), bank: service(200, r#"{"paid":true}"#) };
        place.flow(ORDER);
        place.settings(&place.bank.url());
        place
    }

    fn path(&self) -> &Path {
        self.folder.path()
    }

    fn flow(&self, text: &str) {
        std::fs::write(self.path().join("flows/order.yaml"), text).unwrap();
    }

    fn settings(&self, bank: &str) {
        let text = format!(
            "listen = \"127.0.0.1:0\"\nworkflows = \"flows\"\n[service.stock]\nurl = \"{}\"\n[service.bank]\nurl = \"{bank}\"\n",
            self.stock.url()
        );
        std::fs::write(self.path().join("steadfast.toml"), text).unwrap();
    }

    async fn start(&self) -> (Running, Client) {
        let config = Config::read(Some(&self.path().join("steadfast.toml")), []).unwrap();
        let running = steadfast_server::start(config, None, Vec::new()).await.unwrap();
        let client = Client::new(&format!("http://{}", running.address())).unwrap();
        (running, client)
    }
}

fn order() -> Submit {
    Submit::new("order", json!({ "sku": "a chair/1", "quantity": 2 }))
}

/// Asks until it is so.
async fn until<F: Future<Output = bool>>(is_so: impl Fn() -> F) {
    let clock = Clock::system();
    let end = clock.now() + Duration::from_secs(60);
    while !is_so().await {
        assert!(clock.now() < end, "it did not come");
        clock.sleep(Duration::from_millis(50)).await;
    }
}

async fn run(client: &Client) -> (u32, TaskState, Option<Value>) {
    let submitted = client.submit_and_wait(&order(), Duration::from_secs(20)).await.unwrap();
    let task = client.task(&submitted.id, true).await.unwrap();
    let output = submitted.outcome.and_then(|outcome| outcome.result);
    (task.summary.version, task.summary.state, output)
}

/// A4: a workflow file over plain web services, with no code written.
#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_file_calls_plain_web_services() {
    let place = Place::new();
    let (running, client) = place.start().await;
    assert_eq!(run(&client).await, (1, TaskState::Completed, Some(json!({ "paid": true }))));
    let stock = place.stock.ledger();
    assert_eq!(stock.attempts(), 1);
    let request = stock.entries()[0].request();
    assert_eq!((request.method(), request.path()), ("POST", "/reservations/a%20chair%2F1"));
    assert_eq!(running.shut_down().await.unwrap(), 0);
}

/// C2: a declined card has the reservation undone.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_file_says_is_undone_is_undone() {
    let place = Place::new();
    let declined = service(402, r#"{"error":"declined"}"#);
    place.settings(&declined.url());
    let (running, client) = place.start().await;
    let (_, state, _) = run(&client).await;
    assert_eq!(state, TaskState::Undone);
    let calls: Vec<_> =
        place.stock.ledger().entries().iter().map(|entry| entry.request().method().to_owned()).collect();
    assert_eq!(calls, ["POST", "DELETE"]);
    running.shut_down().await.unwrap();
}

/// W9: another meaning is another version, which outlives the process; the same meaning is the same version.
#[tokio::test(flavor = "multi_thread")]
async fn versions_are_numbered_by_their_meaning_and_outlive_the_process() {
    let place = Place::new();
    let (running, client) = place.start().await;
    assert_eq!(run(&client).await.0, 1);
    running.shut_down().await.unwrap();

    place.flow(&format!("# a remark\n{ORDER}"));
    let (running, client) = place.start().await;
    assert_eq!(run(&client).await.0, 1, "a remark is no other meaning");
    let second = ORDER.replace("/charges", "/v2/charges");
    let applied = client.apply_workflow("order", &second, Format::Yaml, false).await.unwrap();
    assert_eq!((applied.version, applied.change), (2, Change::NewVersion));
    assert_eq!(run(&client).await.0, 2);
    let again = client.apply_workflow("order", &second, Format::Yaml, false).await.unwrap();
    assert_eq!((again.version, again.change), (2, Change::Same));
    running.shut_down().await.unwrap();

    std::fs::remove_file(place.path().join("flows/order.yaml")).unwrap();
    let (running, client) = place.start().await;
    assert_eq!(run(&client).await.0, 2, "it is in the store");
    let known = client.workflow("order", None).await.unwrap();
    assert_eq!(known.versions.iter().map(|version| version.version).collect::<Vec<_>>(), [1, 2]);
    running.shut_down().await.unwrap();
}

/// P2: settings are read again, and a service is found where it is now; what is broken changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn settings_that_change_are_taken_over_and_broken_ones_are_not() {
    let place = Place::new();
    let (running, client) = place.start().await;
    run(&client).await;
    let elsewhere = service(200, r#"{"paid":"elsewhere"}"#);
    place.settings(&elsewhere.url());
    running.reload();
    assert_eq!(run(&client).await.2, Some(json!({ "paid": "elsewhere" })));
    std::fs::write(place.path().join("steadfast.toml"), "listn = 1").unwrap();
    running.reload();
    assert_eq!(run(&client).await.2, Some(json!({ "paid": "elsewhere" })));
    running.shut_down().await.unwrap();
}

/// What is other from now on is said, by its name.
#[test]
fn what_was_taken_over_is_told() {
    let settings = |text: &str| Config::parse(text, SettingsFormat::Toml, "steadfast.toml", []).unwrap();
    let bank = "[service.bank]\nurl = \"http://127.0.0.1:1\"\n";
    let pager = "[alerts.webhook.pager]\nurl = \"http://127.0.0.1:2\"\n";
    let registry = Registry::new(settings(&format!("{bank}{pager}"))).unwrap();
    for (text, told) in [
        (format!("{bank}{pager}"), vec!["nothing changed"]),
        (
            format!("{}{}", bank.replace(":1", ":3"), pager.replace(":2", ":4")),
            vec![
                "service.bank: is called as it is set up now",
                "alerts.webhook.pager: is told as it is set up now",
            ],
        ),
        (
            bank.replace("bank", "till"),
            vec!["service.till: is new", "service.bank: is gone", "alerts.webhook.pager: is told no more"],
        ),
    ] {
        assert_eq!(registry.reload(settings(&text)).unwrap(), told);
    }
}

/// W10: two files of one workflow would each be a new version of the other, at every start.
#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_stands_in_two_files_is_refused_unless_each_says_its_version() {
    let place = Place::new();
    let twin = |text: &str| std::fs::write(place.path().join("flows/twin.yaml"), text).unwrap();
    let read = || Config::read(Some(&place.path().join("steadfast.toml")), []).unwrap();
    let (running, client) = place.start().await;
    twin(&ORDER.replace("/charges", "/other"));
    // Files are looked at in the order of their names.
    let last = ORDER.replace("workflow: order", "workflow: zebra");
    std::fs::write(place.path().join("flows/zebra.yaml"), last).unwrap();
    let clock = Clock::system();
    while client.workflow("zebra", None).await.is_err() {
        clock.sleep(Duration::from_millis(50)).await;
    }
    std::fs::remove_file(place.path().join("flows/zebra.yaml")).unwrap();
    assert_eq!(client.workflow("order", None).await.unwrap().active, 1);
    running.shut_down().await.unwrap();
    let told = steadfast_server::check(read()).unwrap_err();
    let words = "twin.yaml: workflow `order` is in ";
    assert!(told.contains(words) && told.contains("give each a `version`"), "{told}");
    let refused = steadfast_server::start(read(), None, Vec::new()).await.unwrap_err();
    assert!(refused.to_string().contains(words), "{refused}");
    twin(&format!("version: 2\n{}", ORDER.trim_start().replace("/charges", "/other")));
    assert!(steadfast_server::check(read()).unwrap_err().contains(words), "one of them says nothing");
    place.flow(&format!("version: 1\n{}", ORDER.trim_start()));
    assert_eq!(steadfast_server::check(read()), Ok(2));
    let (running, client) = place.start().await;
    assert_eq!(client.workflow("order", None).await.unwrap().active, 2);
    running.shut_down().await.unwrap();
}

/// W10: a file that makes no sense is refused with its place before anything is stored.
#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_makes_no_sense_is_refused_with_its_place() {
    let place = Place::new();
    let (running, client) = place.start().await;
    let bad = ORDER.replace("service: bank", "service: bnak");
    let refused = client.apply_workflow("order", &bad, Format::Yaml, false).await.unwrap_err();
    let problem = refused.problem().unwrap();
    assert_eq!(problem.status, 422, "{problem}");
    assert!(problem.to_string().contains("bank") && problem.to_string().contains("11:14"), "{problem}");
    assert_eq!(client.workflow("order", None).await.unwrap().versions.len(), 1);
    running.shut_down().await.unwrap();

    place.flow(&bad);
    let config = Config::read(Some(&place.path().join("steadfast.toml")), []).unwrap();
    let words = steadfast_server::check(config.clone()).unwrap_err();
    assert!(words.contains("order.yaml:11:"), "{words}");
    let refused = steadfast_server::start(config, None, Vec::new()).await.unwrap_err().to_string();
    assert!(refused.contains("order.yaml:11:"), "{refused}");
}

/// W10: what is refused is not stored: it can be mended as it is, or taken away.
#[tokio::test(flavor = "multi_thread")]
async fn a_workflow_that_is_refused_at_the_start_leaves_nothing_in_the_store() {
    let place = Place::new();
    let first = format!("version: 1\n{ORDER}");
    place.flow(&first.replace("service: bank", "service: bnak"));
    let config = || Config::read(Some(&place.path().join("steadfast.toml")), []).unwrap();
    assert!(steadfast_server::start(config(), None, Vec::new()).await.is_err());
    place.flow(&first);
    let (running, client) = place.start().await;
    assert_eq!(run(&client).await.0, 1);
    running.shut_down().await.unwrap();

    // A workflow is retired with its service: what is left of its tasks waits.
    std::fs::remove_file(place.path().join("flows/order.yaml")).unwrap();
    let bank = place.bank.url();
    std::fs::write(
        place.path().join("steadfast.toml"),
        format!("listen = \"127.0.0.1:0\"\nworkflows = \"flows\"\n[service.bank]\nurl = \"{bank}\"\n"),
    )
    .unwrap();
    let (running, client) = place.start().await;
    let refused = client.submit(&order()).await.unwrap_err();
    assert_eq!(refused.problem().unwrap().status, 404, "{refused}");
    // The service is back: so is the workflow.
    place.settings(&bank);
    running.reload();
    until(|| async { client.submit(&order()).await.is_ok() }).await;
    running.shut_down().await.unwrap();
}

/// P2: a service that tasks call does not go while the server works: they would fail.
#[tokio::test(flavor = "multi_thread")]
async fn settings_without_a_service_that_is_called_are_refused() {
    let place = Place::new();
    let (running, client) = place.start().await;
    let file = place.path().join("steadfast.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[service.bank]", "[service.bnak]")).unwrap();
    running.reload();
    assert_eq!(run(&client).await.1, TaskState::Completed);
    let services: Vec<_> =
        client.services().await.unwrap().services.into_iter().map(|service| service.name).collect();
    assert_eq!(services, ["bank", "stock"]);
    running.shut_down().await.unwrap();
}

/// W9: what other limits of a service would contradict is refused before it is stored, and so is no trap for what comes after.
#[tokio::test(flavor = "multi_thread")]
async fn limits_that_wait_for_a_restart_keep_no_workflow_from_coming() {
    let place = Place::new();
    let (running, client) = place.start().await;
    let file = place.path().join("steadfast.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replace("[service.bank]", "[service.bank]\nmost_running = 3")).unwrap();
    running.reload();
    let second = ORDER.replace("/charges", "/v2/charges");
    let applied = client.apply_workflow("order", &second, Format::Yaml, false).await.unwrap();
    assert_eq!((applied.version, applied.change), (2, Change::NewVersion));
    assert_eq!(run(&client).await.0, 2);
    let bank = client.services().await.unwrap().services.remove(0);
    assert_eq!((&*bank.name, &*bank.limits), ("bank", "1000 attempts at a time"), "until the next start");
    running.shut_down().await.unwrap();
}

/// Files that need each other come in any order.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_was_refused_is_tried_again_when_what_it_needs_has_come() {
    let place = Place::new();
    let (running, client) = place.start().await;
    let parent = "workflow: a-parent\nsteps: { ask: { child: z-child } }\n";
    let child = "workflow: z-child\nsteps: { rest: { wait: 1s } }\n";
    for (name, text) in [("a.yaml", parent), ("z.yaml", child)] {
        std::fs::write(place.path().join("flows").join(name), text).unwrap();
    }
    until(|| async { client.workflow("a-parent", None).await.is_ok() }).await;
    running.shut_down().await.unwrap();
}

/// What tasks may be submitted with holds for those of schedules too.
#[tokio::test(flavor = "multi_thread")]
async fn a_schedule_whose_input_does_not_fit_is_refused() {
    let place = Place::new();
    place.flow(&ORDER.replace("returns:", "input: { schema: { required: [sku] } }\nreturns:"));
    let (running, client) = place.start().await;
    let schedule = |input: Value| {
        serde_json::from_value(json!({ "workflow": "order", "input": input, "when": "every 1h" }))
    };
    let refused = client.put_schedule("hourly", &schedule(json!({})).unwrap()).await.unwrap_err();
    assert!(refused.problem().is_some_and(|problem| problem.status == 422), "{refused}");
    assert_eq!(client.schedules().await.unwrap().schedules.len(), 0);
    client.put_schedule("hourly", &schedule(json!({ "sku": "chair" })).unwrap()).await.unwrap();
    running.shut_down().await.unwrap();
}

/// A port or a store that somebody else has is said so.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_server_is_told_what_is_taken() {
    let place = Place::new();
    let (running, _) = place.start().await;
    let file = place.path().join("steadfast.toml");
    let port = vec![("STEADFAST_LISTEN".to_owned(), running.address().to_string())];
    let config = Config::read(Some(&file), port).unwrap();
    let words = steadfast_server::start(config, None, Vec::new()).await.unwrap_err().to_string();
    assert!(words.contains("is another server running?"), "{words}");
    let config = Config::read(Some(&file), []).unwrap();
    let words = steadfast_server::start(config, None, Vec::new()).await.unwrap_err().to_string();
    assert!(words.contains("SF426"), "{words}");
    running.shut_down().await.unwrap();
}

/// The store of a server at work is copied, and looked through.
#[tokio::test(flavor = "multi_thread")]
async fn the_store_is_copied_and_looked_through_over_the_api() {
    let place = Place::new();
    let (running, client) = place.start().await;
    run(&client).await;
    let to = place.path().join("copy.db").display().to_string();
    let made = client.back_up_store(&NewBackup { to: to.clone() }).await.unwrap();
    assert!(made.bytes > 0 && std::fs::metadata(&to).unwrap().len() == made.bytes);
    let again = client.back_up_store(&NewBackup { to }).await.unwrap_err();
    assert_eq!(again.code(), Some("SF441"), "{again}");
    let relative = client.back_up_store(&NewBackup { to: "copy.db".to_owned() }).await.unwrap_err();
    assert_eq!(relative.code(), Some("SF540"), "{relative}");
    let verified = client.verify_store().await.unwrap();
    assert_eq!((verified.looked_at, verified.findings), (1, Vec::new()));
    running.shut_down().await.unwrap();
}
