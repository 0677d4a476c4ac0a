//! Bulks.

use steadfast::{BulkState, BulkStatus, Wanted, rfc3339};
use steadfast_client::wire::bulk::{self, Action};

use super::snake;
use crate::problem::Refusal;
use crate::span::time;

pub(crate) fn bulk(from: BulkStatus) -> bulk::Bulk {
    let record = from.record;
    bulk::Bulk {
        id: from.id.to_string(),
        state: state(record.state),
        action: snake(record.wanted.name()),
        about: about(&record.wanted),
        by: record.by,
        because: record.why,
        looked_for: record.looked_for,
        rate: record.rate,
        tasks: from.tasks,
        asked: record.next,
        done: record.done,
        refused: record.refused,
    }
}

/// Whoever begins a bulk may be another than who has prepared it.
fn about(wanted: &Wanted) -> Option<String> {
    let step = |step: &str, known: Option<&str>| {
        let known = known.map(|known| format!(", which {known}")).unwrap_or_default();
        Some(format!("step `{step}`{known}"))
    };
    match wanted {
        Wanted::Whole(steadfast::Action::Deadline(Some(at))) => Some(format!("until {}", rfc3339(*at))),
        Wanted::Whole(steadfast::Action::Deadline(None)) => Some("without a limit".to_owned()),
        Wanted::Retry { step: name, did_not_happen } => {
            step(name, did_not_happen.then_some("did not happen"))
        }
        Wanted::Skip { step: name, happened } | Wanted::RetryUndo { step: name, happened } => {
            step(name, happened.then_some("happened"))
        }
        Wanted::TakeAsUndone { step: name } => step(name, None),
        _ => None,
    }
}

fn state(from: BulkState) -> bulk::BulkState {
    match from {
        BulkState::Preparing => bulk::BulkState::Preparing,
        BulkState::Prepared => bulk::BulkState::Prepared,
        BulkState::Running => bulk::BulkState::Running,
        BulkState::Stopped => bulk::BulkState::Stopped,
        // Nothing more is asked of anybody.
        _ => bulk::BulkState::Over,
    }
}

pub(crate) fn wanted(action: Action) -> Result<Wanted, Refusal> {
    Ok(match action {
        Action::Pause => Wanted::Whole(steadfast::Action::Pause),
        Action::Resume => Wanted::Whole(steadfast::Action::Resume),
        Action::Cancel => Wanted::Whole(steadfast::Action::Cancel),
        Action::Undo => Wanted::Whole(steadfast::Action::Undo),
        Action::Deadline { at } => {
            let at = at.as_deref().map(time).transpose();
            let at = at.map_err(|why| Refusal::body("action.deadline.at", why))?;
            Wanted::Whole(steadfast::Action::Deadline(at))
        }
        Action::Retry { step, did_not_happen } => Wanted::Retry { step, did_not_happen },
        Action::Skip { step, happened } => Wanted::Skip { step, happened },
        Action::RetryUndo { step, happened } => Wanted::RetryUndo { step, happened },
        Action::TakeAsUndone { step } => Wanted::TakeAsUndone { step },
    })
}
