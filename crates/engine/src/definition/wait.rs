//! Steps that wait for a time or a signal, that are repeated, or that have to be heard of while they run.

use std::time::Duration;

use super::Step;

/// What a step waits for that calls no service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wait {
    /// A time: this long after its turn has come; `None` when that is computed then.
    Time(Option<Duration>),
    /// Somebody sends a signal.
    Signal {
        /// Its name.
        signal: String,
        /// How long it waits; `None` for as long as the task may take.
        timeout: Option<Duration>,
        /// Whether the step completes without the signal when the time is over, and does not fail.
        or_none: bool,
    },
}

/// How a step is repeated until it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeat {
    /// The time between two rounds.
    pub every: Duration,
    /// The most rounds; `None` for as many as the task's deadline allows.
    pub at_most: Option<u32>,
}

impl Step {
    /// A step that waits for this long, and calls nothing.
    pub fn wait_for(name: impl Into<String>, time: Duration) -> Self {
        Self::waiting(name, Wait::Time(Some(time)))
    }

    /// A step that waits until a time that is computed when its turn comes, and calls nothing.
    pub fn wait_until(name: impl Into<String>) -> Self {
        Self::waiting(name, Wait::Time(None))
    }

    /// A step that waits for a signal, and calls nothing. Its output is what the signal says.
    pub fn signal(name: impl Into<String>, signal: impl Into<String>) -> Self {
        Self::waiting(name, Wait::Signal { signal: signal.into(), timeout: None, or_none: false })
    }

    fn waiting(name: impl Into<String>, wait: Wait) -> Self {
        let mut step = Self::new(name, "").nothing_to_undo();
        step.waits = Some(wait);
        step
    }

    /// How long it waits for its signal; then it fails. Default: for as long as the task may take.
    pub fn timeout(mut self, time: Duration) -> Self {
        if let Some(Wait::Signal { timeout, .. }) = &mut self.waits {
            *timeout = Some(time);
        }
        self
    }

    /// When its signal does not come in time, it completes without one, and does not fail.
    pub fn or_none(mut self) -> Self {
        if let Some(Wait::Signal { or_none, .. }) = &mut self.waits {
            *or_none = true;
        }
        self
    }

    /// It is made again and again until a condition on its output holds, each round with a key of its own.
    pub fn repeat(mut self, repeat: Repeat) -> Self {
        self.repeat = Some(repeat);
        self
    }

    /// An attempt that is not heard of for this long is given up before its complete-by. Default: only the complete-by
    /// counts.
    pub fn heartbeat_within(mut self, time: Duration) -> Self {
        self.heartbeat_within = Some(time);
        self
    }

    /// What it waits for, if it waits and calls no service.
    #[must_use]
    pub fn wait(&self) -> Option<&Wait> {
        self.waits.as_ref()
    }

    /// The signal that it waits for.
    #[must_use]
    pub fn signal_name(&self) -> Option<&str> {
        match &self.waits {
            Some(Wait::Signal { signal, .. }) => Some(signal),
            _ => None,
        }
    }

    /// How it is repeated, if it is.
    #[must_use]
    pub fn repeats(&self) -> Option<Repeat> {
        self.repeat
    }

    /// How often an attempt has to be heard of.
    #[must_use]
    pub fn heartbeat(&self) -> Option<Duration> {
        self.heartbeat_within
    }

    /// Whether its time is computed when its turn comes.
    #[must_use]
    pub fn is_computed(&self) -> bool {
        self.waits == Some(Wait::Time(None))
    }
}
