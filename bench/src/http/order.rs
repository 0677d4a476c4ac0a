//! The task that is measured: its input, its three calls, and what each of them gives.

use serde::{Deserialize, Serialize};

/// The steps, in their order; each is a path of the service.
pub(super) const STEPS: [&str; 3] = ["reserve", "charge", "send"];

/// What a task is submitted with, and what each call sends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) sku: String,
    pub(super) total: u32,
}

/// What the service answers.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(super) struct Receipt {
    pub(super) of: String,
    pub(super) total: u32,
}

impl Order {
    /// The one that all tasks are submitted with.
    pub(super) fn chair() -> Self {
        Self { sku: "a chair made of oak".to_owned(), total: 70 }
    }
}

/// The same calls as a workflow.
pub(super) const WORKFLOW: &str = "\
workflow: order
complete_within: 10m
returns: send
steps:
  reserve:
    service: shop
    nothing_to_undo: true
    request: { method: POST, path: /reserve, body: { sku: \"${input.sku}\", total: \"${input.total}\" } }
  charge:
    after: reserve
    service: shop
    nothing_to_undo: true
    request: { method: POST, path: /charge, body: { sku: \"${input.sku}\", total: \"${input.total}\" } }
  send:
    after: charge
    service: shop
    nothing_to_undo: true
    request: { method: POST, path: /send, body: { sku: \"${input.sku}\", total: \"${input.total}\" } }
";
