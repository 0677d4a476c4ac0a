//! The retry budget: a share of what succeeds, and a reserve.

use super::super::Budget;
use super::*;

fn at(seconds: u64) -> Moment {
    Moment::ZERO + s(seconds)
}

fn drain(budget: &Budget, now: Moment) -> u64 {
    (0..10_000).take_while(|_| budget.withdraw(now)).count() as u64
}

#[test]
fn retries_are_a_tenth_of_the_successes() {
    let budget = Budget::share(0.1).reserve(0).build().unwrap();
    (0..1000).for_each(|_| budget.deposit(at(1)));
    assert_eq!(budget.left(at(1)), 100);
    assert_eq!(drain(&budget, at(2)), 100);
    assert_eq!(budget.left(at(2)), 0);
}

#[test]
fn the_reserve_lets_quiet_services_retry_and_does_not_add_up() {
    let budget = Budget::share(0.1).reserve(3).build().unwrap();
    assert_eq!(drain(&budget, at(1)), 3);
    let busy = Budget::share(0.1).reserve(3).build().unwrap();
    (0..100).for_each(|_| busy.deposit(at(1)));
    assert_eq!(drain(&busy, at(1)), 10, "the larger of the two, not the sum");
}

#[test]
fn old_successes_and_old_retries_fall_out_of_the_window() {
    let budget = Budget::share(0.1).reserve(2).window(s(10)).build().unwrap();
    (0..100).for_each(|_| budget.deposit(at(1)));
    assert_eq!(drain(&budget, at(5)), 10);
    assert_eq!((budget.left(at(10)), budget.left(at(12)), budget.left(at(16))), (0, 0, 2));
    assert_eq!(drain(&budget, at(12)), 0, "the successes are gone, the retries of 7 s ago are not");
    assert_eq!(drain(&budget, at(16)), 2, "now those are gone too, and the reserve is back");
}

#[test]
fn an_outage_ends_retries_within_a_window() {
    let budget = Budget::share(0.1).build().unwrap();
    let mut sent = 0;
    for second in 0..60 {
        for _ in 0..100 {
            if second < 20 {
                budget.deposit(at(second));
            } else {
                sent += u32::from(budget.withdraw(at(second)));
            }
        }
    }
    // A tenth of the 900 successes still in the window, then 3 of the reserve in each window of the 40 s.
    assert!((90..=90 + 4 * 3).contains(&sent), "{sent} retries");
}

#[test]
fn clones_are_one_budget_and_threads_never_overdraw() {
    let budget = Budget::share(0.5).reserve(0).build().unwrap();
    (0..1000).for_each(|_| budget.clone().deposit(at(1)));
    let taken: u64 = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| drain(&budget, at(1)))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert!(taken <= 500, "{taken}");
    assert_eq!(taken + drain(&budget, at(1)), 500);
}

#[test]
fn shares_that_are_no_shares_are_refused() {
    for share in [0.0, -0.1, 1.1, f64::NAN, f64::INFINITY] {
        assert!(Budget::share(share).build().is_err(), "{share}");
    }
    assert!(Budget::share(1.0).window(ms(99)).build().is_err());
    assert!(Budget::share(1.0).window(ms(100)).build().is_ok());
    assert!(format!("{:?}", Budget::share(0.1).build().unwrap()).contains("0.1"));
}

#[test]
fn a_reload_keeps_what_was_paid_in_and_taken_out() {
    let budget = Budget::share(0.1).reserve(0).window(Duration::from_secs(10)).build().unwrap();
    (0..100).for_each(|_| budget.deposit(at(0)));
    assert!((0..4).all(|_| budget.withdraw(at(0))));
    let same_window = Budget::share(0.2).reserve(0).window(Duration::from_secs(10));
    budget.reconfigure(&same_window, at(5)).unwrap();
    assert_eq!(budget.left(at(5)), 16, "a fifth of a hundred, less four");
    assert_eq!(budget.left(at(11)), 0, "the window stays, and with it the age of what is in it");
    (0..100).for_each(|_| budget.deposit(at(11)));
    assert!(budget.withdraw(at(11)));
    let longer = Budget::share(0.1).reserve(2).window(Duration::from_secs(60));
    budget.reconfigure(&longer, at(15)).unwrap();
    assert_eq!(budget.left(at(70)), 9, "in the new window both count as if they had just come");
    assert_eq!(budget.left(at(90)), 2, "the new reserve");
    assert!(budget.reconfigure(&Budget::share(2.0), at(90)).is_err());
    assert_eq!(budget.left(at(90)), 2, "a bad setting changes nothing");
}
