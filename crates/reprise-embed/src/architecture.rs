//! A model's shape, read from its own files: encoders of the BERT family, which differ in sizes, in
//! the first position and in the pooling of their tokens.

use serde::{Deserialize, Serialize};

/// Widths of vectors that can be stored.
pub(crate) const WIDTHS: std::ops::RangeInclusive<usize> = 32..=4096;
const LAYERS_MAX: usize = 64;
const INNER_MAX: usize = 32 * 1024;
const VOCABULARY_MAX: usize = 2_000_000;
const POSITIONS_MAX: usize = 16 * 1024;

/// Name of the file of a whole graph, if a folder has one.
pub(crate) const MODEL_FILE: &str = "model.onnx";

/// How the vectors of tokens become that of the text, whose length is always scaled to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Pooling {
    #[default]
    Mean,
    /// The vector of the first token.
    Cls,
}

/// The sizes of an encoder, by the names that Hugging Face's transformers give them.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub(crate) struct Architecture {
    #[serde(rename = "hidden_size")]
    pub(crate) width: usize,
    #[serde(rename = "intermediate_size")]
    pub(crate) inner: usize,
    #[serde(rename = "num_attention_heads")]
    pub(crate) heads: usize,
    #[serde(rename = "num_hidden_layers")]
    pub(crate) layers: usize,
    #[serde(rename = "vocab_size")]
    pub(crate) vocabulary: usize,
    /// Rows of the table of positions.
    #[serde(rename = "max_position_embeddings")]
    pub(crate) positions: usize,
    /// The row of a text's first token; `RoBERTa` skips the rows up to that of its padding.
    #[serde(skip)]
    pub(crate) first_position: usize,
    /// Count of token types; 0 if tokens have no types.
    #[serde(rename = "type_vocab_size", default)]
    pub(crate) token_types: usize,
    /// Count of buckets of distances between tokens, each with a bias per head; 0 if a model has
    /// none.
    #[serde(rename = "relative_attention_num_buckets", default)]
    pub(crate) distances: usize,
    #[serde(rename = "layer_norm_eps")]
    pub(crate) epsilon: f32,
    #[serde(skip)]
    pub(crate) pooling: Pooling,
}

/// The parts of a model's shape that other modules need.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ModelSizes {
    pub(crate) width: usize,
    pub(crate) vocabulary: usize,
    /// Most tokens of a text, special ones included.
    pub(crate) token_limit: usize,
}

#[derive(Deserialize)]
struct AnyConfig {
    hidden_size: usize,
    vocab_size: usize,
    max_position_embeddings: Option<usize>,
}

impl ModelSizes {
    /// Reads the sizes of a model of any family; an error tells which part of its `config.json`
    /// cannot be used.
    pub(crate) fn parse(json: &[u8]) -> Result<Self, String> {
        let config: AnyConfig = serde_json::from_slice(json)
            .map_err(|error| format!("its config.json is not an encoder's ({error})"))?;
        let (width, vocabulary) = (config.hidden_size, config.vocab_size);
        let (least, most) = (WIDTHS.start(), WIDTHS.end());
        if !WIDTHS.contains(&width) {
            return Err(format!("its hidden_size is {width}, not {least} to {most}"));
        }
        if vocabulary > VOCABULARY_MAX {
            return Err(format!(
                "its vocab_size is {vocabulary}, not up to {VOCABULARY_MAX}"
            ));
        }
        let positions = config.max_position_embeddings.unwrap_or(POSITIONS_MAX);
        Ok(Self {
            width,
            vocabulary,
            token_limit: positions.min(POSITIONS_MAX),
        })
    }
}

/// `config.json` of Hugging Face's transformers, as far as an encoder needs it.
#[derive(Deserialize)]
struct Config {
    model_type: String,
    hidden_act: String,
    pad_token_id: Option<usize>,
    position_embedding_type: Option<String>,
    #[serde(flatten)]
    sizes: Architecture,
}

impl Architecture {
    /// Returns the shape of all-MiniLM-L6-v2.
    pub(crate) fn minilm() -> Self {
        Self {
            width: 384,
            inner: 1536,
            heads: 12,
            layers: 6,
            vocabulary: 30_522,
            positions: 512,
            first_position: 0,
            token_types: 2,
            distances: 0,
            epsilon: 1e-12,
            pooling: Pooling::Mean,
        }
    }

    /// Returns the shape of multilingual-e5-small: BERT with the vocabulary of XLM-RoBERTa.
    pub(crate) fn e5_small() -> Self {
        Self {
            layers: 12,
            vocabulary: 250_037,
            ..Self::minilm()
        }
    }

    /// Reads a `config.json`; an error tells which part of it cannot be used.
    pub(crate) fn parse(json: &[u8], pooling: Pooling) -> Result<Self, String> {
        let config: Config = serde_json::from_slice(json)
            .map_err(|error| format!("its config.json is not an encoder's ({error})"))?;
        let family = config.model_type.as_str();
        let first_position = match family {
            "bert" => 0,
            "xlm-roberta" | "roberta" | "camembert" | "mpnet" => {
                config.pad_token_id.unwrap_or(1) + 1
            }
            _ => {
                return Err(format!(
                    "it is of the family `{family}`; bert, roberta, xlm-roberta and mpnet can be \
                     used, and any other as a {MODEL_FILE}"
                ));
            }
        };
        let is_mpnet = family == "mpnet";
        if config.hidden_act != "gelu" {
            let activation = config.hidden_act;
            return Err(format!("its activation is `{activation}`, not gelu"));
        }
        let kind = config.position_embedding_type.as_deref();
        if let Some(kind) = kind.filter(|kind| *kind != "absolute") {
            return Err(format!("its positions are `{kind}`, not absolute"));
        }
        let of = config.sizes;
        let (width, heads) = (of.width, of.heads);
        let positions_min = first_position.saturating_add(3);
        let buckets = |number| number * usize::from(is_mpnet);
        let sizes = [
            ("hidden_size", width, *WIDTHS.start(), *WIDTHS.end()),
            ("num_attention_heads", heads, 1, width),
            ("num_hidden_layers", of.layers, 1, LAYERS_MAX),
            ("intermediate_size", of.inner, 1, INNER_MAX),
            ("vocab_size", of.vocabulary, 3, VOCABULARY_MAX),
            (
                "max_position_embeddings",
                of.positions,
                positions_min,
                POSITIONS_MAX,
            ),
            (
                "type_vocab_size",
                of.token_types,
                usize::from(!is_mpnet),
                16,
            ),
            (
                "relative_attention_num_buckets",
                of.distances,
                buckets(4),
                buckets(256),
            ),
        ];
        for (name, size, least, most) in sizes {
            if !(least..=most).contains(&size) {
                return Err(format!("its {name} is {size}, not {least} to {most}"));
            }
        }
        if !width.is_multiple_of(heads) {
            return Err(format!("its {heads} heads do not share {width} numbers"));
        }
        Ok(Self {
            first_position,
            token_types: if is_mpnet { 0 } else { of.token_types },
            pooling,
            ..of
        })
    }

    pub(crate) fn sizes(&self) -> ModelSizes {
        ModelSizes {
            width: self.width,
            vocabulary: self.vocabulary,
            token_limit: self.token_limit(),
        }
    }

    /// Most tokens of a text, special ones included.
    pub(crate) fn token_limit(&self) -> usize {
        self.positions - self.first_position
    }
}
