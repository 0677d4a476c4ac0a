//! In which column each item of a layer begins.

use super::Frame;
use super::layer::Layers;

/// The columns between two items.
pub(super) const GAP: usize = 2;
/// How often items are moved below and above those that they are joined with.
const SWEEPS: usize = 6;

/// The first column of each item, layer by layer; `None` if a layer is too wide.
pub(super) fn place(layers: &Layers, frames: &[Frame], columns: usize) -> Option<Vec<Vec<usize>>> {
    let widths: Vec<Vec<usize>> =
        layers.items.iter().map(|items| items.iter().map(|item| item.width(frames)).collect()).collect();
    let total = |widths: &Vec<usize>| widths.iter().sum::<usize>() + GAP * widths.len().saturating_sub(1);
    let widest = widths.iter().map(total).max()?;
    if widest > columns {
        return None;
    }
    let mut places: Vec<Vec<usize>> =
        widths.iter().map(|widths| in_a_row(widths, (widest - total(widths)) / 2)).collect();
    for sweep in 0..SWEEPS {
        // Down last, so that chains are straight.
        let down = sweep % 2 == 1;
        for step in 1..widths.len() {
            let layer = if down { step } else { widths.len() - 1 - step };
            let wanted = wanted(layers, &places, &widths, layer, down);
            places[layer] = settled(&wanted, &widths[layer], widest);
        }
    }
    let left = places.iter().flatten().copied().min().unwrap_or_default();
    places.iter_mut().flatten().for_each(|column| *column -= left);
    Some(places)
}

fn in_a_row(widths: &[usize], from: usize) -> Vec<usize> {
    let begin = |at: usize| from + widths[..at].iter().map(|width| width + GAP).sum::<usize>();
    (0..widths.len()).map(begin).collect()
}

/// Where each item would stand: with its middle below the middle of those above, or above that of those below.
fn wanted(
    layers: &Layers,
    places: &[Vec<usize>],
    widths: &[Vec<usize>],
    layer: usize,
    down: bool,
) -> Vec<usize> {
    let other = if down { layer - 1 } else { layer + 1 };
    let middle = |at: usize| places[other][at] + widths[other][at] / 2;
    let joined = |at: usize| -> Vec<usize> {
        match down {
            true => {
                layers.lines[other].iter().filter(|line| line.1 == at).map(|line| middle(line.0)).collect()
            }
            false => {
                layers.lines[layer].iter().filter(|line| line.0 == at).map(|line| middle(line.1)).collect()
            }
        }
    };
    let want = |at: usize| {
        let all = joined(at);
        let mean = all.iter().sum::<usize>().checked_div(all.len());
        mean.map_or(places[layer][at], |mean| mean.saturating_sub(widths[layer][at] / 2))
    };
    (0..widths[layer].len()).map(want).collect()
}

/// The nearest to what is wanted in which nothing overlaps and nothing leaves the sheet.
fn settled(wanted: &[usize], widths: &[usize], columns: usize) -> Vec<usize> {
    let mut places = wanted.to_vec();
    for at in 1..places.len() {
        places[at] = places[at].max(places[at - 1] + widths[at - 1] + GAP);
    }
    // All of them went to the right for the sake of the first: back by what that was in the mean, as far as there is room.
    let pushed: usize = places.iter().zip(wanted).map(|(place, wanted)| place - wanted).sum();
    let back =
        pushed.checked_div(places.len()).unwrap_or_default().min(places.first().copied().unwrap_or_default());
    places.iter_mut().for_each(|place| *place -= back);
    let mut end = columns + GAP;
    for at in (0..places.len()).rev() {
        places[at] = places[at].min(end.saturating_sub(GAP + widths[at]));
        end = places[at];
    }
    places
}
