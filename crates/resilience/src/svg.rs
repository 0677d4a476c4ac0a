//! SVG, written by hand: a light background, no fonts from elsewhere, the same bytes for the same figures.

use std::fmt::Write;

// Colours that can be told apart in print and by the colour-blind.

/// Words and lines that matter.
pub const INK: &str = "#1f2933";
/// Words and lines beside them.
pub const QUIET: &str = "#616e7c";
/// What lies behind.
pub const GRID: &str = "#e1e5ea";
/// What warns.
pub const WARM: &str = "#c2410c";
/// What is meant to be seen.
pub const COOL: &str = "#1d4ed8";
/// A paler one of it.
pub const PALE: &str = "#93b4f5";

/// A drawing under construction. Coordinates grow to the right and down.
#[derive(Debug)]
pub struct Svg {
    text: String,
}

/// Where a text stands relative to its point.
#[derive(Clone, Copy, Debug)]
pub enum Anchor {
    /// Begins there.
    Start,
    /// Has its middle there.
    Middle,
    /// Ends there.
    End,
}

impl Svg {
    /// A drawing of this size; `title` is for those who cannot see it.
    pub fn new(width: u32, height: u32, title: &str) -> Self {
        let text = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width} {height}\" width=\"{width}\" \
             height=\"{height}\" font-family=\"system-ui, sans-serif\" role=\"img\">\n\
             <title>{}</title>\n\
             <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n",
            escaped(title)
        );
        Self { text }
    }

    fn add(&mut self, line: std::fmt::Arguments<'_>) {
        // Writing to a string cannot fail.
        let _ = self.text.write_fmt(line);
        self.text.push('\n');
    }

    /// A filled box.
    pub fn rect(&mut self, at: (f64, f64), size: (f64, f64), fill: &str) {
        let ((x, y), (width, height)) = (at, size);
        self.add(format_args!(
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" fill=\"{fill}\"/>"
        ));
    }

    /// A line; `more` are further attributes, with a space before each.
    pub fn line(&mut self, from: (f64, f64), to: (f64, f64), stroke: &str, more: &str) {
        let ((x1, y1), (x2, y2)) = (from, to);
        self.add(format_args!(
            "<line x1=\"{x1:.1}\" y1=\"{y1:.1}\" x2=\"{x2:.1}\" y2=\"{y2:.1}\" stroke=\"{stroke}\"{more}/>"
        ));
    }

    /// Words at a point; `size` in pixels; `more` are further attributes, with a space before each.
    pub fn text(&mut self, at: (f64, f64), anchor: Anchor, size: u32, fill: &str, more: &str, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        };
        let (x, y) = at;
        self.add(format_args!(
            "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"{anchor}\" font-size=\"{size}\" fill=\"{fill}\"{more}>{}</text>",
            escaped(text)
        ));
    }

    /// A line through all these points.
    pub fn path(&mut self, points: impl Iterator<Item = (f64, f64)>, stroke: &str, more: &str) {
        let points: Vec<_> = points.map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        let points = points.join(" ");
        self.add(format_args!("<polyline points=\"{points}\" fill=\"none\" stroke=\"{stroke}\"{more}/>"));
    }

    /// Round dots of one colour, as a single path: thousands of circles would make a large file.
    pub fn dots(&mut self, points: impl Iterator<Item = (f64, f64)>, stroke: &str) {
        let path = points.fold(String::new(), |mut path, (x, y)| {
            let _ = write!(path, "M{x:.1} {y:.1}h0");
            path
        });
        self.add(format_args!(
            "<path d=\"{path}\" stroke=\"{stroke}\" stroke-width=\"2.6\" stroke-linecap=\"round\" \
             stroke-opacity=\"0.65\" fill=\"none\"/>"
        ));
    }

    /// The text of the drawing.
    #[must_use]
    pub fn finish(mut self) -> String {
        self.text.push_str("</svg>\n");
        self.text
    }
}

/// A name of the user's may have any letters.
fn escaped(text: &str) -> String {
    let shown = text.chars().filter(|letter| !letter.is_control());
    shown
        .collect::<String>()
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_break_the_drawing() {
        let mut svg = Svg::new(10, 10, "<a>&\u{1}\"b");
        svg.text((0.0, 0.0), Anchor::Start, 1, INK, "", "</text><script>");
        let text = svg.finish();
        assert!(text.contains("<title>&lt;a&gt;&amp;&quot;b</title>"), "{text}");
        assert!(!text.contains("<script>"), "{text}");
    }
}
