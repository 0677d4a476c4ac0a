//! How the services are called, and what follows from it: the numbers of `steadfast.toml`, in one place for the engine in
//! this process and for what the story promises.

use std::time::Duration;

/// Failures in a row that open a circuit. Few, so that an outage costs few calls.
pub const TRIP_AFTER: u32 = 5;
/// How long a circuit is open the first time. A minute's story cannot wait for longer.
pub const OPEN_FOR: Duration = Duration::from_secs(1);
/// The longest open time.
pub const OPEN_AT_MOST: Duration = Duration::from_secs(2);
/// How long a call may take. The slow service of the story is quicker than this.
pub const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(1);
/// Retries of a step: more than failures that open a circuit, so that an order that is alone waits for its service.
pub const MAX_RETRIES: u32 = 12;
/// The longest wait between two tries.
pub const MAX_BACKOFF: Duration = Duration::from_secs(2);
/// Calls at a time to one service: some times more than the story's traffic needs while a service is slow.
pub const MOST_RUNNING: u32 = 32;

/// The most calls that a service may have while it is away for so long: those that open its circuit, those that are under
/// way by then, and a probe at the end of each open time.
#[must_use]
pub fn most_calls_while_away(lasts: Duration) -> u64 {
    let probes = lasts.as_nanos() / OPEN_FOR.as_nanos() + 1;
    u64::from(TRIP_AFTER) + u64::from(MOST_RUNNING) + u64::try_from(probes).unwrap_or(u64::MAX)
}
