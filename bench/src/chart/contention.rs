//! How long clients that fight for one row need until all are done: a bar for each jitter.

use super::{Anchor, COOL, GRID, INK, PALE, QUIET, Svg};
use crate::contention::Fight;

/// One group of bars.
#[derive(Clone, Debug)]
pub struct Group {
    /// The jitter's name.
    pub name: &'static str,
    /// With 100 clients, and with 200.
    pub fights: [Fight; 2],
}

const LEFT: f64 = 206.0;
const WIDTH: f64 = 440.0;
const TOP: f64 = 76.0;
/// A group's height, and a bar's.
const GROUP: f64 = 52.0;
const BAR: f64 = 18.0;
const COLOURS: [&str; 2] = [PALE, COOL];

/// Draws the groups in their order; each fight is the mean of `runs`.
#[must_use]
pub fn draw(groups: &[Group], runs: u32) -> String {
    let rows = u32::try_from(groups.len()).unwrap_or(0);
    let bottom = TOP + GROUP * f64::from(rows);
    let title = "Clients that update one row: time until all are done, by jitter";
    let mut svg = Svg::new(808, 76 + 52 * rows + 76, title);
    svg.text((16.0, 26.0), Anchor::Start, 16, INK, " font-weight=\"600\"", title);
    legend(&mut svg);
    let longest = groups.iter().flat_map(|group| group.fights).map(|fight| fight.seconds).fold(1.0, f64::max);
    let step = step(longest);
    let scale = |seconds: f64| LEFT + WIDTH * seconds / longest;
    let ticks = (0..).map(|tick| f64::from(tick) * step).take_while(|seconds| *seconds <= longest);
    for seconds in ticks {
        svg.line((scale(seconds), TOP), (scale(seconds), bottom), GRID, "");
        svg.text((scale(seconds), bottom + 20.0), Anchor::Middle, 12, QUIET, "", &format!("{seconds} s"));
    }
    for (group, row) in groups.iter().zip(0_u32..) {
        bars(&mut svg, group, TOP + GROUP * f64::from(row), scale);
    }
    svg.text((LEFT + WIDTH / 2.0, bottom + 40.0), Anchor::Middle, 12, QUIET, "", "time until all are done");
    let note = format!("mean of {runs} runs; first wait 5 ms, doubling up to 2 s; a message takes 10 ± 2 ms");
    svg.text((16.0, bottom + 66.0), Anchor::Start, 12, QUIET, "", &note);
    svg.finish()
}

fn bars(svg: &mut Svg, group: &Group, top: f64, scale: impl Fn(f64) -> f64) {
    svg.text((LEFT - 12.0, top + GROUP / 2.0 + 4.0), Anchor::End, 13, INK, "", group.name);
    let first = top + (GROUP - 2.0 * BAR - 2.0) / 2.0;
    for ((fight, colour), y) in group.fights.iter().zip(COLOURS).zip([first, first + BAR + 2.0]) {
        let end = scale(fight.seconds);
        svg.rect((LEFT, y), (end - LEFT, BAR), colour);
        let label = format!("{:.1} s, {:.0} calls", fight.seconds, fight.calls);
        svg.text((end + 6.0, y + BAR / 2.0 + 4.0), Anchor::Start, 12, INK, "", &label);
    }
}

fn legend(svg: &mut Svg) {
    for ((name, colour), x) in
        ["100 clients", "200 clients"].into_iter().zip(COLOURS).zip([LEFT, LEFT + 120.0])
    {
        svg.rect((x, 46.0), (12.0, 12.0), colour);
        svg.text((x + 18.0, 56.0), Anchor::Start, 12, INK, "", name);
    }
}

/// A round distance between ticks, for about five of them.
fn step(longest: f64) -> f64 {
    [1.0, 2.0, 5.0, 10.0, 20.0, 50.0].into_iter().find(|step| longest / step <= 6.0).unwrap_or(100.0)
}
