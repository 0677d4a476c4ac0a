//! The auditor itself: a sound run passes, and every way to spoil its books or rows is found.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::path::Path;

use steadfast_crash::audit::{Report, audit};
use steadfast_crash::campaign::TASKS;
use steadfast_crash::child::Driver;
use steadfast_crash::driver::Orders;
use steadfast_crash::folder::Folder;

/// Changes the lines of a file.
fn edit(path: &Path, change: impl Fn(&mut Vec<String>)) {
    let mut lines: Vec<_> = fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect();
    change(&mut lines);
    fs::write(path, lines.into_iter().map(|line| line + "\n").collect::<String>()).unwrap();
}

fn sql(folder: &Path, sql: &str) {
    rusqlite::Connection::open(folder.join("db")).unwrap().execute_batch(sql).unwrap();
}

/// The place of the first line with these words.
fn first(lines: &[String], words: &str) -> usize {
    lines.iter().position(|line| line.contains(words)).unwrap()
}

/// What the audit finds in a copy of the run that was spoiled.
fn spoiled(run: &Path, spoil: impl Fn(&Path)) -> Report {
    let copy = Folder::new().unwrap();
    for entry in fs::read_dir(run).unwrap() {
        let path = entry.unwrap().path();
        fs::copy(&path, copy.path().join(path.file_name().unwrap())).unwrap();
    }
    spoil(copy.path());
    audit(copy.path()).unwrap()
}

type Spoil = fn(&Path);

const WAYS: [(&str, Spoil); 17] = [
    ("has failed, and nobody was told", |run| edit(&run.join("alerts"), |lines| drop(lines.remove(0)))),
    ("was told of by several alerts", |run| {
        edit(&run.join("alerts"), |lines| lines.push(lines[0].clone() + "0"));
    }),
    ("was told of, and has not failed", |run| {
        let acks = fs::read_to_string(run.join("acks")).unwrap();
        let task = acks.lines().find(|line| line.ends_with(" key-2")).unwrap().split(' ').next().unwrap();
        edit(&run.join("alerts"), |lines| lines.push(format!("{task} task-failed 7")));
    }),
    ("was not delivered", |run| {
        sql(run, "INSERT INTO steadfast_outbox (at_ms, kind, until_ms, body) VALUES (1, 0, 1, x'')");
    }),
    ("was acknowledged, and is lost", |run| {
        edit(&run.join("acks"), |lines| lines.push("0192f3a0-5b1c-7d2e-8f00-0123456789ab key-0".to_owned()));
    }),
    ("was acknowledged under", |run| edit(&run.join("acks"), |lines| lines[0].push('9'))),
    ("the run of tick-1 is lost", |run| sql(run, "DELETE FROM steadfast_tasks WHERE key LIKE 'tick-1@%'")),
    ("nobody has declared it", |run| edit(&run.join("ticks"), |lines| lines[0].push('9'))),
    ("tick-0 was begun more than once", |run| {
        sql(run, "UPDATE steadfast_tasks SET key = 'tick-0@x' WHERE key LIKE 'tick-1@%'");
    }),
    ("is lost", |run| sql(run, "DELETE FROM steadfast_tasks WHERE key = 'key-2'")),
    ("completed, and never done", |run| {
        edit(&run.join("effects"), |lines| {
            let undone: Vec<_> = lines.iter().filter(|line| line.contains(" undo ")).cloned().collect();
            let task = |line: &String| line.split(' ').next().unwrap().to_owned();
            let kept = lines.iter().position(|line| !undone.iter().any(|undone| task(undone) == task(line)));
            lines.remove(kept.unwrap());
        });
    }),
    ("undone in the records alone", |run| {
        edit(&run.join("effects"), |lines| drop(lines.remove(first(lines, " undo "))));
    }),
    ("it was done and is not undone", |run| {
        edit(&run.join("effects"), |lines| drop(lines.remove(first(lines, " undo "))));
    }),
    ("more than one key", |run| {
        edit(&run.join("effects"), |lines| lines.push(lines[0].clone() + "0"));
    }),
    ("done twice under key", |run| edit(&run.join("effects"), |lines| lines.push(lines[0].clone()))),
    ("undone before what came after it", |run| {
        edit(&run.join("effects"), |lines| {
            let (undos, others): (Vec<_>, Vec<_>) = lines.drain(..).partition(|line| line.contains(" undo "));
            *lines = others.into_iter().chain(undos.into_iter().rev()).collect();
        });
    }),
    ("which is not stored", |run| {
        edit(&run.join("effects"), |lines| {
            lines.push("0192f3a0-5b1c-7d2e-8f00-0123456789ab 0 run 0".to_owned());
        });
    }),
];

const ROWS: [(&str, &str); 4] = [
    ("its history ends with", "UPDATE steadfast_tasks SET revision = revision + 1"),
    ("follows", "DELETE FROM steadfast_history WHERE revision = 2"),
    ("its columns and its head disagree", "UPDATE steadfast_tasks SET state = 1, at_rest = 0"),
    (
        "its rows are not what its history says",
        "UPDATE steadfast_steps SET record = (SELECT record FROM steadfast_steps s
         WHERE s.ordinal = 1 AND s.record <> steadfast_steps.record) WHERE ordinal = 0",
    ),
];

#[test]
fn every_way_to_spoil_a_run_is_found() {
    let run = Folder::new().unwrap();
    let driver = Driver::at(env!("CARGO_BIN_EXE_steadfast-crash-driver"));
    assert!(driver.run(run.path(), Orders::tasks(TASKS), &[]).unwrap().is_well());
    let sound = audit(run.path()).unwrap();
    assert!(sound.findings.is_empty(), "{:#?}", sound.findings);
    assert_eq!(sound.acknowledged, 24);
    assert_eq!(sound.ended.get(&steadfast_engine::TaskState::Failed), Some(&2), "{:?}", sound.ended);
    let found = |report: Report, words: &str| {
        assert!(
            report.findings.iter().any(|finding| finding.contains(words)),
            "{words}: {:#?}",
            report.findings
        );
    };
    for (words, spoil) in WAYS {
        found(spoiled(run.path(), spoil), words);
    }
    for (words, change) in ROWS {
        found(spoiled(run.path(), |copy| sql(copy, change)), words);
    }
}
