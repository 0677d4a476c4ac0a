//! Nonsense is refused when a pipeline is built; what can never take effect is warned of.

use super::*;
use crate::Code;
use crate::retry::Budget;

fn refused(builder: Builder) -> Vec<Code> {
    builder
        .build()
        .map_or_else(|error| error.problems().iter().map(|problem| problem.code).collect(), |_| Vec::new())
}

fn plain() -> Builder {
    Pipeline::builder("payments")
}

#[test]
fn nonsense_is_refused_with_its_code_and_all_at_once() {
    let elsewhere = Breaker::standard().clock(VirtualClock::new()).build("elsewhere").unwrap();
    let endless = || Retry::exponential().unlimited_retries();
    for (builder, codes) in [
        (Pipeline::builder(""), vec![Code::Empty]),
        (Pipeline::builder(" \t"), vec![Code::Empty]),
        (plain().attempt_timeout(s(0)), vec![Code::OutOfRange]),
        (plain().server_timeout(s(0)), vec![Code::OutOfRange]),
        (plain().complete_within(s(0)), vec![Code::OutOfRange]),
        (plain().retry(endless()).no_breaker(), vec![Code::Endless]),
        (plain().retry(Retry::fixed(s(0))), vec![Code::RepeatedImmediate]),
        (plain().breaker(Breaker::ratio(f64::NAN)), vec![Code::BadNumber]),
        (plain().budget(Budget::share(2.0)), vec![Code::BadNumber]),
        (plain().shared_breaker(&elsewhere), vec![Code::Contradiction]),
        (
            plain().attempt_timeout(s(0)).breaker(Breaker::ratio(-1.0)).retry(Retry::schedule([])),
            vec![Code::OutOfRange, Code::Empty, Code::BadNumber],
        ),
    ] {
        assert_eq!(refused(builder.clone()), codes, "{builder:?}");
    }
    let ended = plain().retry(endless()).complete_within(s(60));
    assert_eq!(refused(ended), [], "a deadline is an end");
    assert_eq!(refused(plain().retry(endless())), [Code::Endless], "a breaker is none: it may never trip");
}

#[test]
fn settings_without_effect_are_warned_of() {
    let budget = Budget::share(0.1).build().unwrap();
    for (builder, setting) in [
        (plain().attempt_timeout(s(9)).complete_within(s(8)), "pipeline.attempt_timeout"),
        (plain().attempt_timeout(s(5)).server_timeout(s(6)), "pipeline.server_timeout"),
        (plain().no_breaker().wait_for_breaker(), "pipeline.wait_for_breaker"),
        (plain().retry_despite_sdk(), "pipeline.retry_despite_sdk"),
        (plain().breaker(Breaker::standard().timeout(s(1))), "breaker.timeout"),
        (plain().no_retry().shared_budget(&budget), "pipeline.budget"),
        (plain().retry(Retry::standard()).sdk_retries(2), "pipeline.retry"),
        (plain().breaker(Breaker::standard().half_open_limit(s(9))), "breaker.half_open_limit"),
        (plain().breaker(Breaker::standard().slow(s(10), 0.5)), "breaker.slow"),
        (plain().retry(Retry::fixed(s(10)).max_elapsed(s(8))), "retry.max_elapsed"),
    ] {
        let pipeline = builder.build().unwrap();
        let found: Vec<_> =
            pipeline.warnings().iter().map(|warning| (warning.code, warning.setting)).collect();
        assert_eq!(found, [(Code::NoEffect, setting)]);
        assert!(!pipeline.warnings()[0].to_string().is_empty());
    }
}

#[test]
fn the_defaults_pass_their_own_check() {
    let checked = plain().build().unwrap();
    assert!(checked.warnings().is_empty());
    let unrelated =
        plain().breaker(Breaker::standard().half_open_limit(s(10)).slow(s(9), 0.5)).no_attempt_timeout();
    assert!(unrelated.build().unwrap().warnings().is_empty(), "no limit of an attempt to compare with");
    let fitting = plain().breaker(Breaker::standard().half_open_limit(s(10)).slow(s(9), 0.5));
    assert!(fitting.build().unwrap().warnings().is_empty());
    assert_eq!(Pipeline::standard(" ").name(), "unnamed");
    let standard = Pipeline::standard("payments");
    assert_eq!(format!("{checked:?}"), format!("{standard:?}"));
    assert_eq!((standard.name(), standard.retry().unwrap().max_calls()), ("payments", 4));
    assert!(standard.breaker().is_some() && standard.budget().is_some());
    assert_eq!(standard.breaker().unwrap().name(), "payments");
    assert!(Pipeline::try_from(plain()).is_ok());
    let attempt = standard.run_blocking(|attempt| Ok::<_, Fault>(attempt.time_left())).unwrap();
    assert_eq!(attempt, Some(s(10)));
}
