//! An order in three steps, across services that fail: reserve, charge, ship. The card of one customer is declined, so what
//! was reserved is given back. Run it: `cargo run -p steadfast --example saga`.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "an example: a poisoned lock or a bad policy may end it"
)]

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::resilience::{Pipeline, Retry};
use steadfast::{Engine, Failure, Outcome, Service, Workflow};

#[derive(Serialize, Deserialize)]
struct Order {
    id: u32,
    sku: String,
    card: String,
}

#[derive(Serialize, Deserialize)]
struct Reservation {
    shelf: u32,
}

/// The warehouse: another system, with books of its own. It knows requests by their keys, so that one that is repeated is
/// carried out once.
#[derive(Default)]
struct Warehouse {
    reserved: Mutex<BTreeMap<String, String>>,
    asked: Mutex<u32>,
}

impl Warehouse {
    /// The first two requests find it busy.
    fn reserve(&self, key: &str, sku: &str) -> Result<Reservation, Failure> {
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        if *asked <= 2 {
            return Err(Failure::refused("busy", "the warehouse is counting its stock"));
        }
        self.reserved.lock().unwrap().insert(key.to_owned(), sku.to_owned());
        Ok(Reservation { shelf: *asked })
    }

    fn give_back(&self, key: &str) {
        self.reserved.lock().unwrap().remove(key);
    }
}

fn place_order(warehouse: &Arc<Warehouse>) -> Result<Workflow<Order, String>, steadfast::Error> {
    // Each service has its own policy. In a program of your own it comes from a policy file.
    let quick = Retry::exponential().min_backoff(Duration::from_millis(10)).max_retries(5);
    let inventory = Service::new(Pipeline::builder("inventory").retry(quick).build().expect("a good policy"));
    let (payments, shipping) = (Service::standard("payments"), Service::standard("shipping"));

    let mut flow = Workflow::<Order>::builder("place-order").complete_within(Duration::from_secs(600));
    let (theirs, again) = (Arc::clone(warehouse), Arc::clone(warehouse));
    let reserve = flow
        .step("reserve", &inventory, move |cx| {
            let warehouse = Arc::clone(&theirs);
            async move { warehouse.reserve(&cx.key().to_string(), &cx.input.sku) }
        })
        .undo(move |cx| {
            let warehouse = Arc::clone(&again);
            // By the key of the step: it is safe also if nobody knows whether the reservation was made.
            async move {
                warehouse.give_back(&cx.step_key("reserve").to_string());
                Ok::<_, Failure>(())
            }
        })
        .undo_when_unknown()
        .add();
    let charge = flow
        .step("charge", &payments, |cx| async move {
            match cx.input.card.as_str() {
                "empty" => Err(Failure::terminal("declined", "the card is empty")),
                _ => Ok(format!("receipt {}", cx.input.id)),
            }
        })
        .after([reserve])
        .complete_within(Duration::from_secs(30))
        .undo_with_output(|_, receipt| async move {
            println!("  {receipt} is paid back");
            Ok::<_, Failure>(())
        })
        .add();
    flow.step("ship", &shipping, move |cx| async move {
        let reservation = cx.output(reserve)?;
        Ok::<_, Failure>(format!("from shelf {}", reservation.shelf))
    })
    .after([charge])
    .nothing_to_undo()
    .add();
    flow.returns(charge)
}

async fn run(address: &str) -> Result<(Vec<String>, usize), Box<dyn std::error::Error>> {
    let warehouse = Arc::new(Warehouse::default());
    let place_order = place_order(&warehouse)?;
    let engine = Engine::builder(address).workflow(&place_order).start().await?;
    let mut ends = Vec::new();
    for (id, card) in [(1, "full"), (2, "empty")] {
        let order = Order { id, sku: "a chair".to_owned(), card: card.to_owned() };
        let task = engine.submit(&place_order, &order).key(id).await?;
        let end = match task.outcome().await? {
            Outcome::Completed(receipt) => format!("order {id}: completed, {receipt}"),
            Outcome::Undone(why) => format!("order {id}: undone, because {why}"),
            Outcome::Failed(why) => format!("order {id}: an operator has to look: {why}"),
        };
        println!("{end}");
        ends.push(end);
    }
    engine.shut_down().await?;
    let left = warehouse.reserved.lock().unwrap().len();
    println!("{left} chair is reserved");
    Ok((ends, left))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    let address = format!("sqlite:{}", folder.path().join("orders.db").display());
    run(&address).await.map(drop)
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn the_example_runs() {
        let folder = tempfile::tempdir().unwrap();
        let address = format!("sqlite:{}", folder.path().join("orders.db").display());
        let (ends, left) = super::run(&address).await.unwrap();
        assert_eq!(ends[0], "order 1: completed, receipt 1");
        assert_eq!(ends[1], "order 2: undone, because step `charge` failed: declined: the card is empty");
        assert_eq!(left, 1);
    }
}
