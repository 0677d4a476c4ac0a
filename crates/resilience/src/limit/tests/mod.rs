//! Limits alone: the pace against counting, the gate by hand and by threads.

mod gate;
mod pace;

use std::time::Duration;

use super::{By, Limit};
use crate::clock::Moment;

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

fn at(millis: u64) -> Moment {
    Moment::ZERO + ms(millis)
}
