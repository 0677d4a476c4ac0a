//! What was written outside of the store.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::driver::{ACKS, ALERTS, REPLIES, UNDOS};
use crate::tick::TICKS;

/// What a service has done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// For which task.
    pub task: String,
    /// Which step, by its place.
    pub place: usize,
    /// Whether it was undone.
    pub undo: bool,
    /// Under which key.
    pub key: String,
}

impl Effect {
    /// Reads a line of the services' books.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(line: &str) -> Result<Self> {
        let words: Vec<_> = line.split(' ').collect();
        let [task, place, what, key] = words.as_slice() else { anyhow::bail!("not an effect: {line}") };
        ensure!(["run", "undo"].contains(what), "neither run nor undo: {line}");
        let place = place.parse().with_context(|| line.to_owned())?;
        Ok(Self { task: (*task).to_owned(), place, undo: *what == "undo", key: (*key).to_owned() })
    }
}

/// An alert that was delivered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Told {
    /// About which task.
    pub task: String,
    /// Which sort.
    pub kind: String,
    /// Its id.
    pub id: String,
}

impl Told {
    /// Reads a line of the hook's book.
    ///
    /// # Errors
    /// It is none.
    pub fn parse(line: &str) -> Result<Self> {
        let words: Vec<_> = line.split(' ').collect();
        let [task, kind, id] = words.as_slice() else { anyhow::bail!("not an alert: {line}") };
        Ok(Self { task: (*task).to_owned(), kind: (*kind).to_owned(), id: (*id).to_owned() })
    }
}

/// All of it.
#[derive(Clone, Debug, Default)]
pub struct Books {
    /// Acknowledged submissions: task and key.
    pub acks: BTreeMap<String, String>,
    /// Tasks whose undo was asked for.
    pub undo_asked: BTreeSet<String>,
    /// Tasks whose undo was acknowledged.
    pub undo_acknowledged: BTreeSet<String>,
    /// Instants of schedules that somebody declared, or wanted to, as keys of their tasks.
    pub ticks: BTreeSet<String>,
    /// What services have done, in order.
    pub effects: Vec<Effect>,
    /// How often they were called.
    pub calls: usize,
    /// Alerts, each as often as it was delivered.
    pub alerts: Vec<Told>,
    /// Replies, in order: task and number.
    pub replies: Vec<(String, u64)>,
}

impl Books {
    /// Reads the books of a run.
    ///
    /// # Errors
    /// The disk's; a line that was not written as a whole.
    pub fn read(folder: &Path) -> Result<Self> {
        let mut books = Self::default();
        for line in lines(&folder.join(ACKS))? {
            let (task, key) =
                line.split_once(' ').with_context(|| format!("not an acknowledgement: {line}"))?;
            books.acks.insert(task.to_owned(), key.to_owned());
        }
        for line in lines(&folder.join(UNDOS))? {
            let set = match line.split_once(' ') {
                Some(("asked", task)) => (&mut books.undo_asked, task),
                Some(("acknowledged", task)) => (&mut books.undo_acknowledged, task),
                _ => anyhow::bail!("not an undo: {line}"),
            };
            set.0.insert(set.1.to_owned());
        }
        books.ticks = lines(&folder.join(TICKS))?.into_iter().collect();
        books.effects =
            lines(&folder.join("effects"))?.iter().map(|line| Effect::parse(line)).collect::<Result<_>>()?;
        books.alerts =
            lines(&folder.join(ALERTS))?.iter().map(|line| Told::parse(line)).collect::<Result<_>>()?;
        for line in lines(&folder.join(REPLIES))? {
            let (task, number) = line.split_once(' ').context("a reply")?;
            books.replies.push((task.to_owned(), number.parse().context("the number of a reply")?));
        }
        books.calls = lines(&folder.join("calls"))?.len();
        Ok(books)
    }

    /// When something was done or undone first, and how often.
    pub(super) fn done(&self, task: &str, place: usize, undo: bool) -> Option<(usize, usize)> {
        let is = |effect: &Effect| effect.task == task && effect.place == place && effect.undo == undo;
        let mut found = self.effects.iter().enumerate().filter(|(_, effect)| is(effect)).map(|(at, _)| at);
        let first = found.next()?;
        Some((first, 1 + found.count()))
    }
}

fn lines(path: &Path) -> Result<Vec<String>> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.with_context(|| path.display().to_string())?,
    };
    ensure!(text.is_empty() || text.ends_with('\n'), "{}: the last line is torn", path.display());
    Ok(text.lines().map(str::to_owned).collect())
}
