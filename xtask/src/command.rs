//! One child process: how it is built, shown so that a person can run it again, and run.
//! What a failure means is the caller's to say; the error only keeps the command and its exit code.

use std::ffi::OsString;
use std::fmt;
use std::process::{self, ExitStatus, Stdio};

use anyhow::{Context, Result};

/// A command that ended with another code than 0.
#[derive(Debug)]
pub(crate) struct Failed {
    command: String,
    code: Option<i32>,
}

impl Failed {
    pub(crate) fn new(command: &Cmd, status: ExitStatus) -> Self {
        Self { command: command.to_string(), code: status.code() }
    }

    /// The child's own code; 1 when a signal ended it.
    pub(crate) fn exit_code(&self) -> u8 {
        self.code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1)
    }
}

impl fmt::Display for Failed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.code {
            Some(code) => write!(f, "exit code {code} from: {}", self.command),
            None => write!(f, "ended by a signal: {}", self.command),
        }
    }
}

impl std::error::Error for Failed {}

/// A command line, run in the root of the checkout with nothing on its standard input.
#[derive(Clone, Debug)]
pub(crate) struct Cmd {
    program: String,
    args: Vec<String>,
    env: Vec<(&'static str, String)>,
}

impl Cmd {
    /// `cargo` with the words of `line`.
    pub(crate) fn cargo(line: &str) -> Self {
        let args = line.split_whitespace().map(str::to_owned).collect();
        Self { args, ..Self::program("cargo") }
    }

    /// Any program, by its name or its path.
    pub(crate) fn program(name: impl Into<String>) -> Self {
        Self { program: name.into(), args: Vec::new(), env: Vec::new() }
    }

    /// A line for the shell, just as someone would type it.
    pub(crate) fn shell(line: &str) -> Self {
        Self { args: vec!["-c".to_owned(), line.to_owned()], ..Self::program("sh") }
    }

    pub(crate) fn arg(mut self, arg: impl Into<String>) -> Self {
        self.args.push(arg.into());
        self
    }

    pub(crate) fn args<S: AsRef<str>>(mut self, args: &[S]) -> Self {
        self.args.extend(args.iter().map(|arg| arg.as_ref().to_owned()));
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.env.push((name, value.into()));
        self
    }

    /// Shows the command, runs it, and fails when it fails.
    pub(crate) fn run(&self) -> Result<()> {
        let status = self.status()?;
        if status.success() { Ok(()) } else { Err(Failed::new(self, status).into()) }
    }

    /// Shows the command, runs it and tells how it ended.
    pub(crate) fn status(&self) -> Result<ExitStatus> {
        eprintln!("    $ {self}");
        self.build().status().with_context(|| format!("cannot start: {self}"))
    }

    /// Runs it unseen and gives what it wrote to stdout; its stderr is shown.
    pub(crate) fn stdout(&self) -> Result<String> {
        let output = self.build().stderr(Stdio::inherit()).output();
        let output = output.with_context(|| format!("cannot start: {self}"))?;
        if !output.status.success() {
            return Err(Failed::new(self, output.status).into());
        }
        String::from_utf8(output.stdout).with_context(|| format!("not UTF-8: output of {self}"))
    }

    /// Whether it runs and succeeds; nothing is shown.
    pub(crate) fn works(&self) -> bool {
        let status = self.build().stdout(Stdio::null()).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    }

    pub(crate) fn build(&self) -> process::Command {
        let mut command = process::Command::new(self.program_path());
        command.args(&self.args).stdin(Stdio::null());
        // `cargo run` told us about the package xtask. Children must not hear of it: a build script that
        // reads these variables would be built again at each change between xtask and a plain shell.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
                command.env_remove(&name);
            }
        }
        command.envs(self.env.iter().map(|(name, value)| (name, value)));
        command
    }

    /// The same cargo, and so the same toolchain, that runs us.
    fn program_path(&self) -> OsString {
        let ours = if self.program == "cargo" { std::env::var_os("CARGO") } else { None };
        ours.unwrap_or_else(|| self.program.clone().into())
    }
}

/// Ready to be pasted into a shell.
impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, value) in &self.env {
            write!(f, "{name}={} ", quoted(value))?;
        }
        if let ("sh", [_, line]) = (self.program.as_str(), self.args.as_slice()) {
            return f.write_str(line);
        }
        f.write_str(&quoted(&self.program))?;
        self.args.iter().try_for_each(|arg| write!(f, " {}", quoted(arg)))
    }
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,@+%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_ready_to_paste() {
        let cmd = Cmd::cargo("test -p a").arg("it's").arg("a/**").env("RUSTFLAGS", "--cfg shuttle");
        assert_eq!(cmd.to_string(), r"RUSTFLAGS='--cfg shuttle' cargo test -p a 'it'\''s' 'a/**'");
    }

    #[test]
    fn a_shell_line_is_shown_as_typed() {
        assert_eq!(Cmd::shell("A=1 cargo run -- 'x y'").to_string(), "A=1 cargo run -- 'x y'");
    }

    #[test]
    fn a_failure_keeps_the_exit_code_of_the_child() {
        let error = Cmd::shell("exit 7").run().unwrap_err();
        let failed = error.downcast_ref::<Failed>().unwrap();
        assert_eq!(failed.exit_code(), 7);
        assert_eq!(failed.to_string(), "exit code 7 from: exit 7");
    }
}
