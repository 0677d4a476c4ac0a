//! Charts as SVG, written by hand: a light background, no fonts from elsewhere, the same bytes for the same figures.

pub mod contention;
pub mod waits;

use std::fmt::Write;

/// Colours that can be told apart in print and by the colour-blind.
pub(crate) const INK: &str = "#1f2933";
pub(crate) const QUIET: &str = "#616e7c";
pub(crate) const GRID: &str = "#e1e5ea";
pub(crate) const WARM: &str = "#c2410c";
pub(crate) const COOL: &str = "#1d4ed8";
pub(crate) const PALE: &str = "#93b4f5";

/// A drawing under construction. Coordinates grow to the right and down.
#[derive(Debug)]
pub(crate) struct Svg {
    text: String,
}

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

impl Svg {
    /// A drawing of this size; `title` is for those who cannot see it.
    pub(crate) fn new(width: u32, height: u32, title: &str) -> Self {
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" role=\"img\">\n\
             <title>{title}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
        );
        Self { text }
    }

    fn add(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    pub(crate) fn rect(&mut self, at: (f64, f64), size: (f64, f64), fill: &str) {
        let ((x, y), (width, height)) = (at, size);
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
        ));
    }

    pub(crate) fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, more: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\"{more}/>"
        ));
    }

    /// `size` in pixels; `more` are further attributes, with a space before each.
    pub(crate) fn text(
        &mut self,
        at: (f64, f64),
        anchor: Anchor,
        size: u32,
        fill: &str,
        more: &str,
        text: &str,
    ) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = at;
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{fill}\"{more}>{text}</text>"
        ));
    }

    /// Round dots of one colour, as a single path: thousands of circles would make a large file.
    pub(crate) fn dots(&mut self, points: impl Iterator<Item = (f64, f64)>, stroke: &str) {
        let path = points.fold(String::new(), |mut path, (x, y)| {
            let _ = write!(path, "M{x:.1} {y:.1}h0");
            path
        });
        self.add(format_args!(
            "<path d=\"{path}\" stroke=\"{stroke}\" stroke-width=\"2.6\" stroke-linecap=\"round\" \
             stroke-opacity=\"0.65\" fill=\"none\"/>"
        ));
    }

    pub(crate) fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}
