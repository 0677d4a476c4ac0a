//! Where a service writes its calls down. Readers get a [`Ledger`], which is a copy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use steadfast_resilience::clock::{Clock, Moment};
use tokio::sync::watch;

use super::{Ending, Entry, Ledger, MAX_ENTRIES};
use crate::request::Request;

#[derive(Debug)]
pub(crate) struct Book {
    clock: Clock,
    started: Moment,
    pages: Mutex<Pages>,
    /// Set while the service ends what is under way, so that it is not taken for callers that left.
    interrupting: AtomicBool,
    changes: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct Pages {
    entries: Vec<Entry>,
    calls: u64,
    /// Numbers every beginning and end.
    events: u64,
}

impl Book {
    pub(crate) fn new(clock: Clock) -> Arc<Self> {
        let started = clock.now();
        Arc::new(Self {
            clock,
            started,
            pages: Mutex::default(),
            interrupting: AtomicBool::new(false),
            changes: watch::Sender::new(0),
        })
    }

    pub(crate) const fn clock(&self) -> &Clock {
        &self.clock
    }

    pub(crate) const fn started(&self) -> Moment {
        self.started
    }

    /// Writes down that a call has begun. It ends with [`Open::close`], or is given up when that is dropped.
    pub(super) fn open(self: &Arc<Self>, request: &Arc<Request>, now: Moment) -> Open {
        let mut pages = self.pages();
        let (number, event) = (pages.calls, pages.next_event());
        pages.calls += 1;
        let is_kept = pages.entries.len() < MAX_ENTRIES;
        if is_kept {
            pages.entries.push(Entry {
                number,
                began: now.since(self.started),
                ended: None,
                ending: Ending::UnderWay,
                request: Arc::clone(request),
                order: (event, None),
            });
        }
        drop(pages);
        self.changed();
        Open { book: Arc::clone(self), number, is_kept, is_closed: false }
    }

    /// Decides what a call meets, and then writes down that it has begun: what stands in the ledger has been decided, so
    /// that a test which waits for it may change the script. A panic in the decision is written down, too.
    pub(crate) fn open_with<T>(
        self: &Arc<Self>,
        request: Request,
        now: Moment,
        decide: impl FnOnce(&Request) -> T,
    ) -> (T, Open) {
        let request = Arc::new(request);
        let witness = Witness { book: self, request: &request, now };
        let decision = decide(&request);
        drop(witness);
        (decision, self.open(&request, now))
    }

    pub(crate) fn ledger(&self) -> Ledger {
        let pages = self.pages();
        let left_out = pages.calls - pages.entries.len() as u64;
        Ledger { entries: pages.entries.clone(), left_out, is_part: false }
    }

    /// Hears of every change of the ledger.
    #[cfg(feature = "http")]
    pub(crate) fn watch(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    /// What is given up from now on was interrupted by the service, or no longer.
    #[cfg(any(test, feature = "http"))]
    pub(crate) fn interrupt(&self, on: bool) {
        self.interrupting.store(on, Ordering::Release);
    }

    fn changed(&self) {
        self.changes.send_modify(|change| *change = change.wrapping_add(1));
    }

    fn pages(&self) -> MutexGuard<'_, Pages> {
        self.pages.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pages {
    fn next_event(&mut self) -> u64 {
        self.events += 1;
        self.events
    }

    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        // Entries are kept from the first on without a gap, so a number is also a place.
        usize::try_from(number).ok().and_then(|place| self.entries.get_mut(place))
    }
}

/// Writes a call down whose decision panics: functions of a script are foreign code.
struct Witness<'b> {
    book: &'b Arc<Book>,
    request: &'b Arc<Request>,
    now: Moment,
}

impl Drop for Witness<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            drop(self.book.open(self.request, self.now));
        }
    }
}

/// A call that is under way.
#[derive(Debug)]
pub(crate) struct Open {
    book: Arc<Book>,
    number: u64,
    is_kept: bool,
    is_closed: bool,
}

impl Open {
    pub(crate) const fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn close(mut self, ending: Ending) {
        self.end(ending);
    }

    /// Adds what came in of the request's body.
    #[cfg(feature = "http")]
    pub(crate) fn took(&self, bytes: &[u8]) {
        Taker { book: Arc::clone(&self.book), number: self.number }.took(bytes);
    }

    /// Adds to the request's body from elsewhere.
    #[cfg(feature = "http")]
    pub(crate) fn taker(&self) -> Taker {
        Taker { book: Arc::clone(&self.book), number: self.number }
    }

    fn end(&mut self, ending: Ending) {
        if std::mem::replace(&mut self.is_closed, true) {
            return;
        }
        if self.is_kept {
            let ended = self.book.clock.now().since(self.book.started);
            let mut pages = self.book.pages();
            let event = pages.next_event();
            if let Some(entry) = pages.entry(self.number) {
                entry.ended = Some(ended);
                entry.ending = ending;
                entry.order.1 = Some(event);
            }
        }
        self.book.changed();
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.end(if std::thread::panicking() {
            Ending::Panicked
        } else if self.book.interrupting.load(Ordering::Acquire) {
            Ending::Interrupted
        } else {
            Ending::CallerLeft
        });
    }
}

/// Writes a request's body down as it comes in.
#[cfg(feature = "http")]
#[derive(Debug)]
pub(crate) struct Taker {
    book: Arc<Book>,
    number: u64,
}

#[cfg(feature = "http")]
impl Taker {
    pub(crate) fn took(&self, bytes: &[u8]) {
        if let Some(entry) = self.book.pages().entry(self.number) {
            Arc::make_mut(&mut entry.request).take(bytes);
        }
        self.book.changed();
    }
}
