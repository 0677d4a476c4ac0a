//! The loss of power: at a chosen place of the record the disk is rebuilt, opened by plain SQLite, and compared with what
//! had been told and done until then.

use anyhow::{Context, Result};
use steadfast_engine::{TaskState, UndoState};

use super::{Disk, Event, Log};
use crate::audit::{self, Effect, Rows};
use crate::driver::{ACKS, ALERTS, DATABASE};
use crate::folder::Folder;

/// So many times more seldom the power is lost where nothing was promised: there are many such places.
const QUIET: usize = 47;

/// What a loss of power would have lost.
#[derive(Debug, Default)]
pub struct Lost {
    /// Places that were looked at.
    pub cuts: usize,
    /// Acknowledged submissions that were looked for, over all places.
    pub looked_for: usize,
    /// Acknowledged tasks that are not there, effects that no record knows of, files that are damaged.
    pub findings: Vec<String>,
}

/// Places right behind promises that have just been made: every so many-th acknowledgement or effect, and the last one.
/// Beside those, places where nothing was promised.
#[must_use]
pub fn cuts(log: &Log, every: usize) -> Vec<usize> {
    let is_promise =
        |event: &Event| matches!(event, Event::Written(name, ..) if name == ACKS || name == "effects");
    let places = |wanted: bool| {
        let places = (1..).zip(&log.events).filter(move |(_, event)| is_promise(event) == wanted);
        places.map(|(at, _)| at).collect::<Vec<usize>>()
    };
    let (promises, others) = (places(true), places(false));
    let chosen = promises.iter().step_by(every).chain(promises.last());
    let mut cuts: Vec<_> = chosen.chain(others.iter().step_by(every * QUIET)).copied().collect();
    cuts.sort_unstable();
    cuts.dedup();
    cuts
}

/// Loses the power at each of these places, in order.
///
/// # Errors
/// What is no fault of the store: a record that cannot be read, a disk that is full.
pub fn check(log: &Log, cuts: &[usize], mut luck: Option<fastrand::Rng>) -> Result<Lost> {
    let (mut disk, mut told, mut lost) = (Disk::default(), Told::default(), Lost::default());
    let mut cuts = cuts.iter().peekable();
    for (at, event) in (1..).zip(&log.events) {
        disk.take(event);
        told.take(event)?;
        if cuts.next_if(|cut| **cut == at).is_some() {
            lost.cuts += 1;
            lost.looked_for += told.acks.len();
            let findings = told.check(&disk, luck.as_mut())?;
            lost.findings.extend(findings.into_iter().map(|words| format!("power lost at {at}: {words}")));
        }
    }
    Ok(lost)
}

/// What was told and done until now.
#[derive(Default)]
struct Told {
    acks: Vec<String>,
    effects: Vec<Effect>,
    alerts: Vec<audit::Told>,
}

impl Told {
    fn take(&mut self, event: &Event) -> Result<()> {
        let Event::Written(name, _, bytes) = event else { return Ok(()) };
        let line = || std::str::from_utf8(bytes).map(str::trim_end).context("a line");
        match name.as_str() {
            ACKS => self.acks.extend(line()?.split(' ').next().map(str::to_owned)),
            "effects" => self.effects.push(Effect::parse(line()?)?),
            ALERTS => self.alerts.push(audit::Told::parse(line()?)?),
            _ => {}
        }
        Ok(())
    }

    fn check(&self, disk: &Disk, luck: Option<&mut fastrand::Rng>) -> Result<Vec<String>> {
        let folder = Folder::new()?;
        disk.rebuild(folder.path(), luck)?;
        let rows = match folder.path().join(DATABASE) {
            path if path.exists() => Rows::read(&path),
            _ => Ok(Rows::default()),
        };
        let rows = match rows {
            Ok(rows) => rows,
            Err(error) => return Ok(vec![format!("the file cannot be read: {error:#}")]),
        };
        let mut findings = rows.damage.clone();
        let lost = self.acks.iter().filter(|task| !rows.tasks.contains_key(*task));
        findings.extend(lost.map(|task| format!("task {task} was acknowledged, and is lost")));
        let unknown = self.effects.iter().filter(|effect| !is_known(&rows, effect));
        findings.extend(unknown.map(|effect| format!("nobody knows of {effect:?}")));
        findings.extend(self.alerts(&rows));
        Ok(findings)
    }

    /// A failure and its message are one write: it was told, or it waits to be; and nothing is told before it is there.
    fn alerts(&self, rows: &Rows) -> Vec<String> {
        let failed = |row: &&audit::Row| row.task.state() == TaskState::Failed;
        let told = |id: &str| self.alerts.iter().any(|told| told.task == id);
        let silent = rows
            .tasks
            .values()
            .filter(failed)
            .filter(|row| !told(&row.id) && !rows.telling.contains(&row.id));
        let silent = silent.map(|row| format!("task {} has failed, and its alert is lost", row.id));
        let early =
            self.alerts.iter().filter(|told| !rows.tasks.get(&told.task).is_some_and(|row| failed(&row)));
        silent.chain(early.map(|told| format!("nobody knows of the failure of {told:?}"))).collect()
    }
}

/// Whether the rows say that what was done may have been: an attempt is written before it is made.
fn is_known(rows: &Rows, effect: &Effect) -> bool {
    let record = rows.tasks.get(&effect.task).and_then(|row| row.task.steps().get(effect.place));
    record.is_some_and(|record| match effect.undo {
        true => record.undo != UndoState::None,
        false => record.attempt > 0,
    })
}
