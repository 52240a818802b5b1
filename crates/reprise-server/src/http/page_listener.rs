//! The listener of the page: a loopback address that is opened with the first link.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Json;
use axum::extract::{Extension, Request, State};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use reprise_operations::{Bounds, Problem, ProblemKind};
use reprise_page::{PageGrant, WebPage};
use reprise_types::Clock;
use serde_json::{Value, json};
use tokio::sync::{Mutex, mpsc};

use super::App;
use super::answers::Refusal;
use super::extract::{Identity, read_json_object};
use crate::daemon::{CallerId, DaemonState, NewListener, bind_loopback};
use crate::page::DaemonPageHost;

/// Port that is tried first, so that a bookmark stays valid; else a free one is taken.
pub(super) const PREFERRED_PORT: u16 = 7340;

/// Opens the page when it is first asked for.
pub(crate) struct PageLauncher {
    open_page: Mutex<Option<(SocketAddr, WebPage)>>,
    clock: Arc<dyn Clock>,
    listeners: mpsc::Sender<NewListener>,
}

reprise_types::show_fields!(PageLauncher {});

impl PageLauncher {
    /// Returns a launcher that sends its listener over `listeners` to be accepted on.
    pub(crate) fn new(listeners: mpsc::Sender<NewListener>, clock: Arc<dyn Clock>) -> Self {
        Self {
            open_page: Mutex::default(),
            clock,
            listeners,
        }
    }

    pub(crate) fn clock(&self) -> Arc<dyn Clock> {
        Arc::clone(&self.clock)
    }

    /// Returns the page and its address; opens the listener the first time.
    async fn ensure_open(&self, app: &App) -> Result<(SocketAddr, WebPage), Problem> {
        let (memories, daemon) = (&app.memories, &app.daemon);
        let mut opened = self.open_page.lock().await;
        if let Some(opened) = &*opened {
            return Ok(opened.clone());
        }
        let listener = bind_loopback(PREFERRED_PORT).await.map_err(|error| {
            let detail =
                format!("no address of this machine can be listened on ({error}); see `ss -lt`");
            Problem::new(ProblemKind::Unavailable, detail)
        })?;
        let address = listener.local_addr().map_err(Problem::invalid)?;
        let host = DaemonPageHost {
            memories: memories.clone(),
            clock: Arc::clone(&self.clock),
            daemon: Arc::clone(daemon),
            tokens: Arc::clone(&app.tokens),
            listeners: self.listeners.clone(),
        };
        let clock = Arc::clone(&self.clock);
        let page = WebPage::new(memories.clone(), Arc::new(host), clock, address);
        let admitted = middleware::from_fn_with_state(Arc::clone(daemon), acquire_local_slot);
        let router = page
            .router()
            .layer(middleware::from_fn(super::serve_on_worker_thread));
        let router = router.layer(admitted);
        let sent = self
            .listeners
            .send(NewListener(listener, Some(router)))
            .await;
        sent.map_err(|_| Problem::new(ProblemKind::Unavailable, "the daemon is ending"))?;
        Ok(opened.insert((address, page)).clone())
    }
}

/// Creates a one-time link with which a browser of this machine signs in to the page.
pub(super) async fn create_page_link(
    State(app): State<App>,
    Extension(identity): Extension<Identity>,
    request: Request,
) -> Result<Json<Value>, Refusal> {
    let detail = "the page is opened on the daemon's own machine; run `reprise open` there";
    identity.require_local(detail)?;
    let room = Bounds::get_for_type::<PageGrant>().room();
    let grant: PageGrant = read_json_object(request, &app, room).await?;
    let (address, page) = app.page.ensure_open(&app).await?;
    let link = page.create_link(grant).map_err(|error| {
        let why = format!("the system gave no random bytes for a link ({error}); try again");
        Problem::new(ProblemKind::Internal, why)
    })?;
    let url = format!("http://{address}{}", link.path);
    Ok(Json(json!({ "url": url, "seconds": link.seconds })))
}

/// Serves a browser's request with a slot of this machine's side.
pub(super) async fn acquire_local_slot(
    State(daemon): State<Arc<DaemonState>>,
    request: Request,
    next: Next,
) -> Response {
    let full = "the daemon serves as many requests as it can; load the page again in a moment";
    match daemon.begin_request(&CallerId::Machine, full) {
        Ok(_served) => next.run(request).await,
        Err(problem) => Refusal::from(problem).into_response(),
    }
}
