//! Where tasks, steps and undos stand.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum TaskState {
    /// Submitted; nobody has begun with it.
    Pending,
    /// Something runs, or could.
    Running,
    /// Everything that is open waits for a time, a signal or its service.
    Waiting,
    /// An operator holds it.
    Paused,
    /// What was done is being undone.
    Undoing,
    /// In an operator's hands.
    Failed,
    /// Done as a whole.
    Completed,
    /// Undone as a whole.
    Undone,
}

impl TaskState {
    /// All of them.
    pub const ALL: [Self; 8] = [
        Self::Pending,
        Self::Running,
        Self::Waiting,
        Self::Paused,
        Self::Undoing,
        Self::Failed,
        Self::Completed,
        Self::Undone,
    ];

    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Paused => "paused",
            Self::Undoing => "undoing",
            Self::Failed => "failed",
            Self::Completed => "completed",
            Self::Undone => "undone",
        }
    }

    /// Whether nothing happens any more by itself.
    #[must_use]
    pub const fn is_at_rest(self) -> bool {
        matches!(self, Self::Failed | Self::Completed | Self::Undone)
    }
}

impl fmt::Display for TaskState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// A text that is no state of a task.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is no state of a task: use `pending`, `running`, `waiting`, `paused`, `undoing`, `failed`, `completed` or `undone`"
)]
pub struct BadState(String);

impl FromStr for TaskState {
    type Err = BadState;

    fn from_str(text: &str) -> Result<Self, BadState> {
        let bad = || BadState(text.chars().take(40).collect());
        Self::ALL.into_iter().find(|state| state.as_str() == text).ok_or_else(bad)
    }
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum StepState {
    /// It is not its turn.
    Pending,
    /// It could run.
    Ready,
    /// It could run, but for its service.
    Parked,
    /// An attempt is under way.
    Running,
    /// It waits for a time, a signal, or its next attempt or round.
    Waiting,
    /// Nobody knows whether it happened, and it is not made again.
    Unknown,
    /// It failed for good.
    Failed,
    /// It is being undone.
    Undoing,
    /// It could not be undone.
    UndoFailed,
    /// It is done.
    Completed,
    /// It was not its turn, or will not be.
    Skipped,
    /// It was done and is undone.
    Undone,
}

impl StepState {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Parked => "parked",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Unknown => "unknown",
            Self::Failed => "failed",
            Self::Undoing => "undoing",
            Self::UndoFailed => "undo_failed",
            Self::Completed => "completed",
            Self::Skipped => "skipped",
            Self::Undone => "undone",
        }
    }
}

impl fmt::Display for StepState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// Where the undo of a step stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub enum UndoState {
    /// No undo has begun, or there is nothing to undo.
    #[default]
    None,
    /// It has to be undone once what came after it is.
    Pending,
    /// The undo could run.
    Ready,
    /// It could, but for the service.
    Parked,
    /// An attempt is under way.
    Running,
    /// It waits for its next attempt.
    Waiting,
    /// It cannot be undone: an operator decides.
    Failed,
    /// It is undone.
    Done,
}

impl UndoState {
    /// As it is written.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Pending => "pending",
            Self::Ready => "ready",
            Self::Parked => "parked",
            Self::Running => "running",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Done => "done",
        }
    }
}

impl fmt::Display for UndoState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_as_it_is_written() {
        for state in TaskState::ALL {
            assert_eq!(state.as_str().parse(), Ok(state));
            assert_eq!(serde_json::to_value(state).unwrap(), state.as_str());
        }
        let why = "Failed".parse::<TaskState>().unwrap_err().to_string();
        assert!(why.starts_with("`Failed` is no state of a task: use `pending`"), "{why}");
        assert_eq!(serde_json::to_value(StepState::UndoFailed).unwrap(), StepState::UndoFailed.as_str());
    }
}
