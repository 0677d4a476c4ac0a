//! Every action in every state, seen in thousands of random worlds: the table of the guide is made from it.

use std::collections::{BTreeMap, BTreeSet};

use super::operate::{any_action, retry};
use super::random::World;
use super::*;

/// Where a task stands, as the guide's table has it.
fn situation(task: &Task) -> &'static str {
    let head = task.head();
    match (task.state(), &head.ending) {
        (TaskState::Paused, _) => "paused",
        (TaskState::Pending, _) => "not begun",
        (TaskState::Completed, _) => "completed",
        (TaskState::Undone, _) => "undone",
        (TaskState::Failed, Some(ending)) if ending.end == End::Undo => "failed in its undo",
        (TaskState::Failed, _) => "failed on its way",
        (_, Some(ending)) if !ending.drained => "ending: attempts still run",
        (_, Some(_)) => "being undone",
        (_, None) => "under way",
    }
}

const SITUATIONS: [&str; 9] = [
    "not begun",
    "under way",
    "paused",
    "ending: attempts still run",
    "being undone",
    "failed on its way",
    "failed in its undo",
    "completed",
    "undone",
];

/// Where a step stands, as the guide's table has it.
fn step_situation(definition: &Definition, task: &Task, step: StepId) -> &'static str {
    let (record, waits) = (task.step(step), definition.step(step).wait().is_some());
    let fans_out = definition.step(step).fans_out().is_some();
    let asks = definition.step(step).asks_for().is_some() && record.may_have_happened;
    match (record.undo, record.state) {
        (UndoState::Failed, _) if fans_out => "undo of items failed",
        (UndoState::Failed, StepState::Unknown) => "undo stuck, unknown whether it happened",
        (UndoState::Failed, _) => "undo failed",
        (UndoState::Done, _) => "undone",
        (UndoState::Running, _) => "undo running",
        (UndoState::Pending | UndoState::Ready | UndoState::Parked | UndoState::Waiting, _) => {
            "undo to be made"
        }
        (UndoState::None, StepState::Pending) => "not its turn",
        (UndoState::None, StepState::Ready | StepState::Parked) => "ready, or parked",
        (UndoState::None, StepState::Running) if task.awaits_callback(definition, step) => {
            "taken on by its service"
        }
        (UndoState::None, StepState::Running) => "running",
        (UndoState::None, StepState::Waiting) if waits => "waits by its definition",
        (UndoState::None, StepState::Waiting) if fans_out => "waits for its items",
        (UndoState::None, StepState::Failed) if fans_out => "failed, with items",
        (UndoState::None, StepState::Waiting) if asks && record.rounds() > 0 => "waits for its child task",
        (UndoState::None, StepState::Waiting) => "waits for its next attempt",
        (UndoState::None, StepState::Failed) if record.is_settled(definition.step(step)) => "left behind",
        (UndoState::None, StepState::Failed) => "failed",
        (UndoState::None, StepState::Unknown) => "unknown whether it happened",
        (UndoState::None, _) => "completed, or skipped",
    }
}

const STEP_SITUATIONS: [&str; 18] = [
    "not its turn",
    "ready, or parked",
    "running",
    "taken on by its service",
    "waits for its next attempt",
    "waits by its definition",
    "waits for its items",
    "waits for its child task",
    "failed",
    "failed, with items",
    "unknown whether it happened",
    "left behind",
    "completed, or skipped",
    "undo to be made",
    "undo running",
    "undo failed",
    "undo of items failed",
    "undo stuck, unknown whether it happened",
];

type Cells = BTreeMap<(&'static str, &'static str, String), BTreeSet<Option<Ignored>>>;

/// What becomes of each action in each state that thousands of random tasks come to.
fn observed() -> (Cells, Cells) {
    let (mut whole, mut steps) = (Cells::new(), Cells::new());
    for seed in 0..800 {
        let mut world = World::new(seed);
        world.event(&Event::Claimed);
        for round in 0..220 {
            world.faults = round < 150;
            let rests = world.run.task.state().is_at_rest();
            if round % 5 == 0 || rests {
                look(&world.run, &mut whole, &mut steps);
            }
            if rests || world.rng.u8(0..30) == 0 {
                let ids: Vec<_> = world.run.definition.ids().collect();
                let (step, now) = (ids[world.rng.usize(0..ids.len())], world.run.now);
                let action = any_action(&mut world.rng, step, now);
                world.event(&asked(action));
            }
            if !world.run.task.state().is_at_rest() {
                world.live();
            }
        }
    }
    (whole, steps)
}

fn look(run: &Run, whole: &mut Cells, steps: &mut Cells) {
    let at = situation(&run.task);
    let later = Some(run.now + s(60));
    for action in [Action::Pause, Action::Resume, Action::Cancel, Action::Undo, Action::Deadline(later)] {
        let plan = decide(&run.definition, &run.task, &asked(action), run.now);
        whole.entry((action.name(), at, String::new())).or_default().insert(plan.ignored());
    }
    for step in run.definition.ids() {
        let step_at = step_situation(&run.definition, &run.task, step);
        for (said, action) in [
            ("", retry(step)),
            (", did not happen", Action::Retry { step, edited: false, did_not_happen: true }),
            ("", Action::Retry { step, edited: true, did_not_happen: false }),
            (", did not happen", Action::Retry { step, edited: true, did_not_happen: true }),
            ("", Action::Skip { step, happened: false }),
            ("", Action::RetryUndo { step, happened: false }),
            (", happened", Action::RetryUndo { step, happened: true }),
            ("", Action::TakeAsUndone { step }),
        ] {
            let plan = decide(&run.definition, &run.task, &asked(action), run.now);
            let name = format!("{}{said}", action.name());
            steps.entry((step_at, at, name)).or_default().insert(plan.ignored());
        }
    }
}

/// What a cell says: done, or why not; both where that depends on more than the state.
fn cell(outcomes: Option<&BTreeSet<Option<Ignored>>>, reasons: &mut Vec<Ignored>) -> String {
    let Some(outcomes) = outcomes else { return String::new() };
    let mut number = |ignored: &Ignored| {
        let known = reasons.iter().position(|reason| reason == ignored);
        let place = known.unwrap_or_else(|| {
            reasons.push(*ignored);
            reasons.len() - 1
        });
        format!("{}", place + 1)
    };
    let refused: Vec<_> = outcomes.iter().flatten().map(&mut number).collect();
    match (outcomes.contains(&None), refused.is_empty()) {
        (true, true) => "**yes**".to_owned(),
        (true, false) => format!("**yes**, or {}", refused.join(", ")),
        (false, _) => refused.join(", "),
    }
}

fn table() -> String {
    let (whole, steps) = observed();
    let mut reasons = Vec::new();
    let mut text =
        String::from("| task | pause | resume | cancel | undo | deadline |\n|---|---|---|---|---|---|\n");
    for at in SITUATIONS {
        let cells = ["pause", "resume", "cancel", "undo", "deadline"]
            .map(|action| cell(whole.get(&(action, at, String::new())), &mut reasons));
        text.push_str(&format!("| {at} | {} |\n", cells.join(" | ")));
    }
    text.push_str("\nOf a step, in a task that is not at an end that cannot be left:\n\n");
    text.push_str("| step | task | retry | with another input | skip | retry-undo | take-as-undone |\n|---|---|---|---|---|---|---|\n");
    for step_at in STEP_SITUATIONS {
        for at in SITUATIONS {
            let mut of = |name: &str| cell(steps.get(&(step_at, at, name.to_owned())), &mut reasons);
            // What an operator has to say is said.
            let mut either = |name: &str, said: &str| {
                let (without, with) = (of(name), of(&format!("{name}, {said}")));
                if without == with { without } else { format!("{without}; said that it {said}: {with}") }
            };
            let retry = either("retry", "did not happen");
            if retry.is_empty() {
                continue;
            }
            let edit = either("edit-and-retry", "did not happen");
            let undo = either("retry-undo", "happened");
            let (skip, taken) = (of("skip"), of("take-as-undone"));
            if [&retry, &edit, &skip, &undo, &taken].iter().all(|cell| !cell.contains("yes"))
                && at != "under way"
            {
                continue;
            }
            text.push_str(&format!("| {step_at} | {at} | {retry} | {edit} | {skip} | {undo} | {taken} |\n"));
        }
    }
    text.push('\n');
    for (number, reason) in reasons.iter().enumerate() {
        text.push_str(&format!("{}. {reason}\n", number + 1));
    }
    text
}

/// The guide has what the rules do, in every state: `WRITE=1` brings it up to date.
#[test]
fn every_action_in_every_state_does_what_the_guide_says() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/operating.md");
    let page = std::fs::read_to_string(path).unwrap();
    let (begin, end) = ("<!-- actions: made by a test of the engine, do not edit -->\n", "<!-- /actions -->");
    let (before, rest) = page.split_once(begin).unwrap();
    let (told, after) = rest.split_once(end).unwrap();
    let table = format!("\n{}\n", table());
    if std::env::var_os("WRITE").is_some() {
        std::fs::write(path, format!("{before}{begin}{table}{end}{after}")).unwrap();
        return;
    }
    assert_eq!(
        told, table,
        "bring it up to date: WRITE=1 cargo test -p steadfast-engine what_the_guide_says"
    );
}
