//! The way in by a one-time link, and the way out.

use axum::extract::{Path, State};
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Redirect, Response};
use maud::{DOCTYPE, html};

use crate::page::{Answer, Page, Posted};
use crate::shell;
use crate::strings as s;

/// Follows a link. What only looks ahead (a prefetch, a HEAD) does not use it up.
pub(crate) async fn enter(
    State(page): State<Page>,
    Path(secret): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    let looks_ahead = ["purpose", "sec-purpose"]
        .iter()
        .any(|name| headers.contains_key(*name));
    if method == Method::HEAD || looks_ahead {
        return StatusCode::NO_CONTENT.into_response();
    }
    let now = page.memory().now();
    let Some(session) = page.door().enter(&secret, now) else {
        let expired = shell::alone(s::EXPIRED_TITLE, s::EXPIRED);
        return (StatusCode::GONE, expired).into_response();
    };
    let cookie = [(SET_COOKIE, page.cookie(Some(&session)))];
    // After a click on another site's page the browser sends this cookie only with what this site's
    // own page asks for.
    if text("sec-fetch-site").is_none_or(|site| site == "none" || site == "same-origin") {
        return (cookie, Redirect::to("/")).into_response();
    }
    let moved = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                title { (s::ENTERING) }
                meta http-equiv="refresh" content="0; url=/";
            }
            body { p { (s::ENTER) " " a href="/" { (s::TO_NOW) } } }
        }
    };
    (cookie, moved).into_response()
}

pub(crate) async fn leave(State(page): State<Page>, posted: Posted) -> Answer<Response> {
    page.door().leave(&posted.visit);
    let cookie = [(SET_COOKIE, page.cookie(None))];
    Ok((cookie, shell::alone(s::LEFT_TITLE, s::LEFT)).into_response())
}
