//! The plain cargo steps: format, clippy, features one by one, tests.
//! Each is one command line that a person can also type; nothing here reads files.

use anyhow::Result;

use crate::command::Cmd;
use crate::metadata::Metadata;
use crate::step::Note;
use crate::tools::{self, Tool};

/// The crates that others use alone, with any choice of features.
const LIBRARIES: [&str; 2] = ["steadfast-resilience", "steadfast-testkit"];
/// And one that everything here has with all of its features: others may do without.
const BARE: &str = "steadfast-http";

pub(crate) fn fmt() -> Result<Note> {
    tools::need(Tool::Rustfmt)?;
    Cmd::cargo("fmt --all --check").run()?;
    Ok(Note::new())
}

pub(crate) fn clippy() -> Result<Note> {
    tools::need(Tool::Clippy)?;
    Cmd::cargo("clippy --workspace --all-targets --all-features --locked -- -D warnings").run()?;
    Ok(Note::new())
}

/// Clippy rather than `check`: code that is dead without some feature is found too, and the dependencies
/// that the step before has checked are not checked again.
pub(crate) fn features() -> Result<Note> {
    tools::need(Tool::Clippy)?;
    let metadata = Metadata::read()?;
    let mut seen = Vec::new();
    let alone = |library: &str, extra: &[&str]| {
        let bare = Cmd::cargo("clippy --locked --no-default-features -p").arg(library).args(extra);
        bare.args(&["--", "-D", "warnings"]).run()
    };
    for library in LIBRARIES {
        alone(library, &[])?;
        let features = metadata.features(library)?;
        features.iter().try_for_each(|feature| alone(library, &["--features", feature]))?;
        seen.extend(features);
    }
    alone(BARE, &[])?;
    Ok(format!("none, and {} alone", seen.join(", ")))
}

pub(crate) fn test() -> Result<Note> {
    test_with(&[])?;
    Ok(Note::new())
}

/// All tests, or those that `extra` picks.
pub(crate) fn test_with(extra: &[String]) -> Result<()> {
    tools::need(Tool::Nextest)?;
    let features = Metadata::read()?.tested_features();
    Cmd::cargo("nextest run --workspace --locked --features").arg(&features).args(extra).run()
}
