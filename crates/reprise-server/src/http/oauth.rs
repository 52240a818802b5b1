//! OAuth over HTTP: who guards this server (RFC 9728), and the built-in issuer's own routes.
//!
//! These are open to those without a token. A browser's part is one page without script, which
//! waits; whoever confirms does so on the daemon's machine, or with a token of his own.

use std::sync::Arc;

use axum::extract::rejection::{FormRejection, JsonRejection, QueryRejection};
use axum::extract::{Extension, Form, Path, Query, Request, State};
use axum::http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL,
    CONTENT_SECURITY_POLICY, CONTENT_TYPE, HOST, LOCATION, REFERRER_POLICY, WWW_AUTHENTICATE,
    X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderValue, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use reprise_operations::{Bounds, Problem, ProblemKind};
use reprise_types::UserId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::App;
use super::answers::Refusal;
use super::extract::object;
use super::guard::Identity;
use crate::oauth::{
    ASKED_FOR, Asking, Exchange, GRANTS, Oauth, OauthError, Registration, SCOPE, Stopped, Waited,
};
use crate::page::blocking;
use crate::tokens::Scope;

const RESOURCE: &str = "/.well-known/oauth-protected-resource";
const SERVER: &str = "/.well-known/oauth-authorization-server";
const OFF: &str = "OAuth is not set up here; put `[serve.oauth]` into the daemon's configuration";

/// Whether whoever has no token yet may ask for it.
pub(super) fn is_open(path: &str) -> bool {
    path.starts_with("/oauth/") || path.starts_with(RESOURCE) || path.starts_with(SERVER)
}

/// Whether a page of any origin may ask: what is there is public, or has its secret in the body.
pub(super) fn takes_any_origin(path: &str) -> bool {
    let posts = ["register", "token", "device", "revoke"];
    match path.strip_prefix("/oauth/") {
        Some(name) => posts.contains(&name),
        None => is_open(path),
    }
}

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(RESOURCE, get(resource))
        .route(&format!("{RESOURCE}/{{*path}}"), get(resource))
        .route(SERVER, get(server))
        .route("/oauth/register", post(register))
        .route("/oauth/authorize", get(authorize))
        .route("/oauth/wait", get(wait))
        .route("/oauth/approve", get(ask).post(approve))
        .route("/oauth/token", post(token))
        .route("/oauth/device", post(device))
        .route("/oauth/revoke", post(revoke))
        .route("/v1/oauth/approve", post(approve_here))
}

fn is_mcp(path: &str) -> bool {
    matches!(path, "/mcp" | "/mcp/workspace")
}

/// What a token is to be granted.
fn scopes(oauth: &Oauth) -> Vec<&str> {
    match &oauth.options.issuer {
        Some(issuer) => issuer
            .settings()
            .scopes
            .iter()
            .map(String::as_str)
            .collect(),
        None => vec![SCOPE],
    }
}

/// What `WWW-Authenticate` says to a client without a token that counts; `host` is the one that its
/// request names, where that is ours: another one is not repeated.
pub(super) fn challenge(
    app: &App,
    host: Option<&str>,
    path: &str,
    problem: &Problem,
) -> Option<HeaderValue> {
    let oauth = app.oauth.as_ref()?;
    let base = oauth.base(host.or(oauth.authority())?);
    let at = if is_mcp(path) { path } else { "" };
    let scope = match scopes(oauth).join(" ") {
        empty if empty.is_empty() => empty,
        scopes => format!(", scope=\"{scopes}\""),
    };
    let error = match problem.kind {
        ProblemKind::Unauthorized => "",
        ProblemKind::Forbidden => ", error=\"insufficient_scope\"",
        _ => return None,
    };
    let challenge = format!("Bearer resource_metadata=\"{base}{RESOURCE}{at}\"{scope}{error}");
    HeaderValue::from_str(&challenge).ok()
}

/// Where this daemon is reached, by the request's own word where nothing is configured: the guard
/// has looked at that.
fn base(app: &App, headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or("localhost");
    app.oauth
        .as_ref()
        .map_or_else(String::new, |oauth| oauth.base(host))
}

fn of(app: &App) -> Result<&Arc<Oauth>, Refusal> {
    app.oauth
        .as_ref()
        .ok_or_else(|| Problem::not_found(OFF).into())
}

/// The daemon's own issuer; none where tokens come from elsewhere.
fn issuer(app: &App) -> Result<&Arc<Oauth>, Refusal> {
    let oauth = of(app)?;
    if oauth.issues() {
        return Ok(oauth);
    }
    Err(Problem::not_found("tokens for this daemon come from another issuer; sign in there").into())
}

/// This daemon, or what its path names in it.
async fn resource(
    State(app): State<App>,
    path: Option<Path<String>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let path = path.map_or_else(String::new, |Path(path)| format!("/{path}"));
    if !path.is_empty() && !is_mcp(&path) {
        return Err(Problem::not_found("there is no such resource; MCP is at /mcp").into());
    }
    let (oauth, base) = (of(&app)?, base(&app, &headers));
    let issuer = oauth.options.issuer.as_ref();
    Ok(open(json!({
        "resource": format!("{base}{path}"),
        "authorization_servers": [issuer.map_or(base, |one| one.settings().issuer.clone())],
        "scopes_supported": scopes(oauth),
        "bearer_methods_supported": ["header"],
        "resource_name": "Reprise",
    })))
}

async fn server(State(app): State<App>, headers: HeaderMap) -> Result<Response, Refusal> {
    issuer(&app)?;
    let base = base(&app, &headers);
    let at = |path: &str| format!("{base}/oauth/{path}");
    Ok(open(json!({
        "issuer": base,
        "authorization_endpoint": at("authorize"),
        "token_endpoint": at("token"),
        "registration_endpoint": at("register"),
        "device_authorization_endpoint": at("device"),
        "revocation_endpoint": at("revoke"),
        "scopes_supported": [SCOPE],
        "response_types_supported": ["code"],
        "response_modes_supported": ["query"],
        "grant_types_supported": GRANTS,
        "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
        "revocation_endpoint_auth_methods_supported": ["none"],
        "authorization_response_iss_parameter_supported": true,
    })))
}

/// JSON that any page may read: there is no cookie, and nothing in it that is somebody's.
fn open(body: Value) -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, Json(body)).into_response()
}

/// Answers a browser that asks whether a page of another origin may send its request.
pub(super) fn preflight() -> Response {
    let allowed = "content-type, mcp-protocol-version";
    let headers = [(ACCESS_CONTROL_ALLOW_HEADERS, allowed)];
    (headers, open(json!({}))).into_response()
}

fn failed(error: OauthError) -> Response {
    let OauthError { error, said } = error;
    let body = open(json!({ "error": error, "error_description": said }));
    let bearer = [(WWW_AUTHENTICATE, "Bearer")];
    match error {
        "invalid_client" => (StatusCode::UNAUTHORIZED, bearer, body).into_response(),
        "server_error" => (StatusCode::SERVICE_UNAVAILABLE, body).into_response(),
        _ => (StatusCode::BAD_REQUEST, body).into_response(),
    }
}

const UNREADABLE: OauthError = OauthError {
    error: "invalid_request",
    said: "the body is not in the form that this endpoint takes",
};

fn answered(answer: Result<Value, OauthError>, status: StatusCode) -> Response {
    match answer {
        Ok(body) => (status, open(body)).into_response(),
        Err(error) => failed(error),
    }
}

async fn register(
    State(app): State<App>,
    body: Result<Json<Registration>, JsonRejection>,
) -> Result<Response, Refusal> {
    let oauth = issuer(&app)?;
    let asked = body.map_err(|_| UNREADABLE);
    let answer = asked.and_then(|Json(asked)| oauth.register(asked));
    Ok(answered(answer, StatusCode::CREATED))
}

#[derive(Debug, Default, Deserialize)]
struct Revoking {
    token: String,
}

async fn revoke(
    State(app): State<App>,
    form: Result<Form<Revoking>, FormRejection>,
) -> Result<Response, Refusal> {
    issuer(&app)?;
    let Ok(Form(Revoking { token })) = form else {
        return Ok(failed(UNREADABLE));
    };
    let tokens = Arc::clone(&app.tokens);
    blocking(move || tokens.sign_out(&token))
        .await?
        .map_err(|error| Problem::failed(ProblemKind::Internal, &error))?;
    Ok(open(json!({})))
}

#[derive(Debug, Default, Deserialize)]
struct Terminal {
    client_id: Option<String>,
}

async fn device(
    State(app): State<App>,
    headers: HeaderMap,
    form: Result<Form<Terminal>, FormRejection>,
) -> Result<Response, Refusal> {
    let (oauth, base) = (issuer(&app)?, base(&app, &headers));
    let asked = form.map_err(|_| UNREADABLE);
    let answer = asked.and_then(|Form(asked)| oauth.device(asked.client_id.as_deref(), &base));
    Ok(answered(answer, StatusCode::OK))
}

async fn token(
    State(app): State<App>,
    form: Result<Form<Exchange>, FormRejection>,
) -> Result<Response, Refusal> {
    let oauth = Arc::clone(issuer(&app)?);
    let Ok(Form(with)) = form else {
        return Ok(failed(UNREADABLE));
    };
    // It waits for the disk.
    let exchanged = blocking(move || oauth.exchange(&with)).await?;
    let answer = exchanged.map(|tokens| {
        json!({
            "access_token": tokens.access,
            "token_type": "Bearer",
            "expires_in": tokens.seconds,
            "refresh_token": tokens.refresh,
            "scope": SCOPE,
        })
    });
    Ok(answered(answer, StatusCode::OK))
}

async fn authorize(
    State(app): State<App>,
    headers: HeaderMap,
    query: Result<Query<Asking>, QueryRejection>,
) -> Result<Response, Refusal> {
    let (oauth, base) = (issuer(&app)?, base(&app, &headers));
    let Ok(Query(asking)) = query else {
        return Ok(not_understood(UNREADABLE));
    };
    Ok(match oauth.authorize(asking, &base) {
        Ok(known_by) => redirect(&format!("/oauth/wait?request={known_by}")),
        Err(Stopped::Back(to)) => redirect(&to),
        Err(Stopped::Here(error)) => not_understood(error),
    })
}

/// What an address says of a sign-in: what a browser knows it by, or the code that it shows.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Sought {
    request: String,
    code: String,
}

async fn wait(
    State(app): State<App>,
    headers: HeaderMap,
    query: Result<Query<Sought>, QueryRejection>,
) -> Result<Response, Refusal> {
    let (oauth, base) = (issuer(&app)?, base(&app, &headers));
    let Query(sought) = query.unwrap_or_default();
    Ok(match oauth.wait(&sought.request, &base) {
        Waited::Back(to) => redirect(&to),
        Waited::Over => page(
            StatusCode::GONE,
            "It is over",
            "This sign-in was answered, or nobody confirmed it in time. Begin again there.",
        ),
        Waited::Asked { code, client, to } => waiting(&code, &client, &to),
    })
}

fn waiting(code: &str, client: &str, to: &str) -> Response {
    let minutes = ASKED_FOR.num_minutes();
    let (client, to) = (escaped(client), escaped(to));
    let body = format!(
        "<p><b>{client}</b> asks to read and write a memory here, and would be answered at \
         <code>{to}</code>.</p><p>Confirm it within {minutes} minutes, only if you have just asked \
         for it. On the daemon's machine:</p><pre>reprise token approve {code}</pre>\
         <p>or here, with a token that you have:</p>{}<p>This page goes on by itself.</p>",
        form(code)
    );
    let page = html(StatusCode::OK, "A program asks to sign in", &body);
    ([("refresh", "3")], page).into_response()
}

fn form(code: &str) -> String {
    format!(
        "<form method=\"post\" action=\"/oauth/approve\"><label>Code <input name=\"code\" \
         value=\"{}\" autocomplete=\"off\" required></label> <label>Token <input name=\"token\" \
         type=\"password\" autocomplete=\"off\" required></label> <label>User <input \
         name=\"user\" placeholder=\"the token's\"></label> <button name=\"answer\" \
         value=\"yes\">Confirm</button> <button name=\"answer\" value=\"no\">Refuse</button></form>",
        escaped(code)
    )
}

/// Where a person types the code that a terminal shows.
async fn ask(
    State(app): State<App>,
    query: Result<Query<Sought>, QueryRejection>,
) -> Result<Response, Refusal> {
    issuer(&app)?;
    let Query(Sought { code, .. }) = query.unwrap_or_default();
    let body = format!(
        "<p>Type the code that the program shows, only if you have just asked for it, and a token \
         that you have. On the daemon's machine <code>reprise token approve CODE</code> does the \
         same.</p>{}",
        form(&code)
    );
    Ok(html(StatusCode::OK, "A program asks to sign in", &body))
}

#[derive(Debug, Default, Deserialize)]
struct Answer {
    code: String,
    token: String,
    #[serde(default)]
    user: String,
    #[serde(default, rename = "answer")]
    verdict: String,
}

/// A person confirms with a token of his own: that is who he is.
async fn approve(
    State(app): State<App>,
    form: Result<Form<Answer>, FormRejection>,
) -> Result<Response, Refusal> {
    let oauth = issuer(&app)?;
    let Ok(Form(answer)) = form else {
        return Ok(not_understood(UNREADABLE));
    };
    let entry = app.tokens.recognise(answer.token.trim());
    // A token that a program signed in for lets no other program in.
    let Some(entry) = entry.filter(|entry| !entry.is_signed_in()) else {
        let said = "That token opens nothing here. `reprise token add NAME --user U` makes one.";
        return Ok(page(StatusCode::FORBIDDEN, "Not confirmed", said));
    };
    app.rates.take(&entry.name)?;
    let named = Some(answer.user.trim()).filter(|named| !named.is_empty());
    let user = match (named.map(str::parse::<UserId>), &entry.scope) {
        (None, Scope::User(own)) => Some(own.clone()),
        (None, Scope::All) => app.user.clone(),
        // Who names somebody means nobody else.
        (Some(named), scope) => named.ok().filter(|named| scope.admits(named)),
    };
    let Some(user) = user else {
        let said = "Name the user whose memory it is about, one whose memory that token opens.";
        return Ok(page(StatusCode::BAD_REQUEST, "Not confirmed", said));
    };
    let is_granted = answer.verdict != "no";
    let decided = oauth.decide(&answer.code, is_granted.then_some(user));
    Ok(match (decided, is_granted) {
        (None, _) => page(StatusCode::NOT_FOUND, "Not confirmed", NOTHING_WAITS),
        (Some(_), true) => page(
            StatusCode::OK,
            "Confirmed",
            "The program goes on by itself.",
        ),
        (Some(_), false) => page(StatusCode::OK, "Refused", "The program is told so."),
    })
}

const NOTHING_WAITS: &str =
    "Nothing waits under this code: it was answered, or ended after ten minutes.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Approving {
    code: String,
    user: UserId,
    /// Refuses it instead.
    #[serde(default)]
    refuse: bool,
}

/// The same by whoever the file system lets through.
async fn approve_here(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let said = "a sign-in is confirmed on the daemon's own machine, or at /oauth/approve";
    identity.needs_machine(said)?;
    let room = Bounds::of::<Approving>().room();
    let Approving { code, user, refuse } = object(request, &app, room).await?;
    let decided = issuer(&app)?.decide(&code, (!refuse).then_some(user));
    let decided = decided.ok_or_else(|| Problem::not_found(NOTHING_WAITS))?;
    Ok(Json(json!(decided)))
}

fn redirect(to: &str) -> Response {
    let Ok(to) = HeaderValue::from_str(to) else {
        return not_understood(UNREADABLE);
    };
    let headers = [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (StatusCode::SEE_OTHER, headers, [(LOCATION, to)]).into_response()
}

fn not_understood(error: OauthError) -> Response {
    page(StatusCode::BAD_REQUEST, "Not understood", error.said)
}

fn page(status: StatusCode, title: &str, said: &str) -> Response {
    html(status, title, &format!("<p>{}</p>", escaped(said)))
}

/// A page without script, style, frame or anything from elsewhere.
fn html(status: StatusCode, title: &str, body: &str) -> Response {
    let text = format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title} - Reprise</title>\
         <h1>{title}</h1>{body}</html>\n"
    );
    let policy = "default-src 'none'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";
    let headers = [
        (CONTENT_TYPE, "text/html; charset=utf-8"),
        (CONTENT_SECURITY_POLICY, policy),
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
    ];
    (status, headers, text).into_response()
}

/// A text as a page shows it; what is not to be seen is shown by name.
fn escaped(text: &str) -> String {
    let shown = |c: char| match c {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        '\'' => "&#39;".to_owned(),
        c if c.is_ascii() || c.is_alphanumeric() => c.to_string(),
        c => c.escape_unicode().to_string(),
    };
    text.chars().map(shown).collect()
}
