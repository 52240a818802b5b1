//! The page as one value: its router, its links, and the guard before every room.
//!
//! Host, Origin, cookie, form token, headers; the one way by which a room asks memory: an operation
//! of the catalogue, as whoever signed in; and what is asked of the process that serves the page,
//! which no operation is: the machine around the memories.

use std::fmt;
use std::net::SocketAddr;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, FromRequest, FromRequestParts, Path, Request, State};
use axum::http::header::{self, HeaderMap, HeaderName, HeaderValue};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use reprise_operations::{Memories, Memory, Operation, Problem, Ran};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{Calendar, Clock, UserId};
use tokio_stream::Stream;

use crate::door::{Door, Grant, Link, Visitor};
use crate::undo::Undo;
use crate::{assets, shell};

/// Longest form: a text of which each byte is escaped, and room for the rest.
const BODY_BYTES_MAX: usize = 4 * TEXT_BYTES_MAX;
/// Nothing but what this daemon serves, and no script or style in a page itself.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

const NO_ROOM: &str = "There is no such page here; Home leads to all of them.";
const SIGNED_OUT_TITLE: &str = "You are not signed in";
const SIGNED_OUT: &str = "Run `reprise open` on this machine to sign in. A session ends when it is \
    left, after 12 hours without use, and with the daemon.";
const WRONG_HOST: &str = "This page is reached by its own name alone; run `reprise open`.";
const WRONG_ORIGIN: &str = "This form comes from another page; load the page again and send it \
    from there.";
const WRONG_FORM: &str = "This form is of an earlier session, or of another user's memory; load \
    the page again and send it from there.";
pub(crate) const READ_ONLY: &str = "This session may only read; `reprise open` without \
    --read-only begins one that may change things.";

/// A sentence on a field of a form or an address.
pub(crate) fn bad_field(name: &str) -> String {
    format!("`{name}` cannot be read; correct it and send it again.")
}

/// A setting in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: String,
    /// Where it comes from: `flag`, `environment`, `file`, `default`, or nothing for a fact.
    pub from: String,
}

/// A token that opens the user's memory over TCP, without the token.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub name: String,
    pub made: DateTime<Utc>,
    /// It opens every user's memory; whoever owns the machine withdraws it.
    pub is_for_all: bool,
}

/// A copy of the user's file that was made from here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Backup {
    pub file: String,
    /// When it was written and how long it is; nothing where it is there no more.
    pub there: Option<(DateTime<Utc>, u64)>,
}

/// Somebody who has a memory here, and the bytes of his file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Neighbour {
    pub user: String,
    pub bytes: u64,
}

/// A whole file, part by part.
pub type Bytes = Pin<Box<dyn Stream<Item = std::io::Result<Vec<u8>>> + Send>>;

/// The process that serves the page.
#[async_trait]
pub trait Host: fmt::Debug + Send + Sync {
    fn settings(&self) -> Vec<Setting>;
    async fn users(&self) -> Result<Vec<Neighbour>, Problem>;
    async fn backups(&self, user: &UserId) -> Result<Vec<Backup>, Problem>;
    /// The user's file as it is now.
    async fn backup(&self, user: &UserId) -> Result<Bytes, Problem>;
    /// Tokens that open this user's memory.
    async fn tokens(&self, user: &UserId) -> Result<Vec<Token>, Problem>;
    /// Makes one that opens no other's; answers it, this once.
    async fn add_token(&self, user: &UserId, name: &str) -> Result<String, Problem>;
    /// Withdraws one that opens this user's memory alone.
    async fn revoke_token(&self, user: &UserId, name: &str) -> Result<(), Problem>;
    /// Waits until the process is told to end: no tab holds it up.
    async fn ending(&self);
}

/// The page of one daemon, at one address. Cheap to clone.
#[derive(Clone)]
pub struct Page(Arc<Shared>);

struct Shared {
    memories: Memories,
    host: Arc<dyn Host>,
    clock: Arc<dyn Clock>,
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
    /// The page over these memories, listened for at `address` by `host`.
    #[must_use]
    pub fn new(
        memories: Memories,
        host: Arc<dyn Host>,
        clock: Arc<dyn Clock>,
        address: SocketAddr,
    ) -> Self {
        let port = address.port();
        Self(Arc::new(Shared {
            memories,
            host,
            clock,
            door: Door::default(),
            hosts: ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")),
            // Cookies know no ports: two daemons of one machine must not share one.
            cookie: format!("reprise-{port}"),
        }))
    }

    /// A link that signs a browser in once.
    pub fn link(&self, grant: Grant) -> std::io::Result<Link> {
        self.0.door.link(grant, self.now())
    }

    pub(crate) fn guarded(&self, rooms: Router<Self>) -> Router {
        rooms
            .fallback(no_room)
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .layer(middleware::from_fn_with_state(self.clone(), guard))
            .with_state(self.clone())
    }

    pub(crate) fn memories(&self) -> &Memories {
        &self.0.memories
    }

    pub(crate) fn host(&self) -> &dyn Host {
        &*self.0.host
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.0.clock.now()
    }

    /// The days of whoever looks, as of now.
    pub(crate) fn calendar(&self) -> Calendar {
        Calendar::of_machine(self.now())
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

    fn visit(&self, headers: &HeaderMap) -> Option<Visitor> {
        let cookies = headers.get_all(header::COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';'));
        let secret = pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.0.cookie).then_some(value)
        })?;
        self.0.door.visit(secret, self.now())
    }

    fn is_own(&self, host: &str) -> bool {
        self.0.hosts.iter().any(|own| own == host)
    }
}

/// What went wrong, as a page.
#[derive(Debug)]
pub(crate) struct Trouble {
    pub(crate) status: StatusCode,
    pub(crate) sentence: String,
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

impl From<Problem> for Trouble {
    fn from(problem: Problem) -> Self {
        let status = StatusCode::from_u16(problem.kind.status());
        Self::new(
            status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            problem.detail,
        )
    }
}

impl IntoResponse for Trouble {
    fn into_response(self) -> Response {
        let title = match self.status {
            StatusCode::NOT_FOUND => "Not here",
            StatusCode::FORBIDDEN => "Not allowed",
            StatusCode::GONE => "Gone",
            StatusCode::UNAUTHORIZED => SIGNED_OUT_TITLE,
            _ => "That did not work",
        };
        (self.status, shell::alone(title, &self.sentence)).into_response()
    }
}

pub(crate) type Answer<T> = Result<T, Trouble>;

/// Nothing, where what was asked for is not there.
pub(crate) fn found<T>(answer: Answer<T>) -> Answer<Option<T>> {
    match answer {
        Err(trouble) if trouble.status == StatusCode::NOT_FOUND => Ok(None),
        answer => answer.map(Some),
    }
}

async fn no_room() -> Trouble {
    Trouble::new(StatusCode::NOT_FOUND, NO_ROOM)
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
                let signed_out = shell::alone(SIGNED_OUT_TITLE, SIGNED_OUT);
                (StatusCode::UNAUTHORIZED, signed_out).into_response()
            }
        },
    };
    let headers = [
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
    ];
    let cached = response.headers_mut().entry(header::CACHE_CONTROL);
    cached.or_insert(HeaderValue::from_static("no-store"));
    (headers, response).into_response()
}

impl Page {
    /// Host, and for what changes something the page that it comes from.
    fn check(&self, request: &Request) -> Answer<()> {
        let headers = request.headers();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if !text("host").is_some_and(|host| self.is_own(host)) {
            return Err(Trouble::new(StatusCode::FORBIDDEN, WRONG_HOST));
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
            return Err(Trouble::new(StatusCode::FORBIDDEN, WRONG_ORIGIN));
        }
        Ok(())
    }
}

/// A request of somebody who is signed in.
#[derive(Debug)]
pub(crate) struct Visit {
    pub(crate) page: Page,
    visitor: Visitor,
}

impl Deref for Visit {
    type Target = Visitor;

    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

impl Visit {
    /// The memory of whoever signed in; a browser is let in by a program of this machine.
    pub(crate) fn memory(&self) -> Memory {
        let memory = self.page.memories().of(&self.user).on_machine();
        memory.asked_by("the page".to_owned()).unnoted()
    }

    /// What its session can undo.
    pub(crate) fn undo<T>(&self, with: impl FnOnce(&mut Undo) -> T) -> Option<T> {
        self.page.door().undo(self, with)
    }

    /// What an operation answers.
    pub(crate) async fn ask<O: Operation>(&self, asked: O::Arguments) -> Answer<O::Answer> {
        Ok(self.ran::<O>(asked).await?.answer)
    }

    /// The same with what was taken out of the arguments.
    pub(crate) async fn ran<O: Operation>(&self, asked: O::Arguments) -> Answer<Ran<O::Answer>> {
        // What an operation holds while it waits is much: on the heap.
        let ran = Box::pin(async move {
            let memory = self.memory();
            reprise_operations::run::<O>(&memory, &asked).await
        });
        Ok(ran.await?)
    }

    /// What an operation answers; nothing where nothing was ever kept, or there is no such record.
    pub(crate) async fn ask_if<O: Operation>(
        &self,
        asked: O::Arguments,
    ) -> Answer<Option<O::Answer>> {
        found(self.ask::<O>(asked).await)
    }
}

impl FromRequestParts<Page> for Visit {
    type Rejection = Trouble;

    async fn from_request_parts(parts: &mut Parts, page: &Page) -> Answer<Self> {
        let visitor = parts.extensions.get::<Visitor>().cloned();
        let signed_out = || Trouble::new(StatusCode::UNAUTHORIZED, SIGNED_OUT);
        Ok(Self {
            page: page.clone(),
            visitor: visitor.ok_or_else(signed_out)?,
        })
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
        let named = named.ok_or_else(|| Trouble::new(StatusCode::NOT_FOUND, NO_ROOM));
        named.map(Self)
    }
}

/// A form of this session, which may change something.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) visit: Visit,
    fields: Vec<(String, String)>,
}

impl Posted {
    /// A field, or nothing.
    pub(crate) fn get(&self, name: &str) -> &str {
        self.given(name).unwrap_or_default()
    }

    /// A field, which may be empty.
    pub(crate) fn given(&self, name: &str) -> Option<&str> {
        self.all(name).last()
    }

    /// Every value of a field that is there several times.
    pub(crate) fn all(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.fields.iter().filter(move |(own, _)| own == name);
        named.map(|(_, value)| value.as_str())
    }

    /// A field that names something.
    pub(crate) fn read<T: std::str::FromStr>(&self, name: &str) -> Answer<T> {
        let read = self.get(name).parse();
        read.map_err(|_| Trouble::invalid(bad_field(name)))
    }
}

impl FromRequest<Page> for Posted {
    type Rejection = Trouble;

    async fn from_request(request: Request, page: &Page) -> Answer<Self> {
        let (mut parts, body) = request.into_parts();
        let visit = Visit::from_request_parts(&mut parts, page).await?;
        let leads_on = [shell::SIGN_OUT, shell::SWITCH].contains(&parts.uri.path());
        if visit.read_only && !leads_on {
            return Err(Trouble::new(StatusCode::FORBIDDEN, READ_ONLY));
        }
        let request = Request::from_parts(parts, body);
        let form = Form::<Vec<(String, String)>>::from_request(request, page).await;
        let Form(fields) = form.map_err(|error| {
            Trouble::invalid(format!("The form cannot be read ({error}); send it again."))
        })?;
        let posted = Self { visit, fields };
        if posted.get(shell::FORM_TOKEN) != posted.visit.form_token {
            return Err(Trouble::new(StatusCode::FORBIDDEN, WRONG_FORM));
        }
        Ok(posted)
    }
}
