//! Signing in by a one-time link, signing out, switching users, and the stream of changes to open
//! pages.

use std::convert::Infallible;

use axum::extract::Path;
use axum::http::header::SET_COOKIE;
use axum::http::{HeaderMap, Method};
use axum::response::sse::{Event, KeepAlive, Sse};
use reprise_types::UserId;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::mpsc;
use tokio_stream::Stream;
use tokio_stream::wrappers::ReceiverStream;

use crate::guard::{is_look_ahead, send_on_signed_in};
use crate::prelude::*;
use crate::shell;

/// Most changes that wait for one tab.
const CHANGES_WAITING: usize = 64;

/// Signs in by a link. A prefetch or a HEAD request does not use it up.
pub(crate) async fn follow_link(
    State(page): State<WebPage>,
    Path(secret): Path<String>,
    method: Method,
    headers: HeaderMap,
) -> Response {
    if is_look_ahead(&method, &headers) {
        return StatusCode::NO_CONTENT.into_response();
    }
    let Some(session) = page.sessions().redeem_link(&secret, page.now()) else {
        let sentence = "A link works once, within two minutes. Run `reprise open` for a new one.";
        let expired = shell::render_standalone("This link has expired", sentence);
        return (StatusCode::GONE, expired).into_response();
    };
    send_on_signed_in(&headers, page.session_cookie(Some(&session)), "/")
}

pub(crate) async fn sign_out(posted: Posted) -> PageResult<Response> {
    posted.visit.page.sessions().end_session(&posted.visit);
    let cookie = [(SET_COOKIE, posted.visit.page.session_cookie(None))];
    let sentence = "Run `reprise open` on this machine to sign in again.";
    Ok((cookie, shell::render_standalone("Signed out", sentence)).into_response())
}

/// Shows the users of this machine, for its owner.
pub(crate) async fn show_users(visit: PageRequest) -> PageResult<Markup> {
    if !visit.operator {
        return Err(PageError::new(
            StatusCode::FORBIDDEN,
            "This sign-in is for one user's memory. To switch between users, run \
             `reprise open --all-users`.",
        ));
    }
    let users = visit.page.host().users().await?;
    // Going on to another memory changes nothing in any: a session that may only read can, too.
    let go = |user: &str| {
        html! {
            form method="post" action=(shell::SWITCH) {
                (shell::render_form_token_field(&visit))
                input type="hidden" name="user" value=(user);
                button aria-label=(format!("Switch to the memory of {user}")) { "Switch user" }
            }
        }
    };
    let body = html! {
        (table("Users", &["User", "File size", "Switch"], users.iter().map(|one| html! {
            td { b { (text::shorten(&one.user, 80)) } }
            td class="number" { (text::format_size(one.bytes)) }
            td { @if one.user == visit.user.as_str() { "current" } @else { (go(&one.user)) } }
        })))
    };
    Ok(render_page(&visit, "/users", "Users", &body))
}

pub(crate) async fn switch_user(posted: Posted) -> PageResult<Redirect> {
    let user: UserId = posted.parse_value("user")?;
    let known = posted.visit.page.host().users().await?;
    if !posted.visit.operator || !known.iter().any(|one| one.user == user.as_str()) {
        return Err(PageError::new(
            StatusCode::FORBIDDEN,
            "You cannot switch to this user's memory, or there is none. The users page lists the \
             users.",
        ));
    }
    let switched = posted
        .visit
        .page
        .sessions()
        .switch_user(&posted.visit, user);
    switched.map_err(|error| {
        PageError::invalid(format!(
            "The system returned no random bytes ({error}). Try again."
        ))
    })?;
    Ok(Redirect::to("/"))
}

/// Streams server-sent events which say that something changed, without its content.
pub(crate) async fn stream_changes(
    visit: PageRequest,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let (sender, receiver) = mpsc::channel(CHANGES_WAITING);
    let mut changes = visit.page.memories().subscribe_to_changes();
    let mut recalls = visit.page.memories().subscribe_to_recalls();
    tokio::spawn(async move {
        loop {
            let change = tokio::select! {
                change = changes.recv() => change.map(|change| (change.user, change.what)),
                recall = recalls.recv() => recall.map(|whose| (whose, "recalled")),
                () = visit.page.host().wait_for_end() => return,
                () = sender.closed() => return,
            };
            let what = match change {
                Ok((whose, _)) if whose != visit.user => continue,
                Ok((_, what)) => what,
                Err(RecvError::Lagged(_)) => "missed",
                Err(RecvError::Closed) => return,
            };
            if !visit.page.sessions().is_open(&visit) {
                return;
            }
            let event = Event::default().event("change").data(what);
            if sender.send(Ok(event)).await.is_err() {
                return;
            }
        }
    });
    Sse::new(ReceiverStream::new(receiver)).keep_alive(KeepAlive::default())
}
