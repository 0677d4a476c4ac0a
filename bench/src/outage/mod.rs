//! A service dies under load and comes back: what its callers do meanwhile and after.
//!
//! The same drill runs in virtual time (over a store in memory, in a second or two) and in real time (over a file, with calls
//! that cross HTTP). What is judged comes from outside: the service's own book of calls, and the times at which tasks were
//! submitted and ended.

pub mod drill;
pub mod edf;
#[cfg(feature = "outage")]
mod even;
pub mod judge;
mod remote;
#[cfg(feature = "outage")]
pub mod report;
#[cfg(feature = "outage")]
mod wire;

use std::time::Duration;

/// How the service is away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Away {
    /// Connections are refused.
    Refusing,
    /// Calls are taken and never answered.
    Hanging,
}

/// What happens in a drill.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Tasks a second, before and while the service is away.
    pub rate: u32,
    /// Tasks a second once it is back.
    pub rate_after: u32,
    /// How long all is well at first.
    pub well: Duration,
    /// How long the service is away.
    pub away: Duration,
    /// How.
    pub how: Away,
    /// How long a call takes that goes well.
    pub call: Duration,
    /// How long a call may take.
    pub timeout: Duration,
    /// How long the breaker is open the first time, and at most.
    pub open_for: [Duration; 2],
    /// Whether work that waited comes back in a ramp.
    pub ramped: bool,
    /// Whether calls cross a socket, in real time.
    pub wire: bool,
    /// Whether the engine has tokio's clock in real time, too, and not the coarse one that programs have: to tell its jitter
    /// from others.
    pub fine_clock: bool,
    /// The seed of what is random.
    pub seed: u64,
}

/// Failures in a row that open the breaker.
pub const THRESHOLD: u32 = 10;
/// Attempts that may run at a time.
pub const CONCURRENT: usize = 50;
/// How long a task may take, in seconds, by turns; the last has no deadline.
pub const DEADLINES: [Option<u64>; 5] = [Some(30), Some(120), Some(300), Some(900), None];

impl Default for Plan {
    /// The outage of the design: a minute, with 12 000 tasks that come meanwhile.
    fn default() -> Self {
        Self {
            rate: 200,
            rate_after: 200,
            well: Duration::from_secs(20),
            away: Duration::from_secs(60),
            how: Away::Refusing,
            call: Duration::from_millis(20),
            timeout: Duration::from_secs(2),
            open_for: [5, 10].map(Duration::from_secs),
            ramped: true,
            wire: false,
            fine_clock: false,
            seed: 1,
        }
    }
}

impl Plan {
    /// A shorter one over a socket, in real time: as many tasks come, in less time, and the breaker has half the times.
    #[must_use]
    pub fn real() -> Self {
        Self {
            rate: 300,
            rate_after: 120,
            well: Duration::from_secs(10),
            away: Duration::from_secs(40),
            timeout: Duration::from_secs(1),
            open_for: [2_500, 5_000].map(Duration::from_millis),
            wire: true,
            ..Self::default()
        }
    }

    /// The design's outage in real time: a minute, with 12 000 tasks that come meanwhile.
    #[must_use]
    pub fn real_and_long() -> Self {
        Self { rate_after: 80, wire: true, ..Self::default() }
    }

    /// How long is waited for the last tasks before they count as lost: longer than any deadline, or than draining takes.
    fn patience(&self) -> Duration {
        if self.wire { Duration::from_secs(60) } else { Duration::from_secs(1_000) }
    }
}

/// What was seen from outside. Times are seconds since the drill began.
#[derive(Clone, Debug, Default)]
pub struct Seen {
    /// When the service died, and was back.
    pub died: f64,
    /// See above.
    pub back: f64,
    /// Every call that reached the service, or its closed door.
    pub calls: Vec<Call>,
    /// When calls were sent, by the callers' own time; empty where nothing is between them and the service.
    pub sent: Vec<f64>,
    /// Every task.
    pub tasks: Vec<Task>,
    /// How often the breaker let probes through.
    pub probes: usize,
}

/// One call.
#[derive(Clone, Debug)]
pub struct Call {
    /// When it began.
    pub began: f64,
    /// The key that it carried.
    pub key: String,
    /// Whether the service did it.
    pub done: bool,
}

/// One task.
#[derive(Clone, Debug)]
pub struct Task {
    /// When it was submitted.
    pub submitted: f64,
    /// When it had to be done.
    pub deadline: Option<f64>,
    /// When it ended; `None` for one that is lost.
    pub ended: Option<f64>,
    /// Whether it completed.
    pub completed: bool,
}

impl Task {
    /// What counts is the store's clock, which has whole milliseconds.
    fn submitted(at: f64, within: Option<u64>) -> Self {
        let deadline = within.map(|seconds| at + Duration::from_secs(seconds).as_secs_f64());
        Self { submitted: at, deadline, ended: None, completed: false }
    }

    fn ended(self, at: f64, completed: bool) -> Self {
        Self { ended: Some(at), completed, ..self }
    }
}
