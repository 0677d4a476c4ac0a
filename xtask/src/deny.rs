//! `cargo xtask deny`: bans, licences and sources of all dependencies by deny.toml, then known advisories.
//! Without a network the advisories cannot be fetched: that is said, not hidden, and is no failure.

use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

use crate::command::Cmd;
use crate::step::Note;
use crate::tools::{self, Tool};

/// The database is some megabytes: a network that has not brought it by then is as good as none.
const FETCH_LIMIT: Duration = Duration::from_secs(60);

pub(crate) fn run() -> Result<Note> {
    tools::need(Tool::Deny)?;
    Cmd::cargo("deny --locked --all-features check bans licenses sources").run()?;
    if let Err(why) = fetch_advisories(FETCH_LIMIT) {
        eprintln!("    advisories not checked, their database cannot be fetched: {why:#}");
        return Ok("advisories NOT checked: cannot be fetched".to_owned());
    }
    // Fetched a moment ago. Offline, so that what fails from here on is a real advisory and no network.
    Cmd::cargo("deny --locked --offline --all-features check advisories").run()?;
    Ok("advisories checked".to_owned())
}

/// Fetches the database within the time given; the error is one line.
fn fetch_advisories(limit: Duration) -> Result<()> {
    // Git must fail rather than ask somebody for a password.
    let fetch = Cmd::cargo("deny --color never fetch db").env("GIT_TERMINAL_PROMPT", "0");
    eprintln!("    $ {fetch}");
    let mut command = fetch.build();
    let child =
        command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().context("cannot start cargo deny")?;
    let (success, said) = wait(child, limit)?;
    anyhow::ensure!(success, "{}", reason(&said));
    Ok(())
}

/// Waits for the child and what it says; one that is not done within `limit` is ended.
fn wait(mut child: Child, limit: Duration) -> Result<(bool, String)> {
    let mut stderr = child.stderr.take().context("no pipe from the child")?;
    let (tell, hear) = mpsc::channel();
    thread::spawn(move || {
        let mut said = String::new();
        let _ = stderr.read_to_string(&mut said);
        // Nobody listens any more once the time is up.
        let _ = tell.send(said);
    });
    let Ok(said) = hear.recv_timeout(limit) else {
        child.kill().context("cannot end the fetch")?;
        child.wait()?;
        return Ok((false, format!("no answer within {} s", limit.as_secs())));
    };
    Ok((child.wait()?.success(), said))
}

/// Git's own last words say it best; else the first line that there is.
fn reason(said: &str) -> String {
    let fatal = said.lines().find_map(|line| line.trim().strip_prefix("fatal: "));
    fatal
        .or_else(|| said.lines().find(|line| !line.trim().is_empty()))
        .unwrap_or("no reason given")
        .trim()
        .to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn child(line: &str) -> Child {
        Cmd::shell(line).build().stderr(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_fetch_that_hangs_is_ended() {
        let (success, said) = wait(child("exec sleep 600"), Duration::from_millis(20)).unwrap();
        assert!(!success);
        assert_eq!(said, "no answer within 0 s");
    }

    #[test]
    fn a_fetch_that_fails_says_why_in_one_line() {
        let (success, said) =
            wait(child("echo x >&2; echo 'fatal: no host' >&2; exit 1"), FETCH_LIMIT).unwrap();
        assert!(!success);
        assert_eq!(reason(&said), "no host");
    }

    #[test]
    fn any_line_is_better_than_none() {
        assert_eq!(reason("\n  what a day\nmore"), "what a day");
        assert_eq!(reason(""), "no reason given");
    }
}
