//! Tests of ledgers: what they count, and what their assertions say when they fail.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use steadfast_resilience::IdempotencyKey;
use steadfast_resilience::clock::VirtualClock;

use super::book::Open;
use super::*;
use crate::request::Request;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

struct Bench {
    clock: VirtualClock,
    book: Arc<Book>,
}

impl Bench {
    fn new() -> Self {
        let clock = VirtualClock::new();
        Self { book: Book::new((&clock).into()), clock }
    }

    fn begin(&self, request: Request) -> Open {
        self.book.open(&Arc::new(request), self.clock.now())
    }

    /// A call of this length and end, after a wait.
    fn call(&self, wait: u64, took: u64, ending: Ending) {
        self.clock.advance(ms(wait));
        let open = self.begin(Request::new("POST", "/charges").with_key(IdempotencyKey::from_u128(7)));
        self.clock.advance(ms(took));
        open.close(ending);
    }
}

/// Three calls with one key, waits of 100 ms and 250 ms.
fn three() -> Ledger {
    let bench = Bench::new();
    bench.call(0, 20, Ending::Answered(500));
    bench.call(100, 30, Ending::CallerLeft);
    bench.call(250, 0, Ending::Answered(200));
    bench.book.ledger()
}

/// What a failing assertion says.
fn words(assertion: impl FnOnce()) -> String {
    let panic = catch_unwind(AssertUnwindSafe(assertion)).expect_err("the assertion must fail");
    *panic.downcast::<String>().expect("a panic with words")
}

const TABLE: &str = "\
ledger of 3 calls
  call  wait   began  took  ended as            attempt  key                        request
  0     -      0ns    20ms  answered 500        -        000000000000000000000000~  POST /charges
  1     100ms  120ms  30ms  the caller gave up  -        000000000000000000000000~  POST /charges
  2     250ms  400ms  0ns   answered 200        -        000000000000000000000000~  POST /charges";

#[test]
fn what_holds_passes_and_chains() {
    three()
        .assert_attempts(3)
        .assert_waits(&[ms(100), ms(250)])
        .assert_waits_between(&[ms(0)..=ms(100), ms(250)..=ms(300)])
        .assert_one_key()
        .assert_nothing_after(ms(400))
        .assert_at_most_at_once(1)
        .assert_endings(&[Ending::Answered(500), Ending::CallerLeft, Ending::Answered(200)]);
}

#[test]
fn a_failed_assertion_tells_what_was_expected_what_was_and_the_whole_ledger() {
    let ledger = three();
    let check = |assertion: &dyn Fn(), first: &str| {
        assert_eq!(words(assertion), format!("{first}\n\n{TABLE}"));
    };
    check(&|| drop(ledger.assert_attempts(4).clone()), "expected 4 attempts, found 3");
    check(&|| drop(ledger.assert_attempts(1).clone()), "expected 1 attempt, found 3");
    check(
        &|| drop(ledger.assert_waits(&[ms(100)]).clone()),
        "expected waits of [100ms], found [100ms, 250ms]",
    );
    check(
        &|| drop(ledger.assert_waits_between(&[ms(100)..=ms(100), ms(1)..=ms(249)]).clone()),
        "expected waits of [100ms, 1ms to 249ms], found [100ms, 250ms]",
    );
    check(
        &|| drop(ledger.assert_nothing_after(ms(399)).clone()),
        "expected nothing after 399ms, found 1 call",
    );
    check(&|| drop(ledger.assert_at_most_at_once(0).clone()), "expected at most 0 at once, found 1");
    check(
        &|| drop(ledger.assert_endings(&[Ending::Refused]).clone()),
        "expected: refused\nfound: answered 500; the caller gave up; answered 200",
    );
}

#[test]
fn one_key_means_a_key_in_every_call_and_at_least_one_call() {
    let bench = Bench::new();
    let said = |bench: &Bench| words(|| drop(bench.book.ledger().assert_one_key().clone()));
    assert!(said(&bench).starts_with("expected one idempotency key in all calls, found no call\n"));
    bench.call(0, 0, Ending::Answered(200));
    bench.begin(Request::new("GET", "/")).close(Ending::Answered(200));
    assert!(said(&bench).contains("found 1 key and 1 call without one"), "{}", said(&bench));
    bench.begin(Request::new("GET", "/").with_key(IdempotencyKey::from_u128(8))).close(Ending::Answered(200));
    assert!(said(&bench).contains("found 2 keys and 1 call without one"), "{}", said(&bench));
}

#[test]
fn a_call_that_is_dropped_was_given_up_or_interrupted() {
    let bench = Bench::new();
    drop(bench.begin(Request::new("GET", "/left")));
    bench.book.interrupt(true);
    drop(bench.begin(Request::new("GET", "/broken")));
    bench.book.interrupt(false);
    let _open = bench.begin(Request::new("GET", "/open"));
    let ledger = bench.book.ledger();
    ledger.assert_endings(&[Ending::CallerLeft, Ending::Interrupted, Ending::UnderWay]);
    assert_eq!(ledger.under_way(), 1);
    assert_eq!(ledger.entries()[2].ended(), None);
}

#[test]
fn the_wait_after_a_call_that_has_not_ended_fits_no_bounds() {
    let bench = Bench::new();
    let _first = bench.begin(Request::new("GET", "/"));
    let _second = bench.begin(Request::new("GET", "/"));
    let said = words(|| drop(bench.book.ledger().assert_waits_between(&[ms(0)..=Duration::MAX]).clone()));
    assert!(said.contains("found [none (the call before is under way)]"), "{said}");
}

#[test]
fn calls_at_once_are_counted_by_their_order_and_not_by_their_times() {
    let bench = Bench::new();
    // Nothing takes any time here: one after the other, then three at once.
    (0..5).for_each(|_| bench.call(0, 0, Ending::Answered(200)));
    assert_eq!(bench.book.ledger().most_at_once(), 1);
    let open: Vec<_> = (0..3).map(|_| bench.begin(Request::new("GET", "/"))).collect();
    drop(open);
    assert_eq!(bench.book.ledger().most_at_once(), 3);
    let said = words(|| drop(bench.book.ledger().assert_at_most_at_once(2).clone()));
    assert!(said.starts_with("expected at most 2 at once, found 3\n\nledger of 8 calls\n"), "{said}");
}

#[test]
fn a_full_ledger_counts_on_and_says_what_it_does_not_know() {
    let bench = Bench::new();
    for _ in 0..MAX_ENTRIES + 2 {
        bench.call(0, 0, Ending::Answered(200));
    }
    let ledger = bench.book.ledger();
    assert_eq!((ledger.entries().len(), ledger.left_out()), (MAX_ENTRIES, 2));
    ledger.assert_attempts(50_002);
    for assertion in [
        &(|| drop(ledger.assert_one_key().clone())) as &dyn Fn(),
        &|| drop(ledger.assert_at_most_at_once(1).clone()),
        &|| drop(ledger.assert_nothing_after(ms(1)).clone()),
        &|| drop(ledger.assert_waits(&[]).clone()),
        &|| drop(ledger.assert_endings(&[]).clone()),
        &|| drop(ledger.only(|_| true).assert_attempts(50_002).clone()),
    ] {
        let said = words(assertion);
        assert!(said.starts_with("the ledger is full: it keeps 50000 calls, and 2 more came."), "{said}");
        assert!(said.ends_with("... and 2 more that are not shown: a ledger keeps 50000"), "{said}");
    }
}

#[test]
fn a_part_of_a_ledger_is_a_ledger() {
    let bench = Bench::new();
    bench.call(0, 0, Ending::Answered(200));
    bench.begin(Request::new("GET", "/stock")).close(Ending::Answered(404));
    let stock = bench.book.ledger().only(|entry| entry.request().path() == "/stock");
    stock.assert_attempts(1).assert_endings(&[Ending::Answered(404)]);
    assert!(stock.keys().is_empty());
}
