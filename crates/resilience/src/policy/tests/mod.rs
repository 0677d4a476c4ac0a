//! Tests of policy files: what they mean, what they refuse, and what a reload keeps.

mod bad;
mod check;
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "its numbers are small")]
mod corpus;
mod live;
mod meaning;
mod schema;
mod watch;

use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use super::{Error, Format, Policies};

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn toml(text: &str) -> Result<Policies, Error> {
    Policies::parse(text, Format::Toml, "policies.toml")
}

/// A folder of its own, gone with the test.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("steadfast-policy-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self(path)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    fn file(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, bytes).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
