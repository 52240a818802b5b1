//! The page as one value: its router, its links, and the guard before every room.
//!
//! Host, Origin, cookie, form token, headers.

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, FromRequest, FromRequestParts, Path, Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use reprise_types::UserId;
use reprise_types::limits::TEXT_BYTES_MAX;

use crate::door::{Door, Grant, Link, Visit};
use crate::memory::PageMemory;
use crate::refusal::Refusal;
use crate::{assets, shell, strings};

/// Longest form: a text of which each byte is escaped, and room for the rest.
const BODY_BYTES_MAX: usize = 4 * TEXT_BYTES_MAX;
/// Nothing but what this daemon serves, and no script or style in a page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// The page of one daemon, at one address. Cheap to clone.
#[derive(Clone)]
pub struct Page(Arc<Shared>);

struct Shared {
    memory: Arc<dyn PageMemory>,
    door: Door,
    /// The names under which a browser on this machine may reach it.
    hosts: [String; 3],
    cookie: String,
}

impl fmt::Debug for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("hosts", &self.0.hosts)
            .finish_non_exhaustive()
    }
}

impl Page {
    /// The page over `memory`, listened for at `address` by whoever serves it.
    #[must_use]
    pub fn new(memory: Arc<dyn PageMemory>, address: SocketAddr) -> Self {
        let port = address.port();
        Self(Arc::new(Shared {
            memory,
            door: Door::default(),
            hosts: ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")),
            // Cookies know no ports: two daemons of one machine must not share one.
            cookie: format!("reprise-{port}"),
        }))
    }

    /// A link that signs a browser in once.
    pub fn link(&self, user: UserId, read_only: bool) -> std::io::Result<Link> {
        let grant = Grant { user, read_only };
        self.0.door.link(grant, self.0.memory.now())
    }

    pub(crate) fn guarded(&self, rooms: Router<Self>) -> Router {
        rooms
            .fallback(no_room)
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .layer(middleware::from_fn_with_state(self.clone(), guard))
            .with_state(self.clone())
    }

    pub(crate) fn memory(&self) -> &dyn PageMemory {
        &*self.0.memory
    }

    pub(crate) fn door(&self) -> &Door {
        &self.0.door
    }

    /// The header that gives a browser its session, or takes it.
    pub(crate) fn cookie(&self, session: Option<&str>) -> String {
        let (name, value) = (&self.0.cookie, session.unwrap_or_default());
        let age = if session.is_some() { "" } else { "; Max-Age=0" };
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{age}")
    }

    fn visit(&self, headers: &HeaderMap) -> Option<Visit> {
        let cookies = headers.get_all(header::COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';'));
        let secret = pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.0.cookie).then_some(value)
        })?;
        self.0.door.visit(secret, self.0.memory.now())
    }

    fn is_own(&self, host: &str) -> bool {
        self.0.hosts.iter().any(|own| own == host)
    }
}

/// What went wrong, as a page.
#[derive(Debug)]
pub(crate) struct Trouble {
    status: StatusCode,
    sentence: String,
}

impl Trouble {
    pub(crate) fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { status, sentence }
    }

    pub(crate) fn invalid(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, sentence)
    }
}

impl From<Refusal> for Trouble {
    fn from(refusal: Refusal) -> Self {
        let status = StatusCode::from_u16(refusal.status);
        Self::new(
            status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            refusal.sentence,
        )
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        (self.status, shell::alone(strings::TROUBLE, &self.sentence)).into_response()
    }
}

pub(crate) type Answer<T> = Result<T, Trouble>;

async fn no_room() -> Trouble {
    Trouble::new(StatusCode::NOT_FOUND, strings::NO_ROOM)
}

/// Every request passes here, and every answer leaves with the same headers.
async fn guard(State(page): State<Page>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_asset = path.starts_with(assets::FOLDER);
    let open = is_asset || path.starts_with("/enter/");
    let mut response = match page.check(&request) {
        Err(trouble) => trouble.into_response(),
        Ok(()) => match page.visit(request.headers()) {
            Some(visit) => {
                request.extensions_mut().insert(visit);
                next.run(request).await
            }
            None if open => next.run(request).await,
            None => {
                let signed_out = shell::alone(strings::SIGNED_OUT_TITLE, strings::SIGNED_OUT);
                (StatusCode::UNAUTHORIZED, signed_out).into_response()
            }
        },
    };
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::X_FRAME_OPTIONS, "DENY"),
        // With `no-referrer` a browser would not say where a form comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (
            HeaderName::from_static("cross-origin-opener-policy"),
            "same-origin",
        ),
        (
            HeaderName::from_static("cross-origin-resource-policy"),
            "same-origin",
        ),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    if !headers.contains_key(header::CACHE_CONTROL) {
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    }
    response
}

impl Page {
    /// Host, and for what changes something the page that it comes from.
    fn check(&self, request: &Request) -> Answer<()> {
        let headers = request.headers();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if !text("host").is_some_and(|host| self.is_own(host)) {
            return Err(Trouble::new(StatusCode::FORBIDDEN, strings::WRONG_HOST));
        }
        if [Method::GET, Method::HEAD].contains(request.method()) {
            return Ok(());
        }
        let own_origin = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some_and(|host| self.is_own(host))
        };
        let from_here = text("origin").is_none_or(own_origin)
            && text("sec-fetch-site").is_none_or(|site| site == "same-origin");
        if headers.contains_key("origin") && text("origin").is_none() || !from_here {
            return Err(Trouble::new(StatusCode::FORBIDDEN, strings::WRONG_ORIGIN));
        }
        Ok(())
    }
}

impl FromRequestParts<Page> for Visit {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, _: &Page) -> Answer<Self> {
        let visit = parts.extensions.get::<Self>().cloned();
        visit.ok_or_else(|| Trouble::new(StatusCode::UNAUTHORIZED, strings::SIGNED_OUT))
    }
}

/// What a path names: a record, an act.
#[derive(Debug)]
pub(crate) struct Named<T>(pub(crate) T);

impl<T: std::str::FromStr> FromRequestParts<Page> for Named<T> {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, page: &Page) -> Answer<Self> {
        let path = Path::<String>::from_request_parts(parts, page).await;
        let named = path.ok().and_then(|Path(name)| name.parse().ok());
        let named = named.ok_or_else(|| Trouble::new(StatusCode::NOT_FOUND, strings::NO_ROOM));
        named.map(Self)
    }
}

/// A form of this session, which may change something.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) visit: Visit,
    fields: BTreeMap<String, String>,
}

impl Posted {
    /// A field, or nothing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// A field, which may be empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    /// A field that names something.
    pub(crate) fn read<T: std::str::FromStr>(&self, name: &str) -> Answer<T> {
        let read = self.get(name).parse();
        read.map_err(|_| Trouble::invalid(strings::bad_field(name)))
    }
}

impl FromRequest<Page> for Posted {
    type Rejection = Trouble;

    async fn from_request(request: Request, page: &Page) -> Answer<Self> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, page).await?;
        if visit.read_only && parts.uri.path() != shell::SIGN_OUT {
            return Err(Trouble::new(StatusCode::FORBIDDEN, strings::READ_ONLY));
        }
        let request = Request::from_parts(parts, body);
        let form = Form::<Vec<(String, String)>>::from_request(request, page).await;
        let Form(fields) = form.map_err(|error| Trouble::invalid(strings::bad_form(&error)))?;
        let fields: BTreeMap<_, _> = fields.into_iter().collect();
        let posted = Self { visit, fields };
        if posted.get(shell::FORM_TOKEN) != posted.visit.form_token {
            return Err(Trouble::new(StatusCode::FORBIDDEN, strings::WRONG_FORM));
        }
        Ok(posted)
    }
}
