//! Secrets by reference: `secret://name` stands for a value that is fetched when a call is made, and never kept.
//!
//! - [`Secrets`] says where they are; [`EnvSecrets`] and [`FolderSecrets`] are ready.
//! - `reference.rs` finds references in headers and bodies and puts values in their place.
//! - `scrub.rs` takes the values out of every text that leaves the agent.

mod env;
mod folder;
mod reference;
mod scrub;

use std::fmt;

pub use env::{ENV_PREFIX, EnvSecrets};
pub use folder::FolderSecrets;
pub(crate) use reference::{Author, Vault, names_in};
pub(crate) use scrub::Scrub;

/// How a reference begins.
pub const REFERENCE: &str = "secret://";
/// The longest name of a secret: file systems take no more than 255 bytes, and variables are to be read by people.
pub const MAX_SECRET_NAME: usize = 100;
/// The largest secret: keys and certificates have a few KiB, and each is searched for in every answer.
pub const MAX_SECRET: usize = 64 * 1024;
/// The shortest secret. Each is taken out of answers wherever it stands, and a shorter one would tear words and numbers apart;
/// what is shorter than eight letters is no secret for long either (NIST SP 800-63B).
pub const MIN_SECRET: usize = 8;

/// Where secrets are.
///
/// It is asked with each call, so that a secret can be changed without a restart; it must not take long.
pub trait Secrets: Send + Sync {
    /// The secret of this name, which has letters, digits, `-`, `_` and `.` and begins with a letter or digit.
    ///
    /// # Errors
    /// Where it was looked for, and what to do.
    fn get(&self, name: &str) -> Result<Secret, NoSecret>;
}

/// The value of a secret. It can be shown by nobody: its `Debug` says nothing.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Box<str>);

impl Secret {
    /// A secret with this value.
    pub fn new(value: impl Into<Box<str>>) -> Self {
        Self(value.into())
    }

    /// The value itself.
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// Why there is no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoSecret(String);

impl NoSecret {
    /// Where it was looked for, and what to do, such as "variable `X` is not set". Without any value.
    pub fn new(words: impl Into<String>) -> Self {
        Self(words.into())
    }
}

impl fmt::Display for NoSecret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for NoSecret {}

/// Whether a secret can have this name. Such a name is a file's name in one folder, and never leads out of it.
#[must_use]
pub fn is_secret_name(name: &str) -> bool {
    name.len() <= MAX_SECRET_NAME
        && name.starts_with(|first: char| first.is_ascii_alphanumeric())
        && name.chars().all(is_name_letter)
}

fn is_name_letter(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_cannot_be_shown() {
        assert_eq!(format!("{:?}", Secret::new("hunter22")), "Secret(***)");
    }

    #[test]
    fn a_name_is_a_plain_file_name() {
        for name in ["a", "7", "payments-token", "tls.key", "A_B", &"x".repeat(MAX_SECRET_NAME)] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in [
            "",
            ".",
            "..",
            "..data",
            "-a",
            "_a",
            "a/b",
            "a\\b",
            "a b",
            "é",
            "a\0",
            &"x".repeat(MAX_SECRET_NAME + 1),
        ] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
