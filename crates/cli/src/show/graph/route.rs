//! The lines between two layers: each origin has a row of its own to go across, and its own place where it ends at a box.

use super::Frame;
use super::canvas::{Canvas, DOWN, UP, Wire};
use super::layer::{Item, Layers};

/// The lines of one origin.
#[derive(Debug)]
struct Net {
    /// The column in which it comes from above.
    from: usize,
    /// The columns in which it goes on below.
    to: Vec<usize>,
    /// Its row; `None` for a line that goes straight down.
    row: Option<usize>,
}

impl Net {
    fn is_straight(&self) -> bool {
        self.to == [self.from]
    }

    /// The first and the last column of its row.
    fn span(&self) -> (usize, usize) {
        let columns = || self.to.iter().copied().chain([self.from]);
        (columns().min().unwrap_or_default(), columns().max().unwrap_or_default())
    }
}

/// Draws the lines from a layer to the next, from this row on; how many rows that takes.
pub(super) fn route(
    canvas: &mut Canvas,
    top: usize,
    layers: &Layers,
    layer: usize,
    (above, below): (&[usize], &[usize]),
    frames: &[Frame],
) -> usize {
    let lines = &layers.lines[layer];
    let origin = |at: usize| above[at] + layers.items[layer][at].width(frames) / 2;
    let mut nets: Vec<(usize, Net)> = (0..above.len())
        .filter(|at| lines.iter().any(|line| line.0 == *at))
        .map(|at| (at, Net { from: origin(at), to: Vec::new(), row: None }))
        .collect();
    let origins: Vec<_> = nets.iter().map(|(_, net)| net.from).collect();
    for (at, item) in layers.items[layer + 1].iter().enumerate() {
        let ends = ends(lines, at, &origin, below[at], item.width(frames), &origins);
        for (from, column) in ends {
            nets.iter_mut().filter(|(of, _)| *of == from).for_each(|(_, net)| net.to.push(column));
        }
    }
    let mut nets: Vec<_> = nets.into_iter().map(|(_, net)| net).collect();
    let rows = give_rows(&mut nets).max(1);
    let wires: Vec<_> = nets.iter().map(|net| wire(net, top, rows)).collect();
    canvas.wires(&wires);
    mark_ends(canvas, top, rows, &nets, &layers.items[layer..layer + 2], (above, below), frames);
    rows
}

/// Where the lines to an item end: from which item above, in which column. In the order of their origins, so that none cross for that.
fn ends(
    lines: &[(usize, usize)],
    to: usize,
    origin: &impl Fn(usize) -> usize,
    left: usize,
    width: usize,
    origins: &[usize],
) -> Vec<(usize, usize)> {
    let mut from: Vec<_> =
        lines.iter().filter(|line| line.1 == to).map(|line| (origin(line.0), line.0)).collect();
    from.sort_unstable();
    if width == 1 {
        return from.into_iter().map(|(_, at)| (at, left)).collect();
    }
    let (first, last) = (left + 1, left + width - 2);
    let mut taken = Vec::new();
    let count = from.len();
    for (place, (column, at)) in from.into_iter().enumerate() {
        // As near to its origin as leaves room for the others.
        let least = taken.last().map_or(first, |(_, before)| before + 1);
        let most = last.saturating_sub(count - 1 - place);
        let is_alone = count == 1 && !(first..=last).contains(&column);
        let wanted = if is_alone { left + width / 2 } else { column.clamp(least.min(most), most) };
        // A column in which another line comes down would look as if both were one.
        let foreign = |candidate: &usize| *candidate != column && origins.contains(candidate);
        let free = (wanted..=most).chain((least..wanted).rev()).find(|candidate| !foreign(candidate));
        taken.push((at, free.unwrap_or(wanted)));
    }
    taken
}

/// Gives each line that is not straight a row; how many there are. A line that comes down where another one goes on down has
/// its row above that.
fn give_rows(nets: &mut [Net]) -> usize {
    let above = |a: &Net, b: &Net| b.to.contains(&a.from);
    let mut open: Vec<usize> = (0..nets.len()).filter(|at| !nets[*at].is_straight()).collect();
    let mut rows = 0;
    while !open.is_empty() {
        let is_free = |at: &usize| open.iter().all(|other| other == at || !above(&nets[*other], &nets[*at]));
        // In a circle any of them goes first: two lines then share some cells.
        let place = open.iter().position(is_free).unwrap_or_default();
        let next = open.remove(place);
        let least = (0..nets.len())
            .filter(|other| *other != next && above(&nets[*other], &nets[next]))
            .filter_map(|other| nets[other].row)
            .max()
            .map_or(0, |row| row + 1);
        let row = (least..).find(|row| has_room(nets, next, *row)).unwrap_or(least);
        nets[next].row = Some(row);
        rows = rows.max(row + 1);
    }
    rows
}

fn has_room(nets: &[Net], next: usize, row: usize) -> bool {
    let (first, last) = nets[next].span();
    nets.iter().filter(|net| net.row == Some(row)).all(|net| {
        let (from, to) = net.span();
        last + 1 < from || to + 1 < first
    })
}

fn wire(net: &Net, top: usize, rows: usize) -> Wire {
    let mut wire = Wire::default();
    let bottom = top + rows - 1;
    let Some(row) = net.row.map(|row| top + row) else {
        wire.down(net.from, top, bottom);
        return wire;
    };
    let (first, last) = net.span();
    wire.across(row, first, last);
    if row > top {
        wire.down(net.from, top, row - 1);
    }
    wire.way(row, net.from, UP);
    for column in &net.to {
        wire.way(row, *column, DOWN);
        if row < bottom {
            wire.down(*column, row + 1, bottom);
        }
    }
    wire
}

/// Marks on the borders of boxes where lines begin and end.
fn mark_ends(
    canvas: &mut Canvas,
    top: usize,
    rows: usize,
    nets: &[Net],
    items: &[Vec<Item>],
    (above, below): (&[usize], &[usize]),
    frames: &[Frame],
) {
    let in_a_box = |items: &[Item], places: &[usize], column: usize| {
        items.iter().zip(places).any(|(item, left)| match item {
            Item::Box(node) => (*left..left + frames[*node].width).contains(&column),
            Item::Pass(_) => false,
        })
    };
    for net in nets {
        if in_a_box(&items[0], above, net.from) {
            canvas.put(top - 1, net.from, '┬');
        }
        for column in &net.to {
            if in_a_box(&items[1], below, *column) {
                canvas.mark(top + rows, *column, '▼');
            }
        }
    }
}
