//! Keeping house, whichever store it is.

use std::future::Future;
use std::path::PathBuf;

use steadfast_store::{
    BackedUp, Backup, Brought, Cleaned, Error, Expired, Finding, Retention, TaskId, Transfer, Verified,
    Verify, Whole,
};

use super::{AnyStore, Either};

impl Retention for AnyStore {
    fn clean_up(
        &self,
        expired: Expired,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Cleaned, Error>> + Send {
        either!(self, store => store.clean_up(expired, behind, most)).run()
    }
}

impl Backup for AnyStore {
    fn back_up(&self, to: PathBuf) -> impl Future<Output = Result<BackedUp, Error>> + Send {
        either!(self, store => store.back_up(to)).run()
    }
}

impl Verify for AnyStore {
    fn verify_file(&self) -> impl Future<Output = Result<Vec<Finding>, Error>> + Send {
        either!(self, store => store.verify_file()).run()
    }

    fn verify(&self, behind: Option<TaskId>) -> impl Future<Output = Result<Verified, Error>> + Send {
        either!(self, store => store.verify(behind)).run()
    }
}

impl Transfer for AnyStore {
    fn whole(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Whole>>, Error>> + Send {
        either!(self, store => store.whole(tasks)).run()
    }

    fn bring(&self, batch: Vec<Whole>) -> impl Future<Output = Result<Vec<Brought>, Error>> + Send {
        either!(self, store => store.bring(batch)).run()
    }
}
