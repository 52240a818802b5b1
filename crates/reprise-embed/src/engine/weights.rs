//! A model in memory, held once for all sessions of a process.
//!
//! Its graph without the large tensors, which ONNX Runtime then maps from the file, and those of
//! them that it packs anew for its products. Of what it packs, ONNX Runtime shares only what its
//! sessions were given, and have not read themselves.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ort::session::Session;
use ort::session::builder::{PrepackedWeights, SessionBuilder};
use ort::value::{DynValue, Tensor};
use reprise_files::read_named;

use crate::onnx::{Constant, Numbers, constants, outlined};

/// Bytes from which on a tensor is shared; the others are not worth it.
const SHARED_BYTES: usize = 64 * 1024;
/// Longest model file.
const MODEL_BYTES_MAX: u64 = 4 << 30;
/// Names of the tensors that are factors of products begin so.
const FACTORS: &str = "encoder.";
/// Where the file is that a graph points into.
const FOLDER: &str = "session.model_external_initializers_file_folder_path";

/// What all sessions of a model have in common.
#[derive(Debug)]
pub(crate) struct SharedWeights {
    graph: Vec<u8>,
    folder: PathBuf,
    factors: Vec<(String, Arc<DynValue>)>,
    packed: PrepackedWeights,
}

impl SharedWeights {
    /// Reads a model file. The library must be loaded.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let file = read_named(path, MODEL_BYTES_MAX).map_err(|error| error.to_string())?;
        let file = file.ok_or_else(|| format!("`{}` is missing", path.display()))?;
        let (name, folder) = path
            .file_name()
            .and_then(|name| name.to_str())
            .zip(path.parent())
            .ok_or("its path is not one of a file")?;
        let graph = outlined(&file, name, SHARED_BYTES).ok_or("it is encoded in another way")?;
        let large = constants(&file).filter(|constant| constant.size_bytes() >= SHARED_BYTES);
        let mut factors = Vec::new();
        for constant in large.filter(|constant| constant.name.starts_with(FACTORS)) {
            let tensor = tensor(&constant).map_err(|error| error.to_string())?;
            factors.extend(tensor.map(|tensor| (constant.name.to_owned(), Arc::new(tensor))));
        }
        Ok(Self {
            graph,
            folder: folder.to_owned(),
            factors,
            packed: PrepackedWeights::new(),
        })
    }

    pub(crate) fn session(&self, builder: SessionBuilder) -> Result<Session, String> {
        let folder = self
            .folder
            .to_str()
            .ok_or("its folder's name is not UTF-8")?;
        let mut builder = builder
            .with_prepacked_weights(&self.packed)
            .map_err(|error| error.to_string())?
            .with_config_entry(FOLDER, folder)
            .map_err(|error| error.to_string())?;
        for (name, tensor) in &self.factors {
            builder = builder
                .with_initializer(name, Arc::clone(tensor))
                .map_err(|error| error.to_string())?;
        }
        builder
            .commit_from_memory(&self.graph)
            .map_err(|error| error.to_string())
    }
}

fn tensor(constant: &Constant<'_>) -> ort::Result<Option<DynValue>> {
    let shape = constant.shape.clone();
    Ok(Some(match constant.numbers() {
        Some(Numbers::I8(numbers)) => Tensor::from_array((shape, numbers))?.into_dyn(),
        Some(Numbers::F32(numbers)) => Tensor::from_array((shape, numbers))?.into_dyn(),
        None => return Ok(None),
    }))
}
