//! A bulk to be prepared: which tasks, what is asked of them, and how fast.

use anyhow::Result;
use clap::ValueEnum;
use steadfast_client::wire::bulk::{Action, NewBulk, Prepared};
use steadfast_client::wire::filter::Filter;

use crate::exit::BadLine;
use crate::session::Session;
use crate::task::ask::When;
use crate::task::filter::Filters;

#[derive(clap::Args)]
pub(crate) struct New {
    /// What is asked of each task
    #[arg(value_enum)]
    action: Verb,
    /// Which step, for what is about one
    #[arg(long)]
    step: Option<String>,
    /// Somebody has looked: no attempt so far has taken effect (retry)
    #[arg(long)]
    did_not_happen: bool,
    /// Somebody has looked: the step did happen, or was done by other means (skip, retry-undo)
    #[arg(long)]
    happened: bool,
    #[command(flatten)]
    deadline: When,
    /// Tasks a second, at most [default: 100]
    #[arg(long, value_name = "NUMBER", value_parser = rate)]
    rate: Option<f64>,
    /// The most tasks, the newest first [default: all]
    #[arg(long, value_name = "NUMBER")]
    most: Option<u64>,
    /// Why: it is kept in the audit log
    #[arg(long, value_name = "WHY")]
    because: String,
    /// All tasks that there are: needed where nothing else says which
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    filters: Filters,
}

/// What can be asked of many tasks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Verb {
    /// Hold them
    Pause,
    /// Let those go on that are paused, or have failed
    Resume,
    /// Undo those that have not ended
    Cancel,
    /// Undo them, also those that have completed or failed
    Undo,
    /// Give them another deadline, or none
    Deadline,
    /// Make a step again
    Retry,
    /// Do without a step
    Skip,
    /// Try the undo of a step again
    RetryUndo,
    /// Take a step as undone
    TakeAsUndone,
}

fn rate(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "give a number above 0, such as 50".to_owned())
}

/// Has a bulk prepared.
pub(super) async fn prepare(new: &New, session: &Session) -> Result<Prepared> {
    let action = new.action(session)?;
    let filter = new.filters.read(session).await?;
    if filter == Filter::default() && !new.all {
        let words = "say which tasks, such as --state failed; or --all if you mean every task that there is";
        return Err(BadLine(words.to_owned()).into());
    }
    let bulk = NewBulk {
        filter,
        action,
        rate: new.rate,
        most: new.most,
        by: session.by.clone(),
        because: new.because.clone(),
    };
    session.answer_slowly(session.client.prepare_bulk(&bulk)).await
}

impl New {
    fn action(&self, session: &Session) -> Result<Action> {
        let is_of_a_step =
            matches!(self.action, Verb::Retry | Verb::Skip | Verb::RetryUndo | Verb::TakeAsUndone);
        let is_about_happening = matches!(self.action, Verb::Skip | Verb::RetryUndo);
        let wrong = match () {
            () if self.step.is_some() && !is_of_a_step => Some("--step"),
            () if self.did_not_happen && self.action != Verb::Retry => Some("--did-not-happen"),
            () if self.happened && !is_about_happening => Some("--happened"),
            () if self.deadline.is_said() && self.action != Verb::Deadline => Some("a deadline"),
            () => None,
        };
        if let Some(wrong) = wrong {
            return Err(BadLine(format!("{wrong} means nothing for this action: leave it out")).into());
        }
        let step = || {
            let missing = || BadLine("this action is about a step: say which with --step NAME".to_owned());
            self.step.clone().ok_or_else(missing)
        };
        Ok(match self.action {
            Verb::Pause => Action::Pause,
            Verb::Resume => Action::Resume,
            Verb::Cancel => Action::Cancel,
            Verb::Undo => Action::Undo,
            Verb::Deadline => Action::Deadline { at: self.deadline.read(session)? },
            Verb::Retry => Action::Retry { step: step()?, did_not_happen: self.did_not_happen },
            Verb::Skip => Action::Skip { step: step()?, happened: self.happened },
            Verb::RetryUndo => Action::RetryUndo { step: step()?, happened: self.happened },
            Verb::TakeAsUndone => Action::TakeAsUndone { step: step()? },
        })
    }
}
