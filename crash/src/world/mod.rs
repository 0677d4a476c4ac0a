//! What goes on: which task is of which workflow, what its services do, and how it must end.

mod definition;
mod ledger;
mod service;

pub(crate) use definition::COMPLETE_WITHIN;
pub use definition::{FAN, HOPELESS, PARENT, PARKED, SAGA, SILENT, definition, definitions};
pub use ledger::Ledger;
pub(crate) use ledger::append;
pub use service::workflows;

/// From this number on the service of all steps is away at first.
pub(crate) const FIRST_AWAY: u32 = 1_000_000;

/// The workflow of the task with this number.
#[must_use]
pub fn workflow_of(number: u32) -> &'static str {
    match number % 12 {
        _ if number >= FIRST_AWAY => PARKED,
        4 | 10 => FAN,
        5 | 11 => SILENT,
        9 => HOPELESS,
        2 | 7 => PARENT,
        _ => SAGA,
    }
}

/// The key under which it is submitted.
#[must_use]
pub fn key_of(number: u32) -> String {
    format!("key-{number}")
}

/// Whether one of its steps says no for good, so that it must end undone.
#[must_use]
pub fn is_refused(number: u32) -> bool {
    match workflow_of(number) {
        SAGA => number.is_multiple_of(3),
        FAN => number.is_multiple_of(4),
        // The saga that it asks for has the same number.
        PARENT => number % 24 == 2,
        _ => false,
    }
}

/// Whether it must end failed, and be told of.
#[must_use]
pub fn is_hopeless(number: u32) -> bool {
    workflow_of(number) == HOPELESS
}

/// Whether whoever submits it is told what becomes of it.
#[must_use]
pub fn is_replied_to(number: u32) -> bool {
    number % 4 < 2
}

/// Whether somebody wants it undone once it has completed.
#[must_use]
pub fn is_regretted(number: u32) -> bool {
    number % 6 == 1
}

/// What the call of a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// It is done.
    Do,
    /// It is refused for good, and not done.
    Refuse,
    /// Not now, and not done, at the first call; done at the next.
    BusyFirst,
    /// Done at the first call, but no answer comes; answered at the next.
    SilentFirst,
    /// Done at the first call, but answered too late, on a thread that is held meanwhile; in time at the next.
    LateFirst,
    /// Done, and answered later, at the URL that came with the call.
    DoAndCallBack,
    /// Not now, and not done, while the service is away; done when it is back.
    NotWhileAway,
}

/// What the step of a task does; undos are always done.
pub(crate) fn act_of(number: u32, step: &str) -> Act {
    match step {
        "ship" | "right" if is_refused(number) => Act::Refuse,
        "beg" => Act::Refuse,
        "ask" | "take" => Act::NotWhileAway,
        "left" => Act::BusyFirst,
        "note" => Act::DoAndCallBack,
        "send" if number % 12 == 5 => Act::LateFirst,
        "send" => Act::SilentFirst,
        _ => Act::Do,
    }
}
