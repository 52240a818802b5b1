//! The page's own door: a loopback address that is listened on from the first link on.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::extract::{Extension, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::{Json, Router};
use reprise_operations::{Bounds, Problem, ProblemKind};
use reprise_page::{Grant, Page};
use reprise_types::Clock;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

use super::App;
use super::answers::Refusal;
use super::extract::object;
use super::guard::{Identity, placed};
use crate::daemon::{Asker, Life};
use crate::page::Paged;

/// The port that is tried first, so that a bookmark holds; else a free one.
pub(super) const PORT: u16 = 7340;

/// A door that is to be opened: where, and what is behind it.
pub(crate) type NewDoor = (TcpListener, Router);

/// The page, once it has been asked for.
pub(crate) struct PageDoor {
    opened: Mutex<Option<(SocketAddr, Page)>>,
    clock: Arc<dyn Clock>,
    doors: mpsc::Sender<NewDoor>,
}

reprise_types::show_fields!(PageDoor {});

impl PageDoor {
    /// `doors` go to whoever accepts connections.
    pub(crate) fn new(doors: mpsc::Sender<NewDoor>, clock: Arc<dyn Clock>) -> Self {
        Self {
            opened: Mutex::default(),
            clock,
            doors,
        }
    }

    /// The page with its address, listened on.
    async fn opened(&self, app: &App) -> Result<(SocketAddr, Page), Problem> {
        let (memories, life) = (&app.memories, &app.life);
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
        let host = Paged {
            memories: memories.clone(),
            clock: Arc::clone(&self.clock),
            life: Arc::clone(life),
            tokens: Arc::clone(&app.tokens),
        };
        let clock = Arc::clone(&self.clock);
        let page = Page::new(memories.clone(), Arc::new(host), clock, address);
        let admitted = middleware::from_fn_with_state(Arc::clone(life), admit);
        let router = page.router().layer(middleware::from_fn(super::answer));
        let router = router.layer(admitted);
        let sent = self.doors.send((listener, router)).await;
        sent.map_err(|_| Problem::new(ProblemKind::Unavailable, "the daemon is ending"))?;
        Ok(opened.insert((address, page)).clone())
    }
}

/// A one-time link for programs of this machine: where a browser signs in, once.
pub(super) async fn open(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let said = "the page is opened on the daemon's own machine; run `reprise open` there";
    identity.needs_machine(said)?;
    let room = Bounds::of::<Grant>().room();
    let grant: Grant = object(request, &app, room).await?;
    let (address, page) = app.page.opened(&app).await?;
    let link = page.link(grant).map_err(|error| {
        let why = format!("the system gave no random bytes for a link ({error}); try again");
        Problem::new(ProblemKind::Internal, why)
    })?;
    let url = format!("http://{address}{}", link.path);
    Ok(Json(json!({ "url": url, "seconds": link.seconds })))
}

pub(super) async fn listen() -> std::io::Result<TcpListener> {
    let first = TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).await;
    match first {
        Ok(listener) => Ok(listener),
        Err(_) => TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await,
    }
}

/// A browser on this machine shares the places of its other programs.
pub(super) async fn admit(State(life): State<Arc<Life>>, request: Request, next: Next) -> Response {
    let full = "the daemon serves as many requests as it can; load the page again in a moment";
    placed(&life, &Asker::Machine, full, request, next).await
}
