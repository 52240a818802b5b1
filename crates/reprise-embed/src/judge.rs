//! A cross-encoder, which reads a question and a text together and computes how likely the text
//! answers the question. It is a folder of ONNX files, which is used in place.

use std::path::Path;

use reprise_types::EmbedError;

use crate::engine::{Inference, catch_panics};
use crate::factory::open_graph_session;
use crate::folder;
use crate::provision::ModelStore;
use crate::tokenizer::TextTokenizer;

/// A cross-encoder for one thread at a time.
pub struct CrossEncoder {
    inference: Box<dyn Inference>,
    tokenizer: TextTokenizer,
}

reprise_types::show_fields!(CrossEncoder {});

impl CrossEncoder {
    /// Opens the added cross-encoder with this name, or a folder with `model.onnx`,
    /// `tokenizer.json` and `config.json` on the best engine of this machine, and tries it once. An
    /// error is one sentence.
    pub fn open(store: &ModelStore, folder: &Path) -> Result<Self, EmbedError> {
        let refused = |message: String| EmbedError::Unavailable {
            message: format!(
                "the reranker {} cannot be used: {message}",
                folder.display()
            ),
        };
        let place = store.verified_judge(folder);
        let place = place.map_err(|error| refused(error.to_string()))?;
        let (graph, reading, tokenizer) = folder::read_judge_folder(&place).map_err(refused)?;
        let inference = open_graph_session(store, &graph, &reading);
        let mut judge = Self {
            inference: inference.map_err(|error| refused(error.to_string()))?,
            tokenizer,
        };
        let judged = judge.judge("a question", "a text");
        judged.map_err(|error| refused(error.to_string()))?;
        Ok(judge)
    }

    /// Returns the probability, 0..1, that a text answers a question.
    pub fn judge(&mut self, question: &str, text: &str) -> Result<f32, EmbedError> {
        let (ids, types) = self.tokenizer.encode_pair(question, text)?;
        let numbers = catch_panics(|| self.inference.infer(&ids, &types))
            .map_err(|message| EmbedError::Engine { message })??;
        match numbers.as_slice() {
            [logit] if logit.is_finite() => Ok(1.0 / (1.0 + (-logit).exp())),
            numbers => Err(EmbedError::BadOutput {
                message: format!(
                    "it gives {} numbers for a pair of texts, not one that is finite",
                    numbers.len()
                ),
            }),
        }
    }
}
