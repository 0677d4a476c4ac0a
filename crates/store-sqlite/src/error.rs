//! SQLite's errors, by what they mean for a store.

use std::sync::Arc;

use rusqlite::ErrorCode;
use steadfast_store::{Error, Kind};

/// What an error of SQLite means, and what to do. It can be one for many, when a commit fails.
pub(crate) fn failed(error: impl Into<Arc<rusqlite::Error>>) -> Error {
    let error = error.into();
    let (kind, words) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            (Kind::Full, "the disk is full: make room; nothing that was acknowledged is lost")
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => (
            Kind::ReadOnly,
            "the store's file cannot be written: check that it and its folder may be written",
        ),
        Some(ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase) => (
            Kind::Corrupt,
            "the store's file is damaged: restore it from a backup, or look at it with `PRAGMA integrity_check`",
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (Kind::Unavailable, "another connection holds the store's file: end its transaction")
        }
        Some(ErrorCode::SystemIoFailure) => (Kind::Unavailable, "the disk failed: see the cause"),
        _ => match &*error {
            error if is_of_a_row(error) => (
                Kind::Corrupt,
                "a row of the store cannot be read, it was changed by hand or is damaged: restore it from a backup",
            ),
            rusqlite::Error::StatementChangedRows(_) | rusqlite::Error::QueryReturnedNoRows => {
                (Kind::Corrupt, "a row of the store is not there: it was removed by hand, or is damaged")
            }
            _ => (Kind::Unavailable, "the store's file cannot be used: see the cause"),
        },
    };
    Error::new(kind, words).because(error)
}

/// Whether one row cannot be read: the rest of the file is none the worse for it.
pub(crate) fn is_of_a_row(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | InvalidColumnType(..) | IntegralValueOutOfRange(..) | Utf8Error(..)
    )
}
