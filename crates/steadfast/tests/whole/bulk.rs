//! A bulk over a file, in real time: its preview is its effect, its rate holds, it is killed, stopped and goes on [O2, O3].
//!
//! `STEADFAST_BULK=50000 cargo test -p steadfast --release --test whole bulk:: -- --nocapture` for many.

#![expect(clippy::disallowed_methods, reason = "two processes, in real time")]

use std::collections::BTreeSet;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant, SystemTime};

use steadfast::{BulkState, Engine, Failure, OnFailure, Service, TaskState, Workflow};

const CHILD: &str = "STEADFAST_BULK_CHILD";
const FILE: &str = "STEADFAST_BULK_FILE";
/// Tasks a second.
const RATE: f64 = 1_000.0;
/// How long it takes until that is reached, with some room: it begins with two, and doubles twice a second.
const RAMP: Duration = Duration::from_secs(7);

/// A step that fails for an operator, or one that writes each call into a book beside the file.
fn flow(path: &Path, mended: bool) -> Workflow<u32> {
    let book = path.with_extension("book");
    let mut flow = Workflow::<u32>::builder("charge");
    let charge = flow.step("charge", &Service::standard("bank"), move |cx| {
        let book = book.clone();
        async move {
            if !mended {
                return Err(Failure::terminal("no-account", "there is none"));
            }
            let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
            let line = format!("{} {now}\n", cx.input);
            // One write, so that lines of two processes are not mixed.
            std::fs::OpenOptions::new().append(true).open(book).unwrap().write_all(line.as_bytes()).unwrap();
            Ok(())
        }
    });
    charge.on_failure(OnFailure::Error).nothing_to_undo().add();
    flow.build().unwrap()
}

async fn engine(path: &Path, flow: &Workflow<u32>) -> Engine {
    Engine::builder(format!("sqlite:{}", path.display())).workflow(flow).start().await.unwrap()
}

/// Who was charged, and when, in microseconds.
fn book(path: &Path) -> Vec<(u32, u64)> {
    let book = std::fs::read_to_string(path.with_extension("book")).unwrap();
    let line = |line: &str| line.split_once(' ').map(|(who, at)| (who.parse().unwrap(), at.parse().unwrap()));
    book.lines().filter_map(line).collect()
}

/// The process that is killed: it begins the bulk, and works on it.
#[test]
fn child_of_the_test_below() {
    let (Ok(id), Ok(path)) = (std::env::var(CHILD), std::env::var(FILE)) else { return };
    let (path, id) = (PathBuf::from(path), id.parse().unwrap());
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let engine = engine(&path, &flow(&path, true)).await;
        engine.bulk(id).begin().await.unwrap();
        std::future::pending::<()>().await;
    });
}

/// A process that does not outlive the test.
struct Killed(Child);

impl Drop for Killed {
    fn drop(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

fn child(path: &Path, bulk: &str) -> Killed {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "bulk::child_of_the_test_below", "--nocapture"])
        .env(CHILD, bulk)
        .env(FILE, path)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn();
    Killed(child.unwrap())
}

/// Waits until so many were charged.
async fn charged(path: &Path, wanted: usize) {
    let begun = Instant::now();
    while book(path).len() < wanted {
        assert!(begun.elapsed() < Duration::from_secs(120), "{} of {wanted}", book(path).len());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_bulk_is_what_was_previewed_at_its_rate_over_a_kill_and_a_stop() {
    let count: usize = std::env::var("STEADFAST_BULK").map_or(6_000, |count| count.parse().unwrap());
    let all = u32::try_from(count).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("charges.db");
    std::fs::write(path.with_extension("book"), "").unwrap();

    let broken = flow(&path, false);
    let here = engine(&path, &broken).await;
    let fail = async |numbers: std::ops::Range<u32>| {
        let mut failing = tokio::task::JoinSet::new();
        let mut tasks = BTreeSet::new();
        for number in numbers {
            let (here, broken) = (here.clone(), broken.clone());
            failing.spawn(async move {
                let task = here.submit(&broken, &number).await.unwrap();
                task.outcome().await.unwrap();
                task.id()
            });
            if failing.len() >= 500 {
                tasks.extend(failing.join_next().await.map(Result::unwrap));
            }
        }
        tasks.extend(failing.join_all().await);
        tasks
    };
    let failed = fail(0..all).await;
    let id = {
        let ann = here.operator("ann");
        let bulk = ann.bulk(here.tasks().state(TaskState::Failed)).rate(RATE).resume();
        bulk.because("it is mended").await.unwrap().id()
    };
    // Those that fail later are not in it.
    let later = fail(all..all + 3).await;
    let preview: BTreeSet<_> = here.bulk(id).tasks(0, count + 10).await.unwrap().into_iter().collect();
    assert_eq!(preview, failed);
    here.shut_down().await.unwrap();

    // A process that is killed over it.
    let other = child(&path, &id.to_string());
    charged(&path, count / 8).await;
    drop(other);
    let killed_at = book(&path).len();

    // It goes on by itself, is stopped, and goes on again.
    let mended = flow(&path, true);
    let here = engine(&path, &mended).await;
    let bulk = here.bulk(id);
    charged(&path, count / 5).await;
    bulk.stop().await.unwrap();
    assert_eq!(bulk.ended().await.unwrap().record.state, BulkState::Stopped);
    tokio::time::sleep(Duration::from_secs(1)).await;
    let stopped_at = book(&path).len();
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(book(&path).len(), stopped_at, "nothing is asked of anybody while it is stopped");
    assert!(stopped_at < count * 3 / 4, "{stopped_at}");
    let begun = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap().as_micros();
    bulk.begin().await.unwrap();
    let ended = bulk.ended().await.unwrap();
    let asked = u64::from(all);
    assert_eq!((ended.record.next, ended.record.done, ended.record.refused.len()), (asked, asked, 0));

    // Each that was previewed, and no other; a call that the kill cut off may have been made again under its key.
    let page = here.tasks().state(TaskState::Failed).await.unwrap();
    assert_eq!(page.tasks.iter().map(|task| task.id).collect::<BTreeSet<_>>(), later);
    let calls = book(&path);
    assert_eq!(calls.iter().map(|(who, _)| *who).collect::<BTreeSet<_>>(), (0..all).collect());
    assert!(calls.len() - count <= 300, "{} of {count} were made again", calls.len() - count);
    let mut audits = BTreeSet::new();
    let mut before = None;
    loop {
        let page = here.operator("ann").audits(None, before, 1_000).await.unwrap();
        before = page.last().map(|entry| entry.audit.id);
        audits.extend(page.iter().filter(|entry| entry.audit.task.is_none()).map(|entry| entry.audit.id));
        if page.len() < 1_000 {
            break;
        }
    }
    assert_eq!(audits.into_iter().collect::<Vec<_>>(), [id], "one entry for all");

    // Its rate, from when it had reached it until it had nothing left.
    let from = u64::try_from(begun).unwrap() + u64::try_from(RAMP.as_micros()).unwrap();
    let at_its_rate: Vec<_> = calls.iter().map(|(_, at)| *at).filter(|at| *at >= from).collect();
    let (first, last) = (at_its_rate.iter().min().unwrap(), at_its_rate.iter().max().unwrap());
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let rate = (at_its_rate.len() - 1) as f64 / ((last - first) as f64 / 1e6);
    println!(
        "{count} tasks: killed at {killed_at}, stopped at {stopped_at}, {rate:.0}/s of {RATE}/s over {} tasks, {} made again",
        at_its_rate.len(),
        calls.len() - count
    );
    assert!((0.9 * RATE..=1.1 * RATE).contains(&rate), "{rate} a second");
    here.shut_down().await.unwrap();
}
