//! The waits before each retry, of many clients: the specified formula beside full jitter.

use anyhow::{Result, bail};
use steadfast_resilience::clock::Moment;
use steadfast_resilience::random::Rng;
use steadfast_resilience::retry::{At, Decision, Jitter, Retry};
use steadfast_resilience::{Kind, Verdict};

use super::{Anchor, COOL, GRID, INK, QUIET, Svg, WARM};

const RETRIES: u32 = 8;
/// The library's own cap, which the last two retries reach.
const CAP: f64 = 10.0;

/// Where the two panels stand.
const TOP: f64 = 72.0;
const BOTTOM: f64 = 352.0;
const WIDTH: f64 = 328.0;
const LEFTS: [f64; 2] = [56.0, 456.0];

/// Draws the waits of `clients` with the library's own settings (100 ms, 200 ms, at most 10 s).
///
/// # Errors
/// A retry that stops: it must not here.
pub fn draw(clients: u32, seed: u64) -> Result<String> {
    let title = format!("Waits of {clients} clients before each retry, by jitter");
    let mut svg = Svg::new(808, 432, &title);
    svg.text((16.0, 26.0), Anchor::Start, 16, INK, " font-weight=\"600\"", &title);
    let panels = [
        ("specified formula: ±20 %, cap last", Jitter::SPECIFIED, WARM),
        ("full jitter: cap first", Jitter::Full, COOL),
    ];
    for ((name, jitter, colour), left) in panels.into_iter().zip(LEFTS) {
        frame(&mut svg, left, name);
        for (number, waits) in waits(clients, jitter, seed)?.iter().enumerate() {
            let column = column(left, number);
            let spread = |client: usize| column + (spread(client) - 0.5) * 29.0;
            svg.dots(waits.iter().enumerate().map(|(client, wait)| (spread(client), height(*wait))), colour);
        }
    }
    notes(&mut svg);
    Ok(svg.finish())
}

/// The waits in seconds: for each retry, of each client.
fn waits(clients: u32, jitter: Jitter, seed: u64) -> Result<Vec<Vec<f64>>> {
    let retry = Retry::exponential().max_retries(RETRIES).jitter(jitter).build()?;
    let mut waits = vec![Vec::new(); RETRIES as usize];
    for client in 0..clients {
        let mut state = retry.start_with(Moment::ZERO, Rng::seeded(seed ^ u64::from(client) << 32));
        for of_retry in &mut waits {
            match retry.next(&mut state, &Verdict::transient(Kind::TIMEOUT), At::now(Moment::ZERO)) {
                Decision::After(wait) => of_retry.push(wait.as_secs_f64()),
                Decision::Stop(stop) => bail!("client {client} gave up: {stop}"),
            }
        }
    }
    Ok(waits)
}

/// Axes, grid and cap of one panel.
fn frame(svg: &mut Svg, left: f64, name: &str) {
    let right = left + WIDTH;
    svg.text((left, TOP - 22.0), Anchor::Start, 13, INK, "", name);
    for seconds in [0.0, 2.0, 4.0, 6.0, 8.0] {
        svg.line((left, height(seconds)), (right, height(seconds)), GRID, "");
        svg.text((left - 8.0, height(seconds) + 4.0), Anchor::End, 12, QUIET, "", &format!("{seconds} s"));
    }
    svg.line((left, height(CAP)), (right, height(CAP)), INK, " stroke-dasharray=\"4 4\"");
    svg.text((left - 8.0, height(CAP) + 4.0), Anchor::End, 12, INK, "", "10 s");
    for number in 0..RETRIES as usize {
        svg.text(
            (column(left, number), BOTTOM + 20.0),
            Anchor::Middle,
            12,
            QUIET,
            "",
            &(number + 1).to_string(),
        );
    }
    svg.text((left + WIDTH / 2.0, BOTTOM + 40.0), Anchor::Middle, 12, QUIET, "", "retry");
    svg.text((left - 8.0, height(CAP) - 12.0), Anchor::End, 12, QUIET, "", "wait");
}

fn notes(svg: &mut Svg) {
    let [specified, full] = LEFTS;
    let at = |left: f64, line: f64| (left + 12.0, height(CAP) + 26.0 + 17.0 * line);
    svg.text(at(specified, 0.0), Anchor::Start, 12, WARM, "", "From retry 7 on every client waits");
    svg.text(at(specified, 1.0), Anchor::Start, 12, WARM, "", "exactly 10 s: they come back together.");
    svg.text(at(full, 0.0), Anchor::Start, 12, COOL, "", "At the cap they are spread");
    svg.text(at(full, 1.0), Anchor::Start, 12, COOL, "", "over all of it.");
    let settings = "one dot per client; min_backoff 100 ms, delta_backoff 200 ms, max_backoff 10 s";
    svg.text((specified, BOTTOM + 66.0), Anchor::Start, 12, QUIET, "", settings);
    for left in LEFTS {
        svg.text((left + WIDTH, height(CAP) - 7.0), Anchor::End, 12, INK, "", "cap");
    }
}

fn column(left: f64, number: usize) -> f64 {
    // At most 8.
    let number = f64::from(u32::try_from(number).unwrap_or(RETRIES));
    left + (number + 0.5) * WIDTH / f64::from(RETRIES)
}

fn height(seconds: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * seconds / CAP
}

/// A place from 0 to 1 for each client, evenly spread without a pattern: multiples of the golden ratio.
#[expect(clippy::cast_precision_loss, reason = "some hundred clients")]
fn spread(client: usize) -> f64 {
    (client as f64 * 0.618_033_988_749_895).fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_specified_formula_puts_everyone_at_the_cap_and_full_jitter_does_not() {
        let last = |jitter| waits(200, jitter, 1).unwrap().pop().unwrap();
        let at_cap = |waits: Vec<f64>| waits.iter().filter(|wait| (**wait - CAP).abs() < 1e-9).count();
        assert_eq!(at_cap(last(Jitter::SPECIFIED)), 200);
        assert_eq!(at_cap(last(Jitter::Full)), 0);
    }

    #[test]
    fn the_same_seed_draws_the_same_chart() {
        assert_eq!(draw(200, 1).unwrap(), draw(200, 1).unwrap());
        assert_ne!(draw(200, 1).unwrap(), draw(200, 2).unwrap());
    }
}
