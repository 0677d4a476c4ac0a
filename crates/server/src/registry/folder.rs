//! The folder of workflow files: read at start, and looked at while the server works.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use steadfast::resilience::clock::Clock;
use steadfast_flow::{FlowFile, Format};

use super::apply::done;
use super::{NotApplied, Registry};

/// How often it is looked whether a file has changed.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// After how many looks a file that was refused is tried again though nothing is new.
const TRY_AGAIN: u32 = 30;
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
    wrong.extend(twins(&files));
    match wrong.is_empty() {
        true => Ok(files),
        false => Err(wrong.join("\n")),
    }
}

/// Workflows that stand in two files without saying which version each is: at every start each would be a new version of the other.
fn twins(files: &[(String, FlowFile)]) -> Vec<String> {
    let mut before: BTreeMap<&str, Vec<&(String, FlowFile)>> = BTreeMap::new();
    let mut wrong = Vec::new();
    for one in files {
        let (path, file) = one;
        let others = before.entry(file.name()).or_default();
        let clash = others.iter().find(|(_, other)| clash(file.version(), other.version()));
        wrong.extend(clash.map(|(other, _)| twin(path, file, other)));
        others.push(one);
    }
    wrong
}

/// Whether two files of one workflow cannot both be there: one does not say its version, or both say the same.
fn clash(one: Option<u32>, other: Option<u32>) -> bool {
    one.is_none() || other.is_none() || one == other
}

fn twin(path: &str, file: &FlowFile, other: &str) -> String {
    let name = file.name();
    format!(
        "{path}: workflow `{name}` is in {other} as well: take one out, or give each a `version` of its own"
    )
}

/// Those workflow files of a folder that can be read, in the order of their names.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn fit(folder: &Path) -> Result<Vec<(String, FlowFile)>, String> {
    let files = paths(folder)?.into_iter();
    Ok(files.filter_map(|path| Some((path.display().to_string(), FlowFile::read(&path).ok()?))).collect())
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

/// Reads a workflow file, apart: it takes up to a second, and others wait for the threads that requests are answered on.
pub(super) async fn parsed(text: String, format: Format, name: String) -> Result<FlowFile, NotApplied> {
    let parse = move || FlowFile::parse(&text, format, &name).map_err(NotApplied::Bad);
    done(tokio::task::spawn_blocking(parse).await)
}

/// Takes over files that change, for as long as it is polled. A file that makes no sense is told of once, what was in force stays, and it
/// is tried again when there is something new that it may have waited for, or after a while: a store may be away. A file that
/// is removed changes nothing: its workflow is in the store.
pub(crate) async fn watch(registry: Registry, folder: PathBuf, clock: Clock) {
    let mut seen = registry.take_read();
    let mut before = seen.clone();
    // What was in force at some time.
    let mut taken: BTreeSet<PathBuf> = seen.keys().cloned().collect();
    let mut refused: BTreeMap<PathBuf, Refused> = BTreeMap::new();
    loop {
        clock.sleep(LOOK_EVERY).await;
        let now = texts(&folder).await;
        refused.retain(|path, _| now.contains_key(path));
        for (path, text) in &now {
            // What is the same at two looks in a row is no half of a file.
            if before.get(path) != Some(text) {
                continue;
            }
            let is_new = seen.get(path) != Some(text);
            let again = refused.get_mut(path).is_some_and(|refused| refused.is_tried_again(registry.news()));
            if !is_new && !again {
                continue;
            }
            seen.insert(path.clone(), text.clone());
            let news = registry.news();
            match take_over(&registry, path, text, &now).await {
                Ok(()) => {
                    refused.remove(path);
                    taken.insert(path.clone());
                }
                Err(words) => {
                    let told = refused.get(path).is_some_and(|refused| !is_new && refused.words == words);
                    if !told {
                        let before = match taken.contains(path) {
                            true => ", and what stood there before stays in force",
                            false => "",
                        };
                        tracing::error!(file = %path.display(), "a workflow file is refused{before}: {words}");
                    }
                    refused.insert(path.clone(), Refused { words, news, looks: 0 });
                }
            }
        }
        before = now;
    }
}

/// A file that was refused.
struct Refused {
    words: String,
    /// What was new by then.
    news: u64,
    /// How often it was passed by since.
    looks: u32,
}

impl Refused {
    fn is_tried_again(&mut self, news: u64) -> bool {
        self.looks += 1;
        news != self.news || self.looks >= TRY_AGAIN
    }
}

async fn texts(folder: &Path) -> BTreeMap<PathBuf, String> {
    let folder = folder.to_owned();
    let read = move || -> BTreeMap<PathBuf, String> {
        let paths = paths(&folder).unwrap_or_default().into_iter();
        paths.filter_map(|path| steadfast_form::read(&path).ok().map(|text| (path, text))).collect()
    };
    tokio::task::spawn_blocking(read).await.unwrap_or_default()
}

async fn take_over(
    registry: &Registry,
    path: &Path,
    text: &str,
    now: &BTreeMap<PathBuf, String>,
) -> Result<(), String> {
    let name = path.display().to_string();
    let Some(format) = Format::of(path) else { return Ok(()) };
    let applied = match parsed(text.to_owned(), format, name.clone()).await {
        Ok(file) => {
            // One that is gone was renamed.
            if let Some((other, version)) = registry.comes_from(file.name())
                && *other != *name
                && now.contains_key(Path::new(&*other))
                && clash(file.version(), version)
            {
                return Err(twin(&name, &file, &other));
            }
            registry.apply(file, &name, false).await
        }
        Err(error) => Err(error),
    };
    applied.map(drop).map_err(|error| error.to_string())
}
