//! What an operator asks of a task.

use std::fmt;

use crate::definition::StepId;
use crate::time::Time;

/// What an operator asks of a task. An input or an output that belongs to it comes beside the event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Action {
    /// A step is made again: anew if it has failed, at once if it waits for its next attempt.
    Retry {
        /// Which step.
        step: StepId,
        /// Whether it gets an input of its own in the place of the task's; it then has a new key too.
        edited: bool,
        /// Whether it is known that no attempt before has taken effect.
        did_not_happen: bool,
    },
    /// A step is not made: what comes after it goes on with the output that is given, or with none.
    Skip {
        /// Which step.
        step: StepId,
        /// Whether it was done by other means: it then counts as completed, and is undone with the others.
        happened: bool,
    },
    /// Nothing begins until it is resumed. What runs may end; its deadline stands still.
    Pause,
    /// A task that is paused goes on. One that has failed makes all again that has failed, steps or undos.
    Resume,
    /// A task that has not ended is undone.
    Cancel,
    /// A task is undone, also one that has completed or failed.
    Undo,
    /// It has another deadline, or none.
    Deadline(Option<Time>),
    /// It has other labels. They come beside the event, and are nothing that the task works by.
    Label,
    /// An undo that could not be made is tried again.
    RetryUndo {
        /// Of which step.
        step: StepId,
        /// Whether it is known that the step happened: needed where nobody knows.
        happened: bool,
    },
    /// A step whose undo could not be made counts as undone: it was done by other means, or there was nothing to undo.
    TakeAsUndone {
        /// Which step.
        step: StepId,
    },
}

impl Action {
    /// What it is called.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Retry { edited: true, .. } => "edit-and-retry",
            Self::Retry { .. } => "retry",
            Self::Skip { .. } => "skip",
            Self::Pause => "pause",
            Self::Resume => "resume",
            Self::Cancel => "cancel",
            Self::Undo => "undo",
            Self::Deadline(_) => "deadline",
            Self::Label => "label",
            Self::RetryUndo { .. } => "retry-undo",
            Self::TakeAsUndone { .. } => "take-as-undone",
        }
    }

    /// The step that it is about.
    #[must_use]
    pub const fn step(self) -> Option<StepId> {
        match self {
            Self::Retry { step, .. }
            | Self::Skip { step, .. }
            | Self::RetryUndo { step, .. }
            | Self::TakeAsUndone { step } => Some(step),
            Self::Pause | Self::Resume | Self::Cancel | Self::Undo | Self::Deadline(_) | Self::Label => None,
        }
    }
}

impl fmt::Display for Action {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
