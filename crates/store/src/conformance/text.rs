//! Workflows that came as texts.

use super::*;
use crate::{Kind, MAX_PAYLOAD, PutText, WorkflowText, WorkflowTexts as _};

fn text(name: &str, version: u32, words: &str) -> WorkflowText {
    let (name, text) = (Arc::from(name), Arc::from(words));
    let (digest, format) = (Arc::from(format!("of {words}")), Arc::from("yaml"));
    WorkflowText { name, version, digest, format, text, at: Time::from_millis(0) }
}

/// W9: whoever comes second is told what stands, and nothing of it changes.
pub async fn a_version_of_a_workflow_is_stored_once_and_never_changes<H: Harness>(harness: &H) {
    let store = harness.store();
    assert!(ok(store.workflow_texts().await).is_empty());
    let before = ok(store.now().await);
    let first = vec![text("pay", 2, "two"), text("pay", 1, "one"), text("buy", 7, "seven")];
    assert_eq!(ok(store.put_texts(first).await), [PutText::Done, PutText::Done, PutText::Done]);
    harness.advance(Duration::from_secs(1));
    let again = ok(store.put_texts(vec![text("pay", 1, "other"), text("pay", 3, "three")]).await);
    let all = ok(store.workflow_texts().await);
    let words: Vec<_> = all.iter().map(|text| (&*text.name, text.version, &*text.text)).collect();
    assert_eq!(words, [("buy", 7, "seven"), ("pay", 1, "one"), ("pay", 2, "two"), ("pay", 3, "three")]);
    assert_eq!(again, [PutText::Stands(all[1].clone()), PutText::Done]);
    assert!(all[0].at >= before && all[3].at > all[0].at, "the store says when");
}

/// Limits are named, and nothing of such a batch is stored.
pub async fn a_text_that_is_too_large_is_refused<H: Harness>(harness: &H) {
    let store = harness.store();
    let large = text("pay", 1, &"x".repeat(MAX_PAYLOAD + 1));
    let put = store.put_texts(vec![text("buy", 1, "fits"), large]).await;
    assert_eq!(put.map_err(|error| error.kind()), Err(Kind::TooLarge));
    assert!(ok(store.workflow_texts().await).is_empty());
}
