//! A warehouse is away for 20 s, with 30 orders a second coming in. It is left alone while it is away, and met gently when it is
//! back. Draws the calls that reach it in each second, and with a path as argument as SVG:
//! `cargo run -p steadfast --example outage -- outage.svg`. Time is virtual, so that a minute takes a moment.

use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast::resilience::svg::{Anchor, COOL, GRID, INK, QUIET, Svg};
use steadfast::resilience::{Breaker, Pipeline, Retry};
use steadfast::{Engine, Failure, Outcome, Service, Workflow};
use steadfast_testkit::{KEY_HEADER, Request, Script};
use tokio::task::JoinSet;

/// Orders a second, and how long they come.
const RATE: u32 = 30;
const LASTS: u64 = 60;
/// The most calls that may come in a second when the warehouse is back: 1.25 times as many as before.
const CAP: u32 = RATE * 5 / 4;
/// When the warehouse is away, in seconds.
const AWAY: std::ops::Range<u64> = 10..30;

/// What was seen: the calls that reached the warehouse in each second, and the orders that came through.
struct Seen {
    calls: Vec<u32>,
    orders: usize,
    completed: usize,
}

fn warehouse() -> steadfast_testkit::Service {
    let takes = Duration::from_millis(20);
    let [well, away] = [AWAY.start, AWAY.end - AWAY.start].map(Duration::from_secs);
    let script = Script::slow(takes)
        .lasting(well)
        .then(Script::switched_off().lasting(away))
        .then(Script::slow(takes));
    steadfast_testkit::Service::new(Clock::tokio(), script)
}

fn place_order(
    warehouse: &steadfast_testkit::Service,
) -> Result<Workflow<u32, ()>, Box<dyn std::error::Error>> {
    let pipeline = Pipeline::builder("warehouse")
        .clock(Clock::tokio())
        .attempt_timeout(Duration::from_secs(2))
        .retry(Retry::exponential().max_retries(8))
        .breaker(
            Breaker::consecutive(10)
                .open_for(Duration::from_secs(5))
                .growing_to(Duration::from_secs(10))
                .seed(1),
        )
        .seed(1)
        .build()?;
    let service = Service::new(pipeline).most_running(50);
    let warehouse = warehouse.clone();
    let mut flow = Workflow::<u32>::builder("place-order");
    let reserve = flow
        .step("reserve", &service, move |cx| {
            let request = Request::new("POST", "/reservations").with_header(KEY_HEADER, cx.key().to_string());
            let calling = warehouse.call(request);
            async move { calling.await.map(drop).map_err(Failure::of) }
        })
        .nothing_to_undo()
        .add();
    Ok(flow.returns(reserve)?)
}

async fn run() -> Result<Seen, Box<dyn std::error::Error>> {
    let warehouse = warehouse();
    let place_order = place_order(&warehouse)?;
    let engine = Engine::builder("memory:").clock(Clock::tokio()).workflow(&place_order).start().await?;
    let mut waiting = JoinSet::new();
    let mut told = false;
    for order in 0..RATE * u32::try_from(LASTS)? {
        let task = engine.submit(&place_order, &order).await?;
        if !told && order == RATE * u32::try_from(AWAY.end - 5)? {
            println!("an order while it is away: {}\n", task.status().await?.why);
            told = true;
        }
        waiting.spawn(async move { task.outcome().await });
        Clock::tokio().sleep(Duration::from_secs(1) / RATE).await;
    }
    let (mut orders, mut completed) = (0, 0);
    while let Some(ended) = waiting.join_next().await {
        orders += 1;
        completed += usize::from(ended?? == Outcome::Completed(()));
    }
    engine.shut_down().await?;
    let mut calls = Vec::new();
    for entry in warehouse.ledger().entries() {
        let second = usize::try_from(entry.began().as_secs())?;
        calls.resize(calls.len().max(second + 1), 0);
        calls[second] += 1;
    }
    Ok(Seen { calls, orders, completed })
}

/// A line for each second: how many calls came, and how many may come.
fn in_text(seen: &Seen) -> String {
    let line = |(second, calls): (u64, &u32)| {
        let bar: String = (0..CAP.max(*calls)).map(|nth| if nth < *calls { '#' } else { ' ' }).collect();
        let away = if AWAY.contains(&second) { "away" } else { "" };
        format!("{second:>3} s {away:>4} |{bar}| {calls}")
    };
    (0..).zip(&seen.calls).map(line).collect::<Vec<_>>().join("\n")
}

fn in_svg(seen: &Seen) -> String {
    let title = "Calls that reach the warehouse, in a second";
    let (left, top, width, height) = (48.0, 48.0, 720.0, 200.0);
    let most = f64::from(RATE) * 2.0;
    let lasts = u32::try_from(seen.calls.len()).map_or(1.0, f64::from);
    let x = |second: f64| left + width * second / lasts;
    let y = |calls: f64| top + height * (1.0 - calls.min(most) / most);
    let mut svg = Svg::new(800, 296, title);
    svg.text((16.0, 26.0), Anchor::Start, 16, INK, " font-weight=\"600\"", title);
    let [begins, ends] = [AWAY.start, AWAY.end].map(|second| x(u32::try_from(second).map_or(0.0, f64::from)));
    svg.rect((begins, top), (ends - begins, height), GRID);
    svg.text(((begins + ends) / 2.0, top + 16.0), Anchor::Middle, 12, QUIET, "", "away");
    for calls in [0.0, f64::from(RATE), most] {
        svg.line((left, y(calls)), (left + width, y(calls)), GRID, "");
        svg.text((left - 8.0, y(calls) + 4.0), Anchor::End, 12, QUIET, "", &format!("{calls:.0}"));
    }
    let cap = y(f64::from(CAP));
    svg.line((left, cap), (left + width, cap), INK, " stroke-dasharray=\"4 4\"");
    svg.text((left + width, cap - 5.0), Anchor::End, 12, INK, "", "1.25 times as many as before");
    let points =
        (0_u32..).zip(&seen.calls).map(|(second, calls)| (x(f64::from(second) + 0.5), y(f64::from(*calls))));
    svg.path(points, COOL, " stroke-width=\"2\"");
    svg.finish()
}

#[tokio::main(flavor = "current_thread", start_paused = true)]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let seen = run().await?;
    println!("{}\n\n{} of {} orders came through", in_text(&seen), seen.completed, seen.orders);
    if let Some(path) = std::env::args().nth(1) {
        std::fs::write(&path, in_svg(&seen))?;
        println!("wrote {path}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_example_runs() {
        let seen = run().await.unwrap();
        assert_eq!((seen.completed, seen.orders), (1_800, 1_800));
        let away: u32 =
            (AWAY.start + 1..AWAY.end).map(|second| seen.calls[usize::try_from(second).unwrap()]).sum();
        assert!(away <= 10, "{away} calls while it was away");
        let most = seen.calls.iter().max().unwrap();
        assert!(*most <= CAP, "{most} in a second\n{}", in_text(&seen));
        assert!(in_svg(&seen).contains("away"));
    }
}
