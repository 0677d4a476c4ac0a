//! Workflow files that are looked at and not taken on.

use std::sync::Arc;

use steadfast_flow::FlowFile;

use super::{Registry, STORED, folder};

impl Registry {
    /// Reads the workflow files of the folder, and says how many there are; nothing is stored.
    ///
    /// # Errors
    /// Everything that is wrong with them.
    pub fn check_folder(&self) -> Result<usize, String> {
        let Some(folder) = self.config().workflows.clone() else { return Ok(0) };
        let files = folder::read(&folder)?;
        let count = files.len();
        for (path, file) in files {
            self.keep(file.version().unwrap_or(1), file, &Arc::from(path));
        }
        self.build_all();
        match self.broken() {
            broken if broken.is_empty() => Ok(count),
            broken => Err(broken.join("\n")),
        }
    }

    /// Whether these files could be taken on beside those of the folder: for each what is wrong with it.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn check_files(&self, files: &[FlowFile]) -> Result<Vec<Option<steadfast_flow::Error>>, String> {
        let folder = self.config().workflows.clone();
        // Those of the folder that make no sense are `check_folder`'s: here they are not there.
        let beside = folder.map_or(Ok(Vec::new()), |folder| folder::fit(&folder))?;
        let is_asked = |name: &str| files.iter().any(|file| file.name() == name);
        let beside = beside.into_iter().filter(|(_, file)| !is_asked(file.name()));
        let asked = files.iter().map(|file| (file.file().to_owned(), file.clone()));
        for (path, file) in beside.chain(asked) {
            self.keep(file.version().unwrap_or(1), file, &Arc::from(path));
        }
        self.build_all();
        Ok(files.iter().map(|file| self.build(file, file.version().unwrap_or(1)).err()).collect())
    }

    /// What is wrong with workflows that are in force. One that only the store has is nobody's file any more: its tasks wait.
    pub(super) fn broken(&self) -> Vec<String> {
        let flows = self.flows();
        let newest = flows.values().filter_map(|versions| versions.values().next_back());
        let in_force = newest.filter(|flow| &*flow.from != STORED);
        in_force.filter_map(|flow| flow.built.as_ref().err().map(ToString::to_string)).collect()
    }
}
