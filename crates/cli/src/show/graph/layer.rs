//! Which node stands in which layer, and in which order.

use super::Frame;
use super::place::GAP;

/// How often each layer is put into the order that its neighbours suggest: more changes nothing that one sees.
const SWEEPS: usize = 8;

/// Something in a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A node.
    Box(usize),
    /// The lines of a node that go to layers further down.
    Pass(usize),
}

impl Item {
    pub(super) fn width(self, frames: &[Frame]) -> usize {
        match self {
            Self::Box(node) => frames[node].width,
            Self::Pass(_) => 1,
        }
    }
}

/// Layers from top to bottom, and the lines between each and the next: from which item to which.
#[derive(Debug)]
pub(super) struct Layers {
    pub(super) items: Vec<Vec<Item>>,
    pub(super) lines: Vec<Vec<(usize, usize)>>,
}

impl Layers {
    /// Layers that are no wider than so many columns; `None` if the graph goes round in circles.
    pub(super) fn new(frames: &[Frame], edges: &[(usize, usize)], columns: usize) -> Option<Self> {
        let layer_of = assign(frames, edges, columns)?;
        let depth = layer_of.iter().max().map_or(0, |deepest| deepest + 1);
        let mut items: Vec<Vec<Item>> = vec![Vec::new(); depth];
        for (node, layer) in layer_of.iter().enumerate() {
            items[*layer].push(Item::Box(node));
        }
        // All lines of a node share one way down.
        for node in 0..frames.len() {
            let last = edges.iter().filter(|(from, _)| *from == node).map(|(_, to)| layer_of[*to]).max();
            for layer in items.iter_mut().take(last.unwrap_or_default()).skip(layer_of[node] + 1) {
                layer.push(Item::Pass(node));
            }
        }
        let mut layers = Self { items, lines: Vec::new() };
        layers.connect(edges);
        layers.untangle(edges);
        Some(layers)
    }

    fn connect(&mut self, edges: &[(usize, usize)]) {
        let joined = |above: Item, below: Item| {
            let (Item::Box(from) | Item::Pass(from)) = above;
            match below {
                Item::Box(to) => edges.contains(&(from, to)),
                Item::Pass(of) => of == from,
            }
        };
        self.lines = self
            .items
            .windows(2)
            .map(|pair| {
                let all =
                    (0..pair[0].len()).flat_map(|above| (0..pair[1].len()).map(move |below| (above, below)));
                all.filter(|(above, below)| joined(pair[0][*above], pair[1][*below])).collect()
            })
            .collect();
    }

    /// Puts items near those that they are joined with, as long as fewer lines cross.
    fn untangle(&mut self, edges: &[(usize, usize)]) {
        let (mut best, mut fewest) = (self.items.clone(), self.crossings());
        for sweep in 0..SWEEPS {
            let down = sweep % 2 == 0;
            let count = self.items.len();
            for step in 1..count {
                let layer = if down { step } else { count - 1 - step };
                self.sort(layer, down);
                self.connect(edges);
            }
            let crossings = self.crossings();
            if crossings < fewest {
                (best, fewest) = (self.items.clone(), crossings);
            }
        }
        self.items = best;
        self.connect(edges);
    }

    /// Sorts a layer by the middle of what each item is joined with, above or below.
    fn sort(&mut self, layer: usize, by_above: bool) {
        let middle = |at: usize| {
            let others: Vec<usize> = match by_above {
                true => self.lines[layer - 1].iter().filter(|line| line.1 == at).map(|line| line.0).collect(),
                false => self.lines[layer].iter().filter(|line| line.0 == at).map(|line| line.1).collect(),
            };
            // In hundredths, and where it is if it is joined with nothing.
            others.iter().sum::<usize>().saturating_mul(100).checked_div(others.len()).unwrap_or(at * 100)
        };
        let mut order: Vec<_> = (0..self.items[layer].len()).map(|at| (middle(at), at)).collect();
        order.sort_unstable();
        self.items[layer] = order.iter().map(|(_, at)| self.items[layer][*at]).collect();
    }

    fn crossings(&self) -> usize {
        let crossed = |lines: &Vec<(usize, usize)>| {
            let pairs =
                lines.iter().enumerate().flat_map(|(at, a)| lines[at + 1..].iter().map(move |b| (a, b)));
            pairs.filter(|(a, b)| (a.0 < b.0 && a.1 > b.1) || (a.0 > b.0 && a.1 < b.1)).count()
        };
        self.lines.iter().map(crossed).sum()
    }
}

/// The layer of each node: below all that comes before it, and where there is room.
fn assign(frames: &[Frame], edges: &[(usize, usize)], columns: usize) -> Option<Vec<usize>> {
    let mut layer_of: Vec<Option<usize>> = vec![None; frames.len()];
    let mut used: Vec<usize> = Vec::new();
    for _ in 0..frames.len() {
        let before = |node: usize| edges.iter().filter(move |(_, to)| *to == node).map(|(from, _)| *from);
        let ready = (0..frames.len())
            .filter(|node| layer_of[*node].is_none() && before(*node).all(|from| layer_of[from].is_some()))
            .min_by_key(|node| (before(*node).filter_map(|from| layer_of[from]).max(), *node))?;
        let least = before(ready).filter_map(|from| layer_of[from]).max().map_or(0, |layer| layer + 1);
        let width = frames[ready].width + GAP;
        let roomy = |layer: &usize| used.get(*layer).is_none_or(|used| used + width <= columns + GAP);
        let layer = (least..).find(roomy)?;
        if used.len() <= layer {
            used.resize(layer + 1, 0);
        }
        used[layer] += width;
        layer_of[ready] = Some(layer);
    }
    layer_of.into_iter().collect()
}
