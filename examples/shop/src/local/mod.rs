//! The shop over an engine in this process, for programs that embed it: the same workflow as in `workflows/place-order.yaml`, with the steps in Rust.

mod client;
mod workflow;

use std::fmt;
use std::path::{Path, PathBuf};

use steadfast::{Engine, ReplyId, TaskId, TaskState};

use crate::error::Error;
use crate::queue;
use crate::shop::{FailedTask, Later, Mend, Repair, ReplySeen, Shop, WORKFLOW};
use crate::town::Town;

/// Failed tasks that are looked at.
const MOST_FAILED: usize = 200;

/// An engine in this process.
pub struct Local {
    engine: Engine,
    file: PathBuf,
}

impl Local {
    /// Starts an engine over this file, for orders that go to these services.
    ///
    /// # Errors
    /// The file cannot be used.
    pub async fn start(file: &Path, town: &Town) -> Result<Self, Error> {
        let place_order = workflow::place_order(town)?;
        let engine = Engine::builder(format!("sqlite:{}", file.display())).workflow(&place_order).start();
        let engine = engine.await.map_err(|error| Error::engine("start the engine", error))?;
        Ok(Self { engine, file: file.to_owned() })
    }

    /// The engine.
    #[must_use]
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Stops in good order.
    ///
    /// # Errors
    /// The engine's.
    pub async fn shut_down(&self) -> Result<(), Error> {
        let stopped = self.engine.clone().shut_down().await;
        stopped.map(drop).map_err(|error| Error::engine("stop the engine", error))
    }
}

impl Shop for Local {
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
            let failed =
                self.engine.tasks().workflow(WORKFLOW).state(TaskState::Failed).most(MOST_FAILED).await;
            let failed = failed.map_err(|error| Error::engine("look for failed tasks", error))?;
            let task = |task: steadfast::Summary| FailedTask { task: task.id, words: task.why };
            Ok(failed.tasks.into_iter().map(task).collect())
        })
    }

    fn why(&self, task: TaskId) -> Later<'_, String> {
        Box::pin(async move {
            let failed = |error| Error::engine("ask why a task does not move", error);
            let task = self.engine.operator("shop").task(task).await.map_err(failed)?;
            Ok(task.why().await.map_err(failed)?.to_string())
        })
    }

    fn repair(&self, repair: Repair) -> Later<'_, ()> {
        Box::pin(async move {
            let Repair { task, step, how, by, because } = repair;
            let operator = self.engine.operator(by);
            let asked = match how {
                Mend::Retry(order) => operator.retry(task, step).input(&order).because(because),
                Mend::Skip => operator.skip(task, step).because(because),
            };
            asked.await.map_err(|error| Error::engine("repair a task", error))
        })
    }
}

impl fmt::Debug for Local {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("file", &self.file).finish_non_exhaustive()
    }
}
