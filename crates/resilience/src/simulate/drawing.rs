//! A comparison as a drawing: when one call tries again, and what reaches the service meanwhile.

use super::{Comparison, Report, Variant, Waits};
use crate::svg::{Anchor, COOL, GRID, INK, PALE, QUIET, Svg, WARM};

const WIDTH: f64 = 840.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 816.0;
/// Where attempts stand.
const ATTEMPTS: f64 = 92.0;
/// The panel of the load.
const TOP: f64 = 190.0;
const BOTTOM: f64 = 430.0;

/// Loads beyond this multiple of the calls are cut off, or nothing else could be seen.
const CUT: f64 = 4.0;

/// Each variant with its colour and stroke, the policy itself last, so that it lies on top.
const LINES: [(Variant, &str, &str); 4] = [
    (Variant::Neither, WARM, " stroke-width=\"1.5\""),
    (Variant::NoBreaker, "#7c3aed", " stroke-width=\"1.5\""),
    (Variant::NoBudget, PALE, " stroke-width=\"1.5\""),
    (Variant::AsWritten, COOL, " stroke-width=\"2.5\""),
];

impl Comparison {
    /// Draws the waits of one call and the load on the service, as SVG. `title` says what was simulated.
    #[must_use]
    pub fn to_svg(&self, title: &str, waits: &Waits) -> String {
        let mut svg = Svg::new(840, 500, title);
        svg.text((16.0, 28.0), Anchor::Start, 16, INK, " font-weight=\"600\"", title);
        attempts(&mut svg, waits);
        if let Some(first) = self.report(Variant::AsWritten) {
            self.load(&mut svg, first);
        }
        svg.finish()
    }

    fn load(&self, svg: &mut Svg, first: &Report) {
        let mean = per_second(first.seconds().iter().map(|second| second.offered));
        let cut = mean * CUT;
        let highest =
            self.reports().iter().flat_map(|(_, report)| report.seconds()).map(|second| second.sent);
        let top = f64::from(highest.max().unwrap_or(1)).clamp(mean * 1.5, cut.max(1.0));
        let seconds = first.seconds().len();
        let x = |second: f64| LEFT + (RIGHT - LEFT) * second / count(seconds);
        let y = |rate: f64| BOTTOM - (BOTTOM - TOP) * (rate.min(top) / top);
        svg.text(
            (LEFT, TOP - 26.0),
            Anchor::Start,
            13,
            INK,
            "",
            "requests that reach the service, in a second",
        );
        let (begins, ends) = (count(first.outage().start), count(first.outage().end));
        svg.rect((x(begins), TOP - 8.0), (x(ends) - x(begins), BOTTOM - TOP + 8.0), GRID);
        svg.text(((x(begins) + x(ends)) / 2.0, TOP - 12.0), Anchor::Middle, 12, QUIET, "", "down");
        for step in 0..=4 {
            let rate = top * f64::from(step) / 4.0;
            svg.line((LEFT, y(rate)), (RIGHT, y(rate)), GRID, "");
            svg.text((LEFT - 8.0, y(rate) + 4.0), Anchor::End, 12, QUIET, "", &format!("{rate:.0}"));
        }
        for tick in ticks(-begins, count(seconds) - begins) {
            svg.text((x(begins + tick), BOTTOM + 18.0), Anchor::Middle, 12, QUIET, "", &label(tick));
        }
        svg.line((LEFT, y(mean)), (RIGHT, y(mean)), QUIET, " stroke-dasharray=\"4 4\"");
        svg.text((RIGHT, y(mean) - 4.0), Anchor::End, 12, QUIET, "", "calls");
        for (place, (variant, colour, more)) in LINES.into_iter().enumerate() {
            let Some(report) = self.report(variant) else { continue };
            let points = report.seconds().iter().enumerate();
            svg.path(
                points.map(|(at, second)| (x(count(at) + 0.5), y(f64::from(second.sent)))),
                colour,
                more,
            );
            legend(svg, LINES.len() - 1 - place, variant, colour, report);
        }
        if f64::from(self.peak()) > top {
            let words = format!("cut off at {top:.0}: the highest is {}", self.peak());
            svg.text((RIGHT, TOP - 26.0), Anchor::End, 12, WARM, "", &words);
        }
    }

    fn peak(&self) -> u32 {
        let seconds = self.reports().iter().flat_map(|(_, report)| report.seconds());
        seconds.map(|second| second.sent).max().unwrap_or(0)
    }
}

/// One call whose every attempt fails at once: when it is tried.
fn attempts(svg: &mut Svg, waits: &Waits) {
    let attempts = waits.attempts();
    let last = attempts.last().copied().unwrap_or_default().as_secs_f64();
    let end = last.max(0.001) * 1.02;
    let x = |at: f64| LEFT + (RIGHT - LEFT) * at / end;
    let words = format!(
        "one call whose every attempt fails at once: {} attempts, with mean waits the last after {}",
        attempts.len(),
        label(last)
    );
    svg.text((LEFT, ATTEMPTS - 30.0), Anchor::Start, 13, INK, "", &words);
    svg.line((LEFT, ATTEMPTS), (RIGHT, ATTEMPTS), GRID, " stroke-width=\"2\"");
    for at in &attempts {
        let at = x(at.as_secs_f64());
        svg.line((at, ATTEMPTS - 10.0), (at, ATTEMPTS + 10.0), COOL, " stroke-width=\"2.5\"");
    }
    for tick in ticks(0.0, end) {
        svg.text((x(tick), ATTEMPTS + 30.0), Anchor::Middle, 12, QUIET, "", &label(tick));
    }
}

/// At most eight round times from one to the other.
fn ticks(from: f64, to: f64) -> Vec<f64> {
    const STEPS: [f64; 18] = [
        0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 60.0, 120.0, 300.0, 600.0, 1800.0,
        3600.0, 7200.0,
    ];
    let fits = |step: &&f64| (to - from) / **step <= 8.0;
    let step = STEPS.iter().find(fits).copied().unwrap_or((to - from) / 8.0);
    let first = (from / step).ceil();
    let all = (0..=8).map(|number| (first + f64::from(number)) * step);
    all.take_while(|tick| *tick <= to + step * 1e-6).collect()
}

fn label(seconds: f64) -> String {
    match seconds.abs() {
        0.0 => "0".to_owned(),
        size if size >= 7200.0 => format!("{:.1} h", seconds / 3600.0),
        size if size >= 120.0 => format!("{:.0} min", seconds / 60.0),
        size if size >= 1.0 => format!("{seconds:.0} s"),
        _ => format!("{:.0} ms", seconds * 1000.0),
    }
}

fn legend(svg: &mut Svg, place: usize, variant: Variant, colour: &str, report: &Report) {
    let left = LEFT + (RIGHT - LEFT) * count(place) / 4.0;
    svg.line((left, BOTTOM + 46.0), (left + 20.0, BOTTOM + 46.0), colour, " stroke-width=\"3\"");
    svg.text((left + 26.0, BOTTOM + 50.0), Anchor::Start, 12, INK, "", variant.as_str());
    let recovery = match report.recovery() {
        Some(took) => format!("succeeds again after {:.1} s", took.as_secs_f64()),
        None => "does not succeed again".to_owned(),
    };
    svg.text((left + 26.0, BOTTOM + 66.0), Anchor::Start, 11, QUIET, "", &recovery);
    debug_assert!(left + 26.0 < WIDTH);
}

fn per_second(counts: impl ExactSizeIterator<Item = u32>) -> f64 {
    let seconds = count(counts.len()).max(1.0);
    counts.map(f64::from).sum::<f64>() / seconds
}

#[expect(clippy::cast_precision_loss, reason = "seconds of a day, at most")]
fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_few_and_inside() {
        for (from, to) in [(-20.0, 70.0), (0.0, 1.02), (0.0, 0.001), (0.0, 21_000.0), (-20.0, 90_000.0)] {
            let ticks = ticks(from, to);
            assert!((1..=9).contains(&ticks.len()), "{from} to {to}: {ticks:?}");
            assert!(ticks.iter().all(|tick| (from..=to * 1.001).contains(tick)), "{from} to {to}: {ticks:?}");
        }
        assert_eq!(ticks(-20.0, 70.0), [-20.0, 0.0, 20.0, 40.0, 60.0]);
        assert_eq!([0.0, 0.2, 60.0, 300.0, 7200.0].map(label), ["0", "200 ms", "60 s", "5 min", "2.0 h"]);
    }
}
