//! The embedded store passes the suite that every store passes, whoever drives its writer.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

use std::path::PathBuf;
use std::time::Duration;

use steadfast_engine::Time;
use steadfast_store::Error;
use steadfast_store::conformance::{HandClock, Harness};
use steadfast_store_sqlite::Sqlite;

mod folder;

use folder::Folder;

struct InFile {
    clock: HandClock,
    store: Sqlite,
    _folder: Folder,
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
        Self { clock, store, _folder: folder }
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
