//! Following a task until it ends: `steadfast task watch`, and the bar of `submit --wait`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::json;
use steadfast_client::wire::event::Event;
use steadfast_client::wire::state::UndoState;
use steadfast_client::wire::step::StepChange;
use steadfast_client::wire::task::{Change, Outcome};

use super::steps::Steps;
use crate::exit;
use crate::session::Session;
use crate::show::progress::Bar;
use crate::show::{self, Out};
use crate::talk;

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Its id, or the beginning or the end of it
    id: String,
    /// Only what is new: not what has happened before
    #[arg(long)]
    new: bool,
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<ExitCode> {
    let id = session.task_id(&args.id).await?;
    let task = session.answer(session.client.task(&id, false)).await?;
    if !task.summary.state.is_at_rest() {
        // Nobody should have to wait for the first change to know that it lives.
        talk::line(&format!("task {id} is {}: {}", task.summary.state, show::plain(&task.summary.why)));
    }
    let mut events = session.client.events(&id, args.new.then_some(task.revision));
    while let Some(event) = events.next().await? {
        match event {
            Event::Changed(change) => print(&change, &session.out)?,
            Event::Ended(outcome) => return end(&id, &outcome, session),
            _ => {}
        }
    }
    // It was at rest before, and all of it was told.
    let task = session.answer(session.client.task(&id, false)).await?;
    let outcome = task.outcome.unwrap_or(Outcome { state: task.summary.state, result: None, reason: None });
    end(&id, &outcome, session)
}

fn end(id: &str, outcome: &Outcome, session: &Session) -> Result<ExitCode> {
    let told = json!({ "event": "end", "state": outcome.state, "reason": outcome.reason });
    session.out.show(&told, || ended(id, outcome, &session.out))?;
    Ok(exit::of(outcome.state))
}

/// How a task has ended, in words.
pub(super) fn ended(id: &str, outcome: &Outcome, out: &Out) -> String {
    let reason = outcome.reason.as_deref().map(|reason| format!(": {}", show::plain(reason)));
    format!("task {id} {}{}", out.state(outcome.state.as_str()), reason.unwrap_or_default())
}

fn print(change: &Change, out: &Out) -> Result<()> {
    if out.json {
        let mut told = serde_json::to_value(change)?;
        told["event"] = json!("change");
        return out.line(&told);
    }
    lines(change, out).iter().try_for_each(|line| out.print(line))
}

/// A line for each thing that changed.
pub(super) fn lines(change: &Change, out: &Out) -> Vec<String> {
    let at = out.wall.time_of_day(&change.at);
    let cause = change.cause.as_deref().map(|cause| format!(": {}", show::plain(cause))).unwrap_or_default();
    let task = change.state.map(|state| format!("{at}  task {}{cause}", out.state(state.as_str())));
    let steps = change.steps.iter().map(|step| format!("{at}  {}", told(step, out)));
    task.into_iter().chain(steps).collect()
}

/// What became of a step, in words.
pub(super) fn told(step: &StepChange, out: &Out) -> String {
    let undo = match step.undo {
        UndoState::None => String::new(),
        undo => format!(", undo {undo}"),
    };
    let attempt = if step.attempt > 0 { format!(", attempt {}", step.attempt) } else { String::new() };
    let blocked = step.blocked_on.as_ref().map(|on| format!(", waits for its {on}")).unwrap_or_default();
    let until = step
        .not_before
        .as_ref()
        .map(|at| format!(", until {}", out.wall.time_of_day(at)))
        .unwrap_or_default();
    let failure = step.last_failure.as_ref().map(|failure| format!(": {failure}")).unwrap_or_default();
    let rest = show::plain(&format!("{undo}{attempt}{blocked}{until}{failure}"));
    format!("{} {}{rest}", show::plain(&step.step), out.state(step.state.as_str()))
}

/// Waits for the end of a task, at most so long, with a bar; `None` if it has not ended by then.
pub(super) async fn wait(id: &str, at_most: Option<Duration>, session: &Session) -> Result<Option<Outcome>> {
    let ended = with_bar(id, session);
    match at_most {
        None => ended.await.map(Some),
        Some(at_most) => tokio::select! {
            ended = ended => ended.map(Some),
            () = session.clock.sleep(at_most) => Ok(None),
        },
    }
}

async fn with_bar(id: &str, session: &Session) -> Result<Outcome> {
    let task = session.answer(session.client.task(id, false)).await?;
    let mut steps = Steps::new(&task);
    let bar = Bar::new(steps.count());
    bar.set(steps.done(), steps.count(), &steps.words());
    let mut events = session.client.events(id, Some(steps.revision()));
    while let Some(event) = events.next().await? {
        match event {
            Event::Changed(change) => steps.apply(&change),
            Event::Ended(_) => break,
            _ => continue,
        }
        bar.set(steps.done(), steps.count(), &steps.words());
    }
    drop(bar);
    // The stream leaves the result out.
    let task = session.answer(session.client.task(id, true)).await?;
    Ok(task.outcome.unwrap_or(Outcome { state: task.summary.state, result: None, reason: None }))
}
