//! Plans by a model behind an OpenAI-compatible endpoint (`/chat/completions`).
//!
//! The request with its time limit, retries, and what each answer means. Nothing is sent anywhere
//! unless a host is given an endpoint; what is sent then holds what memory says.

mod plan;

use std::fmt;
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};

use super::{GatewayError, ModelGateway, Routing, RoutingRequest};

/// Longest answer that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;
/// Requests for one plan: the first, and those after a failure that may pass.
const REQUESTS_MAX: u32 = 3;

#[derive(Clone)]
pub struct EndpointConfig {
    /// For example `https://models.example/v1`; `/chat/completions` is added.
    pub url: String,
    /// The model's name there.
    pub model: String,
    /// Sent as bearer token, where there is one.
    pub key: Option<String>,
    /// How long one request may take.
    pub timeout: Duration,
    /// How long to wait before the first repetition; doubles from one to the next.
    pub wait_first: Duration,
    /// The longest wait that an endpoint may ask for (`Retry-After`); with more it counts as
    /// refused.
    pub wait_max: Duration,
}

impl EndpointConfig {
    /// A minute a request, waits from half a second on and of at most 30.
    #[must_use]
    pub fn new(url: String, model: String, key: Option<String>) -> Self {
        Self {
            url,
            model,
            key,
            timeout: Duration::from_mins(1),
            wait_first: Duration::from_millis(500),
            wait_max: Duration::from_secs(30),
        }
    }
}

impl fmt::Debug for EndpointConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EndpointConfig")
            .field("url", &self.url)
            .field("model", &self.model)
            .field("key", &self.key.as_ref().map(|_| "given"))
            .field("timeout", &self.timeout)
            .finish_non_exhaustive()
    }
}

/// A model behind an endpoint. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    config: EndpointConfig,
    agent: ureq::Agent,
}

/// What one request came to.
enum Answer {
    /// The body of a success.
    Said(String),
    /// A failure that may pass, and how long the endpoint asks to wait.
    Again(GatewayError, Option<Duration>),
    /// A failure that asking again does not mend.
    Never(GatewayError),
}

impl ModelEndpoint {
    /// A client of this endpoint. No connection is made yet; proxies and redirections are not used.
    #[must_use]
    pub fn new(config: EndpointConfig) -> Self {
        let agent = ureq::Agent::config_builder()
            .timeout_global(Some(config.timeout))
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .build()
            .new_agent();
        Self { config, agent }
    }

    fn endpoint(&self) -> String {
        self.config.url.trim_end_matches('/').to_owned()
    }

    /// One request; blocks.
    fn ask(&self, body: &str) -> Answer {
        let url = format!("{}/chat/completions", self.endpoint());
        let mut request = self.agent.post(&url);
        request = request.header("content-type", "application/json");
        if let Some(key) = &self.config.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        let mut response = match request.send(body) {
            Ok(response) => response,
            Err(error) => return self.failed(&error),
        };
        let status = response.status().as_u16();
        let asked_to_wait = response.headers().get("retry-after");
        let wait = asked_to_wait.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let limited = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let endpoint = self.endpoint();
        match status {
            200..=299 => match limited.read_to_string() {
                Ok(text) => Answer::Said(text),
                Err(ureq::Error::BodyExceedsLimit(_)) => Answer::Never(GatewayError::Malformed {
                    endpoint,
                    message: format!("more than {ANSWER_BYTES_MAX} bytes"),
                }),
                Err(error) => self.failed(&error),
            },
            401 | 403 => Answer::Never(GatewayError::Unauthorized { endpoint, status }),
            429 => {
                let wait = wait.map(Duration::from_secs);
                Answer::Again(GatewayError::RateLimited { endpoint }, wait)
            }
            500..=599 => Answer::Again(GatewayError::Provider { endpoint, status }, None),
            _ => Answer::Never(GatewayError::Provider { endpoint, status }),
        }
    }

    fn failed(&self, error: &ureq::Error) -> Answer {
        let endpoint = self.endpoint();
        match error {
            ureq::Error::Timeout(_) => Answer::Again(
                GatewayError::TimedOut {
                    endpoint,
                    limit_ms: u64::try_from(self.config.timeout.as_millis()).unwrap_or(u64::MAX),
                },
                None,
            ),
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
                Answer::Never(GatewayError::Unreachable {
                    endpoint,
                    message: "it is no address".to_owned(),
                })
            }
            error => Answer::Again(
                GatewayError::Unreachable {
                    endpoint,
                    message: error.to_string(),
                },
                None,
            ),
        }
    }

    /// Asks until there is an answer, or a failure that stays.
    async fn answer(&self, body: String) -> Result<String, GatewayError> {
        let mut wait = self.config.wait_first;
        let mut request = 1;
        loop {
            let (asker, asked) = (self.clone(), body.clone());
            let answer = tokio::task::spawn_blocking(move || asker.ask(&asked)).await;
            let answer = answer.unwrap_or_else(|error| {
                Answer::Never(GatewayError::Malformed {
                    endpoint: self.endpoint(),
                    message: error.to_string(),
                })
            });
            let (error, asked_to_wait) = match answer {
                Answer::Said(text) => return Ok(text),
                Answer::Never(error) => return Err(error),
                Answer::Again(error, asked_to_wait) => (error, asked_to_wait),
            };
            let pause = asked_to_wait.unwrap_or(wait);
            if request == REQUESTS_MAX || pause > self.config.wait_max {
                return Err(error);
            }
            tracing::warn!(%error, ?pause, "the model is asked again");
            tokio::time::sleep(pause).await;
            (request, wait) = (request + 1, wait * 2);
        }
    }

    fn malformed(&self, message: String) -> GatewayError {
        GatewayError::Malformed {
            endpoint: self.endpoint(),
            message,
        }
    }
}

#[async_trait]
impl ModelGateway for ModelEndpoint {
    async fn conduct(&self, request: &RoutingRequest<'_>) -> Result<Routing, GatewayError> {
        let context = format!("{}\n\n{}", request.routing_context(), plan::FORM);
        let body = json!({
            "model": self.config.model,
            "temperature": 0,
            "response_format": { "type": "json_object" },
            "messages": [
                { "role": "system", "content": context },
                { "role": "user", "content": request.objective },
            ],
        });
        let text = self.answer(body.to_string()).await?;
        let answer: Value = serde_json::from_str(&text)
            .map_err(|error| self.malformed(format!("not JSON: {error}")))?;
        let content = answer.pointer("/choices/0/message/content");
        let content = content.and_then(Value::as_str);
        let content = content.ok_or_else(|| self.malformed("no choice with a text".to_owned()))?;
        plan::read(content).map_err(|message| self.malformed(message))
    }
}

#[cfg(test)]
mod tests;
