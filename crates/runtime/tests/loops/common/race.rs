//! Two ends of a task that race, again and again: in memory and over a file.

use steadfast_engine::Time;
use steadfast_resilience::clock::Clock;
use steadfast_store::Memory;
use steadfast_store_sqlite::Sqlite;

use super::memory;

/// Tasks of a race; `RACES=n` takes another number.
const RACES: usize = 10_000;
/// Tasks of a race over a file: each round syncs many times.
const RACES_IN_FILE: usize = 400;
/// Tasks at a time.
pub const AT_ONCE: usize = 200;

/// Rounds in memory. A round has a store and a seed, and tells how many of its tasks had the one end and how many the other.
pub fn in_memory(round: impl AsyncFn(Memory, u64) -> (usize, usize)) {
    let races = std::env::var("RACES").map_or(RACES, |races| races.parse().unwrap());
    often(races, memory, round);
}

/// Rounds over a file.
pub fn in_file(round: impl AsyncFn(Sqlite, u64) -> (usize, usize)) {
    let folder = tempfile::tempdir().unwrap();
    let files = std::sync::atomic::AtomicU32::new(0);
    let store = || {
        let (clock, began) = (Clock::tokio(), Clock::tokio().now());
        let now = move || Time::from_millis(1_000_000) + clock.now().since(began);
        let nth = files.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        Sqlite::open_inline(folder.path().join(format!("{nth}.db")), now).unwrap()
    };
    often(RACES_IN_FILE, store, round);
}

fn often<S>(races: usize, store: impl Fn() -> S, round: impl AsyncFn(S, u64) -> (usize, usize)) {
    let (mut one, mut other) = (0, 0);
    for nth in 0..races / AT_ONCE {
        let seed = u64::try_from(nth).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        let ended = runtime.unwrap().block_on(async { round(store(), seed).await });
        (one, other) = (one + ended.0, other + ended.1);
    }
    println!("{one} had the one end, {other} the other");
    assert_eq!(one + other, races);
    assert!(one * 10 > races && other * 10 > races, "{one} and {other}: no race");
}
