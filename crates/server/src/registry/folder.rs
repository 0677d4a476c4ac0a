//! The folder of workflow files: read at start, and looked at while the server works.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast_flow::{FlowFile, Format};

use super::{NotApplied, Registry};

/// How often it is looked whether a file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// More files than this are no folder of workflows.
const MOST_FILES: usize = 10_000;

/// All workflow files of a folder, in the order of their names.
///
/// # Errors
/// Everything that is wrong with them.
pub(super) fn read(folder: &Path) -> Result<Vec<(String, FlowFile)>, String> {
    let (mut files, mut wrong) = (Vec::new(), Vec::new());
    for path in paths(folder)? {
        match FlowFile::read(&path) {
            Ok(file) => files.push((path.display().to_string(), file)),
            Err(error) => wrong.push(error.to_string()),
        }
    }
    match wrong.is_empty() {
        true => Ok(files),
        false => Err(wrong.join("\n")),
    }
}

/// The workflow files of a folder: those that end as YAML and JSON do, and do not begin with a dot.
fn paths(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: std::io::Error| {
        format!("{}: the folder of workflows cannot be read: {error}", folder.display())
    };
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
        let fits = matches!(Format::of(&path), Some(Format::Yaml | Format::Json));
        if fits && !hidden && path.is_file() {
            paths.push(path);
        }
        if paths.len() > MOST_FILES {
            return Err(format!("{}: it has more than {MOST_FILES} workflow files", folder.display()));
        }
    }
    paths.sort();
    Ok(paths)
}

/// Takes over files that change, for as long as it is polled. A file that makes no sense is told of once, and what was in force
/// stays. A file that is removed changes nothing: its workflow is in the store.
pub(crate) async fn watch(registry: Registry, folder: PathBuf, clock: Clock) {
    let mut seen: BTreeMap<PathBuf, String> = texts(&folder);
    let mut before = seen.clone();
    loop {
        clock.sleep(LOOK_EVERY).await;
        let now = texts(&folder);
        for (path, text) in &now {
            // What is the same at two looks in a row is no half of a file.
            if before.get(path) == Some(text) && seen.get(path) != Some(text) {
                take_over(&registry, path, text).await;
                seen.insert(path.clone(), text.clone());
            }
        }
        before = now;
    }
}

fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let paths = paths(folder).unwrap_or_default().into_iter();
    paths.filter_map(|path| steadfast_form::read(&path).ok().map(|text| (path, text))).collect()
}

async fn take_over(registry: &Registry, path: &Path, text: &str) {
    let name = path.display().to_string();
    let Some(format) = Format::of(path) else { return };
    let parsed = FlowFile::parse(text, format, &name).map_err(NotApplied::Bad);
    let applied = match parsed {
        Ok(file) => registry.apply(file, &name, false).await,
        Err(error) => Err(error),
    };
    if let Err(error) = applied {
        tracing::error!(file = %name, "a changed workflow is refused, and the one before stays in force: {error}");
    }
}
