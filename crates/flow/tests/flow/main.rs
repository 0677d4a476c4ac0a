//! Workflow files: what they mean, what they refuse, and what becomes of their tasks.

#![expect(clippy::expect_used, clippy::panic, clippy::unwrap_used, reason = "tests")]

mod bad;
mod doc;
mod property;
mod run;
mod same;
mod world;

use steadfast_flow::{Error, FlowFile, Format};

/// Reads a text that has to be right.
fn good(text: &str) -> FlowFile {
    yaml(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn yaml(text: &str) -> Result<FlowFile, Error> {
    FlowFile::parse(text, Format::Yaml, "flow.yaml")
}
