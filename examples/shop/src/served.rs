//! The shop over a Steadfast server that runs `workflows/place-order.yaml`: what operators do goes through its HTTP API.
//!
//! Two things do not. Orders are handed in by the shop's own transaction in the file of the server's store, which is why shop and
//! server share that file; and replies are read from the queue of the server's engine, for which the API has no route.

use std::fmt;
use std::path::{Path, PathBuf};

use steadfast::{Engine, ReplyId, TaskId};
use steadfast_client::wire::ask::{Retry, Skip};
use steadfast_client::wire::filter::{Filter, Paging};
use steadfast_client::wire::state::TaskState;
use steadfast_client::wire::task::Summary;
use steadfast_client::{Client, Error as ClientError};

use crate::error::Error;
use crate::queue;
use crate::shop::{FailedTask, Later, Link, Mend, Repair, ReplySeen, Shop, WORKFLOW};

/// Failed tasks that are looked at.
const MOST_FAILED: u32 = 200;

/// A server that runs the workflow.
pub struct Served {
    engine: Engine,
    client: Client,
    file: PathBuf,
}

impl Served {
    /// Over the server at this address, with this engine, whose store is this file.
    ///
    /// # Errors
    /// The address is none.
    pub fn new(engine: Engine, url: &str, file: &Path) -> Result<Self, Error> {
        let client = Client::new(url).map_err(refused("make a client of the server"))?;
        Ok(Self { engine, client, file: file.to_owned() })
    }
}

/// What the server said to something that was asked of it.
fn refused(doing: &'static str) -> impl FnOnce(ClientError) -> Error {
    move |error| Error::engine(doing, error)
}

impl Shop for Served {
    fn database(&self) -> &Path {
        &self.file
    }

    fn replies(&self, most: usize) -> Later<'_, Vec<ReplySeen>> {
        Box::pin(queue::read(&self.engine, most))
    }

    fn acknowledge(&self, replies: Vec<ReplyId>) -> Later<'_, ()> {
        Box::pin(queue::acknowledge(&self.engine, replies))
    }

    fn failed(&self) -> Later<'_, Vec<FailedTask>> {
        Box::pin(async move {
            let filter = Filter {
                states: vec![TaskState::Failed],
                workflow: Some(WORKFLOW.to_owned()),
                ..Filter::default()
            };
            let page = Paging { limit: Some(MOST_FAILED), cursor: None };
            let failed = self.client.tasks(&filter, &page).await.map_err(refused("look for failed tasks"))?;
            failed.tasks.into_iter().map(failed_task).collect()
        })
    }

    fn why(&self, task: TaskId) -> Later<'_, String> {
        Box::pin(async move {
            let why = self.client.why(&task.to_string()).await;
            Ok(why.map_err(refused("ask why a task does not move"))?.words)
        })
    }

    fn repair(&self, repair: Repair) -> Later<'_, ()> {
        Box::pin(async move {
            let Repair { task, step, how, by, because } = repair;
            let (task, step, by) = (task.to_string(), step.to_owned(), by.to_owned());
            // With an id of its own it is asked again when an answer is lost.
            let id = Some(uuid::Uuid::now_v7().to_string());
            let asked = match how {
                Mend::Retry(order) => {
                    let input =
                        serde_json::to_value(order).map_err(|error| Error::engine("repair a task", error))?;
                    let retry = Retry { by, because, id, step, input: Some(input), ..Retry::default() };
                    self.client.retry(&task, &retry).await
                }
                Mend::Skip => {
                    self.client.skip(&task, &Skip { by, because, id, step, ..Skip::default() }).await
                }
            };
            asked.map(drop).map_err(refused("repair a task"))
        })
    }

    fn links(&self) -> Vec<Link> {
        let base = self.client.base();
        let link = |name: &str, path: &str| Link { name: name.to_owned(), url: format!("{base}{path}") };
        vec![
            link("tasks in an operator's hands", "/api/v1/tasks?state=failed"),
            link("circuit breakers", "/api/v1/breakers"),
            link("the API's description", "/api/v1/openapi.json"),
        ]
    }
}

fn failed_task(task: Summary) -> Result<FailedTask, Error> {
    let id = task.id.parse().map_err(|error| Error::engine("read the id of a failed task", error))?;
    Ok(FailedTask { task: id, words: task.why })
}

impl fmt::Debug for Served {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Served").field("server", &self.client.base()).field("file", &self.file).finish()
    }
}
