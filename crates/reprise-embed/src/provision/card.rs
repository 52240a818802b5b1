//! Cards of the added models, next to the built-in one: each is a folder of the models directory
//! with its ONNX file, its tokeniser and its card, which pins them by the hashes that they had when
//! the model was added.

use std::fs;
use std::path::{Path, PathBuf};

use reprise_files::read_if_exists;
use reprise_types::{EmbeddingSpace, REFERENCE_MODEL, UnrelatedCosines};
use serde::{Deserialize, Serialize};

use super::disk::{sha256_file, write_atomically};
use super::error::ProvisionError;
use super::inspection::InstallStamp;
use super::store::ModelStore;
use crate::architecture::MODEL_FILE;
use crate::folder::Prompts;
use crate::graph_reading::GraphReading;
use crate::variant::Variant;

pub(super) const FOLDER: &str = "added";
/// File of a model's card, which is written last.
const CARD_FILE: &str = "model.json";
const CARD_BYTES_MAX: u64 = 1 << 20;
pub(super) const TOKENIZER_FILE: &str = "tokenizer.json";
const NAME_BYTES_MAX: usize = 64;

/// An added model, as its card describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AddedModel {
    pub name: String,
    pub form: Variant,
    /// Version of its space, which changes with every bit of a file.
    pub version: String,
    pub dimensions: u16,
    pub token_limit: usize,
    pub prompts: Prompts,
    /// How its graph is read.
    #[serde(default)]
    pub reading: GraphReading,
    /// Licence, as its README names it.
    pub license: Option<String>,
    /// Path or address of its source.
    pub origin: String,
    pub files: Vec<PinnedFile>,
    /// Its cosines between unrelated texts; `None` for a model that an earlier version added
    /// without measuring it, until the model is opened.
    #[serde(default)]
    pub unrelated: Option<UnrelatedCosines>,
}

/// A file as it was when its model was added.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PinnedFile {
    pub name: String,
    pub size_bytes: u64,
    /// Lower-case hex.
    pub sha256: String,
}

impl AddedModel {
    /// Returns the space of its vectors.
    pub fn space(&self) -> EmbeddingSpace {
        EmbeddingSpace {
            model: self.name.clone(),
            version: self.version.clone(),
            dimensions: self.dimensions,
        }
    }

    pub fn size_bytes(&self) -> u64 {
        self.files.iter().map(|file| file.size_bytes).sum()
    }
}

impl ModelStore {
    /// Lists the added models, by name.
    pub fn list_added(&self) -> Vec<AddedModel> {
        let Ok(entries) = fs::read_dir(self.dir().join(FOLDER)) else {
            return Vec::new();
        };
        let names = entries
            .flatten()
            .filter_map(|entry| entry.file_name().into_string().ok());
        let mut models: Vec<_> = names.filter_map(|name| self.load_card(&name)).collect();
        models.sort_by(|a, b| a.name.cmp(&b.name));
        models
    }

    /// Finds the added model with this name, or from the folder with this path.
    pub fn find_added(&self, name: &str) -> Option<AddedModel> {
        self.load_card(name).or_else(|| {
            let path = fs::canonicalize(name).ok()?;
            let path = path.to_str()?;
            self.list_added()
                .into_iter()
                .find(|model| model.origin == path)
        })
    }

    pub(super) fn added_folder(&self, name: &str) -> PathBuf {
        self.dir().join(FOLDER).join(name)
    }

    pub(super) fn load_card(&self, name: &str) -> Option<AddedModel> {
        check_name(name).ok()?;
        let card = self.added_folder(name).join(CARD_FILE);
        let bytes = read_if_exists(&card, CARD_BYTES_MAX).ok().flatten()?;
        let model: AddedModel = serde_json::from_slice(&bytes).ok()?;
        (model.name == name).then_some(model)
    }

    /// Saves the measured cosines of a model that was added before.
    pub(crate) fn save_measured(&self, model: &AddedModel) -> Result<(), ProvisionError> {
        write_card(&self.added_folder(&model.name), model)
    }

    /// Returns the paths of its ONNX file and its tokeniser, whose hashes are compared with the
    /// pinned ones.
    pub(crate) fn verified_files(
        &self,
        model: &AddedModel,
    ) -> Result<(PathBuf, PathBuf), ProvisionError> {
        let folder = self.check_files(model, InstallStamp::read)?;
        Ok((folder.join(MODEL_FILE), folder.join(TOKENIZER_FILE)))
    }

    /// Compares each file of an added model with its pin, and returns the folder.
    pub(super) fn check_files(
        &self,
        model: &AddedModel,
        stamp: impl FnOnce(&Path) -> InstallStamp,
    ) -> Result<PathBuf, ProvisionError> {
        let folder = self.added_folder(&model.name);
        let stamp = stamp(&folder);
        for file in &model.files {
            check_file(&folder, file, &stamp)?;
        }
        Ok(folder)
    }
}

/// Writes the card of a model into its folder.
pub(super) fn write_card(folder: &Path, model: &AddedModel) -> Result<(), ProvisionError> {
    let card = folder.join(CARD_FILE);
    let bytes = serde_json::to_vec_pretty(model).map_err(|error| ProvisionError::Model {
        path: card.clone(),
        message: error.to_string(),
    })?;
    write_atomically(&card, &bytes)
}

/// Compares a file with its pin; hashes it if its size or time has changed.
pub(super) fn check_file(
    folder: &Path,
    file: &PinnedFile,
    stamp: &InstallStamp,
) -> Result<(), ProvisionError> {
    if stamp.known_hash(folder, &file.name) == Some(&*file.sha256) {
        return Ok(());
    }
    let path = folder.join(&file.name);
    let got = sha256_file(&path).map_err(ProvisionError::io("read", &path))?;
    if got == file.sha256 {
        return Ok(());
    }
    Err(ProvisionError::Model {
        path,
        message: format!(
            "its sha256 is {got}, and was {} when its model was added; run `reprise doctor models remove` \
             and `reprise doctor models add` again",
            file.sha256
        ),
    })
}

/// Checks that a name suits a folder, a setting and a line of output.
pub(super) fn check_name(name: &str) -> Result<(), String> {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let taken = [REFERENCE_MODEL, Variant::Int8.name(), Variant::F32.name()];
    let starts = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    if starts
        && name.len() <= NAME_BYTES_MAX
        && name.chars().all(is_plain)
        && !taken.contains(&name)
    {
        return Ok(());
    }
    Err(format!(
        "it cannot be called `{name}`; give it a name of at most {NAME_BYTES_MAX} letters, digits, \
         `-`, `_` and `.`, which is not the built-in model's"
    ))
}
