//! A graph drawn with box characters: layers from top to bottom, a box for each node, lines from what comes before.
//! Pure: the same nodes give the same drawing. Lines of different origins cross as `│` and never join, so that none is ambiguous.

mod canvas;
mod layer;
mod place;
mod route;

use self::canvas::Canvas;
use self::layer::{Item, Layers};

/// The most nodes that are drawn: nobody reads a larger drawing in a terminal.
const MOST_NODES: usize = 200;
/// The most columns of a box's text: two boxes fit beside each other into 80.
const WIDEST_TEXT: usize = 30;

/// A node, with those that come before it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// What stands below the name; may be empty.
    pub(crate) detail: String,
    pub(crate) after: Vec<String>,
}

/// A box: its text, and how wide it is with its borders.
#[derive(Debug)]
struct Frame {
    lines: [String; 2],
    width: usize,
}

impl Frame {
    /// A box for this text, wide enough for as many lines to end at it.
    fn new(node: &Node, lines_in: usize) -> Self {
        let lines = [shortened(&node.name), shortened(&node.detail)];
        let text = lines.iter().map(|line| line.chars().count()).max().unwrap_or_default();
        // A column between any two lines that end here, so that they keep apart.
        Self { lines, width: text.max((2 * lines_in).saturating_sub(1)) + 4 }
    }
}

fn shortened(text: &str) -> String {
    let text = super::plain(text);
    if text.chars().count() <= WIDEST_TEXT {
        return text;
    }
    let shown: String = text.chars().take(WIDEST_TEXT - 1).collect();
    format!("{shown}…")
}

/// Draws a graph into so many columns; `None` if it does not fit, goes round in circles, or is too large to be read.
pub(crate) fn draw(nodes: &[Node], columns: usize) -> Option<String> {
    if nodes.is_empty() || nodes.len() > MOST_NODES {
        return None;
    }
    let edges = edges(nodes);
    let lines_in = |node| edges.iter().filter(|(_, to)| *to == node).count();
    let frames: Vec<_> = nodes.iter().enumerate().map(|(at, node)| Frame::new(node, lines_in(at))).collect();
    let layers = Layers::new(&frames, &edges, columns)?;
    let places = place::place(&layers, &frames, columns)?;
    Some(paint(&layers, &places, &frames))
}

/// From which node to which. Names that nobody has are passed over.
fn edges(nodes: &[Node]) -> Vec<(usize, usize)> {
    let at = |name: &String| nodes.iter().position(|node| node.name == *name);
    let mut edges: Vec<_> = nodes
        .iter()
        .enumerate()
        .flat_map(|(to, node)| node.after.iter().filter_map(at).map(move |from| (from, to)))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    edges
}

fn paint(layers: &Layers, places: &[Vec<usize>], frames: &[Frame]) -> String {
    let mut canvas = Canvas::default();
    let mut top = 0;
    for (number, (items, columns)) in layers.items.iter().zip(places).enumerate() {
        let inside = text_rows(items, frames);
        for (item, column) in items.iter().zip(columns) {
            match item {
                Item::Box(node) => boxed(&mut canvas, top, *column, &frames[*node], inside),
                Item::Pass(_) => canvas.vertical(*column, top, top + inside + 2),
            }
        }
        top += inside + 2;
        if let Some(below) = places.get(number + 1) {
            top += route::route(&mut canvas, top, layers, number, (columns, below), frames);
        }
    }
    canvas.text()
}

/// How many rows of text the boxes of a layer have.
fn text_rows(items: &[Item], frames: &[Frame]) -> usize {
    let has_detail = |item: &Item| matches!(item, Item::Box(node) if !frames[*node].lines[1].is_empty());
    if items.iter().any(has_detail) { 2 } else { 1 }
}

fn boxed(canvas: &mut Canvas, top: usize, left: usize, frame: &Frame, rows: usize) {
    let bar = "─".repeat(frame.width - 2);
    canvas.text_at(top, left, &format!("┌{bar}┐"));
    for (row, line) in frame.lines.iter().take(rows).enumerate() {
        let inside = frame.width - 2;
        canvas.text_at(top + 1 + row, left, &format!("│{line:^inside$}│"));
    }
    canvas.text_at(top + 1 + rows, left, &format!("└{bar}┘"));
}

#[cfg(test)]
mod tests;
