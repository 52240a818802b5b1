//! Plans by a model behind an OpenAI-compatible endpoint (`/chat/completions`).
//!
//! Requests have a time limit and are retried. Nothing is sent unless the host is given an
//! endpoint; requests then contain recalled memories.

use reprise_redact::{OutboundBody, is_plain_http_to_other_machine};

use super::{Assignment, GatewayError, ModelGateway, RoutingPlan, RoutingRequest};
use crate::prelude::*;

/// Longest response that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;
/// Most requests for one plan, including retries of transient failures.
const REQUESTS_MAX: u32 = 3;

/// The description of the response format for the model.
const RESPONSE_FORMAT: &str = r#"Answer with one JSON object and nothing else:
{"plan": "a few words", "reason": "one sentence", "used": ["ids of memories"], "assignments": [
 {"worker": "terminal", "objective": "...", "folder": "...", "files": {"path": "text"}, "command": "...", "instead": ["other commands that would do"]},
 {"worker": "researcher", "objective": "...", "words": ["..."]},
 {"worker": "writer", "objective": "...", "path": "...", "text": "...", "summary": "..."}]}"#;

/// Longest name of a plan, in characters; it is bounded because every report repeats it.
const PLAN_CHARACTERS_MAX: usize = 80;

#[derive(Clone)]
pub struct EndpointConfig {
    /// For example `https://models.example/v1`; `/chat/completions` is added.
    pub url: String,
    pub model: String,
    /// Key that is sent as bearer token, if given.
    pub key: Option<String>,
    /// Whether the key may be sent over plain HTTP to another machine.
    pub allow_plain_http: bool,
    /// Time limit of one request.
    pub timeout: Duration,
    /// Pause before the first retry; it doubles each time.
    pub wait_first: Duration,
    /// Longest `Retry-After` that is respected; a longer one counts as a failure.
    pub wait_max: Duration,
}

impl EndpointConfig {
    /// Creates a configuration with the defaults: a minute per request, and pauses from half a
    /// second to 30 seconds.
    pub fn new(url: String, model: String, key: Option<String>) -> Self {
        Self {
            url,
            model,
            key,
            allow_plain_http: false,
            timeout: Duration::from_mins(1),
            wait_first: Duration::from_millis(500),
            wait_max: Duration::from_secs(30),
        }
    }
}

reprise_types::show_fields!(EndpointConfig {
    url,
    model,
    timeout
});

/// A model behind an endpoint. Cheap to clone.
#[derive(Debug, Clone)]
pub struct ModelEndpoint {
    config: EndpointConfig,
    agent: ureq::Agent,
}

/// The outcome of one request.
enum RequestOutcome {
    /// The body of a successful response.
    Success(String),
    /// A transient failure, with the endpoint's `Retry-After`.
    Transient(GatewayError, Option<Duration>),
    /// A permanent failure.
    Permanent(GatewayError),
}

impl ModelEndpoint {
    /// Creates a client of an endpoint. It does not connect yet, uses no proxies and follows no
    /// redirects.
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

    fn base_url(&self) -> String {
        self.config.url.trim_end_matches('/').to_owned()
    }

    /// Sends one request; blocks.
    fn send_request(&self, body: &OutboundBody) -> RequestOutcome {
        let url = format!("{}/chat/completions", self.base_url());
        let is_unencrypted = self.config.key.is_some() && is_plain_http_to_other_machine(&url);
        if is_unencrypted && !self.config.allow_plain_http {
            let why = "its key would go to another machine over plain HTTP";
            return RequestOutcome::Permanent(self.unreachable_error(why.to_owned()));
        }
        let mut request = self.agent.post(&url);
        request = request.header("content-type", "application/json");
        if let Some(key) = &self.config.key {
            request = request.header("authorization", format!("Bearer {key}"));
        }
        #[expect(clippy::disallowed_methods, reason = "the body has passed the gate")]
        let sent = request.send(body.as_bytes());
        let mut response = match sent {
            Ok(response) => response,
            Err(error) => return self.classify_error(&error),
        };
        let status = response.status().as_u16();
        let retry_after = response.headers().get("retry-after");
        let wait = retry_after.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let limited = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let endpoint = self.base_url();
        match status {
            200..=299 => match limited.read_to_string() {
                Ok(text) => RequestOutcome::Success(text),
                Err(ureq::Error::BodyExceedsLimit(_)) => {
                    let why = format!("more than {ANSWER_BYTES_MAX} bytes");
                    RequestOutcome::Permanent(self.malformed_error(why))
                }
                Err(error) => self.classify_error(&error),
            },
            401 | 403 => RequestOutcome::Permanent(GatewayError::Unauthorized { endpoint, status }),
            429 => {
                let wait = wait.map(Duration::from_secs);
                RequestOutcome::Transient(GatewayError::RateLimited { endpoint }, wait)
            }
            500..=599 => {
                RequestOutcome::Transient(GatewayError::Provider { endpoint, status }, None)
            }
            _ => RequestOutcome::Permanent(GatewayError::Provider { endpoint, status }),
        }
    }

    fn classify_error(&self, error: &ureq::Error) -> RequestOutcome {
        match error {
            ureq::Error::Timeout(_) => {
                let endpoint = self.base_url();
                let limit_ms = u64::try_from(self.config.timeout.as_millis()).unwrap_or(u64::MAX);
                RequestOutcome::Transient(GatewayError::TimedOut { endpoint, limit_ms }, None)
            }
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
                RequestOutcome::Permanent(self.unreachable_error("it is no address".to_owned()))
            }
            error => RequestOutcome::Transient(self.unreachable_error(error.to_string()), None),
        }
    }

    /// Sends a request, and retries it after transient failures; returns the body of the response.
    async fn send_with_retries(&self, body: OutboundBody) -> Result<String, GatewayError> {
        let mut wait = self.config.wait_first;
        let mut request = 1;
        loop {
            let (client, body) = (self.clone(), body.clone());
            let answer = tokio::task::spawn_blocking(move || client.send_request(&body)).await;
            let answer = answer.unwrap_or_else(|error| {
                RequestOutcome::Permanent(self.malformed_error(error.to_string()))
            });
            let (error, retry_after) = match answer {
                RequestOutcome::Success(text) => return Ok(text),
                RequestOutcome::Permanent(error) => return Err(error),
                RequestOutcome::Transient(error, retry_after) => (error, retry_after),
            };
            let pause = retry_after.unwrap_or(wait);
            if request == REQUESTS_MAX || pause > self.config.wait_max {
                return Err(error);
            }
            tracing::warn!(%error, ?pause, "the request to the model will be retried");
            tokio::time::sleep(pause).await;
            (request, wait) = (request + 1, wait * 2);
        }
    }

    /// Returns the model's completion of one prompt.
    pub async fn complete_prompt(&self, prompt: &str) -> Result<String, GatewayError> {
        let messages = json!([{ "role": "user", "content": prompt }]);
        self.request_completion(json!({ "messages": messages }))
            .await
    }

    /// Requests a completion; returns the text of the first choice.
    async fn request_completion(&self, mut body: Value) -> Result<String, GatewayError> {
        body["model"] = json!(self.config.model);
        body["temperature"] = json!(0);
        let body = OutboundBody::from_json("the request", &body);
        let body = body.map_err(|why| self.malformed_error(why.to_string()))?;
        let text = self.send_with_retries(body).await?;
        let answer: Value = serde_json::from_str(&text)
            .map_err(|error| self.malformed_error(format!("not JSON: {error}")))?;
        let content = answer.pointer("/choices/0/message/content");
        let content = content.and_then(Value::as_str);
        let content =
            content.ok_or_else(|| self.malformed_error("no choice with a text".to_owned()))?;
        Ok(content.to_owned())
    }

    fn unreachable_error(&self, message: String) -> GatewayError {
        GatewayError::Unreachable {
            endpoint: self.base_url(),
            message,
        }
    }

    fn malformed_error(&self, message: String) -> GatewayError {
        GatewayError::Malformed {
            endpoint: self.base_url(),
            message,
        }
    }
}

#[async_trait]
impl ModelGateway for ModelEndpoint {
    async fn make_plan(&self, request: &RoutingRequest<'_>) -> Result<RoutingPlan, GatewayError> {
        let context = format!("{}\n\n{}", request.render_context(), RESPONSE_FORMAT);
        let content = self
            .request_completion(json!({
                "response_format": { "type": "json_object" },
                "messages": [
                    { "role": "system", "content": context },
                    { "role": "user", "content": request.objective },
                ],
            }))
            .await?;
        parse_plan(&content).map_err(|message| self.malformed_error(message))
    }
}

#[derive(Deserialize)]
struct PlanResponse {
    plan: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    used: Vec<String>,
    assignments: Vec<Assignment>,
}

/// Parses a plan, with or without a code fence around it. Paths and commands are validated when
/// they are used.
fn parse_plan(content: &str) -> Result<RoutingPlan, String> {
    let content = content.trim();
    let inside = content.strip_prefix("```").and_then(|rest| {
        let (_, rest) = rest.split_once('\n')?;
        rest.trim_end().strip_suffix("```")
    });
    let mut response: PlanResponse = serde_json::from_str(inside.unwrap_or(content))
        .map_err(|error| format!("not a plan: {error}"))?;
    let name: String = response.plan.replace('`', "'");
    let plan: String = name.trim().chars().take(PLAN_CHARACTERS_MAX).collect();
    if plan.is_empty() || response.assignments.is_empty() {
        return Err("a plan needs a name and at least one assignment".to_owned());
    }
    for one in &mut response.assignments {
        one.objective = format!("{}, by `{plan}`", one.objective);
    }
    // Invalid ids are dropped, as the conductor accepts only recalled records anyway.
    let ids = response.used.iter().filter_map(|id| id.parse().ok());
    let used: Vec<RecordId> = ids.collect();
    Ok(RoutingPlan {
        assignments: response.assignments,
        used,
        reason: response.reason,
        plan,
    })
}

#[cfg(test)]
mod tests;
