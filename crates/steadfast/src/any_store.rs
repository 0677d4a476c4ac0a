//! The store that an address stands for.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use steadfast_engine::Time;
use steadfast_resilience::clock::Clock;
use steadfast_store::{
    Audit, AuditId, AuditLog, Audited, Bulk, Bulks, Circuit, Circuits, Claimed, Entry, Error as StoreError,
    Filter, Handed, Kept, Listed, Listing, Mail, Mailbox, Memory, Message, NodeId, Nodes, Outbox, OutboxId,
    OutboxKind, Outgoing, Overdue, Overdued, Parked, Payload, PayloadKey, Posted, Put, PutBulk, PutText,
    Schedule, Schedules, Sent, Settled, Stored, Submission, Submitted, TaskId, Tasks, Undelivered,
    WorkflowText, WorkflowTexts, Write, Written,
};
use steadfast_store_sqlite::Sqlite;

use crate::error::{Code, Error};

/// One of the stores that there are.
#[derive(Clone, Debug)]
pub(crate) enum AnyStore {
    Sqlite(Sqlite),
    Memory(Memory),
}

impl AnyStore {
    pub(crate) fn open(address: &str, clock: &Clock) -> Result<Self, Error> {
        match read(address)? {
            Address::File(path) => {
                let store = Sqlite::open(path, steady(wall_clock(), clock.clone()))?;
                // Where other threads go on with everything else, one may wait for the disk a moment.
                if tokio::runtime::Handle::try_current()
                    .is_ok_and(|runtime| runtime.metrics().num_workers() > 1)
                {
                    store.write_at_once();
                }
                Ok(Self::Sqlite(store))
            }
            Address::Memory => {
                let (clock, began, wall) = (clock.clone(), clock.now(), wall_clock()());
                Ok(Self::Memory(Memory::new(move || wall + clock.now().since(began))))
            }
        }
    }
}

/// What an address stands for.
#[derive(Debug, PartialEq, Eq)]
enum Address<'a> {
    File(&'a str),
    Memory,
}

/// Reads an address. Two slashes belong to it and not to the path, as in all addresses: `sqlite://orders.db` is a file in the
/// current folder.
fn read(address: &str) -> Result<Address<'_>, Error> {
    const FILE: &str = "use `sqlite:PATH`, such as `sqlite:orders.db` or `sqlite:/var/lib/orders.db`";
    let bad = |why: &str| Error::new(Code::BadAddress, format!("`{address}` is no store: {why}"));
    match address.split_once(':') {
        Some(("memory", "")) => Ok(Address::Memory),
        Some(("sqlite", path)) => match path.strip_prefix("//").unwrap_or(path) {
            "" => Err(bad(&format!("it names no file; {FILE}"))),
            memory if memory.starts_with(":memory:") => {
                Err(bad("a store in memory keeps nothing; for tests use `memory:`, and otherwise a file"))
            }
            uri if uri.starts_with("file:") || uri.contains('?') => {
                Err(bad(&format!("it has no options, and its path is no URI; {FILE}")))
            }
            path => Ok(Address::File(path)),
        },
        _ => Err(bad(&format!("{FILE}, or `memory:` for tests"))),
    }
}

/// The machine's date and time.
fn wall_clock() -> impl Fn() -> Time + Send + Sync + 'static {
    || {
        #[expect(clippy::disallowed_methods, reason = "the one place where the store's clock begins")]
        let since_1970 = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        Time::from_millis(u64::try_from(since_1970.as_millis()).unwrap_or(u64::MAX))
    }
}

/// A date and time that neither goes back nor stands still: when the machine's is set back, this one goes on from where it
/// was, by a clock that cannot be set. When the machine's is set forward, or has slept, it follows.
fn steady(wall: impl Fn() -> Time + Send + Sync, clock: Clock) -> impl Fn() -> Time + Send + Sync {
    let seen = Mutex::new((wall(), clock.now()));
    move || {
        let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
        let (wall, moment) = (wall(), clock.now());
        let gone_on = seen.0 + moment.since(seen.1);
        if wall > gone_on {
            *seen = (wall, moment);
        }
        wall.max(gone_on)
    }
}

macro_rules! either {
    ($self:ident, $store:ident => $call:expr) => {
        match $self {
            AnyStore::Sqlite($store) => Either::Left($call),
            AnyStore::Memory($store) => Either::Right($call),
        }
    };
}

mod house;

/// One of two futures.
enum Either<L, R> {
    Left(L),
    Right(R),
}

impl<L: Future, R: Future<Output = L::Output>> Either<L, R> {
    async fn run(self) -> L::Output {
        match self {
            Self::Left(left) => left.await,
            Self::Right(right) => right.await,
        }
    }
}

type Told<T> = Result<T, StoreError>;

impl Tasks for AnyStore {
    fn submit(&self, batch: Vec<Submission>) -> impl Future<Output = Told<Vec<Submitted>>> + Send {
        either!(self, store => store.submit(batch)).run()
    }

    fn claim(&self, node: NodeId, most: usize) -> impl Future<Output = Told<Vec<Claimed>>> + Send {
        either!(self, store => store.claim(node, most)).run()
    }

    fn write(&self, batch: Vec<Write>) -> impl Future<Output = Told<Vec<Written>>> + Send {
        either!(self, store => store.write(batch)).run()
    }

    fn owned(&self, node: NodeId) -> impl Future<Output = Told<Vec<(TaskId, u64)>>> + Send {
        either!(self, store => store.owned(node)).run()
    }

    fn open_tasks(&self) -> impl Future<Output = Told<u64>> + Send {
        either!(self, store => store.open_tasks()).run()
    }

    fn read(&self, tasks: Vec<TaskId>) -> impl Future<Output = Told<Vec<Option<Stored>>>> + Send {
        either!(self, store => store.read(tasks)).run()
    }

    fn payloads(&self, keys: Vec<PayloadKey>) -> impl Future<Output = Told<Vec<Option<Payload>>>> + Send {
        either!(self, store => store.payloads(keys)).run()
    }

    fn history_behind(&self, task: TaskId, revision: u64) -> impl Future<Output = Told<Vec<Entry>>> + Send {
        either!(self, store => store.history_behind(task, revision)).run()
    }
}

impl Mailbox for AnyStore {
    fn post(&self, batch: Vec<Message>) -> impl Future<Output = Told<Vec<Posted>>> + Send {
        either!(self, store => store.post(batch)).run()
    }

    fn unread(&self, node: NodeId, most: usize) -> impl Future<Output = Told<Vec<Mail>>> + Send {
        either!(self, store => store.unread(node, most)).run()
    }

    fn unread_of(&self, tasks: Vec<TaskId>) -> impl Future<Output = Told<Vec<Mail>>> + Send {
        either!(self, store => store.unread_of(tasks)).run()
    }
}

impl Parked for AnyStore {
    fn claim_parked(
        &self,
        node: NodeId,
        service: Arc<str>,
        from: Time,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Claimed>>> + Send {
        either!(self, store => store.claim_parked(node, service, from, most)).run()
    }

    fn parked(&self) -> impl Future<Output = Told<Vec<(Arc<str>, u64)>>> + Send {
        either!(self, store => store.parked()).run()
    }
}

impl Circuits for AnyStore {
    fn circuits(&self) -> impl Future<Output = Told<Vec<Circuit>>> + Send {
        either!(self, store => store.circuits()).run()
    }

    fn keep(&self, batch: Vec<Circuit>) -> impl Future<Output = Told<Vec<Kept>>> + Send {
        either!(self, store => store.keep(batch)).run()
    }
}

impl Outbox for AnyStore {
    fn send(&self, batch: Vec<Outgoing>) -> impl Future<Output = Told<Vec<Sent>>> + Send {
        either!(self, store => store.send(batch)).run()
    }

    fn undelivered(
        &self,
        kind: OutboxKind,
        most: usize,
        hold: Duration,
    ) -> impl Future<Output = Told<Handed>> + Send {
        either!(self, store => store.undelivered(kind, most, hold)).run()
    }

    fn settle(&self, batch: Vec<(OutboxId, Settled)>) -> impl Future<Output = Told<()>> + Send {
        either!(self, store => store.settle(batch)).run()
    }

    fn undeliverable(
        &self,
        kind: OutboxKind,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Undelivered>>> + Send {
        either!(self, store => store.undeliverable(kind, most)).run()
    }
}

impl Schedules for AnyStore {
    fn schedules(&self) -> impl Future<Output = Told<Vec<Schedule>>> + Send {
        either!(self, store => store.schedules()).run()
    }

    fn schedule(&self, name: Arc<str>) -> impl Future<Output = Told<Option<Schedule>>> + Send {
        either!(self, store => store.schedule(name)).run()
    }

    fn upcoming(&self, most: usize) -> impl Future<Output = Told<Vec<Schedule>>> + Send {
        either!(self, store => store.upcoming(most)).run()
    }

    fn put(&self, batch: Vec<Schedule>) -> impl Future<Output = Told<Vec<Put>>> + Send {
        either!(self, store => store.put(batch)).run()
    }

    fn remove(&self, name: Arc<str>) -> impl Future<Output = Told<bool>> + Send {
        either!(self, store => store.remove(name)).run()
    }
}

impl WorkflowTexts for AnyStore {
    fn workflow_texts(&self) -> impl Future<Output = Told<Vec<WorkflowText>>> + Send {
        either!(self, store => store.workflow_texts()).run()
    }

    fn put_texts(&self, batch: Vec<WorkflowText>) -> impl Future<Output = Told<Vec<PutText>>> + Send {
        either!(self, store => store.put_texts(batch)).run()
    }
}

impl Listing for AnyStore {
    fn list(
        &self,
        filter: Filter,
        behind: Option<TaskId>,
        most: usize,
    ) -> impl Future<Output = Told<Listed>> + Send {
        either!(self, store => store.list(filter, behind, most)).run()
    }
}

impl Bulks for AnyStore {
    fn bulks(&self, most: usize) -> impl Future<Output = Told<Vec<Bulk>>> + Send {
        either!(self, store => store.bulks(most)).run()
    }

    fn bulks_under_way(&self, most: usize) -> impl Future<Output = Told<Vec<Bulk>>> + Send {
        either!(self, store => store.bulks_under_way(most)).run()
    }

    fn bulk(&self, id: AuditId) -> impl Future<Output = Told<Option<Bulk>>> + Send {
        either!(self, store => store.bulk(id)).run()
    }

    fn put_bulk(&self, bulk: Bulk, more: Vec<TaskId>) -> impl Future<Output = Told<PutBulk>> + Send {
        either!(self, store => store.put_bulk(bulk, more)).run()
    }

    fn bulk_tasks(
        &self,
        id: AuditId,
        from: u64,
        most: usize,
    ) -> impl Future<Output = Told<Vec<TaskId>>> + Send {
        either!(self, store => store.bulk_tasks(id, from, most)).run()
    }
}

impl AuditLog for AnyStore {
    fn log(&self, batch: Vec<Audit>) -> impl Future<Output = Told<()>> + Send {
        either!(self, store => store.log(batch)).run()
    }

    fn audited(&self, id: AuditId) -> impl Future<Output = Told<Option<Audited>>> + Send {
        either!(self, store => store.audited(id)).run()
    }

    fn audits(
        &self,
        task: Option<TaskId>,
        before: Option<AuditId>,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Audited>>> + Send {
        either!(self, store => store.audits(task, before, most)).run()
    }
}

impl Overdue for AnyStore {
    fn overdue(
        &self,
        behind: Option<Overdued>,
        most: usize,
    ) -> impl Future<Output = Told<Vec<Overdued>>> + Send {
        either!(self, store => store.overdue(behind, most)).run()
    }
}

impl Nodes for AnyStore {
    fn now(&self) -> impl Future<Output = Told<Time>> + Send {
        either!(self, store => store.now()).run()
    }

    fn renew(&self, node: NodeId, lease: Duration) -> impl Future<Output = Told<Time>> + Send {
        either!(self, store => store.renew(node, lease)).run()
    }

    fn leave(&self, node: NodeId) -> impl Future<Output = Told<()>> + Send {
        either!(self, store => store.leave(node)).run()
    }
}

mod submitters;

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering};

    use steadfast_resilience::clock::VirtualClock;

    use super::*;

    #[test]
    fn a_date_that_is_set_back_is_not_followed_and_nothing_stands_still() {
        let clock = VirtualClock::new();
        let wall = Arc::new(AtomicU64::new(10_000));
        let date = {
            let wall = Arc::clone(&wall);
            steady(move || Time::from_millis(wall.load(Ordering::SeqCst)), clock.clone().into())
        };
        let s = Duration::from_secs;
        for (goes_on, machine, told) in [
            (1, 11_000, 11_000),
            (1, 3_612_000, 3_612_000),
            (1, 13_000, 3_613_000),
            (5, 18_000, 3_618_000),
            (1, 4_000_000, 4_000_000),
        ] {
            clock.advance(s(goes_on));
            wall.store(machine, Ordering::SeqCst);
            assert_eq!(date().as_millis(), told);
        }
    }

    #[test]
    fn an_address_is_read_as_others_are() {
        for (address, path) in [
            ("sqlite:orders.db", "orders.db"),
            ("sqlite://orders.db", "orders.db"),
            ("sqlite:./data/orders.db", "./data/orders.db"),
            ("sqlite:/var/orders.db", "/var/orders.db"),
            ("sqlite:///var/orders.db", "/var/orders.db"),
        ] {
            assert_eq!(read(address).ok(), Some(Address::File(path)), "{address}");
        }
        assert_eq!(read("memory:").ok(), Some(Address::Memory));
    }

    #[test]
    fn an_address_that_stands_for_no_store_is_told_what_to_use() {
        for (address, words) in [
            ("orders.db", "use `sqlite:PATH`"),
            ("postgres://here", "use `sqlite:PATH`"),
            ("memory:x", "use `sqlite:PATH`"),
            ("sqlite:", "it names no file; use `sqlite:PATH`"),
            ("sqlite://", "it names no file; use `sqlite:PATH`"),
            ("sqlite::memory:", "a store in memory keeps nothing; for tests use `memory:`"),
            ("sqlite://:memory:", "a store in memory keeps nothing; for tests use `memory:`"),
            ("sqlite:file:a.db", "it has no options, and its path is no URI"),
            ("sqlite://a.db?mode=rwc", "it has no options, and its path is no URI"),
        ] {
            let error = read(address).unwrap_err();
            assert_eq!(error.code(), Code::BadAddress);
            assert!(error.to_string().starts_with(&format!("`{address}` is no store: {words}")), "{error}");
        }
    }
}
