//! The page as one value: its router, its sign-in links, and the checks before every request.
//!
//! The checks are of Host, Origin, cookie, form token and headers. Every page reads and changes
//! memory by operations of the catalogue, as the signed-in user. What no operation offers, such as
//! settings and backups, comes from the process that serves the page ([`PageHost`]).

use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::ops::Deref;
use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use axum::Router;
use axum::extract::{DefaultBodyLimit, Form, FromRequest, FromRequestParts, Path, Request, State};
use axum::http::header::{self, HeaderMap};
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use chrono::{DateTime, Utc};
use reprise_operations::{Memories, Memory, Operation, Problem, describe_redactions};
use reprise_types::limits::TEXT_BYTES_MAX;
use reprise_types::{Calendar, Clock, UserId};
use tokio_stream::Stream;

use crate::backup_files::{
    BackupFile, BackupSchedule, RestorePreview, RestoredBackup, UploadFile, UploadedImport,
};
use crate::compress::accepts_gzip;
use crate::guard::{is_from_own_page, secure_response};
use crate::kept_reviews::KeptReviews;
use crate::shell::{FORM_TOKEN, SIGN_OUT, SWITCH, render_standalone};
use crate::sign_in::{PageGrant, PageSessions, SignInLink, Visitor};
use crate::undo::UndoList;
use crate::{assets, text};

/// Bytes of the longest form: a text of which each byte is escaped, and room for the rest.
const BODY_BYTES_MAX: usize = 4 * TEXT_BYTES_MAX;
/// Content policy: only what this daemon serves, and no inline script or style.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; \
    font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; \
    frame-ancestors 'none'";

pub(crate) const NO_ROOM: &str = "There is no page at this address. Home links to every page, and /help says \
    what is where.";
const SIGNED_OUT_TITLE: &str = "You are not signed in";
const SIGNED_OUT: &str = "Run `reprise open` on this machine to sign in. A sign-in ends when you \
    sign out, after 12 hours without use, or when the daemon stops.";
const WRONG_HOST: &str = "This page can be reached only by its own address. Run `reprise open`.";
const WRONG_ORIGIN: &str = "This form was sent from another page. Reload this page and send the form \
    again.";
pub(crate) const WRONG_FORM: &str = "This form belongs to an earlier sign-in or to another user's memory. Reload \
    the page and send the form again.";
pub(crate) const READ_ONLY: &str = "This sign-in may only read. To make changes, run `reprise open` \
    without --read-only.";

/// Returns the error message for a field of a form or an address.
pub(crate) fn bad_field(name: &str) -> String {
    format!("`{name}` is not valid. Correct it and send it again.")
}

/// Names for people of the fields of an address that have a value of their own kind.
const FIELD_NAMES: [(&str, &str); 6] = [
    ("after", "place in the list"),
    ("back", "number of days"),
    ("budget", "number of tokens"),
    ("other", "memory id"),
    ("top_k", "number of results"),
    ("user", "user name"),
];

/// Returns the error message for a value of a form or an address.
pub(crate) fn bad_value(name: &str, value: &str) -> String {
    let named = FIELD_NAMES.iter().find(|(own, _)| *own == name);
    match named {
        Some((_, label)) => format!("`{value}` is not a {label}. Go back and correct it."),
        None => format!("There is no {name} `{value}`. Go back and choose another."),
    }
}

/// A setting that is in force.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    pub name: String,
    pub value: String,
    /// Where it comes from: `flag`, `environment`, `file`, `default`, or nothing for a fact.
    pub from: String,
}

/// A token that opens the user's memory over TCP, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub name: String,
    pub made: DateTime<Utc>,
    /// When it ends by itself.
    pub expires: Option<DateTime<Utc>>,
    /// When a program last used it.
    pub used: Option<DateTime<Utc>>,
    /// Whether it opens every user's memory; only the owner of the machine can revoke it then.
    pub is_for_all: bool,
}

/// A program that runs agents and that `reprise connect` knows, as it is on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentProgram {
    /// What a person types for it; its prompts say this name.
    pub name: String,
    /// Its name for people.
    pub label: String,
    /// Whether its settings name our memory server, or have our hooks.
    pub is_connected: bool,
    /// Whether its settings have our hooks, or our plugin in their place.
    pub has_hooks: bool,
}

/// A user who has a memory here, with the bytes of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UserFile {
    pub user: String,
    pub bytes: u64,
}

/// A whole file as a stream of its parts.
pub type ByteStream = Pin<Box<dyn Stream<Item = std::io::Result<Vec<u8>>> + Send>>;

/// What the page needs of the process that serves it.
#[async_trait]
pub trait PageHost: fmt::Debug + Send + Sync {
    fn settings(&self) -> Vec<Setting>;
    async fn users(&self) -> Result<Vec<UserFile>, Problem>;
    /// Lists the backups, exports and derived files of the user's memory, the newest first.
    async fn backups(&self, user: &UserId) -> Result<Vec<BackupFile>, Problem>;
    /// Saves a verified backup among the daemon's own files.
    async fn save_backup(&self, user: &UserId) -> Result<(), Problem>;
    fn backup_schedule(&self, user: &UserId) -> Option<BackupSchedule>;
    async fn set_backup_schedule(
        &self,
        user: &UserId,
        schedule: Option<BackupSchedule>,
    ) -> Result<(), Problem>;
    /// Creates a private file for an upload that a browser calls `name`.
    fn create_upload(&self, name: &str) -> Result<UploadFile, Problem>;
    /// Verifies an uploaded backup and lists it with the others. Returns its path.
    async fn keep_uploaded_backup(
        &self,
        user: &UserId,
        upload: &UploadFile,
    ) -> Result<String, Problem>;
    /// Verifies a listed backup and returns what a restore would replace.
    async fn preview_restore(&self, user: &UserId, file: &str) -> Result<RestorePreview, Problem>;
    /// Makes a listed backup the user's memory. The memory that was there is kept and listed.
    async fn restore_backup(&self, user: &UserId, file: &str) -> Result<RestoredBackup, Problem>;
    /// Imports an uploaded file, as `reprise import` does.
    async fn import_upload(
        &self,
        user: &UserId,
        upload: &UploadFile,
    ) -> Result<UploadedImport, Problem>;
    /// Streams the user's file as it is now.
    async fn backup(&self, user: &UserId) -> Result<ByteStream, Problem>;
    /// Streams every memory of the user as JSON lines.
    async fn export(&self, user: &UserId) -> Result<ByteStream, Problem>;
    /// Lists the tokens that open this user's memory.
    async fn tokens(&self, user: &UserId) -> Result<Vec<Token>, Problem>;
    /// Creates a token that opens this user's memory only, until `expires` if that is given, and
    /// returns its secret this once.
    async fn add_token(
        &self,
        user: &UserId,
        name: &str,
        expires: Option<DateTime<Utc>>,
    ) -> Result<String, Problem>;
    /// Revokes a token that opens this user's memory only.
    async fn revoke_token(&self, user: &UserId, name: &str) -> Result<(), Problem>;
    /// Lists the programs that run agents on this machine.
    async fn agent_programs(&self) -> Result<Vec<AgentProgram>, Problem>;
    /// Lets programs with a token in over HTTP on this machine, until the process ends.
    async fn turn_http_on(&self) -> Result<(), Problem>;
    /// Saves a setting in the configuration file; it holds from the next start of the process. An
    /// empty value removes it.
    async fn save_setting(&self, name: &str, value: &str) -> Result<(), Problem>;
    /// Lists the settings that were saved since the process started, which do not hold yet.
    fn saved_settings(&self) -> BTreeMap<String, String>;
    /// Deletes the file of a listed backup.
    async fn delete_backup(&self, user: &UserId, file: &str) -> Result<(), Problem>;
    /// Waits until the process ends, so that no open tab keeps it running.
    async fn wait_for_end(&self);
}

/// The page of one daemon, at one address. Cheap to clone.
#[derive(Clone)]
pub struct WebPage(Arc<PageState>);

struct PageState {
    memories: Memories,
    host: Arc<dyn PageHost>,
    clock: Arc<dyn Clock>,
    sessions: PageSessions,
    /// Values of the Host header under which a browser on this machine may reach the page.
    hosts: [String; 3],
    cookie: String,
    reviews: KeptReviews,
}

impl fmt::Debug for WebPage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Page")
            .field("hosts", &self.0.hosts)
            .finish_non_exhaustive()
    }
}

impl WebPage {
    /// Creates the page over these memories, which `host` serves at `address`.
    #[must_use]
    pub fn new(
        memories: Memories,
        host: Arc<dyn PageHost>,
        clock: Arc<dyn Clock>,
        address: SocketAddr,
    ) -> Self {
        let port = address.port();
        Self(Arc::new(PageState {
            memories,
            host,
            clock,
            sessions: PageSessions::default(),
            hosts: ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")),
            // Cookies know no ports: two daemons of one machine must not share one.
            cookie: format!("reprise-{port}"),
            reviews: KeptReviews::default(),
        }))
    }

    /// Creates a link that signs a browser in once.
    pub fn create_link(&self, grant: PageGrant) -> std::io::Result<SignInLink> {
        self.0.sessions.create_link(grant, self.now())
    }

    pub(crate) fn guard_router(&self, rooms: Router<Self>) -> Router {
        rooms
            .layer(DefaultBodyLimit::max(BODY_BYTES_MAX))
            .layer(middleware::from_fn_with_state(self.clone(), guard_request))
            .with_state(self.clone())
    }

    pub(crate) fn memories(&self) -> &Memories {
        &self.0.memories
    }

    pub(crate) fn host(&self) -> &dyn PageHost {
        &*self.0.host
    }

    /// Returns whether the daemon was started without a model.
    pub(crate) fn runs_without_model(&self) -> bool {
        let settings = self.host().settings();
        let model = settings.iter().find(|one| one.name == "model");
        model.is_some_and(|model| model.value.starts_with("none"))
    }

    pub(crate) fn now(&self) -> DateTime<Utc> {
        self.0.clock.now()
    }

    /// Returns the calendar of this machine's time zone, as of now.
    pub(crate) fn calendar(&self) -> Calendar {
        Calendar::in_machine_zone(self.now())
    }

    pub(crate) fn sessions(&self) -> &PageSessions {
        &self.0.sessions
    }

    /// Returns the Set-Cookie value that sets the sign-in, or deletes it for `None`.
    pub(crate) fn session_cookie(&self, session: Option<&str>) -> String {
        let (name, value) = (&self.0.cookie, session.unwrap_or_default());
        let age = if session.is_some() { "" } else { "; Max-Age=0" };
        format!("{name}={value}; Path=/; HttpOnly; SameSite=Strict{age}")
    }

    /// Returns the pairs that were found for pages.
    pub(crate) fn kept_reviews(&self) -> &KeptReviews {
        &self.0.reviews
    }

    fn find_visitor(&self, headers: &HeaderMap) -> Option<Visitor> {
        let cookies = headers.get_all(header::COOKIE).into_iter();
        let cookies = cookies.filter_map(|value| value.to_str().ok());
        let mut pairs = cookies.flat_map(|value| value.split(';'));
        let secret = pairs.find_map(|pair| {
            let (name, value) = pair.trim().split_once('=')?;
            (name == self.0.cookie).then_some(value)
        })?;
        self.0.sessions.find_visitor(secret, self.now())
    }

    fn is_own_host(&self, host: &str) -> bool {
        self.0.hosts.iter().any(|own| own == host)
    }
}

/// An error that is shown as a page.
#[derive(Debug)]
pub(crate) struct PageError {
    pub(crate) status: StatusCode,
    pub(crate) sentence: String,
}

impl PageError {
    pub(crate) fn new(status: StatusCode, sentence: impl Into<String>) -> Self {
        let sentence = sentence.into();
        Self { status, sentence }
    }

    /// Returns the error of an id that leads to no memory.
    pub(crate) fn missing_memory() -> Self {
        Self::new(
            StatusCode::NOT_FOUND,
            "This memory does not exist or was forgotten.",
        )
    }

    /// Splits what is said into its first sentence and the rest.
    pub(crate) fn split_sentence(&self) -> (&str, &str) {
        let first = text::first_sentence(&self.sentence);
        let rest = self.sentence.split_once(first).map_or("", |split| split.1);
        (first, rest.trim())
    }

    pub(crate) fn invalid(sentence: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, sentence)
    }
}

impl From<Problem> for PageError {
    fn from(problem: Problem) -> Self {
        let status = StatusCode::from_u16(problem.kind.status());
        Self::new(
            status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR),
            text::to_sentence(&problem.detail),
        )
    }
}

impl IntoResponse for PageError {
    fn into_response(self) -> Response {
        let (title, rest) = match self.status {
            StatusCode::UNAUTHORIZED => (SIGNED_OUT_TITLE, &*self.sentence),
            _ => self.split_sentence(),
        };
        (self.status, render_standalone(title, rest)).into_response()
    }
}

pub(crate) type PageResult<T> = Result<T, PageError>;

/// Turns a 404 into `None`.
pub(crate) fn none_if_missing<T>(answer: PageResult<T>) -> PageResult<Option<T>> {
    match answer {
        Err(trouble) if trouble.status == StatusCode::NOT_FOUND => Ok(None),
        answer => answer.map(Some),
    }
}

/// Checks every request, and sets the security headers of every response.
async fn guard_request(State(page): State<WebPage>, mut request: Request, next: Next) -> Response {
    let path = request.uri().path();
    let is_asset = path.starts_with(assets::FOLDER);
    let open = is_asset || path.starts_with("/enter/");
    let is_compressed = accepts_gzip(request.headers());
    let response = match page.check_origin(&request) {
        Err(trouble) => trouble.into_response(),
        Ok(()) => match page.find_visitor(request.headers()) {
            Some(visit) => {
                request.extensions_mut().insert(visit);
                next.run(request).await
            }
            None if open => next.run(request).await,
            None => {
                let signed_out = render_standalone(SIGNED_OUT_TITLE, SIGNED_OUT);
                (StatusCode::UNAUTHORIZED, signed_out).into_response()
            }
        },
    };
    secure_response(response, POLICY, is_compressed).await
}

impl WebPage {
    /// Checks the Host header, and of requests that change something also their origin.
    fn check_origin(&self, request: &Request) -> PageResult<()> {
        let headers = request.headers();
        let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
        if !text("host").is_some_and(|host| self.is_own_host(host)) {
            return Err(PageError::new(StatusCode::FORBIDDEN, WRONG_HOST));
        }
        if [Method::GET, Method::HEAD].contains(request.method()) {
            return Ok(());
        }
        let own_origin = |origin: &str| {
            let host = origin.strip_prefix("http://");
            host.is_some_and(|host| self.is_own_host(host))
        };
        if !is_from_own_page(headers, own_origin) {
            return Err(PageError::new(StatusCode::FORBIDDEN, WRONG_ORIGIN));
        }
        Ok(())
    }
}

/// A request of a signed-in user.
#[derive(Debug)]
pub(crate) struct PageRequest {
    pub(crate) page: WebPage,
    visitor: Visitor,
}

impl Deref for PageRequest {
    type Target = Visitor;

    fn deref(&self) -> &Visitor {
        &self.visitor
    }
}

impl PageRequest {
    /// Returns the signed-in user's memory, with the rights of a program on this machine.
    pub(crate) fn memory(&self) -> Memory {
        let memory = self
            .page
            .memories()
            .user_memory(&self.user)
            .with_machine_caller();
        memory
            .with_asker("the page".to_owned())
            .without_recall_notes()
    }

    /// Runs a closure on the undo list of this sign-in; `None` if it has ended.
    pub(crate) fn with_undo<T>(&self, with: impl FnOnce(&mut UndoList) -> T) -> Option<T> {
        self.page.sessions().with_undo(self, with)
    }

    /// Runs an operation and returns its answer.
    pub(crate) async fn run<O: Operation>(&self, arguments: O::Arguments) -> PageResult<O::Answer> {
        Ok(self.run_redacted::<O>(arguments).await?.0)
    }

    /// Runs an operation and returns its answer, with a note of what was taken out before.
    pub(crate) async fn run_redacted<O: Operation>(
        &self,
        arguments: O::Arguments,
    ) -> PageResult<(O::Answer, String)> {
        // The future of an operation is large, so it is kept on the heap.
        let ran = Box::pin(async move {
            let memory = self.memory();
            reprise_operations::run::<O>(&memory, &arguments).await
        });
        let (answer, redacted) = ran.await?;
        Ok((answer, describe_redactions(&redacted)))
    }

    /// Runs an operation; `None` if the user has no memory yet or there is no such record.
    pub(crate) async fn run_optional<O: Operation>(
        &self,
        arguments: O::Arguments,
    ) -> PageResult<Option<O::Answer>> {
        none_if_missing(self.run::<O>(arguments).await)
    }
}

impl FromRequestParts<WebPage> for PageRequest {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, page: &WebPage) -> PageResult<Self> {
        let visitor = parts.extensions.get::<Visitor>().cloned();
        let signed_out = || PageError::new(StatusCode::UNAUTHORIZED, SIGNED_OUT);
        Ok(Self {
            page: page.clone(),
            visitor: visitor.ok_or_else(signed_out)?,
        })
    }
}

/// The last part of an address, parsed: the id of a record, the number of an action.
#[derive(Debug)]
pub(crate) struct PathParameter<T>(pub(crate) T);

impl<T: std::str::FromStr> FromRequestParts<WebPage> for PathParameter<T> {
    type Rejection = PageError;

    async fn from_request_parts(parts: &mut Parts, page: &WebPage) -> PageResult<Self> {
        let path = Path::<String>::from_request_parts(parts, page).await;
        let named = path.ok().and_then(|Path(name)| name.parse().ok());
        let named = named.ok_or_else(|| PageError::new(StatusCode::NOT_FOUND, NO_ROOM));
        named.map(Self)
    }
}

/// A submitted form whose token belongs to this sign-in.
#[derive(Debug)]
pub(crate) struct Posted {
    pub(crate) visit: PageRequest,
    fields: Vec<(String, String)>,
}

impl Posted {
    /// Returns a field, or an empty text if it is missing.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.raw_value(name).unwrap_or_default()
    }

    /// Returns a field, which may be empty.
    pub(crate) fn raw_value(&self, name: &str) -> Option<&str> {
        self.values(name).last()
    }

    /// Iterates over all values of a field.
    pub(crate) fn values(&self, name: &str) -> impl Iterator<Item = &str> {
        let named = self.fields.iter().filter(move |(own, _)| own == name);
        named.map(|(_, value)| value.as_str())
    }

    /// Parses a field, or fails with a message about it.
    pub(crate) fn parse_value<T: std::str::FromStr>(&self, name: &str) -> PageResult<T> {
        let read = self.text(name).parse();
        read.map_err(|_| PageError::invalid(bad_value(name, self.text(name))))
    }
}

impl FromRequest<WebPage> for Posted {
    type Rejection = PageError;

    async fn from_request(request: Request, page: &WebPage) -> PageResult<Self> {
        let (mut parts, body) = request.into_parts();
        let visit = PageRequest::from_request_parts(&mut parts, page).await?;
        let leads_on = [SIGN_OUT, SWITCH].contains(&parts.uri.path());
        if visit.read_only && !leads_on {
            return Err(PageError::new(StatusCode::FORBIDDEN, READ_ONLY));
        }
        let request = Request::from_parts(parts, body);
        let form = Form::<Vec<(String, String)>>::from_request(request, page).await;
        let Form(fields) = form.map_err(|error| {
            PageError::invalid(format!("The form cannot be read ({error}). Send it again."))
        })?;
        let posted = Self { visit, fields };
        if posted.text(FORM_TOKEN) != posted.visit.form_token {
            return Err(PageError::new(StatusCode::FORBIDDEN, WRONG_FORM));
        }
        Ok(posted)
    }
}
