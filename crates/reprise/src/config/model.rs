//! Models that write, behind endpoints of `OpenAI`'s form.

use reprise_sandbox::EndpointConfig;
use serde::Deserialize;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(crate) struct Model {
    /// Such as `http://127.0.0.1:11434/v1`.
    url: Option<String>,
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

    pub(crate) fn address(&self) -> Option<String> {
        self.url.clone()
    }
}
