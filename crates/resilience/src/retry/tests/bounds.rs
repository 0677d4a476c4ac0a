//! Properties: every wait within its bounds, for every strategy, jitter and extreme setting; no wait passes a deadline.

use proptest::prelude::*;

use super::super::Jitter;
use super::*;
use crate::random::Rng;

fn durations() -> impl Strategy<Value = Duration> {
    prop_oneof![
        Just(Duration::from_nanos(1)),
        Just(Duration::MAX),
        Just(Duration::from_secs(u64::MAX / 2)),
        (1..10_000_u64).prop_map(Duration::from_millis),
        (1..u64::MAX).prop_map(Duration::from_nanos),
    ]
}

fn jitters() -> impl Strategy<Value = Jitter> {
    prop_oneof![
        Just(Jitter::None),
        Just(Jitter::Full),
        Just(Jitter::Equal),
        Just(Jitter::Decorrelated),
        (0.0001..=1.0).prop_map(Jitter::Proportional),
    ]
}

/// A strategy and the largest wait that it can give without a hint.
fn strategies() -> impl Strategy<Value = (Builder, Duration)> {
    let three = |wait: Duration| wait.saturating_mul(3);
    prop_oneof![
        durations().prop_map(move |wait| (Retry::fixed(wait), three(wait))),
        (durations(), durations()).prop_map(move |(first, step)| {
            (Retry::incremental(first, step), three(first.saturating_add(step.saturating_mul(60))))
        }),
        proptest::collection::vec(durations(), 1..50).prop_map(move |waits| {
            let longest = *waits.iter().max().unwrap();
            (Retry::schedule(waits), three(longest))
        }),
        (durations(), durations(), durations()).prop_map(|(one, two, delta)| {
            let (min, max) = (one.min(two), one.max(two));
            (Retry::exponential().min_backoff(min).max_backoff(max).delta_backoff(delta), max)
        }),
    ]
}

/// The clock's scale ends after 584 years; every longer wait is that long.
fn on_the_scale(wait: Duration) -> Duration {
    wait.min(Duration::from_nanos(u64::MAX))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_wait_is_within_its_bounds((builder, longest) in strategies(), jitter in jitters(), fast: bool, seed: u64) {
        let builder = builder.jitter(jitter).max_retries(50);
        let builder = if fast { builder.fast_first() } else { builder };
        let retry = builder.build().unwrap();
        let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed));
        for n in 0..50 {
            let Decision::After(wait) = retry.next(&mut state, &TIMEOUT, At::now(Moment::ZERO)) else { break };
            prop_assert!(on_the_scale(wait) <= on_the_scale(longest).max(ms(1)), "retry {n}: {wait:?} > {longest:?}");
            prop_assert!(n == 0 || wait >= ms(1).min(longest), "retry {n}: {wait:?} is another immediate one");
        }
    }

    #[test]
    fn no_wait_passes_a_deadline_or_max_elapsed(
        (builder, _) in strategies(),
        jitter in jitters(),
        now in 0..u64::MAX,
        deadline in 0..u64::MAX,
        max_elapsed in durations(),
        hint in proptest::option::of(durations()),
        seed: u64,
    ) {
        let retry = builder.jitter(jitter).max_elapsed(max_elapsed).max_hint(Duration::MAX).build().unwrap();
        let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed));
        let failure = hint.map_or(TIMEOUT, |hint| TIMEOUT.with_hint(hint));
        let (now, deadline) = (Moment::from_nanos(now), Moment::from_nanos(deadline));
        match retry.next(&mut state, &failure, At::now(now).deadline(Some(deadline))) {
            Decision::After(wait) => {
                prop_assert!(now + wait < deadline);
                prop_assert!((now + wait).since(Moment::ZERO) < max_elapsed);
                prop_assert!(hint.is_none_or(|hint| wait >= on_the_scale(hint)), "a hint is never shortened");
            }
            Decision::Stop(stop) => prop_assert!(matches!(stop, Stop::Deadline | Stop::MaxElapsed), "{stop:?}"),
        }
    }

    #[test]
    fn a_hint_is_never_shortened_and_lengthened_by_a_fifth_at_most(hint in 0..3_600_000_u64, seed: u64) {
        let retry = Retry::adaptive(Retry::fixed(ms(1))).max_hint(s(3600)).build().unwrap();
        let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed));
        let hint = ms(hint);
        let Decision::After(wait) = retry.next(&mut state, &TIMEOUT.with_hint(hint), At::now(Moment::ZERO)) else { panic!() };
        prop_assert!(wait >= hint && wait <= hint.mul_f64(1.2) + Duration::from_nanos(2));
    }
}

/// The longest wait that a policy is said to have is one that it comes near to, and never passes.
#[cfg(feature = "policy")]
#[test]
fn the_longest_wait_is_come_near_to_and_never_passed() {
    let (first, step) = (Duration::from_millis(100), Duration::from_millis(300));
    let strategies = || {
        [
            Retry::fixed(step),
            Retry::incremental(first, step),
            Retry::schedule([step, first, step]),
            Retry::exponential().min_backoff(first).delta_backoff(step).max_backoff(Duration::from_secs(2)),
        ]
    };
    for jitter in [Jitter::None, Jitter::SPECIFIED, Jitter::Full, Jitter::Equal] {
        for (number, builder) in strategies().into_iter().enumerate() {
            let retry = builder.jitter(jitter).max_retries(3).build().unwrap();
            for retries in 1..=3 {
                let longest = retry.longest_waits(retries) - retry.longest_waits(retries - 1);
                let drawn = (0..2_000).map(|seed| nth_wait(&retry, retries, seed)).max().unwrap();
                assert!(drawn <= longest, "{jitter:?}, strategy {number}: {drawn:?} is beyond {longest:?}");
                let near = longest.mul_f64(0.99);
                assert!(
                    drawn >= near,
                    "{jitter:?}, strategy {number}: {drawn:?} never comes near {longest:?}"
                );
            }
        }
    }
    let fast = Retry::fixed(step).no_jitter().fast_first().max_retries(300).build().unwrap();
    assert_eq!(fast.longest_waits(3), step * 2, "the first wait is none");
    assert_eq!(fast.longest_waits(300), step * 299);
}

#[cfg(feature = "policy")]
fn nth_wait(retry: &Retry, n: u32, seed: u64) -> Duration {
    let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed));
    let failure = Verdict::transient(Kind::TIMEOUT);
    let waits = (0..n).map(|_| match retry.next(&mut state, &failure, At::now(Moment::ZERO)) {
        Decision::After(wait) => wait,
        Decision::Stop(stop) => panic!("{stop}"),
    });
    waits.last().unwrap()
}
