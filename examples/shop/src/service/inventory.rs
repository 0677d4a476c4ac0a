//! Reserves stock, and releases it.

use serde::Deserialize;

use super::Asked;
use crate::ledger::{Answer, Ledger};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Reserve {
    order: i64,
    #[serde(rename = "sku")]
    _sku: String,
    #[serde(rename = "quantity")]
    _quantity: u32,
}

/// `POST /reservations`, `DELETE /reservations/ID`.
pub(super) fn answer(ledger: &mut Ledger, asked: &Asked<'_>) -> Answer {
    match (asked.method.as_str(), &asked.path[..]) {
        ("POST", ["reservations"]) => match asked.read::<Reserve>() {
            Ok(reserve) => ledger.make("r", asked.key, reserve.order, asked.body),
            Err(refusal) => refusal,
        },
        ("DELETE", ["reservations", id]) => ledger.take_back(id),
        _ => asked.unknown(),
    }
}
