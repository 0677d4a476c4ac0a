//! Nodes.

use super::*;

/// Not by the node's.
pub async fn a_lease_ends_by_the_stores_clock<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let began = store.now().await;
    store.submit(&[1]).await;
    assert_eq!(ok(store.0.renew(A, s(10)).await), began + s(10));
    assert_eq!(ok(store.0.claim(A, 1).await).len(), 1);
    harness.advance(s(9));
    assert_eq!(ok(store.0.renew(A, s(10)).await), began + s(19));
    harness.advance(s(9));
    assert!(store.claim(B, 1).await.is_empty(), "it was renewed");
    harness.advance(s(1));
    assert_eq!(store.claim(B, 1).await.len(), 1);
}

/// A node that ends in good order does not let its tasks wait for the lease.
pub async fn who_leaves_leaves_its_tasks<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    store.claimed(1).await;
    assert!(store.claim(B, 1).await.is_empty());
    ok(store.0.leave(A).await);
    assert_eq!(store.claim(B, 1).await.len(), 1);
    ok(store.0.leave(A).await);
}

/// Whatever the machine's clock does.
pub async fn time_never_goes_back<H: Harness>(harness: &H) {
    let store = Tried(harness.store());
    let mut last = store.now().await;
    for _ in 0..10 {
        harness.advance(Duration::from_millis(1));
        let now = store.now().await;
        assert!(now >= last);
        last = now;
    }
}
