//! Orders: what customers want, and how far it has come.

use serde::{Deserialize, Serialize};
use steadfast::TaskId;

use crate::error::Error;

/// Shipping refuses it, and always will.
pub const CURSED: &str = "cursed-lamp";
/// What the cursed one is mended to.
pub const BLESSED: &str = "lamp";
/// What can be bought, with its price in cents.
pub const GOODS: [(&str, u32); 5] =
    [(BLESSED, 2_990), ("chair", 7_900), ("kettle", 3_490), ("rug", 12_900), (CURSED, 2_990)];

/// A card that pays.
pub const GOOD_CARD: &str = "good";
/// A card that is declined.
pub const DECLINED_CARD: &str = "declined";
/// The cards that customers have.
pub const CARDS: [&str; 2] = [GOOD_CARD, DECLINED_CARD];

/// The most pieces of one order: prices stay far below what fits a number.
pub const MAX_QUANTITY: u32 = 99;

/// What a customer wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    sku: &'static str,
    quantity: u32,
    card: &'static str,
    total_cents: u32,
}

impl Wanted {
    /// So many of these, paid by this card.
    ///
    /// # Errors
    /// There is no such thing or card, or it is too many.
    pub fn new(sku: &str, quantity: u32, card: &str) -> Result<Self, Error> {
        let bad = |words: String| Err(Error::BadOrder(words));
        let Some((sku, price)) = GOODS.into_iter().find(|(name, _)| *name == sku) else {
            let names = GOODS.map(|(name, _)| name).join(", ");
            return bad(format!("there is no `{}` in the shop: there are {names}", shortened(sku)));
        };
        let Some(card) = CARDS.into_iter().find(|name| *name == card) else {
            return bad(format!("there is no card `{}`: there are {}", shortened(card), CARDS.join(", ")));
        };
        if quantity == 0 || quantity > MAX_QUANTITY {
            return bad(format!("the quantity is {quantity}: it is from 1 to {MAX_QUANTITY}"));
        }
        Ok(Self { sku, quantity, card, total_cents: price * quantity })
    }

    /// One of these, with a good card. What is not in the shop is a lamp.
    #[must_use]
    pub fn one(sku: &str) -> Self {
        let (sku, total_cents) = GOODS.into_iter().find(|(name, _)| *name == sku).unwrap_or(GOODS[0]);
        Self { sku, quantity: 1, card: GOOD_CARD, total_cents }
    }

    /// The same, with a card that is declined.
    #[must_use]
    pub fn declined(mut self) -> Self {
        self.card = DECLINED_CARD;
        self
    }

    /// As the order of this number.
    #[must_use]
    pub fn into_order(self, number: i64) -> Order {
        let Self { sku, quantity, card, total_cents } = self;
        Order { order: number, sku: sku.to_owned(), quantity, card: card.to_owned(), total_cents }
    }
}

/// The beginning of what somebody has typed.
fn shortened(text: &str) -> String {
    /// As much as a name in the shop could have, twice.
    const MOST: usize = 24;
    text.chars().take(MOST).collect()
}

/// An order, as the workflow gets it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Order {
    /// Its number.
    pub order: i64,
    /// What it is.
    pub sku: String,
    /// How many.
    pub quantity: u32,
    /// Who pays.
    pub card: String,
    /// The price of all of it.
    pub total_cents: u32,
}

/// How far an order has come, as the customer is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// It is written, with its task.
    Placed,
    /// The engine has it.
    Received,
    /// It is on its way.
    Completed,
    /// Everything was taken back.
    Undone,
    /// An operator looks after it.
    Failed,
}

impl Status {
    /// All of them, in the order in which they come.
    pub const ALL: [Self; 5] = [Self::Placed, Self::Received, Self::Completed, Self::Undone, Self::Failed];

    /// As it is stored and shown.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Placed => "placed",
            Self::Received => "received",
            Self::Completed => "completed",
            Self::Undone => "undone",
            Self::Failed => "failed",
        }
    }

    /// The one of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.name() == name)
    }

    /// Whether nothing more will happen.
    #[must_use]
    pub const fn has_ended(self) -> bool {
        matches!(self, Self::Completed | Self::Undone)
    }
}

/// A row of the table `orders`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The order.
    pub order: Order,
    /// How far it has come.
    pub status: Status,
    /// Why, if it did not complete.
    pub words: String,
    /// Its task.
    pub task: TaskId,
    /// When it was placed, in milliseconds since 1970.
    pub placed_at_ms: i64,
    /// When its status changed last, in milliseconds since 1970.
    pub changed_at_ms: i64,
}

impl Row {
    /// The order's number.
    #[must_use]
    pub const fn number(&self) -> i64 {
        self.order.order
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_that_makes_no_sense_is_refused_with_what_was_expected() {
        for (sku, quantity, card, words) in [
            ("sofa", 1, GOOD_CARD, "there is no `sofa` in the shop: there are lamp, chair"),
            ("lamp", 0, GOOD_CARD, "the quantity is 0: it is from 1 to 99"),
            ("lamp", 100, GOOD_CARD, "the quantity is 100: it is from 1 to 99"),
            ("lamp", 1, "stolen", "there is no card `stolen`: there are good, declined"),
        ] {
            let error = Wanted::new(sku, quantity, card).unwrap_err().to_string();
            assert!(error.contains(words), "{error}");
        }
        let long = Wanted::new(&"x".repeat(1_000), 1, GOOD_CARD).unwrap_err().to_string();
        assert!(long.len() < 200, "{long}");
    }

    #[test]
    fn the_price_is_that_of_all_pieces() {
        let order = Wanted::new("chair", 3, GOOD_CARD).unwrap().into_order(7);
        assert_eq!((order.order, order.total_cents), (7, 23_700));
    }

    #[test]
    fn every_status_is_found_by_its_name() {
        for status in Status::ALL {
            assert_eq!(Status::named(status.name()), Some(status));
        }
        assert_eq!(Status::named("lost"), None);
    }
}
