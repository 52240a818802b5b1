//! A model in memory, which all sessions of a process share.
//!
//! It has the graph without the large tensors, which ONNX Runtime maps from the file, and the
//! tensors that ONNX Runtime packs for its matrix products. ONNX Runtime shares packed tensors only
//! if they are passed to its sessions, not if the sessions read them.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ort::session::Session;
use ort::session::builder::{PrepackedWeights, SessionBuilder};
use ort::value::{DynValue, Tensor};
use reprise_files::read_if_exists;

use crate::onnx::{Constant, TensorNumbers, externalize_constants, read_constants};

/// Bytes from which on a tensor is shared; smaller ones are not worth it.
const SHARED_BYTES: usize = 64 * 1024;
/// Most bytes of a model file.
const MODEL_BYTES_MAX: u64 = 4 << 30;
/// Prefix of the names of the tensors that are factors of matrix products.
const FACTORS: &str = "encoder.";
/// Session option: the folder of the file into which a graph points.
const FOLDER: &str = "session.model_external_initializers_file_folder_path";

/// The data that all sessions of a model share.
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
        let file = read_if_exists(path, MODEL_BYTES_MAX).map_err(|error| error.to_string())?;
        let file = file.ok_or_else(|| format!("`{}` is missing", path.display()))?;
        let (name, folder) = path
            .file_name()
            .and_then(|name| name.to_str())
            .zip(path.parent())
            .ok_or("its path is not one of a file")?;
        let graph = externalize_constants(&file, name, SHARED_BYTES)
            .ok_or("it is encoded in another way")?;
        let large = read_constants(&file).filter(|constant| constant.size_bytes() >= SHARED_BYTES);
        let mut factors = Vec::new();
        for constant in large.filter(|constant| constant.name.starts_with(FACTORS)) {
            let tensor = tensor_from_constant(&constant).map_err(|error| error.to_string())?;
            factors.extend(tensor.map(|tensor| (constant.name.to_owned(), Arc::new(tensor))));
        }
        Ok(Self {
            graph,
            folder: folder.to_owned(),
            factors,
            packed: PrepackedWeights::new(),
        })
    }

    pub(crate) fn create_session(&self, builder: SessionBuilder) -> Result<Session, String> {
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

fn tensor_from_constant(constant: &Constant<'_>) -> ort::Result<Option<DynValue>> {
    let shape = constant.shape.clone();
    Ok(Some(match constant.decode_numbers() {
        Some(TensorNumbers::I8(numbers)) => Tensor::from_array((shape, numbers))?.into_dyn(),
        Some(TensorNumbers::F32(numbers)) => Tensor::from_array((shape, numbers))?.into_dyn(),
        None => return Ok(None),
    }))
}
