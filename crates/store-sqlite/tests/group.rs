//! Group commit, as callers and the file see it.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

use std::future::{Future, poll_fn};
use std::path::Path;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};

use rusqlite::Connection;
use steadfast_engine::{Definition, Step, Task, Time};
use steadfast_store::conformance::block_on;
use steadfast_store::{Error, Kind, NodeId, Nodes as _, Payload, Submission, Submitted, TaskId, Tasks as _};
use steadfast_store_sqlite::Sqlite;

mod folder;

use folder::Folder;

const CALLERS: u128 = 200;

fn clock() -> Time {
    Time::from_millis(5_000)
}

fn on_a_thread(folder: &Folder) -> Sqlite {
    Sqlite::open(folder.path("store.db"), clock).unwrap()
}

fn inline(folder: &Folder) -> Sqlite {
    Sqlite::open_inline(folder.path("store.db"), clock).unwrap()
}

fn id(number: u128) -> TaskId {
    TaskId::from_u128(number)
}

fn submission(number: u128) -> Submission {
    let step = Step::new("a", "s").nothing_to_undo();
    let workflow = Definition::builder("w").step(step).build().unwrap();
    Submission {
        id: id(number),
        namespace: Arc::from(""),
        workflow: Arc::from("w"),
        version: 1,
        shape: 7,
        key: None,
        priority: 0,
        input: Payload::from(number.to_string().as_bytes()),
        task: Task::new(&workflow, clock()),
        owner: None,
        messages: Vec::new(),
        outputs: Vec::new(),
        more: None,
    }
}

/// Which of these tasks are there.
fn found(store: &Sqlite, numbers: impl IntoIterator<Item = u128>) -> Vec<bool> {
    let ids = numbers.into_iter().map(id).collect();
    block_on(store.read(ids)).unwrap().iter().map(Option::is_some).collect()
}

type Told = Result<Vec<Submitted>, Kind>;
type Caller<'a> = Pin<Box<dyn Future<Output = Result<Vec<Submitted>, Error>> + 'a>>;

/// Asks for all of these at once, before anybody waits.
fn ask(store: &Sqlite, numbers: impl IntoIterator<Item = u128>) -> Vec<Caller<'_>> {
    let ask = |number| Box::pin(store.submit(vec![submission(number)])) as Caller<'_>;
    numbers.into_iter().map(ask).collect()
}

/// Waits for all of them at once.
fn wait(mut callers: Vec<Caller<'_>>) -> Vec<Told> {
    let mut told: Vec<Option<Told>> = callers.iter().map(|_| None).collect();
    block_on(poll_fn(|context| {
        for (caller, told) in callers.iter_mut().zip(&mut told).filter(|(_, told)| told.is_none()) {
            if let Poll::Ready(result) = caller.as_mut().poll(context) {
                *told = Some(result.map_err(|error| error.kind()));
            }
        }
        if told.iter().all(Option::is_some) { Poll::Ready(()) } else { Poll::Pending }
    }));
    told.into_iter().map(Option::unwrap).collect()
}

fn new() -> Told {
    Ok(vec![Submitted::New])
}

/// A connection that has no part in the store.
fn other(folder: &Folder) -> Connection {
    Connection::open(folder.path("store.db")).unwrap()
}

/// How many transactions the log has, by its own format: a frame that ends one says how large the file is then.
fn commits_in_the_log(folder: &Folder) -> usize {
    let log = std::fs::read(folder.path("store.db-wal")).unwrap();
    let (head, frames) = log.split_at(32);
    let page = u32::from_be_bytes(head[8..12].try_into().unwrap());
    let current = |frame: &&[u8]| frame[8..16] == head[16..24];
    let ends = |frame: &&[u8]| frame[4..8] != [0; 4];
    frames.chunks_exact(24 + usize::try_from(page).unwrap()).take_while(current).filter(ends).count()
}

#[test]
fn what_waits_goes_into_one_commit() {
    let folder = Folder::new();
    let store = inline(&folder);
    block_on(store.leave(NodeId::from_u128(1))).unwrap();
    let before = (commits_in_the_log(&folder), store.commits());
    let callers = ask(&store, 1..=CALLERS);
    assert_eq!(commits_in_the_log(&folder), before.0, "nobody has waited yet");
    assert!(wait(callers).into_iter().all(|told| told == new()));
    assert_eq!((commits_in_the_log(&folder) - before.0, store.commits() - before.1), (1, 1));
    // One after the other they have nothing to share.
    for number in 1..=5 {
        block_on(store.submit(vec![submission(CALLERS + number)])).unwrap();
    }
    assert_eq!((commits_in_the_log(&folder) - before.0, store.commits() - before.1), (6, 6));
}

#[test]
fn what_comes_while_the_disk_is_busy_goes_into_the_next_commit() {
    let folder = Folder::new();
    let store = on_a_thread(&folder);
    block_on(store.leave(NodeId::from_u128(1))).unwrap();
    let before = commits_in_the_log(&folder);
    // Nobody else gets to write while this is open: the writer stands before its first commit.
    let busy = other(&folder);
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    let callers = ask(&store, 1..=CALLERS);
    busy.execute_batch("ROLLBACK").unwrap();
    assert!(wait(callers).into_iter().all(|told| told == new()));
    let commits = commits_in_the_log(&folder) - before;
    assert!((1..=2).contains(&commits), "{commits} commits: the first that came, and all the rest");
}

#[test]
fn a_commit_has_its_limit() {
    let folder = Folder::new();
    let store = inline(&folder);
    assert!(wait(ask(&store, 1..=1_025)).into_iter().all(|told| told == new()));
    assert_eq!(store.commits(), 3, "512 jobs each");
    let large = |number| Submission { input: Payload::from(vec![0; 1 << 20]), ..submission(number) };
    let ask = |number| Box::pin(store.submit(vec![large(number), large(number + 1)])) as Caller<'_>;
    let callers = (2_000..2_012).step_by(2).map(ask).collect();
    assert!(wait(callers).into_iter().all(|told| told == Ok(vec![Submitted::New; 2])));
    assert_eq!(store.commits(), 3 + 6, "4 MiB, which two of these are above");
}

/// Breaks what is submitted under number 2, after its rows are written.
fn plant(folder: &Folder, what: &str) {
    let sql = format!(
        "CREATE TABLE late (task BLOB REFERENCES steadfast_tasks (id) DEFERRABLE INITIALLY DEFERRED);
         CREATE TRIGGER planted AFTER INSERT ON steadfast_payloads WHEN NEW.body = x'32' BEGIN {what}; END"
    );
    other(folder).execute_batch(&sql).unwrap();
}

#[test]
fn a_job_with_an_error_fails_alone() {
    for open in [on_a_thread, inline] {
        let folder = Folder::new();
        let store = open(&folder);
        plant(&folder, "SELECT RAISE(ABORT, 'planted')");
        // A batch is a job: what came before the failure in it is not there either.
        let mut callers = ask(&store, [1]);
        callers.push(Box::pin(store.submit(vec![submission(4), submission(2)])));
        callers.extend(ask(&store, [3]));
        assert_eq!(wait(callers), [new(), Err(Kind::Unavailable), new()]);
        assert_eq!(found(&store, 1..=4), [true, false, true, false]);
    }
}

#[test]
fn a_failed_commit_acknowledges_nobody_and_the_next_one_works() {
    for (open, one) in [(on_a_thread as fn(&Folder) -> Sqlite, false), (inline, true)] {
        let folder = Folder::new();
        let store = open(&folder);
        plant(&folder, "INSERT INTO late VALUES (x'00')");
        // Held back, so that a writer on a thread of its own cannot take them one by one.
        let busy = other(&folder);
        busy.execute_batch("BEGIN IMMEDIATE").unwrap();
        let callers = ask(&store, [1, 2, 3]);
        busy.execute_batch("ROLLBACK").unwrap();
        let told = wait(callers);
        assert_eq!(told[1], Err(Kind::Unavailable));
        let kept: Vec<_> = told.iter().map(Result::is_ok).collect();
        assert_eq!(found(&store, 1..=3), kept, "what was acknowledged, and nothing else");
        assert!(!one || kept == [false; 3], "inline they are one commit");
        assert!(wait(ask(&store, [4, 5])).iter().all(|told| *told == new()));
        drop(store);
        assert_eq!(found(&open(&folder), 1..=5), [&kept[..], &[true, true]].concat());
    }
}

#[test]
fn what_nobody_waits_for_is_done() {
    for open in [on_a_thread, inline] {
        let folder = Folder::new();
        let store = open(&folder);
        drop(ask(&store, 1..=600));
        // Jobs are done in their order: this one is behind them.
        block_on(store.submit(vec![submission(601)])).unwrap();
        assert_eq!(found(&store, 1..=601), [true; 601]);
        drop(wait(ask(&store, [602])));
    }
}

#[test]
fn inline_nothing_is_left_to_others() {
    let folder = Folder::new();
    let store = inline(&folder);
    drop(ask(&store, [1]));
    assert_eq!(found(&store, [1]), [true]);
    let callers = ask(&store, [2, 3]);
    std::mem::forget(callers);
    drop(store);
    assert_eq!(found(&inline(&folder), 1..=3), [true; 3]);
}

#[test]
fn reads_do_not_wait_for_the_writer() {
    let folder = Folder::new();
    let store = on_a_thread(&folder);
    assert_eq!(wait(ask(&store, [1])), [new()]);
    let busy = other(&folder);
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    let mut callers = ask(&store, [2]);
    assert_eq!(found(&store, 1..=2), [true, false]);
    assert_eq!(block_on(store.open_tasks()).unwrap(), 1);
    assert_eq!(block_on(store.now()).unwrap(), clock());
    let context = &mut Context::from_waker(Waker::noop());
    assert!(callers[0].as_mut().poll(context).is_pending(), "the writer stood all the while");
    busy.execute_batch("ROLLBACK").unwrap();
    assert_eq!(wait(callers), [new()]);
    assert_eq!(found(&store, 1..=2), [true, true], "what was answered is seen");
}

fn log_of(path: &Path) -> std::path::PathBuf {
    path.with_extension("db-wal")
}

#[test]
fn closing_finishes_what_is_queued_and_gives_the_file_free_at_once() {
    for open in [on_a_thread, inline] {
        let folder = Folder::new();
        for round in 0..20_u128 {
            let store = open(&folder);
            let clone = store.clone();
            std::mem::forget(ask(&store, round * 100..(round + 1) * 100));
            drop(store);
            drop(clone);
            assert!(!log_of(&folder.path("store.db")).exists(), "all of the log is in the file");
        }
        assert_eq!(found(&open(&folder), 0..2_000), [true; 2_000]);
    }
}

/// An executor's task that owns its future, which owns the store.
#[derive(Default)]
struct Owner(Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>);

impl Wake for Owner {
    fn wake(self: Arc<Self>) {}
}

#[test]
fn the_last_clone_may_go_on_the_writers_own_thread() {
    let folder = Folder::new();
    let store = on_a_thread(&folder);
    let busy = other(&folder);
    busy.execute_batch("BEGIN IMMEDIATE").unwrap();
    let owner = Arc::new(Owner::default());
    *owner.0.lock().unwrap() = Some(Box::pin(async move {
        let _ = store.submit(vec![submission(1)]).await;
    }));
    let waker = Waker::from(Arc::clone(&owner));
    let polled = owner.0.lock().unwrap().as_mut().unwrap().as_mut().poll(&mut Context::from_waker(&waker));
    assert!(polled.is_pending());
    let gone = Arc::downgrade(&owner);
    // From here on only the writer holds it, and through it the store.
    drop((owner, waker));
    assert_eq!(gone.strong_count(), 1);
    busy.execute_batch("ROLLBACK").unwrap();
    drop(busy);
    let store = loop {
        match Sqlite::open(folder.path("store.db"), clock) {
            Ok(store) => break store,
            Err(error) => assert_eq!(error.kind(), Kind::Owned, "{error}"),
        }
        std::thread::yield_now();
    };
    assert_eq!((found(&store, [1]), gone.strong_count()), (vec![true], 0));
}
