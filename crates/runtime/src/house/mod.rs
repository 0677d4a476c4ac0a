//! Keeping house: tasks whose time is over are removed, the store is copied and checked, tasks go out of it and come in.
//!
//! `retention.rs` is a loop that wakes rarely; the rest is done when somebody asks. Must never change a task that is open.

mod base64;
mod line;
mod report;
mod retention;
mod transfer;

use std::path::PathBuf;

use steadfast_store::{BackedUp, Filter, Finding, FindingKind, MAX_FINDINGS, Store, Verified};

pub use report::{BadLine, CleanedUp, Imported, VerifyReport};
pub(crate) use retention::watch;

use crate::error::Error;
use crate::node::Node;

/// How many tasks are compared with their workflows at a time.
const PAGE: usize = 256;

impl<S: Store> Node<S> {
    /// Removes at once what the settings do not keep any longer, in small writes with pauses between them, and looks at all that
    /// can be so.
    ///
    /// # Errors
    /// The store's. What was removed before stays so.
    pub async fn clean_up(&self) -> Result<CleanedUp, Error> {
        let swept = retention::sweep(self.shared(), None).await?;
        Ok(CleanedUp { looked_at: swept.looked_at, removed: swept.removed })
    }

    /// Copies the store into a new file, while work goes on.
    ///
    /// # Errors
    /// The store's: a file that is there already, a store that has no file, a disk that is full.
    pub async fn back_up(&self, to: PathBuf) -> Result<BackedUp, Error> {
        Ok(self.shared().store.back_up(to).await?)
    }

    /// Looks for what contradicts itself: in the file, in tasks, and between tasks and the workflows that this program knows. Work
    /// goes on; tasks are looked at a few at a time, each as it is at one moment.
    ///
    /// # Errors
    /// The store's. What it finds is no error.
    pub async fn verify(&self) -> Result<VerifyReport, Error> {
        let store = &self.shared().store;
        let mut report = VerifyReport::default();
        report.add(Verified { findings: store.verify_file().await?, ..Verified::default() });
        let mut behind = None;
        loop {
            let part = store.verify(behind).await?;
            behind = part.behind;
            report.add(part);
            if behind.is_none() {
                break;
            }
        }
        self.compare_with_workflows(&mut report).await?;
        Ok(report)
    }

    async fn compare_with_workflows(&self, report: &mut VerifyReport) -> Result<(), Error> {
        let mut behind = None;
        loop {
            let listed = self.shared().store.list(Filter::default(), behind, PAGE).await?;
            for stored in &listed.tasks {
                let known = self.shared().workflow(&stored.workflow, stored.version);
                let own = known.filter(|known| known.shape() == stored.shape);
                if let Some(Err(words)) = own.map(|own| stored.task.check(own.definition())) {
                    let found = Finding::of_task(FindingKind::Workflow, stored.id, words);
                    report.add(Verified { findings: vec![found], ..Verified::default() });
                }
            }
            behind = listed.behind;
            if behind.is_none() || report.findings.len() >= MAX_FINDINGS {
                return Ok(());
            }
            // Whoever else wants to read has a turn.
            tokio::task::yield_now().await;
        }
    }
}
