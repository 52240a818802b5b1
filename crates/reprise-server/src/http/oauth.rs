//! OAuth over HTTP: the metadata of this server (RFC 9728) and the routes of the built-in issuer.
//!
//! These routes need no token. A browser sees one page without script, which waits; a person
//! confirms on the daemon's machine, or with a token of their own.

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
use reprise_agent::run_blocking;
use reprise_operations::{Bounds, Problem, ProblemKind};
use reprise_types::UserId;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::answers::Refusal;
use super::extract::{ClientAddress, Identity, read_json_object};
use super::{App, MCP_PATH, added_mcp_path};
use crate::oauth::{
    AuthorizeRequest, CONFIRM_WITHIN, GRANTS, Oauth, OauthError, Registration, SCOPE,
    SignInProgress, TokenRequest,
};
use crate::tokens::Scope;

const RESOURCE_METADATA_PATH: &str = "/.well-known/oauth-protected-resource";
const SERVER_METADATA_PATH: &str = "/.well-known/oauth-authorization-server";
const NOT_CONFIGURED: &str =
    "OAuth is not set up here; put `[serve.oauth]` into the daemon's configuration";

/// Returns whether a path is open to clients without a token.
pub(super) fn is_open(path: &str) -> bool {
    path.starts_with("/oauth/")
        || path.starts_with(RESOURCE_METADATA_PATH)
        || path.starts_with(SERVER_METADATA_PATH)
        || path == super::server_card::PATH
}

/// Returns whether pages of any origin may use a path: its response is public, or the request has
/// its secret in the body.
pub(super) fn allows_any_origin(path: &str) -> bool {
    let posts = ["register", "token", "device", "revoke"];
    match path.strip_prefix("/oauth/") {
        Some(name) => posts.contains(&name),
        None => is_open(path),
    }
}

pub(super) fn router() -> Router<App> {
    Router::new()
        .route(RESOURCE_METADATA_PATH, get(get_resource_metadata))
        .route(
            &format!("{RESOURCE_METADATA_PATH}/{{*path}}"),
            get(get_resource_metadata),
        )
        .route(SERVER_METADATA_PATH, get(get_server_metadata))
        .route("/oauth/register", post(register_client))
        .route("/oauth/authorize", get(authorize))
        .route("/oauth/wait", get(show_sign_in))
        .route(
            "/oauth/approve",
            get(show_approval_form).post(approve_by_token),
        )
        .route("/oauth/token", post(issue_token))
        .route("/oauth/device", post(begin_device_sign_in))
        .route("/oauth/revoke", post(revoke_token))
        .route("/v1/oauth/approve", post(approve_locally))
}

fn is_mcp_path(app: &App, path: &str) -> bool {
    let path = path.trim_end_matches('/');
    let mut added = app.catalogue.list_added_profiles().into_iter();
    path == MCP_PATH || added.any(|profile| added_mcp_path(profile) == path)
}

/// Lists the scopes that a token needs.
fn granted_scopes(oauth: &Oauth) -> Vec<&str> {
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

/// Builds the `WWW-Authenticate` header for a client without a valid token. `host` is the host of
/// the request if it is ours; a foreign one is never repeated.
pub(super) fn challenge(
    app: &App,
    host: Option<&str>,
    path: &str,
    problem: &Problem,
) -> Option<HeaderValue> {
    let oauth = app.oauth.as_ref()?;
    let base = oauth.base_url(host.or(oauth.authority())?);
    let at = if is_mcp_path(app, path) { path } else { "" };
    let scope = match granted_scopes(oauth).join(" ") {
        empty if empty.is_empty() => empty,
        scopes => format!(", scope=\"{scopes}\""),
    };
    let error = match problem.kind {
        ProblemKind::Unauthorized => "",
        ProblemKind::Forbidden => ", error=\"insufficient_scope\"",
        _ => return None,
    };
    let challenge =
        format!("Bearer resource_metadata=\"{base}{RESOURCE_METADATA_PATH}{at}\"{scope}{error}");
    HeaderValue::from_str(&challenge).ok()
}

/// Returns the base URL of this daemon: the configured one, else by the request's host, which the
/// guard has checked.
fn base_url(app: &App, headers: &HeaderMap) -> String {
    let host = headers.get(HOST).and_then(|host| host.to_str().ok());
    let host = host.unwrap_or("localhost");
    app.oauth
        .as_ref()
        .map_or_else(String::new, |oauth| oauth.base_url(host))
}

fn configured_oauth(app: &App) -> Result<&Arc<Oauth>, Refusal> {
    app.oauth
        .as_ref()
        .ok_or_else(|| Problem::not_found(NOT_CONFIGURED).into())
}

/// Returns the daemon's own issuer; fails if tokens come from another issuer.
fn own_issuer(app: &App) -> Result<&Arc<Oauth>, Refusal> {
    let oauth = configured_oauth(app)?;
    if oauth.is_own_issuer() {
        return Ok(oauth);
    }
    Err(Problem::not_found("tokens for this daemon come from another issuer; sign in there").into())
}

/// Returns the metadata of this daemon as a protected resource, or of MCP in it.
async fn get_resource_metadata(
    State(app): State<App>,
    path: Option<Path<String>>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    let path = path.map_or_else(String::new, |Path(path)| format!("/{path}"));
    if !path.is_empty() && !is_mcp_path(&app, &path) {
        return Err(Problem::not_found("there is no such resource; MCP is at /mcp").into());
    }
    let (oauth, base) = (configured_oauth(&app)?, base_url(&app, &headers));
    let issuer = oauth.options.issuer.as_ref();
    Ok(open_json(json!({
        "resource": format!("{base}{path}"),
        "authorization_servers": [issuer.map_or(base, |one| one.settings().issuer.clone())],
        "scopes_supported": granted_scopes(oauth),
        "bearer_methods_supported": ["header"],
        "resource_name": "Reprise",
    })))
}

async fn get_server_metadata(
    State(app): State<App>,
    headers: HeaderMap,
) -> Result<Response, Refusal> {
    own_issuer(&app)?;
    let base = base_url(&app, &headers);
    let at = |path: &str| format!("{base}/oauth/{path}");
    Ok(open_json(json!({
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

/// Returns JSON that pages of any origin may read; it holds nothing private and sets no cookie.
fn open_json(body: Value) -> Response {
    let headers = [
        (ACCESS_CONTROL_ALLOW_ORIGIN, "*"),
        (CACHE_CONTROL, "no-store"),
    ];
    (headers, Json(body)).into_response()
}

/// Returns the response to a CORS preflight.
pub(super) fn preflight_response() -> Response {
    let allowed = "content-type, mcp-protocol-version";
    let headers = [(ACCESS_CONTROL_ALLOW_HEADERS, allowed)];
    (headers, open_json(json!({}))).into_response()
}

fn error_response(error: OauthError) -> Response {
    let OauthError { error, detail } = error;
    let body = open_json(json!({ "error": error, "error_description": detail }));
    let bearer = [(WWW_AUTHENTICATE, "Bearer")];
    match error {
        "invalid_client" => (StatusCode::UNAUTHORIZED, bearer, body).into_response(),
        "temporarily_unavailable" => (StatusCode::TOO_MANY_REQUESTS, body).into_response(),
        "server_error" => (StatusCode::SERVICE_UNAVAILABLE, body).into_response(),
        _ => (StatusCode::BAD_REQUEST, body).into_response(),
    }
}

const UNREADABLE_BODY: OauthError = OauthError {
    error: "invalid_request",
    detail: "the body is not in the form that this endpoint takes",
};

fn json_response(answer: Result<Value, OauthError>, status: StatusCode) -> Response {
    match answer {
        Ok(body) => (status, open_json(body)).into_response(),
        Err(error) => error_response(error),
    }
}

async fn register_client(
    State(app): State<App>,
    body: Result<Json<Registration>, JsonRejection>,
) -> Result<Response, Refusal> {
    let oauth = own_issuer(&app)?;
    let registration = body.map_err(|_| UNREADABLE_BODY);
    let answer = registration.and_then(|Json(registration)| oauth.register(registration));
    Ok(json_response(answer, StatusCode::CREATED))
}

#[derive(Debug, Default, Deserialize)]
struct RevokeForm {
    token: String,
}

async fn revoke_token(
    State(app): State<App>,
    form: Result<Form<RevokeForm>, FormRejection>,
) -> Result<Response, Refusal> {
    own_issuer(&app)?;
    let Ok(Form(RevokeForm { token })) = form else {
        return Ok(error_response(UNREADABLE_BODY));
    };
    let tokens = Arc::clone(&app.tokens);
    run_blocking(move || tokens.sign_out(&token))
        .await?
        .map_err(|error| Problem::from_failure(ProblemKind::Internal, &error))?;
    Ok(open_json(json!({})))
}

#[derive(Debug, Default, Deserialize)]
struct DeviceForm {
    client_id: Option<String>,
}

async fn begin_device_sign_in(
    State(app): State<App>,
    Extension(from): Extension<ClientAddress>,
    headers: HeaderMap,
    form: Result<Form<DeviceForm>, FormRejection>,
) -> Result<Response, Refusal> {
    let (oauth, base) = (own_issuer(&app)?, base_url(&app, &headers));
    let registration = form.map_err(|_| UNREADABLE_BODY);
    let answer = registration.and_then(|Form(registration)| {
        oauth.begin_device_sign_in(registration.client_id.as_deref(), &base, from.0)
    });
    Ok(json_response(answer, StatusCode::OK))
}

async fn issue_token(
    State(app): State<App>,
    form: Result<Form<TokenRequest>, FormRejection>,
) -> Result<Response, Refusal> {
    let oauth = Arc::clone(own_issuer(&app)?);
    let Ok(Form(with)) = form else {
        return Ok(error_response(UNREADABLE_BODY));
    };
    // The exchange waits for the disk.
    let exchanged = run_blocking(move || oauth.exchange(&with)).await?;
    let answer = exchanged.map(|tokens| {
        json!({
            "access_token": tokens.access,
            "token_type": "Bearer",
            "expires_in": tokens.seconds,
            "refresh_token": tokens.refresh,
            "scope": SCOPE,
        })
    });
    Ok(json_response(answer, StatusCode::OK))
}

async fn authorize(
    State(app): State<App>,
    Extension(from): Extension<ClientAddress>,
    headers: HeaderMap,
    query: Result<Query<AuthorizeRequest>, QueryRejection>,
) -> Result<Response, Refusal> {
    let (oauth, base) = (own_issuer(&app)?, base_url(&app, &headers));
    let Ok(Query(request)) = query else {
        return Ok(bad_request_page(UNREADABLE_BODY));
    };
    Ok(match oauth.begin_browser_sign_in(request, &base, from.0) {
        Ok(handle) => redirect_to(&format!("/oauth/wait?request={handle}")),
        Err(error) => bad_request_page(error),
    })
}

/// Query of a sign-in: the browser's handle of it, or the code that a person types.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct SignInQuery {
    request: String,
    code: String,
}

async fn show_sign_in(
    State(app): State<App>,
    headers: HeaderMap,
    query: Result<Query<SignInQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    let (oauth, base) = (own_issuer(&app)?, base_url(&app, &headers));
    let Query(sign_in) = query.unwrap_or_default();
    Ok(match oauth.poll(&sign_in.request, &base) {
        SignInProgress::Redirect(to) => redirect_to(&to),
        SignInProgress::Ended => message_page(
            StatusCode::GONE,
            "It is over",
            "This sign-in was answered, or nobody confirmed it in time. Begin again there.",
        ),
        SignInProgress::Asked { code, client, to } => waiting_page(&code, &client, &to),
    })
}

fn waiting_page(code: &str, client: &str, to: &str) -> Response {
    let minutes = CONFIRM_WITHIN.num_minutes();
    let (client, to) = (escape_html(client), escape_html(to));
    let body = format!(
        "<p><b>{client}</b> asks to read and write a memory here, and would be answered at \
         <code>{to}</code>.</p><p>Confirm it within {minutes} minutes, only if you have just asked \
         for it. On the daemon's machine:</p><pre>reprise serve token approve {code}</pre>\
         <p>or here, with a token that you have:</p>{}<p>This page goes on by itself.</p>",
        confirmation_form(code)
    );
    let page = html_page(StatusCode::OK, "A program asks to sign in", &body);
    ([("refresh", "3")], page).into_response()
}

fn confirmation_form(code: &str) -> String {
    format!(
        "<form method=\"post\" action=\"/oauth/approve\"><label>Code <input name=\"code\" \
         value=\"{}\" autocomplete=\"off\" required></label> <label>Token <input name=\"token\" \
         type=\"password\" autocomplete=\"off\" required></label> <label>User <input \
         name=\"user\" placeholder=\"the token's\"></label> <button name=\"answer\" \
         value=\"yes\">Confirm</button> <button name=\"answer\" value=\"no\">Refuse</button></form>",
        escape_html(code)
    )
}

/// Shows the form in which a person types the code that a terminal shows.
async fn show_approval_form(
    State(app): State<App>,
    query: Result<Query<SignInQuery>, QueryRejection>,
) -> Result<Response, Refusal> {
    own_issuer(&app)?;
    let Query(SignInQuery { code, .. }) = query.unwrap_or_default();
    let body = format!(
        "<p>Type the code that the program shows, only if you have just asked for it, and a token \
         that you have. On the daemon's machine <code>reprise serve token approve CODE</code> does the \
         same.</p>{}",
        confirmation_form(&code)
    );
    Ok(html_page(
        StatusCode::OK,
        "A program asks to sign in",
        &body,
    ))
}

#[derive(Debug, Default, Deserialize)]
struct ApprovalForm {
    code: String,
    token: String,
    #[serde(default)]
    user: String,
    #[serde(default, rename = "answer")]
    verdict: String,
}

/// Confirms or refuses a sign-in for a person who proves their identity by a token.
async fn approve_by_token(
    State(app): State<App>,
    form: Result<Form<ApprovalForm>, FormRejection>,
) -> Result<Response, Refusal> {
    let oauth = own_issuer(&app)?;
    let Ok(Form(answer)) = form else {
        return Ok(bad_request_page(UNREADABLE_BODY));
    };
    let (tokens, shown) = (Arc::clone(&app.tokens), answer.token.trim().to_owned());
    let entry = run_blocking(move || tokens.recognise(&shown)).await?;
    // A token that a program signed in for lets no other program in.
    let Some(entry) = entry.filter(|entry| !entry.is_signed_in()) else {
        let detail =
            "That token opens nothing here. `reprise serve token add NAME --user U` makes one.";
        return Ok(message_page(StatusCode::FORBIDDEN, "Not confirmed", detail));
    };
    app.rates.take(&entry.name)?;
    let named = Some(answer.user.trim()).filter(|named| !named.is_empty());
    let user = match (named.map(str::parse::<UserId>), &entry.scope) {
        (None, Scope::User(own)) => Some(own.clone()),
        (None, Scope::All) => app.user.clone(),
        // If a user is named, no other user is meant.
        (Some(named), scope) => named.ok().filter(|named| scope.admits(named)),
    };
    let Some(user) = user else {
        let detail = "Name the user whose memory it is about, one whose memory that token opens.";
        return Ok(message_page(
            StatusCode::BAD_REQUEST,
            "Not confirmed",
            detail,
        ));
    };
    let is_granted = answer.verdict != "no";
    let decided = oauth.decide(&answer.code, is_granted.then_some(user));
    Ok(match (decided, is_granted) {
        (None, _) => message_page(StatusCode::NOT_FOUND, "Not confirmed", NOTHING_WAITS),
        (Some(_), true) => message_page(
            StatusCode::OK,
            "Confirmed",
            "The program goes on by itself.",
        ),
        (Some(_), false) => message_page(StatusCode::OK, "Refused", "The program is told so."),
    })
}

const NOTHING_WAITS: &str =
    "Nothing waits under this code: it was answered, or ended after ten minutes.";

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct ApproveRequest {
    code: String,
    user: UserId,
    /// Refuses it instead.
    #[serde(default)]
    refuse: bool,
}

/// Confirms or refuses a sign-in for a process of the daemon's own machine.
async fn approve_locally(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let detail = "a sign-in is confirmed on the daemon's own machine, or at /oauth/approve";
    identity.require_local(detail)?;
    let room = Bounds::get_for_type::<ApproveRequest>().room();
    let ApproveRequest { code, user, refuse } = read_json_object(request, &app, room).await?;
    let decided = own_issuer(&app)?.decide(&code, (!refuse).then_some(user));
    let decided = decided.ok_or_else(|| Problem::not_found(NOTHING_WAITS))?;
    Ok(Json(json!(decided)))
}

fn redirect_to(to: &str) -> Response {
    let Ok(to) = HeaderValue::from_str(to) else {
        return bad_request_page(UNREADABLE_BODY);
    };
    let headers = [
        (CACHE_CONTROL, "no-store"),
        (REFERRER_POLICY, "no-referrer"),
    ];
    (StatusCode::SEE_OTHER, headers, [(LOCATION, to)]).into_response()
}

fn bad_request_page(error: OauthError) -> Response {
    message_page(StatusCode::BAD_REQUEST, "Not understood", error.detail)
}

fn message_page(status: StatusCode, title: &str, detail: &str) -> Response {
    html_page(status, title, &format!("<p>{}</p>", escape_html(detail)))
}

/// Renders a page without script, style, frame or foreign content.
fn html_page(status: StatusCode, title: &str, body: &str) -> Response {
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

/// Escapes a text for HTML; invisible characters are shown by their code point.
fn escape_html(text: &str) -> String {
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
