//! Keeping house: what is over goes by itself, and tasks move as lines of JSON. Virtual time.

#![expect(clippy::unwrap_used, reason = "tests")]

use crate::common;

use std::sync::Arc;
use std::time::Duration;

use common::flaky::Flaky;
use common::*;
use steadfast_engine::{OnFailure, TaskState, Time};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{ErrorKind, Find, Imported, New, Node, Settings, Workflow};
use steadfast_store::{Memory, Payload, Store, TaskId, Tasks as _, Transfer as _};
use steadfast_store_sqlite::Sqlite;

const DAY: Duration = Duration::from_secs(24 * 3_600);

/// A store in memory whose time is that of the ids of new tasks: the machine's.
fn today() -> Memory {
    let clock = Clock::tokio();
    let began = clock.now();
    let id = uuid::Uuid::now_v7().as_u128() >> 80;
    let now = Time::from_millis(u64::try_from(id).unwrap());
    Memory::new(move || now + clock.now().since(began))
}

fn settings(keep: Duration, keep_keys: Duration) -> Settings {
    let mut settings = Settings::default();
    (settings.keep, settings.keep_keys) = (keep, keep_keys);
    settings
}

async fn is_there<S: Store>(node: &Node<S>, task: TaskId) -> bool {
    node.read(task).await.is_ok()
}

#[tokio::test(start_paused = true)]
async fn what_is_over_goes_by_itself_and_the_rest_stays() {
    let store = Flaky::new(today(), 7, 0);
    let (workflow, _) = saga(fine(), fine());
    let step = step("a").on_failure(OnFailure::Error).nothing_to_undo();
    let (broken, _) = Flow::new("broken").step(step, service("svc"), always(NO)).build();
    let known = known(&[&workflow, &broken]);
    let node = Node::start(store.clone(), known, settings(2 * DAY, 5 * DAY), Clock::tokio()).await.unwrap();
    let plain = run(&node, &workflow).await.id;
    let keyed = node.submit(New { key: Some(Arc::from("k")), ..new(&workflow) }).await.unwrap().task;
    node.at_rest(keyed).await.unwrap();
    let failed = run(&node, &broken).await;
    assert_eq!(state(&failed), TaskState::Failed);
    sleep(2 * DAY - s(60)).await;
    assert!(is_there(&node, plain).await);
    sleep(s(2 * 3_600)).await;
    assert!(!is_there(&node, plain).await && is_there(&node, keyed).await);
    sleep(3 * DAY).await;
    assert!(!is_there(&node, keyed).await && is_there(&node, failed.id).await);
    assert!(node.submit(New { key: Some(Arc::from("k")), ..new(&workflow) }).await.unwrap().is_new);
}

/// An hour is one look, and what was looked at before is not looked at again.
#[tokio::test(start_paused = true)]
async fn an_idle_node_looks_once_an_hour() {
    let store = Flaky::new(today(), 7, 0);
    let (workflow, _) = saga(fine(), fine());
    let node = node_with(store.clone(), &workflow, settings(30 * DAY, 30 * DAY)).await;
    submit_many(&node, &workflow, 20).await;
    sleep(DAY).await;
    assert!((20..=25).contains(&store.made("clean_up")), "{}", store.made("clean_up"));
    let counted = node.clean_up().await.unwrap();
    assert_eq!((counted.looked_at, counted.removed), (0, 0), "they are too young to be looked at");
}

/// A store that fails before or after its work: the next look goes on.
#[tokio::test(start_paused = true)]
async fn a_clean_up_that_fails_is_made_up_for() {
    let store = Flaky::new(today(), 7, 0);
    let (workflow, _) = saga(fine(), fine());
    let node = node_with(store.clone(), &workflow, settings(DAY, DAY)).await;
    let tasks = submit_many(&node, &workflow, 100).await;
    for task in &tasks {
        node.at_rest(*task).await.unwrap();
    }
    sleep(DAY - s(300)).await;
    store.fail_after("clean_up");
    sleep(s(3_600)).await;
    assert!(!store.is_armed(), "it did not fail");
    sleep(s(2 * 3_600)).await;
    assert!(store.store.tasks().is_empty(), "{} are left", store.store.tasks().len());
}

#[tokio::test(start_paused = true)]
async fn settings_that_leave_no_time_to_read_an_outcome_are_refused() {
    assert!(settings(s(59), DAY).check().unwrap_err().contains("`keep` is 59s: it must be at least 60s"));
    assert_eq!(settings(Duration::MAX, Duration::ZERO).check(), Ok(()));
}

/// Tasks that have ended, run, and wait.
async fn world<S: Store>(node: &Node<S>, workflow: &Arc<Workflow>) -> Vec<TaskId> {
    let mut tasks = Vec::new();
    for (key, input) in [(Some("k"), &b"{\"b\":1,\"a\":2}"[..]), (None, b"\xff\x00"), (None, b" 1\n")] {
        let new = New { key: key.map(Arc::from), input: Payload::from(input), ..new(workflow) };
        tasks.push(node.submit(new).await.unwrap().task);
    }
    for task in &tasks {
        node.at_rest(*task).await.unwrap();
    }
    tasks
}

async fn export<S: Store>(node: &Node<S>) -> Vec<u8> {
    let mut lines = Vec::new();
    node.export(&Find::default(), &mut lines).await.unwrap();
    lines
}

fn counts(imported: &Imported) -> (u64, u64, u64) {
    (imported.new, imported.seen, imported.refused)
}

#[tokio::test(start_paused = true)]
async fn tasks_move_between_stores_and_back_and_are_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let (workflow, _) = saga(fine(), fine());
    let first = node(memory(), &workflow).await;
    let tasks = world(&first, &workflow).await;
    let lines = export(&first).await;
    let clock = Clock::tokio();
    let began = clock.now();
    let file = Sqlite::open_inline(folder.path().join("store.db"), move || {
        Time::from_millis(1_000_000) + clock.now().since(began)
    });
    let second = node(file.unwrap(), &workflow).await;
    assert_eq!(counts(&second.import(&mut &lines[..]).await.unwrap()), (3, 0, 0));
    assert_eq!(counts(&second.import(&mut &lines[..]).await.unwrap()), (0, 3, 0));
    assert_eq!(export(&second).await, lines, "line for line");
    assert!(second.verify().await.unwrap().is_sound());
    let third = memory();
    let back = node(third.clone(), &workflow).await;
    assert_eq!(counts(&back.import(&mut &export(&second).await[..]).await.unwrap()), (3, 0, 0));
    assert_eq!(export(&back).await, lines);
    for task in tasks {
        assert_eq!(state(&back.read(task).await.unwrap()), TaskState::Completed);
    }
}

/// What ran is made again, under the same key, as after the death of its process.
#[tokio::test(start_paused = true)]
async fn what_ran_goes_on_where_it_comes_to() {
    let hang = Arc::new(|nth| if nth == 0 { Act::Hang } else { Act::Succeed });
    let (workflow, books) =
        Flow::new("w").step(step("a").complete_within(s(3_600)), service("svc"), hang).build();
    let first = node(memory(), &workflow).await;
    let task = submit(&first, &workflow).await;
    sleep(s(1)).await;
    let lines = export(&first).await;
    drop(first);
    let store = memory();
    let second = node(store.clone(), &workflow).await;
    assert_eq!(counts(&second.import(&mut &lines[..]).await.unwrap()), (1, 0, 0));
    let ended = second.at_rest(task).await.unwrap();
    assert_eq!((state(&ended), ended.task.steps()[0].owner_deaths), (TaskState::Completed, 1));
    assert_eq!((books.calls("a"), books.effects("a")), (2, 1));
    assert_eq!(counts(&second.import(&mut &lines[..]).await.unwrap()), (0, 1, 0), "it has gone on since");
}

#[tokio::test(start_paused = true)]
async fn bad_lines_are_told_with_their_number_and_nothing_of_them_is_stored() {
    let (workflow, _) = saga(fine(), fine());
    let first = node(memory(), &workflow).await;
    world(&first, &workflow).await;
    let text = String::from_utf8(export(&first).await).unwrap();
    let lines: Vec<_> = text.lines().collect();
    let half = &lines[1][..lines[1].len() / 2];
    let spoilt = lines[1].replacen("\"revision\":", "\"revision\":9", 1);
    let other = lines[2].replace("\"state\":\"Completed\"", "\"state\":\"Undone\"");
    let unread = lines[3].replacen("\"mail_read\":0", "\"mail_read\":4", 1);
    let label = r#""payloads":[{"step":60001,"text":"a b=c\n"},"#;
    let label = lines[1].replacen("\"payloads\":[", label, 1);
    let other = other.replacen("Undone", "Failed", 1);
    let bad = [lines[0], half, "", &spoilt, &other, &unread, lines[1], "{}", &label].join("\n");
    let store = memory();
    let second = node(store.clone(), &workflow).await;
    let imported = second.import(&mut bad.as_bytes()).await.unwrap();
    assert_eq!(counts(&imported), (1, 1, 5), "{imported:#?}");
    let told: Vec<_> = imported.bad_lines.iter().map(|bad| (bad.line, bad.reason.as_str())).collect();
    for ((line, reason), (at, words)) in told.iter().zip([
        (2, "it is no task: EOF"),
        (5, "it contradicts itself: its row is not what its history leads to"),
        (6, "it contradicts itself: mail 4 was read"),
        (8, "it is no task: missing field"),
        (9, "`a b` is no name of a label"),
    ]) {
        assert!(*line == at && reason.starts_with(words), "{line}: {reason}");
    }
    assert_eq!(store.tasks().len(), 1);
    assert!(second.verify().await.unwrap().is_sound());
    for (text, words) in
        [("", "it is empty"), ("{}", "it does not begin with"), (lines[1], "it does not begin")]
    {
        let error = second.import(&mut text.as_bytes()).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::BadImport { line: 1, .. }), "{error}");
        assert!(error.to_string().contains(words), "{error}");
    }
}

/// A store that dies in the middle: what was stored counts as seen the next time.
#[tokio::test(start_paused = true)]
async fn an_import_that_ends_in_the_middle_is_begun_again() {
    let (workflow, _) = saga(fine(), fine());
    let first = node(memory(), &workflow).await;
    for task in submit_many(&first, &workflow, 300).await {
        first.at_rest(task).await.unwrap();
    }
    let lines = export(&first).await;
    for after in [true, false] {
        let store = Flaky::new(memory(), 7, 0);
        let second = node(store.clone(), &workflow).await;
        let part: Vec<_> = lines.split_inclusive(|byte| *byte == b'\n').take(150).collect();
        second.import(&mut &part.concat()[..]).await.unwrap();
        if after {
            store.fail_after("bring");
        } else {
            store.fail_before("bring");
        }
        assert!(second.import(&mut &lines[..]).await.is_err());
        let imported = second.import(&mut &lines[..]).await.unwrap();
        assert_eq!((imported.new + imported.seen, imported.refused), (300, 0));
        assert!(imported.seen >= 149, "{imported:?}");
        assert_eq!(store.store.tasks().len(), 300);
    }
}

/// The form that was shipped first: three tasks that have completed, with inputs of each kind, and one that starts later and is
/// paused. The file is never changed.
#[tokio::test(start_paused = true)]
async fn the_first_form_still_loads() {
    let lines = include_bytes!("fixtures/tasks-1.jsonl");
    let store = memory();
    let (workflow, _) = saga(fine(), fine());
    let node = node(store.clone(), &workflow).await;
    let imported = node.import(&mut &lines[..]).await.unwrap();
    assert_eq!(counts(&imported), (4, 0, 0), "{imported:#?}");
    let wholes: Vec<_> = store.whole(store.tasks()).await.unwrap().into_iter().flatten().collect();
    let payloads: usize = wholes.iter().map(|whole| whole.payloads.len()).sum();
    let mail: usize = wholes.iter().map(|whole| whole.mail.len()).sum();
    assert_eq!((wholes.len(), payloads, mail), (4, 13, 1));
    assert!(wholes.iter().any(|whole| whole.stored.task.head().paused().is_some()));
    assert!(wholes.iter().any(|whole| whole.payloads[0].1[..] == [255, 0]));
    assert_eq!(store.open_tasks().await.unwrap(), 1);
}
