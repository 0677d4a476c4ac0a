//! The schema, step by step. A step that was shipped never changes: its checksum is kept in the file.

use std::path::Path;

use rusqlite::{Connection, OptionalExtension as _, TransactionBehavior};
use steadfast_store::{Error, Kind};

use crate::error::failed_at;

/// All steps in their order, each with its number.
pub(crate) const MIGRATIONS: [(u32, &str); 13] = [
    (1, include_str!("../migrations/0001.sql")),
    (2, include_str!("../migrations/0002.sql")),
    (3, include_str!("../migrations/0003.sql")),
    (4, include_str!("../migrations/0004.sql")),
    (5, include_str!("../migrations/0005.sql")),
    (6, include_str!("../migrations/0006.sql")),
    (10, include_str!("../migrations/0010.sql")),
    (11, include_str!("../migrations/0011.sql")),
    (12, include_str!("../migrations/0012.sql")),
    (13, include_str!("../migrations/0013.sql")),
    (14, include_str!("../migrations/0014.sql")),
    (15, include_str!("../migrations/0015.sql")),
    (16, include_str!("../migrations/0016.sql")),
];
/// The last of them.
const LAST: u32 = MIGRATIONS[MIGRATIONS.len() - 1].0;

const TABLE: &str = "CREATE TABLE IF NOT EXISTS steadfast_migrations (
    number INTEGER PRIMARY KEY, checksum INTEGER NOT NULL
) STRICT";

/// Brings a file up to this version.
pub(crate) fn run(connection: &mut Connection, path: &Path) -> Result<(), Error> {
    let failed = |error| failed_at(path, error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    transaction.execute_batch(TABLE).map_err(failed)?;
    let last: u32 = transaction
        .query_row("SELECT coalesce(max(number), 0) FROM steadfast_migrations", [], |row| row.get(0))
        .map_err(failed)?;
    if last > LAST {
        let message = format!(
            "{} has schema {last}, this version knows {LAST}: use the newer version that made it",
            path.display()
        );
        return Err(Error::new(Kind::Newer, message));
    }
    for (number, sql) in MIGRATIONS {
        let known: Option<i64> = transaction
            .query_row("SELECT checksum FROM steadfast_migrations WHERE number = ?", [number], |row| {
                row.get(0)
            })
            .optional()
            .map_err(failed)?;
        match known {
            Some(known) if known == checksum(sql) => {}
            Some(_) => {
                let message = format!(
                    "schema {number} of {} is not the one that this version knows: it was made by a build of its own",
                    path.display()
                );
                return Err(Error::new(Kind::Newer, message));
            }
            None => {
                transaction.execute_batch(sql).map_err(failed)?;
                let done = "INSERT INTO steadfast_migrations (number, checksum) VALUES (?, ?)";
                transaction.execute(done, (number, checksum(sql))).map_err(failed)?;
            }
        }
    }
    steadfast_store::failpoint!("migration.before_commit");
    transaction.commit().map_err(failed)
}

/// FNV-1a: it tells texts apart, and guards against nothing else.
fn checksum(text: &str) -> i64 {
    let hash = text
        .bytes()
        .fold(0xCBF2_9CE4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3));
    hash.cast_signed()
}
