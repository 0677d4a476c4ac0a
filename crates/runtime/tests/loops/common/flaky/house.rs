//! Keeping house, as it goes.

use std::future::Future;
use std::path::PathBuf;

use steadfast_store::{
    BackedUp, Backup, Brought, Cleaned, Error, Expired, Finding, Retention, Store, TaskId, Transfer,
    Verified, Verify, Whole,
};

use super::{Flaky, failed};

impl<S: Store + Clone> Retention for Flaky<S> {
    fn clean_up(
        &self,
        expired: Expired,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Cleaned, Error>> + Send {
        flaky!(self, clean_up, self.store.clean_up(expired, behind, most))
    }
}

impl<S: Store + Clone> Backup for Flaky<S> {
    fn back_up(&self, to: PathBuf) -> impl Future<Output = Result<BackedUp, Error>> + Send {
        flaky!(self, back_up, self.store.back_up(to))
    }
}

impl<S: Store + Clone> Verify for Flaky<S> {
    fn verify_file(&self) -> impl Future<Output = Result<Vec<Finding>, Error>> + Send {
        flaky!(self, verify_file, self.store.verify_file())
    }

    fn verify(&self, behind: Option<TaskId>) -> impl Future<Output = Result<Verified, Error>> + Send {
        flaky!(self, verify, self.store.verify(behind))
    }
}

impl<S: Store + Clone> Transfer for Flaky<S> {
    fn whole(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Whole>>, Error>> + Send {
        flaky!(self, whole, self.store.whole(tasks))
    }

    fn bring(&self, batch: Vec<Whole>) -> impl Future<Output = Result<Vec<Brought>, Error>> + Send {
        flaky!(self, bring, self.store.bring(batch))
    }
}
