//! Writes the ONNX model files: the bytes of a safetensors file in, the bytes of a graph out; and
//! reads their constants back.
//!
//! Pure and deterministic: the same weights give the same bytes on every machine, so the output's
//! hash can be pinned. No file is touched here and no model is run.

mod constants;
mod encoder;
mod graph;
mod interface;
mod protobuf;

pub(crate) use constants::{Constant, Numbers, constants, outlined};
pub(crate) use encoder::encode;
pub(crate) use interface::{judging, reading};

use crate::architecture::Architecture;
use crate::safetensors::{Weights, WeightsError};
use crate::variant::Variant;

/// Converts the weights of all-MiniLM-L6-v2 into an ONNX file (opset 20, standard operators only).
///
/// The graph takes `input_ids` and `attention_mask`, both `i64 [batch, seq]`, and gives
/// `sentence_embedding`, `f32 [batch, 384]`: mean-pooled over unmasked tokens and of length 1.
pub fn convert(safetensors: &[u8], variant: Variant) -> Result<Vec<u8>, WeightsError> {
    let weights = Weights::parse(safetensors)?;
    encode(&Architecture::minilm(), &weights, variant)
}
