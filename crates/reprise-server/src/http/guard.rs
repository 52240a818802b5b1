//! Who may come in: over the socket whoever the file system lets through, over TCP who has a token.
//!
//! Host, Origin, token, and how many at once.

use std::net::SocketAddr;
use std::sync::atomic::Ordering;

use axum::extract::{Extension, Request, State};
use axum::http::HeaderMap;
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::uri::Authority;
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::answers::Refusal;
use super::app::App;
use crate::daemon::Asker;
use crate::tokens::{Scope, TokenEntry};
use reprise_operations::{Problem, ProblemKind};
use reprise_types::UserId;

/// The way a request came in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Door {
    /// The Unix socket: file permissions have decided already.
    Socket,
    Tcp(SocketAddr),
}

/// Who asks, as far as that is known.
#[derive(Debug, Clone)]
pub(super) struct Identity {
    /// Whose memory may be reached.
    pub(super) scope: Scope,
    /// Whose places the request takes.
    pub(super) asker: Asker,
    /// By which token, over TCP.
    pub(super) token: Option<TokenEntry>,
}

impl Identity {
    fn machine() -> Self {
        Self {
            scope: Scope::All,
            asker: Asker::Machine,
            token: None,
        }
    }

    /// A probe, which reaches no user's memory. No token has its name.
    fn nobody() -> Self {
        Self {
            asker: Asker::Token(String::new()),
            ..Self::machine()
        }
    }

    fn of(token: TokenEntry) -> Self {
        Self {
            scope: token.scope.clone(),
            asker: Asker::Token(token.name.clone()),
            token: Some(token),
        }
    }
}

/// Whose memory it is where a request does not say; `None` for `default`'s.
#[derive(Debug, Clone)]
pub(super) struct DefaultUser(pub(super) Option<UserId>);

/// Whether the request came in over the socket.
#[derive(Debug, Clone, Copy)]
pub(super) struct OverSocket(pub(super) bool);

pub(super) async fn check(
    State((app, door)): State<(App, Door)>,
    mut request: Request,
    next: Next,
) -> Response {
    let identity = match door {
        Door::Socket => Ok(Identity::machine()),
        Door::Tcp(address) => over_tcp(&app, address, &request),
    };
    match identity {
        Ok(identity) => {
            let extensions = request.extensions_mut();
            extensions.insert(DefaultUser(app.user.clone()));
            extensions.insert(identity);
            extensions.insert(OverSocket(door == Door::Socket));
            next.run(request).await
        }
        Err(problem) => {
            // The path may hold nothing secret; the token is never named.
            tracing::warn!(path = request.uri().path(), %problem, "a request was refused");
            Refusal::from(problem).into_response()
        }
    }
}

fn over_tcp(app: &App, address: SocketAddr, request: &Request) -> Result<Identity, Problem> {
    let headers = request.headers();
    let token = bearer(headers);
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
    // A page that a stranger's DNS points here knows no token: a client that has one may come
    // through a proxy or a tunnel, by whatever name that has.
    if token.is_none() && !host.is_some_and(|host| is_own(host, address)) {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "the Host header names another machine; address the daemon by its own address",
        ));
    }
    if let Some(origin) = headers.get(ORIGIN) {
        let origin = origin.to_str().ok();
        let own = origin
            .and_then(|origin| origin.strip_prefix("http://"))
            .is_some_and(|host| is_own(host, address));
        if !own {
            return Err(Problem::new(
                ProblemKind::Forbidden,
                "a page of another origin may not ask this daemon; open its own page",
            ));
        }
    }
    let path = request.uri().path();
    if path.starts_with("/health/") || path == "/openapi.json" {
        return Ok(Identity::nobody());
    }
    let known = token.and_then(|token| app.tokens.recognise(token));
    let entry = known.ok_or_else(|| {
        Problem::new(
            ProblemKind::Unauthorized,
            "send `Authorization: Bearer TOKEN`; `reprise token add NAME` makes a token",
        )
    })?;
    app.rates.take(&entry.name)?;
    if entry.scope != Scope::All && path == "/v1/status" {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "where the daemon runs is no user's business; use a token that opens every memory",
        ));
    }
    Ok(Identity::of(entry))
}

pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(AUTHORIZATION)?.to_str().ok()?;
    let (scheme, token) = value.split_once(' ')?;
    scheme
        .eq_ignore_ascii_case("bearer")
        .then_some(token.trim())
}

/// Whether `host` is this machine seen from itself, or the very address that was bound. A name that
/// a stranger's DNS may point here is neither.
fn is_own(host: &str, address: SocketAddr) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    if authority.port_u16().unwrap_or(80) != address.port() {
        return false;
    }
    let name = authority.host().trim_matches(['[', ']']);
    let named: Option<std::net::IpAddr> = name.parse().ok();
    name == "localhost"
        || named.is_some_and(|named| {
            named.is_loopback() || named == address.ip() || address.ip().is_unspecified()
        })
}

/// Lets in as many requests of an asker as are served at once; one more is refused at once.
pub(super) async fn admit(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    request: Request,
    next: Next,
) -> Response {
    if request.uri().path().starts_with("/health/") {
        return next.run(request).await;
    }
    let Some(share) = app.life.requests.take(&identity.asker) else {
        let said = "the daemon serves as many requests of yours as it can; try again in a moment";
        return Refusal::from(Problem::new(ProblemKind::Overloaded, said)).into_response();
    };
    app.life.touch();
    let response = next.run(request).await;
    app.life.touch();
    drop(share);
    app.life.served.fetch_add(1, Ordering::Relaxed);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_is_ours_by_address_and_never_by_a_strangers_name() {
        let loopback: SocketAddr = "127.0.0.1:7341".parse().unwrap();
        for own in ["127.0.0.1:7341", "localhost:7341", "[::1]:7341"] {
            assert!(is_own(own, loopback), "{own}");
        }
        for other in [
            "127.0.0.1",
            "127.0.0.1:80",
            "evil.example:7341",
            "127.0.0.1.evil.example:7341",
            "localhost.evil.example:7341",
            "192.168.0.9:7341",
            "",
            "::::",
        ] {
            assert!(!is_own(other, loopback), "{other}");
        }
    }
}
