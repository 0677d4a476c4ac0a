//! `steadfast task submit`.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use steadfast_client::wire::submit::{Submit, Submitted};
use steadfast_client::wire::task::Outcome;
use steadfast_form::duration;

use super::follow;
use crate::exit;
use crate::payload::{Payload, label};
use crate::session::Session;
use crate::show::{self, time};
use crate::talk;

/// What `--wait` means without a time: as long as it takes.
const FOR_EVER: &str = "for-ever";

#[derive(clap::Args)]
pub(crate) struct Args {
    /// Which workflow
    workflow: String,
    /// What it is to work on: JSON, @FILE, or - for stdin [default: null]
    #[arg(long, value_name = "JSON", allow_hyphen_values = true)]
    input: Option<Payload>,
    /// Which version of the workflow [default: the active one]
    #[arg(long, value_name = "NUMBER")]
    version: Option<u32>,
    /// Under the same key the same workflow runs once: a second submission gives the first task back
    #[arg(long)]
    key: Option<String>,
    /// Whose task it is: keys are unique within one of these
    #[arg(long, value_name = "NAME")]
    namespace: Option<String>,
    /// Among those that wait for the same service, a higher one goes first
    #[arg(long, value_name = "NUMBER", allow_negative_numbers = true)]
    priority: Option<i8>,
    /// A label by which it is found; can be said more than once
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// Start at this time: 2026-11-17T14:00:00Z, or "2026-11-17 14:00" by the clock here
    #[arg(long, value_name = "WHEN", value_parser = time::read, conflicts_with = "start_after")]
    start_at: Option<String>,
    /// Start so long after it was submitted
    #[arg(long, value_name = "TIME", value_parser = duration::parse_long)]
    start_after: Option<Duration>,
    /// Who is told what becomes of it: queue:NAME or hook:NAME
    #[arg(long, value_name = "ADDRESS")]
    reply_to: Option<String>,
    /// What you know it by: it comes back in every reply
    #[arg(long, value_name = "TEXT")]
    correlation: Option<String>,
    /// Wait for its end; with a time, at most so long
    #[arg(long, value_name = "TIME", num_args = 0..=1, default_missing_value = FOR_EVER, value_parser = patience)]
    wait: Option<Patience>,
}

/// How long somebody waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Patience(Option<Duration>);

fn patience(text: &str) -> Result<Patience, String> {
    if text == FOR_EVER {
        return Ok(Patience(None));
    }
    let bad = |why| format!("{why}; write the workflow before --wait, and a time such as 30s behind it");
    duration::parse_long(text).map(|time| Patience(Some(time))).map_err(bad)
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<ExitCode> {
    let task = read(args).await?;
    let submitted = session.answer(session.client.submit(&task)).await?;
    let Some(Patience(at_most)) = args.wait else {
        session.out.show(&submitted, || submitted.id.clone())?;
        return Ok(ExitCode::SUCCESS);
    };
    talk::line(&format!("task {} is submitted", submitted.id));
    let outcome = follow::wait(&submitted.id, at_most, session).await?;
    let Some(outcome) = outcome else { return unended(&submitted, session).await };
    let code = exit::of(outcome.state);
    let told = Submitted { outcome: Some(outcome.clone()), ..submitted };
    session.out.show(&told, || text(&told.id, &outcome, session))?;
    Ok(code)
}

async fn read(args: &Args) -> Result<Submit> {
    let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
    Ok(Submit {
        workflow: args.workflow.clone(),
        version: args.version,
        input: Payload::read_or_null(args.input.as_ref()).await?,
        key: args.key.clone(),
        namespace: args.namespace.clone(),
        priority: args.priority,
        labels: args.labels.iter().cloned().collect(),
        start_at: args.start_at.clone(),
        start_after_ms: args.start_after.map(millis),
        reply_to: args.reply_to.clone(),
        correlation: args.correlation.clone(),
    })
}

fn text(id: &str, outcome: &Outcome, session: &Session) -> String {
    let ended = follow::ended(id, outcome, &session.out);
    match &outcome.result {
        Some(result) => format!("{ended}\n{}", show::value(result, true)),
        None => ended,
    }
}

/// It goes on: says what it waits for.
async fn unended(submitted: &Submitted, session: &Session) -> Result<ExitCode> {
    let id = &submitted.id;
    let why = session.answer(session.client.why(id)).await?;
    session.out.show(submitted, || format!("task {id} has not ended yet: {}", show::plain(&why.words)))?;
    talk::line(&format!("it goes on; `steadfast task watch {id}` shows how"));
    Ok(ExitCode::from(exit::NOT_IN_TIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_has_an_end_or_none() {
        assert_eq!(patience(FOR_EVER), Ok(Patience(None)));
        assert_eq!(patience("2d"), Ok(Patience(Some(Duration::from_secs(172_800)))));
        let why = patience("place-order").unwrap_err();
        assert!(why.contains("write the workflow before --wait"), "{why}");
    }
}
