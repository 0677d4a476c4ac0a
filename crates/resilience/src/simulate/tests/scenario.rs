use super::s;
use crate::clock::Clock;
use crate::pipeline::{self, Pipeline};
use crate::problem::Code;
use crate::retry::{Jitter, Retry};
use crate::simulate::{Fault, Scenario, Variant};

fn defaults() -> pipeline::Builder {
    Pipeline::builder("payments").attempt_timeout(s(1))
}

fn three_attempts() -> pipeline::Builder {
    let retry = Retry::exponential().jitter(Jitter::Full).max_retries(2);
    defaults().retry(retry).no_budget().no_breaker()
}

#[test]
fn the_defaults_recover_and_three_plain_attempts_do_not() {
    let storm = Scenario::outage(s(10)).rps(200.0).clients(20);
    let good = storm.run(&defaults()).unwrap();
    assert!(good.amplification() <= 1.1, "{good}");
    assert!(good.recovers_within(s(12)), "{good}");
    let bad = storm.run(&three_attempts()).unwrap();
    assert!(bad.amplification() > 2.0, "{bad}");
    assert_eq!(bad.recovery(), None, "{bad}");
}

#[test]
fn a_seed_replays_the_run_and_another_gives_other_chances() {
    let storm = Scenario::outage(s(5)).rps(50.0).look_on(s(20));
    let one = storm.clone().seed(7).run(&defaults()).unwrap();
    assert_eq!(one, storm.clone().seed(7).run(&defaults()).unwrap());
    assert_ne!(one, storm.seed(8).run(&defaults()).unwrap());
}

#[test]
fn every_call_is_counted_once() {
    for fault in [Fault::Hang, Fault::Refuse, Fault::Error] {
        let report = Scenario::outage(s(5)).rps(100.0).fault(fault).run(&defaults()).unwrap();
        let parts =
            report.calls_saved() + report.calls_failed() + report.calls_refused() + report.calls_under_way();
        assert_eq!(parts, report.calls_in_trouble(), "{fault}");
        assert!(report.calls_refused() > 0, "{fault}: the breaker took no part");
        let before = &report.seconds()[..report.outage().start - 1];
        assert!(
            before.iter().all(|second| second.succeeded == second.offered),
            "{fault}: normal times were not"
        );
    }
}

#[test]
fn a_full_queue_answers_overloaded_and_a_short_one_recovers_sooner() {
    let storm = Scenario::outage(s(10)).rps(100.0);
    let policy = three_attempts();
    let endless = storm.run(&policy).unwrap();
    let short = storm.clone().queue(50).run(&policy).unwrap();
    assert_eq!(endless.recovery(), None);
    assert!(short.recovers_within(s(10)), "{short}");
}

#[test]
fn a_service_that_must_warm_up_is_back_later() {
    let storm = Scenario::outage(s(5)).rps(100.0);
    let plain = defaults().no_retry().no_breaker();
    let warm = storm.run(&plain).unwrap().recovery();
    let cold = storm.warm_up(s(20)).run(&plain).unwrap().recovery();
    assert!(warm.is_some());
    assert!(cold.is_none_or(|cold| cold > warm.unwrap() + s(5)), "{cold:?} against {warm:?}");
}

#[test]
fn each_part_left_out_is_compared_with_the_whole() {
    let comparison =
        Scenario::outage(s(10)).rps(100.0).compare(&three_attempts().retry(Retry::standard())).unwrap();
    assert_eq!(comparison.reports().len(), 4);
    // This policy has neither, so nothing differs.
    let as_written = comparison.report(Variant::AsWritten);
    assert!(Variant::ALL.iter().all(|variant| comparison.report(*variant) == as_written));
    let whole = Scenario::outage(s(10)).rps(100.0).compare(&defaults()).unwrap();
    let of = |variant| whole.report(variant).unwrap();
    assert!(of(Variant::Neither).amplification() > of(Variant::NoBreaker).amplification() + 0.5);
    assert!(of(Variant::NoBreaker).sent_in_outage() > of(Variant::AsWritten).sent_in_outage());
}

#[test]
fn nonsense_is_refused_with_what_to_do() {
    let bad = |scenario: Scenario| {
        let error = scenario.run(&defaults()).unwrap_err();
        error.problems().iter().map(|problem| (problem.code, problem.setting)).collect::<Vec<_>>()
    };
    let storm = || Scenario::outage(s(10));
    assert_eq!(bad(storm().rps(f64::NAN))[0], (Code::BadNumber, "scenario.rps"));
    assert_eq!(bad(storm().rps(-1.0))[0], (Code::BadNumber, "scenario.rps"));
    assert_eq!(bad(storm().capacity(0.0))[0], (Code::BadNumber, "scenario.capacity"));
    assert_eq!(bad(storm().clients(0))[0], (Code::OutOfRange, "scenario.clients"));
    assert_eq!(bad(Scenario::outage(s(0)))[0], (Code::OutOfRange, "scenario.outage"));
    assert_eq!(bad(storm().look_on(s(0)))[0], (Code::OutOfRange, "scenario.look_on"));
    assert_eq!(bad(storm().rps(1e6).look_on(s(3600)))[0], (Code::OutOfRange, "scenario.rps"));
    assert_eq!(bad(storm().warm_up(std::time::Duration::MAX))[0], (Code::OutOfRange, "scenario.warm_up"));
}

#[test]
fn a_shared_breaker_cannot_take_part_and_that_is_said() {
    let breaker = crate::Breaker::standard().clock(Clock::system()).build("shared").unwrap();
    let error = Scenario::outage(s(5)).run(&defaults().shared_breaker(&breaker)).unwrap_err();
    assert!(error.to_string().contains("clock"), "{error}");
}

#[test]
fn a_quiet_service_and_one_without_limits_run_to_their_end() {
    let report = Scenario::outage(s(2)).rps(0.01).run(&defaults()).unwrap();
    assert!(report.seconds().iter().map(|second| second.offered).sum::<u32>() < 10);
    let report = Scenario::outage(s(2)).rps(20.0).run(&defaults().no_attempt_timeout()).unwrap();
    assert!(report.recovers_within(s(20)), "{report}");
}

#[test]
fn a_comparison_is_drawn_the_same_each_time() {
    let storm = Scenario::outage(s(5)).rps(50.0).look_on(s(20));
    let waits = crate::simulate::Waits::of(&Retry::standard().build().unwrap(), 1);
    let draw = || storm.compare(&defaults()).unwrap().to_svg("a <title>", &waits);
    let drawn = draw();
    assert_eq!(drawn, draw());
    assert!(drawn.contains("a &lt;title&gt;") && drawn.ends_with("</svg>\n"));
    assert!(Variant::ALL.iter().all(|variant| drawn.contains(variant.as_str())), "{drawn}");
}

#[test]
fn limits_on_calls_take_part() {
    let storm = Scenario::outage(s(5)).rps(100.0).clients(1);
    let plain = three_attempts().no_retry();
    let limit = crate::Limit::concurrent(20).waiting(5).max_wait(s(1));
    let free = storm.run(&plain).unwrap();
    let limited = storm.run(&plain.limit(limit)).unwrap();
    assert!(free.sent_in_outage() > 400, "{free}");
    // Twenty under way, each for the second that an attempt may take.
    assert!((80..=140).contains(&limited.sent_in_outage()), "{limited}");
    assert!(limited.calls_refused() > 300, "{limited}");
    assert!(limited.recovers_within(s(2)), "{limited}");
}

#[test]
fn seconds_without_calls_prove_nothing() {
    let hopeless = defaults().attempt_timeout(std::time::Duration::from_millis(1));
    let report = Scenario::outage(s(5)).rps(1.0).clients(1).run(&hopeless).unwrap();
    assert!(report.success_before() < 0.01, "no answer is that quick");
    assert_eq!(report.recovery(), None, "{report}");
    let silent = Scenario::outage(s(2)).rps(0.001).run(&defaults()).unwrap();
    assert_eq!(silent.recovery(), None, "nobody called");
}

#[test]
fn a_service_that_is_seldom_called_answers_at_once() {
    let quick = defaults().attempt_timeout(std::time::Duration::from_millis(500));
    let report = Scenario::outage(s(5)).rps(1.0).clients(1).run(&quick).unwrap();
    assert!(report.success_before() > 0.99, "{}", report.success_before());
    assert!(report.recovers_within(s(20)), "{report}");
}
