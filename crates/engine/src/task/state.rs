//! The states of tasks, steps and undos.

/// Where a task stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum TaskState {
    /// Submitted; nobody has begun with it.
    Pending,
    /// Something runs, or could.
    Running,
    /// Everything that is open waits for a time or for its service.
    Waiting,
    /// What was done is being undone, or will be once what runs beside has ended.
    Undoing,
    /// In an operator's hands.
    Failed,
    /// Done as a whole.
    Completed,
    /// Undone as a whole.
    Undone,
    /// An operator holds it: nothing begins.
    Paused,
}

impl TaskState {
    /// Whether nothing happens any more by itself.
    #[must_use]
    pub const fn is_at_rest(self) -> bool {
        matches!(self, Self::Failed | Self::Completed | Self::Undone)
    }
}

/// Where a step stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum StepState {
    /// It is not its turn.
    #[default]
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

/// Where the undo of a step stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
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
