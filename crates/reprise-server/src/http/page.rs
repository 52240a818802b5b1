//! A one-time link to the page.

use axum::Json;
use axum::extract::{Extension, Request, State};
use reprise_operations::{Bounds, Problem, ProblemKind};
use reprise_page::Grant;
use reprise_types::UserId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::answers::Refusal;
use super::app::App;
use super::extract::object;
use super::guard::OverSocket;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Opening {
    user: UserId,
    #[serde(default)]
    read_only: bool,
    /// Whether it may go on to the memories of other users.
    #[serde(default)]
    operator: bool,
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
    Extension(over_socket): Extension<OverSocket>,
    request: Request,
) -> Result<Json<Opened>, Refusal> {
    let said = "the page is opened on the daemon's own machine; run `reprise open` there";
    over_socket.needed(said)?;
    let room = Bounds::of::<Opening>().room();
    let Opening {
        user,
        read_only,
        operator,
    } = object(request, &app, room).await?;
    let (address, page) = app.page.opened(&app.memories, &app.life).await?;
    let grant = Grant {
        user,
        read_only,
        operator,
    };
    let link = page.link(grant).map_err(|error| {
        let why = format!("the system gave no random bytes for a link ({error}); try again");
        Problem::new(ProblemKind::Internal, why)
    })?;
    Ok(Json(Opened {
        url: format!("http://{address}{}", link.path),
        seconds: link.seconds,
    }))
}
