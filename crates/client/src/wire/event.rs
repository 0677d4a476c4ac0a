//! The stream of a task's events: server-sent events whose `id` is the place in the task's history.

use serde::Serialize;

use super::task::{Change, Outcome};

/// The event that something of the task has changed; its data is a [`Change`].
pub const CHANGE: &str = "change";
/// The event that the task has come to rest, and nothing more comes; its data is an [`Outcome`], without the result.
pub const END: &str = "end";

/// One event as it comes over the wire, a line for each of these.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct ServerSent {
    /// `change` or `end`.
    pub event: String,
    /// The place in the task's history; `end` has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// A `Change` or an `Outcome`, as JSON.
    pub data: String,
}

/// Something that happened to a task.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Event {
    /// Something of it has changed.
    Changed(Change),
    /// It has come to rest.
    Ended(Outcome),
}
