//! Who may come in: over the socket whoever the file system lets through, over TCP who has a token.
//!
//! Host, Origin, token, how many at once, and how fast one token may ask: so that one client's loop
//! leaves room for the others.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::sync::atomic::Ordering;

use axum::extract::{Extension, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};

use super::App;
use super::answers::Refusal;
use super::oauth;
use crate::daemon::{Asker, Life};
use crate::issuer::Issuer;
use crate::tokens::{Scope, TokenEntry};
use reprise_operations::{Problem, ProblemKind};
use reprise_types::UserId;

/// Said to whoever sent no token.
pub(crate) const SEND: &str = "send `Authorization: Bearer TOKEN`";
/// Said of a token that was replaced, withdrawn or never made.
pub(crate) const OPENS_NOTHING: &str = "this token opens nothing here";

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
    /// When what lets it in ends.
    pub(super) ends: Option<DateTime<Utc>>,
    /// Whose memory it is where a request does not say; `None` for `default`'s.
    pub(super) user: Option<UserId>,
}

impl Identity {
    fn machine() -> Self {
        Self {
            scope: Scope::All,
            asker: Asker::Machine,
            token: None,
            ends: None,
            user: None,
        }
    }

    /// A probe, which reaches no user's memory. No token has its name.
    fn nobody() -> Self {
        Self {
            asker: Asker::Token(String::new()),
            ..Self::machine()
        }
    }

    /// Refuses over TCP what is for the daemon's own machine alone.
    pub(super) fn needs_machine(&self, said: &str) -> Result<(), Problem> {
        let refused = || Problem::new(ProblemKind::Forbidden, said);
        let is_here = self.asker == Asker::Machine;
        is_here.then_some(()).ok_or_else(refused)
    }

    fn of(token: TokenEntry) -> Self {
        Self {
            scope: token.scope.clone(),
            asker: Asker::Token(token.name.clone()),
            ends: token.expires,
            token: Some(token),
            user: None,
        }
    }
}

pub(super) async fn check(
    State((app, door)): State<(App, Door)>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let identity = match door {
        Door::Socket => Ok(Identity::machine()),
        Door::Tcp(address) => match from_here(&app, address, &request) {
            Err(problem) => Err((problem, None)),
            Ok(()) if needs_no_token(&path) => Ok(Identity::nobody()),
            Ok(()) => {
                let token = bearer(request.headers()).map(str::to_owned);
                let known = recognised(&app, token.as_deref(), &path).await;
                known.map_err(|problem| {
                    let host = own_host(&app, address, &request);
                    let challenge = oauth::challenge(&app, host, &path, &problem);
                    (problem, challenge)
                })
            }
        },
    };
    match identity {
        Ok(_) if is_preflight(&app, request.method(), &path) => oauth::preflight(),
        Ok(mut identity) => {
            identity.user.clone_from(&app.user);
            request.extensions_mut().insert(identity);
            next.run(request).await
        }
        Err((problem, challenge)) => {
            // The path may hold nothing secret; the token is never named.
            tracing::warn!(path, %problem, "a request was refused");
            let mut response = Refusal::from(problem).into_response();
            if let Some(challenge) = challenge {
                response.headers_mut().insert(WWW_AUTHENTICATE, challenge);
            }
            response
        }
    }
}

/// Whether a browser asks if a page of another origin may send what any may.
fn is_preflight(app: &App, method: &Method, path: &str) -> bool {
    app.oauth.is_some() && method == Method::OPTIONS && oauth::takes_any_origin(path)
}

fn needs_no_token(path: &str) -> bool {
    path.starts_with("/health/") || path == "/openapi.json" || oauth::is_open(path)
}

/// Whether this is the name under which clients reach it from elsewhere.
fn is_public(app: &App, host: &str) -> bool {
    let public = app.oauth.as_ref().and_then(|oauth| oauth.authority());
    public.is_some_and(|public| public.eq_ignore_ascii_case(host))
}

/// The host that a request names, where that is this daemon.
fn own_host<'a>(app: &App, address: SocketAddr, request: &'a Request) -> Option<&'a str> {
    let host = request.headers().get(HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
    host.filter(|host| is_own(host, address) || is_public(app, host))
}

/// Refuses over TCP what a page that a stranger wrote may have sent: by Host and Origin.
fn from_here(app: &App, address: SocketAddr, request: &Request) -> Result<(), Problem> {
    let (headers, path) = (request.headers(), request.uri().path());
    // A page that a stranger's DNS points here knows no token: a client that has one may come
    // through a proxy or a tunnel, by whatever name that has, but signs in by our own alone.
    let may_be_named_otherwise = bearer(headers).is_some() && !oauth::is_open(path);
    if !may_be_named_otherwise && own_host(app, address, request).is_none() {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "the Host header names another machine; address the daemon by its own address",
        ));
    }
    if let Some(origin) = headers.get(ORIGIN)
        && !oauth::takes_any_origin(path)
    {
        let origin = origin.to_str().ok();
        let (scheme, host) = origin.and_then(|o| o.split_once("://")).unwrap_or_default();
        let own = scheme == "http" && is_own(host, address) || is_public(app, host);
        if !own {
            return Err(Problem::new(
                ProblemKind::Forbidden,
                "a page of another origin may not ask this daemon; open its own page",
            ));
        }
    }
    Ok(())
}

fn unauthorized(why: &str) -> Problem {
    let detail = format!("{why}; `reprise token add NAME` makes a token");
    Problem::new(ProblemKind::Unauthorized, detail)
}

/// Whose a token is: one of ours, or one of the issuer that is configured.
async fn recognised(app: &App, token: Option<&str>, path: &str) -> Result<Identity, Problem> {
    let token = token.ok_or_else(|| unauthorized(SEND))?;
    let identity = match app
        .oauth
        .as_ref()
        .and_then(|oauth| oauth.options.issuer.as_ref())
    {
        Some(issuer) if Issuer::is_jwt(token) => {
            let claims = issuer.claims(token).await?;
            let user = issuer.user_in(&claims)?;
            Identity {
                asker: Asker::Token(format!("of {user}")),
                scope: Scope::User(user),
                token: None,
                ends: claims.ends(),
                user: None,
            }
        }
        _ => {
            let unknown = || unauthorized(OPENS_NOTHING);
            let entry = app.tokens.recognise(token).ok_or_else(unknown)?;
            // One that a program signed in for is only taken where it can be renewed.
            if entry.is_signed_in() && app.oauth.is_none() {
                return Err(unknown());
            }
            Identity::of(entry)
        }
    };
    if let Asker::Token(name) = &identity.asker {
        app.rates.take(name)?;
    }
    if identity.scope != Scope::All && path == "/v1/status" {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "where the daemon runs is no user's business; use a token that opens every memory",
        ));
    }
    Ok(identity)
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
    // What stands before an `@` is no part of a host, and would be repeated with it.
    if host.contains('@') || authority.port_u16().unwrap_or(80) != address.port() {
        return false;
    }
    let name = authority.host().trim_matches(['[', ']']);
    let named: Option<std::net::IpAddr> = name.parse().ok();
    name == "localhost"
        || named.is_some_and(|named| {
            named.is_loopback() || named == address.ip() || address.ip().is_unspecified()
        })
}

/// One bucket for each token that has asked; without a limit, none.
#[derive(Debug, Default)]
pub(crate) struct Rates(Option<DefaultKeyedRateLimiter<String>>);

impl Rates {
    /// At most so many requests a second for each token, and as many at once.
    pub(crate) fn new(a_second: Option<NonZeroU32>) -> Self {
        Self(a_second.map(|limit| RateLimiter::keyed(Quota::per_second(limit))))
    }

    /// Takes one from the token's bucket. The bucket holds a second's worth, so that an empty one
    /// has something again within a second.
    pub(crate) fn take(&self, token: &str) -> Result<(), Problem> {
        let Some(buckets) = &self.0 else {
            return Ok(());
        };
        buckets.check_key(&token.to_owned()).map_err(|_| {
            let said = "this token asks faster than it may; wait a second, or serve with a higher \
                 --requests-per-second";
            Problem::new(ProblemKind::Overloaded, said)
        })
    }
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
    let full = "the daemon serves as many requests of yours as it can; try again in a moment";
    placed(&app.life, &identity.asker, full, request, next).await
}

/// Answers a request where its asker has a place left; `full` says that there is none.
pub(super) async fn placed(
    life: &Life,
    asker: &Asker,
    full: &str,
    request: Request,
    next: Next,
) -> Response {
    let share = match life.requests.place(asker, full) {
        Ok(share) => share,
        Err(problem) => return Refusal::from(problem).into_response(),
    };
    life.touch();
    let response = next.run(request).await;
    life.touch();
    drop(share);
    life.served.fetch_add(1, Ordering::Relaxed);
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_token_has_a_bucket_of_its_own() {
        let rates = Rates::new(NonZeroU32::new(2));
        assert!(rates.take("a").is_ok() && rates.take("a").is_ok());
        let refused = rates.take("a").unwrap_err();
        assert_eq!(refused.kind, ProblemKind::Overloaded);
        assert!(rates.take("b").is_ok());
        let free = Rates::new(None);
        assert!((0..100).all(|_| free.take("a").is_ok()));
    }

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
            "evil.example@127.0.0.1:7341",
            "",
            "::::",
        ] {
            assert!(!is_own(other, loopback), "{other}");
        }
    }
}
