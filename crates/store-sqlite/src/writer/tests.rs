//! What can go wrong within a commit, with jobs that no caller could ask for.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::answer::{Receiver, answer};
use crate::job::Work;

/// A writer on a file of its own with one table, whose clock panics on demand.
struct Bench {
    writer: Writer,
    broken: Arc<AtomicBool>,
    folder: PathBuf,
}

impl Bench {
    fn new(name: &str) -> Self {
        let folder = std::env::temp_dir().join(format!("steadfast-writer-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let connection = Connection::open(folder.join("store.db")).unwrap();
        connection.pragma_update(None, "journal_mode", "wal").unwrap();
        let schema = "CREATE TABLE steadfast_clock (last_ms INTEGER); INSERT INTO steadfast_clock VALUES (0);
                      CREATE TABLE done (number INTEGER PRIMARY KEY, body BLOB)";
        connection.execute_batch(schema).unwrap();
        let broken = Arc::new(AtomicBool::new(false));
        let is_broken = Arc::clone(&broken);
        let wall = move || {
            assert!(!is_broken.load(Ordering::SeqCst), "no time");
            Time::from_millis(7)
        };
        let clock = Arc::new(Clock::new(wall, Time::from_millis(0)));
        let owner = File::create(folder.join("owner")).unwrap();
        let counts = Counts { commits: Arc::default(), held: Arc::new(Held::new()) };
        let writer = Writer::new(connection, owner, clock, Time::from_millis(0), counts);
        Self { writer, broken, folder }
    }

    /// Carries these out as one group; what each was told, and only after the commit.
    fn group(&mut self, jobs: Vec<Asked>) -> Vec<Result<(), Kind>> {
        let (jobs, answers): (Vec<_>, Vec<_>) = jobs.into_iter().unzip();
        let outcome = self.writer.carry_out(jobs);
        assert!(!answers.iter().any(Receiver::is_told), "nobody is told within the commit");
        assert!(self.writer.connection.is_autocommit(), "no transaction is left behind");
        outcome.into_iter().for_each(|(job, result)| job.answer(result));
        answers.into_iter().map(|answer| told(answer).map_err(|error| error.kind())).collect()
    }

    /// What is in the file, by a connection that has no part in this.
    fn done(&self) -> Vec<i64> {
        let other = Connection::open(self.folder.join("store.db")).unwrap();
        let mut find = other.prepare("SELECT number FROM done ORDER BY number").unwrap();
        find.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

type Asked = (Box<dyn Job>, Receiver<()>);

fn told(answer: Receiver<()>) -> Result<(), Error> {
    steadfast_store::conformance::block_on(answer)
}

fn job(work: impl FnMut(&Connection, Time) -> rusqlite::Result<()> + Send + 'static) -> Asked {
    let (sender, receiver) = answer();
    (Box::new(Work { work, bytes: 0, done: None, sender }), receiver)
}

fn insert(connection: &Connection, number: i64, bytes: i64) -> rusqlite::Result<()> {
    connection.execute("INSERT INTO done VALUES (?, zeroblob(?))", (number, bytes)).map(drop)
}

fn writes(number: i64, bytes: i64) -> Asked {
    job(move |connection, _| insert(connection, number, bytes))
}

const OK: Result<(), Kind> = Ok(());
const LOST: Result<(), Kind> = Err(Kind::Unavailable);

#[test]
fn a_job_that_fails_is_rolled_back_alone() {
    let mut bench = Bench::new("alone");
    let half = job(|connection, _| {
        insert(connection, 2, 0)?;
        insert(connection, 1, 0)
    });
    assert_eq!(bench.group(vec![writes(1, 0), half, writes(3, 0)]), [OK, LOST, OK]);
    assert_eq!(bench.done(), [1, 3]);
    assert_eq!(bench.writer.counts.commits.load(Ordering::SeqCst), 1);
}

#[test]
fn a_job_that_panics_is_rolled_back_alone_and_answered() {
    let mut bench = Bench::new("panic");
    let panics = job(|connection, _| {
        insert(connection, 2, 0)?;
        panic!("on purpose")
    });
    assert_eq!(bench.group(vec![writes(1, 0), panics, writes(3, 0)]), [OK, LOST, OK]);
    assert_eq!(bench.done(), [1, 3]);
    assert_eq!(bench.group(vec![writes(4, 0)]), [OK]);
}

#[test]
fn a_clock_that_panics_fails_its_group_only() {
    let mut bench = Bench::new("clock");
    bench.broken.store(true, Ordering::SeqCst);
    assert_eq!(bench.group(vec![writes(1, 0), writes(2, 0)]), [LOST, LOST]);
    bench.broken.store(false, Ordering::SeqCst);
    assert_eq!(bench.group(vec![writes(3, 0)]), [OK]);
    assert_eq!(bench.done(), [3]);
}

/// A constraint that is looked at in the commit: the commit fails, and leaves its transaction open.
#[test]
fn a_failed_commit_acknowledges_nobody_and_the_next_one_works() {
    let mut bench = Bench::new("commit");
    bench.writer.connection.pragma_update(None, "foreign_keys", true).unwrap();
    let late = "CREATE TABLE late (done INTEGER REFERENCES done (number) DEFERRABLE INITIALLY DEFERRED)";
    bench.writer.connection.execute_batch(late).unwrap();
    let breaks = job(|connection, _| connection.execute("INSERT INTO late VALUES (99)", []).map(drop));
    assert_eq!(bench.group(vec![writes(1, 0), breaks, writes(2, 0)]), [LOST; 3]);
    assert_eq!((bench.done(), bench.writer.counts.commits.load(Ordering::SeqCst)), (vec![], 0));
    assert_eq!(bench.group(vec![writes(1, 0), writes(2, 0)]), [OK, OK]);
    assert_eq!((bench.done(), bench.writer.counts.commits.load(Ordering::SeqCst)), (vec![1, 2], 1));
}

/// SQLite can end the transaction within a job: then all of the group is gone, whatever came before and after.
#[test]
fn a_transaction_that_is_gone_acknowledges_nobody() {
    let mut bench = Bench::new("gone");
    let trigger = "CREATE TRIGGER gone BEFORE INSERT ON done WHEN NEW.number = 2
                   BEGIN SELECT RAISE(ROLLBACK, 'gone'); END";
    bench.writer.connection.execute_batch(trigger).unwrap();
    assert_eq!(bench.group(vec![writes(1, 0), writes(2, 0), writes(3, 0)]), [LOST; 3]);
    assert_eq!(bench.done(), []);
    assert_eq!(bench.group(vec![writes(1, 0), writes(3, 0)]), [OK, OK]);
    assert_eq!(bench.done(), [1, 3]);
}

#[test]
fn a_full_disk_is_told_and_forgotten_once_there_is_room() {
    let mut bench = Bench::new("full");
    let pages: i64 =
        bench.writer.connection.pragma_query_value(None, "page_count", |row| row.get(0)).unwrap();
    bench.writer.connection.pragma_update(None, "max_page_count", pages + 2).unwrap();
    let told = bench.group(vec![writes(1, 10), writes(2, 1 << 20), writes(3, 10)]);
    assert_eq!(told[1], Err(Kind::Full));
    let kept: Vec<_> = (1..).zip(&told).filter(|(_, told)| told.is_ok()).map(|(number, _)| number).collect();
    assert_eq!(bench.done(), kept, "what was acknowledged, and nothing else");
    bench.writer.connection.pragma_update(None, "max_page_count", pages + 1_000).unwrap();
    assert_eq!(bench.group(vec![writes(4, 1 << 20)]), [OK]);
    assert!(bench.done().contains(&4));
}

#[test]
fn time_is_reserved_ahead_and_only_with_a_commit() {
    let mut bench = Bench::new("time");
    let fails = job(|connection, _| insert(connection, 1, 0).and_then(|()| insert(connection, 1, 0)));
    assert_eq!(bench.group(vec![fails]), [LOST]);
    let reserved = node::reserved(&bench.writer.connection);
    assert_eq!(reserved, Ok(Time::from_millis(7) + AHEAD), "the job failed alone");
    let changes = bench.writer.connection.total_changes();
    assert_eq!(bench.group(vec![writes(2, 0)]), [OK]);
    assert_eq!(bench.writer.connection.total_changes() - changes, 1, "what was reserved lasts");
}
