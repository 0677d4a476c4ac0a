//! Restate as a peer: its server from its npm package, and a service with its Rust SDK, built from crates.io in a folder beside
//! this program. Both run in a network that has loopback only, since the server calls out at its start.

use std::net::SocketAddr;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use steadfast::resilience::clock::Clock;

use super::process::Process;
use super::side::{Side, Who};
use super::wire::Line;
use crate::engine::{Disk, Restate};

/// The service as a package of its own: no other build sees what it depends on.
const FILES: [(&str, &str); 3] = [
    ("Cargo.toml", include_str!("../../restate-rust/Cargo.toml")),
    ("Cargo.lock", include_str!("../../restate-rust/Cargo.lock")),
    ("src/main.rs", include_str!("../../restate-rust/src/main.rs")),
];
/// Where the server takes calls, where it is administered, and where the service listens: what they do by default.
const INGRESS: ([u8; 4], u16) = ([127, 0, 0, 1], 8080);
const ADMIN: ([u8; 4], u16) = ([127, 0, 0, 1], 9070);
const SERVICE: &str = "http://127.0.0.1:9080";
/// How often it is asked whether it is there, and how often at most.
const ASK_AGAIN: Duration = Duration::from_millis(200);
const MOST_ASKED: u32 = 150;

/// Restate, installed.
#[derive(Clone, Debug)]
pub struct Peer(PathBuf);

impl Peer {
    /// Installs it beside this program, unless it is there.
    ///
    /// # Errors
    /// What is missing for it: npm, the packages, a network of its own, a crate.
    pub fn install() -> Result<Self> {
        let server = Restate::install()?;
        let peer = Self(server.folder().to_owned());
        let package = peer.package();
        std::fs::create_dir_all(package.join("src"))?;
        for (name, text) in FILES {
            let path = package.join(name);
            // One that is newer than what was built of it would be built again.
            if std::fs::read(&path).ok().as_deref() != Some(text.as_bytes()) {
                std::fs::write(path, text)?;
            }
        }
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let mut command = Command::new(cargo);
        command.args(["build", "--release", "--locked", "--target-dir"]).arg(package.join("target"));
        let status = command.current_dir(&package).stdin(Stdio::null()).status()?;
        ensure!(status.success(), "its service with the Rust SDK cannot be built");
        Ok(peer)
    }

    /// Installed before, in this folder.
    #[must_use]
    pub fn at(folder: PathBuf) -> Self {
        Self(folder)
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// This program again with these arguments, in a network that has loopback only. Returns only if that cannot be.
    ///
    /// # Errors
    /// It cannot be.
    pub fn alone_in_a_network(arguments: &[std::ffi::OsString]) -> Result<std::convert::Infallible> {
        let mut command = Command::new("unshare");
        command.args(["--net", "sh", "-c", "ip link set lo up && exec \"$@\"", "sh"]);
        let error = command.arg(std::env::current_exe()?).args(arguments).exec();
        Err(error).context("unshare cannot be run")
    }

    fn package(&self) -> PathBuf {
        self.0.join("rust")
    }

    /// Starts both, and makes them known to each other.
    pub(super) async fn start(&self, disk: &Disk, shop: SocketAddr) -> Result<Side> {
        let server = self.0.join("node_modules/@restatedev/restate-server-linux-x64/bin/restate-server");
        let mut command = Command::new(server);
        command.env("RESTATE_BASE_DIR", disk.file("restate"));
        command.env("RESTATE_DISABLE_TELEMETRY", "true").env("RUST_LOG", "error");
        let mut server = Process::start(&mut command)?;
        let service = self.package().join("target/release/restate-order");
        let service = Process::start(Command::new(service).arg(format!("http://{shop}")))?;
        until(&mut server, "is not there", async || get(ADMIN, "/health").await).await?;
        let deployment = format!(r#"{{"uri":"{SERVICE}"}}"#);
        until(&mut server, "does not take its service", async || {
            post(ADMIN, "/deployments", &deployment).await
        })
        .await?;
        let order = r#"{"sku":"a chair made of oak","total":70}"#;
        until(&mut server, "takes no order", async || post(INGRESS, "/order/run", order).await).await?;
        Ok(Side::new("Restate", Who::Restate, INGRESS.into(), vec![server, service]))
    }
}

/// Asks until it is answered well, not for ever.
async fn until(server: &mut Process, why: &str, ask: impl AsyncFn() -> Result<()>) -> Result<()> {
    for _ in 0..MOST_ASKED {
        if ask().await.is_ok() {
            return Ok(());
        }
        ensure!(!server.has_ended(), "its server has ended");
        Clock::system().sleep(ASK_AGAIN).await;
    }
    ask().await.with_context(|| format!("its server {why}"))
}

async fn get(at: ([u8; 4], u16), path: &str) -> Result<()> {
    let answer = Line::open(at.into()).await?.get(path).await?;
    well(answer.status, &answer.body)
}

async fn post(at: ([u8; 4], u16), path: &str, body: &str) -> Result<()> {
    let answer = Line::open(at.into()).await?.post(path, body.to_owned().into()).await?;
    well(answer.status, &answer.body)
}

fn well(status: u16, body: &[u8]) -> Result<()> {
    if !(200..300).contains(&status) {
        bail!("{status}: {}", String::from_utf8_lossy(body));
    }
    Ok(())
}
