//! SIGTERM in the middle of the work: what runs may end within the grace, the rest goes on with the next process, at once.

use std::time::Duration;

use serde_json::json;
use steadfast_client::Client;
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;
use steadfast_resilience::clock::Clock;

use crate::chance::Seed;
use crate::serving::{Premises, Serving, until};
use crate::town::{Town, WORKFLOW};

const LONG: Duration = Duration::from_secs(60);
const HANGING: u64 = 5;
/// How soon a process that was started goes on with what was begun.
const AT_ONCE: Duration = Duration::from_secs(5);

async fn submit(client: &Client, number: u64) -> String {
    let order = format!("order-{number}");
    let input = json!({ "order": order, "card": "good", "to": "home" });
    client.submit(&Submit::new("order", input).key(order)).await.unwrap().id
}

async fn completed(client: &Client, ids: &[String]) {
    for id in ids {
        let is_done =
            || async { client.task(id, false).await.unwrap().summary.state == TaskState::Completed };
        until("it completes", LONG, is_done).await;
    }
}

/// How often the shipment of each order was asked for.
fn shipments(town: &Town) -> Vec<u32> {
    let entries = town.entries();
    entries.values().filter(|entry| entry.service == "shipping").map(|entry| entry.asked).collect()
}

/// W5: within the grace nothing is cut off, and nobody is asked twice.
#[tokio::test(flavor = "multi_thread")]
async fn what_runs_may_end_within_the_grace_and_nobody_is_asked_twice() {
    const TASKS: u64 = 20;
    let seed = Seed::any("stopped::what_runs_may_end_within_the_grace_and_nobody_is_asked_twice");
    let town = Town::open(seed.without_faults()).await;
    let premises = Premises::new(&town.settings("grace = \"30s\"\n"), &[WORKFLOW]);
    let serving = premises.open();
    let client = serving.client();
    town.hold_shipping(true);
    let mut ids = Vec::new();
    for number in 0..TASKS {
        ids.push(submit(&client, number).await);
    }
    town.holds(TASKS).await;
    let waits = {
        let (client, last) = (
            client.clone(),
            Submit::new("order", json!({ "order": "order-0", "card": "good", "to": "home" })),
        );
        tokio::spawn(async move { client.submit_and_wait(&last.key("order-0"), LONG).await })
    };
    serving.terminate();
    let stranger = serving.client();
    let is_shut = || async { stranger.is_alive().await.is_err() };
    until("nobody is let in any more", LONG, is_shut).await;
    // Who waits for the end of a task is told that it goes on.
    if let Ok(told) = waits.await.unwrap() {
        assert_eq!((&told.id, told.outcome), (&ids[0], None));
    }
    town.hold_shipping(false);
    let (code, said) = serving.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("Stopped. 0 attempts were cut off."), "{said}");
    let serving = premises.open();
    completed(&serving.client(), &ids).await;
    assert_eq!(shipments(&town), vec![1; ids.len()], "each was asked for once");
}

/// A server with this grace whose tasks all hang at shipping.
async fn hanging(seed: Seed, grace: &str) -> (Town, Premises, Serving, Vec<String>) {
    let town = Town::open(seed.without_faults()).await;
    let premises = Premises::new(&town.settings(&format!("grace = \"{grace}\"\n")), &[WORKFLOW]);
    let serving = premises.open();
    let client = serving.client();
    town.hold_shipping(true);
    let mut ids = Vec::new();
    for number in 0..HANGING {
        ids.push(submit(&client, number).await);
    }
    town.holds(HANGING).await;
    (town, premises, serving, ids)
}

/// W5, A2: what takes longer than the grace is cut off, and the next process goes on with it at once, under the same key.
#[tokio::test(flavor = "multi_thread")]
async fn what_takes_longer_than_the_grace_goes_on_at_once_in_the_next_process() {
    let seed = Seed::any("stopped::what_takes_longer_than_the_grace_goes_on_at_once_in_the_next_process");
    let (town, premises, serving, ids) = hanging(seed, "200ms").await;
    serving.terminate();
    let (code, said) = serving.ended();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains(&format!("Stopped. {HANGING} attempts were cut off.")), "{said}");

    let clock = Clock::system();
    let began = clock.now();
    let serving = premises.open();
    // The calls of before may still hang at the service: these are new ones.
    town.hold_shipping(false);
    completed(&serving.client(), &ids).await;
    let took = clock.now().since(began);
    assert!(took < AT_ONCE, "it took {took:?}");
    let shipped = shipments(&town);
    assert_eq!(shipped.len(), ids.len(), "each has one key for all of its calls");
    assert!(shipped.iter().all(|asked| (1..=2).contains(asked)), "{shipped:?}");
}

/// W5: who does not want to wait says so again; nothing is lost by it.
#[tokio::test(flavor = "multi_thread")]
async fn a_second_signal_ends_it_at_once_and_what_ran_goes_on_in_the_next_process() {
    let seed = Seed::any("stopped::a_second_signal_ends_it_at_once_and_what_ran_goes_on_in_the_next_process");
    let (town, premises, serving, ids) = hanging(seed, "10m").await;
    serving.terminate();
    let is_told = || async { serving.said().contains("Stopping: ") };
    until("it stops in good order", LONG, is_told).await;
    let clock = Clock::system();
    let began = clock.now();
    serving.terminate();
    let (code, said) = serving.ended();
    assert_eq!(code, Some(130), "{said}");
    assert!(said.contains("Stopped at once: what ran goes on with the next start."), "{said}");
    let took = clock.now().since(began);
    assert!(took < AT_ONCE, "it took {took:?}");

    let serving = premises.open();
    town.hold_shipping(false);
    completed(&serving.client(), &ids).await;
    assert_eq!(shipments(&town).len(), ids.len(), "each has one key for all of its calls");
}
