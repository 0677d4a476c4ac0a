//! The rules themselves: what a task's rows say must be what the books say.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Result;
use steadfast_engine::{Definition, Record, StepId, StepState, TaskState, UndoState};

use super::{Books, Row, Rows, Told};
use crate::driver::NO_TASK;
use crate::{tick, world};

/// Every acknowledged submission is there, under its key.
pub(super) fn acknowledged(rows: &Rows, books: &Books, findings: &mut Vec<String>) {
    for (task, key) in &books.acks {
        match rows.tasks.get(task) {
            None => findings.push(format!("task {task} ({key}) was acknowledged, and is lost")),
            Some(row) if row.key != *key => {
                findings.push(format!("task {task} was acknowledged under {key}, and has {}", row.key));
            }
            Some(_) => {}
        }
    }
}

/// Every schedule has begun its run once, at an instant that was declared.
pub(super) fn ticks(rows: &Rows, books: &Books, findings: &mut Vec<String>) {
    for nth in 0..tick::COUNT {
        let of = |key: &str| key.starts_with(&format!("{}@", tick::name(nth)));
        let keys: Vec<_> = rows.tasks.values().map(|row| &row.key).filter(|key| of(key)).collect();
        match keys.as_slice() {
            [key] if books.ticks.contains(*key) => {}
            [key] => findings.push(format!("{key} was begun, and nobody has declared it")),
            [] => findings.push(format!("the run of {} is lost", tick::name(nth))),
            more => findings.push(format!("{} was begun more than once: {more:?}", tick::name(nth))),
        }
    }
}

/// Nothing has an effect that no record knows of; nothing was done twice.
pub(super) fn known(rows: &Rows, books: &Books, findings: &mut Vec<String>) {
    let mut keys: Vec<_> = books.effects.iter().map(|effect| &effect.key).collect();
    keys.sort();
    for pair in keys.windows(2).filter(|pair| pair[0] == pair[1]) {
        findings.push(format!("done twice under key {}", pair[0]));
    }
    for effect in &books.effects {
        match rows.tasks.get(&effect.task) {
            None => findings.push(format!("an effect of task {}, which is not stored", effect.task)),
            Some(row) if effect.place >= row.task.steps().len() => {
                findings.push(format!(
                    "an effect of step {} of {}, which has none",
                    effect.place,
                    row.name()
                ));
            }
            Some(_) => {}
        }
    }
}

/// O1: every failure was told at least once, by one alert, and nothing else was.
pub(super) fn told(rows: &Rows, books: &Books, findings: &mut Vec<String>) {
    for task in &rows.telling {
        findings.push(format!("an alert of task {task} was not delivered"));
    }
    for row in rows.tasks.values() {
        let failed = row.task.state() == TaskState::Failed;
        let of_it = books.alerts.iter().filter(|told| told.task == row.id && told.kind == "task-failed");
        let ids: BTreeSet<_> = of_it.map(|told| &told.id).collect();
        match (failed, ids.len()) {
            (true, 1) | (false, 0) => {}
            (true, 0) => findings.push(format!("{} has failed, and nobody was told", row.name())),
            (true, _) => {
                findings.push(format!("{} has failed once, and was told of by several alerts", row.name()));
            }
            (false, _) => findings.push(format!("{} was told of, and has not failed", row.name())),
        }
    }
    let of_circuit = |told: &Told| told.task == NO_TASK && told.kind.starts_with("circuit-");
    let unknown =
        books.alerts.iter().filter(|told| !rows.tasks.contains_key(&told.task) && !of_circuit(told));
    findings.extend(unknown.map(|told| format!("an alert of task {}, which is not there", told.task)));
}

/// What does not hold for a task.
pub(super) fn task(row: &Row, books: &Books) -> Result<Vec<String>> {
    let definition = world::definition(&row.workflow)?;
    let mut findings: Vec<String> = row.task.check(&definition).err().into_iter().collect();
    for (id, record) in row.task.rows() {
        step(&definition, row, books, (id, record), &mut findings);
    }
    findings.extend(end(row, books));
    Ok(findings)
}

fn step(
    definition: &Definition,
    row: &Row,
    books: &Books,
    (id, record): (StepId, &Record),
    findings: &mut Vec<String>,
) {
    // What the other task did is in its own rows.
    if definition.step(id).asks_for().is_some() {
        return;
    }
    let (name, place) = (definition.step(id).name(), id.ordinal());
    let (done, undone) = (books.done(&row.id, place, false), books.done(&row.id, place, true));
    let mut find = |wrong: bool, words: &str| {
        if wrong {
            findings.push(format!("{name}: {words}: {record:?}"));
        }
    };
    let twice = |times: Option<(usize, usize)>| times.is_some_and(|(_, times)| times > 1);
    find(twice(done) || twice(undone), "it had more than one key");
    find(record.state == StepState::Completed && done.is_none(), "completed, and never done");
    find(record.undo == UndoState::Done && undone.is_none(), "undone in the records alone");
    find(undone.is_some() && record.undo == UndoState::None, "it was undone, and nobody knows");
    let recorded = record.state == StepState::Completed || record.undo != UndoState::None;
    find(done.is_some() && !recorded && !record.may_have_happened, "it was done, and nobody knows");
    let must_be_undone = row.task.state() == TaskState::Undone && done.is_some();
    find(must_be_undone && undone.is_none(), "it was done and is not undone");
    for later in definition.dependents(id) {
        if let (Some((at, _)), Some((later_at, _))) = (undone, books.done(&row.id, later.ordinal(), true)) {
            find(later_at > at, "it was undone before what came after it");
        }
    }
    for earlier in definition.before(id).iter().filter(|id| definition.step(**id).asks_for().is_none()) {
        if let (Some((at, _)), earlier_at) = (done, books.done(&row.id, earlier.ordinal(), false)) {
            find(
                earlier_at.is_none_or(|(earlier, _)| earlier > at),
                "it was done before what comes before it",
            );
        }
    }
}

/// How a task may end: as its services and those who regretted it have it, or failed with a reason.
fn end(row: &Row, books: &Books) -> Option<String> {
    let (asked, acknowledged) =
        (books.undo_asked.contains(&row.id), books.undo_acknowledged.contains(&row.id));
    let refused = world::is_refused(row.number);
    match row.task.state() {
        TaskState::Completed | TaskState::Undone if world::is_hopeless(row.number) => {
            Some("it did not fail, and should have".to_owned())
        }
        TaskState::Completed if refused => Some("it completed, and a step was refused".to_owned()),
        TaskState::Completed if acknowledged => {
            Some("its undo was acknowledged, and it is not undone".to_owned())
        }
        // One that another task has asked for: how that one ended is looked at there.
        _ if row.is_asked_for() => None,
        TaskState::Undone if !refused && !asked => Some("it is undone, and nobody wanted that".to_owned()),
        TaskState::Completed | TaskState::Undone => None,
        TaskState::Failed => {
            row.task.head().ending.is_none().then(|| "it failed, and does not say why".to_owned())
        }
        state => Some(format!("it is not at rest, but {state:?}")),
    }
}

/// W1: a task that another one has asked for is there once, and ends as that one does.
pub(super) fn asked_for(rows: &Rows, findings: &mut Vec<String>) {
    for parent in rows.tasks.values().filter(|row| row.workflow == world::PARENT) {
        let of_it = |row: &&Row| row.is_asked_for() && row.number == parent.number;
        let children: Vec<_> = rows.tasks.values().filter(of_it).map(|row| row.task.state()).collect();
        let fits = match (parent.task.state(), &children[..]) {
            (TaskState::Completed, [TaskState::Completed])
            | (TaskState::Undone, [] | [TaskState::Undone]) => true,
            (TaskState::Failed, all) => all.len() <= 1,
            _ => false,
        };
        if !fits {
            findings.push(format!(
                "{} is {:?}, and has asked for {children:?}",
                parent.name(),
                parent.task.state()
            ));
        }
    }
    let has_parent = |row: &Row| {
        rows.tasks.values().any(|other| other.workflow == world::PARENT && other.number == row.number)
    };
    for row in rows.tasks.values().filter(|row| row.is_asked_for() && !has_parent(row)) {
        findings.push(format!("{} was asked for by nobody", row.name()));
    }
}

/// N2: replies of a task come in their order, and none is left out. The last ones may wait in the store when the process ends.
pub(super) fn replied(rows: &Rows, books: &Books, findings: &mut Vec<String>) {
    let mut seen: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for (task, number) in &books.replies {
        let numbers = seen.entry(task).or_default();
        if !numbers.contains(number) {
            numbers.push(*number);
        }
    }
    for (task, numbers) in seen {
        let in_order = numbers.windows(2).all(|pair| pair[1] == pair[0] + 1);
        if !in_order || numbers[0] > 1 {
            findings.push(format!("task {task} told its replies in this order: {numbers:?}"));
        }
        if !rows.tasks.contains_key(task) {
            findings.push(format!("a reply of task {task}, which does not exist"));
        }
    }
}
