//! Keeping house, counted.

use std::future::Future;
use std::path::PathBuf;

use steadfast_store::{
    BackedUp, Backup, Brought, Cleaned, Error, Expired, Finding, Retention, TaskId, Transfer, Verified,
    Verify, Whole,
};

use super::Counted;

impl Retention for Counted {
    fn clean_up(
        &self,
        expired: Expired,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Result<Cleaned, Error>> + Send {
        self.counted().clean_up(expired, behind, most)
    }
}

impl Backup for Counted {
    fn back_up(&self, to: PathBuf) -> impl Future<Output = Result<BackedUp, Error>> + Send {
        self.counted().back_up(to)
    }
}

impl Verify for Counted {
    fn verify_file(&self) -> impl Future<Output = Result<Vec<Finding>, Error>> + Send {
        self.counted().verify_file()
    }

    fn verify(&self, behind: Option<TaskId>) -> impl Future<Output = Result<Verified, Error>> + Send {
        self.counted().verify(behind)
    }
}

impl Transfer for Counted {
    fn whole(&self, tasks: Vec<TaskId>) -> impl Future<Output = Result<Vec<Option<Whole>>, Error>> + Send {
        self.counted().whole(tasks)
    }

    fn bring(&self, batch: Vec<Whole>) -> impl Future<Output = Result<Vec<Brought>, Error>> + Send {
        self.counted().bring(batch)
    }
}
