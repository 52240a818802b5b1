//! The page's own door: a loopback address that is listened on from the first link on.
//!
//! Lives here: opening it, admission. Must never live here: a room of the page.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use axum::extract::{Extension, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use reprise_operations::{Problem, ProblemKind};
use reprise_page::Page;
use reprise_types::{Clock, UserId};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

use super::App;
use super::answers::Refusal;
use super::extract::Body;
use super::guard::OverSocket;
use crate::daemon::Asker;
use crate::page::Paged;

/// The port that is tried first, so that a bookmark holds; else a free one.
const PORT: u16 = 7340;

/// A door that is to be opened: where, and what is behind it.
pub(crate) type NewDoor = (TcpListener, Router);

/// The page, once it has been asked for.
pub(crate) struct PageDoor {
    opened: Mutex<Option<(SocketAddr, Page)>>,
    clock: Arc<dyn Clock>,
    doors: mpsc::Sender<NewDoor>,
}

impl fmt::Debug for PageDoor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageDoor").finish_non_exhaustive()
    }
}

impl PageDoor {
    /// `doors` go to whoever accepts connections.
    pub(crate) fn new(doors: mpsc::Sender<NewDoor>, clock: Arc<dyn Clock>) -> Self {
        let opened = Mutex::default();
        Self {
            opened,
            clock,
            doors,
        }
    }

    /// The page with its address, listened on.
    async fn opened(&self, app: &App) -> Result<(SocketAddr, Page), Problem> {
        let mut opened = self.opened.lock().await;
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        let listener = listen().await.map_err(|error| {
            let said =
                format!("no address of this machine can be listened on ({error}); see `ss -lt`");
            Problem::new(ProblemKind::Unavailable, said)
        })?;
        let address = listener.local_addr().map_err(Problem::invalid)?;
        let memory = Paged {
            memories: app.memories.clone(),
            clock: Arc::clone(&self.clock),
            life: Arc::clone(&app.life),
        };
        let page = Page::new(Arc::new(memory), address);
        let admitted = middleware::from_fn_with_state(app.clone(), admit);
        let router = page.router().layer(admitted);
        let sent = self.doors.send((listener, router)).await;
        sent.map_err(|_| Problem::new(ProblemKind::Unavailable, "the daemon is ending"))?;
        Ok(opened.insert((address, page)).clone())
    }
}

async fn listen() -> std::io::Result<TcpListener> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).await;
    match first {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Opening {
    user: UserId,
    #[serde(default)]
    read_only: bool,
}

/// Where a browser signs in, once.
#[derive(Debug, Serialize)]
pub(super) struct Opened {
    url: String,
    seconds: u32,
}

/// A one-time link, for programs of this machine.
pub(super) async fn open(
    State(app): State<App>,
    Extension(OverSocket(over_socket)): Extension<OverSocket>,
    Body(Opening { user, read_only }): Body<Opening>,
) -> Result<Json<Opened>, Refusal> {
    if !over_socket {
        return Err(Problem::new(
            ProblemKind::Forbidden,
            "the page is opened on the daemon's own machine; run `reprise open` there",
        )
        .into());
    }
    let (address, page) = app.page.opened(&app).await?;
    let link = page.link(user, read_only);
    Ok(Json(Opened {
        url: format!("http://{address}{}", link.path),
        seconds: link.seconds,
    }))
}

/// A browser on this machine shares the places of its other programs.
async fn admit(State(app): State<App>, request: Request, next: Next) -> Response {
    let Some(share) = app.life.requests.take(&Asker::Machine) else {
        let problem = Problem::new(
            ProblemKind::Overloaded,
            "the daemon serves as many requests as it can; load the page again in a moment",
        );
        return Refusal::from(problem).into_response();
    };
    app.life.touch();
    let response = next.run(request).await;
    app.life.touch();
    drop(share);
    app.life.served.fetch_add(1, Ordering::Relaxed);
    response
}
