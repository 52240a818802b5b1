//! The model's large tensors, held once for all sessions of a process.
//!
//! Lives here: reading them out of the model file, as far as its form is ours. Must never live
//! here: what a session computes. ONNX Runtime shares what it makes of a tensor only between
//! sessions that were given the tensor, and not read it themselves.

use std::path::Path;
use std::sync::Arc;

use ort::session::builder::{PrepackedWeights, SessionBuilder};
use ort::value::{DynValue, Tensor};

use crate::onnx::{Constant, Numbers, constants};

/// Bytes from which on a tensor is shared; the others are not worth it.
const SHARED_BYTES: usize = 64 * 1024;

/// The tensors, and what ONNX Runtime has made of them for its products.
#[derive(Debug)]
pub(crate) struct SharedWeights {
    tensors: Vec<(String, Arc<DynValue>)>,
    packed: PrepackedWeights,
}

impl SharedWeights {
    /// Takes the tensors out of a model file. The library must be loaded.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let file = std::fs::read(path).map_err(|error| error.to_string())?;
        let large = constants(&file).filter(|constant| constant.size_bytes() >= SHARED_BYTES);
        let mut tensors = Vec::new();
        for constant in large {
            let tensor = tensor(&constant).map_err(|error| error.to_string())?;
            tensors.extend(tensor.map(|tensor| (constant.name.to_owned(), Arc::new(tensor))));
        }
        let packed = PrepackedWeights::new();
        Ok(Self { tensors, packed })
    }

    /// Gives them to a session that is being made.
    pub(crate) fn lend(&self, builder: SessionBuilder) -> Result<SessionBuilder, String> {
        let mut builder = builder
            .with_prepacked_weights(&self.packed)
            .map_err(|error| error.to_string())?;
        for (name, tensor) in &self.tensors {
            builder = builder
                .with_initializer(name, Arc::clone(tensor))
                .map_err(|error| error.to_string())?;
        }
        Ok(builder)
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
