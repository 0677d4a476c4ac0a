//! Secrets in environment variables.

use std::env::{self, VarError};

use super::{NoSecret, Secret, Secrets};

/// What the variables of [`EnvSecrets`] begin with.
pub const ENV_PREFIX: &str = "STEADFAST_SECRET_";

/// Secrets in the environment: `payments-token` is in `STEADFAST_SECRET_PAYMENTS_TOKEN`. Letters become capitals, `-` and `.`
/// become `_`, so names that differ in nothing else are one secret.
#[derive(Clone, Copy, Debug, Default)]
pub struct EnvSecrets;

impl EnvSecrets {
    /// The variable in which the secret of this name is.
    #[must_use]
    pub fn variable(name: &str) -> String {
        let letters = name.chars().map(|letter| match letter {
            '-' | '.' => '_',
            letter => letter.to_ascii_uppercase(),
        });
        ENV_PREFIX.chars().chain(letters).collect()
    }
}

impl Secrets for EnvSecrets {
    fn get(&self, name: &str) -> Result<Secret, NoSecret> {
        let variable = Self::variable(name);
        env::var(&variable).map(Secret::new).map_err(|error| {
            NoSecret::new(match error {
                VarError::NotPresent => format!("environment variable `{variable}` is not set"),
                VarError::NotUnicode(_) => format!("environment variable `{variable}` is not UTF-8"),
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_looked_for_in_its_variable() {
        assert_eq!(EnvSecrets::variable("payments-token.v2"), "STEADFAST_SECRET_PAYMENTS_TOKEN_V2");
        let missing = EnvSecrets.get("nobody-has-this").unwrap_err();
        assert_eq!(missing.to_string(), "environment variable `STEADFAST_SECRET_NOBODY_HAS_THIS` is not set");
    }
}
