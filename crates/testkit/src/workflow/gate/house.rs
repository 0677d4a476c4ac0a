//! Keeping house, as long as the gate is open.

use std::future::Future;
use std::path::PathBuf;

use steadfast_store::{
    BackedUp, Backup, Brought, Cleaned, Error, Expired, Finding, Retention, TaskId, Transfer, Verified,
    Verify, Whole,
};

use super::Gate;

impl Retention for Gate {
    fn clean_up(
        &self,
        expired: Expired,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Cleaned, Error>> + Send {
        self.pass(true, self.store.clean_up(expired, behind, most))
    }
}

impl Backup for Gate {
    fn back_up(&self, to: PathBuf) -> impl Future<Output = Result<BackedUp, Error>> + Send {
        self.pass(false, self.store.back_up(to))
    }
}

impl Verify for Gate {
    fn verify_file(&self) -> impl Future<Output = Result<Vec<Finding>, Error>> + Send {
        self.pass(false, self.store.verify_file())
    }

    fn verify(&self, behind: Option<TaskId>) -> impl Future<Output = Result<Verified, Error>> + Send {
        self.pass(false, self.store.verify(behind))
    }
}

impl Transfer for Gate {
    fn whole(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Whole>>, Error>> + Send {
        self.pass(false, self.store.whole(tasks))
    }

    fn bring(&self, batch: Vec<Whole>) -> impl Future<Output = Result<Vec<Brought>, Error>> + Send {
        self.pass(true, self.store.bring(batch))
    }
}
