//! The reference passes its own suite.

use std::time::Duration;

use steadfast_engine::Time;
use steadfast_store::conformance::{HandClock, Harness, block_on};
use steadfast_store::{Arrival, Memory, Nodes as _};

struct InMemory {
    clock: HandClock,
    store: Memory,
}

impl InMemory {
    fn new() -> Self {
        let clock = HandClock::default();
        clock.set(Time::from_millis(1_700_000_000_000));
        let told = clock.clone();
        Self { clock, store: Memory::new(move || told.now()) }
    }
}

impl Harness for InMemory {
    type Store = Memory;

    fn store(&self) -> &Memory {
        &self.store
    }

    fn advance(&self, time: Duration) {
        self.clock.advance(time);
    }

    fn hand_in(&self, arrival: Arrival) {
        self.store.hand_in(arrival);
    }
}

steadfast_store::conformance!(InMemory::new());

#[test]
fn a_clock_that_goes_back_does_not_take_the_store_with_it() {
    let memory = InMemory::new();
    let before = block_on(memory.store.now()).unwrap();
    memory.clock.set(Time::from_millis(5));
    assert_eq!(block_on(memory.store.now()).unwrap(), before);
}
