//! Plans by a model behind an OpenAI-compatible endpoint (`/chat/completions`).
//!
//! Requests with time limit and retries. Nothing is sent unless the host is given an endpoint;
//! requests then contain recalled memories.

use reprise_redact::{Outbound, is_plain_to_another};

use super::{Assignment, GatewayError, ModelGateway, Routing, RoutingRequest};
use crate::prelude::*;

/// Longest response that is read, in bytes.
const ANSWER_BYTES_MAX: u64 = 1024 * 1024;
/// Requests for one plan, retries of transient failures included.
const REQUESTS_MAX: u32 = 3;

/// The description of the form for the model.
const FORM: &str = r#"Answer with one JSON object and nothing else:
{"plan": "a few words", "reason": "one sentence", "used": ["ids of memories"], "assignments": [
 {"worker": "terminal", "objective": "...", "folder": "...", "files": {"path": "text"}, "command": "...", "instead": ["other commands that would do"]},
 {"worker": "researcher", "objective": "...", "words": ["..."]},
 {"worker": "writer", "objective": "...", "path": "...", "text": "...", "summary": "..."}]}"#;

/// Longest name of a plan, in characters, as every report repeats it.
const PLAN_CHARACTERS_MAX: usize = 80;

#[derive(Clone)]
pub struct EndpointConfig {
    /// For example `https://models.example/v1`; `/chat/completions` is added.
    pub url: String,
    pub model: String,
    /// Sent as bearer token, if given.
    pub key: Option<String>,
    /// Send the key over plain HTTP too, although the endpoint is another machine.
    pub allow_plain_http: bool,
    /// Time limit of one request.
    pub timeout: Duration,
    /// Pause before the first retry; doubles each time.
    pub wait_first: Duration,
    /// The longest `Retry-After` that is respected; a longer one counts as a failure.
    pub wait_max: Duration,
}

impl EndpointConfig {
    /// Defaults: a minute per request, pauses from half a second to 30 seconds.
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
enum Answer {
    /// The body of a successful response.
    Success(String),
    /// A transient failure, with the endpoint's `Retry-After`.
    Transient(GatewayError, Option<Duration>),
    /// A permanent failure.
    Permanent(GatewayError),
}

impl ModelEndpoint {
    /// A client of this endpoint. Does not connect yet; uses no proxies and follows no redirects.
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

    /// Sends one request. Blocking.
    fn ask(&self, body: &Outbound) -> Answer {
        let url = format!("{}/chat/completions", self.endpoint());
        let is_open = self.config.key.is_some() && is_plain_to_another(&url);
        if is_open && !self.config.allow_plain_http {
            let why = "its key would go to another machine over plain HTTP";
            return Answer::Permanent(self.unreachable(why.to_owned()));
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
            Err(error) => return self.failed(&error),
        };
        let status = response.status().as_u16();
        let asked_to_wait = response.headers().get("retry-after");
        let wait = asked_to_wait.and_then(|value| value.to_str().ok()?.trim().parse().ok());
        let limited = response.body_mut().with_config().limit(ANSWER_BYTES_MAX);
        let endpoint = self.endpoint();
        match status {
            200..=299 => match limited.read_to_string() {
                Ok(text) => Answer::Success(text),
                Err(ureq::Error::BodyExceedsLimit(_)) => {
                    let why = format!("more than {ANSWER_BYTES_MAX} bytes");
                    Answer::Permanent(self.malformed(why))
                }
                Err(error) => self.failed(&error),
            },
            401 | 403 => Answer::Permanent(GatewayError::Unauthorized { endpoint, status }),
            429 => {
                let wait = wait.map(Duration::from_secs);
                Answer::Transient(GatewayError::RateLimited { endpoint }, wait)
            }
            500..=599 => Answer::Transient(GatewayError::Provider { endpoint, status }, None),
            _ => Answer::Permanent(GatewayError::Provider { endpoint, status }),
        }
    }

    fn failed(&self, error: &ureq::Error) -> Answer {
        match error {
            ureq::Error::Timeout(_) => {
                let endpoint = self.endpoint();
                let limit_ms = u64::try_from(self.config.timeout.as_millis()).unwrap_or(u64::MAX);
                Answer::Transient(GatewayError::TimedOut { endpoint, limit_ms }, None)
            }
            ureq::Error::BadUri(_) | ureq::Error::Http(_) => {
                Answer::Permanent(self.unreachable("it is no address".to_owned()))
            }
            error => Answer::Transient(self.unreachable(error.to_string()), None),
        }
    }

    /// Retries transient failures until there is an answer.
    async fn answer(&self, body: Outbound) -> Result<String, GatewayError> {
        let mut wait = self.config.wait_first;
        let mut request = 1;
        loop {
            let (client, body) = (self.clone(), body.clone());
            let answer = tokio::task::spawn_blocking(move || client.ask(&body)).await;
            let answer =
                answer.unwrap_or_else(|error| Answer::Permanent(self.malformed(error.to_string())));
            let (error, asked_to_wait) = match answer {
                Answer::Success(text) => return Ok(text),
                Answer::Permanent(error) => return Err(error),
                Answer::Transient(error, asked_to_wait) => (error, asked_to_wait),
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

    /// What the model says to one prompt.
    pub async fn complete(&self, prompt: &str) -> Result<String, GatewayError> {
        let messages = json!([{ "role": "user", "content": prompt }]);
        self.said(json!({ "messages": messages })).await
    }

    /// The text of the first choice.
    async fn said(&self, mut body: Value) -> Result<String, GatewayError> {
        body["model"] = json!(self.config.model);
        body["temperature"] = json!(0);
        let body = Outbound::json("the request", &body);
        let body = body.map_err(|why| self.malformed(why.to_string()))?;
        let text = self.answer(body).await?;
        let answer: Value = serde_json::from_str(&text)
            .map_err(|error| self.malformed(format!("not JSON: {error}")))?;
        let content = answer.pointer("/choices/0/message/content");
        let content = content.and_then(Value::as_str);
        let content = content.ok_or_else(|| self.malformed("no choice with a text".to_owned()))?;
        Ok(content.to_owned())
    }

    fn unreachable(&self, message: String) -> GatewayError {
        GatewayError::Unreachable {
            endpoint: self.endpoint(),
            message,
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
        let context = format!("{}\n\n{}", request.routing_context(), FORM);
        let content = self
            .said(json!({
                "response_format": { "type": "json_object" },
                "messages": [
                    { "role": "system", "content": context },
                    { "role": "user", "content": request.objective },
                ],
            }))
            .await?;
        routing_of(&content).map_err(|message| self.malformed(message))
    }
}

#[derive(Deserialize)]
struct Page {
    plan: String,
    #[serde(default)]
    reason: String,
    #[serde(default)]
    used: Vec<String>,
    assignments: Vec<Assignment>,
}

/// Parses a plan, with or without a code fence around it. Paths and commands are validated where
/// they are used.
fn routing_of(content: &str) -> Result<Routing, String> {
    let content = content.trim();
    let inside = content.strip_prefix("```").and_then(|rest| {
        let (_, rest) = rest.split_once('\n')?;
        rest.trim_end().strip_suffix("```")
    });
    let mut page: Page = serde_json::from_str(inside.unwrap_or(content))
        .map_err(|error| format!("not a plan: {error}"))?;
    let name: String = page.plan.replace('`', "'");
    let plan: String = name.trim().chars().take(PLAN_CHARACTERS_MAX).collect();
    if plan.is_empty() || page.assignments.is_empty() {
        return Err("a plan needs a name and at least one assignment".to_owned());
    }
    for one in &mut page.assignments {
        one.objective = format!("{}, by `{plan}`", one.objective);
    }
    // Invalid ids are dropped; the conductor accepts only recalled records anyway.
    let ids = page.used.iter().filter_map(|id| id.parse().ok());
    let used: Vec<RecordId> = ids.collect();
    Ok(Routing {
        assignments: page.assignments,
        used,
        reason: page.reason,
        plan,
    })
}

#[cfg(test)]
mod tests;
