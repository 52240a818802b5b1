//! The two arithmetic variants of a model, each with its own embedding space; the files and hashes
//! of all-MiniLM-L6-v2 are in `models/models.toml`.

use reprise_types::{EmbeddingSpace, REFERENCE_MODEL};
use serde::{Deserialize, Serialize};

/// The arithmetic in which a model is written. Vectors of different variants are never compared.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(rename_all = "snake_case")]
pub enum Variant {
    /// Dynamic int8 with one scale per output channel: 23.5 MB, about four times as fast.
    #[default]
    Int8,
    /// The original 32-bit floats: 90 MB.
    F32,
}

impl Variant {
    /// Both variants.
    pub const ALL: [Self; 2] = [Self::Int8, Self::F32];

    /// Returns the name in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Int8 => "int8",
            Self::F32 => "f32",
        }
    }

    /// Finds the variant whose vectors are in this space.
    pub fn from_space(space: &EmbeddingSpace) -> Option<Self> {
        Self::ALL.into_iter().find(|form| form.space() == *space)
    }

    /// Returns the version of its space, which changes with every bit of the model file.
    pub fn version(self) -> &'static str {
        match self {
            Self::Int8 => "int8-1",
            Self::F32 => "f32-1",
        }
    }

    /// Returns the space of the vectors of this variant.
    pub fn space(self) -> EmbeddingSpace {
        EmbeddingSpace {
            model: REFERENCE_MODEL.to_owned(),
            version: self.version().to_owned(),
            dimensions: 384,
        }
    }
}
