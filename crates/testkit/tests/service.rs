//! The scripted service in process, alone and behind a pipeline, in virtual time.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use steadfast_resilience::breaker::State;
use steadfast_resilience::retry::Stop;
use steadfast_resilience::{Breaker, Class, Kind, Pipeline, Retry, Verdict};
use steadfast_testkit::{Answer, Ending, Part, Request, Script, Service, VirtualClock};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn get() -> Request {
    Request::new("GET", "/stock")
}

/// A pipeline on the clock: five retries after 100 ms each, no jitter, no budget, no breaker.
fn pipeline(clock: &VirtualClock) -> steadfast_resilience::pipeline::Builder {
    let retry = Retry::fixed(ms(100)).no_jitter().max_retries(5);
    Pipeline::builder("payments").clock(clock).retry(retry).no_budget().no_breaker()
}

// F1
#[test]
fn attempts_and_waits_of_a_pipeline_are_those_of_its_policy() {
    let clock = VirtualClock::new();
    let script = Script::fail().times(2).then(Script::throttle(s(3))).then(Script::succeed());
    let service = Service::new(&clock, script);
    let payments = pipeline(&clock).build().unwrap();
    clock.block_on(payments.run(|attempt| service.call(attempt))).unwrap();
    let ledger = service.ledger();
    // A hint is never shortened, and spread by up to a fifth.
    let (fixed, hinted) = (ms(100)..=ms(100), s(3)..=ms(3_600));
    ledger.assert_attempts(4).assert_waits_between(&[fixed.clone(), fixed, hinted]);
    ledger.assert_one_key().assert_at_most_at_once(1);
    let attempts: Vec<_> = ledger.entries().iter().map(|entry| entry.attempt().unwrap()).collect();
    assert_eq!(attempts, [0, 1, 2, 3]);
}

#[test]
fn every_behaviour_means_in_process_what_it_means_on_the_wire() {
    let custom = Verdict::lasting(Kind::OFFLINE).with_hint(s(60));
    let table: [(Part, Class, Kind, Ending); 10] = [
        (Script::fail(), Class::Transient, Kind::SERVER_ERROR, Ending::Answered(500)),
        (Script::throttle(s(1)), Class::Throttled, Kind::THROTTLED, Ending::Answered(429)),
        (Script::overloaded(), Class::Transient, Kind::OVERLOADED, Ending::Answered(503)),
        (Script::terminal(), Class::Terminal, Kind::BAD_REQUEST, Ending::Answered(400)),
        (Script::switched_off(), Class::Transient, Kind::CONNECT_REFUSED, Ending::Refused),
        (Script::dropped(), Class::Transient, Kind::CONNECTION_LOST, Ending::Dropped),
        (Script::answer_lost(), Class::Transient, Kind::CONNECTION_LOST, Ending::Dropped),
        (Script::fault(custom), Class::Lasting, Kind::OFFLINE, Ending::Answered(503)),
        (
            Script::answer(Answer::new().status(404)).unwrap(),
            Class::Terminal,
            Kind::NOT_FOUND,
            Ending::Answered(404),
        ),
        (
            Script::answer(Answer::new().cut_body_after(1)).unwrap(),
            Class::Transient,
            Kind::CONNECTION_LOST,
            Ending::CutShort(200),
        ),
    ];
    for (part, class, kind, ending) in table {
        let clock = VirtualClock::new();
        let service = Service::new(&clock, part);
        let fault = clock.block_on(service.call(get())).unwrap_err();
        assert_eq!((fault.class(), fault.kind(), fault.number()), (class, kind, 0), "{fault}");
        service.ledger().assert_endings(&[ending]);
    }
}

#[test]
fn a_changed_answer_has_its_status_headers_and_body() {
    let clock = VirtualClock::new();
    let answer = Answer::new().status(203).header("ETag", "1").header("etag", "2").add_header("etag", "3");
    let answer =
        answer.header("gone", "1").without_header("Gone").change_body(|plain| [plain, b"!"].concat());
    let service = Service::new(&clock, Script::answer(answer).unwrap());
    let reply = clock.block_on(service.call(get())).unwrap();
    assert_eq!((reply.status(), reply.body()), (203, &b"ok!"[..]));
    assert_eq!((reply.header("ETAG"), reply.header("gone")), (Some("2"), None));
}

#[test]
fn a_fault_tells_its_call_its_meaning_and_its_hint() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::throttle(ms(1_500)));
    let fault = clock.block_on(service.call(get())).unwrap_err();
    assert_eq!(fault.to_string(), "call 0 failed as scripted: throttled, retry after 1.5s");
    assert_eq!(fault.hint(), Some(ms(1_500)));
}

#[test]
fn a_call_that_hangs_ends_when_its_caller_gives_up() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::hang().then(Script::slow(s(9))).then(Script::slow(s(1))));
    let payments = pipeline(&clock).attempt_timeout(s(2)).build().unwrap();
    clock.block_on(payments.run(|attempt| service.call(attempt))).unwrap();
    let ledger = service.ledger();
    ledger.assert_endings(&[Ending::CallerLeft, Ending::CallerLeft, Ending::Answered(200)]);
    let took: Vec<_> = ledger.entries().iter().map(|entry| entry.took().unwrap()).collect();
    assert_eq!(took, [s(2), s(2), s(1)]);
}

#[test]
fn a_terminal_fault_is_not_tried_again() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::terminal());
    let payments = pipeline(&clock).build().unwrap();
    let error = clock.block_on(payments.run(|attempt| service.call(attempt))).unwrap_err();
    assert_eq!(error.stop(), Stop::Terminal);
    service.ledger().assert_attempts(1);
}

#[test]
fn a_breaker_leaves_a_service_that_is_off_alone_and_finds_it_back() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::flap(s(10), s(60)).unwrap());
    let breaker = Breaker::consecutive(3).open_for(s(30)).successes_to_close(1);
    let payments = pipeline(&clock).no_retry().breaker(breaker).build().unwrap();
    let call = || clock.block_on(payments.run(|attempt| service.call(attempt)));
    clock.advance(s(10));
    (0..10).for_each(|_| drop(call().unwrap_err()));
    assert_eq!(payments.breaker().unwrap().state(), State::Open);
    service.ledger().assert_attempts(3).assert_nothing_after(s(10));
    clock.advance(s(60));
    call().unwrap();
    service.ledger().assert_attempts(4);
}

#[test]
fn switching_off_ends_what_is_under_way_and_refuses_what_comes() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::hang().then(Script::slow(s(60))).then(Script::succeed()));
    let outcome = clock.block_on(async {
        let off = async {
            clock.timer(s(5)).await;
            service.switch_off();
        };
        tokio::join!(service.call(get()), service.call(get()), off)
    });
    for fault in [outcome.0.unwrap_err(), outcome.1.unwrap_err()] {
        assert_eq!(fault.kind(), Kind::CONNECTION_LOST);
    }
    assert_eq!(clock.block_on(service.call(get())).unwrap_err().kind(), Kind::CONNECT_REFUSED);
    service.switch_on();
    clock.block_on(service.call(get())).unwrap();
    let ledger = service.ledger();
    let refused = [Ending::Interrupted, Ending::Interrupted, Ending::Refused, Ending::Answered(200)];
    ledger.assert_endings(&refused);
    assert_eq!(ledger.entries()[0].ended(), Some(s(5)));
}

#[test]
fn another_script_begins_when_it_is_followed() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::succeed());
    clock.block_on(service.call(get())).unwrap();
    clock.advance(s(100));
    service.follow(Script::overloaded().lasting(s(5)).then(Script::succeed()));
    clock.advance(s(4));
    clock.block_on(service.call(get())).unwrap_err();
    clock.advance(s(1));
    clock.block_on(service.call(get())).unwrap();
}

#[test]
fn only_marked_requests_meet_the_script_and_count_for_it() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::fail_times(1).only_marked("x-fault", "on"));
    let by_path = Service::new(&clock, Script::fail().only_if(|request| request.path() == "/charges"));
    let marked = || get().with_header("X-Fault", "On");
    clock.block_on(async {
        service.call(get()).await.unwrap();
        service.call(marked()).await.unwrap_err();
        service.call(marked()).await.unwrap();
        by_path.call(get()).await.unwrap();
        by_path.call(Request::new("POST", "/charges")).await.unwrap_err();
    });
    service.ledger().assert_attempts(3);
}

#[test]
fn a_call_begins_with_its_first_poll() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::hang());
    drop(service.call(get()));
    service.ledger().assert_attempts(0);
    {
        let mut call = pin!(service.call(get()));
        let mut context = Context::from_waker(Waker::noop());
        assert!(matches!(call.as_mut().poll(&mut context), Poll::Pending));
        assert_eq!(service.ledger().under_way(), 1);
    }
    service.ledger().assert_endings(&[Ending::CallerLeft]);
}

#[test]
fn a_thousand_calls_at_once_are_all_written_down() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_time().build().unwrap();
    let service = Service::new(steadfast_testkit::Clock::tokio(), Script::fail_times(400));
    let failed = runtime.block_on(async {
        let calls: Vec<_> = (0..1_000).map(|_| tokio::spawn(service.call(get()))).collect();
        let mut failed = 0;
        for call in calls {
            failed += u32::from(call.await.unwrap().is_err());
        }
        failed
    });
    assert_eq!(failed, 400);
    let ledger = service.ledger();
    ledger.assert_attempts(1_000);
    assert_eq!(ledger.under_way(), 0);
    assert!(ledger.entries().iter().enumerate().all(|(place, entry)| entry.number() == place as u64));
}

#[test]
fn zero_and_endless_delays_are_taken_as_they_are() {
    let clock = VirtualClock::new();
    let service = Service::new(&clock, Script::slow(Duration::ZERO).then(Script::slow(Duration::MAX)));
    clock.block_on(service.call(get())).unwrap();
    assert_eq!(service.ledger().entries()[0].took(), Some(Duration::ZERO));
    clock.block_on(service.call(get())).unwrap();
    assert_eq!(clock.now(), steadfast_testkit::Moment::FAR);
}
