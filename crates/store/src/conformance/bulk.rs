//! Many tasks of which an operator asks the same.

use super::*;
use crate::{AuditId, Bulk, Bulks as _, PutBulk};

fn bulk(number: u128, version: u64, words: &str) -> Bulk {
    Bulk { id: AuditId::from_u128(number), version, tasks: 0, under_way: false, body: bytes(words) }
}

/// And its tasks are in the order in which they were added, each write as a whole.
pub async fn a_bulk_is_written_by_who_has_read_it_last<H: Harness>(harness: &H) {
    let store = harness.store();
    let of = AuditId::from_u128(5);
    assert_eq!(ok(store.put_bulk(bulk(5, 1, "x"), vec![]).await), PutBulk::Other(None));
    assert_eq!(ok(store.put_bulk(bulk(5, 0, "new"), vec![id(9), id(3)]).await), PutBulk::Done(1));
    assert_eq!(ok(store.put_bulk(bulk(5, 1, "more"), vec![id(7)]).await), PutBulk::Done(2));
    let stands = Bulk { tasks: 3, ..bulk(5, 2, "more") };
    for stale in [0, 1, 3] {
        let put = ok(store.put_bulk(bulk(5, stale, "stale"), vec![id(1)]).await);
        assert_eq!(put, PutBulk::Other(Some(stands.clone())));
    }
    assert_eq!(ok(store.bulk(of).await), Some(stands.clone()));
    assert_eq!(ok(store.bulk_tasks(of, 0, 9).await), [id(9), id(3), id(7)]);
    assert_eq!(ok(store.bulk_tasks(of, 1, 1).await), [id(3)]);
    assert_eq!(ok(store.bulk_tasks(of, 3, 9).await), []);
    assert_eq!(ok(store.put_bulk(bulk(6, 0, "other"), vec![]).await), PutBulk::Done(1));
    assert_eq!(ok(store.bulks(9).await), [bulk(6, 1, "other"), stands]);
    assert_eq!(ok(store.bulks(1).await).len(), 1);
    assert_eq!(ok(store.bulk(AuditId::from_u128(7)).await), None);
    for (number, version) in [(9, 0), (6, 1), (8, 0), (5, 2)] {
        let under_way = Bulk { under_way: number != 5, ..bulk(number, version, "x") };
        assert_eq!(ok(store.put_bulk(under_way, vec![]).await), PutBulk::Done(version + 1));
    }
    let found = ok(store.bulks_under_way(2).await);
    assert_eq!(found.iter().map(|bulk| bulk.id.as_u128()).collect::<Vec<_>>(), [6, 8]);
    let over = Bulk { under_way: false, ..bulk(6, 2, "over") };
    assert_eq!(ok(store.put_bulk(over, vec![]).await), PutBulk::Done(3));
    let found = ok(store.bulks_under_way(9).await);
    assert_eq!(found.iter().map(|bulk| bulk.id.as_u128()).collect::<Vec<_>>(), [8, 9]);
    let many = vec![id(1); crate::MAX_ADDED + 1];
    let refused = store.put_bulk(bulk(11, 0, "many"), many).await;
    assert_eq!(refused.map_err(|error| error.kind()), Err(crate::Kind::TooLarge));
}
