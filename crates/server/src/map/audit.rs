//! The audit log.

use serde_json::Value;
use steadfast::{Audited, rfc3339};
use steadfast_client::wire::audit::Audit;

pub(crate) fn audit(from: &Audited) -> Audit {
    let Audited { at, audit } = from;
    // What the engine writes is JSON; what cannot be read is shown as the text that it is.
    let as_text = |_| Value::String(String::from_utf8_lossy(&audit.detail).into_owned());
    let detail = if audit.detail.is_empty() {
        Value::Null
    } else {
        serde_json::from_slice(&audit.detail).unwrap_or_else(as_text)
    };
    let about = detail.get("about").and_then(Value::as_str).filter(|_| audit.task.is_none());
    Audit {
        about: about.map(str::to_owned),
        id: audit.id.to_string(),
        at: rfc3339(*at),
        task: audit.task.map(|task| task.to_string()),
        by: audit.by.to_string(),
        because: audit.why.to_string(),
        action: audit.action.to_string(),
        refused: audit.refused.as_deref().map(str::to_owned),
        detail,
    }
}
