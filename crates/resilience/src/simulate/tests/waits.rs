use super::s;
use crate::retry::{Retry, Stop};
use crate::simulate::Waits;

#[test]
fn the_waits_are_those_of_the_specified_formula() {
    let retry =
        Retry::exponential().min_backoff(s(1)).delta_backoff(s(10)).max_backoff(s(30)).max_retries(10);
    let waits = Waits::of(&retry.build().unwrap(), 1);
    assert_eq!(waits.all().len(), 10);
    assert_eq!(waits.stop(), Stop::MaxRetries);
    assert_eq!((waits.all()[0].shortest, waits.all()[0].longest), (s(1), s(1)));
    for (n, wait) in waits.all().iter().enumerate() {
        // The mean of min(30, 1 + (2^n - 1) * 10 * u) for u from 0.8 to 1.2, by adding up a thousand slices.
        let growth = (2_f64.powi(i32::try_from(n).unwrap()) - 1.0) * 10.0;
        let of_slice =
            |slice: i32| (1.0 + growth * (0.8 + 0.4 * (f64::from(slice) + 0.5) / 1000.0)).min(30.0);
        let mean = (0..1000).map(of_slice).sum::<f64>() / 1000.0;
        let ours = wait.mean.as_secs_f64();
        assert!((ours - mean).abs() <= mean * 0.01, "wait {n}: {ours:.3} here, {mean:.3} by the formula");
    }
    assert!(waits.longest() <= s(1 + 30 * 9));
    assert_eq!(waits.attempts().len(), 11);
}

#[test]
fn waits_end_where_time_does() {
    let retry = Retry::fixed(s(1)).no_jitter().unlimited_retries().max_elapsed(s(5)).build().unwrap();
    let waits = Waits::of(&retry, 1);
    assert_eq!(waits.all().len(), 4, "the fifth would end when the time has");
    assert_eq!(waits.stop(), Stop::MaxElapsed);
    let none = Waits::of(&Retry::none().build().unwrap(), 1);
    assert!(none.all().is_empty());
    assert_eq!(none.attempts(), [s(0)]);
}

#[test]
fn waits_without_an_end_are_listed_up_to_a_limit() {
    let retry = Retry::fixed(s(1)).unlimited_retries().max_elapsed(s(1_000_000)).build().unwrap();
    assert_eq!(Waits::of(&retry, 1).all().len(), 1_000);
}
