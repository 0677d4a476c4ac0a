//! kill -9 in the middle of thousands of tasks, again and again: all of them end, the services' books balance, nothing that was
//! acknowledged is lost, and a key gives its task back.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde_json::json;
use steadfast_client::Client;
use steadfast_client::wire::ask::Ask;
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::submit::Submit;
use steadfast_client::wire::task::Summary;
use steadfast_resilience::clock::Clock;
use tokio::sync::watch;

use crate::chance::Seed;
use crate::serving::{Premises, until};
use crate::town::{Entry, Town, WORKFLOW};

/// How many tasks there are where nothing is said; `cargo xtask large` has 10 000.
const TASKS: u64 = 600;
/// Tasks of a batch.
const BATCH: u64 = 50;
/// So many tasks are ahead of the services at most, so that kills meet tasks that are being submitted, too.
const AHEAD: u64 = 1_500;
/// A task that completes has three calls.
const CALLS: u64 = 3;
const LONG: Duration = Duration::from_secs(300);
/// While nobody serves: how soon it is asked again.
const AGAIN: Duration = Duration::from_millis(50);

/// How many tasks, and how often the server is killed.
fn sizes() -> (u64, u64) {
    let tasks = std::env::var("STEADFAST_KILLED_TASKS").map_or(TASKS, |text| text.parse().unwrap());
    (tasks, if tasks >= 10_000 { 10 } else { 3 })
}

fn key(number: u64) -> String {
    format!("order-{number}")
}

/// A task, as its number says: some are declined at the second step, some at the third.
fn order(seed: Seed, number: u64) -> (Submit, TaskState) {
    let drawn = seed.below(100, "order", number);
    let (card, to) =
        (if drawn < 7 { "declined" } else { "good" }, if drawn >= 95 { "nowhere" } else { "home" });
    let state = if card == "good" && to == "home" { TaskState::Completed } else { TaskState::Undone };
    let input = json!({ "order": key(number), "card": card, "to": to });
    (Submit::new("order", input).key(key(number)), state)
}

/// Submits all tasks by their keys, whoever serves, until each is acknowledged: their ids by key.
async fn submit_all(
    seed: Seed,
    tasks: u64,
    mut door: watch::Receiver<String>,
    town: Option<&Town>,
) -> HashMap<String, String> {
    let mut ids = HashMap::new();
    for first in (0..tasks).step_by(usize::try_from(BATCH).unwrap()) {
        if let Some(town) = town {
            town.answered(first.saturating_sub(AHEAD) * 2).await;
        }
        let mut open: Vec<_> =
            (first..tasks.min(first + BATCH)).map(|number| order(seed, number).0).collect();
        while !open.is_empty() {
            let url = door.borrow_and_update().clone();
            let client = Client::builder(&url).retries(0).build().unwrap();
            let Ok(told) = client.submit_batch(open.clone()).await else {
                // Killed, with or without having stored them: another one is on its way.
                Clock::system().sleep(AGAIN).await;
                continue;
            };
            let mut left = Vec::new();
            for (submit, told) in open.into_iter().zip(told.tasks) {
                match (told.id, told.problem) {
                    (Some(id), _) => drop(ids.insert(submit.key.clone().unwrap(), id)),
                    (None, problem) => {
                        assert!(problem.as_ref().is_some_and(|problem| problem.transient), "{problem:?}");
                        left.push(submit);
                    }
                }
            }
            open = left;
        }
    }
    ids
}

async fn all(client: &Client) -> Vec<Summary> {
    let (mut all, mut page) = (Vec::new(), Paging { limit: Some(1_000), cursor: None });
    loop {
        let some = client.tasks(&Filter::default(), &page).await.unwrap();
        all.extend(some.tasks);
        match some.cursor {
            Some(cursor) => page.cursor = Some(cursor),
            None => return all,
        }
    }
}

/// Nothing moves any more. One under which three processes died is in an operator's hands, who has looked: it is not the killer.
async fn at_rest(client: &Client) -> u64 {
    use TaskState::{Failed, Paused, Pending, Running, Undoing, Waiting};
    let looked_for = |states: &[TaskState]| Filter { states: states.to_vec(), ..Filter::default() };
    let moving = looked_for(&[Pending, Running, Waiting, Paused, Undoing]);
    let one = Paging { limit: Some(1), cursor: None };
    let mut resumed = 0;
    loop {
        let still = || async { client.tasks(&moving, &one).await.unwrap().tasks.is_empty() };
        until("all tasks are at rest", LONG, still).await;
        let failed = client.tasks(&looked_for(&[Failed]), &Paging::default()).await.unwrap().tasks;
        if failed.is_empty() {
            return resumed;
        }
        for task in failed {
            let words = ["the process died three times", "could not be undone: owner-died"];
            assert!(words.iter().any(|words| task.why.contains(words)), "{task:?}");
            client.resume(&task.id, &Ask::new("test", "it was kill -9")).await.unwrap();
            resumed += 1;
        }
    }
}

/// What each order has at each service, as the books say: of those that completed all and once, of the others nothing.
fn balance(seed: Seed, tasks: u64, entries: &HashMap<String, Entry>) {
    let mut by_order: BTreeMap<(String, &str), Vec<&Entry>> = BTreeMap::new();
    // What was taken back without having been asked for has no order: it can never stand.
    for entry in entries.values().filter(|entry| !entry.order.is_empty()) {
        by_order.entry((entry.order.clone(), entry.service)).or_default().push(entry);
    }
    for number in 0..tasks {
        let (_, state) = order(seed, number);
        for service in ["inventory", "payments", "shipping"] {
            let found = by_order.remove(&(key(number), service)).unwrap_or_default();
            assert!(found.len() <= 1, "order {number} was asked of {service} under several keys: {found:?}");
            let stands = found.iter().filter(|entry| entry.stands()).count();
            let wanted = usize::from(state == TaskState::Completed);
            assert_eq!(stands, wanted, "order {number} at {service}, {state}: {found:?}");
        }
    }
    assert!(by_order.is_empty(), "nobody has ordered these: {by_order:?}");
}

/// F2, F3, W5, W7, C3: kill -9, ten times in 10 000 tasks.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_killed_again_and_again_loses_and_doubles_nothing() {
    let seed = Seed::any("killed::a_server_that_is_killed_again_and_again_loses_and_doubles_nothing");
    let (tasks, kills) = sizes();
    let town = Town::open(seed).await;
    let premises = Premises::new(&town.settings(""), &[WORKFLOW]);
    let serving = premises.open();
    let door = watch::Sender::new(serving.url.clone());

    // A kill in each of so many parts of the work, somewhere in it.
    let part = tasks * CALLS * 8 / 10 / kills;
    let marks: Vec<u64> = (0..kills).map(|kill| kill * part + seed.below(part, "kill", kill)).collect();
    let (ids, serving) = tokio::join!(submit_all(seed, tasks, door.subscribe(), Some(&town)), async {
        let mut serving = serving;
        for mark in &marks {
            town.answered(*mark).await;
            serving.kill();
            serving = premises.open();
            door.send_replace(serving.url.clone());
        }
        serving
    });
    let client = serving.client();
    let resumed = at_rest(&client).await;

    let listed = all(&client).await;
    let count = usize::try_from(tasks).unwrap();
    assert_eq!((listed.len(), ids.len()), (count, count), "each is there, and once");
    for task in &listed {
        let number = task.key.as_ref().unwrap().strip_prefix("order-").unwrap().parse().unwrap();
        assert_eq!(task.state, order(seed, number).1, "{task:?}");
        assert_eq!(ids[&key(number)], task.id, "what was acknowledged is what is there");
    }
    assert_eq!(submit_all(seed, tasks, door.subscribe(), None).await, ids, "a key gives its task back");
    let entries = town.entries();
    balance(seed, tasks, &entries);
    // The faults happened.
    let again = entries.values().filter(|entry| entry.asked > 1).count();
    let undone = listed.iter().filter(|task| task.state == TaskState::Undone).count();
    assert!(again > 0 && undone > 0, "{again} asked again, {undone} undone");
    let verified = client.verify_store().await.unwrap();
    assert!(verified.findings.is_empty(), "{:?}", verified.findings);
    eprintln!(
        "{tasks} tasks, {kills} kills after {marks:?} calls: {undone} undone, {again} calls made again, {resumed} resumed"
    );
}
