//! The fast engine: ONNX Runtime through `ort`, one single-threaded session at a time.
//!
//! This module loads no library; an `Environment` from `library` proves that one is loaded.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use ort::environment::Environment;
use ort::session::Session;
use ort::value::TensorRef;
use reprise_types::{EmbedError, lock};

use super::weights::SharedWeights;
use super::{Inference, catch_panics};
use crate::graph_reading::{GraphReading, INPUT_IDS, INPUT_MASK, INPUT_TYPES};

/// An optimiser that applies to quantised BERT graphs and costs more than it saves (40 us instead
/// of 14 us per layer), so it is off for every library version.
const DISABLED_OPTIMIZERS: &str = "SkipLayerNormFusion";

/// A model file on a loaded library. The tensors that its sessions share are kept while one of them
/// is open.
pub(crate) struct OnnxModel {
    environment: Environment,
    path: PathBuf,
    reading: GraphReading,
    weights: Mutex<Weak<SharedWeights>>,
}

/// One single-threaded session, 0.1 s to make.
pub(crate) struct OnnxSession {
    session: Session,
    reading: GraphReading,
    _weights: Option<Arc<SharedWeights>>,
}

impl OnnxModel {
    pub(crate) fn new(environment: Environment, path: PathBuf, reading: GraphReading) -> Self {
        Self {
            environment,
            path,
            reading,
            weights: Mutex::default(),
        }
    }

    pub(crate) fn new_session(&self) -> Result<OnnxSession, EmbedError> {
        let unusable = |message: String| EmbedError::Unavailable {
            message: format!(
                "ONNX Runtime cannot use the model file {} ({message})",
                self.path.display()
            ),
        };
        let weights = catch_panics(|| self.shared_weights())
            .map_err(unusable)?
            .map_err(unusable)?;
        let session =
            catch_panics(|| create_session(&self.environment, &self.path, weights.as_deref()))
                .map_err(unusable)?
                .map_err(unusable)?;
        let has_input = |name| session.inputs().iter().any(|input| input.name() == name);
        let has_output = session
            .outputs()
            .iter()
            .any(|output| output.name() == self.reading.output);
        if !has_input(INPUT_IDS) || !has_input(INPUT_MASK) || !has_output {
            return Err(unusable("it is another kind of model".to_owned()));
        }
        Ok(OnnxSession {
            session,
            reading: self.reading.clone(),
            _weights: weights,
        })
    }

    /// Returns how many sessions share the model's tensors.
    #[cfg(test)]
    pub(crate) fn sharing_count(&self) -> usize {
        let held = lock(&self.weights);
        held.strong_count()
    }

    /// Returns the shared tensors; `None` if ONNX Runtime rewrites them for this processor, or if
    /// their layout is that of a foreign graph.
    fn shared_weights(&self) -> Result<Option<Arc<SharedWeights>>, String> {
        if can_saturate() || self.reading.is_foreign {
            return Ok(None);
        }
        self.read_shared_weights().map(Some)
    }

    /// Returns the tensors of the file: reads them for the first session, and shares them with all
    /// others.
    pub(crate) fn read_shared_weights(&self) -> Result<Arc<SharedWeights>, String> {
        let mut held = lock(&self.weights);
        if let Some(weights) = held.upgrade() {
            return Ok(weights);
        }
        let weights = Arc::new(SharedWeights::read(&self.path)?);
        *held = Arc::downgrade(&weights);
        Ok(weights)
    }
}

fn create_session(
    environment: &Environment,
    path: &Path,
    weights: Option<&SharedWeights>,
) -> Result<Session, String> {
    let text = |error: ort::Error<ort::session::builder::SessionBuilder>| error.to_string();
    let mut builder = Session::builder(environment)
        .map_err(|error| error.to_string())?
        .with_intra_threads(1)
        .map_err(text)?
        .with_inter_threads(1)
        .map_err(text)?
        .with_intra_op_spinning(false)
        .map_err(text)?
        .with_inter_op_spinning(false)
        .map_err(text)?
        .with_disabled_optimizers(DISABLED_OPTIMIZERS)
        .map_err(text)?;
    if can_saturate() {
        builder = builder.with_precise_qmm().map_err(text)?;
    }
    if let Some(weights) = weights {
        return weights.create_session(builder);
    }
    builder
        .commit_from_file(path)
        .map_err(|error| error.to_string())
}

/// Whether this processor's u8 x s8 products can overflow their 16-bit sums, as on x86 without
/// VNNI. The precise mode avoids this but takes twice as long, so it is only used there.
pub fn can_saturate() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        !is_x86_feature_detected!("avx512vnni") && !is_x86_feature_detected!("avxvnni")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        false
    }
}

impl Inference for OnnxSession {
    fn infer(&mut self, ids: &[u32], types: &[u32]) -> Result<Vec<f32>, EmbedError> {
        let failed = |error: ort::Error| EmbedError::Engine {
            message: error.to_string(),
        };
        let tokens: Vec<i64> = ids.iter().map(|id| i64::from(*id)).collect();
        let mask = vec![1_i64; ids.len()];
        let shape = [1, ids.len()];
        let tokens = TensorRef::from_array_view((shape, &*tokens)).map_err(failed)?;
        let mask = TensorRef::from_array_view((shape, &*mask)).map_err(failed)?;
        let mut types: Vec<i64> = types.iter().map(|of| i64::from(*of)).collect();
        types.resize(ids.len(), 0);
        let mut inputs = ort::inputs![INPUT_IDS => tokens, INPUT_MASK => mask];
        if self.reading.has_types {
            let types = TensorRef::from_array_view((shape, &*types)).map_err(failed)?;
            inputs.push((INPUT_TYPES.into(), types.into()));
        }
        let outputs = self.session.run(inputs).map_err(failed)?;
        let output = outputs
            .get(&*self.reading.output)
            .ok_or_else(|| EmbedError::Engine {
                message: "it gave no output".to_owned(),
            })?;
        let (_shape, numbers) = output.try_extract_tensor::<f32>().map_err(failed)?;
        Ok(numbers.to_vec())
    }
}
