//! The API docs: they build without a warning or a broken link, and their examples run.
//! The pages under docs/ are not built here; coverage.rs checks those that prove something.

use anyhow::Result;

use crate::command::Cmd;
use crate::metadata::Metadata;
use crate::step::Note;

pub(crate) fn doc() -> Result<Note> {
    let doc = Cmd::cargo("doc --workspace --no-deps --all-features --locked");
    doc.env("RUSTDOCFLAGS", "-D warnings").run()?;
    Ok(Note::new())
}

pub(crate) fn doctest() -> Result<Note> {
    let features = Metadata::read()?.tested_features();
    Cmd::cargo("test --doc --workspace --locked --features").arg(&features).run()?;
    Ok(Note::new())
}
