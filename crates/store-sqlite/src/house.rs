//! Keeping house: what the store's contract asks, by whom it is done here.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;

use steadfast_store::{
    BackedUp, Backup, Brought, Cleaned, Error, Expired, Finding, Retention, TaskId, Transfer, Verified,
    Verify, Whole,
};

use crate::beside::{self, given_up};
use crate::calm::Calm;
use crate::error::failed;
use crate::reader::Reader;
use crate::{Inner, ROWS, Sqlite, backup, open, retention, verify, whole};

impl Inner {
    /// The reader that keeps house: nobody else waits for it. It is opened when it is first needed.
    fn keeper(&self) -> Result<&Reader, Error> {
        if let Some(keeper) = self.keeper.get() {
            return Ok(keeper);
        }
        let opened = Reader::new(open::reader(&self.path).map_err(failed)?);
        Ok(self.keeper.get_or_init(|| opened))
    }
}

impl Retention for Sqlite {
    async fn clean_up(
        &self,
        expired: Expired,
        behind: Option<TaskId>,
        most: usize,
    ) -> Result<Cleaned, Error> {
        let keeper = self.inner.keeper()?;
        let found = keeper.read(|transaction| retention::find(transaction, expired, behind, most)).await?;
        let mut cleaned = found.cleaned();
        if !found.is_empty() {
            // Never by the caller itself: it is no small write.
            let (bytes, inner) = (ROWS * most.max(8), Arc::downgrade(&self.inner));
            let remove = move |transaction: &_, _| {
                inner.upgrade().map_or(Ok(()), |inner| inner.copies_seldom(transaction))?;
                found.remove(transaction)
            };
            cleaned = self.inner.drive.ask(Ok(()), bytes, remove).await?;
            beside::run(&self.inner, |inner, _| inner.copy_log()).await?;
        }
        if cleaned.behind.is_none() {
            self.inner.copies_again().await?;
        }
        Ok(cleaned)
    }
}

impl Backup for Sqlite {
    fn back_up(&self, to: PathBuf) -> impl Future<Output = Result<BackedUp, Error>> + Send {
        beside::run(&self.inner, move |inner, stop| backup::back_up(inner, &to, stop))
    }
}

impl Verify for Sqlite {
    fn verify_file(&self) -> impl Future<Output = Result<Vec<Finding>, Error>> + Send {
        beside::run(&self.inner, |inner, stop| {
            // One reader for all of the file: SQLite has no way to do it in parts.
            let calm = Calm::begin(inner)?;
            let connection = open::reader(&inner.path).map_err(failed)?;
            stop.ends(&connection);
            let found = verify::file(&connection).map_err(|error| match error.sqlite_error_code() {
                Some(rusqlite::ErrorCode::OperationInterrupted) => given_up(),
                _ => failed(error),
            });
            drop(connection);
            calm.catch_up()?;
            found
        })
    }

    fn verify(&self, behind: Option<TaskId>) -> impl Future<Output = Result<Verified, Error>> + Send {
        beside::run(&self.inner, move |inner, _| {
            inner.keeper()?.with(|connection| verify::slice(connection, behind)).map_err(failed)
        })
    }
}

impl Transfer for Sqlite {
    async fn whole(&self, tasks: Vec<TaskId>) -> Result<Vec<Option<Whole>>, Error> {
        let read = |transaction: &_| tasks.iter().map(|task| whole::read(transaction, *task)).collect();
        self.inner.keeper()?.read(read).await
    }

    fn bring(&self, batch: Vec<Whole>) -> impl Future<Output = Result<Vec<Brought>, Error>> + Send {
        let checked = batch.iter().try_for_each(Whole::check_sizes);
        let bytes = batch.iter().map(Whole::bytes).sum();
        let batch: Vec<_> = batch.into_iter().map(Whole::arriving).collect();
        self.inner.drive.ask(checked, bytes, move |transaction, _| {
            batch.iter().map(|whole| whole::bring(transaction, whole)).collect()
        })
    }
}
