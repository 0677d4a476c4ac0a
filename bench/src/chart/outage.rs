//! What reaches a service before, while and after it is away: with the ramp, and without.

use super::{Anchor, COOL, GRID, INK, QUIET, Svg, WARM};
use crate::outage::{Plan, Seen, judge};

const LEFT: f64 = 56.0;
const RIGHT: f64 = 784.0;
const HEIGHT: f64 = 150.0;
const TOPS: [f64; 2] = [92.0, 316.0];
/// More than this multiple of the calls before is cut off, or the others could not be seen.
const CUT: f64 = 4.0;
/// The time over which calls are counted.
const TENTH: f64 = 0.1;

/// Draws both, by the same scale. `plan` is that of the first; the other differs in the ramp only.
#[must_use]
pub fn draw(plan: &Plan, ramped: &Seen, at_once: &Seen) -> String {
    let title = "Calls that reach a service in each tenth of a second, when it was away for a minute";
    let mut svg = Svg::new(808, 524, title);
    svg.text((16.0, 26.0), Anchor::Start, 16, INK, " font-weight=\"600\"", title);
    let lasts = ramped.calls.last().map_or(1.0, |call| call.began);
    let words = ["released in a ramp: what waited and what is new", "released at once (`without_ramp`)"];
    for ((seen, words), (top, colour)) in
        [ramped, at_once].into_iter().zip(words).zip(TOPS.into_iter().zip([COOL, WARM]))
    {
        let panel = Panel { top, lasts, steady: f64::from(plan.rate) * TENTH };
        panel.frame(&mut svg, seen, words);
        panel.calls(&mut svg, seen, colour);
    }
    let bottom = TOPS[1] + HEIGHT;
    let note = format!(
        "{} tasks a second before and while it is away, {} after; {} waited when it was back; virtual time, seed {}",
        plan.rate,
        plan.rate_after,
        judge::drain(plan, ramped).0,
        plan.seed
    );
    svg.text((16.0, bottom + 46.0), Anchor::Start, 12, QUIET, "", &note);
    svg.finish()
}

struct Panel {
    top: f64,
    lasts: f64,
    /// Calls in a tenth of a second when all is well.
    steady: f64,
}

impl Panel {
    fn x(&self, at: f64) -> f64 {
        LEFT + (RIGHT - LEFT) * at / self.lasts
    }

    fn y(&self, calls: f64) -> f64 {
        let most = self.steady * CUT;
        self.top + HEIGHT * (1.0 - calls.min(most) / most)
    }

    fn frame(&self, svg: &mut Svg, seen: &Seen, words: &str) {
        let bottom = self.top + HEIGHT;
        svg.text((LEFT, self.top - 22.0), Anchor::Start, 13, INK, "", words);
        let (died, back) = (self.x(seen.died), self.x(seen.back));
        svg.rect((died, self.top), (back - died, HEIGHT), GRID);
        svg.text(((died + back) / 2.0, self.top + 16.0), Anchor::Middle, 12, QUIET, "", "away");
        for times in [0.0, 1.0, 2.0, 3.0, 4.0] {
            let calls = times * self.steady;
            svg.line((LEFT, self.y(calls)), (RIGHT, self.y(calls)), GRID, "");
            svg.text((LEFT - 8.0, self.y(calls) + 4.0), Anchor::End, 12, QUIET, "", &format!("{calls:.0}"));
        }
        let ticks = (0..).map(|tick| f64::from(tick) * 20.0).take_while(|at| *at <= self.lasts);
        for at in ticks {
            svg.text((self.x(at), bottom + 18.0), Anchor::Middle, 12, QUIET, "", &format!("{at} s"));
        }
        let line = self.y(self.steady * judge::ABOVE);
        svg.line((LEFT, line), (RIGHT, line), INK, " stroke-dasharray=\"4 4\"");
        let words = format!("{} times as many as before", judge::ABOVE);
        svg.text((RIGHT, line - 5.0), Anchor::End, 12, INK, "", &words);
    }

    fn calls(&self, svg: &mut Svg, seen: &Seen, colour: &str) {
        let counts = judge::by_tenths(seen);
        let points = counts.iter().zip(0_u32..).map(|(calls, nth)| {
            let at = (f64::from(nth) + 0.5) * TENTH;
            (self.x(at.min(self.lasts)), self.y(f64::from(*calls)))
        });
        svg.path(points, colour, " stroke-width=\"1.5\" stroke-linejoin=\"round\"");
        let most = counts.iter().copied().max().unwrap_or(0);
        if f64::from(most) > self.steady * CUT {
            let words = format!("cut off: the highest is {most}");
            svg.text((self.x(seen.back) + 56.0, self.top + 16.0), Anchor::Start, 12, colour, "", &words);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::outage::Call;

    #[test]
    fn what_is_cut_off_is_said_and_the_outage_is_shaded() {
        let burst = |calls: usize| {
            let call = |_| Call { began: 81.0, key: String::new(), done: true };
            Seen { died: 20.0, back: 80.0, calls: (0..calls).map(call).collect(), ..Seen::default() }
        };
        let drawn = draw(&Plan::default(), &burst(20), &burst(100));
        assert_eq!(drawn.matches(">away</text>").count(), 2);
        assert_eq!(drawn.matches("cut off: the highest is 100").count(), 1);
    }
}
