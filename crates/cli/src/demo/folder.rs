//! The folder of a demo: settings and workflow, which this binary has inside, and the store. One that nobody named is removed in
//! the end.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use steadfast_shop::WORKFLOW_FILE;
use uuid::Uuid;

/// A folder that is there while the demo runs.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    is_ours: bool,
}

impl Folder {
    /// The one that was named, or a new one of this process alone.
    pub(crate) fn open(named: Option<&Path>) -> Result<Self> {
        let path = named.map_or_else(fresh, Path::to_owned);
        let folder = Self { path, is_ours: named.is_none() };
        let workflows = folder.path.join("workflows");
        let made = fs::create_dir_all(&workflows);
        made.with_context(|| {
            format!("cannot make the folder {}: name another with `--data`", workflows.display())
        })?;
        folder.write("workflows/place-order.yaml", WORKFLOW_FILE)?;
        Ok(folder)
    }

    /// Writes one of its files; where that is.
    pub(crate) fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.path.join(name);
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        Ok(file)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is gone when the demo ends.
    pub(crate) fn is_temporary(&self) -> bool {
        self.is_ours
    }
}

fn fresh() -> PathBuf {
    std::env::temp_dir().join(format!("steadfast-demo-{}", Uuid::now_v7()))
}

impl Drop for Folder {
    fn drop(&mut self) {
        if self.is_ours {
            // What cannot be removed is left to the system's own cleaning of temporary files.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_that_nobody_named_is_removed_and_a_named_one_stays() {
        let own = Folder::open(None).unwrap();
        let path = own.path().to_owned();
        assert_eq!(fs::read_to_string(path.join("workflows/place-order.yaml")).unwrap(), WORKFLOW_FILE);
        drop(own);
        assert!(!path.exists());

        let outer = tempfile::tempdir().unwrap();
        let named = outer.path().join("shop");
        drop(Folder::open(Some(&named)).unwrap());
        drop(Folder::open(Some(&named)).unwrap());
        assert!(named.join("workflows/place-order.yaml").exists());
    }
}
