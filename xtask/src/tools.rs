//! The tools that steps need: found, installed where cargo can, or named with the exact command to type.
//! Versions are pinned here, so that a fresh machine runs what we run.

use std::sync::Mutex;

use anyhow::{Result, bail};

use crate::command::Cmd;
use crate::step::Note;

/// A command beside cargo itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tool {
    Rustfmt,
    Clippy,
    Nextest,
    Deny,
    Mutants,
}

/// What CI needs; `Mutants` is for its own command alone and takes long to build.
const FOR_CI: [Tool; 4] = [Tool::Rustfmt, Tool::Clippy, Tool::Nextest, Tool::Deny];

/// Tools that were found in this run: asking costs a process each time.
static FOUND: Mutex<Vec<Tool>> = Mutex::new(Vec::new());

/// Makes everything CI needs ready, so that a missing tool shows before the long steps.
pub(crate) fn ready() -> Result<Note> {
    FOR_CI.into_iter().try_for_each(need)?;
    Ok(Note::new())
}

/// Returns once `tool` works, or says what to type.
pub(crate) fn need(tool: Tool) -> Result<()> {
    let mut found = FOUND.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if found.contains(&tool) {
        return Ok(());
    }
    if !tool.probe().works() {
        tool.provide()?;
    }
    found.push(tool);
    Ok(())
}

impl Tool {
    fn probe(self) -> Cmd {
        Cmd::cargo(match self {
            Self::Rustfmt => "fmt --version",
            Self::Clippy => "clippy --version",
            Self::Nextest => "nextest --version",
            Self::Deny => "deny --version",
            Self::Mutants => "mutants --version",
        })
    }

    /// How cargo installs it. `--debug` builds in a fraction of the time, and the tools are quick enough.
    fn install(self) -> Option<Cmd> {
        let package = match self {
            Self::Rustfmt | Self::Clippy => return None,
            Self::Nextest => "cargo-nextest --version 0.9.143",
            Self::Deny => "cargo-deny --version 0.20.2",
            Self::Mutants => "cargo-mutants --version 27.1.0",
        };
        Some(Cmd::cargo(&format!("install --locked --debug {package}")))
    }

    fn provide(self) -> Result<()> {
        let Some(install) = self.install() else {
            bail!("{self:?} is missing. Type:\n    rustup component add rustfmt clippy");
        };
        eprintln!("    {self:?} is missing; installing it, which takes a minute or more");
        if install.run().is_err() || !self.probe().works() {
            bail!("{self:?} could not be installed. Type, and see why it fails:\n    {install}");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn installs_are_pinned_and_locked() {
        for tool in [Tool::Nextest, Tool::Deny, Tool::Mutants] {
            let line = tool.install().unwrap().to_string();
            assert!(line.starts_with("cargo install --locked --debug cargo-"), "{line}");
            assert!(line.contains(" --version "), "{line}");
        }
    }

    #[test]
    fn toolchain_parts_are_not_installed_behind_the_back() {
        assert!(Tool::Rustfmt.install().is_none());
        assert!(Tool::Clippy.install().is_none());
    }
}
