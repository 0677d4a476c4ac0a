//! Settings and workflow files, looked at before they are used.

use crate::config::Config;
use crate::registry::Registry;

/// Whether a server could start with these settings, as far as files can say; how many workflows their folder has. Nothing is
/// opened or stored.
///
/// # Errors
/// Everything that is wrong, in words.
pub fn check(config: Config) -> Result<usize, String> {
    Registry::new(config)?.check_folder()
}
