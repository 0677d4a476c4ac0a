//! `steadfast task show` and `why`.

use std::time::Duration;

use anyhow::Result;
use steadfast_client::wire::state::StepState;
use steadfast_client::wire::step::Step;
use steadfast_client::wire::task::{Paused, Task};
use steadfast_client::wire::why::{Held, Why};

use crate::session::Session;
use crate::show::{self, Fields, Out, Table, time};

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its id, or the beginning or the end of it
    id: String,
    /// Show values as a whole, however long they are
    #[arg(long)]
    full: bool,
    /// Leave input, outputs and result out
    #[arg(long, conflicts_with = "full")]
    no_payloads: bool,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<()> {
    let id = session.task_id(&args.id).await?;
    let task = session.answer(session.client.task(&id, !args.no_payloads)).await?;
    session.out.show(&task, || text(&task, &session.out, args.full))
}

fn text(task: &Task, out: &Out, full: bool) -> String {
    let steps = steps(task, out);
    let parts = [head(task, out, full), out.table(&steps), attempts(task, out), outputs(task, full)];
    let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join("\n\n")
}

fn head(task: &Task, out: &Out, full: bool) -> String {
    let about = &task.summary;
    let wall = &out.wall;
    let mut fields = Fields::default();
    fields.add("task", &about.id);
    fields.add("workflow", format!("{}, version {}", about.workflow, about.version));
    fields.add_painted("state", out.state(about.state.as_str()));
    fields.add("why", &about.why);
    fields.add("namespace", &about.namespace);
    fields.maybe("key", about.key.as_ref());
    fields.add("labels", show::labels(&about.labels));
    fields.maybe("parent", about.parent.as_ref());
    fields.add("submitted", wall.told(&about.submitted_at));
    fields.maybe("starts", wall.maybe(task.start_at.as_ref()));
    fields.maybe("deadline", wall.maybe(task.deadline.as_ref()));
    fields.maybe("ended", wall.maybe(task.ended_at.as_ref()));
    fields.maybe("paused", task.paused.as_ref().map(|paused| held(paused, out)));
    fields.maybe(
        "no return",
        task.no_return.then_some("it has passed the point behind which nothing is undone"),
    );
    fields.maybe("input", task.input.as_ref().map(|input| show::value(input, full)));
    let result = task.outcome.as_ref().and_then(|outcome| outcome.result.as_ref());
    fields.maybe("result", result.map(|result| show::value(result, full)));
    fields.text()
}

fn held(paused: &Paused, out: &Out) -> String {
    let Paused { by, because, since, left_ms } = paused;
    let left = left_ms.map(Duration::from_millis);
    let left = left.map(|left| format!("; {} left until its deadline", time::span(left))).unwrap_or_default();
    format!("by {by} since {}: {because}{left}", out.wall.told(since))
}

fn steps(task: &Task, out: &Out) -> Table {
    let mut table = Table::new([
        "STEP",
        "STATE",
        "UNDO",
        "ATTEMPT",
        "FAILURES",
        "FAILED CALLS",
        "ITEMS",
        "UNTIL",
        "NOTE",
    ]);
    for step in &task.steps {
        let until = step.complete_by.as_ref().or(step.not_before.as_ref());
        let undo = if step.undo.as_str() == "none" { "" } else { step.undo.as_str() };
        let or_none = |number: u32| if number == 0 { String::new() } else { number.to_string() };
        table.row([
            step.name.clone(),
            step.state.to_string(),
            undo.to_owned(),
            or_none(step.attempt),
            or_none(step.failures),
            or_none(step.calls),
            step.items.map(|items| format!("{}/{}", items.done, items.count)).unwrap_or_default(),
            out.wall.or_none(until),
            note(step),
        ]);
    }
    table
}

fn note(step: &Step) -> String {
    let blocked = step.blocked_on.as_ref().map(|on| format!("waits for its {on}"));
    let doubt = step.may_have_happened.then(|| "may have happened".to_owned());
    let progress = step.progress.as_ref().map(|progress| format!("at {}", show::value(progress, false)));
    let items = step.items.filter(|items| items.failed + items.stuck > 0);
    let items =
        items.map(|items| format!("{} items failed, {} stuck in their undo", items.failed, items.stuck));
    // It has gone well since.
    let is_over = matches!(step.state, StepState::Completed | StepState::Undone);
    let before = if is_over { "before it went well: " } else { "" };
    let failure = step.last_failure.as_ref().map(|failure| format!("{before}{failure}"));
    let all = [blocked, doubt, progress, items, failure];
    all.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn attempts(task: &Task, out: &Out) -> String {
    let mut table = Table::new(["ATTEMPT OF", "NUMBER", "BEGAN", "TOOK", "FAILURE"]);
    for step in &task.steps {
        for attempt in &step.attempts {
            let of = if attempt.undo { format!("{} (undo)", step.name) } else { step.name.clone() };
            let took = attempt.ended_at.as_ref().map(|ended| time::between(&attempt.began_at, ended));
            table.row([
                of,
                attempt.number.to_string(),
                out.wall.told(&attempt.began_at),
                took.map_or_else(|| "under way".to_owned(), Option::unwrap_or_default),
                attempt.failure.clone().unwrap_or_default(),
            ]);
        }
    }
    if table.is_empty() { String::new() } else { out.table(&table) }
}

fn outputs(task: &Task, full: bool) -> String {
    let output = |step: &Step| match (&step.output, step.output_left_out) {
        (Some(output), _) => Some(format!("output of {}: {}", step.name, show::value(output, full))),
        (None, true) => Some(format!("output of {}: too large to be shown beside the others", step.name)),
        (None, false) => None,
    };
    task.steps.iter().filter_map(output).collect::<Vec<_>>().join("\n")
}

#[derive(clap::Args)]
pub(crate) struct WhyArgs {
    /// Its id, or the beginning or the end of it
    id: String,
}

pub(crate) async fn why(args: &WhyArgs, session: &Session) -> Result<()> {
    let id = session.task_id(&args.id).await?;
    let why = session.answer(session.client.why(&id)).await?;
    session.out.show(&why, || reason(&why, &session.out))
}

fn reason(why: &Why, out: &Out) -> String {
    let mut fields = Fields::default();
    fields.add_painted("state", out.state(why.state.as_str()));
    fields.maybe("since", out.wall.maybe(why.since.as_ref()));
    fields.maybe("deadline", out.wall.maybe(why.deadline.as_ref()));
    fields.maybe("cause", why.cause.as_ref());
    let mut table = Table::new(["STEP", "SERVICE", "WAITS FOR", "SINCE", "UNTIL", "LAST FAILURE"]);
    for held in &why.held {
        table.row([
            step(held),
            held.service.clone().unwrap_or_default(),
            on(held),
            out.wall.or_none(held.since.as_ref()),
            out.wall.or_none(held.until.as_ref()),
            held.last_failure.clone().unwrap_or_default(),
        ]);
    }
    let table = if table.is_empty() { String::new() } else { format!("\n\n{}", out.table(&table)) };
    format!("{}\n\n{}{table}", show::plain(&why.words), fields.text())
}

/// What it waits for, in a word or two: the first line has it as a sentence.
fn on(held: &Held) -> String {
    let more = held.signal.as_deref().or(held.child.as_deref());
    let word = held.on.replace('_', " ");
    more.map_or_else(|| word.clone(), |more| format!("{word} {more}"))
}

fn step(held: &Held) -> String {
    match (&held.step, held.undo) {
        (Some(step), true) => format!("{step} (undo)"),
        (Some(step), false) => step.clone(),
        (None, _) => "(the task)".to_owned(),
    }
}
