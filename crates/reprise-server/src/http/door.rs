//! The page's own door: a loopback address that is listened on from the first link on.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use reprise_operations::{Memories, Problem, ProblemKind};
use reprise_page::Page;
use reprise_types::Clock;
use tokio::net::TcpListener;
use tokio::sync::{Mutex, mpsc};

use super::guard::placed;
use crate::daemon::{Asker, Life};
use crate::page::Paged;
use crate::tokens::TokenFile;

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
        let opened = Mutex::default();
        Self {
            opened,
            clock,
            doors,
        }
    }

    /// The page with its address, listened on.
    pub(super) async fn opened(
        &self,
        memories: &Memories,
        life: &Arc<Life>,
    ) -> Result<(SocketAddr, Page), Problem> {
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
            tokens: Arc::new(TokenFile::new(life.place.tokens())),
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
