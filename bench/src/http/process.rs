//! Processes of this benchmark: started, found by the address that they tell, and ended with whoever started them.

use std::io::{BufRead, BufReader, Read, Write as _};
use std::net::SocketAddr;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result};
use tokio::sync::oneshot;

use crate::engine::process::cpu_of;

/// What stands in front of the address, in the line that tells it.
const TELLS: &str = "listens on ";

/// One that runs. It is ended when this is dropped.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
}

impl Process {
    /// Starts it.
    pub(super) fn start(command: &mut Command) -> Result<Self> {
        let child = command.stdin(Stdio::piped()).stdout(Stdio::null()).spawn();
        let child =
            child.with_context(|| format!("{} cannot be started", command.get_program().display()))?;
        Ok(Self { child })
    }

    /// Starts it, and waits for the line on stderr that tells its address. What it says later goes to our stderr.
    pub(super) fn listening(command: &mut Command) -> Result<(Self, SocketAddr)> {
        let mut process = Self::start(command.stderr(Stdio::piped()))?;
        let said = process.child.stderr.take().context("no stderr")?;
        let (address, rest) = address(said)?;
        let program = command.get_program().display().to_string();
        std::thread::spawn(move || {
            rest.lines().map_while(Result::ok).for_each(|line| eprintln!("{program}: {line}"));
        });
        Ok((process, address))
    }

    /// This program as one of its children.
    pub(super) fn own(words: &[&str]) -> Result<(Self, SocketAddr)> {
        let program = std::env::current_exe()?;
        Self::listening(Command::new(program).arg("--child").args(words))
    }

    /// The processor time that it has had.
    pub(super) fn cpu(&self) -> Result<Duration> {
        cpu_of(&self.child.id().to_string(), "")
    }

    /// Whether it has ended by itself.
    pub(super) fn has_ended(&mut self) -> bool {
        !matches!(self.child.try_wait(), Ok(None))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended meanwhile cannot be ended, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The address that somebody tells, and what it goes on to say.
fn address<R: Read>(said: R) -> Result<(SocketAddr, BufReader<R>)> {
    let (mut said, mut before) = (BufReader::new(said), String::new());
    loop {
        let mut line = String::new();
        if said.read_line(&mut line)? == 0 {
            anyhow::bail!("a process has ended without telling its address: {}", before.trim());
        }
        if let Some((_, rest)) = line.split_once(TELLS) {
            let rest = rest.trim_start_matches("http://");
            let address = rest.split([',', '\n']).next().unwrap_or_default();
            return Ok((address.parse().with_context(|| line.clone())?, said));
        }
        before.push_str(&line);
    }
}

/// Tells whoever has started this process where it listens.
pub(super) fn ready(address: SocketAddr) {
    // A parent that has gone is told nothing.
    let _ = writeln!(std::io::stderr(), "{TELLS}{address}");
}

/// Returns when whoever has started this process is gone, with its end of our stdin.
pub(super) async fn until_closed() {
    let (closed, end) = oneshot::channel();
    std::thread::spawn(move || {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = closed.send(());
    });
    let _ = end.await;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_found_among_other_lines() {
        let said = "a warning\nSteadfast listens on http://127.0.0.1:81, its store is sqlite:x.\nmore\n";
        let (found, rest) = address(said.as_bytes()).unwrap();
        assert_eq!(found, "127.0.0.1:81".parse().unwrap());
        assert_eq!(rest.lines().next().unwrap().unwrap(), "more");
        assert!(address(&b"no\n"[..]).unwrap_err().to_string().contains("no"));
    }
}
