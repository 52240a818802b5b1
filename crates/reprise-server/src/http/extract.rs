//! From a request to checked values: whose memory, which record, what body.

use axum::body::Bytes;
use axum::extract::{FromRequest, FromRequestParts, Query, RawPathParams, Request};
use axum::http::HeaderMap;
use axum::http::request::Parts;
use reprise_types::UserId;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::App;
use super::answers::Refusal;
use super::guard::Identity;
use crate::daemon::Asker;
use crate::tokens::Scope;
use reprise_operations::{Memory, Problem, ProblemKind, Room, from_json};

/// Longest argument in an address, in characters: however it is written, the address holds it.
pub(super) const ADDRESS_CHARS_MAX: usize = 4_096;
/// Longest name of a request.
const KEY_BYTES_MAX: usize = 128;

/// Whose memory a request means, checked against what its caller may open.
#[derive(Debug, Clone)]
pub(super) struct Who(pub(super) UserId);

/// The memory as whoever asks, as far as the guard has found, may use it.
pub(crate) fn asked_by(parts: &Parts, memory: Memory) -> Memory {
    let identity = parts.extensions.get::<Identity>();
    match identity.map(|identity| &identity.asker) {
        Some(Asker::Machine) => memory.on_machine(),
        Some(Asker::Token(name)) if !name.is_empty() => memory.asked_by(format!("token {name}")),
        _ => memory,
    }
}

/// What a path has under this name.
pub(super) async fn parameter(
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

/// A user that this caller may speak for.
pub(super) fn admitted(parts: &Parts, user: &str) -> Result<UserId, Problem> {
    let user: UserId = user.parse().map_err(Problem::invalid)?;
    let identity = parts.extensions.get::<Identity>();
    if identity.is_some_and(|identity| identity.scope.admits(&user)) {
        return Ok(user);
    }
    Err(Problem::new(
        ProblemKind::Forbidden,
        format!("this token does not open the memory of `{user}`; use one that does"),
    ))
}

impl FromRequestParts<App> for Who {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let user = parameter(parts, app, "user").await?;
        Ok(Self(admitted(parts, &user)?))
    }
}

/// The request's own name, from `Idempotency-Key`.
pub(super) fn key_of(headers: &HeaderMap) -> Result<Option<String>, Problem> {
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

/// The bytes of a body that has room where it is taken.
pub(super) async fn bytes(request: Request, app: &App, room: Room) -> Result<Bytes, Problem> {
    // The intake has read it, and refused what is late.
    let read = Bytes::from_request(request, app).await;
    let read = read.map_err(|rejection| Problem::invalid(rejection.body_text()))?;
    room.admit(&read)?;
    Ok(read)
}

/// JSON from bytes, with a sentence about what is wrong with it.
pub(super) fn json<T: DeserializeOwned>(bytes: &[u8]) -> Result<T, Problem> {
    from_json(bytes)
        .map_err(|said| Problem::invalid(format!("the body is not what this route takes: {said}")))
}

/// A body that is a JSON object.
pub(super) async fn object<T: DeserializeOwned>(
    request: Request,
    app: &App,
    room: Room,
) -> Result<T, Problem> {
    let body = bytes(request, app, room).await?;
    // A list would be read too, its items as the fields in their order.
    if body.trim_ascii_start().first() != Some(&b'{') {
        let said = "the body is no JSON object; see /openapi.json for its fields";
        return Err(Problem::invalid(said));
    }
    json(&body)
}

#[derive(Debug, Deserialize)]
struct UserQuery {
    user: Option<String>,
}

/// Refuses a user in the address that is none.
pub(super) fn named_user(parts: &Parts) -> Result<(), Problem> {
    let query = Query::<UserQuery>::try_from_uri(&parts.uri).map_err(Problem::invalid)?;
    let user = query.0.user.map(|user| user.parse::<UserId>());
    user.transpose().map(drop).map_err(Problem::invalid)
}

/// Whose memory a request means whose path names nobody.
pub(crate) fn user_of(parts: &Parts) -> Result<UserId, Problem> {
    // One that cannot be read is refused: taken for none, it would open somebody else's memory.
    let header = parts.headers.get("x-reprise-user");
    let header = header.map(|user| user.to_str().map(str::to_owned));
    let header = header.transpose().map_err(Problem::invalid)?;
    let query = Query::<UserQuery>::try_from_uri(&parts.uri).map_err(Problem::invalid)?;
    let identity = parts.extensions.get::<Identity>();
    let own = identity.and_then(|identity| match &identity.scope {
        Scope::User(user) => Some(user.to_string()),
        Scope::All => None,
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
    admitted(parts, named.as_deref().unwrap_or(UserId::DEFAULT))
}
