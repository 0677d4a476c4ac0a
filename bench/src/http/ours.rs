//! Our side: the binary `steadfast` as users have it, with a file of settings, a workflow file and the embedded store.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use super::order::WORKFLOW;
use super::process::Process;
use super::side::{Side, Who};
use crate::engine::Disk;

/// The binary.
#[derive(Clone, Debug)]
pub struct Binary(PathBuf);

impl Binary {
    /// This one.
    #[must_use]
    pub fn at(path: PathBuf) -> Self {
        Self(path)
    }

    /// The one beside this program, if there is one: it may be of another day.
    ///
    /// # Errors
    /// This program is nowhere.
    pub fn beside() -> Result<Option<Self>> {
        let path = std::env::current_exe()?.with_file_name("steadfast");
        Ok(path.is_file().then_some(Self(path)))
    }

    /// Has cargo build it as releases are built, beside this program.
    ///
    /// # Errors
    /// It cannot be built.
    pub fn build() -> Result<Self> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args([
            "build",
            "--locked",
            "--profile",
            "bench",
            "-p",
            "steadfast-cli",
            "--bin",
            "steadfast",
        ]);
        command.current_dir(env!("CARGO_MANIFEST_DIR"));
        // Asked for, the path: the folder may have been chosen by a variable.
        let output =
            command.arg("--message-format=json-render-diagnostics").stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "`steadfast` cannot be built");
        let text = String::from_utf8_lossy(&output.stdout);
        let built = text.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
        let mut paths = built.filter_map(|message| Some(PathBuf::from(message["executable"].as_str()?)));
        Ok(Self(paths.next_back().context("cargo has not said where `steadfast` is")?))
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// Starts a server in a folder of its own. What is more than the address of the service stands in `limits`.
pub(super) fn start(
    binary: &Binary,
    disk: &Disk,
    name: &str,
    service: SocketAddr,
    limits: &str,
) -> Result<Side> {
    let (process, address) = process(binary, disk, name, service, limits)?;
    Ok(Side::new("steadfast", Who::Ours, address, vec![process]))
}

/// The same, of another build.
pub(super) fn start_other(binary: &Binary, disk: &Disk, service: SocketAddr) -> Result<Side> {
    let (process, address) = process(binary, disk, "other", service, "")?;
    Ok(Side::new("the other build", Who::Other, address, vec![process]))
}

fn process(
    binary: &Binary,
    disk: &Disk,
    name: &str,
    service: SocketAddr,
    limits: &str,
) -> Result<(Process, SocketAddr)> {
    let folder = disk.file(name);
    std::fs::create_dir_all(folder.join("workflows"))?;
    std::fs::write(folder.join("workflows/order.yaml"), WORKFLOW)?;
    let settings = format!(
        "listen = \"127.0.0.1:0\"\nworkflows = \"workflows\"\n{limits}\n[service.shop]\nurl = \"http://{service}\"\n"
    );
    let file = folder.join("steadfast.toml");
    std::fs::write(&file, settings)?;
    Process::listening(Command::new(binary.path()).args(["serve", "--config"]).arg(&file))
}
