//! Orders above a limit wait for somebody's yes. One is approved, one is turned down, and one is forgotten: after its time it is
//! turned back, and what was reserved is given back. Small orders do not wait at all.
//! Run it: `cargo run -p steadfast --example approval`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::{Engine, Failure, Outcome, Service, Workflow};

/// Orders up to this are not asked about.
const LIMIT: u32 = 1_000;
/// How long a yes is waited for: days in a real shop, and short here.
const PATIENCE: Duration = Duration::from_millis(300);

#[derive(Clone, Serialize, Deserialize)]
struct Order {
    what: String,
    total: u32,
}

/// What somebody decides about an order.
#[derive(Serialize, Deserialize)]
struct Approval {
    by: String,
    yes: bool,
}

fn place_order() -> Result<Workflow<Order, String>, steadfast::Error> {
    let (inventory, shipping) = (Service::standard("inventory"), Service::standard("shipping"));
    let mut flow = Workflow::<Order>::builder("place-order");
    let reserve = flow
        .step("reserve", &inventory, |_| async { Ok::<_, Failure>(()) })
        .undo(|cx| async move {
            println!("  {} is back in stock", cx.input.what);
            Ok::<_, Failure>(())
        })
        .add();
    // Nothing is held while it waits: the task is out of memory when that takes long, and goes on after a restart.
    let approved = flow
        .signal::<Approval>("approval")
        .after(reserve)
        .when(|seen| seen.input.total > LIMIT)
        .timeout(PATIENCE)
        .add();
    let ship = flow
        .step("ship", &shipping, move |cx| async move {
            let by = match cx.input.total > LIMIT {
                true => match cx.output(approved)? {
                    Approval { by, yes: true } => format!("by the leave of {by}"),
                    Approval { by, .. } => {
                        return Err(Failure::terminal("turned-down", format!("{by} says no")));
                    }
                },
                false => "without asking".to_owned(),
            };
            Ok(format!("{} is on its way, {by}", cx.input.what))
        })
        .after((reserve, approved))
        .nothing_to_undo()
        .add();
    flow.returns(ship)
}

async fn run() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let place_order = place_order()?;
    let engine = Engine::builder("memory:").workflow(&place_order).start().await?;
    let mut ends = Vec::new();
    for (what, total, says) in [
        ("a chair", 70, None),
        ("a piano", 9_000, Some(("ann", true))),
        ("an organ", 90_000, Some(("bob", false))),
        ("a tower", 900_000, None),
    ] {
        let order = Order { what: what.to_owned(), total };
        let task = engine.submit(&place_order, &order).key(what).await?;
        if let Some((by, yes)) = says {
            // Sent twice by somebody who is not sure: under one id it counts once. It may come before its wait has begun.
            for _ in 0..2 {
                let approval = Approval { by: by.to_owned(), yes };
                task.signal("approval", &approval).id(format!("{what}-1")).await?;
            }
        }
        let end = match task.outcome().await? {
            Outcome::Completed(end) => end,
            Outcome::Undone(why) => format!("{what} is not sent: {why}"),
            Outcome::Failed(why) => format!("an operator has to look: {why}"),
        };
        println!("{end}");
        ends.push(end);
    }
    engine.shut_down().await?;
    Ok(ends)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    run().await.map(drop)
}

#[cfg(test)]
mod tests {
    #[tokio::test]
    async fn the_example_runs() {
        let ends = super::run().await.unwrap();
        assert_eq!(
            ends,
            [
                "a chair is on its way, without asking",
                "a piano is on its way, by the leave of ann",
                "an organ is not sent: step `ship` failed: turned-down: bob says no",
                "a tower is not sent: step `approval` failed: no-signal: `approval` did not come within 300 ms",
            ]
        );
    }
}
