//! Gates without a scheduler: the tests say what happens and when.

mod line;

use std::sync::Arc;

use steadfast_engine::{StepId, Time};
use steadfast_store::TaskId;

use super::{Place, Rank};

fn task(number: u128) -> TaskId {
    TaskId::from_u128(number)
}

fn number(place: Place) -> u128 {
    place.task.as_u128()
}

fn rank(priority: i8, deadline: Option<u64>) -> Rank {
    Rank::new(priority, deadline.map(Time::from_millis))
}

const STEP: StepId = StepId::at(0);

fn name(name: &str) -> Arc<str> {
    Arc::from(name)
}
