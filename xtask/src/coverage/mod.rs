//! `cargo xtask coverage`: docs/coverage.md says which test proves which requirement; here that is checked.
//! It gathers the page, the tests that exist and the requirements; `check` decides, without touching a file.

mod check;
mod page;
mod proof;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::command::Cmd;
use crate::metadata::Metadata;
use crate::step::Note;
use crate::tools::{self, Tool};
use check::Facts;
use proof::Tests;

const PAGE: &str = "docs/coverage.md";
/// The requirements lie beside the checkout where the project is planned; elsewhere they are not at hand.
const SPEC: &str = "../shared/SPEC.md";

pub(crate) fn run() -> Result<Note> {
    tools::need(Tool::Nextest)?;
    let page = page::parse(&fs::read_to_string(PAGE).with_context(|| format!("cannot read {PAGE}"))?);
    let features = Metadata::read()?.tested_features();
    let list = Cmd::cargo("nextest list --workspace --locked --message-format json --features")
        .arg(&features)
        .stdout()?;
    let tests = Tests::parse(&list).context("cargo nextest list has changed its form")?;
    let spec = fs::read_to_string(SPEC).ok().map(|text| spec_ids(&text));
    let facts = Facts { tests: &tests, doc_exists: &|doc| Path::new(doc).is_file(), spec: spec.as_ref() };
    let problems = check::check(&page, &facts);
    for (line, problem) in &problems {
        eprintln!("    {PAGE}:{line}: {problem}");
    }
    if !problems.is_empty() {
        bail!("{PAGE} has {} problems", problems.len());
    }
    let skipped = if spec.is_none() { "; no SPEC.md beside the checkout, ids not compared" } else { "" };
    Ok(format!("{}{skipped}", page.tally()))
}

/// The ids of the lines `- R4  text`.
fn spec_ids(text: &str) -> BTreeSet<String> {
    let id_of = |line: &str| {
        let (id, _) = line.strip_prefix("- ")?.split_once(' ')?;
        page::is_id(id).then(|| id.to_owned())
    };
    text.lines().filter_map(id_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_from_the_lines_that_define_them() {
        let text = "Words: a **task**\n- R1  An error is\n- R14 Scope\n- none of it\n  - R2 nested\n-R3 no\n";
        assert_eq!(spec_ids(text), BTreeSet::from(["R1".to_owned(), "R14".to_owned()]));
    }
}
