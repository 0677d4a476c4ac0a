//! Links of the OpenAPI document: from an answer that names something to what can be asked of it. Whoever reads the document by
//! program, such as a tool that tests it, goes on from there.

use utoipa::openapi::RefOr;
use utoipa::openapi::link::LinkBuilder;
use utoipa::openapi::path::Operation;

/// From the answers of some operations, by a value in them, to others that take it as a part of their address.
pub(crate) struct Way {
    pub(crate) from: &'static [&'static str],
    /// The part of the address, and where it is in the answer.
    pub(crate) part: &'static str,
    pub(crate) found: &'static str,
    pub(crate) to: &'static [&'static str],
}

const ASKED_OF_TASKS: [&str; 16] = [
    "task",
    "why",
    "history",
    "events",
    "children",
    "signal",
    "retry",
    "skip",
    "pause",
    "resume",
    "cancel",
    "undo",
    "deadline",
    "retry_undo",
    "take_as_undone",
    "label",
];

/// All of them.
pub(crate) const WAYS: [Way; 7] = [
    Way { from: &["submit"], part: "id", found: "$response.body#/id", to: &ASKED_OF_TASKS },
    Way {
        from: &["submit_batch", "tasks"],
        part: "id",
        found: "$response.body#/tasks/0/id",
        to: &ASKED_OF_TASKS,
    },
    Way {
        from: &["prepare_bulk"],
        part: "id",
        found: "$response.body#/bulk/id",
        to: &["bulk", "bulk_tasks", "begin_bulk", "stop_bulk"],
    },
    Way { from: &["bulks"], part: "id", found: "$response.body#/bulks/0/id", to: &["bulk", "bulk_tasks"] },
    Way {
        from: &["put_schedule"],
        part: "name",
        found: "$response.body#/name",
        to: &["pause_schedule", "resume_schedule", "delete_schedule"],
    },
    Way { from: &["apply_workflow"], part: "name", found: "$response.body#/name", to: &["workflow"] },
    Way {
        from: &["services"],
        part: "service",
        found: "$response.body#/services/0/name",
        to: &[
            "breaker",
            "reset_breaker",
            "open_breaker",
            "close_breaker",
            "half_open_breaker",
            "probe_breaker",
        ],
    },
];

/// Adds to the good answers of an operation where they lead.
pub(crate) fn lead_on(operation: &mut Operation) {
    let Some(own) = operation.operation_id.clone() else { return };
    for way in WAYS.iter().filter(|way| way.from.contains(&&*own)) {
        for (status, response) in &mut operation.responses.responses {
            let RefOr::T(response) = response else { continue };
            if !status.starts_with('2') {
                continue;
            }
            for to in way.to {
                let link = LinkBuilder::new().operation_id(*to).parameter(way.part, way.found).build();
                response.links.insert((*to).to_owned(), RefOr::T(link));
            }
        }
    }
}
