//! Settings that follow their file while the server works.

use std::path::{Path, PathBuf};
use std::time::Duration;

use steadfast::resilience::clock::Clock;

use crate::config::{self, Config};
use crate::registry::Registry;

/// How often it is looked whether the file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Where settings come from: a file, and what was said beside it.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    pub(crate) file: PathBuf,
    /// Variables that win over those of the environment.
    pub(crate) said: Vec<(String, String)>,
    /// What stood in the file when it was read.
    pub(crate) text: Option<String>,
}

/// Takes over the file whenever it changes, for as long as it is polled. What makes no sense is told of once, and the settings
/// before stay in force.
pub(crate) async fn watch(registry: Registry, source: Source, clock: Clock) {
    let file = &source.file;
    let mut taken = source.text.clone();
    let mut before = taken.clone();
    loop {
        clock.sleep(LOOK_EVERY).await;
        let now = text(file);
        // What is the same at two looks in a row is no half of a file.
        if now == before && now != taken {
            take_over(&registry, &source);
            taken.clone_from(&now);
        }
        before = now;
    }
}

fn text(file: &Path) -> Option<String> {
    steadfast_form::read(file).ok()
}

/// Takes the file over now; whether it was fit to be.
pub(crate) fn take_over(registry: &Registry, source: &Source) -> bool {
    let Source { file, said, .. } = source;
    let mut variables = config::variables();
    variables.retain(|(name, _)| !said.iter().any(|(own, _)| own == name));
    variables.extend(said.iter().cloned());
    let read = Config::read(Some(file), variables).map_err(|error| error.to_string());
    match read.and_then(|config| registry.reload(config)) {
        Ok(changes) => {
            tracing::info!(file = %file.display(), "the settings have changed");
            changes.iter().for_each(|change| tracing::info!("{change}"));
            registry.look_again();
            true
        }
        Err(words) => {
            tracing::error!(file = %file.display(), "changed settings are refused, and those before stay in force: {words}");
            false
        }
    }
}
