//! The strategies' waits, against calculations of their own.

use super::super::{Jitter, Policy};
use super::*;

/// `min(max, min + (2^n - 1) * random * delta)`, in whole nanoseconds, for a random factor in 1/1000.
fn specified(min_ns: u128, delta_ns: u128, max_ns: u128, n: u32, factor_per_mille: u128) -> u128 {
    let Some(power) = 1_u128.checked_shl(n).filter(|_| n < 100) else { return max_ns };
    let grown = (power - 1).saturating_mul(delta_ns).saturating_mul(factor_per_mille) / 1000;
    max_ns.min(min_ns.saturating_add(grown))
}

#[test]
fn exponential_without_jitter_is_the_specified_formula() {
    let builder =
        Retry::exponential().min_backoff(ms(100)).delta_backoff(ms(200)).max_backoff(s(10)).no_jitter();
    let got: Vec<_> = waits(builder.max_retries(8)).iter().map(Duration::as_millis).collect();
    // 100 + (2^n - 1) * 200, up to 10 s.
    assert_eq!(got, [100, 300, 700, 1500, 3100, 6300, 10_000, 10_000]);
}

#[test]
fn exponential_stays_within_its_random_factor_and_reaches_both_ends() {
    let (min, delta, max) = (ms(50), ms(300), s(20));
    let mut seen = vec![(u128::MAX, 0_u128); 10];
    for seed in 0..4000 {
        let builder =
            Retry::exponential().min_backoff(min).delta_backoff(delta).max_backoff(max).max_retries(10);
        let retry = builder.build().unwrap();
        let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed));
        for (n, seen) in (0..).zip(&mut seen) {
            let Decision::After(wait) = retry.next(&mut state, &TIMEOUT, At::now(Moment::ZERO)) else {
                panic!("stopped")
            };
            let wait = wait.as_nanos();
            let low = specified(min.as_nanos(), delta.as_nanos(), max.as_nanos(), n, 800);
            let high = specified(min.as_nanos(), delta.as_nanos(), max.as_nanos(), n, 1200);
            assert!(low.saturating_sub(2) <= wait && wait <= high + 2, "n {n}: {low} <= {wait} <= {high}");
            *seen = (seen.0.min(wait), seen.1.max(wait));
        }
    }
    assert_eq!(seen[0], (min.as_nanos(), min.as_nanos()), "the first wait is min_backoff exactly");
    // n = 3: 7 * 300 ms * 0.8..1.2 above 50 ms: drawn from the whole of it, not from a part.
    let (low, high) = (50_000_000 + 1_680_000_000, 50_000_000 + 2_520_000_000);
    let tenth = (high - low) / 100;
    assert!(seen[3].0 < low + tenth && seen[3].1 > high - tenth, "{:?}", seen[3]);
    assert_eq!(
        seen[9],
        (max.as_nanos(), max.as_nanos()),
        "the cap is applied last: all who reach it wait the same"
    );
}

#[test]
fn overflow_means_max_backoff() {
    let builder = |max| {
        Retry::exponential()
            .min_backoff(ms(1))
            .delta_backoff(Duration::MAX)
            .max_backoff(max)
            .max_retries(3000)
            .jitter(Jitter::SPECIFIED)
    };
    let got = waits(builder(s(7)));
    assert_eq!(got[0], ms(1));
    assert!(
        got[1..].iter().all(|wait| *wait == s(7)),
        "also at n = 1024 and more, where 2^n is no longer a number"
    );
    assert_eq!(got.len(), 3000);
    let endless = waits(builder(Duration::MAX));
    assert!(endless[2999] > s(u64::from(u32::MAX)));
}

#[test]
fn a_delta_of_zero_is_a_fixed_wait_however_often() {
    let builder = Retry::exponential().min_backoff(ms(40)).delta_backoff(Duration::ZERO).max_retries(2000);
    assert!(waits(builder).iter().all(|wait| *wait == ms(40)));
}

#[test]
fn fast_first_makes_the_first_wait_zero_and_only_the_first() {
    for builder in [
        Retry::exponential().no_jitter(),
        Retry::fixed(ms(100)).no_jitter(),
        Retry::incremental(ms(100), ms(200)).no_jitter(),
        Retry::schedule([ms(100), ms(300), ms(700)]).no_jitter(),
    ] {
        let plain = waits(builder.clone().max_retries(3));
        let fast = waits(builder.fast_first().max_retries(3));
        assert_eq!(fast[0], Duration::ZERO);
        assert_eq!(fast[1..], plain[1..], "the others are as without it");
    }
}

#[test]
fn fixed_incremental_and_schedule_wait_as_they_say() {
    assert_eq!(waits(Retry::fixed(s(2)).no_jitter().max_retries(3)), [s(2), s(2), s(2)]);
    assert_eq!(waits(Retry::incremental(s(1), s(3)).no_jitter().max_retries(4)), [s(1), s(4), s(7), s(10)]);
    let (got, stop) = waits_after(Retry::schedule([s(3), s(7), s(13)]).no_jitter(), &TIMEOUT);
    assert_eq!(got, [s(3), s(7), s(13)]);
    assert_eq!(stop, Stop::MaxRetries);
    let ended = waits_after(Retry::schedule([s(3)]).no_jitter().max_retries(9), &TIMEOUT);
    assert_eq!(ended, (vec![s(3)], Stop::StrategyEnded));
}

#[test]
fn fixed_incremental_and_schedule_carry_twenty_per_cent_of_jitter() {
    for (builder, base) in [
        (Retry::fixed(s(1)).max_retries(300), s(1)),
        (Retry::schedule([s(1); 300]), s(1)),
        (Retry::incremental(s(1), Duration::ZERO).max_retries(300), s(1)),
    ] {
        let got = waits(builder);
        let (least, most) = (got.iter().min().unwrap(), got.iter().max().unwrap());
        assert!(*least >= base.mul_f64(0.8) && *least < base.mul_f64(0.82), "{least:?}");
        assert!(*most <= base.mul_f64(1.2) && *most > base.mul_f64(1.18), "{most:?}");
    }
}

#[test]
fn immediate_is_one_retry_without_a_wait() {
    assert_eq!(waits_after(Retry::immediate(), &TIMEOUT), (vec![Duration::ZERO], Stop::MaxRetries));
    let more = waits_after(Retry::immediate().max_retries(5), &TIMEOUT);
    assert_eq!(more, (vec![Duration::ZERO], Stop::StrategyEnded), "at most one, whatever the count says");
}

#[test]
fn there_is_at_most_one_immediate_retry_ever() {
    #[derive(Debug)]
    struct Zero;
    impl Policy for Zero {
        fn fresh(&self) -> Box<dyn Policy> {
            Box::new(Self)
        }
        fn next(&mut self, _: u32, _: &Verdict) -> Option<Duration> {
            Some(Duration::ZERO)
        }
    }
    let by_rule = Retry::immediate().on_kind(Kind::TIMEOUT, Retry::immediate()).max_retries(4);
    for builder in [
        Retry::custom(Zero).max_retries(4),
        Retry::fixed(Duration::from_nanos(1)).jitter(Jitter::Full).max_retries(4),
        Retry::adaptive(Retry::custom(Zero)).max_retries(4),
        by_rule,
    ] {
        let hint = TIMEOUT.with_hint(Duration::ZERO);
        for failure in [TIMEOUT, hint] {
            let got = waits_after(builder.clone(), &failure).0;
            assert!(got[1..].iter().all(|wait| *wait >= ms(1)), "{builder:?}: {got:?}");
        }
    }
}

#[test]
fn full_jitter_spreads_from_the_floor_to_the_capped_ceiling() {
    let builder = |seed: u64| {
        let retry = Retry::exponential()
            .min_backoff(ms(10))
            .delta_backoff(ms(100))
            .max_backoff(ms(500))
            .jitter(Jitter::Full);
        let retry = retry.max_retries(6).build().unwrap();
        let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed));
        std::iter::from_fn(move || match retry.next(&mut state, &TIMEOUT, At::now(Moment::ZERO)) {
            Decision::After(wait) => Some(wait),
            Decision::Stop(_) => None,
        })
        .collect::<Vec<_>>()
    };
    let runs: Vec<_> = (0..2000).map(builder).collect();
    for (n, ceiling) in [(0, 110), (1, 210), (2, 410), (3, 500), (5, 500)] {
        let at: Vec<_> = runs.iter().map(|run| run[n]).collect();
        let (least, most) = (*at.iter().min().unwrap(), *at.iter().max().unwrap());
        assert!(least >= ms(10) && least < ms(10) + ms(ceiling) / 50, "n {n}: {least:?}");
        assert!(most <= ms(ceiling) && most > ms(ceiling) * 48 / 50, "n {n}: {most:?}");
    }
}

#[test]
fn equal_jitter_keeps_half_and_spreads_half() {
    let got = waits(Retry::fixed(s(1)).jitter(Jitter::Equal).max_retries(500));
    let (least, most) = (*got.iter().min().unwrap(), *got.iter().max().unwrap());
    assert!(least >= ms(500) && least < ms(510) && most <= s(1) && most > ms(990), "{least:?} {most:?}");
    let builder =
        Retry::exponential().min_backoff(ms(400)).delta_backoff(ms(100)).jitter(Jitter::Equal).max_retries(1);
    assert!(waits(builder)[0] >= ms(400), "never below min_backoff");
}

#[test]
fn decorrelated_jitter_reaches_three_times_the_wait_before_up_to_the_cap() {
    let mut largest_ratio = 0.0_f64;
    for seed in 0..2000 {
        let builder =
            Retry::exponential().min_backoff(ms(10)).max_backoff(ms(900)).jitter(Jitter::Decorrelated);
        let retry = builder.max_retries(8).build().unwrap();
        let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed));
        let mut before = ms(10);
        for _ in 0..8 {
            let Decision::After(wait) = retry.next(&mut state, &TIMEOUT, At::now(Moment::ZERO)) else {
                panic!()
            };
            assert!(wait >= ms(10) && wait <= ms(900) && wait <= before * 3);
            largest_ratio = largest_ratio.max(wait.as_secs_f64() / before.as_secs_f64());
            before = wait;
        }
    }
    assert!(largest_ratio > 2.9);
    let from_zero =
        Retry::exponential().min_backoff(Duration::ZERO).delta_backoff(ms(10)).jitter(Jitter::Decorrelated);
    assert!(waits(from_zero)[0] >= ms(10), "without a min_backoff it starts from delta_backoff");
    let fixed = waits(Retry::fixed(ms(100)).jitter(Jitter::Decorrelated).max_retries(200));
    assert!(fixed.iter().all(|wait| *wait >= ms(100) && *wait <= ms(300)));
}
