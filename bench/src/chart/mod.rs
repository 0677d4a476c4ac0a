//! Charts of figures for the guide, drawn with the library's own SVG.

pub mod contention;
pub mod waits;

pub(crate) use steadfast_resilience::svg::{Anchor, COOL, GRID, INK, PALE, QUIET, Svg, WARM};
