//! How often, how long, how many.

use std::time::Duration;

use crate::alert::AlertSettings;
use crate::reply::ReplySettings;
use crate::span::Spans;

/// Thirty days: as long as a key is promised to be remembered after the end of its task.
const KEPT: Duration = Duration::from_secs(30 * 24 * 3_600);

/// How a node works. Every setting has a default that suits most.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// How long a node is taken to live after it was last heard of. It renews its lease three times in this.
    pub lease: Duration,
    /// How often it looks for tasks and mail that nobody told it of.
    pub look_every: Duration,
    /// How often the supervisor looks for what is past its time.
    pub supervise_every: Duration,
    /// The most tasks that are held in memory. More are left to others, or for later.
    pub most_owned: usize,
    /// The most tasks that may be open in the store; one more is refused.
    pub most_open: u64,
    /// Waits up to this long are made by the agent, in place; longer ones are durable timers.
    pub longest_wait: Duration,
    /// A task that has nothing to do for longer than this is put out of memory.
    pub release_after: Duration,
    /// How long attempts under way may go on when the node is shut down.
    pub grace: Duration,
    /// How long a task is kept after it has completed or was undone; then it is removed with its history. One that failed is in an
    /// operator's hands, and is kept for ever. `Duration::MAX` keeps all of them.
    pub keep: Duration,
    /// How long a task that was submitted under a key is kept at least: for as long a second submission under that key gives the
    /// first task back.
    pub keep_keys: Duration,
    /// Who is told of alerts, and by which rules services are watched.
    pub alerts: AlertSettings,
    /// Who is called with replies, and how many may wait.
    pub replies: ReplySettings,
    /// How often it is looked whether somebody has handed something in, where others can write the store. It is one look at a
    /// number in shared memory.
    pub intake_every: Duration,
    /// How spans of steps are joined to the traces of their tasks.
    pub spans: Spans,
}

impl Settings {
    /// What of them makes no sense, in words.
    ///
    /// # Errors
    /// The first of them.
    pub fn check(&self) -> Result<(), String> {
        let times = [
            ("lease", self.lease, Duration::from_millis(100)),
            ("look_every", self.look_every, Duration::from_millis(1)),
            ("supervise_every", self.supervise_every, Duration::from_millis(1)),
            ("intake_every", self.intake_every, Duration::from_millis(1)),
            // Whoever waits for the end of a task needs the time to read it.
            ("keep", self.keep, Duration::from_secs(60)),
        ];
        if let Some((name, time, least)) = times.into_iter().find(|(_, time, least)| time < least) {
            return Err(format!("`{name}` is {time:?}: it must be at least {least:?}"));
        }
        let counts = [("most_owned", self.most_owned == 0), ("most_open", self.most_open == 0)];
        match counts.into_iter().find(|(_, none)| *none) {
            Some((name, _)) => Err(format!("`{name}` is 0: no task could ever run")),
            None => self.alerts.check().and_then(|()| self.replies.check()),
        }
    }
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            lease: Duration::from_secs(15),
            look_every: Duration::from_secs(5),
            supervise_every: Duration::from_secs(5),
            most_owned: 10_000,
            most_open: 1_000_000,
            longest_wait: Duration::from_secs(2),
            release_after: Duration::from_secs(30),
            grace: Duration::from_secs(30),
            keep: KEPT,
            keep_keys: KEPT,
            alerts: AlertSettings::default(),
            replies: ReplySettings::default(),
            intake_every: Duration::from_millis(50),
            spans: Spans::default(),
        }
    }
}
