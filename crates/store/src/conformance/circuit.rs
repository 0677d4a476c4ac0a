//! What is known of services' circuits.

use super::*;
use crate::{Circuit, Circuits as _, Kept};

fn circuit(service: &str, version: u64, words: &str) -> Circuit {
    Circuit { service: Arc::from(service), version, body: bytes(words) }
}

/// B16: of two who have read the same, one writes; the other is told what stands.
pub async fn a_circuit_is_written_by_who_has_read_it_last<H: Harness>(harness: &H) {
    let store = harness.store();
    assert!(ok(store.circuits().await).is_empty());
    let first = vec![circuit("b", 0, "open"), circuit("a", 0, "open")];
    assert_eq!(ok(store.keep(first).await), [Kept::Done(1), Kept::Done(1)]);
    let again = vec![circuit("a", 0, "mine"), circuit("a", 1, "closed"), circuit("a", 1, "late")];
    let told = ok(store.keep(again).await);
    let stands = |version, words| Kept::Other(Some(circuit("a", version, words)));
    assert_eq!(told, [stands(1, "open"), Kept::Done(2), stands(2, "closed")]);
    assert_eq!(ok(store.keep(vec![circuit("c", 3, "lost")]).await), [Kept::Other(None)]);
    assert_eq!(ok(store.circuits().await), [circuit("a", 2, "closed"), circuit("b", 1, "open")]);
}
