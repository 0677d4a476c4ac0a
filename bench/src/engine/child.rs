//! What needs a process of its own: this program, started by itself with a hidden argument, tells what it measured in
//! lines of `name value`.

use std::io::{BufRead, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};

use super::node::{First, Rig};
use super::process::{cpu, memory};
use super::runtime;
use super::speed::number;
use steadfast::resilience::clock::Clock;

/// The hidden argument.
const ARGUMENT: &str = "--child";

/// Waits that are longer than any measurement.
const LONG: Duration = Duration::from_secs(3_600);
/// Long enough that an attempt is not made again, short enough that its task stays in memory.
const IN_MEMORY: Duration = Duration::from_secs(25);
/// Tasks that are run before memory is looked at, so that everything has its size.
const WARM_UP: u64 = 2_000;

/// Carries a child's work out: what it measures, its file, how much.
///
/// # Errors
/// What it says it cannot do, the engine's and the file's.
pub fn child(words: &[String]) -> Result<()> {
    let [what, path, much] = words else { bail!("a child is told what, where and how much") };
    let (path, much) = (PathBuf::from(path), much.parse()?);
    let runtime = runtime()?;
    runtime.block_on(async {
        match &**what {
            "alone" => alone(&path, much).await,
            "waiting" => held(&path, much, IN_MEMORY, First::Fails).await,
            "released" => held(&path, much, LONG, First::Fails).await,
            "running" => held(&path, much, LONG, First::Hangs).await,
            "idle" => idle(&path, much).await,
            "restart" => restart(&path).await,
            _ => bail!("no child `{what}`"),
        }
    })
}

fn tell(name: &str, value: f64) {
    // A parent that has gone is told nothing.
    let _ = writeln!(std::io::stdout(), "{name} {value}");
}

/// One task after the other.
async fn alone(path: &Path, tasks: u64) -> Result<()> {
    let rig = Rig::start(path, LONG, || ()).await?;
    let before = rig.store.commits();
    for _ in 0..tasks {
        rig.one().await?;
    }
    tell("commits", number(rig.store.commits() - before));
    rig.node.shut_down().await?;
    Ok(())
}

/// Tasks that stay as they are.
async fn held(path: &Path, tasks: u64, again_after: Duration, first: First) -> Result<()> {
    let rig = Rig::start(path, again_after, || ()).await?;
    rig.submit(WARM_UP, First::Returns).await?;
    settled(&rig, 0, 0).await;
    let before = memory("RssAnon")?;
    rig.submit(tasks, first).await?;
    let (owned, running) = match first {
        First::Fails if again_after == IN_MEMORY => (tasks, 0),
        First::Hangs => (tasks, tasks),
        _ => (0, 0),
    };
    settled(&rig, owned, running).await;
    tell("owned", number(rig.node.stats().owned));
    tell("grown", number(memory("RssAnon")?) - number(before));
    Ok(())
}

/// Waits until a node has this many tasks, and attempts.
async fn settled(rig: &Rig, owned: u64, running: u64) {
    let clock = Clock::system();
    // What is wrong after this long is told as it is.
    for _ in 0..1_000 {
        clock.sleep(Duration::from_millis(10)).await;
        let stats = rig.node.stats();
        if stats.owned == owned && stats.running == running {
            break;
        }
    }
    // Writes under way end meanwhile.
    clock.sleep(Duration::from_millis(300)).await;
}

/// Nothing to do for so many seconds.
async fn idle(path: &Path, seconds: u64) -> Result<()> {
    let rig = Rig::start(path, LONG, || ()).await?;
    rig.submit(WARM_UP, First::Returns).await?;
    settled(&rig, 0, 0).await;
    let before = (rig.store.calls(), cpu("")?);
    Clock::system().sleep(Duration::from_secs(seconds)).await;
    tell("calls", number(rig.store.calls() - before.0));
    tell("cpu", cpu("")?.saturating_sub(before.1).as_secs_f64());
    tell("memory", number(memory("VmRSS")?));
    Ok(())
}

/// Begins with a file that others have left, until its first attempt.
async fn restart(path: &Path) -> Result<()> {
    let (attempted, mut attempt) = tokio::sync::mpsc::unbounded_channel();
    let rig = Rig::start(path, LONG, move || {
        let _ = attempted.send(());
    });
    let rig = rig.await?;
    tell("started", 0.0);
    attempt.recv().await.context("the node has ended")?;
    tell("attempt", 0.0);
    drop(rig);
    Ok(())
}

/// A child that runs.
pub(crate) struct Running {
    child: Child,
    lines: std::io::Lines<BufReader<std::process::ChildStdout>>,
}

impl Running {
    /// Starts one, behind another program if there is one to watch it.
    pub(crate) fn start(what: &str, path: &Path, much: u64, watched_by: &[&str]) -> Result<Self> {
        let own = std::env::current_exe()?;
        let mut command = match watched_by {
            [] => Command::new(own),
            [watcher, arguments @ ..] => {
                let mut command = Command::new(watcher);
                command.args(arguments).arg(own);
                command
            }
        };
        command.args([ARGUMENT, what]).arg(path).arg(much.to_string());
        let mut child = command.stdout(Stdio::piped()).stdin(Stdio::null()).spawn()?;
        let lines = BufReader::new(child.stdout.take().context("no output")?).lines();
        Ok(Self { child, lines })
    }

    /// The value of this name, once it is told.
    pub(crate) fn value(&mut self, name: &str) -> Result<f64> {
        for line in &mut self.lines {
            if let Some(value) = line?.strip_prefix(name) {
                return Ok(value.trim().parse()?);
            }
        }
        bail!("a child has told no `{name}`")
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Result<()> {
        let status = self.child.wait()?;
        ensure!(status.success(), "a child has failed: {status}");
        Ok(())
    }

    /// Has it end at once, as a crash would.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}
