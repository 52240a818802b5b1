//! Writes ONNX model files from the bytes of safetensors files, and reads their constants back.
//!
//! Pure and deterministic: equal weights give equal bytes on every machine, so the output's hash
//! can be pinned. This module touches no file and runs no model.

mod constants;
mod encoder;
mod graph;
mod interface;
mod protobuf;

pub(crate) use constants::{Constant, TensorNumbers, externalize_constants, read_constants};
pub(crate) use encoder::encode_model;
pub(crate) use interface::{detect_judge_reading, detect_reading};

use crate::architecture::Architecture;
use crate::safetensors::{Weights, WeightsError};
use crate::variant::Variant;

/// Converts the weights of all-MiniLM-L6-v2 into an ONNX file (opset 20, standard operators only).
///
/// The graph has the inputs `input_ids` and `attention_mask`, both `i64 [batch, seq]`, and the
/// output `sentence_embedding`, `f32 [batch, 384]`: mean-pooled over unmasked tokens and of length
/// 1.
pub fn convert_to_onnx(safetensors: &[u8], variant: Variant) -> Result<Vec<u8>, WeightsError> {
    let weights = Weights::decode(safetensors)?;
    encode_model(&Architecture::minilm(), &weights, variant)
}
