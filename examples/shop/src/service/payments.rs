//! Charges cards, and refunds charges by the key that they were made under: so a charge can be taken back of which nobody
//! knows whether it was made.

use serde::Deserialize;

use super::Asked;
use crate::ledger::{Answer, Ledger};
use crate::order::DECLINED_CARD;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Charge {
    order: i64,
    #[serde(rename = "amount_cents")]
    _amount_cents: u32,
    card: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refund {
    key: String,
}

/// `POST /charges`, `POST /refunds`.
pub(super) fn answer(ledger: &mut Ledger, asked: &Asked<'_>) -> Answer {
    match (asked.method.as_str(), &asked.path[..]) {
        ("POST", ["charges"]) => match asked.read::<Charge>() {
            Ok(charge) if charge.card == DECLINED_CARD => Answer::refusal(402, "the card is declined"),
            Ok(charge) => ledger.make("c", asked.key, charge.order, asked.body),
            Err(refusal) => refusal,
        },
        ("POST", ["refunds"]) => match asked.read::<Refund>() {
            Ok(refund) => ledger.take_back_by_key(&refund.key),
            Err(refusal) => refusal,
        },
        _ => asked.unknown(),
    }
}
