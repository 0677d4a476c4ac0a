//! The process that is made to die: a node over a SQLite file, tasks submitted under keys, and a line on file for each
//! acknowledgement. A line is written only after the acknowledgement: what has one must be there for ever.

use std::fmt::Display;
use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use steadfast_engine::{TaskState, Time};
use steadfast_resilience::clock::Clock;
use steadfast_runtime::{CallbackId, CallbackSays, Extra, New, Node, ReplyTo, Settings, Start};
use steadfast_store::{Payload, TaskId, Tasks as _};
use steadfast_store_sqlite::Sqlite;

use crate::tick;
use crate::world::{self, Ledger};

/// The store's file, in the folder of a run.
pub const DATABASE: &str = "db";
/// The acknowledged submissions.
pub const ACKS: &str = "acks";
/// The undos that were asked for, and those that were acknowledged.
pub const UNDOS: &str = "undos";
/// The alerts that were delivered.
pub const ALERTS: &str = "alerts";
/// The book of replies: task and number.
pub const REPLIES: &str = "replies";
/// The hook that they go to.
const HOOK: &str = "book";
/// What stands in an alert's line where it is of no task.
pub const NO_TASK: &str = "-";
/// The exit code of a driver that could not open its store.
pub const CANNOT_OPEN: u8 = 3;

/// So many submit at the same time: a commit has more than one of them.
const SUBMITTERS: usize = 3;
/// Between two tries of something that the store refused, and between two looks.
pub(crate) const PAUSE: Duration = Duration::from_millis(10);
/// So often a submission is tried.
pub(crate) const MOST_TRIES: u32 = 500;
/// So often a service calls back: for some seconds, as services do.
const MOST_CALLS_BACK: u32 = 100;

/// What a driver is to do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Orders {
    /// How many tasks to submit; none in a run that only finishes what an earlier one has begun.
    pub tasks: u32,
    /// How many of those whose service is away at first.
    pub away: u32,
}

impl Orders {
    /// So many tasks of all sorts, whose services are there.
    #[must_use]
    pub fn tasks(tasks: u32) -> Self {
        Self { tasks, away: 0 }
    }

    /// So many tasks whose service is away at first, and no others.
    #[must_use]
    pub fn away(away: u32) -> Self {
        Self { tasks: 0, away }
    }

    /// The numbers of all tasks.
    fn numbers(self) -> impl Iterator<Item = u32> {
        (0..self.tasks).chain((0..self.away).map(|nth| world::FIRST_AWAY + nth))
    }
}

type Working = Arc<Node<Sqlite>>;

/// Opens the store in this folder.
///
/// # Errors
/// The store's.
pub fn open(folder: &Path) -> Result<Sqlite> {
    Ok(Sqlite::open(folder.join(DATABASE), wall)?)
}

#[expect(clippy::disallowed_methods, reason = "this process runs in real time")]
fn wall() -> Time {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Time::from_millis(u64::try_from(now.as_millis()).unwrap_or(u64::MAX))
}

fn settings() -> Settings {
    let mut settings = Settings::default();
    settings.lease = Duration::from_millis(900);
    settings.look_every = Duration::from_millis(50);
    settings.supervise_every = Duration::from_millis(50);
    settings.longest_wait = Duration::from_millis(5);
    settings.grace = Duration::from_secs(2);
    settings
}

/// A line on file for each alert: once that is written, it has arrived.
fn telling(mut settings: Settings, folder: &Path) -> Result<Settings> {
    let alerts = Arc::new(Mutex::new(world_file(folder, ALERTS)?));
    settings.alerts.on_alert(move |alert| {
        let task = alert.task.map_or_else(|| NO_TASK.to_owned(), |task| task.to_string());
        let mut alerts = alerts.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = note(&mut alerts, &[&task, &alert.kind.as_str(), &alert.id]);
        async move { noted.map_err(Into::into) }
    });
    let replies = Arc::new(Mutex::new(world_file(folder, REPLIES)?));
    settings.replies.on_reply(HOOK, move |reply| {
        let mut replies = replies.lock().unwrap_or_else(PoisonError::into_inner);
        let noted = note(&mut replies, &[&reply.id.task, &reply.id.number]);
        async move { noted.map_err(Into::into) }
    });
    Ok(settings)
}

/// Works until every task is at rest.
///
/// # Errors
/// The store's, and a submission that is refused again and again.
pub async fn work(store: Sqlite, folder: &Path, orders: Orders) -> Result<()> {
    let ledger = Arc::new(Ledger::open(folder)?);
    let node: Working = Arc::new(start(&store, folder, &ledger).await?);
    let services = tokio::spawn(call_back_all(Arc::clone(&node), ledger));
    let submitters: Vec<_> = (0..SUBMITTERS)
        .map(|first| tokio::spawn(submit_all(Arc::clone(&node), folder.to_owned(), first, orders)))
        .collect();
    tick::all(Arc::clone(&node), store.clone(), folder).await?;
    for submitter in submitters {
        submitter.await??;
    }
    let clock = Clock::system();
    while store.open_tasks().await.map_or(true, |open| open > 0) {
        clock.sleep(PAUSE).await;
    }
    services.abort();
    // It never ends by itself.
    let _ = services.await;
    if let Some(node) = Arc::into_inner(node) {
        // It has stopped all the same.
        let _ =
            node.shut_down().await.inspect_err(|error| eprintln!("the node left without a word: {error}"));
    }
    Ok(())
}

/// Starts a node, again if the store fails meanwhile.
async fn start(store: &Sqlite, folder: &Path, ledger: &Arc<Ledger>) -> Result<Node<Sqlite>> {
    let settings = telling(settings(), folder)?;
    for _ in 0..MOST_TRIES {
        match Node::start(store.clone(), world::workflows(ledger)?, settings.clone(), Clock::system()).await {
            Ok(node) => return Ok(node),
            Err(error) => eprintln!("the node does not start: {error}"),
        }
        Clock::system().sleep(PAUSE).await;
    }
    bail!("the node did not start, {MOST_TRIES} times")
}

/// Submits every third task, and has those undone that somebody regrets.
async fn submit_all(node: Working, folder: PathBuf, first: usize, orders: Orders) -> Result<()> {
    let mut acks = world_file(&folder, ACKS)?;
    let mut undos = world_file(&folder, UNDOS)?;
    let mut regretted = Vec::new();
    for number in orders.numbers().skip(first).step_by(SUBMITTERS) {
        let task = submit(&node, number).await?;
        note(&mut acks, &[&task, &world::key_of(number)])?;
        if world::is_regretted(number) {
            regretted.push(task);
        }
    }
    for task in regretted {
        if at_rest(&node, task).await == TaskState::Completed {
            note(&mut undos, &[&"asked", &task])?;
            undo(&node, task).await?;
            note(&mut undos, &[&"acknowledged", &task])?;
        }
    }
    Ok(())
}

/// What services do that have taken work on: they answer, one after the other.
async fn call_back_all(node: Working, ledger: Arc<Ledger>) {
    loop {
        for url in ledger.owed() {
            call_back(&node, url).await;
        }
        Clock::system().sleep(PAUSE).await;
    }
}

/// Answers until that counts, or is of no use any more: its task asks again then, or has gone on.
async fn call_back(node: &Working, url: CallbackId) {
    for _ in 0..MOST_CALLS_BACK {
        match node.call_back(url, CallbackSays::Done(Payload::from(b"1".as_slice()))).await {
            Ok(_) => return,
            Err(error) => eprintln!("a callback: {error}"),
        }
        Clock::system().sleep(PAUSE).await;
    }
}

fn world_file(folder: &Path, name: &str) -> Result<File> {
    world::append(&folder.join(name))
}

/// One line, in one write.
fn note(file: &mut File, words: &[&dyn Display]) -> Result<()> {
    let line: Vec<_> = words.iter().map(ToString::to_string).collect();
    file.write_all(format!("{}\n", line.join(" ")).as_bytes()).context("a note")
}

async fn submit(node: &Working, number: u32) -> Result<TaskId> {
    let workflow = node.workflow(world::workflow_of(number), 1).context("no such workflow")?;
    for _ in 0..MOST_TRIES {
        let new = New {
            workflow: Arc::clone(&workflow),
            namespace: Arc::from(""),
            key: Some(Arc::from(world::key_of(number))),
            priority: 0,
            input: Payload::from(number.to_string().into_bytes()),
        };
        let reply_to = world::is_replied_to(number).then(|| ReplyTo::hook(HOOK));
        match node.submit_with(new, Start::Now, Extra { reply_to, ..Extra::default() }).await {
            Ok(submitted) => return Ok(submitted.task),
            Err(error) => eprintln!("task {number}: {error}"),
        }
        Clock::system().sleep(PAUSE).await;
    }
    bail!("task {number} was refused {MOST_TRIES} times")
}

async fn at_rest(node: &Working, task: TaskId) -> TaskState {
    loop {
        match node.at_rest(task).await {
            Ok(stored) => return stored.task.state(),
            Err(error) => eprintln!("task {task}: {error}"),
        }
        Clock::system().sleep(PAUSE).await;
    }
}

/// Asks for the undo until the store says yes. An earlier try may have been stored although it was told otherwise.
async fn undo(node: &Working, task: TaskId) -> Result<()> {
    for _ in 0..MOST_TRIES {
        match node.undo(task, "ann", "a whim").await {
            Ok(()) => return Ok(()),
            Err(error) if *error.kind() == steadfast_runtime::ErrorKind::Ended(task) => return Ok(()),
            Err(error) => eprintln!("undo of {task}: {error}"),
        }
        Clock::system().sleep(PAUSE).await;
    }
    bail!("the undo of {task} was refused {MOST_TRIES} times")
}
