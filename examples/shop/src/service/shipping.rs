//! Sends parcels, and calls them back. Nobody carries the cursed lamp.

use serde::Deserialize;

use super::Asked;
use crate::ledger::{Answer, Ledger};
use crate::order::CURSED;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ship {
    order: i64,
    sku: String,
    #[serde(rename = "quantity")]
    _quantity: u32,
}

/// `POST /shipments`, `DELETE /shipments/ID`.
pub(super) fn answer(ledger: &mut Ledger, asked: &Asked<'_>) -> Answer {
    match (asked.method.as_str(), &asked.path[..]) {
        ("POST", ["shipments"]) => match asked.read::<Ship>() {
            Ok(ship) if ship.sku == CURSED => Answer::refusal(422, "nobody carries a cursed lamp"),
            Ok(ship) => ledger.make("s", asked.key, ship.order, asked.body),
            Err(refusal) => refusal,
        },
        ("DELETE", ["shipments", id]) => ledger.take_back(id),
        _ => asked.unknown(),
    }
}
