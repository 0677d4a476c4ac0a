//! What is granted and what is refused, and why.

use std::sync::atomic::{AtomicU32, Ordering};

use super::super::Policy;
use super::*;
use crate::classify::Effect;

fn decide(builder: Builder, failure: &Verdict, at: At) -> Decision {
    let (retry, mut state) = start(builder);
    retry.next(&mut state, failure, at)
}

fn stops(builder: Builder, failure: Verdict) -> Option<Stop> {
    match decide(builder, &failure, At::now(Moment::ZERO)) {
        Decision::After(_) => None,
        Decision::Stop(stop) => Some(stop),
    }
}

#[test]
fn each_class_has_its_reaction() {
    let other = Kind::new("some");
    for (failure, expected) in [
        (Verdict::transient(other), None),
        (Verdict::throttled(other), None),
        (Verdict::lasting(other), Some(Stop::Lasting)),
        (Verdict::terminal(other), Some(Stop::Terminal)),
        (Verdict::unclassified(), Some(Stop::Unclassified)),
        (Verdict::neutral(other), Some(Stop::Neutral)),
        (Verdict::success(), Some(Stop::Neutral)),
    ] {
        assert_eq!(stops(Retry::exponential(), failure), expected, "{failure:?}");
    }
}

#[test]
fn calls_are_retries_and_one_more() {
    for retries in [0, 1, 5] {
        let (got, stop) = waits_after(Retry::exponential().max_retries(retries), &TIMEOUT);
        assert_eq!((got.len(), stop), (retries as usize, Stop::MaxRetries));
        assert_eq!(Retry::exponential().max_retries(retries).build().unwrap().max_calls(), retries + 1);
    }
}

#[test]
fn a_wait_that_would_end_at_or_after_the_deadline_is_not_begun() {
    let fixed = || Retry::fixed(s(1)).no_jitter();
    let at = |deadline: u64| At::now(Moment::ZERO + s(5)).deadline(Some(Moment::ZERO + ms(deadline)));
    assert_eq!(decide(fixed(), &TIMEOUT, at(6001)), Decision::After(s(1)));
    assert_eq!(decide(fixed(), &TIMEOUT, at(6000)), Decision::Stop(Stop::Deadline));
    assert_eq!(decide(fixed(), &TIMEOUT, at(10)), Decision::Stop(Stop::Deadline));
}

#[test]
fn max_elapsed_counts_attempts_and_waits_from_the_beginning() {
    let retry = Retry::fixed(s(1)).no_jitter().max_retries(99).max_elapsed(s(10)).build().unwrap();
    let mut state = retry.start_with(Moment::ZERO + s(100), Rng::seeded(1));
    let at = |millis: u64| At::now(Moment::ZERO + s(100) + ms(millis));
    assert_eq!(retry.next(&mut state, &TIMEOUT, at(8_999)), Decision::After(s(1)));
    assert_eq!(retry.next(&mut state, &TIMEOUT, at(9_000)), Decision::Stop(Stop::MaxElapsed));
}

#[test]
fn one_operation_can_have_its_own_limits() {
    let (retry, mut state) = start(Retry::fixed(s(1)).no_jitter().max_retries(1).max_elapsed(s(5)));
    let own = At::now(Moment::ZERO + s(8)).max_retries(Some(2)).max_elapsed(Some(s(20)));
    assert_eq!(retry.next(&mut state, &TIMEOUT, own), Decision::After(s(1)));
    assert_eq!(retry.next(&mut state, &TIMEOUT, own), Decision::After(s(1)));
    assert_eq!(retry.next(&mut state, &TIMEOUT, own), Decision::Stop(Stop::MaxRetries));
    let (retry, mut state) = start(Retry::fixed(s(1)).max_retries(9));
    let none = At::now(Moment::ZERO).max_retries(Some(0));
    assert_eq!(retry.next(&mut state, &TIMEOUT, none), Decision::Stop(Stop::MaxRetries));
}

#[test]
fn what_is_not_idempotent_is_retried_only_when_nothing_took_effect() {
    let at = At::now(Moment::ZERO).idempotent(false);
    let untouched = Verdict::transient(Kind::CONNECT_REFUSED).without_effect();
    assert_eq!(TIMEOUT.effect(), Effect::Possible);
    assert_eq!(decide(Retry::exponential(), &TIMEOUT, at), Decision::Stop(Stop::NotIdempotent));
    assert!(matches!(decide(Retry::exponential(), &untouched, at), Decision::After(_)));
    assert!(matches!(decide(Retry::exponential().repeat_effects(), &TIMEOUT, at), Decision::After(_)));
}

#[test]
fn a_hint_is_a_lower_bound_for_every_strategy() {
    let hinted = TIMEOUT.with_hint(s(5));
    let wait = |builder: Builder, failure: &Verdict| match decide(builder, failure, At::now(Moment::ZERO)) {
        Decision::After(wait) => wait,
        Decision::Stop(stop) => panic!("{stop}"),
    };
    let short = wait(Retry::fixed(s(1)).no_jitter(), &hinted);
    assert!(short >= s(5) && short <= s(6));
    assert_eq!(wait(Retry::fixed(s(20)).no_jitter(), &hinted), s(20), "the longer one holds");
    assert!(wait(Retry::fixed(s(1)).fast_first(), &hinted) >= s(5), "also over fast_first");
}

#[test]
fn adaptive_follows_the_hint_and_falls_back_without_one() {
    let adaptive = || Retry::adaptive(Retry::fixed(s(20)).no_jitter()).max_retries(2);
    let (hinted, _) = waits_after(adaptive(), &TIMEOUT.with_hint(s(2)));
    assert!(hinted.iter().all(|wait| *wait >= s(2) && *wait <= ms(2400)), "{hinted:?}");
    assert_eq!(waits(adaptive()), [s(20), s(20)]);
    let backoff = Retry::adaptive(Retry::exponential().no_jitter()).min_backoff(s(1)).max_retries(1);
    assert_eq!(waits(backoff), [s(1)], "the fallback's settings can be changed through it");
}

#[test]
fn a_hint_beyond_the_cap_means_stop() {
    let builder = || Retry::exponential().max_hint(s(30));
    assert_eq!(stops(builder(), TIMEOUT.with_hint(ms(30_001))), Some(Stop::HintBeyondCap));
    assert_eq!(stops(builder(), TIMEOUT.with_hint(s(30))), None);
    assert_eq!(stops(Retry::exponential(), TIMEOUT.with_hint(Duration::MAX)), Some(Stop::HintBeyondCap));
}

#[test]
fn a_service_that_throttles_is_left_alone_for_longer() {
    let throttled = Verdict::throttled(Kind::THROTTLED);
    let builder = || Retry::fixed(ms(10)).no_jitter().max_retries(20);
    let (got, _) = waits_after(builder().min_throttled(s(3)), &throttled);
    assert!(got.iter().all(|wait| *wait >= s(3) && *wait <= ms(3600)), "{got:?}");
    assert!(got.iter().any(|wait| *wait != got[0]), "spread, so that callers do not come back together");
    assert_eq!(waits_after(builder().min_throttled(Duration::ZERO), &throttled).0[0], ms(10));
}

#[test]
fn kinds_and_codes_have_their_own_waits_and_counts() {
    let builder = || {
        Retry::fixed(s(1))
            .no_jitter()
            .max_retries(10)
            .kind_retries(Kind::CONFLICT, 2)
            .on_kind(Kind::OVERLOADED, Retry::incremental(s(10), s(10)).max_retries(3))
            .on_code(425, Retry::fixed(s(7)).max_retries(1))
    };
    assert_eq!(
        waits_after(builder(), &Verdict::transient(Kind::CONFLICT)),
        (vec![s(1); 2], Stop::MaxRetries)
    );
    let (got, _) = waits_after(builder(), &Verdict::transient(Kind::OVERLOADED));
    assert_eq!(got, [s(10), s(20), s(30)]);
    assert_eq!(waits_after(builder(), &TIMEOUT.with_code(425)).0, [s(7)]);
    assert_eq!(waits(builder()).len(), 10);
}

#[test]
fn a_rule_counts_only_its_own_failures() {
    let (retry, mut state) =
        start(Retry::fixed(s(1)).no_jitter().max_retries(9).kind_retries(Kind::CONFLICT, 1));
    let at = At::now(Moment::ZERO);
    let conflict = Verdict::transient(Kind::CONFLICT);
    assert!(matches!(retry.next(&mut state, &TIMEOUT, at), Decision::After(_)));
    assert!(matches!(retry.next(&mut state, &conflict, at), Decision::After(_)));
    assert!(matches!(retry.next(&mut state, &TIMEOUT, at), Decision::After(_)));
    assert_eq!(retry.next(&mut state, &conflict, at), Decision::Stop(Stop::MaxRetries));
    assert_eq!(state.retries(), 3);
}

#[test]
fn a_policy_of_the_users_own_gets_a_fresh_instance_and_counts_from_zero() {
    static MADE: AtomicU32 = AtomicU32::new(0);
    #[derive(Debug)]
    struct Counting(u32);
    impl Policy for Counting {
        fn fresh(&self) -> Box<dyn Policy> {
            MADE.fetch_add(1, Ordering::Relaxed);
            Box::new(Self(0))
        }
        fn next(&mut self, retries: u32, failure: &Verdict) -> Option<Duration> {
            assert_eq!(retries, self.0, "0 at the first error");
            self.0 += 1;
            (failure.kind() == Kind::TIMEOUT && self.0 < 4).then(|| s(u64::from(self.0)))
        }
    }
    let retry = Retry::custom(Counting(77)).max_retries(99).build().unwrap();
    for _ in 0..2 {
        let mut state = retry.start(Moment::ZERO);
        let at = At::now(Moment::ZERO);
        let all: Vec<_> = (0..4).map(|_| retry.next(&mut state, &TIMEOUT, at)).collect();
        assert_eq!(all[..3], [s(1), s(2), s(3)].map(Decision::After));
        assert_eq!(all[3], Decision::Stop(Stop::StrategyEnded));
    }
    let mut untouched = retry.start(Moment::ZERO);
    assert_eq!(
        retry.next(&mut untouched, &Verdict::terminal(Kind::TIMEOUT), At::now(Moment::ZERO)),
        Decision::Stop(Stop::Terminal)
    );
    assert_eq!(MADE.load(Ordering::Relaxed), 2, "one for each call that needed it");
}

#[test]
fn policies_of_the_users_own_do_not_share_an_instance() {
    #[derive(Debug)]
    struct Every(u64);
    impl Policy for Every {
        fn fresh(&self) -> Box<dyn Policy> {
            Box::new(Self(self.0))
        }
        fn next(&mut self, _: u32, _: &Verdict) -> Option<Duration> {
            Some(s(self.0))
        }
    }
    let (retry, mut state) = start(Retry::custom(Every(1)).on_kind(Kind::CONFLICT, Retry::custom(Every(5))));
    let at = At::now(Moment::ZERO);
    assert_eq!(retry.next(&mut state, &TIMEOUT, at), Decision::After(s(1)));
    assert_eq!(retry.next(&mut state, &Verdict::transient(Kind::CONFLICT), at), Decision::After(s(5)));
    assert_eq!(retry.next(&mut state, &TIMEOUT, at), Decision::After(s(1)));
}

#[test]
fn a_hint_of_no_time_does_not_make_adaptive_hammer() {
    let (got, _) =
        waits_after(Retry::adaptive(Retry::fixed(s(2)).no_jitter()), &TIMEOUT.with_hint(Duration::ZERO));
    assert_eq!(got, [s(2), s(2), s(2)]);
}

#[test]
fn a_resumed_state_goes_on_where_it_was() {
    let retry = Retry::exponential().no_jitter().max_retries(4).max_elapsed(s(60)).build().unwrap();
    let mut state = retry.resume(Moment::ZERO + s(1), 3, ms(700));
    assert_eq!((state.retries(), state.started()), (3, Moment::ZERO + s(1)));
    let at = At::now(Moment::ZERO + s(2));
    assert_eq!(retry.next(&mut state, &TIMEOUT, at), Decision::After(ms(1500)));
    assert_eq!(retry.next(&mut state, &TIMEOUT, at), Decision::Stop(Stop::MaxRetries));
    // Decorrelated jitter reaches three times the wait before, also when that was before a restart.
    let wandering =
        Retry::exponential().min_backoff(ms(1)).jitter(super::super::Jitter::Decorrelated).build().unwrap();
    let reached = |last: Duration| {
        (0..50).any(|_| match wandering.next(&mut wandering.resume(Moment::ZERO, 1, last), &TIMEOUT, at) {
            Decision::After(wait) => wait > ms(100),
            Decision::Stop(_) => false,
        })
    };
    assert!(reached(s(3)) && !reached(ms(1)));
}

#[test]
fn every_reason_to_stop_has_words_of_its_own() {
    let all = [
        Stop::Terminal,
        Stop::Unclassified,
        Stop::Lasting,
        Stop::Neutral,
        Stop::NotIdempotent,
        Stop::MaxRetries,
        Stop::StrategyEnded,
        Stop::HintBeyondCap,
        Stop::MaxElapsed,
        Stop::Deadline,
        Stop::BudgetSpent,
        Stop::BreakerOpen,
        Stop::Cancelled,
        Stop::NestedFailFast,
        Stop::NoRetry,
    ];
    let words: std::collections::HashSet<String> = all.iter().map(ToString::to_string).collect();
    assert_eq!(words.len(), all.len());
    assert!(words.iter().all(|words| words.len() > 10));
}
