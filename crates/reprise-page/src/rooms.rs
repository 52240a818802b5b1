//! The rooms of the page, a file each, and the addresses that they answer at.

mod agents;
mod ask;
mod care;
mod change;
mod enter;
mod home;
mod inventory;
mod learning;
mod map;
mod memory;
mod narrow;
mod publish;
mod record;
mod review;
mod why_not;
mod workspace;

use axum::Router;
use axum::routing::{get, post};

use crate::page::Page;
use crate::{assets, shell, undo};

impl Page {
    /// Every room.
    pub fn router(&self) -> Router {
        self.guarded(router())
    }
}

fn router() -> Router<Page> {
    Router::new()
        .route("/", get(home::show))
        .route("/needs", get(home::needs))
        .route("/timeline", get(memory::timeline))
        .route("/knowledge", get(memory::knowledge))
        .route("/knowledge/merge", post(memory::merge))
        .route("/projects", get(memory::projects))
        .route("/map", get(map::show))
        .route("/map/around", get(map::around))
        .route("/search", get(ask::show))
        .route("/search/judge", post(ask::judge))
        .route("/prompts", get(agents::show))
        .route("/prompts/{id}", get(agents::replay))
        .route("/activity", get(agents::activity))
        .route("/learning", get(learning::show).post(learning::switch))
        .route("/learning/withdraw", post(learning::withdraw))
        .route("/records/{id}", get(record::show))
        .route("/records/{id}/correct", post(change::correct))
        .route("/records/{id}/tags", post(change::tag))
        .route("/records/{id}/standing", post(change::stand))
        .route("/records/{id}/link", post(change::link))
        .route("/records/{id}/unlink", post(change::unlink))
        .route(
            "/records/{id}/forget",
            get(change::ask).post(change::forget),
        )
        .route(
            "/records/{id}/publish",
            get(publish::ask).post(publish::publish),
        )
        .route("/many", post(change::many))
        .route("/forgotten/{number}", get(change::forgotten))
        .route("/erase", post(change::erase))
        .route("/undo", post(undo::undo))
        .route("/done", get(review::done))
        .route("/knowledge/review", get(review::show))
        .route("/knowledge/answer", post(review::answer))
        .route(
            "/knowledge/tidy",
            get(review::tidying).post(review::consolidate),
        )
        .route("/knowledge/consolidate", post(review::consolidate))
        .route("/knowledge/undo", post(review::undo_action))
        .route("/workspace", get(workspace::show))
        .route("/workspace/approve", post(workspace::approve))
        .route("/workspace/decline", post(workspace::decline))
        .route("/workspace/merge", post(workspace::merge))
        .route("/workspace/recover", post(workspace::recover))
        .route("/global", get(publish::show))
        .route("/global/{id}", get(publish::thing))
        .route("/global/unpublish", post(publish::unpublish))
        .route("/care", get(care::show))
        .route("/care/audit", get(care::audit))
        .route("/care/backup", get(care::backup))
        .route("/care/tokens", post(care::add_token))
        .route("/care/tokens/revoke", post(care::revoke_token))
        .route("/users", get(enter::users))
        .route(shell::SWITCH, post(enter::switch))
        .route("/inventory", get(inventory::show))
        .route("/live", get(enter::live))
        .route("/enter/{secret}", get(enter::enter))
        .route(shell::SIGN_OUT, post(enter::leave))
        .route("/assets/{version}/{name}", get(assets::serve))
}
