//! The embedded store passes the suite that every store passes, whoever drives its writer.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

use std::path::PathBuf;
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_store::conformance::{HandClock, Harness};
use steadfast_store::{Arrival, Error};
use steadfast_store_sqlite::Sqlite;
use steadfast_store_sqlite::rusqlite::{Connection, params};

mod folder;

use folder::Folder;

struct InFile {
    clock: HandClock,
    store: Sqlite,
    folder: Folder,
}

impl InFile {
    fn on_a_thread() -> Self {
        Self::new(|path, clock| Sqlite::open(path, move || clock.now()))
    }

    fn at_once() -> Self {
        let in_file = Self::on_a_thread();
        in_file.store.write_at_once();
        in_file
    }

    fn inline() -> Self {
        Self::new(|path, clock| Sqlite::open_inline(path, move || clock.now()))
    }

    fn new(open: impl FnOnce(PathBuf, HandClock) -> Result<Sqlite, Error>) -> Self {
        let (folder, clock) = (Folder::new(), HandClock::default());
        clock.set(Time::from_millis(1_700_000_000_000));
        let store = open(folder.path("store.db"), clock.clone()).unwrap();
        Self { clock, store, folder }
    }
}

impl Harness for InFile {
    type Store = Sqlite;

    fn store(&self) -> &Sqlite {
        &self.store
    }

    fn advance(&self, time: Duration) {
        self.clock.advance(time);
    }

    /// By plain SQL, as a program in another language does.
    fn hand_in(&self, arrival: Arrival) {
        let other = Connection::open(self.folder.path("store.db")).unwrap();
        let sql = "INSERT INTO steadfast_inbox
                   (id, namespace, workflow, version, key, priority, input, start_at_ms, reply_to, correlation)
                   VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        let row = params![
            arrival.task.unwrap().map(|task| task.to_string()),
            &*arrival.namespace,
            &*arrival.workflow,
            arrival.version,
            arrival.key.as_deref(),
            arrival.priority,
            String::from_utf8(arrival.input.to_vec()).unwrap(),
            arrival.start_at.map(|at| at.as_millis().cast_signed()),
            arrival.reply_to.as_deref(),
            arrival.correlation.as_deref(),
        ];
        other.execute(sql, row).unwrap();
    }
}

steadfast_store::conformance!(InFile::on_a_thread());

mod inline {
    use super::*;

    steadfast_store::conformance!(InFile::inline());
}

mod at_once {
    use super::*;

    steadfast_store::conformance!(InFile::at_once());
}
