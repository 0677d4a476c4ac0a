//! A shop that writes the order and its task in one transaction of its own, and reads from a queue what became of it. One order is
//! rolled back, and never was. Run it: `cargo run -p steadfast --example order_row`.

use std::path::Path;

use serde::{Deserialize, Serialize};
use steadfast::rusqlite::{Connection, TransactionBehavior};
use steadfast::{Engine, Failure, ReplyTo, Says, Service, Workflow};

#[derive(Serialize, Deserialize)]
struct Order {
    number: u32,
    what: String,
}

fn place_order() -> Result<Workflow<Order, String>, steadfast::Error> {
    let (inventory, shipping) = (Service::standard("inventory"), Service::standard("shipping"));
    let mut flow = Workflow::<Order>::builder("place-order");
    let reserve = flow
        .step("reserve", &inventory, |_| async { Ok::<_, Failure>(()) })
        .undo(|_| async { Ok::<_, Failure>(()) })
        .add();
    let ship = flow
        .step("ship", &shipping, |cx| async move {
            match cx.input.what.as_str() {
                "a piano" => Err(Failure::terminal("too-heavy", "nobody carries pianos")),
                what => Ok(format!("{what} is on its way")),
            }
        })
        .after(reserve)
        .nothing_to_undo()
        .add();
    flow.returns(ship)
}

/// The shop's own tables, in the engine's file.
fn connect(file: &Path) -> Result<Connection, steadfast::rusqlite::Error> {
    let shop = Connection::open(file)?;
    shop.busy_timeout(std::time::Duration::from_secs(5))?;
    shop.pragma_update(None, "synchronous", "FULL")?;
    shop.execute_batch(
        "CREATE TABLE IF NOT EXISTS orders (number INTEGER PRIMARY KEY, what TEXT, status TEXT, task TEXT)",
    )?;
    Ok(shop)
}

async fn run(file: &Path) -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let place_order = place_order()?;
    let engine = Engine::builder(format!("sqlite:{}", file.display())).workflow(&place_order).start().await?;
    let mut shop = connect(file)?;
    for (number, what, wanted) in [(1, "a chair", true), (2, "a piano", true), (3, "a tower", false)] {
        let order = Order { number, what: what.to_owned() };
        let transaction = shop.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let submit = engine.submit_in(&place_order, &order).key(number);
        let submit = submit.reply_to(&ReplyTo::queue("orders")).correlation(number);
        let row = (number, what, submit.id().to_string());
        transaction.execute("INSERT INTO orders VALUES (?, ?, 'placed', ?)", row)?;
        submit.write(&transaction)?;
        match wanted {
            true => transaction.commit()?,
            false => transaction.rollback()?, // the customer has changed their mind: neither order nor task
        }
    }
    let replies = engine.replies("orders");
    let mut open = 2;
    while open > 0 {
        for reply in replies.wait(10).await? {
            let number: u32 = reply.correlation.as_deref().unwrap_or_default().parse()?;
            let status = match &reply.says {
                Says::Received => "received".to_owned(),
                Says::Completed { result } => serde_json::from_slice(result)?,
                Says::Undone { reason } => format!("not sent: {reason}"),
                Says::Failed { reason } => format!("we look after it: {reason}"),
                _ => continue,
            };
            open -= u32::from(!matches!(reply.says, Says::Received));
            // In the shop's own table; a reply that comes twice says the same twice.
            shop.execute("UPDATE orders SET status = ? WHERE number = ?", (&status, number))?;
            replies.acknowledge([reply.id]).await?;
        }
    }
    engine.shut_down().await?;
    let mut find = shop.prepare("SELECT number, what, status FROM orders ORDER BY number")?;
    let lines = find.query_map([], |row| {
        let (number, what, status) =
            (row.get::<_, u32>(0)?, row.get::<_, String>(1)?, row.get::<_, String>(2)?);
        Ok(format!("order {number}, {what}: {status}"))
    })?;
    Ok(lines.collect::<Result<_, _>>()?)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = tempfile::tempdir()?;
    for line in run(&folder.path().join("shop.db")).await? {
        println!("{line}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn the_example_runs() {
        let folder = tempfile::tempdir().unwrap();
        let lines = super::run(&folder.path().join("shop.db")).await.unwrap();
        assert_eq!(
            lines,
            [
                "order 1, a chair: a chair is on its way",
                "order 2, a piano: not sent: step `ship` failed: too-heavy: nobody carries pianos",
            ]
        );
    }
}
