//! The file: what is there after it was closed, and what is refused.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use steadfast_engine::{Definition, Event, Head, Step, Task, TaskState, Time, decide};
use steadfast_store::conformance::{HandClock, block_on};
use steadfast_store::{
    Guard, Hold, Kind, Mailbox as _, Message, NodeId, Nodes as _, Outbox as _, OutboxKind, Outgoing,
    Overdue as _, Payload, Submission, Submitted, TaskId, Tasks as _, Write, Written,
};
use steadfast_store_sqlite::Sqlite;

mod folder;

use folder::Folder;

const TASK: TaskId = TaskId::from_u128(7);
const NODE: NodeId = NodeId::from_u128(1);

fn open(folder: &Folder, clock: &HandClock) -> Result<Sqlite, steadfast_store::Error> {
    let told = clock.clone();
    Sqlite::open(folder.path("store.db"), move || told.now())
}

fn workflow() -> Definition {
    let step = Step::new("a", "s").nothing_to_undo();
    Definition::builder("w").step(step).build().unwrap()
}

fn submission(now: Time) -> Submission {
    Submission {
        id: TASK,
        namespace: Arc::from("shop"),
        workflow: Arc::from("w"),
        version: 1,
        shape: 7,
        key: Some(Arc::from("order-1")),
        priority: 0,
        input: Payload::from(&b"input"[..]),
        task: Task::new(&workflow(), now),
        owner: Some(NODE),
        messages: Vec::new(),
        outputs: Vec::new(),
        more: None,
    }
}

#[test]
fn everything_is_there_after_the_file_was_closed_and_its_owner_is_known_to_be_dead() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    clock.set(Time::from_millis(5_000));
    let store = open(&folder, &clock).unwrap();
    block_on(store.renew(NODE, Duration::from_secs(3_600))).unwrap();
    assert_eq!(block_on(store.submit(vec![submission(clock.now())])).unwrap(), [Submitted::New]);
    let before = block_on(store.read(vec![TASK])).unwrap().remove(0).unwrap();
    let plan = decide(&workflow(), &before.task, &Event::Claimed, clock.now());
    let guard = Guard { epoch: 1, revision: 0, mail: None };
    assert_eq!(block_on(store.write(vec![Write::of(&plan, TASK, guard)])).unwrap(), [Written::Done(1)]);
    let before = block_on(store.read(vec![TASK])).unwrap();
    drop(store);

    // The machine's clock went back meanwhile; the store's does not.
    clock.set(Time::from_millis(1));
    let store = open(&folder, &clock).unwrap();
    let now = block_on(store.now()).unwrap();
    assert_eq!(now, Time::from_millis(5_100), "it goes on from what was reserved");
    clock.advance(Duration::from_secs(2));
    assert_eq!(block_on(store.now()).unwrap(), now + Duration::from_secs(2), "and does not stand still");
    assert_eq!(block_on(store.read(vec![TASK])).unwrap(), before);
    assert_eq!(block_on(store.submit(vec![submission(clock.now())])).unwrap(), [Submitted::Again]);
    // Its lease had an hour left, but who holds the file's lock knows better.
    let claimed = block_on(store.claim(NodeId::from_u128(2), 10)).unwrap();
    assert_eq!((claimed.len(), claimed[0].owner_died, claimed[0].stored.epoch), (1, true, 2));
}

#[test]
fn a_clock_that_goes_back_does_not_take_the_store_with_it() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    clock.set(Time::from_millis(9_000));
    let store = open(&folder, &clock).unwrap();
    assert_eq!(block_on(store.now()).unwrap(), Time::from_millis(9_000));
    clock.set(Time::from_millis(5));
    assert_eq!(block_on(store.now()).unwrap(), Time::from_millis(9_000), "told, though never written");
}

/// What was written while the machine's clock was an hour ahead falls due in its time, in the next process too.
#[test]
fn a_clock_that_was_ahead_before_a_restart_stops_no_timer() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let (right, minute) = (Time::from_millis(1_700_000_000_000), Duration::from_secs(60));
    clock.set(right + 60 * minute);
    let store = open(&folder, &clock).unwrap();
    block_on(store.submit(vec![submission(clock.now())])).unwrap();
    let guard = Guard { epoch: 1, revision: 0, mail: None };
    let release =
        Write { hold: Hold::Release(clock.now() + minute), ..Write::of(&Default::default(), TASK, guard) };
    assert_eq!(block_on(store.write(vec![release])).unwrap(), [Written::Done(1)]);
    drop(store);

    clock.set(right);
    let store = open(&folder, &clock).unwrap();
    let before = block_on(store.now()).unwrap();
    assert_eq!(block_on(store.claim(NODE, 1)).unwrap(), []);
    clock.advance(minute);
    assert_eq!(block_on(store.claim(NODE, 1)).unwrap().len(), 1);
    // Not back, and then on from the same place.
    clock.set(right);
    assert_eq!(block_on(store.now()).unwrap(), before + minute);
    clock.set(right + 2 * minute);
    assert_eq!(block_on(store.now()).unwrap(), before + 2 * minute);
}

#[test]
fn a_second_owner_is_refused_and_told_what_to_do() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let store = open(&folder, &clock).unwrap();
    let error = open(&folder, &clock).unwrap_err();
    assert_eq!(error.kind(), Kind::Owned);
    let path = folder.path("store.db");
    let words = format!(
        "another process, or another engine in this one, has {} open: end that one, or give this one a file of its own",
        path.display()
    );
    assert_eq!(error.to_string(), words);
    drop(store);
    assert!(open(&folder, &clock).is_ok());
}

/// The lock is the file's, not its name's: through a link to it, to its folder, or to where it would be made.
#[cfg(unix)]
#[test]
fn a_second_owner_is_refused_under_every_name_of_the_file() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    let (real, linked) = (folder.path("real"), folder.path("linked"));
    std::fs::create_dir(&real).unwrap();
    symlink("real", &linked).unwrap();
    symlink("real/store.db", folder.path("link.db")).unwrap();
    symlink("link.db", folder.path("link-of-link.db")).unwrap();
    let names = [
        real.join("store.db"),
        linked.join("store.db"),
        folder.path("link.db"),
        folder.path("link-of-link.db"),
        folder.path("real/../linked/store.db"),
    ];
    let open = |name: &std::path::PathBuf| Sqlite::open(name, || Time::from_millis(0));
    for first in &names {
        // It is not there yet for the first round, and is then.
        for round in ["made", "found"] {
            let store = open(first).unwrap();
            for second in &names {
                let error = open(second).unwrap_err();
                assert_eq!(error.kind(), Kind::Owned, "{round}: {} {}", first.display(), second.display());
                assert!(error.to_string().contains(second.to_str().unwrap()), "{error}");
            }
            drop(store);
            let files = std::fs::read_dir(&real).unwrap().map(|entry| entry.unwrap().file_name());
            let mut files: Vec<_> = files.collect();
            files.sort_unstable();
            assert_eq!(files, ["store.db", "store.db.owner"], "{round}: {}", first.display());
        }
        std::fs::remove_file(real.join("store.db")).unwrap();
        std::fs::remove_file(real.join("store.db.owner")).unwrap();
    }
}

#[cfg(unix)]
#[test]
fn links_that_lead_nowhere_are_refused() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new();
    symlink("b.db", folder.path("a.db")).unwrap();
    symlink("a.db", folder.path("b.db")).unwrap();
    symlink("no/such/folder.db", folder.path("c.db")).unwrap();
    for name in ["a.db", "c.db"] {
        let error = Sqlite::open(folder.path(name), || Time::from_millis(0)).unwrap_err();
        assert_eq!(error.kind(), Kind::ReadOnly, "{name}: {error}");
    }
}

#[test]
fn a_file_of_a_newer_version_is_refused_and_left_alone() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    drop(open(&folder, &clock).unwrap());
    let other = rusqlite::Connection::open(folder.path("store.db")).unwrap();
    other.execute("INSERT INTO steadfast_migrations (number, checksum) VALUES (99, 0)", []).unwrap();
    let error = open(&folder, &clock).unwrap_err();
    assert_eq!(error.kind(), Kind::Newer);
    assert!(error.to_string().contains("schema 99"), "{error}");
    other.execute("DELETE FROM steadfast_migrations WHERE number = 99", []).unwrap();
    other.execute("UPDATE steadfast_migrations SET checksum = 1", []).unwrap();
    assert_eq!(open(&folder, &clock).unwrap_err().kind(), Kind::Newer, "another build's schema 1");
}

#[test]
fn what_is_no_store_and_what_cannot_be_made_are_refused() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    std::fs::write(
        folder.path("store.db"),
        "this is no database, but it is long enough to be looked at".repeat(99),
    )
    .unwrap();
    let error = open(&folder, &clock).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
    let path = folder.path("store.db").display().to_string();
    assert!(error.to_string().starts_with(&format!("{path} is no SQLite file")), "{error}");
    std::fs::create_dir(folder.path("sub")).unwrap();
    let error = Sqlite::open(folder.path("sub"), || Time::from_millis(0)).unwrap_err();
    assert!(error.to_string().ends_with("sub is a folder: name a file in it"), "{error}");
    assert!(!folder.path("sub.owner").exists());
    let nowhere = Sqlite::open("/nowhere/at/all/store.db", || Time::from_millis(0)).unwrap_err();
    assert_eq!(nowhere.kind(), Kind::ReadOnly);
    assert_eq!(
        nowhere.to_string(),
        "cannot make /nowhere/at/all/store.db: /nowhere/at/all does not exist: make that folder, or give another path"
    );
}

#[test]
fn a_log_without_its_file_is_kept_and_told() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let (file, log, aside) = (folder.path("store.db"), folder.path("store.db-wal"), folder.path("aside.db"));
    let store = open(&folder, &clock).unwrap();
    block_on(store.submit(vec![submission(clock.now())])).unwrap();
    // As a process leaves it that is killed.
    let copy = std::fs::read(&log).unwrap();
    std::fs::copy(&file, &aside).unwrap();
    drop(store);
    for empty in [false, true] {
        std::fs::remove_file(&file).unwrap();
        if empty {
            std::fs::write(&file, b"").unwrap();
        }
        std::fs::write(&log, &copy).unwrap();
        let error = open(&folder, &clock).unwrap_err();
        assert_eq!(error.kind(), Kind::Corrupt);
        let path = file.display().to_string();
        assert!(error.to_string().starts_with(&format!("{path} is empty or gone, and its log")), "{error}");
        assert_eq!(std::fs::read(&log).unwrap(), copy, "the log is as it was");
        std::fs::write(&file, b"any").unwrap();
    }
    // With its file beside it, nothing is lost.
    std::fs::copy(&aside, &file).unwrap();
    let store = open(&folder, &clock).unwrap();
    assert_eq!(block_on(store.read(vec![TASK])).unwrap().len(), 1);
    drop(store);
    // A log in which nothing has been written yet belongs to nothing.
    std::fs::remove_file(&file).unwrap();
    std::fs::write(&log, &copy[..32]).unwrap();
    assert!(block_on(open(&folder, &clock).unwrap().read(vec![TASK])).unwrap()[0].is_none());
}

#[test]
fn a_row_that_was_changed_by_hand_is_told_and_not_guessed_at() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let store = open(&folder, &clock).unwrap();
    block_on(store.submit(vec![submission(clock.now())])).unwrap();
    let other = rusqlite::Connection::open(folder.path("store.db")).unwrap();
    other.execute("UPDATE steadfast_steps SET record = x'0900'", []).unwrap();
    let error = block_on(store.read(vec![TASK])).unwrap_err();
    assert_eq!(error.kind(), Kind::Corrupt);
}

/// What was told while this was done.
fn log_of<T>(work: impl FnOnce() -> T) -> (T, String) {
    let log = Arc::new(Mutex::new(Vec::new()));
    let lines = Arc::clone(&log);
    let subscriber =
        tracing_subscriber::fmt().with_ansi(false).with_writer(move || Lines(Arc::clone(&lines)));
    let done = tracing::subscriber::with_default(subscriber.finish(), work);
    let log = String::from_utf8(log.lock().unwrap().clone()).unwrap();
    (done, log)
}

struct Lines(Arc<Mutex<Vec<u8>>>);

impl std::io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn id(number: u128) -> TaskId {
    TaskId::from_u128(number)
}

/// Submits free tasks of these numbers, all soon overdue, of which some are damaged by hand.
fn damage(store: &Sqlite, folder: &Folder, clock: &HandClock, numbers: std::ops::Range<u128>, sql: &str) {
    let step = Step::new("a", "s").nothing_to_undo();
    let workflow =
        Definition::builder("w").complete_within(Duration::from_secs(1)).step(step).build().unwrap();
    let task = Task::new(&workflow, clock.now());
    let new = |number| Submission {
        id: id(number),
        key: None,
        owner: None,
        task: task.clone(),
        ..submission(clock.now())
    };
    block_on(store.submit(numbers.map(new).collect())).unwrap();
    rusqlite::Connection::open(folder.path("store.db")).unwrap().execute_batch(sql).unwrap();
    clock.advance(Duration::from_secs(1));
}

fn claim(store: &Sqlite, node: NodeId, most: usize) -> (Vec<u128>, String) {
    block_on(store.renew(node, Duration::from_secs(36_000))).unwrap();
    let (claimed, log) = log_of(|| block_on(store.claim(node, most)).unwrap());
    (claimed.iter().map(|claimed| claimed.stored.id.as_u128()).collect(), log)
}

#[test]
fn a_task_that_cannot_be_read_is_set_aside_and_told() {
    for sql in [
        "UPDATE steadfast_tasks SET head = x'0900' WHERE substr(id, 16) = x'02'",
        "UPDATE steadfast_steps SET record = x'' WHERE substr(task, 16) = x'02'",
        "UPDATE steadfast_tasks SET version = -1 WHERE substr(id, 16) = x'02'",
        "UPDATE steadfast_tasks SET workflow = CAST(x'ff' AS TEXT) WHERE substr(id, 16) = x'02'",
    ] {
        let (folder, clock) = (Folder::new(), HandClock::default());
        let store = open(&folder, &clock).unwrap();
        damage(&store, &folder, &clock, 1..5, sql);
        // It had mail, which wakes what waits.
        let mail = Message::new(id(2), Payload::from(&b"hello"[..]));
        block_on(store.post(vec![mail])).unwrap();
        assert_eq!(block_on(store.overdue(None, 9)).unwrap().len(), 4);
        let (claimed, log) = claim(&store, NODE, 2);
        assert_eq!(claimed, [1, 3], "another comes in its place: {sql}");
        assert_eq!(log.matches("ERROR").count(), 1, "{log}");
        assert!(log.contains(&id(2).to_string()) && log.contains("restore its rows from a backup"), "{log}");
        assert_eq!(claim(&store, NODE, 9), (vec![4], String::new()), "it is in no batch: {sql}");
        assert_eq!(block_on(store.overdue(None, 9)).unwrap().len(), 3, "nobody can move it on: {sql}");
        assert_eq!(block_on(store.open_tasks()).unwrap(), 4);

        clock.advance(Duration::from_secs(3_599));
        assert_eq!(claim(&store, NODE, 9), (vec![], String::new()));
        clock.advance(Duration::from_secs(1));
        let (claimed, log) = claim(&store, NODE, 9);
        assert_eq!((claimed.len(), log.matches("ERROR").count()), (0, 1), "tried again: {log}");
        assert_eq!(claim(&store, NODE, 9), (vec![], String::new()));
    }
}

#[test]
fn one_that_is_set_aside_does_not_keep_the_others_there() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let spoil = "UPDATE steadfast_tasks SET head = x''";
    let store = open(&folder, &clock).unwrap();
    let told = || claim(&store, NODE, 9).1.matches("ERROR").count();
    damage(&store, &folder, &clock, 1..2, spoil);
    assert_eq!(told(), 1);
    clock.advance(Duration::from_secs(3_598));
    damage(&store, &folder, &clock, 2..3, spoil);
    assert_eq!(told(), 1, "the second");
    clock.advance(Duration::from_secs(1));
    assert_eq!(told(), 2, "an hour after the first");
}

#[test]
fn a_task_that_was_repaired_goes_on_with_its_mail() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let spoil = "CREATE TABLE kept AS SELECT id, head FROM steadfast_tasks;
                 UPDATE steadfast_tasks SET head = x''";
    let store = open(&folder, &clock).unwrap();
    damage(&store, &folder, &clock, 1..2, spoil);
    block_on(store.post(vec![Message::new(id(1), Payload::from(&b"hello"[..]))])).unwrap();
    assert_eq!(claim(&store, NODE, 9).0, []);
    let other = rusqlite::Connection::open(folder.path("store.db")).unwrap();
    let repair =
        "UPDATE steadfast_tasks SET head = (SELECT head FROM kept WHERE kept.id = steadfast_tasks.id)";
    other.execute(repair, []).unwrap();
    drop((other, store));
    let store = open(&folder, &clock).unwrap();
    let claimed = block_on(store.claim(NODE, 9)).unwrap().remove(0);
    assert_eq!((claimed.stored.epoch, claimed.owner_died, claimed.mail.len()), (2, true, 1));
}

/// Who asks for many goes on with the rest: the supervisor, or a node in doubt.
#[test]
fn a_task_that_cannot_be_read_does_not_hide_the_others() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let spoil = "UPDATE steadfast_tasks SET head = x'' WHERE substr(id, 16) = x'02'";
    let store = open(&folder, &clock).unwrap();
    damage(&store, &folder, &clock, 1..4, spoil);
    let (read, log) = log_of(|| block_on(store.read(vec![id(1), id(2), id(3)])).unwrap());
    assert_eq!(read.iter().map(Option::is_some).collect::<Vec<_>>(), [true, false, true]);
    assert!(log.contains("ERROR") && log.contains(&id(2).to_string()), "{log}");
    assert_eq!(block_on(store.read(vec![id(2)])).unwrap_err().kind(), Kind::Corrupt);
}

#[test]
fn the_settings_are_those_that_keep_the_promise() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let _store = open(&folder, &clock).unwrap();
    let other = rusqlite::Connection::open(folder.path("store.db")).unwrap();
    let mode: String = other.pragma_query_value(None, "journal_mode", |row| row.get(0)).unwrap();
    let version: i64 = other.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap();
    assert_eq!((mode.as_str(), version), ("wal", 0), "`user_version` stays the user's");
}

/// Most writes leave the indexes alone; those that may not are found out, whatever the engine asks for.
#[test]
fn what_is_looked_for_follows_each_change_of_the_head() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    clock.set(Time::from_millis(5_000));
    let store = open(&folder, &clock).unwrap();
    block_on(store.submit(vec![submission(clock.now())])).unwrap();
    let first = block_on(store.read(vec![TASK])).unwrap().remove(0).unwrap().task.head().clone();
    let head = |state, deadline| Head { state, deadline, ..first.clone() };
    let (past, soon) = (Some(Time::from_millis(4_000)), Some(Time::from_millis(9_000)));
    let changes = [
        // Not yet, since when, and at rest.
        (head(TaskState::Running, soon), (0, 1)),
        (head(TaskState::Waiting, soon), (0, 1)),
        (head(TaskState::Waiting, past), (1, 1)),
        (head(TaskState::Running, None), (0, 1)),
        (head(TaskState::Running, past), (1, 1)),
        (head(TaskState::Failed, past), (0, 0)),
        (head(TaskState::Running, past), (1, 1)),
        (head(TaskState::Completed, past), (0, 0)),
    ];
    for (revision, (head, expected)) in (0..).zip(changes) {
        let guard = Guard { epoch: 1, revision, mail: None };
        let (head, words) = (Some(head.clone()), format!("{head:?}"));
        let write = Write {
            task: TASK,
            guard,
            head,
            steps: vec![],
            outputs: vec![],
            mail_read: None,
            hold: Hold::Keep,
            parked_on: None,
            messages: vec![],
            audits: vec![],
        };
        assert_eq!(block_on(store.write(vec![write])).unwrap(), [Written::Done(revision + 1)], "{words}");
        let overdue = block_on(store.overdue(None, 9)).unwrap().len();
        let owned = block_on(store.owned(NODE)).unwrap().len();
        assert_eq!((overdue, owned), expected, "{words}");
        assert_eq!(block_on(store.open_tasks()).unwrap(), u64::from(owned == 1), "{words}");
    }
}

#[test]
fn a_step_that_was_removed_by_hand_is_told_and_its_write_is_not_done() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    let store = open(&folder, &clock).unwrap();
    block_on(store.submit(vec![submission(clock.now())])).unwrap();
    let before = block_on(store.read(vec![TASK])).unwrap().remove(0).unwrap();
    let plan = decide(&workflow(), &before.task, &Event::Claimed, clock.now());
    let other = rusqlite::Connection::open(folder.path("store.db")).unwrap();
    other.execute("DELETE FROM steadfast_steps", []).unwrap();
    let write = Write::of(&plan, TASK, Guard { epoch: 1, revision: 0, mail: None });
    assert_eq!(block_on(store.write(vec![write])).unwrap_err().kind(), Kind::Corrupt);
    assert_eq!(block_on(store.read(vec![TASK])).unwrap().remove(0).unwrap().revision, 0);
}

/// Who opens the file knows that those who had messages to deliver are dead: nobody waits for them.
#[test]
fn what_somebody_was_to_deliver_is_due_at_once_when_the_file_is_opened_again() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    clock.set(Time::from_millis(5_000));
    let store = open(&folder, &clock).unwrap();
    let message = |words: &str| Outgoing {
        task: Some(TASK),
        kind: OutboxKind::Alert,
        key: None,
        body: Payload::from(words.as_bytes()),
        to: None,
    };
    block_on(store.send(vec![message("held"), message("behind it")])).unwrap();
    let hold = Duration::from_secs(3_600);
    let held = block_on(store.undelivered(OutboxKind::Alert, 1, hold)).unwrap();
    assert_eq!(held.messages.len(), 1);
    drop(store);
    let store = open(&folder, &clock).unwrap();
    let again = block_on(store.undelivered(OutboxKind::Alert, 9, hold)).unwrap().messages;
    let told: Vec<_> = again.iter().map(|message| (&*message.body, message.tries)).collect();
    assert_eq!(told, [(&b"held"[..], 2), (b"behind it", 1)]);
}

/// What is looked for every few seconds costs no commit while there is nothing.
#[test]
fn an_empty_outbox_is_looked_at_without_a_commit() {
    let (folder, clock) = (Folder::new(), HandClock::default());
    clock.set(Time::from_millis(5_000));
    let store = open(&folder, &clock).unwrap();
    let before = store.commits();
    for _ in 0..9 {
        clock.advance(Duration::from_secs(30));
        let handed = block_on(store.undelivered(OutboxKind::Alert, 9, Duration::from_secs(30))).unwrap();
        assert!(handed.messages.is_empty());
    }
    assert_eq!(store.commits(), before);
}
