//! What an operator asks of one task. Who asks and why is in the audit log.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::Result;
use clap::Subcommand;
use steadfast_client::wire::ask::{self as wire, Done};
use steadfast_form::duration;
use uuid::Uuid;

use crate::exit::BadLine;
use crate::payload::{Payload, label};
use crate::session::Session;
use crate::show::time;

#[derive(Subcommand)]
pub(crate) enum Ask {
    /// Make a step again: anew if it has failed, at once if it waits for its next attempt
    ///
    /// Examples:
    ///   steadfast task retry 456789ab charge --because "the account is open now, ticket 311"
    ///   steadfast task retry 456789ab charge --input @mended.json --because "the address was wrong"
    #[command(verbatim_doc_comment)]
    Retry(Retry),
    /// Do without a step: what comes after it goes on
    ///
    /// Examples:
    ///   steadfast task skip 456789ab charge --output '{"receipt": 7}' --happened --because "paid in cash"
    #[command(verbatim_doc_comment)]
    Skip(Skip),
    /// Hold a task: nothing of it begins until it is resumed, and its deadline stands still
    ///
    /// Examples:
    ///   steadfast task pause 456789ab --because "the customer calls back"
    #[command(verbatim_doc_comment)]
    Pause(Whole),
    /// Let a task go on that is paused, or has failed
    ///
    /// Examples:
    ///   steadfast task resume 456789ab --because "the bank is back"
    #[command(verbatim_doc_comment)]
    Resume(Whole),
    /// Undo a task that has not ended
    ///
    /// Examples:
    ///   steadfast task cancel 456789ab --because "the customer has changed her mind"
    #[command(verbatim_doc_comment)]
    Cancel(Whole),
    /// Undo a task, also one that has completed or failed
    ///
    /// Examples:
    ///   steadfast task undo 456789ab --because "delivered to the wrong house"
    #[command(verbatim_doc_comment)]
    Undo(Whole),
    /// Give a task another deadline, or none
    ///
    /// Examples:
    ///   steadfast task deadline 456789ab --in 2h --because "the bank is slow today"
    ///   steadfast task deadline 456789ab --none --because "it takes as long as it takes"
    #[command(verbatim_doc_comment)]
    Deadline(Deadline),
    /// Try the undo of a step again that could not be made
    ///
    /// Examples:
    ///   steadfast task retry-undo 0192f3a0 charge --because "refunds work again"
    #[command(verbatim_doc_comment)]
    RetryUndo(RetryUndo),
    /// Take a step as undone whose undo could not be made
    ///
    /// Examples:
    ///   steadfast task take-as-undone 0192f3a0 charge --because "refunded by hand"
    #[command(verbatim_doc_comment)]
    TakeAsUndone(OfStep),
    /// Give a task labels, or take some away
    ///
    /// Examples:
    ///   steadfast task label 456789ab case=311 --remove new --because "we look into it"
    #[command(verbatim_doc_comment)]
    Label(Label),
}

/// Of which task, why, and under which id.
#[derive(clap::Args)]
pub(crate) struct Whole {
    /// The id of the task, or the beginning or the end of it
    id: String,
    #[command(flatten)]
    why: Why,
}

#[derive(clap::Args)]
struct Why {
    /// Why: it is kept in the audit log
    #[arg(long, value_name = "WHY")]
    because: String,
    /// A UUID of your own: what is asked again under it is done once [default: a new one]
    #[arg(long = "id", value_name = "UUID")]
    ask: Option<Uuid>,
}

impl Why {
    /// With an id of its own it can be asked again when an answer is lost.
    fn id(&self) -> Option<String> {
        Some(self.ask.unwrap_or_else(Uuid::now_v7).to_string())
    }
}

#[derive(clap::Args)]
pub(crate) struct OfStep {
    /// The id of the task, or the beginning or the end of it
    id: String,
    /// Which step
    step: String,
    #[command(flatten)]
    why: Why,
}

#[derive(clap::Args)]
pub(crate) struct Retry {
    #[command(flatten)]
    of: OfStep,
    /// Another input for the step and its undo: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    input: Option<Payload>,
    /// Somebody has looked: no attempt so far has taken effect
    #[arg(long)]
    did_not_happen: bool,
}

#[derive(clap::Args)]
pub(crate) struct Skip {
    #[command(flatten)]
    of: OfStep,
    /// What later steps read as its output: JSON, @FILE, or - for stdin
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    output: Option<Payload>,
    /// It was done by other means: it counts as completed, and is undone with the others
    #[arg(long)]
    happened: bool,
}

#[derive(clap::Args)]
pub(crate) struct RetryUndo {
    #[command(flatten)]
    of: OfStep,
    /// Somebody has looked: the step did happen
    #[arg(long)]
    happened: bool,
}

#[derive(clap::Args)]
pub(crate) struct Deadline {
    #[command(flatten)]
    of: Whole,
    #[command(flatten)]
    to: When,
}

/// Another deadline.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct When {
    /// By this time: 2026-11-17T14:00:00Z, or "2026-11-17 14:00" by the clock here
    #[arg(long, value_name = "WHEN", value_parser = time::read, group = "deadline")]
    at: Option<String>,
    /// So long from now
    #[arg(long = "in", value_name = "TIME", value_parser = duration::parse_long, group = "deadline")]
    after: Option<Duration>,
    /// No deadline
    #[arg(long, group = "deadline")]
    none: bool,
}

impl When {
    /// As it goes over the wire, `None` for no deadline; an error if nothing was said.
    pub(crate) fn read(&self, session: &Session) -> Result<Option<String>> {
        match (&self.at, self.after, self.none) {
            (Some(at), ..) => Ok(Some(at.clone())),
            (_, Some(time), _) => Ok(Some(session.out.wall.after(time).map_err(BadLine)?)),
            (.., true) => Ok(None),
            _ => Err(BadLine("say which deadline: --at WHEN, --in TIME or --none".to_owned()).into()),
        }
    }

    pub(crate) fn is_said(&self) -> bool {
        self.at.is_some() || self.after.is_some() || self.none
    }
}

#[derive(clap::Args)]
pub(crate) struct Label {
    #[command(flatten)]
    of: Whole,
    /// Labels that it gets
    #[arg(value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// A label that it loses; can be said more than once
    #[arg(long, value_name = "NAME")]
    remove: Vec<String>,
}

pub(crate) async fn run(ask: &Ask, session: &Session) -> Result<()> {
    match ask {
        Ask::Retry(args) => retry(args, session).await,
        Ask::Skip(args) => skip(args, session).await,
        Ask::Pause(args) => whole(args, "pause", session).await,
        Ask::Resume(args) => whole(args, "resume", session).await,
        Ask::Cancel(args) => whole(args, "cancel", session).await,
        Ask::Undo(args) => whole(args, "undo", session).await,
        Ask::Deadline(args) => deadline(args, session).await,
        Ask::RetryUndo(args) => retry_undo(args, session).await,
        Ask::TakeAsUndone(args) => take_as_undone(args, session).await,
        Ask::Label(args) => labels(args, session).await,
    }
}

fn done(what: &str, task: &str, done: &Done, session: &Session) -> Result<()> {
    session.out.show(done, || format!("done: {what} of task {task}, in the audit log as {}", done.id))
}

async fn whole(args: &Whole, what: &str, session: &Session) -> Result<()> {
    let id = session.task_id(&args.id).await?;
    let ask = wire::Ask { by: session.by.clone(), because: args.why.because.clone(), id: args.why.id() };
    let client = &session.client;
    let answer = match what {
        "pause" => session.answer(client.pause(&id, &ask)).await?,
        "resume" => session.answer(client.resume(&id, &ask)).await?,
        "cancel" => session.answer(client.cancel(&id, &ask)).await?,
        _ => session.answer(client.undo(&id, &ask)).await?,
    };
    done(what, &id, &answer, session)
}

async fn retry(args: &Retry, session: &Session) -> Result<()> {
    let id = session.task_id(&args.of.id).await?;
    let ask = wire::Retry {
        by: session.by.clone(),
        because: args.of.why.because.clone(),
        id: args.of.why.id(),
        step: args.of.step.clone(),
        input: Payload::read_some(args.input.as_ref()).await?,
        did_not_happen: args.did_not_happen,
    };
    let answer = session.answer(session.client.retry(&id, &ask)).await?;
    done(&format!("retry of `{}`", ask.step), &id, &answer, session)
}

async fn skip(args: &Skip, session: &Session) -> Result<()> {
    let id = session.task_id(&args.of.id).await?;
    let ask = wire::Skip {
        by: session.by.clone(),
        because: args.of.why.because.clone(),
        id: args.of.why.id(),
        step: args.of.step.clone(),
        output: Payload::read_some(args.output.as_ref()).await?,
        happened: args.happened,
    };
    let answer = session.answer(session.client.skip(&id, &ask)).await?;
    done(&format!("skip of `{}`", ask.step), &id, &answer, session)
}

async fn deadline(args: &Deadline, session: &Session) -> Result<()> {
    let at = args.to.read(session)?;
    let id = session.task_id(&args.of.id).await?;
    let why = &args.of.why;
    let ask = wire::Deadline { by: session.by.clone(), because: why.because.clone(), id: why.id(), at };
    let answer = session.answer(session.client.deadline(&id, &ask)).await?;
    done("deadline", &id, &answer, session)
}

async fn retry_undo(args: &RetryUndo, session: &Session) -> Result<()> {
    let id = session.task_id(&args.of.id).await?;
    let ask = wire::RetryUndo {
        by: session.by.clone(),
        because: args.of.why.because.clone(),
        id: args.of.why.id(),
        step: args.of.step.clone(),
        happened: args.happened,
    };
    let answer = session.answer(session.client.retry_undo(&id, &ask)).await?;
    done(&format!("retry of the undo of `{}`", ask.step), &id, &answer, session)
}

async fn take_as_undone(args: &OfStep, session: &Session) -> Result<()> {
    let id = session.task_id(&args.id).await?;
    let ask = wire::TakeAsUndone {
        by: session.by.clone(),
        because: args.why.because.clone(),
        id: args.why.id(),
        step: args.step.clone(),
    };
    let answer = session.answer(session.client.take_as_undone(&id, &ask)).await?;
    done(&format!("`{}` taken as undone", ask.step), &id, &answer, session)
}

async fn labels(args: &Label, session: &Session) -> Result<()> {
    let given = args.labels.iter().map(|(name, value)| (name.clone(), Some(value.clone())));
    let labels: BTreeMap<_, _> = given.chain(args.remove.iter().map(|name| (name.clone(), None))).collect();
    if labels.is_empty() {
        return Err(BadLine("say which label: NAME=VALUE, or --remove NAME".to_owned()).into());
    }
    let id = session.task_id(&args.of.id).await?;
    let why = &args.of.why;
    let ask = wire::Label { by: session.by.clone(), because: why.because.clone(), id: why.id(), labels };
    let answer = session.answer(session.client.label(&id, &ask)).await?;
    done("labels", &id, &answer, session)
}
