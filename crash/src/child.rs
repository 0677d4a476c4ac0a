//! Driver processes: started, waited for with a limit, killed by their id.

use std::fs::File;
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use steadfast_resilience::clock::Clock;

use crate::driver::Orders;

/// No driver takes longer than this: one that does hangs, which is a finding.
const LIMIT: Duration = Duration::from_secs(40);
/// Between two looks at a driver.
const LOOK: Duration = Duration::from_millis(3);
/// What `abort` ends a process with.
const SIGABRT: i32 = 6;
/// What `kill` ends it with.
const SIGKILL: i32 = 9;

/// How to start a driver.
#[derive(Clone, Debug)]
pub struct Driver {
    program: PathBuf,
}

/// How one ended.
#[derive(Debug)]
pub struct Ended {
    status: ExitStatus,
    /// What it said.
    pub stderr: String,
}

impl Driver {
    /// The driver with this path.
    #[must_use]
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into() }
    }

    /// The driver that was built beside this program.
    ///
    /// # Errors
    /// It is not there.
    pub fn beside_this() -> Result<Self> {
        let program = std::env::current_exe()?.with_file_name("steadfast-crash-driver");
        if !program.exists() {
            bail!("{} is not there: build the package with all its binaries", program.display());
        }
        Ok(Self { program })
    }

    /// Runs one to its end, whatever that is.
    ///
    /// # Errors
    /// It hangs.
    pub fn run(&self, folder: &Path, orders: Orders, env: &[(&str, String)]) -> Result<Ended> {
        self.run_within(folder, orders, env, LIMIT)?.context("the driver hangs, and was killed")
    }

    /// Runs one and kills it after this time, unless it has ended before.
    ///
    /// # Errors
    /// It cannot be started.
    pub fn run_and_kill(&self, folder: &Path, orders: Orders, after: Duration) -> Result<bool> {
        Ok(self.run_within(folder, orders, &[], after)?.is_none())
    }

    fn run_within(
        &self,
        folder: &Path,
        orders: Orders,
        env: &[(&str, String)],
        limit: Duration,
    ) -> Result<Option<Ended>> {
        let stderr = folder.join("stderr");
        let mut command = Command::new(&self.program);
        command.arg(folder).args([orders.tasks, orders.away].map(|count| count.to_string()));
        command.envs(env.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(File::create(&stderr)?);
        let mut child = command.spawn().with_context(|| self.program.display().to_string())?;
        let status = wait(&mut child, limit)?;
        let stderr = std::fs::read(&stderr)?;
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        Ok(status.map(|status| Ended { status, stderr }))
    }
}

/// How it ended; `None` if it had to be killed.
fn wait(child: &mut Child, limit: Duration) -> Result<Option<ExitStatus>> {
    let clock = Clock::system();
    let began = clock.now();
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        if clock.now().since(began) > limit {
            child.kill()?;
            let status = child.wait()?;
            // It may have ended by itself just before.
            return Ok((status.signal() != Some(SIGKILL)).then_some(status));
        }
        std::thread::park_timeout(LOOK);
    }
}

impl Ended {
    /// Whether it aborted.
    #[must_use]
    pub fn aborted(&self) -> bool {
        self.status.signal() == Some(SIGABRT)
    }

    /// The code that it left with; `None` if a signal ended it.
    #[must_use]
    pub fn code(&self) -> Option<i32> {
        self.status.code()
    }

    /// Whether all went well.
    #[must_use]
    pub fn is_well(&self) -> bool {
        self.status.success()
    }
}
