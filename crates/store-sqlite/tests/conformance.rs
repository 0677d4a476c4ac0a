//! The embedded store passes the suite that every store passes.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a test's own helpers")]

use std::time::Duration;

use steadfast_engine::Time;
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
    fn new() -> Self {
        let (folder, clock) = (Folder::new(), HandClock::default());
        clock.set(Time::from_millis(1_700_000_000_000));
        let told = clock.clone();
        let store = Sqlite::open(folder.path("store.db"), move || told.now()).unwrap();
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

steadfast_store::conformance!(InFile::new());
