use proptest::prelude::*;

use super::*;
use crate::problem::Code;

#[test]
fn a_burst_begins_at_once_and_then_one_after_the_other() {
    let limit = Limit::rate(10.0).burst(3).build().unwrap();
    let enter = |millis| limit.try_enter(at(millis)).map(drop);
    assert!((0..3).all(|_| enter(1_000).is_ok()));
    let refused = enter(1_000).unwrap_err();
    assert_eq!((refused.by, refused.retry_in), (By::Rate, Some(ms(100))));
    assert!(enter(1_099).is_err());
    assert!(enter(1_100).is_ok());
    assert!(enter(1_100).is_err());
    assert!((0..3).all(|_| enter(60_000).is_ok()), "a quiet minute is worth one burst");
    assert!(enter(60_000).is_err(), "and no more");
    assert_eq!(limit.refused(), 4);
}

#[test]
fn without_a_burst_a_tenth_of_a_second_may_begin_at_once() {
    let burst = |rate| {
        let limit = Limit::rate(rate).build().unwrap();
        (0..1_000).take_while(|_| limit.try_enter(at(1)).is_ok()).count()
    };
    assert_eq!([0.5, 1.0, 10.0, 100.0, 1_000.0].map(burst), [1, 1, 1, 10, 100]);
}

#[test]
fn rates_and_counts_that_make_no_sense_are_refused() {
    for rate in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e9] {
        let error = Limit::rate(rate).build().unwrap_err();
        assert_eq!(error.problems()[0].code, Code::BadNumber, "{rate}");
    }
    for builder in [Limit::concurrent(0), Limit::rate(1.0).burst(0), Limit::concurrent(1).waiting(2_000_000)]
    {
        assert_eq!(builder.build().unwrap_err().problems()[0].code, Code::OutOfRange);
    }
    let nothing = super::super::Builder::default().build().unwrap_err();
    assert_eq!(nothing.problems()[0].code, Code::Missing);
}

proptest! {
    /// However calls come, no window of any length sees more than its share and a burst.
    #[test]
    fn no_window_sees_more_than_the_rate_and_a_burst(
        rate in 1.0..2_000.0_f64,
        burst in 1_u32..50,
        gaps in prop::collection::vec(0_u64..50, 1..400),
    ) {
        let limit = Limit::rate(rate).burst(burst).build().unwrap();
        let mut now = 1_000;
        let mut begun = Vec::new();
        for gap in gaps {
            now += gap;
            if limit.try_enter(at(now)).is_ok() {
                begun.push(now);
            }
        }
        for (first, from) in begun.iter().enumerate() {
            for (last, to) in begun.iter().enumerate().skip(first) {
                let allowed = f64::from(burst) + (to - from) as f64 / 1_000.0 * rate;
                prop_assert!((last - first + 1) as f64 <= allowed + 1e-3, "{} in {} ms", last - first + 1, to - from);
            }
        }
    }

    /// A caller who takes every turn gets the whole rate.
    #[test]
    fn the_whole_rate_can_be_used(rate in 1.0..1_000.0_f64) {
        let limit = Limit::rate(rate).burst(1).build().unwrap();
        let begun = (0..20_000).filter(|millis| limit.try_enter(at(1_000 + millis)).is_ok()).count();
        let most = rate * 20.0 + 1.0;
        // A turn that falls between two milliseconds is taken a little later.
        prop_assert!(begun as f64 <= most + 1.0 && begun as f64 >= most / (1.0 + rate / 1_000.0) - 2.0, "{begun} of {most}");
    }
}

#[test]
fn what_was_owed_under_another_rate_is_not_owed_under_the_new_one() {
    let limit = Limit::rate(1.0).burst(600).build().unwrap();
    while limit.try_enter(at(0)).is_ok() {}
    limit.reconfigure(&Limit::rate(1_000.0).burst(10)).unwrap();
    let wait = limit.try_enter(at(0)).unwrap_err().retry_in.unwrap();
    assert!(wait <= ms(1_001), "{wait:?}");
    let began = (0..10_000).filter(|time| limit.try_enter(at(1_001 + time / 10)).is_ok()).count();
    assert!((990..=1_010).contains(&began), "{began} in a second");
}

#[test]
fn a_turn_is_given_back_when_there_is_no_place() {
    let limit = Limit::concurrent(1).rate(1.0).burst(2).build().unwrap();
    let place = limit.try_enter(at(0)).unwrap();
    for _ in 0..5 {
        assert_eq!(limit.try_enter(at(0)).unwrap_err().by, By::Concurrency);
    }
    drop(place);
    assert!(limit.try_enter(at(0)).is_ok(), "the second turn was not used up");
}
