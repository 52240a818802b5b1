//! Who may ask for what: the token, its right, and how fast a user and an organisation may ask. And
//! who asked, a line each.
//!
//! A line names the route and never its path, no text, no body; a request has an id that its answer
//! carries, so that a user's complaint leads to its line.

use std::time::{Duration, Instant};

use axum::extract::{MatchedPath, Request, State};
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};
use reprise_operations::{Problem, ProblemKind, Right};
use reprise_types::{Clock as _, SystemClock, system_entropy};
use serde_json::json;
use tokio::sync::watch;

use super::admin;
use super::bodies::drop_body;
use super::context::{AccessLog, ServiceState};
use super::operations::{JOIN, QUERY, ROUTES};
use super::people::AuthenticatedCaller;
use super::service_route::ServiceRoute;
use crate::http::{Refusal, bearer, wrong_method_problem};

const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");
/// Longest id that is taken over from a caller.
const ID_BYTES_MAX: usize = 64;

/// The id that a caller gave, where it is one, else a new one.
fn request_id_or_new(headers: &HeaderMap) -> String {
    let given = headers.get(REQUEST_ID).and_then(|id| id.to_str().ok());
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let given =
        given.filter(|id| (1..=ID_BYTES_MAX).contains(&id.len()) && id.chars().all(is_plain));
    given.map_or_else(|| format!("{:032x}", system_entropy()), str::to_owned)
}

/// Names the request, and writes its line once it is answered.
pub(super) async fn serve_and_log(
    State(lines): State<Option<AccessLog>>,
    request: Request,
    next: Next,
) -> Response {
    let id = request_id_or_new(request.headers());
    let route = request.extensions().get::<MatchedPath>();
    let route = route.map_or("none", MatchedPath::as_str).to_owned();
    let method = request.method().clone();
    let length = |headers: &HeaderMap| -> Option<u64> {
        let length = headers.get(axum::http::header::CONTENT_LENGTH)?;
        length.to_str().ok()?.parse().ok()
    };
    let (began, sent) = (Instant::now(), length(request.headers()));
    let mut response = next.run(request).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID, value);
    }
    if let Some(lines) = lines {
        let known = response.extensions().get::<AuthenticatedCaller>();
        let caller = known.map(|known| &known.caller);
        let line = json!({
            "at": SystemClock.now(),
            "request": id,
            "user": caller.map(|caller| &caller.user),
            "org": caller.and_then(|caller| caller.org.as_ref()),
            "token": known.map(|known| &known.name),
            "method": method.as_str(),
            "route": route,
            "status": response.status().as_u16(),
            "ms": began.elapsed().as_secs_f64() * 1e3,
            "bytes_in": sent,
            "bytes_out": length(response.headers()),
        });
        lines(&line.to_string());
    }
    response
}

/// The header by which a caller says for how many milliseconds it waits for the answer.
pub const DEADLINE_HEADER: &str = "x-reprise-deadline-ms";
/// Longest deadline that is believed.
const DEADLINE_MAX: Duration = Duration::from_mins(10);

/// For how long the caller of a question waits: until a moment, and as long as it is connected.
#[derive(Debug, Clone)]
struct CallerPatience {
    wait: Option<Duration>,
    until: Option<Instant>,
    /// Closed once the caller has left.
    connected: watch::Receiver<()>,
}

impl CallerPatience {
    fn new(headers: &HeaderMap, connected: watch::Receiver<()>) -> Self {
        let given = headers.get(DEADLINE_HEADER);
        let given = given.and_then(|value| value.to_str().ok()?.parse().ok());
        let wait = given.map(|ms| Duration::from_millis(ms).min(DEADLINE_MAX));
        let until = wait.map(|wait| Instant::now() + wait);
        Self {
            wait,
            until,
            connected,
        }
    }

    /// Waits until nobody waits for the answer any more.
    async fn wait_for_end(self) {
        let Self {
            until,
            mut connected,
            ..
        } = self;
        let late = async {
            match until {
                Some(until) => tokio::time::sleep_until(until.into()).await,
                None => std::future::pending().await,
            }
        };
        let left = async { while connected.changed().await.is_ok() {} };
        tokio::select! {
            () = late => {}
            () = left => {}
        }
    }
}

/// Returns whether a request changes nothing, so that it may be refused or dropped at any time.
fn is_question(request: &Request) -> bool {
    request.method() == Method::GET || request.uri().path() == QUERY
}

async fn refuse_overload(request: Request) -> Response {
    drop_body(request).await;
    let said = "the service answers as many requests as it can; try again in a moment";
    Refusal::from(Problem::new(ProblemKind::Overloaded, said)).into_response()
}

/// Drops a question for whose answer nobody waits any more. A change that has begun is finished.
pub(super) async fn serve_unless_abandoned(request: Request, next: Next) -> Response {
    let is_question = is_question(&request);
    let patience = request.extensions().get::<CallerPatience>().cloned();
    let Some(patience) = patience.filter(|_| is_question) else {
        return next.run(request).await;
    };
    tokio::select! {
        response = next.run(request) => response,
        () = patience.wait_for_end() => {
            let said = "the answer would come later than the caller waits; ask again in a moment";
            Refusal::from(Problem::new(ProblemKind::TimedOut, said)).into_response()
        }
    }
}

/// Token, rate, right and a place, in this order.
pub(super) async fn admit(
    State(state): State<ServiceState>,
    mut request: Request,
    next: Next,
) -> Response {
    let path = request.uri().path();
    if path.starts_with("/health/") || path == "/openapi.json" {
        return next.run(request).await;
    }
    // The token is looked for where the store is: not by more than are served at once.
    let Ok(place) = state.places.try_acquire() else {
        return refuse_overload(request).await;
    };
    // Dropped with this call: by that the worker sees that the caller has left.
    let (_connected, connection) = watch::channel(());
    let patience = CallerPatience::new(request.headers(), connection);
    if admin::is_of_page(path) || path == JOIN && request.method() == Method::POST {
        // An invitation is no token yet, and the page of the operators has its token in a cookie.
        return next.run(request).await;
    }
    // Who watches the service is told of an overload, too.
    let is_limited = is_question(&request) && path != "/metrics";
    // Before the token is looked up, which asks the database: most of a flood costs no more than
    // this.
    if is_limited && !state.questions.has_room(patience.wait) {
        drop(place);
        return refuse_overload(request).await;
    }
    // The body is not read yet: nothing waits for it before the token is checked.
    let token = bearer(request.headers()).map(str::to_owned);
    let admitted = match state.authenticate(token.as_deref()).await {
        Ok(known) => authorise_route(&state, &known, &request).map(|route| (known, route)),
        Err(problem) => Err(problem),
    };
    let (known, route) = match admitted {
        Ok(admitted) => admitted,
        Err(problem) => {
            tracing::warn!(%problem, "a request was refused");
            return Refusal::from(problem).into_response();
        }
    };
    // A stranger's deadline says nothing of how long answers take.
    let mut question = None;
    if is_limited {
        question = state.questions.admit(patience.wait, Instant::now());
        if question.is_none() {
            drop(place);
            return refuse_overload(request).await;
        }
    }
    let mut response = match state.minutes.take(&known.caller) {
        Ok(()) => {
            request.extensions_mut().insert(known.caller.clone());
            request.extensions_mut().insert(patience);
            if let Some(route) = route {
                request.extensions_mut().insert(route);
            }
            next.run(request).await
        }
        Err(refused) => refused.into_response(),
    };
    response.extensions_mut().insert(known);
    if let Some(question) = question.as_mut().filter(|_| response.status().is_success()) {
        question.mark_answered();
    }
    response
}

/// By which route it is asked; by none where there is no such path.
fn authorise_route(
    state: &ServiceState,
    known: &AuthenticatedCaller,
    request: &Request,
) -> Result<Option<&'static ServiceRoute>, Problem> {
    state.rates.take(&known.name)?;
    let matched = request.extensions().get::<MatchedPath>();
    let matched = matched.map(MatchedPath::as_str);
    let method = request.method().as_str();
    let is_it =
        |route: &&ServiceRoute| route.method().name() == method && Some(route.path()) == matched;
    let route = ROUTES.iter().find(is_it);
    if matched.is_some() && route.is_none() {
        return Err(wrong_method_problem());
    }
    let is_open = |right: Option<Right>| right.is_some_and(|right| known.may.contains(&right));
    if route.is_some_and(|route| !is_open(route.right())) {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "this token does not open this operation; `reprise global token list` says what it may",
        ));
    }
    let asks = request.uri().query().is_some_and(|query| !query.is_empty());
    if asks && route.is_some_and(|route| !route.has_query) {
        let said = "the route takes no parameters in its address; see /openapi.json";
        return Err(Problem::invalid(said));
    }
    Ok(route)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_over_where_it_is_one() {
        let of = |id: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(REQUEST_ID, HeaderValue::from_str(id).unwrap());
            request_id_or_new(&headers)
        };
        assert_eq!(of("a1-b2"), "a1-b2");
        for odd in ["", "a b", "a\"b", &"x".repeat(65)] {
            let made = of(odd);
            assert!(made.len() == 32 && made != *odd, "{made}");
        }
    }
}
