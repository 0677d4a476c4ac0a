//! Restate beside it: its server and its TypeScript SDK from their npm packages, in a network namespace that has loopback
//! only, since the server calls out at its start whatever one tells it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::disk::Disk;

/// The packages, in the versions that were measured.
const PACKAGES: [&str; 2] = ["@restatedev/restate-server@1.7.12", "@restatedev/restate-sdk@1.17.2"];
const FILES: [(&str, &str); 3] = [
    ("package.json", "{\"private\":true,\"type\":\"module\"}\n"),
    ("run.mjs", include_str!("../../restate/run.mjs")),
    ("service.mjs", include_str!("../../restate/service.mjs")),
];
/// How long one round takes.
const SECONDS: &str = "4";

/// Restate, installed.
#[derive(Debug)]
pub struct Restate {
    folder: PathBuf,
}

impl Restate {
    /// Installs it beside this program, unless it is there.
    ///
    /// # Errors
    /// What is missing for it: npm, the packages, a network namespace.
    pub fn install() -> Result<Self> {
        let program = std::env::current_exe()?;
        let folder = program.parent().context("this program is in no folder")?.join("peers").join("restate");
        std::fs::create_dir_all(&folder)?;
        for (name, text) in FILES {
            std::fs::write(folder.join(name), text)?;
        }
        if !folder.join("node_modules/@restatedev/restate-sdk").is_dir() {
            let mut npm = Command::new("npm");
            npm.args(["install", "--ignore-scripts", "--no-audit", "--no-fund"]).args(PACKAGES);
            succeed(npm.current_dir(&folder), "npm install")?;
        }
        succeed(Command::new("unshare").args(["--net", "ip", "link", "set", "lo", "up"]), "unshare --net")?;
        Ok(Self { folder })
    }

    /// Where it is.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Calls a second with 200 in flight, by round; `None` partitions: as many as it makes by default.
    ///
    /// # Errors
    /// It did not start, or did not answer.
    pub fn run(&self, disk: &Disk, partitions: Option<u32>, rounds: usize) -> Result<Vec<f64>> {
        let partitions = partitions.unwrap_or(0).to_string();
        let base = disk.file(&format!("restate-{partitions}"));
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", "ip link set lo up && exec node run.mjs \"$@\"", "run"]);
        command.arg(&base).args([&partitions, &rounds.to_string(), SECONDS]);
        let output = command.current_dir(&self.folder).stdin(Stdio::null()).output()?;
        let (told, errors) =
            (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        ensure!(output.status.success(), "it did not run: {}", last_line(&errors));
        let rounds = told.lines().filter_map(|line| line.strip_prefix("round ")).map(str::parse);
        let rounds = rounds.collect::<Result<Vec<f64>, _>>()?;
        remove(&base);
        ensure!(!rounds.is_empty(), "it has told nothing");
        Ok(rounds)
    }
}

fn succeed(command: &mut Command, what: &str) -> Result<()> {
    let output = command.stdin(Stdio::null()).output().with_context(|| format!("{what} cannot be run"))?;
    if !output.status.success() {
        bail!("{what} failed: {}", last_line(&String::from_utf8_lossy(&output.stderr)));
    }
    Ok(())
}

fn last_line(text: &str) -> &str {
    text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or("without a word")
}

/// Its files are of no use any more; what is left goes with the folder.
fn remove(base: &Path) {
    let _ = std::fs::remove_dir_all(base);
}
