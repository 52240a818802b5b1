//! Models: the one that makes vectors, by its name, and those that write, behind endpoints of
//! `OpenAI`'s form.

use reprise_embed::Variant;
use reprise_sandbox::EndpointConfig;
use reprise_types::REFERENCE_MODEL;
use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Model {
    /// Such as `http://127.0.0.1:11434/v1`.
    pub(super) url: Option<String>,
    #[serde(rename = "model")]
    name: String,
    key: Option<String>,
    /// Send the key over plain HTTP too, although it is another machine.
    allow_plain_http: bool,
}

/// The models of `eval answer`: nothing is asked of one that is not named.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct EvalModels {
    pub(crate) answer: Model,
    pub(crate) judge: Model,
}

impl Model {
    /// `None` where none is named.
    pub(crate) fn endpoint(&self) -> Option<EndpointConfig> {
        let url = self.url.clone()?;
        Some(EndpointConfig {
            allow_plain_http: self.allow_plain_http,
            ..EndpointConfig::new(url, self.name.clone(), self.key.clone())
        })
    }
}

/// A model as the file names it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(crate) enum ModelName {
    /// A form of the one that is built in.
    BuiltIn(Variant),
    /// One that was added: its name, or the folder that it came from.
    Added(String),
    /// One behind an endpoint: `URL#MODEL`.
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
    /// Where it stands, if that is behind an endpoint.
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
