//! The page of those who operate the service: health, people, what is published, reviews, the audit
//! log. What is published, reviewed and settled is changed by the store as the operator whose token
//! signed in; tokens are revoked in the file or table of this service.
//!
//! The token is the sign-in, in a cookie that no script reads: it is looked up for each request, so
//! that any node serves it, and one that is revoked opens nothing any more. A link of `reprise
//! global open` is an invitation, which gives a token of its own.

mod tables;

use axum::Router;
use axum::extract::{Form, Path, Query, Request, State};
use axum::http::header::{COOKIE, ORIGIN, SET_COOKIE};
use axum::http::{HeaderMap, Method, StatusCode};
use axum::middleware;
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use reprise_global::{
    AuditLine, Caller, OrganisationSettings, QuotaChange, SubmissionVerdict, TakeDown,
};
use reprise_operations::{Problem, ProblemKind, Right};
use reprise_page::{
    ADMIN_ASSETS, AdminPage, build_admin_asset_router, guard_admin_request, is_look_ahead,
    render_admin_page, render_admin_sign_in, send_on_signed_in,
};
use reprise_types::{Clock, RecordId, SystemClock, sha256_hex};
use serde::Deserialize;

use super::context::ServiceState;
use super::operate::{is_of_organisation, set_quota, token_problem};
use super::people::AuthenticatedCaller;
use crate::tokens::{Scope, TokenError};

/// Begins the addresses of the page.
const HEALTH: &str = "/admin";
const PEOPLE: &str = "/admin/people";
const PUBLISHED: &str = "/admin/published";
const REVIEWS: &str = "/admin/reviews";
const QUOTAS: &str = "/admin/quotas";
const AUDIT: &str = "/admin/audit";
const TABS: [(&str, &str); 6] = [
    (HEALTH, "Health"),
    (PEOPLE, "People"),
    (PUBLISHED, "Published"),
    (REVIEWS, "Reviews"),
    (QUOTAS, "Quotas"),
    (AUDIT, "Audit log"),
];
const SIGN_IN: &str = "/admin/sign-in";
const SIGN_OUT: &str = "/admin/sign-out";
/// Where a link of `reprise global open` leads.
const ENTER: &str = "/admin/enter/{code}";
const REVOKE: &str = "/admin/people/revoke";
const REMOVE: &str = "/admin/people/remove";
const TAKE_DOWN: &str = "/admin/published/take-down";
const PUT_BACK: &str = "/admin/published/put-back";
const APPROVE: &str = "/admin/reviews/approve";
const REFUSE: &str = "/admin/reviews/refuse";
const ASK_FOR_REVIEWS: &str = "/admin/reviews/settings";
const SET_QUOTA: &str = "/admin/quotas/set";

const COOKIE_NAME: &str = "reprise-operator";
/// Seconds for which a browser keeps a sign-in.
const COOKIE_SECONDS: u32 = 12 * 60 * 60;
/// Longest token that fits a cookie.
const TOKEN_BYTES_MAX: usize = 3_500;

/// Returns whether a path is of the page, which has a sign-in of its own.
pub(super) fn is_of_page(path: &str) -> bool {
    let below = |folder: &str| path.strip_prefix(folder);
    below(HEALTH).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        || path.starts_with(ADMIN_ASSETS)
}

pub(super) fn router() -> Router<ServiceState> {
    let shown = TABS.iter().fold(Router::new(), |router, (path, _)| {
        router.route(path, get(show_tab))
    });
    shown
        .route(SIGN_IN, post(sign_in))
        .route(SIGN_OUT, post(sign_out))
        .route(ENTER, get(follow_link))
        .merge(
            [
                REVOKE,
                REMOVE,
                TAKE_DOWN,
                PUT_BACK,
                APPROVE,
                REFUSE,
                ASK_FOR_REVIEWS,
                SET_QUOTA,
            ]
            .iter()
            .fold(Router::new(), |router, path| {
                router.route(path, post(change))
            }),
        )
        .merge(build_admin_asset_router())
        .layer(middleware::from_fn(guard_admin_request))
}

/// An operator who has signed in.
struct Operator {
    known: AuthenticatedCaller,
    form_token: String,
}

/// Returns what ties a form to the sign-in by a token.
fn form_token(token: &str) -> String {
    sha256_hex(format!("a form of {token}").as_bytes())
}

async fn authenticate_operator(state: &ServiceState, token: &str) -> Result<Operator, Problem> {
    let known = state.authenticate(Some(token)).await?;
    state.rates.take(&known.name)?;
    if !known.may.contains(&Right::Operate) {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "This token may not operate. Make one with `reprise global token add NAME --user USER \
             --may read,operate`.",
        ));
    }
    Ok(Operator {
        known,
        form_token: form_token(token),
    })
}

/// Returns the token in the cookie of a sign-in.
fn find_cookie_token(headers: &HeaderMap) -> Option<&str> {
    let cookies = headers.get_all(COOKIE).into_iter();
    let cookies = cookies.filter_map(|value| value.to_str().ok());
    let mut pairs = cookies.flat_map(|value| value.split(';'));
    pairs.find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        (name == COOKIE_NAME).then_some(value)
    })
}

/// Finds who signed in; otherwise the page on which to do so.
async fn find_operator(state: &ServiceState, headers: &HeaderMap) -> Result<Operator, Response> {
    let Some(token) = find_cookie_token(headers) else {
        let page = render_admin_sign_in(SIGN_IN, None);
        return Err((StatusCode::UNAUTHORIZED, page).into_response());
    };
    let known = authenticate_operator(state, token).await;
    known.map_err(|problem| refuse_sign_in(&problem))
}

/// Marks a response as one to this operator, for the access log.
fn mark_operator(mut response: Response, operator: &Operator) -> Response {
    response.extensions_mut().insert(operator.known.clone());
    response
}

fn refuse_sign_in(problem: &Problem) -> Response {
    let status = StatusCode::from_u16(problem.kind.status());
    let page = render_admin_sign_in(SIGN_IN, Some(&problem.detail));
    (status.unwrap_or(StatusCode::UNAUTHORIZED), page).into_response()
}

#[derive(Deserialize)]
struct SignInForm {
    token: String,
}

async fn sign_in(
    State(state): State<ServiceState>,
    headers: HeaderMap,
    Form(form): Form<SignInForm>,
) -> Response {
    let token = form.token.trim();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.~+/=".contains(c);
    if token.len() > TOKEN_BYTES_MAX || !token.chars().all(is_plain) {
        return refuse_sign_in(&Problem::invalid(
            "That is no token, or too long a one for a browser; `reprise global token add` makes one.",
        ));
    }
    match authenticate_operator(&state, token).await {
        Ok(operator) => {
            let cookie = [(SET_COOKIE, sign_in_cookie(&headers, token))];
            mark_operator((cookie, Redirect::to(HEALTH)).into_response(), &operator)
        }
        Err(problem) => refuse_sign_in(&problem),
    }
}

fn sign_in_cookie(headers: &HeaderMap, token: &str) -> String {
    // A proxy that ends TLS says so; a browser says where a form comes from.
    let says = |name: &str, beginning: &str| {
        let value = headers.get(name).and_then(|value| value.to_str().ok());
        value.is_some_and(|value| value.starts_with(beginning))
    };
    let is_safe = says(ORIGIN.as_str(), "https://") || says("x-forwarded-proto", "https");
    let secure = if is_safe { "; Secure" } else { "" };
    format!(
        "{COOKIE_NAME}={token}; Path=/admin; HttpOnly; SameSite=Strict; \
         Max-Age={COOKIE_SECONDS}{secure}"
    )
}

/// Signs in by a link, once.
async fn follow_link(
    State(state): State<ServiceState>,
    Path(code): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    if is_look_ahead(&method, &headers) {
        return StatusCode::NO_CONTENT.into_response();
    }
    match state.tokens.accept_sign_in(&code).await {
        Ok(token) => send_on_signed_in(&headers, sign_in_cookie(&headers, &token), HEALTH),
        Err(TokenError::NotInvited) => refuse_sign_in(&Problem::new(
            ProblemKind::Unauthorized,
            "This link was followed already, or is over. Run `reprise global open` for a new one.",
        )),
        Err(error) => refuse_sign_in(&token_problem(&error)),
    }
}

async fn sign_out(State(state): State<ServiceState>, headers: HeaderMap) -> Response {
    if let Some(token) = find_cookie_token(&headers)
        && let Err(error) = state.tokens.end_sign_in(token).await
    {
        tracing::warn!(%error, "the sign-in of a browser was not ended; it ends by itself");
    }
    let cookie = format!("{COOKIE_NAME}=; Path=/admin; HttpOnly; SameSite=Strict; Max-Age=0");
    ([(SET_COOKIE, cookie)], Redirect::to(HEALTH)).into_response()
}

#[derive(Default, Deserialize)]
struct ShownAfter {
    /// Whether something was just done.
    #[serde(default)]
    done: bool,
}

async fn show_tab(
    State(state): State<ServiceState>,
    Query(after): Query<ShownAfter>,
    request: Request,
) -> Response {
    let path = request.uri().path().to_owned();
    match find_operator(&state, request.headers()).await {
        Ok(operator) => {
            let notice = after.done.then_some("Done.");
            let shown = render_tab(&state, &operator, &path, notice).await;
            mark_operator(shown, &operator)
        }
        Err(refused) => refused,
    }
}

async fn render_tab(
    state: &ServiceState,
    operator: &Operator,
    path: &str,
    notice: Option<&str>,
) -> Response {
    let tab = TABS.iter().find(|(tab, _)| *tab == path);
    let tab = tab.map_or(HEALTH, |(tab, _)| *tab);
    let tables = match tab {
        PEOPLE => tables::list_people(state, operator).await,
        PUBLISHED => tables::list_published(state, operator).await,
        REVIEWS => tables::list_reviews(state, operator).await,
        QUOTAS => tables::list_quotas(state, operator).await,
        AUDIT => tables::list_audit(state, operator).await,
        _ => Ok(tables::list_health(state).await),
    };
    let (tables, failed) = match tables {
        Ok(tables) => (tables, None),
        Err(problem) => (Vec::new(), Some(problem.detail)),
    };
    let caller = &operator.known.caller;
    let named = match &caller.org {
        Some(org) => format!("{} of {org}", caller.user),
        None => caller.user.to_string(),
    };
    let page = AdminPage {
        tabs: &TABS,
        tab,
        operator: &named,
        sign_out: SIGN_OUT,
        form_token: &operator.form_token,
        notice: failed.as_deref().or(notice),
        tables: &tables,
    };
    render_admin_page(&page).into_response()
}

#[derive(Deserialize)]
struct ChangeForm {
    form_token: String,
    subject: String,
    #[serde(default)]
    reason: String,
    /// The name of the subject once more, where that is asked for.
    #[serde(default)]
    confirm: String,
    /// Limits; nothing is no limit.
    #[serde(default)]
    things: String,
    #[serde(default)]
    bytes: String,
}

/// Reads a limit; nothing is none.
fn parse_limit(text: &str) -> Result<Option<u64>, Problem> {
    let text = text.trim();
    if text.is_empty() {
        return Ok(None);
    }
    text.parse().map(Some).map_err(|_| {
        let said = "a limit is a number in digits alone; leave it empty for no limit";
        Problem::invalid(said)
    })
}

async fn change(
    State(state): State<ServiceState>,
    headers: HeaderMap,
    uri: axum::http::Uri,
    Form(form): Form<ChangeForm>,
) -> Response {
    let operator = match find_operator(&state, &headers).await {
        Ok(operator) => operator,
        Err(refused) => return refused,
    };
    let tab = uri.path().rsplit_once('/').map_or(HEALTH, |(tab, _)| tab);
    let tab = if uri.path() == PUT_BACK { AUDIT } else { tab };
    let done = if form.form_token == operator.form_token {
        carry_out(&state, &operator, uri.path(), &form).await
    } else {
        Err(Problem::new(
            ProblemKind::Forbidden,
            "This form is of an earlier sign-in. Send it again.",
        ))
    };
    let response = match done {
        Ok(()) => Redirect::to(&format!("{tab}?done=true")).into_response(),
        Err(problem) => {
            let status = StatusCode::from_u16(problem.kind.status());
            let shown = render_tab(&state, &operator, tab, Some(&problem.detail)).await;
            (status.unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), shown).into_response()
        }
    };
    mark_operator(response, &operator)
}

async fn carry_out(
    state: &ServiceState,
    operator: &Operator,
    act: &str,
    form: &ChangeForm,
) -> Result<(), Problem> {
    let (store, caller) = (|| state.store.get(), &operator.known.caller);
    let id = || form.subject.parse::<RecordId>().map_err(Problem::invalid);
    match act {
        REVOKE => revoke(state, caller, |name, _| name == form.subject).await,
        REMOVE if form.confirm != form.subject => Err(Problem::new(
            ProblemKind::Conflict,
            "Nobody was removed: the name that was typed is another one.",
        )),
        REMOVE => revoke(state, caller, |_, user| user == form.subject).await,
        TAKE_DOWN => {
            let order = TakeDown {
                reason: form.reason.clone(),
                leaked: false,
            };
            Ok(store()?.take_down(caller, id()?, &order).await.map(drop)?)
        }
        PUT_BACK => Ok(store()?.put_back(caller, id()?).await.map(drop)?),
        APPROVE | REFUSE => {
            if !operator.known.may.contains(&Right::Review) {
                let said = "This token may not review. Ask for one with the right `review`.";
                return Err(Problem::new(ProblemKind::Forbidden, said));
            }
            let verdict = SubmissionVerdict {
                approve: act == APPROVE,
                reason: Some(form.reason.clone()).filter(|reason| !reason.is_empty()),
            };
            verdict.check()?;
            let done = store()?.review_submission(caller, id()?, &verdict).await;
            Ok(done.map(drop)?)
        }
        ASK_FOR_REVIEWS => {
            let settings = OrganisationSettings {
                review: form.subject == "on",
            };
            Ok(store()?
                .change_organisation(caller, settings)
                .await
                .map(drop)?)
        }
        SET_QUOTA => {
            let change = QuotaChange {
                holder: form.subject.clone(),
                things: parse_limit(&form.things)?,
                bytes: parse_limit(&form.bytes)?,
            };
            set_quota(state, caller, &change).await.map(drop)
        }
        _ => Err(Problem::new(
            ProblemKind::NotFound,
            "There is no such change.",
        )),
    }
}

/// Revokes the tokens of the operator's organisation that are meant, by name and user.
async fn revoke(
    state: &ServiceState,
    operator: &Caller,
    is_meant: impl Fn(&str, &str) -> bool,
) -> Result<(), Problem> {
    let mut count = 0;
    for known in state
        .tokens
        .list()
        .await
        .map_err(|error| token_problem(&error))?
    {
        let entry = known.entry;
        let (Scope::User(user), Some(grant)) = (entry.scope, entry.grant) else {
            continue;
        };
        let is_own = is_of_organisation(operator, grant.org.as_deref());
        if is_own && is_meant(&entry.name, user.as_str()) {
            let line = AuditLine {
                name: Some(entry.name.clone()),
                about: Some(user),
                ..AuditLine::new(SystemClock.now(), operator.user.as_str(), "revoke")
            };
            state
                .tokens
                .revoke(&entry.name, line)
                .await
                .map_err(|error| token_problem(&error))?;
            count += 1;
        }
    }
    if count == 0 {
        let said = "There is no such token in your organisation. Reload the page.";
        return Err(Problem::new(ProblemKind::NotFound, said));
    }
    Ok(())
}
