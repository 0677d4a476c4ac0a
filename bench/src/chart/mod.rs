//! Charts of figures for the guide, drawn with the library's own SVG.

pub mod contention;
#[cfg(feature = "engine")]
pub mod outage;
pub mod waits;

pub(crate) use steadfast_resilience::svg::{Anchor, COOL, GRID, INK, PALE, QUIET, Svg, WARM};
