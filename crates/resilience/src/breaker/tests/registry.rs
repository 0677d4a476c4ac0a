//! Breakers by key.

use super::super::Registry;
use super::*;
use crate::clock::VirtualClock;

fn registry(max_keys: usize) -> (VirtualClock, Registry) {
    let clock = VirtualClock::new();
    let builder = Registry::builder(Breaker::consecutive(2).open_for(s(5)))
        .max_keys(max_keys)
        .idle(s(600))
        .clock(&clock);
    let registry = builder.build("hosts").unwrap();
    (clock, registry)
}

#[test]
fn one_breaker_per_key_made_on_demand() {
    let (clock, registry) = registry(100);
    assert!(registry.is_empty());
    fails(&registry.get("a"), clock.now(), 2);
    assert_eq!(registry.get("a").state(), State::Open);
    assert_eq!(registry.get("b").state(), State::Closed, "another resource, another breaker");
    assert_eq!(registry.get("b").name(), "hosts/b");
    assert_eq!((registry.len(), registry.all().len(), registry.is_empty()), (2, 2, false));
}

#[test]
fn only_clean_closed_and_idle_breakers_are_dropped() {
    let (clock, registry) = registry(100);
    drop(registry.get("clean"));
    fails(&registry.get("open"), clock.now(), 2);
    let held = registry.get("held");
    clock.advance(s(599));
    fails(&registry.get("failing"), clock.now(), 1);
    assert_eq!(registry.evict_idle(), 0, "nothing is idle for long enough");
    clock.advance(s(1));
    assert_eq!(registry.evict_idle(), 1, "only `clean`");
    clock.advance(s(10_000));
    fails(&registry.get("failing"), clock.now(), 1);
    drop(held);
    assert_eq!(registry.evict_idle(), 1, "`held` is free now");
    assert_eq!(registry.get("open").state(), State::Open, "what is open is never forgotten");
    assert_eq!(registry.len(), 2);
}

#[test]
fn a_failure_in_the_window_keeps_a_breaker() {
    let clock = VirtualClock::new();
    let template = Breaker::failures(5).within(s(10_000));
    let registry = Registry::builder(template).idle(s(10)).clock(&clock).build("hosts").unwrap();
    fails(&registry.get("a"), clock.now(), 1);
    clock.advance(s(5_000));
    assert_eq!(registry.evict_idle(), 0);
    clock.advance(s(6_000));
    assert_eq!(registry.evict_idle(), 1, "the failure fell out");
}

#[test]
fn a_row_of_failures_keeps_a_breaker() {
    let clock = VirtualClock::new();
    let registry =
        Registry::builder(Breaker::consecutive(3)).idle(s(10)).clock(&clock).build("hosts").unwrap();
    for _ in 0..3 {
        fails(&registry.get("a"), clock.now(), 1);
        clock.advance(s(700));
        registry.evict_idle();
    }
    assert_eq!(registry.get("a").state(), State::Open);
}

#[test]
fn the_limit_on_keys_is_exact_and_a_short_idle_time_is_kept() {
    for max in [1, 100, 1000] {
        let registry = Registry::builder(Breaker::standard()).max_keys(max).build("hosts").unwrap();
        for key in 0..max {
            drop(registry.get(&key.to_string()));
        }
        assert_eq!((registry.len(), registry.overflow()), (max, 0));
        drop(registry.get("one more"));
        assert_eq!((registry.len(), registry.overflow()), (max, 1));
    }
    let clock = VirtualClock::new();
    let quick = Registry::builder(Breaker::standard())
        .idle(Duration::from_millis(500))
        .clock(&clock)
        .build("q")
        .unwrap();
    for _ in 0..10 {
        drop(quick.get("a"));
        clock.advance(Duration::from_millis(450));
    }
    assert_eq!(quick.evict_idle(), 0);
}

#[test]
fn use_keeps_a_breaker() {
    let (clock, registry) = registry(100);
    for _ in 0..10 {
        drop(registry.get("a"));
        clock.advance(s(300));
    }
    assert_eq!(registry.evict_idle(), 0);
}

#[test]
fn a_flood_of_keys_costs_no_memory_beyond_the_limit() {
    let (clock, registry) = registry(160);
    for key in 0..10_000 {
        let breaker = registry.get(&key.to_string());
        assert!(breaker.try_acquire(clock.now()).is_ok(), "calls still go through");
    }
    assert!(registry.len() <= 160, "{}", registry.len());
    assert!(registry.overflow() >= 10_000 - 160);
    clock.advance(s(601));
    drop(registry.get("new"));
    assert!(registry.len() <= 160, "idle ones of its shard made room");
    let before = registry.overflow();
    drop(registry.get("new"));
    assert_eq!(registry.overflow(), before, "and the new one is kept");
}

#[test]
fn threads_that_ask_for_one_key_get_one_breaker() {
    let (clock, registry) = registry(100);
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..1000).for_each(|key| drop(registry.get(&(key % 7).to_string()))));
        }
    });
    assert_eq!(registry.len(), 7);
    fails(&registry.get("0"), clock.now(), 2);
    assert!(!registry.get("0").is_closed());
}

#[test]
fn nonsense_is_refused_when_the_registry_is_built() {
    assert!(Registry::builder(Breaker::ratio(f64::NAN)).build("x").is_err());
    assert!(Registry::builder(Breaker::standard()).max_keys(0).build("x").is_err());
}

#[test]
fn what_is_used_is_not_idle_also_where_idle_is_short() {
    let clock = VirtualClock::new();
    let registry = Registry::builder(Breaker::standard()).idle(s(1)).clock(&clock).build("hosts").unwrap();
    for _ in 0..5 {
        drop(registry.get("busy"));
        clock.advance(Duration::from_millis(200));
    }
    clock.advance(Duration::from_millis(200));
    assert_eq!(registry.evict_idle(), 0, "used 400 ms ago");
}

#[test]
fn a_registry_with_room_drops_nothing_by_itself() {
    let (clock, registry) = registry(1000);
    for key in 0..500 {
        drop(registry.get(&key.to_string()));
    }
    clock.advance(s(10_000));
    for key in 500..1000 {
        drop(registry.get(&key.to_string()));
    }
    assert_eq!(registry.len(), 1000);
}

#[test]
fn a_registry_tells_of_settings_without_effect() {
    let template = Breaker::standard().slow(s(2), 0.5).timeout(s(1));
    let registry = Registry::builder(template).build("hosts").unwrap();
    assert_eq!(registry.warnings()[0].setting, "breaker.slow");
    assert_eq!(format!("{registry:?}"), "Registry { name: \"hosts\", kept: 0, .. }");
    assert!(Registry::builder(Breaker::standard()).build(" ").is_err());
}
