//! Extracting checked values from a request: who asks, its user, its parameters, its body.

use std::net::IpAddr;

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use chrono::{DateTime, Utc};
use reprise_types::UserId;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::App;
use super::answers::Refusal;
use crate::daemon::CallerId;
use crate::tokens::{Scope, TokenEntry};
use reprise_operations::{Memory, Problem, ProblemKind, Room, parse_lenient_json};

/// Longest argument in an address, in characters; percent-encoded it still fits into an address.
pub(super) const ADDRESS_CHARS_MAX: usize = 4_096;
/// Longest idempotency key, in bytes.
const KEY_BYTES_MAX: usize = 128;

/// The caller of a request, as far as it is known.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    /// The memories that it may open; `None` means none at all.
    pub(super) scope: Option<Scope>,
    /// The caller whose slots the request takes.
    pub(super) caller: CallerId,
    /// The token that was sent over TCP.
    pub(super) token: Option<TokenEntry>,
    /// When its token expires.
    pub(super) ends: Option<DateTime<Utc>>,
    /// User of a request that names none; `default` if `None`.
    pub(super) user: Option<UserId>,
}

impl Identity {
    pub(super) fn local() -> Self {
        Self {
            scope: Some(Scope::All),
            caller: CallerId::Machine,
            token: None,
            ends: None,
            user: None,
        }
    }

    /// Returns the identity of a probe, which reaches no user's memory; no token has an empty name.
    pub(super) fn anonymous() -> Self {
        Self {
            scope: None,
            caller: CallerId::Token(String::new()),
            ..Self::local()
        }
    }

    /// Returns whether it may open this user's memory.
    pub(super) fn admits(&self, user: &UserId) -> bool {
        let scope = self.scope.as_ref();
        scope.is_some_and(|scope| scope.admits(user))
    }

    /// Fails with the message for a request over TCP.
    pub(super) fn require_local(&self, detail: &str) -> Result<(), Problem> {
        let refused = || Problem::new(ProblemKind::Forbidden, detail);
        let is_here = self.caller == CallerId::Machine;
        is_here.then_some(()).ok_or_else(refused)
    }

    pub(super) fn from_token(token: TokenEntry) -> Self {
        Self {
            scope: Some(token.scope.clone()),
            caller: CallerId::Token(token.name.clone()),
            ends: token.expires,
            token: Some(token),
            user: None,
        }
    }
}

/// Who asks, as far as an address says it; unspecified for a process of this machine.
#[derive(Debug, Clone, Copy)]
pub(super) struct ClientAddress(pub(super) IpAddr);

/// The user in a request's path, whose memory the caller may open.
#[derive(Debug, Clone)]
pub(super) struct PathUser(pub(super) UserId);

/// Returns the memory with the rights of the caller that the guard has identified.
pub(crate) fn apply_caller_rights(parts: &Parts, memory: Memory) -> Memory {
    let identity = parts.extensions.get::<Identity>();
    match identity.map(|identity| &identity.caller) {
        Some(CallerId::Machine) => memory.with_machine_caller(),
        Some(CallerId::Token(name)) if !name.is_empty() => {
            memory.with_asker(format!("token {name}"))
        }
        _ => memory,
    }
}

/// Returns the path parameter of this name.
pub(super) async fn path_parameter(
    parts: &mut Parts,
    app: &App,
    wanted: &str,
) -> Result<String, Problem> {
    let parameters = RawPathParams::from_request_parts(parts, app).await;
    let parameters = parameters.map_err(Problem::invalid)?;
    let mut found = parameters.iter().filter(|(name, _)| *name == wanted);
    let found = found.next().map(|(_, value)| value.to_owned());
    found.ok_or_else(|| Problem::not_found("there is no such route; see /openapi.json"))
}

/// Parses a user id and checks that this caller may open the user's memory.
pub(super) fn authorize_user(parts: &Parts, user: &str) -> Result<UserId, Problem> {
    let user: UserId = user.parse().map_err(Problem::invalid)?;
    let identity = parts.extensions.get::<Identity>();
    if identity.is_some_and(|identity| identity.admits(&user)) {
        return Ok(user);
    }
    Err(Problem::new(
        ProblemKind::Forbidden,
        format!("this token does not open the memory of `{user}`; use one that does"),
    ))
}

impl FromRequestParts<App> for PathUser {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let user = path_parameter(parts, app, "user").await?;
        Ok(Self(authorize_user(parts, &user)?))
    }
}

/// Returns the value of the header `Idempotency-Key`, if there is one.
pub(super) fn idempotency_key(headers: &HeaderMap) -> Result<Option<String>, Problem> {
    let Some(key) = headers.get("idempotency-key") else {
        return Ok(None);
    };
    let is_key =
        |key: &&str| key.len() <= KEY_BYTES_MAX && key.bytes().all(|b| b.is_ascii_graphic());
    let text = key.to_str().ok().filter(is_key);
    let text = text.ok_or_else(|| {
        Problem::invalid(format!(
            "the Idempotency-Key has up to {KEY_BYTES_MAX} printable ASCII characters and no blanks; \
             send a shorter or plainer one"
        ))
    })?;
    Ok(Some(text.to_owned()))
}

/// Reads the bytes of a body and checks them against the limits in `room`.
pub(super) async fn read_body(request: Request, app: &App, room: Room) -> Result<Bytes, Problem> {
    // The guard has read it, and refused what is late.
    let read = Bytes::from_request(request, app).await;
    let read = read.map_err(|rejection| Problem::invalid(rejection.body_text()))?;
    room.check_fits(&read)?;
    Ok(read)
}

/// Parses JSON; the problem says in a sentence what is wrong with it.
pub(super) fn parse_json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    parse_lenient_json(bytes).map_err(|detail| {
        Problem::invalid(format!("the body is not what this route takes: {detail}"))
    })
}

/// Reads a body that must be a JSON object.
pub(super) async fn read_json_object<T: DeserializeOwned>(
    request: Request,
    app: &App,
    room: Room,
) -> Result<T, Problem> {
    let body = read_body(request, app, room).await?;
    // A list would be read too, its items as the fields in their order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        let detail = "the body is not a JSON object; see /openapi.json for its fields";
        return Err(Problem::invalid(detail));
    }
    parse_json(&body)
}

#[derive(Debug, Deserialize)]
struct UserQuery {
    user: Option<String>,
}

/// Refuses a query string whose user is no valid id.
pub(super) fn check_query_user(parts: &Parts) -> Result<(), Problem> {
    let query = Query::<UserQuery>::try_from_uri(&parts.uri).map_err(Problem::invalid)?;
    let user = query.0.user.map(|user| user.parse::<UserId>());
    user.transpose().map(drop).map_err(Problem::invalid)
}

/// Returns the user of a request whose path names none.
pub(crate) fn requested_user(parts: &Parts) -> Result<UserId, Problem> {
    // A header that cannot be read is refused: if ignored, it would open somebody else's memory.
    let header = parts.headers.get("x-reprise-user");
    let header = header.map(|user| user.to_str().map(str::to_owned));
    let header = header.transpose().map_err(Problem::invalid)?;
    let query = Query::<UserQuery>::try_from_uri(&parts.uri).map_err(Problem::invalid)?;
    let identity = parts.extensions.get::<Identity>();
    let own = identity.and_then(|identity| match &identity.scope {
        Some(Scope::User(user)) => Some(user.to_string()),
        Some(Scope::All) | None => None,
    });
    let named = match (query.0.user, header) {
        (Some(query), Some(header)) if query != header => {
            return Err(Problem::invalid(
                "`user` and X-Reprise-User name different users; send one of them",
            ));
        }
        (query, header) => query.or(header).or(own),
    };
    let configured = identity.and_then(|identity| identity.user.as_ref());
    let named = named.or_else(|| configured.map(ToString::to_string));
    authorize_user(parts, named.as_deref().unwrap_or(UserId::DEFAULT))
}
