//! A request to a daemon before it is sent.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{AUTHORIZATION, CONTENT_TYPE, HOST};
use hyper::{Method, Request};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reprise_operations::Problem;
use reprise_types::{UserId, system_entropy};
use serde_json::Value;

use super::{DaemonTarget, start};

/// The header with the percent-encoded name of the agent's program.
pub(crate) const AGENT_HEADER: &str = "reprise-agent";

/// A request to a daemon: what is asked of it, by which path, with which body.
#[derive(Debug, Clone)]
pub struct Call {
    method: Method,
    path: String,
    body: Bytes,
    media_type: &'static str,
    idempotency_key: Option<String>,
    agent: Option<String>,
}

impl Call {
    /// Builds a GET request for `path`.
    pub fn get(path: impl Into<String>) -> Self {
        Self {
            method: Method::GET,
            path: path.into(),
            body: Bytes::new(),
            media_type: "application/json",
            idempotency_key: None,
            agent: None,
        }
    }

    /// Names the agent's program for which the request is made.
    #[must_use]
    pub fn with_agent(self, agent: Option<&str>) -> Self {
        let agent = agent.map(percent_encode);
        Self { agent, ..self }
    }

    /// Appends a percent-encoded query string to the path.
    #[must_use]
    pub fn with_query(mut self, pairs: &[(&str, String)]) -> Self {
        for (position, (name, value)) in pairs.iter().enumerate() {
            self.path.push(if position == 0 { '?' } else { '&' });
            self.path.push_str(&percent_encode(name));
            self.path.push('=');
            self.path.push_str(&percent_encode(value));
        }
        self
    }

    /// Builds a POST request with a JSON body.
    pub fn post(path: impl Into<String>, body: &Value) -> Self {
        Self {
            method: Method::POST,
            body: body.to_string().into(),
            ..Self::with_random_key(path)
        }
    }

    /// Builds a POST request with a body of JSON lines.
    pub fn post_lines(path: impl Into<String>, lines: String) -> Self {
        Self {
            body: lines.into(),
            media_type: "application/x-ndjson",
            ..Self::post(path, &Value::Null)
        }
    }

    /// Builds a PATCH request with a JSON body.
    pub fn patch(path: impl Into<String>, body: &Value) -> Self {
        Self {
            method: Method::PATCH,
            ..Self::post(path, body)
        }
    }

    /// Builds a DELETE request for `path`.
    pub fn delete(path: impl Into<String>) -> Self {
        Self {
            method: Method::DELETE,
            ..Self::with_random_key(path)
        }
    }

    /// Builds a request with a random idempotency key, so that it can safely be sent twice.
    fn with_random_key(path: impl Into<String>) -> Self {
        Self {
            idempotency_key: Some(format!("{:032x}", system_entropy())),
            ..Self::get(path)
        }
    }

    /// Replaces the random idempotency key by one that outlives this process.
    #[must_use]
    pub fn with_idempotency_key(self, key: impl Into<String>) -> Self {
        let key = Some(key.into());
        Self {
            idempotency_key: key,
            ..self
        }
    }

    /// Returns the path of a resource in a user's memory; percent-encodes each of `parts`.
    pub fn path_of(user: &UserId, parts: &[&str]) -> String {
        let mut path = format!("/v1/users/{}", percent_encode(user.as_str()));
        for part in parts {
            path.push('/');
            path.push_str(&percent_encode(part));
        }
        path
    }

    pub(super) fn build_request(
        &self,
        target: &DaemonTarget,
    ) -> Result<Request<Full<Bytes>>, Problem> {
        let mut request = Request::builder()
            .method(self.method.clone())
            .header(CONTENT_TYPE, self.media_type);
        request = match target {
            DaemonTarget::Local(_, starter) => {
                start::address_local(request, &self.path, starter.as_ref())
            }
            DaemonTarget::Remote(remote) => request
                .uri(format!("{}{}", remote.prefix, self.path))
                .header(HOST, &remote.authority)
                .header(AUTHORIZATION, &remote.bearer),
        };
        if let Some(key) = &self.idempotency_key {
            request = request.header("idempotency-key", key);
        }
        if let Some(agent) = &self.agent {
            request = request.header(AGENT_HEADER, agent);
        }
        let body = Full::new(self.body.clone());
        request.body(body).map_err(Problem::invalid)
    }
}

/// Percent-encodes all but unreserved characters (RFC 3986), for a path segment or a query value.
pub(crate) fn percent_encode(part: &str) -> String {
    const UNRESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    utf8_percent_encode(part, UNRESERVED).to_string()
}
