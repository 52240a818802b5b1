//! Authentication and limits of requests: the file system guards the socket, tokens guard TCP.
//!
//! Checks Host, Origin and token, and limits how many requests run at once and how many a token
//! makes in a second, so that one client's loop leaves room for the others. The body of a request
//! is read whole before it takes a slot: a client that stops in the middle holds none.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Extension, Request, State};
use axum::http::header::{AUTHORIZATION, HOST, ORIGIN, WWW_AUTHENTICATE};
use axum::http::uri::Authority;
use axum::http::{HeaderMap, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use http_body_util::BodyExt;
use reprise_agent::run_blocking;
use tokio::time::timeout;

use super::answers::Refusal;
use super::extract::{ClientAddress, Identity};
use super::{App, BODY_BYTES_MAX, oauth};
use crate::daemon::{CallerId, MODEL_HEADER, PeerAddress, QuotaSlot};
use crate::issuer::Issuer;
use crate::rates::KeyedRates;
use crate::tokens::Scope;
use reprise_operations::{Problem, ProblemKind};
use reprise_types::{Clock as _, SystemClock};

/// Message to a client that sent no token.
pub(crate) const SEND: &str = "send `Authorization: Bearer TOKEN`";
/// Message about a token that was replaced, withdrawn or never made.
pub(crate) const OPENS_NOTHING: &str = "this token opens nothing here";

/// The listener that a request came in at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EntryPoint {
    /// The Unix socket, which file permissions guard.
    Socket,
    Tcp(SocketAddr),
}

pub(super) async fn authenticate(
    State((app, entry)): State<(App, EntryPoint)>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path().to_owned();
    let identity = match entry {
        EntryPoint::Socket => Ok(Identity::local()),
        EntryPoint::Tcp(address) => match check_host_and_origin(&app, address, &request) {
            Err(problem) => Err((problem, None)),
            Ok(()) if needs_no_token(&path) => {
                let taken = if path.starts_with("/health/") {
                    Ok(())
                } else {
                    app.open_rates.take(client_address(&request))
                };
                let admitted = taken.map(|()| Identity::anonymous());
                admitted.map_err(|problem| (problem, None))
            }
            Ok(()) => {
                let token = bearer(request.headers()).map(str::to_owned);
                let known = identify_token(&app, token.as_deref(), &path).await;
                known.map_err(|problem| {
                    let host = accepted_request_host(&app, address, &request);
                    let challenge = oauth::challenge(&app, host, &path, &problem);
                    (problem, challenge)
                })
            }
        },
    };
    match identity {
        Ok(_) if is_preflight(&app, request.method(), &path) => oauth::preflight_response(),
        Ok(mut identity) => {
            identity.user.clone_from(&app.user);
            let client = client_address(&request);
            request.extensions_mut().insert(ClientAddress(client));
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

/// Returns whether this is a CORS preflight of a route that any origin may use.
fn is_preflight(app: &App, method: &Method, path: &str) -> bool {
    app.oauth.is_some() && method == Method::OPTIONS && oauth::allows_any_origin(path)
}

fn needs_no_token(path: &str) -> bool {
    path.starts_with("/health/") || path == "/openapi.json" || oauth::is_open(path)
}

/// Returns whether this is the configured public host.
fn is_public_host(app: &App, host: &str) -> bool {
    let public = app.oauth.as_ref().and_then(|oauth| oauth.authority());
    public.is_some_and(|public| public.eq_ignore_ascii_case(host))
}

/// Returns the host that a request names, if it is this daemon's.
fn accepted_request_host<'a>(
    app: &App,
    address: SocketAddr,
    request: &'a Request,
) -> Option<&'a str> {
    let host = request.headers().get(HOST);
    let host = host.and_then(|host| host.to_str().ok());
    let host = host.or_else(|| request.uri().authority().map(Authority::as_str));
    host.filter(|host| is_own_host(host, address) || is_public_host(app, host))
}

/// Refuses a request whose Host or Origin shows that a stranger's page may have sent it.
fn check_host_and_origin(app: &App, address: SocketAddr, request: &Request) -> Result<(), Problem> {
    let (headers, path) = (request.headers(), request.uri().path());
    // A page that a stranger's DNS points here knows no token: a client that has one may come
    // through a proxy or a tunnel, by whatever name that has, but signs in by our own alone.
    let may_be_named_otherwise = bearer(headers).is_some() && !oauth::is_open(path);
    if !may_be_named_otherwise && accepted_request_host(app, address, request).is_none() {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "the Host header names another machine; address the daemon by its own address",
        ));
    }
    if let Some(origin) = headers.get(ORIGIN)
        && !oauth::allows_any_origin(path)
    {
        let origin = origin.to_str().ok();
        let (scheme, host) = origin.and_then(|o| o.split_once("://")).unwrap_or_default();
        let own = scheme == "http" && is_own_host(host, address) || is_public_host(app, host);
        if !own {
            return Err(Problem::new(
                ProblemKind::Forbidden,
                "a page of another origin may not ask this daemon; open its own page",
            ));
        }
    }
    Ok(())
}

fn unauthorized_problem(why: &str) -> Problem {
    let detail = format!("{why}; `reprise serve token add NAME` makes a token");
    Problem::new(ProblemKind::Unauthorized, detail)
}

/// Finds the identity of a token, which is one of ours or of the configured issuer.
async fn identify_token(app: &App, token: Option<&str>, path: &str) -> Result<Identity, Problem> {
    let token = token.ok_or_else(|| unauthorized_problem(SEND))?;
    let identity = match app
        .oauth
        .as_ref()
        .and_then(|oauth| oauth.options.issuer.as_ref())
    {
        Some(issuer) if Issuer::is_jwt(token) => {
            let claims = issuer.claims(token).await?;
            let user = issuer.user_of_claims(&claims)?;
            Identity {
                caller: CallerId::Token(format!("of {user}")),
                scope: Some(Scope::User(user)),
                token: None,
                ends: claims.ends(),
                user: None,
            }
        }
        _ => {
            let (tokens, token) = (Arc::clone(&app.tokens), token.to_owned());
            let can_renew = app.oauth.is_some();
            let recognised = run_blocking(move || {
                // A token of a sign-in is accepted only while OAuth is on, which can renew it.
                let known = tokens.recognise(&token);
                let entry = known.filter(|entry| can_renew || !entry.is_signed_in())?;
                tokens.note_use(&entry, SystemClock.now());
                Some(entry)
            });
            let unknown = || unauthorized_problem(OPENS_NOTHING);
            Identity::from_token(recognised.await?.ok_or_else(unknown)?)
        }
    };
    if let CallerId::Token(name) = &identity.caller {
        app.rates.take(name)?;
    }
    if identity.scope != Some(Scope::All) && path == "/v1/status" {
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

/// Returns whether `host` is a loopback name or the very address that was bound. A name that a
/// stranger's DNS may point here is neither.
fn is_own_host(host: &str, address: SocketAddr) -> bool {
    let Ok(authority) = host.parse::<Authority>() else {
        return false;
    };
    // The part before an `@` is no part of a host, and would be repeated with it.
    if host.contains('@') || authority.port_u16().unwrap_or(80) != address.port() {
        return false;
    }
    let name = authority.host().trim_matches(['[', ']']);
    let named: Option<IpAddr> = name.parse().ok();
    name == "localhost"
        || named.is_some_and(|named| {
            named.is_loopback() || named == address.ip() || address.ip().is_unspecified()
        })
}

/// Rate limits by token: one bucket for each token, or none without a limit.
#[derive(Debug, Default)]
pub(crate) struct Rates(Option<KeyedRates<String>>);

impl Rates {
    /// Returns a limit of this many requests a second for each token; unlimited if `None`.
    pub(crate) fn new(a_second: Option<NonZeroU32>) -> Self {
        Self(a_second.map(|limit| KeyedRates::new(limit, 1, limit)))
    }

    /// Counts a request against the token's bucket; fails if the bucket is empty. The bucket holds
    /// a second's requests, so that an empty one has room again within a second.
    pub(crate) fn take(&self, token: &str) -> Result<(), Problem> {
        let Some(buckets) = &self.0 else {
            return Ok(());
        };
        buckets.take(token.to_owned()).map_err(|_| {
            let detail = "this token asks faster than it may; wait a second, or serve with a higher \
                 --requests-per-second";
            Problem::new(ProblemKind::Overloaded, detail)
        })
    }
}

/// Returns the address of a request's client. A proxy on this machine names it last.
fn client_address(request: &Request) -> IpAddr {
    let peer = request.extensions().get::<PeerAddress>();
    let peer = peer.map_or(IpAddr::V4(Ipv4Addr::UNSPECIFIED), |peer| peer.0);
    if !peer.is_loopback() {
        return client_network(peer);
    }
    let named = request
        .headers()
        .get_all("x-forwarded-for")
        .iter()
        .next_back();
    let named =
        named.and_then(|named| named.to_str().ok()?.rsplit(',').next()?.trim().parse().ok());
    client_network(named.unwrap_or(peer))
}

/// Returns the address, of which one client has as many as it likes in IPv6: there its network.
fn client_network(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::V6(Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0))
        }
        address @ IpAddr::V4(_) => address,
    }
}

/// Requests a second that one client may make of the routes that need no token, and how many at
/// once.
const OPEN_RATE: NonZeroU32 = NonZeroU32::MIN.saturating_add(9);
const OPEN_BURST: NonZeroU32 = NonZeroU32::MIN.saturating_add(99);

/// Rate limits of the routes that need no token, by client.
#[derive(Debug)]
pub(crate) struct OpenRates(KeyedRates<IpAddr>);

impl Default for OpenRates {
    fn default() -> Self {
        Self(KeyedRates::new(OPEN_RATE, 1, OPEN_BURST))
    }
}

impl OpenRates {
    fn take(&self, client: IpAddr) -> Result<(), Problem> {
        self.0.take(client).map_err(|_| {
            let detail = "your address asks faster than it may without a token; wait a second";
            Problem::new(ProblemKind::Overloaded, detail)
        })
    }
}

/// Longest time for a whole body.
const BODY_TIMEOUT: Duration = Duration::from_mins(1);
/// Longest time without a byte of a body.
const IDLE_TIMEOUT: Duration = Duration::from_secs(5);
/// Longest body that needs no slot for large bodies; the slots limit their memory.
const SMALL_BODY_BYTES_MAX: usize = 64 * 1024;

/// Reads the body of a request whole, within limits of bytes and time, and serves it.
pub(super) async fn buffer_body_and_serve(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    if path.starts_with("/health/") || path == "/openapi.json" {
        // Open to those without a token; nothing there reads a body.
        return next.run(request).await;
    }
    let (parts, body) = request.into_parts();
    let read = timeout(BODY_TIMEOUT, read_whole_body(&app, &identity.caller, body)).await;
    match read.unwrap_or_else(|_| Err(body_timeout_problem(BODY_TIMEOUT))) {
        Ok((bytes, slot)) => {
            let request = Request::from_parts(parts, Body::from(bytes));
            let response = next.run(request).await;
            drop(slot);
            response
        }
        Err(problem) => Refusal::from(problem).into_response(),
    }
}

fn body_timeout_problem(within: Duration) -> Problem {
    let seconds = within.as_secs();
    Problem::new(
        ProblemKind::BodyLate,
        format!("nothing more of the body came within {seconds} s; send it again"),
    )
}

/// Reads a whole body, and takes a slot for large bodies if it is one.
async fn read_whole_body(
    app: &App,
    caller: &CallerId,
    mut body: Body,
) -> Result<(Vec<u8>, Option<QuotaSlot>), Problem> {
    let (mut bytes, mut slot) = (Vec::new(), None);
    loop {
        let frame = timeout(IDLE_TIMEOUT, body.frame()).await;
        let Some(frame) = frame.map_err(|_| body_timeout_problem(IDLE_TIMEOUT))? else {
            return Ok((bytes, slot));
        };
        let frame = frame.map_err(|error| {
            Problem::invalid(format!("the body broke off ({error}); send it again"))
        })?;
        let Ok(data) = frame.into_data() else {
            continue;
        };
        let length = bytes.len() + data.len();
        if length > BODY_BYTES_MAX {
            return Err(Problem::new(
                ProblemKind::TooLarge,
                format!("the body has more than {BODY_BYTES_MAX} bytes; send it in parts"),
            ));
        }
        if length > SMALL_BODY_BYTES_MAX && slot.is_none() {
            let full =
                "the daemon reads as many large bodies of yours as it can; try again in a moment";
            slot = Some(app.daemon.large_body_slots.acquire(caller, full)?);
        }
        bytes.extend_from_slice(&data);
    }
}

/// Serves a request with a slot of its caller; refuses it at once if no slot is free.
pub(super) async fn serve_with_request_slot(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    request: Request,
    next: Next,
) -> Response {
    if request.uri().path().starts_with("/health/") {
        return next.run(request).await;
    }
    let full = "the daemon serves as many requests of yours as it can; try again in a moment";
    let is_local = identity.caller == CallerId::Machine;
    let wants_model = is_local && request.headers().contains_key(MODEL_HEADER);
    let response = match app.daemon.begin_request(&identity.caller, full) {
        Ok(_served) => next.run(request).await,
        Err(problem) => Refusal::from(problem).into_response(),
    };
    if wants_model {
        app.daemon.make_way_for_model();
    }
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
    fn who_has_no_token_opens_no_memory() {
        let user = "ada".parse().unwrap();
        assert!(Identity::local().admits(&user));
        assert!(!Identity::anonymous().admits(&user));
    }

    #[test]
    fn a_client_is_its_address_its_network_or_what_a_proxy_here_says() {
        let client = |peer: &str, forwarded: &[&str]| {
            let mut request = Request::new(Body::empty());
            request
                .extensions_mut()
                .insert(PeerAddress(peer.parse().unwrap()));
            for one in forwarded {
                let name = axum::http::HeaderName::from_static("x-forwarded-for");
                request.headers_mut().append(name, one.parse().unwrap());
            }
            client_address(&request).to_string()
        };
        assert_eq!(client("203.0.113.9", &["198.51.100.1"]), "203.0.113.9");
        assert_eq!(
            client("127.0.0.1", &["1.1.1.1", "2.2.2.2, 3.3.3.3"]),
            "3.3.3.3"
        );
        assert_eq!(client("127.0.0.1", &["nobody"]), "127.0.0.1");
        assert_eq!(client("2001:db8:1:2:3:4:5:6", &[]), "2001:db8:1:2::");
        assert_eq!(client("::ffff:203.0.113.9", &[]), "203.0.113.9");
    }

    #[test]
    fn a_stranger_who_asks_without_end_is_slowed_and_nobody_else() {
        let rates = OpenRates::default();
        let [one, other]: [IpAddr; 2] =
            ["203.0.113.9", "203.0.113.10"].map(|at| at.parse().unwrap());
        let refused = (0..2_000).filter(|_| rates.take(one).is_err()).count();
        assert!(refused > 1_000, "{refused}");
        assert!(rates.take(other).is_ok());
    }

    #[test]
    fn a_host_is_ours_by_address_and_never_by_a_strangers_name() {
        let loopback: SocketAddr = "127.0.0.1:7341".parse().unwrap();
        for own in ["127.0.0.1:7341", "localhost:7341", "[::1]:7341"] {
            assert!(is_own_host(own, loopback), "{own}");
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
            assert!(!is_own_host(other, loopback), "{other}");
        }
    }
}
