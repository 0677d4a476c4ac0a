//! schemathesis itself: installed with pip into a folder of its own under `target`, at the versions of `xtask/api/requirements.txt`.
//! Where the packages come from is pip's own setting.

use std::hash::{BuildHasher as _, Hasher as _};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use super::world::World;
use crate::command::Cmd;

/// Which packages, and in which versions.
const WANTED: &str = "xtask/api/requirements.txt";
const SETTINGS: &str = "xtask/api/schemathesis.toml";
const DOCUMENT: &str = "docs/openapi.json";
/// How long a request may take: more than the server takes for anything that the world allows.
const REQUEST_WITHIN: &str = "30";

/// Where it is installed.
pub(super) struct Tool {
    folder: PathBuf,
}

impl Tool {
    /// Installs it if it is not there in the versions that are wanted.
    pub(super) fn ready() -> Result<Self> {
        let tool = Self { folder: crate::metadata::target_folder()?.join("schemathesis") };
        let wanted = std::fs::read_to_string(WANTED).with_context(|| format!("cannot read {WANTED}"))?;
        let installed = tool.folder.join("installed.txt");
        if std::fs::read_to_string(&installed).is_ok_and(|has| has == wanted) {
            return Ok(tool);
        }
        let folder = tool.folder.display().to_string();
        eprintln!("    schemathesis is missing; installing it, which takes a minute");
        let steps = [
            Cmd::program("python3").args(&["-m", "venv", "--clear", &folder]),
            Cmd::program(tool.bin("python")).args(&["-m", "pip", "install", "--quiet", "-r", WANTED]),
        ];
        for step in steps {
            if step.run().is_err() {
                bail!(
                    "schemathesis could not be installed: it needs Python 3.10 or newer with venv and pip. Type, and see why it fails:\n    {step}"
                );
            }
        }
        // Written last: what was broken off is made again.
        std::fs::write(installed, wanted)?;
        Ok(tool)
    }

    fn bin(&self, name: &str) -> String {
        self.folder.join("bin").join(name).display().to_string()
    }

    /// Has it ask the world for so long.
    pub(super) fn ask(&self, world: &World, time: Duration, seed: u64) -> Result<()> {
        let tasks = world.tasks().join(",");
        let command = Cmd::program(self.bin("schemathesis"))
            .args(&["--config-file", SETTINGS, "--no-color", "run", DOCUMENT])
            .args(&["--url", world.url(), "--seed", &seed.to_string()])
            .args(&["--max-time", &time.as_secs().to_string(), "--request-timeout", REQUEST_WITHIN])
            .arg("--continue-on-failure")
            .env("SCHEMATHESIS_HOOKS", "hooks")
            .env("PYTHONPATH", "xtask/api")
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("HYPOTHESIS_STORAGE_DIRECTORY", world.folder().join("hypothesis").display().to_string())
            .env("NO_PROXY", "127.0.0.1")
            .env("STEADFAST_URL", world.url())
            .env("STEADFAST_TASKS", tasks)
            .env("STEADFAST_FOLDER", world.folder().display().to_string());
        command
            .run()
            .context("schemathesis found what is above; each is a bug of the server or of docs/openapi.json")
    }
}

/// Another one in every run, for whoever names none.
pub(super) fn any_seed() -> u64 {
    let drawn = std::collections::hash_map::RandomState::new().build_hasher().finish();
    // As many digits as people like to type.
    drawn % 1_000_000
}

#[cfg(test)]
mod tests {
    #[test]
    fn versions_are_pinned_and_no_host_is_named() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/api/requirements.txt");
        let wanted = std::fs::read_to_string(path).unwrap();
        let packages: Vec<_> = wanted.lines().filter(|line| !line.starts_with('#')).collect();
        assert!(packages.iter().any(|line| line.starts_with("schemathesis==")));
        for line in packages {
            assert!(line.contains("==") && !line.contains("//") && !line.starts_with('-'), "{line}");
        }
    }
}
