//! The gate of this machine: everything that is sent to another one is an [`OutboundBody`], which
//! never has a secret or a `<private>` part.
//!
//! The functions that send accept this type alone; `.clippy.toml` forbids other functions.

use std::net::IpAddr;

use serde::Serialize;
use serde_json::Value;

use crate::element::remove_elements;
use crate::redactor::Redactor;

/// Bytes that may be sent to another machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OutboundBody(Vec<u8>);

/// Why something stays on this machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OutboundError {
    /// It has a secret, and must be sent unchanged or not at all.
    #[error(
        "{what} has what looks like a secret or a `<private>` part, so it was not sent; remove it"
    )]
    Secret { what: &'static str },
    /// It is not JSON, so it cannot be checked.
    #[error("{what} is not JSON, so it was not sent: {message}")]
    NotJson { what: &'static str, message: String },
}

impl OutboundBody {
    /// Builds an empty body.
    pub fn empty() -> Self {
        Self(Vec::new())
    }

    /// Builds a body of JSON, with each string in it cleaned by [`clean_text`].
    pub fn from_json(what: &'static str, value: &impl Serialize) -> Result<Self, OutboundError> {
        let mut value = serde_json::to_value(value).map_err(not_json(what))?;
        clean_value(&mut value);
        serde_json::to_vec(&value).map(Self).map_err(not_json(what))
    }

    /// Builds a body of JSON bytes, with each string in them cleaned by [`clean_text`].
    pub fn from_json_bytes(what: &'static str, bytes: &[u8]) -> Result<Self, OutboundError> {
        let value: Value = serde_json::from_slice(bytes).map_err(not_json(what))?;
        Self::from_json(what, &value)
    }

    /// Builds a body of JSON bytes that somebody has approved unchanged. Returns an error if
    /// cleaning would change them.
    pub fn from_approved_json(what: &'static str, bytes: Vec<u8>) -> Result<Self, OutboundError> {
        let mut value: Value = serde_json::from_slice(&bytes).map_err(not_json(what))?;
        if clean_value(&mut value) {
            return Err(OutboundError::Secret { what });
        }
        Ok(Self(bytes))
    }

    pub fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.0
    }
}

fn not_json(what: &'static str) -> impl Fn(serde_json::Error) -> OutboundError {
    move |error| OutboundError::NotJson {
        what,
        message: error.to_string(),
    }
}

/// Returns a text without secrets and without `<private>` parts, and how many of both it had.
pub fn clean_text(text: &str) -> (String, u32) {
    let remaining = remove_elements(text, &["private"]);
    let clean = Redactor::new().redact_text(&remaining);
    let count = u32::try_from(clean.removed.len()).unwrap_or(u32::MAX);
    (
        clean.text,
        count.saturating_add(u32::from(remaining != text)),
    )
}

/// Cleans every string of a value, keys of objects included. Returns whether any of them changed.
fn clean_value(value: &mut Value) -> bool {
    match value {
        Value::String(text) => {
            let (clean, count) = clean_text(text);
            *text = clean;
            count > 0
        }
        Value::Array(items) => items
            .iter_mut()
            .fold(false, |had, item| clean_value(item) | had),
        Value::Object(map) => {
            let mut had = false;
            for (key, mut value) in std::mem::take(map) {
                had |= clean_value(&mut value);
                let (key, count) = clean_text(&key);
                had |= count > 0;
                map.insert(key, value);
            }
            had
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => false,
    }
}

/// Whether a URL is plain HTTP to another machine, so that others on the network can read a token.
pub fn is_plain_http_to_other_machine(url: &str) -> bool {
    let scheme = url.split_once("://");
    scheme.is_some_and(|(scheme, _)| scheme.eq_ignore_ascii_case("http")) && is_other_machine(url)
}

/// Whether a URL is of another machine.
pub fn is_other_machine(url: &str) -> bool {
    let rest = url.split_once("://").map_or("", |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[').and_then(|host| host.split_once(']')) {
        Some((host, _)) => host,
        None => host.split(':').next().unwrap_or_default(),
    };
    !is_this_machine(host)
}

/// Whether a host is this machine: `localhost` or an address of loopback.
pub fn is_this_machine(host: &str) -> bool {
    let is_loopback = |address: IpAddr| address.is_loopback();
    host.eq_ignore_ascii_case("localhost") || host.parse().is_ok_and(is_loopback)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECRET: &str = "ghp_abcdefghijklmnopqrstuvwxyz0123456789";

    #[test]
    fn no_string_leaves_with_a_secret_or_a_private_part() {
        let value = json!({
            "text": format!("why does {SECRET} fail <private>at home</private>"),
            "list": [{ "deep": format!("password={SECRET}") }],
            SECRET: 1,
            "top_k": 5,
        });
        let sent = OutboundBody::from_json("a question", &value).unwrap();
        let sent = String::from_utf8(sent.into_bytes()).unwrap();
        assert!(
            !sent.contains("ghp_") && !sent.contains("at home"),
            "{sent}"
        );
        assert!(
            sent.contains("why does [redacted:github_token] fail"),
            "{sent}"
        );
        assert!(sent.contains("\"top_k\":5"), "{sent}");
        assert_eq!(
            OutboundBody::from_json_bytes("spans", value.to_string().as_bytes())
                .unwrap()
                .as_bytes(),
            sent.as_bytes()
        );
        assert!(OutboundBody::from_json_bytes("spans", b"\x0a\x01").is_err());
    }

    #[test]
    fn what_was_agreed_to_leaves_byte_by_byte_or_not_at_all() {
        let agreed = br#"{"z": "plain",  "a": "words"}"#.to_vec();
        let sent = OutboundBody::from_approved_json("a publication", agreed.clone()).unwrap();
        assert_eq!(sent.into_bytes(), agreed);
        for text in [SECRET, "a <private>b</private>"] {
            let bytes = json!({ "content": text }).to_string().into_bytes();
            let refused = OutboundBody::from_approved_json("a publication", bytes).unwrap_err();
            assert!(!refused.to_string().contains("ghp_"), "{refused}");
        }
    }

    #[test]
    fn ids_of_spans_are_no_secrets() {
        let spans = json!({ "resourceSpans": [{ "scopeSpans": [{ "spans": [{
            "traceId": "5b8efff798038103d269b633813fc60c", "spanId": "eee19b7ec3c1b174",
            "parentSpanId": "eee19b7ec3c1b173", "name": "POST /v1/users/{user}/recall",
            "startTimeUnixNano": "1544712660000000000",
            "attributes": [{ "key": "gen_ai.memory.store.id", "value": { "stringValue": "ann" } }],
        }] }] }] });
        let sent = OutboundBody::from_json("spans", &spans).unwrap();
        assert_eq!(
            serde_json::from_slice::<Value>(sent.as_bytes()).unwrap(),
            spans
        );
    }

    #[test]
    fn plain_http_is_for_this_machine() {
        for here in [
            "http://127.0.0.1:8080",
            "http://localhost/x",
            "HTTP://[::1]:9/",
            "http://127.9.9.9",
            "https://knowledge.example",
            "http://user:pw@localhost:1/",
        ] {
            assert!(!is_plain_http_to_other_machine(here), "{here}");
        }
        for there in [
            "http://knowledge.example",
            "HTTP://10.0.0.2:80/x",
            "http://localhost.evil.example",
            "http://localhost@evil.example/",
            "http://127.0.0.1.evil.example",
            "http://[fe80::1]/",
            "http://0.0.0.0:1",
            "http://",
        ] {
            assert!(is_plain_http_to_other_machine(there), "{there}");
        }
    }
}
