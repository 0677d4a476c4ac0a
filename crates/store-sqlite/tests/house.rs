//! The file's housekeeping: copies under load, and every kind of damage is found.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::Connection;
use steadfast_engine::{Answer, Definition, Event, Step, StepId, Task, Time, decide};
use steadfast_store::conformance::{HandClock, block_on};
use steadfast_store::{
    Backup as _, Expired, FindingKind, Guard, Kind, Mailbox as _, Message, NodeId, Payload, Retention as _,
    Submission, TaskId, Tasks as _, Verified, Verify as _, Write, Written,
};
use steadfast_store_sqlite::{Sqlite, verify_file};

mod folder;

use folder::Folder;

const NODE: NodeId = NodeId::from_u128(1);

fn open(path: &Path) -> Sqlite {
    let clock = HandClock::default();
    clock.set(Time::from_millis(1_700_000_000_000));
    Sqlite::open(path, move || clock.now()).unwrap()
}

fn workflow() -> Definition {
    let step = |name| Step::new(name, "s").nothing_to_undo();
    Definition::builder("w").step(step("a")).step(step("b").after(["a"])).build().unwrap()
}

fn submission(number: u128) -> Submission {
    Submission {
        id: TaskId::from_u128(number),
        namespace: Arc::from(""),
        workflow: Arc::from("w"),
        version: 1,
        shape: 7,
        key: Some(Arc::from(number.to_string())),
        priority: 0,
        input: Payload::from(vec![b'x'; 300]),
        task: Task::new(&workflow(), Time::from_millis(1_700_000_000_000)),
        owner: Some(NODE),
        messages: Vec::new(),
        outputs: Vec::new(),
        more: None,
    }
}

/// Stores a task and brings its first step to its end.
fn add(store: &Sqlite, number: u128) {
    block_on(store.submit(vec![submission(number)])).unwrap();
    block_on(store.post(vec![Message::new(TaskId::from_u128(number), Payload::from(&b"hello"[..]))]))
        .unwrap();
    let step = StepId::at(0);
    let events = [
        Event::Claimed,
        Event::granted(step),
        Event::Answered { step, attempt: 1, answer: Answer::Completed },
    ];
    for (revision, event) in (0..).zip(events) {
        let stored = block_on(store.read(vec![TaskId::from_u128(number)])).unwrap().remove(0).unwrap();
        let plan = decide(&workflow(), &stored.task, &event, Time::from_millis(1_700_000_000_000));
        let write = Write::of(&plan, stored.id, Guard { epoch: 1, revision, mail: None });
        assert_eq!(block_on(store.write(vec![write])).unwrap(), [Written::Done(revision + 1)]);
    }
}

fn all(store: &Sqlite) -> Verified {
    let mut whole = Verified { findings: block_on(store.verify_file()).unwrap(), ..Verified::default() };
    loop {
        let part = block_on(store.verify(whole.behind)).unwrap();
        whole.looked_at += part.looked_at;
        whole.findings.extend(part.findings);
        whole.behind = part.behind;
        if whole.behind.is_none() {
            return whole;
        }
    }
}

/// Damage that the test's own SQL does to task 3, and what is told of it.
const DAMAGE: [(&str, FindingKind, &str); 19] = [
    ("UPDATE steadfast_tasks SET state = 2 WHERE id = ?1", FindingKind::Column, "`state` says 2"),
    ("UPDATE steadfast_tasks SET state = 5, at_rest = 1 WHERE id = ?1", FindingKind::Column, "`at_rest` says true"),
    ("UPDATE steadfast_tasks SET deadline_ms = 7 WHERE id = ?1", FindingKind::Column, "`deadline_ms` says 7"),
    ("UPDATE steadfast_tasks SET ending = 1 WHERE id = ?1", FindingKind::Column, "`ending` says true"),
    ("UPDATE steadfast_tasks SET parked_on = 'bank' WHERE id = ?1", FindingKind::Column, "parked on `bank`"),
    ("UPDATE steadfast_tasks SET head = x'07' WHERE id = ?1", FindingKind::Unreadable, "cannot be read"),
    (
        "UPDATE steadfast_tasks SET (head, state) = (SELECT head, state FROM steadfast_tasks WHERE id = x'00000000000000000000000000000063')
         WHERE id = ?1",
        FindingKind::History,
        "its row is not what its history leads to",
    ),
    ("UPDATE steadfast_tasks SET revision = 2 WHERE id = ?1", FindingKind::History, "revision 3"),
    ("DELETE FROM steadfast_history WHERE task = ?1 AND revision = 3", FindingKind::History, "is not what its history"),
    ("UPDATE steadfast_steps SET attempt = 9 WHERE task = ?1 AND ordinal = 0", FindingKind::Column, "`attempt` says 9"),
    ("UPDATE steadfast_steps SET complete_by_ms = 9 WHERE task = ?1 AND ordinal = 1", FindingKind::Column, "`complete_by_ms`"),
    ("DELETE FROM steadfast_steps WHERE task = ?1 AND ordinal = 0", FindingKind::Steps, "a row is missing"),
    ("DELETE FROM steadfast_steps WHERE task = ?1 AND ordinal = 1", FindingKind::Steps, "others of the same workflow have 2"),
    ("DELETE FROM steadfast_payloads WHERE task = ?1", FindingKind::Payload, "its input is missing"),
    ("INSERT INTO steadfast_labels VALUES (?1, 'team', 'shop')", FindingKind::Column, "labels by which it is found"),
    ("DELETE FROM steadfast_mail WHERE task = ?1", FindingKind::Mail, "mail 1 of 1 is missing"),
    ("UPDATE steadfast_tasks SET mail_read = 2 WHERE id = ?1", FindingKind::Mail, "mail 2 was read"),
    ("DELETE FROM steadfast_tasks WHERE id = ?1", FindingKind::Orphan, "no such task"),
    ("UPDATE steadfast_payloads SET ordinal = 5 WHERE task = ?1", FindingKind::Payload, "an output of step 5"),
];

#[test]
fn every_kind_of_damage_is_found_and_a_sound_file_has_none() {
    let (folder, damaged) = (Folder::new(), TaskId::from_u128(3));
    let path = folder.path("store.db");
    let store = open(&path);
    (1..6).for_each(|number| add(&store, number));
    // As it was submitted, for its head.
    block_on(store.submit(vec![submission(0x63)])).unwrap();
    assert_eq!(all(&store), Verified { looked_at: 6, ..Verified::default() });
    drop(store);
    assert_eq!(verify_file(&path).unwrap(), Verified { looked_at: 6, ..Verified::default() });
    for (sql, kind, words) in DAMAGE {
        let copy = folder.path("damaged.db");
        std::fs::copy(&path, &copy).unwrap();
        let connection = Connection::open(&copy).unwrap();
        assert!(connection.execute(sql, [damaged.as_u128().to_be_bytes()]).unwrap() > 0, "{sql}");
        connection.close().unwrap();
        let found = verify_file(&copy).unwrap().findings;
        let told = found.iter().any(|one| one.kind == kind && one.words.contains(words));
        assert!(told, "{sql}: {found:#?}");
        assert!(found.iter().all(|one| one.task == Some(damaged)), "{sql}: {found:#?}");
    }
}

#[test]
fn rows_of_nobody_are_found_in_each_table() {
    let folder = Folder::new();
    let path = folder.path("store.db");
    let store = open(&path);
    add(&store, 1);
    let connection = Connection::open(&path).unwrap();
    for sql in [
        "INSERT INTO steadfast_steps VALUES (x'11111111111111111111111111111111', 0, 0, NULL, x'00')",
        "INSERT INTO steadfast_payloads VALUES (x'22222222222222222222222222222222', 0, x'00')",
        "INSERT INTO steadfast_mail (task, number, body) VALUES (x'33333333333333333333333333333333', 1, x'00')",
        "INSERT INTO steadfast_history VALUES (x'44444444444444444444444444444444', 1, 1, x'00')",
    ] {
        connection.execute(sql, []).unwrap();
    }
    let found = all(&store).findings;
    let words: BTreeSet<_> = found.iter().map(|one| (one.kind, one.words.as_str())).collect();
    let of = |what| (FindingKind::Orphan, what);
    assert_eq!(
        words,
        BTreeSet::from([
            of("there are rows of its steps, and no such task"),
            of("there are rows of its payloads, and no such task"),
            of("there are rows of its mail, and no such task"),
            of("there are rows of its history, and no such task"),
        ])
    );
}

/// A page of an index that is overwritten is found by SQLite's own check.
#[test]
fn a_file_that_is_damaged_below_its_rows_is_found() {
    let folder = Folder::new();
    let path = folder.path("store.db");
    let store = open(&path);
    (1..60).for_each(|number| add(&store, number));
    drop(store);
    let connection = Connection::open(&path).unwrap();
    let sql = "SELECT rootpage FROM sqlite_schema WHERE name = 'steadfast_tasks_by_key'";
    let page: u64 = connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs();
    connection.close().unwrap();
    use std::os::unix::fs::FileExt as _;
    let file = std::fs::File::options().write(true).open(&path).unwrap();
    file.write_all_at(&[0; 64], (page - 1) * 4_096 + 8).unwrap();
    let found = verify_file(&path).unwrap().findings;
    assert!(found.iter().any(|one| one.kind == FindingKind::File), "{found:#?}");
}

#[test]
fn a_file_that_an_engine_has_open_or_that_is_not_there_is_refused() {
    let folder = Folder::new();
    let path = folder.path("store.db");
    let store = open(&path);
    assert_eq!(verify_file(&path).unwrap_err().kind(), Kind::Owned);
    drop(store);
    assert!(verify_file(&path).is_ok());
    assert!(verify_file(folder.path("none.db")).unwrap_err().to_string().contains("there is no file"));
    assert!(!folder.path("none.db").exists());
}

/// Names in the folder that are neither the store's nor the copy's.
fn left_behind(folder: &Folder) -> Vec<String> {
    let names = std::fs::read_dir(folder.path("")).unwrap().map(|entry| entry.unwrap().file_name());
    let names = names.map(|name| name.into_string().unwrap());
    names.filter(|name| !name.starts_with("store.db") && name != "copy.db").collect()
}

#[test]
fn a_copy_under_load_has_all_that_was_acknowledged_before_and_is_sound() {
    let folder = Folder::new();
    let store = open(&folder.path("store.db"));
    Connection::open(folder.path("store.db"))
        .unwrap()
        .execute_batch("CREATE TABLE mine (words TEXT); INSERT INTO mine VALUES ('my own')")
        .unwrap();
    let (stop, next) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(1)));
    let acknowledged = Arc::new(Mutex::new(Vec::new()));
    let writers: Vec<_> = (0..4)
        .map(|_| {
            let (store, stop, next) = (store.clone(), Arc::clone(&stop), Arc::clone(&next));
            let acknowledged = Arc::clone(&acknowledged);
            std::thread::spawn(move || {
                while !stop.load(Ordering::SeqCst) {
                    let number: u128 = next.fetch_add(1, Ordering::SeqCst).into();
                    add(&store, number);
                    acknowledged.lock().unwrap().push(TaskId::from_u128(number));
                }
            })
        })
        .collect();
    while next.load(Ordering::SeqCst) < 400 {
        std::thread::yield_now();
    }
    let (ids, copy) = (acknowledged.lock().unwrap().clone(), folder.path("copy.db"));
    let (before, began) = (ids.len(), next.load(Ordering::SeqCst));
    let made = block_on(store.back_up(copy.clone())).unwrap();
    assert!(next.load(Ordering::SeqCst) > began, "nobody wrote meanwhile");
    stop.store(true, Ordering::SeqCst);
    writers.into_iter().for_each(|writer| writer.join().unwrap());
    let written = acknowledged.lock().unwrap().len();
    assert_eq!(made.bytes, std::fs::metadata(&copy).unwrap().len());
    assert!(left_behind(&folder).is_empty(), "{:?}", left_behind(&folder));
    let verified = verify_file(&copy).unwrap();
    assert_eq!(verified.findings, []);
    assert!(usize::try_from(verified.looked_at).unwrap() <= written);
    let restored = open(&copy);
    let read = block_on(restored.read(ids)).unwrap();
    let complete = |task: &steadfast_store::Stored| task.revision == 3;
    assert!(read.iter().all(|task| task.as_ref().is_some_and(complete)), "some of {before} are missing");
    let mine: String =
        Connection::open(&copy).unwrap().query_row("SELECT words FROM mine", [], |row| row.get(0)).unwrap();
    assert_eq!(mine, "my own");
}

#[test]
fn a_copy_that_cannot_be_made_leaves_nothing_behind_and_says_what_to_do() {
    let folder = Folder::new();
    let store = open(&folder.path("store.db"));
    add(&store, 1);
    let copy = folder.path("copy.db");
    std::fs::write(&copy, "mine").unwrap();
    let error = block_on(store.back_up(copy.clone())).unwrap_err();
    assert_eq!(error.kind(), Kind::Exists);
    assert!(error.to_string().ends_with("is there already: move it away, or give the backup another name"));
    assert_eq!(std::fs::read_to_string(&copy).unwrap(), "mine");
    let error = block_on(store.back_up(folder.path("no/such/folder.db"))).unwrap_err();
    assert!(error.to_string().contains("does not exist: make that folder"), "{error}");
    assert!(left_behind(&folder).is_empty(), "{:?}", left_behind(&folder));
    // What a crash has left is overwritten, what another copy is writing is not.
    std::fs::remove_file(&copy).unwrap();
    let part = folder.path("copy.db.part");
    std::fs::write(&part, "half a copy").unwrap();
    let other = std::fs::File::open(&part).unwrap();
    other.lock().unwrap();
    assert_eq!(block_on(store.back_up(copy.clone())).unwrap_err().kind(), Kind::Exists);
    drop(other);
    assert!(part.exists(), "it was not ours");
    block_on(store.back_up(copy.clone())).unwrap();
    assert!(left_behind(&folder).is_empty(), "{:?}", left_behind(&folder));
    assert_eq!(verify_file(&copy).unwrap().looked_at, 1);
}

#[test]
fn a_copy_that_nobody_waits_for_is_given_up() {
    let folder = Folder::new();
    let store = open(&folder.path("store.db"));
    (1..50).for_each(|number| add(&store, number));
    drop(store.back_up(folder.path("copy.db")));
    // It holds the file until it has ended, and lets go of it then.
    drop(store);
    let gone = || Sqlite::open(folder.path("store.db"), || Time::from_millis(5)).ok();
    let store = std::iter::repeat_with(gone)
        .find_map(|store| {
            std::thread::yield_now();
            store
        })
        .unwrap();
    assert!(left_behind(&folder).is_empty(), "{:?}", left_behind(&folder));
    assert_eq!(block_on(store.open_tasks()).unwrap(), 49);
}

/// Whatever a task brings with it, one write does not take long: the rest waits for the next.
#[test]
fn a_clean_up_ends_early_and_goes_on_where_it_was() {
    let folder = Folder::new();
    let store = open(&folder.path("store.db"));
    let mut task = Task::new(&workflow(), Time::from_millis(0));
    let end = Event::Cancelled { cause: steadfast_engine::Cause::Deadline };
    task.apply(&decide(&workflow(), &task, &end, Time::from_millis(0)));
    let large = |number| Submission {
        input: Payload::from(vec![7; 1 << 20]),
        task: task.clone(),
        ..submission(number)
    };
    for number in 1..60 {
        block_on(store.submit(vec![large(number)])).unwrap();
    }
    let before = Time::from_millis(1_700_000_000_001);
    let (mut behind, mut writes, mut removed) = (None, 0, 0);
    loop {
        let cleaned = block_on(store.clean_up(Expired { before, keys_before: before }, behind, 512)).unwrap();
        (behind, writes, removed) = (cleaned.behind, writes + 1, removed + cleaned.removed);
        if behind.is_none() {
            break;
        }
    }
    assert_eq!(removed, 59);
    assert!(writes > 1, "59 MiB went in one write");
    assert_eq!(all(&store), Verified::default());
}

#[test]
fn a_store_that_writes_inline_keeps_house_too() {
    let folder = Folder::new();
    let store =
        Sqlite::open_inline(folder.path("store.db"), || Time::from_millis(1_700_000_000_000)).unwrap();
    add(&store, 1);
    let copy = folder.path("copy.db");
    assert!(block_on(store.back_up(copy.clone())).unwrap().bytes > 0);
    assert_eq!(all(&store).looked_at, 1);
    assert_eq!(verify_file(copy).unwrap().looked_at, 1);
}
