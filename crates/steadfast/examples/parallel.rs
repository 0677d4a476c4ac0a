//! Three offers are asked for at the same time; the trip has to be booked within a second. The second trip asks an airline that
//! does not answer: its deadline passes, and what was held is let go. Run it: `cargo run -p steadfast --example parallel`.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use steadfast::resilience::clock::Clock;
use steadfast::{Engine, Failure, Outcome, Service, Settings, Workflow};

#[derive(Serialize, Deserialize)]
struct Trip {
    to: String,
    airline: String,
}

fn book() -> Result<Workflow<Trip, u32>, steadfast::Error> {
    let [flights, hotels, cars, desk] = ["flights", "hotels", "cars", "desk"].map(Service::standard);
    let mut flow = Workflow::<Trip>::builder("book-trip").complete_within(Duration::from_secs(1));
    let flight = flow
        .step("flight", &flights, |cx| async move {
            if cx.input.airline == "silent" {
                std::future::pending::<()>().await;
            }
            Ok::<_, Failure>(300_u32)
        })
        .nothing_to_undo()
        .add();
    let hotel = flow
        .step("hotel", &hotels, |_| async { Ok::<_, Failure>(120_u32) })
        .undo(|cx| async move {
            println!("  the room in {} is let go", cx.input.to);
            Ok::<_, Failure>(())
        })
        .add();
    // Only who goes far needs a car.
    let car = flow
        .step("car", &cars, |_| async { Ok::<_, Failure>(40_u32) })
        .when(|seen| seen.input.to != "next door")
        .nothing_to_undo()
        .add();
    let book = flow
        .step("book", &desk, move |cx| async move {
            let car = cx.output(car).unwrap_or(0);
            Ok::<_, Failure>(cx.output(flight)? + cx.output(hotel)? + car)
        })
        .after((flight, hotel, car))
        .nothing_to_undo()
        .add();
    flow.returns(book)
}

async fn run() -> Result<Vec<String>, Box<dyn std::error::Error>> {
    let book = book()?;
    // Deadlines are seen by the supervisor: it looks often here, since the deadline is short.
    let mut settings = Settings::default();
    settings.supervise_every = Duration::from_millis(100);
    let engine = Engine::builder("memory:").workflow(&book).settings(settings).start().await?;
    let trip = |to: &str, airline: &str| Trip { to: to.to_owned(), airline: airline.to_owned() };
    let mut ends = Vec::new();
    for trip in [trip("far away", "fine"), trip("next door", "fine"), trip("far away", "silent")] {
        let began = Clock::system().now();
        let end = match engine.submit(&book, &trip).await?.outcome().await? {
            Outcome::Completed(price) => format!("{} is booked for {price}", trip.to),
            Outcome::Undone(why) => format!("{} is not booked: {why}", trip.to),
            Outcome::Failed(why) => format!("an operator has to look: {why}"),
        };
        println!("{end} ({:.1} s)", Clock::system().now().since(began).as_secs_f64());
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
        assert_eq!(ends[..2], ["far away is booked for 460", "next door is booked for 420"]);
        assert_eq!(ends[2], "far away is not booked: its deadline has passed");
    }
}
