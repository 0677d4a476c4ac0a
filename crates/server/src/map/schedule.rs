//! Schedules.

use steadfast::{Declared, Missed, Overlap, ScheduleStatus, rfc3339};
use steadfast_client::wire::schedule::{self, Run, Schedule};

use super::when;

pub(crate) fn schedule(from: &ScheduleStatus) -> Schedule {
    let run = |run: &steadfast::LastRun| Run {
        instant: rfc3339(run.instant),
        task: run.task.to_string(),
        at: rfc3339(run.at),
    };
    let error = |error: &steadfast::LastError| format!("{}: {}", rfc3339(error.instant), error.message);
    Schedule {
        name: from.name.to_string(),
        workflow: from.workflow.to_string(),
        version: from.version,
        namespace: from.namespace.to_string(),
        when: from.when.to_string(),
        time_zone: from.zone.to_string(),
        missed: missed(from.missed),
        overlap: overlap(from.overlap),
        paused_since: when(from.paused_since),
        next: when(from.next),
        last: from.last.as_ref().map(run),
        last_error: from.last_error.as_ref().map(error),
        runs: from.runs,
        skipped_missed: from.skipped_missed,
        skipped_overlap: from.skipped_overlap,
    }
}

fn missed(from: Missed) -> schedule::Missed {
    match from {
        Missed::Skip => schedule::Missed::Skip,
        Missed::RunOnce => schedule::Missed::RunOnce,
        Missed::RunAll { most } => schedule::Missed::RunAll { most },
    }
}

pub(crate) fn of_missed(from: schedule::Missed) -> Missed {
    match from {
        schedule::Missed::Skip => Missed::Skip,
        schedule::Missed::RunOnce => Missed::RunOnce,
        schedule::Missed::RunAll { most } => Missed::RunAll { most },
    }
}

fn overlap(from: Overlap) -> schedule::Overlap {
    match from {
        Overlap::Allow => schedule::Overlap::Allow,
        Overlap::Skip => schedule::Overlap::Skip,
        Overlap::QueueOne => schedule::Overlap::QueueOne,
        Overlap::CancelPrevious => schedule::Overlap::CancelPrevious,
    }
}

pub(crate) fn of_overlap(from: schedule::Overlap) -> Overlap {
    match from {
        schedule::Overlap::Allow => Overlap::Allow,
        schedule::Overlap::Skip => Overlap::Skip,
        schedule::Overlap::QueueOne => Overlap::QueueOne,
        schedule::Overlap::CancelPrevious => Overlap::CancelPrevious,
    }
}

pub(crate) fn declared(from: Declared) -> schedule::Declared {
    match from {
        Declared::New => schedule::Declared::New,
        Declared::Same => schedule::Declared::Same,
        Declared::Changed => schedule::Declared::Changed,
    }
}
