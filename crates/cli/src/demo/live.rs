//! The show while it runs: a line of numbers every half second, each about that half second alone; the queue as it is at its end.
//! Only formats and says; what it shows is counted elsewhere.

use std::time::Duration;

use steadfast_resilience::Pipeline;

use super::client::{Calls, Client};
use super::ledger::Seen;
use super::service::Service;
use crate::talk;

const INTERVAL: Duration = Duration::from_millis(500);

/// Columns of a bar that is full: the calls of one interval at the steady rate.
const BAR: u64 = 24;

/// Says the lines of one run, until the end of its script.
pub(crate) async fn show(client: &Client, service: &Service, rate: u32) {
    talk::line(HEADER);
    let mut before = (Calls::default(), Seen::default());
    let mut until = INTERVAL;
    while until <= client.script.length() {
        client.watch.wait_until(until).await;
        let now = (client.calls(), service.seen());
        // The middle of the interval decides which name it gets.
        let mode = client.script.mode_at(until - INTERVAL / 2).as_str();
        talk::line(&row(until, mode, breaker_state(&client.pipeline), &Numbers::between(before, now), rate));
        before = now;
        until += INTERVAL;
    }
}

fn breaker_state(pipeline: &Pipeline) -> &'static str {
    pipeline.breaker().map_or("none", |breaker| breaker.state().as_str())
}

const HEADER: &str =
    "  time  service  breaker    calls   ok  failed  refused   sent  queue  # ok  x failed  . refused";

/// What happened in one interval.
#[derive(Debug)]
struct Numbers {
    made: u64,
    ok: u64,
    failed: u64,
    refused: u64,
    sent: u64,
    /// Requests that wait for their turn at its end.
    queue: u64,
}

impl Numbers {
    fn between(before: (Calls, Seen), now: (Calls, Seen)) -> Self {
        Self {
            made: now.0.made - before.0.made,
            ok: now.0.ok - before.0.ok,
            failed: now.0.failed - before.0.failed,
            refused: now.0.refused - before.0.refused,
            sent: now.1.requests - before.1.requests,
            queue: now.1.waiting(),
        }
    }
}

fn row(until: Duration, service: &str, breaker: &str, numbers: &Numbers, rate: u32) -> String {
    let Numbers { made, ok, failed, refused, sent, queue } = numbers;
    let row = format!(
        "{:5.2}s  {service:<7}  {breaker:<9}  {made:>5}  {ok:>3}  {failed:>6}  {refused:>7}  {sent:>5}  {queue:>5}  {}",
        until.as_secs_f64(),
        bar(numbers, u64::from(rate) / 2),
    );
    row.trim_end().to_owned()
}

/// The calls that ended, drawn by how they ended. Whatever happened at all gets a column.
fn bar(numbers: &Numbers, full: u64) -> String {
    let counts = [numbers.ok, numbers.failed, numbers.refused];
    let ended: u64 = counts.iter().sum();
    let columns = |count: u64| (count * BAR).div_ceil(full.max(ended).max(1));
    let mut widths = counts.map(columns);
    // Rounding up makes room for the small; the large one gives it.
    let excess = widths.iter().sum::<u64>() - columns(ended);
    if let Some(widest) = widths.iter_mut().max() {
        *widest -= excess;
    }
    ["#", "x", "."]
        .into_iter()
        .zip(widths)
        .map(|(mark, width)| mark.repeat(usize::try_from(width).unwrap_or(0)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_stand_under_their_header() {
        let numbers = Numbers { made: 50, ok: 20, failed: 5, refused: 25, sent: 28, queue: 120 };
        let row = row(Duration::from_millis(2_500), "down", "half-open", &numbers, 100);
        assert_eq!(
            row,
            " 2.50s  down     half-open     50   20       5       25     28    120  ##########xxx..........."
        );
        assert!(row.len() <= HEADER.len() + 4);
        for (title, number) in [
            ("calls", "50"),
            ("ok", "20"),
            ("failed", "5"),
            ("refused", "25"),
            ("sent", "28"),
            ("queue", "120"),
        ] {
            let end = HEADER.find(title).unwrap() + title.len();
            assert!(row[..end].ends_with(number), "{title} ends at column {end}: {row}");
        }
    }

    #[test]
    fn one_failure_among_many_calls_is_seen() {
        let numbers = Numbers { made: 250, ok: 249, failed: 1, refused: 0, sent: 250, queue: 0 };
        assert_eq!(bar(&numbers, 250), format!("{}x", "#".repeat(23)));
    }

    #[test]
    fn an_interval_without_calls_draws_nothing() {
        let numbers = Numbers { made: 0, ok: 0, failed: 0, refused: 0, sent: 0, queue: 0 };
        assert_eq!(bar(&numbers, 0), "");
    }
}
