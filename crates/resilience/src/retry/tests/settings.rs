//! Nonsense is refused when it is built, and settings that can never take effect are warned of.

use super::super::{Jitter, Nested};
use super::*;
use crate::problem::Code;

fn refused(builder: Builder) -> Vec<Code> {
    match builder.build() {
        Ok(_) => Vec::new(),
        Err(error) => error.problems().iter().map(|problem| problem.code).collect(),
    }
}

fn warned(builder: &Builder) -> Vec<(Code, &'static str)> {
    builder.check().unwrap().iter().map(|problem| (problem.code, problem.setting)).collect()
}

#[test]
fn nonsense_is_refused_with_its_code() {
    for (builder, code) in [
        (Retry::fixed(Duration::ZERO), Code::RepeatedImmediate),
        (Retry::incremental(Duration::ZERO, Duration::ZERO), Code::RepeatedImmediate),
        (Retry::schedule([]), Code::Empty),
        (Retry::schedule([Duration::ZERO, Duration::ZERO]), Code::RepeatedImmediate),
        (Retry::schedule([s(1), Duration::ZERO]), Code::RepeatedImmediate),
        (Retry::exponential().min_backoff(s(11)), Code::Contradiction),
        (
            Retry::exponential().min_backoff(Duration::ZERO).delta_backoff(Duration::ZERO),
            Code::RepeatedImmediate,
        ),
        (Retry::fixed(s(1)).max_backoff(s(2)), Code::Contradiction),
        (Retry::exponential().max_elapsed(Duration::ZERO), Code::OutOfRange),
        (Retry::exponential().unlimited_retries(), Code::Endless),
        (Retry::exponential().jitter(Jitter::Proportional(f64::NAN)), Code::BadNumber),
        (Retry::exponential().jitter(Jitter::Proportional(0.0)), Code::BadNumber),
        (Retry::exponential().jitter(Jitter::Proportional(1.01)), Code::BadNumber),
        (Retry::exponential().jitter(Jitter::Proportional(-0.2)), Code::BadNumber),
        (Retry::exponential().on_kind(Kind::TIMEOUT, Retry::fixed(Duration::ZERO)), Code::RepeatedImmediate),
        (Retry::adaptive(Retry::fixed(Duration::ZERO)), Code::RepeatedImmediate),
    ] {
        assert_eq!(refused(builder.clone()), [code], "{builder:?}");
    }
}

#[test]
fn what_makes_sense_is_built_without_a_word() {
    for builder in [
        Retry::exponential(),
        Retry::exponential().min_backoff(s(10)),
        Retry::exponential().min_backoff(Duration::ZERO),
        Retry::incremental(Duration::ZERO, s(1)),
        Retry::incremental(s(1), Duration::ZERO),
        Retry::schedule([Duration::ZERO, s(1)]),
        Retry::immediate(),
        Retry::none(),
        Retry::exponential().unlimited_retries().max_elapsed(s(60)),
        Retry::exponential().jitter(Jitter::Proportional(1.0)),
        Retry::interactive(),
        Retry::background(),
        Retry::non_critical(),
        Retry::costly_undo(),
        Retry::standard(),
        Retry::schedule([s(1), s(2)]).max_retries(2),
        Retry::exponential().max_elapsed(ms(101)),
        Retry::exponential().max_elapsed(ms(100)).fast_first(),
    ] {
        assert_eq!(warned(&builder), [], "{builder:?}");
    }
}

#[test]
fn settings_without_effect_are_warned_of() {
    for (builder, setting) in [
        (Retry::none().fast_first(), "retry.max_retries"),
        (Retry::none().kind_retries(Kind::TIMEOUT, 2), "retry.max_retries"),
        (Retry::schedule([s(1), s(2)]).max_retries(3), "retry.max_retries"),
        (Retry::immediate().max_retries(2), "retry.max_retries"),
        (Retry::adaptive(Retry::immediate()).max_retries(2), "retry.max_retries"),
        (Retry::exponential().kind_retries(Kind::TIMEOUT, 1).kind_retries(Kind::TIMEOUT, 2), "retry.on_kind"),
        (Retry::exponential().max_elapsed(ms(100)), "retry.max_elapsed"),
        (Retry::exponential().on_kind(Kind::TIMEOUT, Retry::fixed(s(1)).max_retries(4)), "retry.on_kind"),
    ] {
        assert_eq!(warned(&builder), [(Code::NoEffect, setting)], "{builder:?}");
    }
}

#[test]
fn a_warning_about_a_rule_names_its_kind_or_code() {
    for (builder, named) in [
        (Retry::standard().max_retries(2).kind_retries(Kind::CONFLICT, 3), "`conflict`"),
        (Retry::standard().max_retries(2).on_code(425, Retry::standard()), "code 425"),
    ] {
        let warnings = builder.check().unwrap();
        assert!(warnings[0].message.contains(named), "{warnings:?}");
    }
    let as_many = Retry::standard().max_retries(2).kind_retries(Kind::CONFLICT, 2);
    assert!(as_many.check().unwrap().is_empty());
}

#[test]
fn a_backoff_given_to_another_strategy_is_refused_by_its_own_name() {
    let wait = s(1);
    for (builder, setting) in [
        (Retry::fixed(wait).min_backoff(wait), "retry.min_backoff"),
        (Retry::fixed(wait).delta_backoff(wait), "retry.delta_backoff"),
        (Retry::incremental(wait, wait).max_backoff(wait), "retry.max_backoff"),
    ] {
        assert_eq!(builder.build().unwrap_err().problems()[0].setting, setting);
    }
}

#[test]
fn a_first_wait_that_cannot_fit_is_warned_of_whatever_the_strategy() {
    let (long, limit) = (s(10), s(8));
    for (builder, fits) in [
        (Retry::fixed(long), false), // 8 s at the least
        (Retry::fixed(long).jitter(Jitter::Full), true),
        (Retry::fixed(long).jitter(Jitter::Equal), true),
        (Retry::fixed(long).jitter(Jitter::Decorrelated), false),
        (Retry::fixed(long).jitter(Jitter::Proportional(0.3)), true),
        (Retry::fixed(s(16)).jitter(Jitter::Equal), false),
        (Retry::incremental(long, long).no_jitter(), false),
        (Retry::schedule([long]), false),
        (Retry::schedule([s(1), long]), true),
        (Retry::exponential().min_backoff(limit), false),
        (Retry::exponential().min_backoff(limit).fast_first(), true),
        (Retry::adaptive(Retry::fixed(long)), true), // the service may ask for less
        (Retry::immediate(), true),
    ] {
        let warned = warned(&builder.clone().max_elapsed(limit));
        let expected: &[_] = if fits { &[] } else { &[(Code::NoEffect, "retry.max_elapsed")] };
        assert_eq!(warned, expected, "{builder:?}");
    }
}

#[test]
fn presets_are_what_their_names_say() {
    let built = |builder: Builder| builder.build().unwrap();
    let interactive = built(Retry::interactive());
    assert_eq!((interactive.max_retries(), interactive.max_elapsed()), (Some(2), Some(s(3))));
    let background = built(Retry::background());
    assert_eq!((background.max_retries(), background.max_elapsed()), (Some(8), Some(s(600))));
    assert_eq!(built(Retry::non_critical()).max_calls(), 1);
    let costly = built(Retry::costly_undo());
    assert_eq!((costly.max_retries(), costly.max_elapsed()), (Some(50), Some(s(6 * 3600))));
    assert_eq!(built(Retry::exponential().unlimited_retries().max_elapsed(s(1))).max_calls(), u32::MAX);
    let longest = waits(Retry::interactive()).into_iter().max().unwrap();
    assert!(longest < s(1));
    // The waits of patient work grow: the sum of 40 is hours, and none is above ten minutes.
    let patient = waits(Retry::costly_undo());
    assert!(patient.iter().sum::<Duration>() > s(3600) && patient.iter().all(|wait| *wait <= s(600)));
}

#[test]
fn a_built_retry_goes_back_to_a_builder_unchanged() {
    let retry = Retry::fixed(s(2)).no_jitter().max_retries(1).when_nested(Nested::FailFast).build().unwrap();
    assert_eq!(retry.nested(), Nested::FailFast);
    assert!(format!("{:?}", Retry::none().after_failed_try(|_| {})).contains("Hook"));
    assert_eq!(waits(retry.to_builder()), [s(2)]);
    assert_eq!(waits(Builder::from(retry).max_retries(2)), [s(2), s(2)]);
}

#[test]
fn a_policy_tells_its_name_and_how_its_waits_grow() {
    let second = Duration::from_secs(1);
    let kind = |builder: Builder| builder.build().unwrap().strategy();
    assert_eq!(kind(Retry::exponential()), "exponential");
    assert_eq!(kind(Retry::fixed(second)), "fixed");
    assert_eq!(kind(Retry::incremental(second, second)), "incremental");
    assert_eq!(kind(Retry::schedule([second])), "schedule");
    assert_eq!(kind(Retry::immediate()), "immediate");
    assert_eq!(kind(Retry::adaptive(Retry::fixed(second))), "adaptive");
    assert_eq!(kind(Retry::fixed(second).max_retries(0)), "none");
    assert_eq!(Retry::fixed(second).build().unwrap().name(), None);
    assert_eq!(Retry::fixed(second).named("patient").build().unwrap().name(), Some("patient"));
}
