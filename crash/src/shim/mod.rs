//! The library between SQLite and the disk: built here, loaded into a driver, and its record read back.

mod disk;
mod log;
mod power;

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};

pub use disk::Disk;
pub use log::{Event, Log};
pub use power::{Lost, check, cuts};

/// The shim, ready to be loaded.
#[derive(Clone, Debug)]
pub struct Shim {
    library: PathBuf,
}

/// What it is to do.
#[derive(Clone, Debug, Default)]
pub struct Fault {
    /// Abort at this call that changes or syncs a database file.
    pub abort_at: Option<u32>,
    /// Fail this sync of a database file.
    pub error_at: Option<u32>,
    /// Record what is written and synced, in this file.
    pub log: Option<PathBuf>,
    /// Answer syncs with a lie.
    pub lies: bool,
}

impl Shim {
    /// Builds it beside this program, with the compiler that SQLite was built with.
    ///
    /// # Errors
    /// There is no compiler, or it fails.
    pub fn build() -> Result<Self> {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("shim/shim.c");
        let folder = std::env::current_exe()?.parent().context("no folder")?.to_owned();
        let library = folder.join("libsteadfast_shim.so");
        // Under another name first: tests that build it at the same time must not load a half of it.
        let new = folder.join(format!("libsteadfast_shim.{}.so", std::process::id()));
        let mut compiler = Command::new("cc");
        compiler
            .args(["-shared", "-fPIC", "-O2", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(&new)
            .arg(&source);
        let status = compiler.args(["-ldl", "-lpthread"]).status().context("no C compiler: cc")?;
        ensure!(status.success(), "cc failed for {}", source.display());
        std::fs::rename(&new, &library)?;
        Ok(Self { library })
    }

    /// The variables that load it into a driver.
    #[must_use]
    pub fn env(&self, folder: &Path, fault: &Fault) -> Vec<(&'static str, String)> {
        let mut env = vec![
            ("LD_PRELOAD", self.library.display().to_string()),
            ("STEADFAST_SHIM_FOLDER", folder.display().to_string()),
        ];
        env.extend(fault.abort_at.map(|nth| ("STEADFAST_SHIM_ABORT", nth.to_string())));
        env.extend(fault.error_at.map(|nth| ("STEADFAST_SHIM_ERROR", nth.to_string())));
        env.extend(fault.log.as_ref().map(|log| ("STEADFAST_SHIM_LOG", log.display().to_string())));
        env.extend(fault.lies.then(|| ("STEADFAST_SHIM_LIE", "1".to_owned())));
        env
    }
}
