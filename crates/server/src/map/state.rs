//! States, one for one.

use steadfast::{Block, StepState, TaskState, UndoState};
use steadfast_client::wire::state;

pub(crate) fn task(state: TaskState) -> state::TaskState {
    match state {
        TaskState::Pending => state::TaskState::Pending,
        TaskState::Running => state::TaskState::Running,
        TaskState::Waiting => state::TaskState::Waiting,
        TaskState::Paused => state::TaskState::Paused,
        TaskState::Undoing => state::TaskState::Undoing,
        TaskState::Failed => state::TaskState::Failed,
        TaskState::Completed => state::TaskState::Completed,
        TaskState::Undone => state::TaskState::Undone,
    }
}

pub(crate) fn of_task(state: state::TaskState) -> TaskState {
    match state {
        state::TaskState::Pending => TaskState::Pending,
        state::TaskState::Running => TaskState::Running,
        state::TaskState::Waiting => TaskState::Waiting,
        state::TaskState::Paused => TaskState::Paused,
        state::TaskState::Undoing => TaskState::Undoing,
        state::TaskState::Failed => TaskState::Failed,
        state::TaskState::Completed => TaskState::Completed,
        state::TaskState::Undone => TaskState::Undone,
    }
}

pub(crate) fn step(state: StepState) -> state::StepState {
    match state {
        StepState::Pending => state::StepState::Pending,
        StepState::Ready => state::StepState::Ready,
        StepState::Parked => state::StepState::Parked,
        StepState::Running => state::StepState::Running,
        StepState::Waiting => state::StepState::Waiting,
        StepState::Unknown => state::StepState::Unknown,
        StepState::Failed => state::StepState::Failed,
        StepState::Undoing => state::StepState::Undoing,
        StepState::UndoFailed => state::StepState::UndoFailed,
        StepState::Completed => state::StepState::Completed,
        StepState::Skipped => state::StepState::Skipped,
        StepState::Undone => state::StepState::Undone,
    }
}

pub(crate) fn undo(state: UndoState) -> state::UndoState {
    match state {
        UndoState::None => state::UndoState::None,
        UndoState::Pending => state::UndoState::Pending,
        UndoState::Ready => state::UndoState::Ready,
        UndoState::Parked => state::UndoState::Parked,
        UndoState::Running => state::UndoState::Running,
        UndoState::Waiting => state::UndoState::Waiting,
        UndoState::Failed => state::UndoState::Failed,
        UndoState::Done => state::UndoState::Done,
    }
}

/// What a parked step waits for, by one word.
pub(crate) fn block(block: &Block) -> String {
    let word = match block {
        Block::Breaker => "breaker",
        Block::Limit => "limit",
        Block::NoHandler => "no_handler",
        Block::Suspect => "suspect",
        _ => "other",
    };
    word.to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_of_a_task_goes_there_and_back() {
        for state in state::TaskState::ALL {
            assert_eq!(task(of_task(state)), state);
            assert_eq!(of_task(state).is_at_rest(), state.is_at_rest());
        }
    }
}
