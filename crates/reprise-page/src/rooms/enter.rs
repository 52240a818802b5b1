//! The way in by a one-time link, the way out, from one user's memory to another's, and what
//! changes while somebody looks.

use std::convert::Infallible;

use axum::extract::Path;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, Method};
use axum::response::sse::{Event, KeepAlive, Sse};
use maud::DOCTYPE;
use reprise_types::UserId;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::prelude::*;
use crate::shell;

/// Changes that wait for one tab to take them.
const CHANGES_WAITING: usize = 64;

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
    let Some(session) = page.door().enter(&secret, page.now()) else {
        let said = "A link lets in once, within two minutes. Run `reprise open` for a new one.";
        let expired = shell::alone("This link has expired", said);
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
                title { "Signed in" }
                meta http-equiv="refresh" content="0; url=/";
            }
            body { p { "The page opens in a moment. " a href="/" { "Home" } } }
        }
    };
    (cookie, moved).into_response()
}

pub(crate) async fn leave(posted: Posted) -> Answer<Response> {
    posted.visit.page.door().leave(&posted.visit);
    let cookie = [(SET_COOKIE, posted.visit.page.cookie(None))];
    let said = "Run `reprise open` on this machine to sign in again.";
    Ok((cookie, shell::alone("Signed out", said)).into_response())
}

/// Whose memories there are, for whoever owns the machine.
pub(crate) async fn users(visit: Visit) -> Answer<Markup> {
    if !visit.operator {
        return Err(Trouble::new(
            StatusCode::FORBIDDEN,
            "This session is for one memory; `reprise open --all-users` begins one that goes from \
             user to user.",
        ));
    }
    let users = visit.page.host().users().await?;
    // Going on to another memory changes nothing in any: a session that may only read can, too.
    let go = |user: &str| {
        html! {
            form method="post" action=(shell::SWITCH) {
                (shell::token(&visit))
                input type="hidden" name="user" value=(user);
                button aria-label=(format!("Go to the memory of {user}")) { "Go" }
            }
        }
    };
    let body = html! {
        (table("Users", &["User", "File", "Go"], users.iter().map(|one| html! {
            td { b { (text::line(&one.user, 80)) } }
            td class="number" { (text::size(one.bytes)) }
            td { @if one.user == visit.user.as_str() { "here" } @else { (go(&one.user)) } }
        })))
    };
    Ok(room(&visit, "/users", "Users", &body))
}

pub(crate) async fn switch(posted: Posted) -> Answer<Redirect> {
    let user: UserId = posted.read("user")?;
    let known = posted.visit.page.host().users().await?;
    if !posted.visit.operator || !known.iter().any(|one| one.user == user.as_str()) {
        return Err(Trouble::new(
            StatusCode::FORBIDDEN,
            "This session may not go to that memory, or there is none; the list of users has those \
             there are.",
        ));
    }
    let switched = posted.visit.page.door().switch(&posted.visit, user);
    switched
        .map_err(|error| Trouble::invalid(format!("The system gave no random bytes ({error}).")))?;
    Ok(Redirect::to("/"))
}

/// Server-sent events that say that something changed, and not what.
pub(crate) async fn live(visit: Visit) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, told) = mpsc::channel(CHANGES_WAITING);
    let mut changes = visit.page.memories().listen();
    let mut recalls = visit.page.memories().listen_to_recalls();
    tokio::spawn(async move {
        loop {
            let change = tokio::select! {
                change = changes.recv() => change.map(|change| (change.user, change.what)),
                asked = recalls.recv() => asked.map(|whose| (whose, "recalled")),
                () = visit.page.host().ending() => return,
                () = sender.closed() => return,
            };
            let what = match change {
                Ok((whose, _)) if whose != visit.user => continue,
                Ok((_, what)) => what,
                Err(RecvError::Lagged(_)) => "missed",
                Err(RecvError::Closed) => return,
            };
            let event = Event::default().event("change").data(what);
            if sender.send(Ok(event)).await.is_err() {
                return;
            }
        }
    });
    Sse::new(ReceiverStream::new(told)).keep_alive(KeepAlive::default())
}
