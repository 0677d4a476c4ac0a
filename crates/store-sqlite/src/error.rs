//! SQLite's errors, by what they mean for a store.

use std::path::Path;
use std::sync::Arc;

use rusqlite::ErrorCode;
use steadfast_store::{Error, Kind};

/// What an error of SQLite means, and what to do. It can be one for many, when a commit fails.
pub(crate) fn failed(error: impl Into<Arc<rusqlite::Error>>) -> Error {
    told("the store's file", error.into())
}

/// The same while this file is opened: it may be another one than was meant.
pub(crate) fn failed_at(path: &Path, error: rusqlite::Error) -> Error {
    told(&path.display().to_string(), Arc::new(error))
}

fn told(file: &str, error: Arc<rusqlite::Error>) -> Error {
    let (kind, words) = match error.sqlite_error_code() {
        Some(ErrorCode::DiskFull) => {
            (Kind::Full, "the disk is full: make room; nothing that was acknowledged is lost".to_owned())
        }
        Some(ErrorCode::ReadOnly | ErrorCode::PermissionDenied | ErrorCode::CannotOpen) => (
            Kind::ReadOnly,
            format!("{file} cannot be written: check that it and its folder may be written by this program"),
        ),
        Some(ErrorCode::NotADatabase) => (
            Kind::Corrupt,
            format!(
                "{file} is no SQLite file, or its beginning is damaged: name another one, or restore it from a backup"
            ),
        ),
        Some(ErrorCode::DatabaseCorrupt) => (
            Kind::Corrupt,
            format!(
                "{file} is damaged: restore it from a backup, or look at it with `PRAGMA integrity_check`"
            ),
        ),
        Some(ErrorCode::DatabaseBusy | ErrorCode::DatabaseLocked) => {
            (Kind::Unavailable, format!("another connection holds {file}: end its transaction"))
        }
        Some(ErrorCode::SystemIoFailure) => {
            (Kind::Unavailable, format!("the disk failed under {file}: see the cause"))
        }
        _ => row_failed(file, &error),
    };
    Error::new(kind, words).because(error)
}

fn row_failed(file: &str, error: &rusqlite::Error) -> (Kind, String) {
    match error {
        error if is_of_a_row(error) => (
            Kind::Corrupt,
            format!(
                "a row of {file} cannot be read, it was changed by hand or is damaged: restore it from a backup"
            ),
        ),
        rusqlite::Error::StatementChangedRows(_) | rusqlite::Error::QueryReturnedNoRows => {
            (Kind::Corrupt, format!("a row of {file} is not there: it was removed by hand, or is damaged"))
        }
        _ => (Kind::Unavailable, format!("{file} cannot be used: see the cause")),
    }
}

/// Whether one row cannot be read: the rest of the file is none the worse for it.
pub(crate) fn is_of_a_row(error: &rusqlite::Error) -> bool {
    use rusqlite::Error::{FromSqlConversionFailure, IntegralValueOutOfRange, InvalidColumnType, Utf8Error};
    matches!(
        error,
        FromSqlConversionFailure(..) | InvalidColumnType(..) | IntegralValueOutOfRange(..) | Utf8Error(..)
    )
}

/// Why a file cannot be made in its folder, or opened there.
pub(crate) fn not_made(path: &Path, error: std::io::Error) -> Error {
    use std::io::ErrorKind;

    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.display().to_string(),
        _ => "the current folder".to_owned(),
    };
    let words = match error.kind() {
        ErrorKind::NotFound => format!("{folder} does not exist: make that folder, or give another path"),
        ErrorKind::NotADirectory => format!("{folder} is no folder: give another path"),
        ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
            format!("{folder} may not be written by this program: give it the right, or give another path")
        }
        _ => format!("see the cause, and check that {folder} may be written"),
    };
    Error::new(Kind::ReadOnly, format!("cannot make {}: {words}", path.display())).because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sqlite(code: i32) -> rusqlite::Error {
        rusqlite::Error::SqliteFailure(rusqlite::ffi::Error::new(code), None)
    }

    #[test]
    fn what_is_wrong_with_a_file_names_it_and_says_what_to_do() {
        let path = Path::new("/data/orders.db");
        for (code, kind, words) in [
            (
                rusqlite::ffi::SQLITE_READONLY,
                Kind::ReadOnly,
                "/data/orders.db cannot be written: check that it and its folder may be written by this program",
            ),
            (
                rusqlite::ffi::SQLITE_NOTADB,
                Kind::Corrupt,
                "/data/orders.db is no SQLite file, or its beginning is damaged: name another one, or restore it from \
                 a backup",
            ),
            (
                rusqlite::ffi::SQLITE_IOERR,
                Kind::Unavailable,
                "the disk failed under /data/orders.db: see the cause",
            ),
        ] {
            let error = failed_at(path, sqlite(code));
            assert_eq!((error.kind(), error.to_string().as_str()), (kind, words));
        }
        let later = failed(sqlite(rusqlite::ffi::SQLITE_READONLY)).to_string();
        assert!(later.starts_with("the store's file cannot be written"), "{later}");
    }

    #[test]
    fn a_file_that_cannot_be_made_tells_of_its_folder() {
        use std::io::ErrorKind;

        for (path, kind, words) in [
            (
                "/no/orders.db",
                ErrorKind::NotFound,
                "/no does not exist: make that folder, or give another path",
            ),
            ("/a.txt/orders.db", ErrorKind::NotADirectory, "/a.txt is no folder: give another path"),
            (
                "orders.db",
                ErrorKind::PermissionDenied,
                "the current folder may not be written by this program: give it the right, or give another path",
            ),
            ("/a/orders.db", ErrorKind::Other, "see the cause, and check that /a may be written"),
        ] {
            let error = not_made(Path::new(path), kind.into());
            assert_eq!(error.kind(), Kind::ReadOnly);
            assert_eq!(error.to_string(), format!("cannot make {path}: {words}"));
        }
    }
}
