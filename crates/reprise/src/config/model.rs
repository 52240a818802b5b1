//! Models: the embedding model by its name, the store of its vectors, and language models behind
//! `OpenAI`-compatible endpoints.

use reprise_embed::Variant;
use reprise_types::REFERENCE_MODEL;
use serde::Deserialize;

/// Whether a model for more languages is proposed.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum LanguageProposal {
    /// Proposed once it would help, and never chosen by itself.
    #[default]
    Auto,
    /// Whatever it is, the model stays.
    Any,
}

/// Where the vectors of a new memory are asked for (ADR 0058).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum VectorsChoice {
    /// In the memory's own file.
    #[default]
    Log,
    /// In a file of the package of this name, next to the memory's own.
    RvfRuntime,
}

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct ModelTable {
    /// Such as `http://127.0.0.1:11434/v1`.
    pub(crate) url: Option<String>,
    #[serde(rename = "model")]
    pub(crate) name: String,
    pub(crate) key: Option<String>,
    /// Send the key over plain HTTP too, although it is another machine.
    pub(crate) allow_plain_http: bool,
}

/// The models of `eval answer`; one without a URL is not used.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EvalModels {
    pub(crate) answer: ModelTable,
    pub(crate) judge: ModelTable,
}

/// Embedding model as the file names it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(crate) enum ModelName {
    /// Variant of the built-in model.
    BuiltIn(Variant),
    /// Added model, by its name or its folder.
    Added(String),
    /// Model behind an endpoint: `URL#MODEL`.
    Endpoint(String),
}

impl Default for ModelName {
    fn default() -> Self {
        Self::BuiltIn(Variant::default())
    }
}

impl From<String> for ModelName {
    fn from(name: String) -> Self {
        let form = Variant::ALL.into_iter().find(|form| form.name() == name);
        match form {
            Some(form) => Self::BuiltIn(form),
            None if name == REFERENCE_MODEL => Self::default(),
            None if name.starts_with("http://") || name.starts_with("https://") => {
                Self::Endpoint(name)
            }
            None => Self::Added(name),
        }
    }
}

impl ModelName {
    /// Returns the endpoint's setting, if the model is behind one.
    pub(crate) fn endpoint(&self) -> Option<&str> {
        match self {
            Self::Endpoint(setting) => Some(setting),
            Self::BuiltIn(_) | Self::Added(_) => None,
        }
    }

    pub(crate) fn name(&self) -> &str {
        match self {
            Self::BuiltIn(form) => form.name(),
            Self::Added(name) | Self::Endpoint(name) => name,
        }
    }
}
