//! `steadfast task`: submitting work, finding it, seeing why it does not move, and repairing it.

pub(crate) mod ask;
pub(crate) mod filter;
mod follow;
mod history;
pub(crate) mod list;
mod show;
mod signal;
mod steps;
mod submit;

use std::process::ExitCode;

use anyhow::Result;
use clap::Subcommand;

use crate::session::Session;

#[derive(Subcommand)]
pub(crate) enum Task {
    /// Submit a task; with --wait see it through to its end
    ///
    /// Prints the id of the task. With --wait it shows how far the steps have come, prints how the task has
    /// ended, and ends with 0 if it has completed, 3 if it was undone, 4 if it has failed, 5 if it has not
    /// ended in time. A task goes on whatever becomes of this program.
    ///
    /// Examples:
    ///   steadfast task submit place-order --input '{"sku": "a chair", "quantity": 1}' --key order-7
    ///   steadfast task submit place-order --input @order.json --wait
    ///   steadfast task submit send-report --start-after 2h --label team=shop --wait 3h
    #[command(verbatim_doc_comment)]
    Submit(Box<submit::Args>),
    /// Find tasks, newest first
    ///
    /// Examples:
    ///   steadfast task list --state failed --service payments
    ///   steadfast task list --parked-on payments --older-than 10m
    ///   steadfast task list --label team=shop --limit 1000 --json
    #[command(verbatim_doc_comment)]
    List(Box<list::Args>),
    /// Show a task with its steps, attempts, input, outputs and errors
    ///
    /// Examples:
    ///   steadfast task show 0192f3a0-5b1c-7d2e-8f00-0123456789ab
    ///   steadfast task show 456789ab --full
    #[command(verbatim_doc_comment)]
    Show(show::Args),
    /// Say why a task does not move, or how it has ended
    ///
    /// Examples:
    ///   steadfast task why 456789ab
    #[command(verbatim_doc_comment)]
    Why(show::WhyArgs),
    /// See what happens to a task, as it happens, until it ends
    ///
    /// Ends with 0 if the task has completed, 3 if it was undone, 4 if it has failed. With --json each event
    /// is a line.
    ///
    /// Examples:
    ///   steadfast task watch 456789ab
    ///   steadfast task watch 456789ab --new --json
    #[command(verbatim_doc_comment)]
    Watch(follow::Args),
    /// Show all that has happened to a task
    ///
    /// Examples:
    ///   steadfast task history 456789ab
    ///   steadfast task history 456789ab --after 12 --limit 50
    #[command(verbatim_doc_comment)]
    History(history::Args),
    /// List the tasks that a task has asked for
    ///
    /// Examples:
    ///   steadfast task children 456789ab
    #[command(verbatim_doc_comment)]
    Children(list::ChildrenArgs),
    /// Send a signal to a task
    ///
    /// Examples:
    ///   steadfast task signal 456789ab approval --says '{"by": "ana"}'
    ///   steadfast task signal 456789ab paid --id mail-311
    #[command(verbatim_doc_comment)]
    Signal(signal::Args),
    #[command(flatten)]
    Ask(ask::Ask),
}

pub(crate) async fn run(command: Task, session: &Session) -> Result<ExitCode> {
    match command {
        Task::Submit(args) => return submit::run(&args, session).await,
        Task::Watch(args) => return follow::run(&args, session).await,
        Task::List(args) => list::run(&args, session).await?,
        Task::Show(args) => show::run(&args, session).await?,
        Task::Why(args) => show::why(&args, session).await?,
        Task::History(args) => history::run(&args, session).await?,
        Task::Children(args) => list::children(&args, session).await?,
        Task::Signal(args) => signal::run(&args, session).await?,
        Task::Ask(ask) => ask::run(&ask, session).await?,
    }
    Ok(ExitCode::SUCCESS)
}
