//! `steadfast task list` and `children`.

use anyhow::Result;
use steadfast_client::wire::filter::Paging;
use steadfast_client::wire::task::Tasks;

use super::filter::Filters;
use crate::session::Session;
use crate::show::{self, Table};
use crate::talk;

/// Tasks that are asked for at a time: a page of the server.
const PAGE: u32 = 100;
/// The most tasks of one list: their text fits into memory many times over. Who wants more goes on from the cursor.
const MOST: i64 = 10_000;

#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    filters: Filters,
    #[command(flatten)]
    page: Page,
}

/// Which part of a list.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Page {
    /// At most so many
    #[arg(long, value_name = "NUMBER", default_value_t = PAGE, value_parser = clap::value_parser!(u32).range(1..=MOST))]
    limit: u32,
    /// From here on: what the list before has said
    #[arg(long)]
    cursor: Option<String>,
}

impl Page {
    /// Fetches page after page until there are enough of them, or no more: what there is, and where to go on.
    pub(crate) async fn fetch<T>(
        &self,
        mut ask: impl AsyncFnMut(Paging) -> Result<(Vec<T>, Option<String>)>,
    ) -> Result<(Vec<T>, Option<String>)> {
        let limit = usize::try_from(self.limit).unwrap_or(usize::MAX);
        let (mut all, mut cursor) = (Vec::new(), self.cursor.clone());
        loop {
            let left = u32::try_from(limit - all.len()).unwrap_or(PAGE).min(PAGE);
            let (part, next) = ask(Paging { limit: Some(left), cursor }).await?;
            all.extend(part);
            if all.len() >= limit || next.is_none() {
                all.truncate(limit);
                return Ok((all, next));
            }
            cursor = next;
        }
    }
}

/// Says that there are more.
pub(crate) fn say_more(cursor: Option<&str>) {
    if let Some(cursor) = cursor {
        talk::line(&format!("there may be more: give the same again with --cursor {cursor}"));
    }
}

pub(crate) async fn run(args: &Args, session: &Session) -> Result<()> {
    let filter = args.filters.read(session).await?;
    let (tasks, cursor) = args
        .page
        .fetch(async |paging| {
            let page = session.answer(session.client.tasks(&filter, &paging)).await?;
            Ok((page.tasks, page.cursor))
        })
        .await?;
    if tasks.is_empty()
        && !session.out.json
        && let Some(unknown) = args.filters.unknown(session).await?
    {
        talk::line(&unknown);
        return Ok(());
    }
    print(&Tasks { tasks, cursor }, session, "no task is like that")
}

#[derive(clap::Args)]
pub(crate) struct ChildrenArgs {
    /// Its id, or the beginning or the end of it
    id: String,
    #[command(flatten)]
    page: Page,
}

pub(crate) async fn children(args: &ChildrenArgs, session: &Session) -> Result<()> {
    let id = session.task_id(&args.id).await?;
    let (tasks, cursor) = args
        .page
        .fetch(async |paging| {
            let page = session.answer(session.client.children(&id, &paging)).await?;
            Ok((page.tasks, page.cursor))
        })
        .await?;
    print(&Tasks { tasks, cursor }, session, "it has asked for no task")
}

fn print(tasks: &Tasks, session: &Session, none: &str) -> Result<()> {
    if tasks.tasks.is_empty() && !session.out.json {
        talk::line(none);
    } else {
        session.out.show(tasks, || session.out.table(&table(tasks, session)))?;
    }
    if !session.out.json {
        say_more(tasks.cursor.as_deref());
    }
    Ok(())
}

fn table(tasks: &Tasks, session: &Session) -> Table {
    let mut table = Table::new(["ID", "STATE", "WORKFLOW", "NAMESPACE", "KEY", "SUBMITTED", "LABELS", "WHY"]);
    for task in &tasks.tasks {
        table.row([
            task.id.clone(),
            task.state.to_string(),
            format!("{} v{}", task.workflow, task.version),
            task.namespace.clone(),
            task.key.clone().unwrap_or_default(),
            session.out.wall.told(&task.submitted_at),
            show::labels(&task.labels),
            task.why.clone(),
        ]);
    }
    table
}
