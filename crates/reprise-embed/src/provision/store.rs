//! A models directory: finds and lists its installed files.

use std::path::{Path, PathBuf};

use super::error::ProvisionError;
use super::inspection::{Hashing, InstalledModel, ModelFile, inspect_folder};
use crate::manifest::ModelManifest;

/// A directory for the model and its library. Cheap, because it is a path without state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelStore {
    dir: PathBuf,
}

impl ModelStore {
    /// Wraps a directory; nothing is read or created yet.
    pub fn new(dir: PathBuf) -> Self {
        Self { dir }
    }

    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// Finds a complete installation; hashes only files that changed since they were installed.
    pub fn find_installed(&self) -> Option<InstalledModel> {
        let manifest = load_manifest().ok()?;
        inspect_folder(&self.dir, &manifest, Hashing::WhereChanged).installation()
    }

    /// Returns the path of ONNX Runtime, or the reason why it is not installed.
    pub(crate) fn library_path(&self) -> Result<PathBuf, Option<String>> {
        let manifest = load_manifest().map_err(|error| Some(error.to_string()))?;
        inspect_folder(&self.dir, &manifest, Hashing::WhereChanged).library_path()
    }

    /// Lists every file that can be installed here, and whether it is.
    pub fn list_files(&self) -> Vec<ModelFile> {
        load_manifest()
            .map(|manifest| inspect_folder(&self.dir, &manifest, Hashing::WhereChanged).files)
            .unwrap_or_default()
    }
}

pub(super) fn load_manifest() -> Result<ModelManifest, ProvisionError> {
    ModelManifest::load_built_in().map_err(|message| ProvisionError::ModelManifest { message })
}
