//! A cross-encoder: reads a question and a text together and says how likely the one answers the
//! other. A folder of ONNX files, used where it lies.

use std::path::Path;

use reprise_types::EmbedError;

use crate::engine::{Inference, guarded};
use crate::factory::open_graph;
use crate::folder;
use crate::provision::ModelStore;
use crate::tokenizer::TextTokenizer;

/// One judge, for one thread at a time.
pub struct CrossEncoder {
    inference: Box<dyn Inference>,
    tokenizer: TextTokenizer,
}

reprise_types::show_fields!(CrossEncoder {});

impl CrossEncoder {
    /// Opens a folder with `model.onnx`, `tokenizer.json` and `config.json`, on the best engine of
    /// this machine, and lets it judge once. An error is one sentence.
    pub fn open(store: &ModelStore, folder: &Path) -> Result<Self, EmbedError> {
        let refused = |message: String| EmbedError::Unavailable {
            message: format!(
                "the reranker {} cannot be used: {message}",
                folder.display()
            ),
        };
        let (graph, reading, tokenizer) = folder::judge(folder).map_err(refused)?;
        let inference = open_graph(store, &graph, &reading);
        let mut judge = Self {
            inference: inference.map_err(|error| refused(error.to_string()))?,
            tokenizer,
        };
        let judged = judge.judge("a question", "a text");
        judged.map_err(|error| refused(error.to_string()))?;
        Ok(judge)
    }

    /// The probability, 0..1, that a text answers a question.
    pub fn judge(&mut self, question: &str, text: &str) -> Result<f32, EmbedError> {
        let (ids, types) = self.tokenizer.pair(question, text)?;
        let numbers = guarded(|| self.inference.run(&ids, &types))
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
