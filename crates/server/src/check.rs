//! Settings and workflow files, looked at before they are used.

use steadfast_flow::{Error, FlowFile};

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

/// Whether a server with these settings could take these workflow files on, beside those of its folder: for each what is wrong with it, if
/// anything is. Nothing is opened or stored.
///
/// # Errors
/// What is wrong with the settings, in words.
pub fn check_files(config: Config, files: &[FlowFile]) -> Result<Vec<Option<Error>>, String> {
    Registry::new(config)?.check_files(files)
}
