//! The built-in engine: rten, pure Rust, for machines without a usable ONNX Runtime.
//!
//! It reads the same file and has the same space, but takes 1.3 to 1.9 times as long. Sessions
//! share the loaded model; each has a single thread of its own.

use std::path::Path;
use std::sync::Arc;

use reprise_types::EmbedError;
use rten::{Model, ModelOptions, NodeId, RunOptions, ThreadPool};
use rten_tensor::prelude::*;
use rten_tensor::{NdTensor, Tensor};

use super::{Inference, catch_panics};
use crate::graph_reading::{GraphReading, INPUT_IDS, INPUT_MASK, INPUT_TYPES};

/// A model in memory, cheap to clone.
#[derive(Clone)]
pub(crate) struct BuiltInModel {
    model: Arc<Model>,
    input_ids: NodeId,
    input_mask: NodeId,
    input_types: Option<NodeId>,
    output: NodeId,
}

impl BuiltInModel {
    pub(crate) fn load(path: &Path, reading: &GraphReading) -> Result<Self, EmbedError> {
        let unusable = |message: String| EmbedError::Unavailable {
            message: format!(
                "the model file {} is not usable ({message})",
                path.display()
            ),
        };
        let mut options = ModelOptions::with_all_ops();
        // Without prepacking the same model takes up to five times as long.
        options.prepack_weights(true);
        let model = catch_panics(|| options.load_file(path))
            .map_err(unusable)?
            .map_err(|error| unusable(error.to_string()))?;
        let node = |name: &str| {
            model
                .node_id(name)
                .map_err(|_| unusable(format!("it has no value `{name}`")))
        };
        Ok(Self {
            input_ids: node(INPUT_IDS)?,
            input_mask: node(INPUT_MASK)?,
            input_types: reading.has_types.then(|| node(INPUT_TYPES)).transpose()?,
            output: node(&reading.output)?,
            model: Arc::new(model),
        })
    }

    /// Creates a session with a thread of its own.
    pub(crate) fn new_session(&self) -> BuiltInSession {
        BuiltInSession {
            model: self.clone(),
            threads: Arc::new(ThreadPool::with_num_threads(1)),
        }
    }
}

/// One single-threaded session.
pub(crate) struct BuiltInSession {
    model: BuiltInModel,
    threads: Arc<ThreadPool>,
}

impl Inference for BuiltInSession {
    fn infer(&mut self, ids: &[u32], types: &[u32]) -> Result<Vec<f32>, EmbedError> {
        let failed = |message: String| EmbedError::Engine { message };
        let shape = [1, ids.len()];
        // rten computes with 32-bit integers where ONNX says 64; every id fits.
        let tokens: Vec<i32> = ids.iter().map(|id| id.cast_signed()).collect();
        let tokens = NdTensor::from_data(shape, tokens);
        let mask = NdTensor::from_data(shape, vec![1_i32; ids.len()]);
        let mut options = RunOptions::default();
        options.thread_pool = Some(Arc::clone(&self.threads));
        let mut types: Vec<i32> = types.iter().map(|of| of.cast_signed()).collect();
        types.resize(ids.len(), 0);
        let types = NdTensor::from_data(shape, types);
        let mut inputs = vec![
            (self.model.input_ids, tokens.view().into()),
            (self.model.input_mask, mask.view().into()),
        ];
        inputs.extend(
            self.model
                .input_types
                .map(|node| (node, types.view().into())),
        );
        let mut outputs = self
            .model
            .model
            .run(inputs, &[self.model.output], Some(options))
            .map_err(|error| failed(error.to_string()))?;
        let output = outputs
            .pop()
            .ok_or_else(|| failed("it gave no output".to_owned()))?;
        let output: Tensor<f32> = output
            .try_into()
            .map_err(|_| failed("its output is not one of floats".to_owned()))?;
        Ok(output.into_data())
    }
}
