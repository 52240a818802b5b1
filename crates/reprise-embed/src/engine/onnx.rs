//! The fast engine: ONNX Runtime through `ort`, one single-threaded session at a time.
//!
//! Nothing here loads a library; an `Environment` from `library` proves that one is loaded.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, Weak};

use ort::environment::Environment;
use ort::session::Session;
use ort::value::TensorRef;
use reprise_types::{EmbedError, lock};

use super::weights::SharedWeights;
use super::{INPUT_IDS, INPUT_MASK, INPUT_TYPES, Inference, Reading, guarded};

/// It fires on quantised BERT graphs and costs more than it saves (40 us against
/// 14 a layer), so it stays off for every library version to come.
const DISABLED_OPTIMIZERS: &str = "SkipLayerNormFusion";

/// A model file on a loaded library. What its sessions can share is held as long as one is open.
pub(crate) struct OnnxModel {
    environment: Environment,
    path: PathBuf,
    reading: Reading,
    weights: Mutex<Weak<SharedWeights>>,
}

/// One single-threaded session, 0.1 s to make.
pub(crate) struct OnnxSession {
    session: Session,
    reading: Reading,
    _weights: Option<Arc<SharedWeights>>,
}

impl OnnxModel {
    pub(crate) fn new(environment: Environment, path: PathBuf, reading: Reading) -> Self {
        Self {
            environment,
            path,
            reading,
            weights: Mutex::default(),
        }
    }

    pub(crate) fn session(&self) -> Result<OnnxSession, EmbedError> {
        let unusable = |message: String| EmbedError::Unavailable {
            message: format!(
                "ONNX Runtime cannot use the model file {} ({message})",
                self.path.display()
            ),
        };
        let weights = guarded(|| self.weights())
            .map_err(unusable)?
            .map_err(unusable)?;
        let session = guarded(|| create(&self.environment, &self.path, weights.as_deref()))
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

    /// How many sessions share one model.
    #[cfg(test)]
    pub(crate) fn sharing(&self) -> usize {
        let held = lock(&self.weights);
        held.strong_count()
    }

    /// The shared tensors; none where ONNX Runtime rewrites them for this processor, or somebody
    /// else has laid them out.
    fn weights(&self) -> Result<Option<Arc<SharedWeights>>, String> {
        if may_saturate() || self.reading.is_foreign {
            return Ok(None);
        }
        self.read_once().map(Some)
    }

    /// The tensors of the file: read for the first who holds them, and given to all others.
    pub(crate) fn read_once(&self) -> Result<Arc<SharedWeights>, String> {
        let mut held = lock(&self.weights);
        if let Some(weights) = held.upgrade() {
            return Ok(weights);
        }
        let weights = Arc::new(SharedWeights::read(&self.path)?);
        *held = Arc::downgrade(&weights);
        Ok(weights)
    }
}

fn create(
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
    if may_saturate() {
        builder = builder.with_precise_qmm().map_err(text)?;
    }
    if let Some(weights) = weights {
        return weights.session(builder);
    }
    builder
        .commit_from_file(path)
        .map_err(|error| error.to_string())
}

/// Whether this processor's u8 x s8 products can overflow their 16-bit sums: x86 without VNNI. The
/// precise mode avoids it at twice the time, so it is asked for there only.
pub fn may_saturate() -> bool {
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
    fn run(&mut self, ids: &[u32], types: &[u32]) -> Result<Vec<f32>, EmbedError> {
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
