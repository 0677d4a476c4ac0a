//! Submissions in the caller's own transaction, on the same file [W7].

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast::rusqlite::{Connection, TransactionBehavior};
use steadfast::{
    AlertKind, Code, Engine, Failure, HandIn, Outcome, ReplyTo, Says, Service, Settings, TaskId, Workflow,
};

/// The process that a test starts again, with what it is to do, and the file.
const CHILD: &str = "STEADFAST_TRANSACTIONS_CHILD";
const FILE: &str = "STEADFAST_TRANSACTIONS_FILE";

/// A workflow whose calls are counted.
fn counted(calls: &Arc<AtomicU32>) -> Workflow<u32, u32> {
    let mut flow = Workflow::<u32>::builder("counted");
    let calls = Arc::clone(calls);
    let once = flow
        .step("once", &Service::standard("svc"), move |cx| {
            calls.fetch_add(1, Ordering::SeqCst);
            async move { Ok::<_, Failure>(cx.input * 10) }
        })
        .nothing_to_undo()
        .add();
    flow.returns(once).unwrap()
}

fn file(folder: &tempfile::TempDir) -> PathBuf {
    folder.path().join("shop.db")
}

async fn start(path: &Path, workflow: &Workflow<u32, u32>, settings: Settings) -> Engine {
    let address = format!("sqlite:{}", path.display());
    Engine::builder(address).workflow(workflow).settings(settings).start().await.unwrap()
}

/// A connection of the caller's own, with its own table.
fn connect(path: &Path) -> Connection {
    let connection = Connection::open(path).unwrap();
    connection.busy_timeout(Duration::from_secs(20)).unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection
        .execute_batch("CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, task TEXT)")
        .unwrap();
    connection
}

fn orders(path: &Path) -> i64 {
    connect(path).query_row("SELECT count(*) FROM orders", [], |row| row.get(0)).unwrap()
}

#[tokio::test]
async fn the_order_and_its_task_commit_together_or_not_at_all() {
    let (folder, calls) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU32::new(0)));
    let (path, workflow) = (file(&folder), counted(&calls));
    let engine = start(&path, &workflow, Settings::default()).await;
    let mut connection = connect(&path);
    for (number, commits) in [(1, true), (2, false)] {
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
        let submit = engine
            .submit_in(&workflow, &number)
            .key(number)
            .reply_to(&ReplyTo::queue("q"))
            .correlation(number);
        let id = submit.id();
        transaction.execute("INSERT INTO orders VALUES (?, ?)", (number, id.to_string())).unwrap();
        assert_eq!(submit.write(&transaction).unwrap(), id);
        if commits {
            transaction.commit().unwrap();
            let task = engine.handed_in(&workflow, id).await.unwrap();
            assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(10));
            let told = engine.replies("q").wait(9).await.unwrap();
            assert_eq!((told[0].correlation.as_deref(), &told[0].says), (Some("1"), &Says::Received));
        } else {
            transaction.rollback().unwrap();
            assert_eq!(engine.handed_in(&workflow, id).await.unwrap_err().code(), Code::UnknownTask);
        }
    }
    assert_eq!((orders(&path), calls.load(Ordering::SeqCst)), (1, 1));
    // W7: a key that was used for another input ends failed, with the reason.
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).unwrap();
    let id = engine.submit_in(&workflow, &9).key(1).write(&transaction).unwrap();
    transaction.commit().unwrap();
    let Outcome::Failed(why) = engine.handed_in(&workflow, id).await.unwrap().outcome().await.unwrap() else {
        panic!("it did not fail");
    };
    assert!(why.to_string().contains("the key was used for another input"), "{why}");
    engine.shut_down().await.unwrap();
}

#[tokio::test]
async fn a_connection_that_is_not_as_safe_as_the_engine_is_refused() {
    let (folder, calls) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU32::new(0)));
    let (path, workflow) = (file(&folder), counted(&calls));
    let engine = start(&path, &workflow, Settings::default()).await;
    let refused = |connection: &Connection| {
        let error = engine.submit_in(&workflow, &1).write(connection).unwrap_err();
        assert_eq!(error.code(), Code::UnfitConnection);
        error.to_string()
    };
    let connection = connect(&path);
    assert!(refused(&connection).contains("is in no transaction"));
    connection.execute_batch("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE").unwrap();
    assert!(refused(&connection).contains("PRAGMA synchronous = FULL"));
    let other = connect(&folder.path().join("other.db"));
    other.execute_batch("PRAGMA journal_mode = WAL; BEGIN IMMEDIATE").unwrap();
    let words = refused(&other);
    assert!(words.contains("other.db, and the engine works on") && words.contains("shop.db"), "{words}");
    // Without an engine at hand it is the file that says so.
    let hand_in = HandIn::new(TaskId::from_u128(1), "counted", "1");
    assert!(hand_in.write(&other).unwrap_err().to_string().contains("has no table `steadfast_inbox`"));
    let plain = Connection::open(folder.path().join("plain.db")).unwrap();
    plain.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(
        hand_in.write(&plain).unwrap_err().to_string().contains("journal_mode is delete and must be wal")
    );
    drop((connection, other, plain));
    // By plain SQL what makes no sense is refused by the table itself.
    let connection = connect(&path);
    for bad in ["('', '1')", "('counted', NULL)"] {
        let sql = format!("INSERT INTO steadfast_inbox (workflow, input) VALUES {bad}");
        assert!(connection.execute(&sql, []).is_err(), "{bad}");
    }
    let sql = "INSERT INTO steadfast_inbox (id, workflow, input) VALUES ('01890a5d-ac96-774b-bcce-b302099a8057', 'counted', '7')";
    connection.execute(sql, []).unwrap();
    let task =
        engine.handed_in(&workflow, "01890a5d-ac96-774b-bcce-b302099a8057".parse().unwrap()).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(70));
    engine.shut_down().await.unwrap();
}

/// What a process that is killed does: an order and its submission, killed at the point that it is told.
#[test]
fn child_of_the_tests_below() {
    let (Ok(what), Ok(path)) = (std::env::var(CHILD), std::env::var(FILE)) else { return };
    let path = PathBuf::from(path);
    if what == "engine" {
        return engine_until_killed(&path);
    }
    let (point, number) = what.split_once(' ').unwrap();
    let number: u32 = number.parse().unwrap();
    let dies = |at: &str| {
        if at == point {
            std::process::abort();
        }
    };
    let connection = connect(&path);
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let task = TaskId::from_u128(u128::from(number));
    connection.execute("INSERT INTO orders VALUES (?, ?)", (number, task.to_string())).unwrap();
    dies("between");
    HandIn::new(task, "counted", number.to_string()).write(&connection).unwrap();
    dies("before");
    connection.execute_batch("COMMIT").unwrap();
    dies("after");
}

/// An engine that works on whatever comes, and says each call; somebody kills it.
fn engine_until_killed(path: &Path) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut flow = Workflow::<u32>::builder("counted");
        let once = flow
            .step("once", &Service::standard("svc"), |cx| async move {
                println!("call {} {}", cx.input, cx.key());
                std::io::stdout().flush().unwrap();
                Ok::<_, Failure>(cx.input * 10)
            })
            .nothing_to_undo()
            .add();
        let workflow = flow.returns(once).unwrap();
        let _engine = start(path, &workflow, Settings::default()).await;
        println!("started");
        std::io::stdout().flush().unwrap();
        std::future::pending::<()>().await;
    });
}

fn child(path: &Path, what: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "transactions::child_of_the_tests_below", "--nocapture"])
        .env(CHILD, what)
        .env(FILE, path)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

#[tokio::test]
async fn a_process_that_dies_at_any_point_leaves_exactly_one_task_for_each_order() {
    let (folder, calls) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU32::new(0)));
    let (path, workflow) = (file(&folder), counted(&calls));
    // The tables have to be there; nobody takes anything until the end.
    start(&path, &workflow, Settings::default()).await.shut_down().await.unwrap();
    for (number, point) in
        [(1, "between"), (2, "before"), (3, "after"), (4, "never"), (5, "before"), (6, "after")]
    {
        let mut process = child(&path, &format!("{point} {number}"));
        let ended = process.wait().unwrap();
        assert_eq!(ended.success(), point == "never", "{point}");
    }
    assert_eq!(orders(&path), 3);
    let engine = start(&path, &workflow, Settings::default()).await;
    for number in 1..=6_u32 {
        let id = TaskId::from_u128(u128::from(number));
        match engine.handed_in(&workflow, id).await {
            Ok(task) => {
                assert!([3, 4, 6].contains(&number));
                assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(number * 10));
            }
            Err(error) => assert_eq!((error.code(), [1, 2, 5].contains(&number)), (Code::UnknownTask, true)),
        }
    }
    assert_eq!(calls.load(Ordering::SeqCst), 3);
    engine.shut_down().await.unwrap();
}

/// The engine is killed while it takes in what is handed in, again and again: each becomes one task.
/// Twice for each file: a step that ran in three processes that died is stopped, and here any may have run in each.
#[tokio::test]
async fn an_engine_that_is_killed_while_it_takes_submissions_takes_each_once() {
    for kills in [[1, 8], [15, 2], [22, 29]] {
        killed_after(kills).await;
    }
}

/// With 40 submissions before each kill, which comes after so many calls.
async fn killed_after(kills: [usize; 2]) {
    const EACH: u32 = 40;
    let (folder, calls) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU32::new(0)));
    let (path, workflow) = (file(&folder), counted(&calls));
    start(&path, &workflow, Settings::default()).await.shut_down().await.unwrap();
    let connection = connect(&path);
    let (mut number, mut keys) = (0_u32, BTreeMap::<u32, BTreeSet<String>>::new());
    for after in kills {
        let mut engine = child(&path, "engine");
        let mut lines = BufReader::new(engine.stdout.take().unwrap()).lines().map_while(Result::ok);
        lines.find(|line| line.ends_with("started")).unwrap();
        for _ in 0..EACH {
            number += 1;
            connection.execute_batch("BEGIN IMMEDIATE").unwrap();
            connection.execute("INSERT INTO orders VALUES (?, '')", [number]).unwrap();
            HandIn::new(TaskId::from_u128(u128::from(number)), "counted", number.to_string())
                .write(&connection)
                .unwrap();
            connection.execute_batch("COMMIT").unwrap();
        }
        let mut note = |line: String| {
            let mut words = line.split(' ').skip_while(|word| *word != "call").skip(1);
            if let (Some(of), Some(key)) = (words.next(), words.next()) {
                keys.entry(of.parse().unwrap()).or_default().insert(key.to_owned());
            }
        };
        lines.by_ref().take(after).for_each(&mut note);
        engine.kill().unwrap();
        lines.for_each(&mut note);
        engine.wait().unwrap();
    }
    let engine = start(&path, &workflow, Settings::default()).await;
    for number in 1..=number {
        let task = engine.handed_in(&workflow, TaskId::from_u128(u128::from(number))).await.unwrap();
        assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(number * 10));
    }
    assert!(
        keys.values().all(|keys| keys.len() == 1),
        "one key for each, so that services can tell: {keys:?}"
    );
    let tasks: i64 =
        connection.query_row("SELECT count(*) FROM steadfast_tasks", [], |row| row.get(0)).unwrap();
    assert_eq!((tasks, orders(&path)), (i64::from(number), i64::from(number)));
    engine.shut_down().await.unwrap();
}

/// A caller that holds its transaction for long: writes wait and go on, no lease is lost, nothing runs twice, and it is told.
/// In real time, since the lock is SQLite's own; for 10 s with `STEADFAST_HELD_SECONDS=10` and the lease as it is by default.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_caller_that_holds_its_transaction_for_long_harms_nobody() {
    let seconds = std::env::var("STEADFAST_HELD_SECONDS").ok().and_then(|text| text.parse::<u64>().ok());
    let held = seconds.map_or(Duration::from_millis(2_500), Duration::from_secs);
    let (folder, calls) = (tempfile::tempdir().unwrap(), Arc::new(AtomicU32::new(0)));
    let (path, workflow) = (file(&folder), counted(&calls));
    let mut settings = Settings::default();
    if seconds.is_none() {
        settings.lease = Duration::from_secs(1);
    }
    let (told, mut alerts) = tokio::sync::mpsc::unbounded_channel();
    let engine = Engine::builder(format!("sqlite:{}", path.display()))
        .workflow(&workflow)
        .settings(settings)
        .on_alert(move |alert| {
            let told = told.clone();
            async move { Ok(told.send(alert)?) }
        })
        .start()
        .await
        .unwrap();
    let connection = connect(&path);
    connection.execute_batch("BEGIN IMMEDIATE").unwrap();
    let submitting: Vec<_> = (0..20_u32)
        .map(|number| {
            let (engine, workflow) = (engine.clone(), workflow.clone());
            tokio::spawn(
                async move { engine.submit(&workflow, &number).await.unwrap().outcome().await.unwrap() },
            )
        })
        .collect();
    Clock::system().sleep(held).await;
    assert_eq!(calls.load(Ordering::SeqCst), 0, "nothing begins before it is durable");
    let id = engine.submit_in(&workflow, &77).write(&connection).unwrap();
    connection.execute_batch("COMMIT").unwrap();
    for (number, done) in (0..).zip(submitting) {
        assert_eq!(done.await.unwrap(), Outcome::Completed(number * 10));
    }
    let task = engine.handed_in(&workflow, id).await.unwrap();
    assert_eq!(task.outcome().await.unwrap(), Outcome::Completed(770));
    let stats = engine.stats();
    assert_eq!((stats.lapses, stats.stale_writes, stats.store_errors), (0, 0, 0), "{stats:?}");
    assert_eq!(calls.load(Ordering::SeqCst), 21, "nothing ran twice");
    let alert = alerts.recv().await.unwrap();
    assert_eq!(alert.kind, AlertKind::StoreHeld);
    assert!(alert.words.contains("a transaction of another program held its file"), "{}", alert.words);
    engine.shut_down().await.unwrap();
}
