//! The world that schemathesis asks: the real binary over the workflows of `xtask/api/workflows` and a little web service, with a few tasks
//! that have ended, wait, and have failed. All of it is in a folder of its own under `target`.

use std::fs::{self, File};
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::service;
use crate::command::Cmd;

const WORKFLOWS: &str = "xtask/api/workflows";
/// Submitted before anything is asked: one that completes, one that waits, two that are in an operator's hands.
const SUBMITTED: [&str; 5] = ["place-order", "approve", "refused", "stuck", "family"];
/// The most memory that the server may use in the end: nothing that anybody asks may make it grow without a bound.
const MOST_MEMORY: u64 = 512 << 20;

pub(super) struct World {
    server: Child,
    url: String,
    folder: PathBuf,
    binary: PathBuf,
    tasks: Vec<String>,
}

impl World {
    pub(super) fn start(binary: &Path) -> Result<Self> {
        let folder = crate::metadata::target_folder()?.join("api");
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        let settings = folder.join("steadfast.toml");
        fs::write(&settings, self::settings(&service::start()?.to_string())?)?;
        let mut server = Command::new(binary);
        for (name, _) in std::env::vars().filter(|(name, _)| name.starts_with("STEADFAST_")) {
            server.env_remove(name);
        }
        let mut server = server
            .args(["serve", "--config"])
            .arg(&settings)
            .stdin(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start {}", binary.display()))?;
        let url = match listening(&mut server, &folder.join("log.txt")) {
            Ok(url) => url,
            Err(error) => {
                let _ = server.kill();
                return Err(error);
            }
        };
        let mut world = Self { server, url, folder, binary: binary.to_owned(), tasks: Vec::new() };
        for workflow in SUBMITTED {
            let told = world.ask(&["task", "submit", workflow, "--json"])?;
            world.tasks.push(told["id"].as_str().context("a submission without an id")?.to_owned());
        }
        Ok(world)
    }

    pub(super) fn url(&self) -> &str {
        &self.url
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Ids that are there.
    pub(super) fn tasks(&self) -> &[String] {
        &self.tasks
    }

    /// Asks the server by the command line.
    fn ask(&self, args: &[&str]) -> Result<Value> {
        let mut command = Command::new(&self.binary);
        let output = command.args(["--server", &self.url]).args(args).stderr(Stdio::inherit()).output()?;
        ensure!(output.status.success(), "`steadfast {}` has failed", args.join(" "));
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// The server that was started is still there and small, its store is sound, and it stops in good order.
    pub(super) fn end(mut self) -> Result<()> {
        if let Some(status) = self.server.try_wait()? {
            bail!("the server has ended ({status}): see {}", self.folder.join("log.txt").display());
        }
        let found = self.ask(&["store", "verify", "--json"])?;
        ensure!(found["findings"] == Value::Array(Vec::new()), "the store contradicts itself: {found}");
        let memory = memory(self.server.id());
        ensure!(memory.is_none_or(|memory| memory < MOST_MEMORY), "the server uses {memory:?} bytes");
        Cmd::program("kill").args(&["-TERM", &self.server.id().to_string()]).run()?;
        let status = self.server.wait()?;
        ensure!(status.success(), "the server did not stop in good order: {status}");
        Ok(())
    }
}

impl Drop for World {
    fn drop(&mut self) {
        // One that has ended already is left alone by the system.
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// Waits until the server says where it listens; what it says goes into a file.
fn listening(server: &mut Child, log: &Path) -> Result<String> {
    use std::io::Write as _;
    let stderr = server.stderr.take().context("the server has no stderr")?;
    let mut file = File::create(log)?;
    let mut lines = BufReader::new(stderr).lines().map_while(Result::ok);
    let mut url = None;
    while url.is_none() {
        let Some(line) = lines.next() else {
            bail!("the server did not start: {}", fs::read_to_string(log).unwrap_or_default());
        };
        writeln!(file, "{line}")?;
        let word = line.split_whitespace().find(|word| word.starts_with("http://"));
        url = word.filter(|_| line.contains("listens on")).map(|url| url.trim_end_matches(',').to_owned());
    }
    // Somebody reads on, or the server would wait for that.
    thread::spawn(move || lines.for_each(|line| drop(writeln!(file, "{line}"))));
    url.context("the server did not say where it listens")
}

/// How much memory a process uses, where the system tells.
fn memory(process: u32) -> Option<u64> {
    let text = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.trim().trim_end_matches(" kB").parse::<u64>().ok()? << 10)
}

fn settings(service: &str) -> Result<String> {
    let workflows = fs::canonicalize(WORKFLOWS).with_context(|| format!("cannot find {WORKFLOWS}"))?;
    let services = ["inventory", "payments", "shipping"];
    let services = services.map(|name| format!("[service.{name}]\nurl = \"http://{service}/{name}\"\n"));
    Ok(format!(
        "listen = \"127.0.0.1:0\"\nworkflows = {workflows:?}\ngrace = \"2s\"\n\n{}",
        services.join("\n")
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_workflow_of_the_world_is_known_to_the_hooks() {
        let root = concat!(env!("CARGO_MANIFEST_DIR"), "/api");
        let hooks = fs::read_to_string(format!("{root}/hooks.py")).unwrap();
        let mut files = 0;
        for file in fs::read_dir(format!("{root}/workflows")).unwrap() {
            let name = file.unwrap().path().file_stem().unwrap().to_string_lossy().into_owned();
            assert!(hooks.contains(&format!("\"{name}\"")) && SUBMITTED.contains(&&*name), "{name}");
            files += 1;
        }
        assert_eq!(files, SUBMITTED.len());
    }

    #[test]
    fn the_memory_of_a_process_is_read() {
        assert!(memory(std::process::id()).is_none_or(|memory| memory > 1 << 20));
    }
}
