//! The rooms of the page and their paths.

mod asked;
mod audit;
mod care;
mod diary;
mod enter;
mod forget;
mod global;
mod hits;
mod knowledge;
mod learning;
mod list;
mod live;
mod now;
mod prompts;
mod publish;
mod record;
mod review;
mod runs;
mod search;
mod standing;
mod timeline;
mod undo;
mod versions;
mod why_not;
mod workspace;

use axum::Router;
use axum::routing::{get, post};

use crate::assets;
use crate::page::Page;
use crate::shell;

impl Page {
    /// Every room.
    pub fn router(&self) -> Router {
        self.guarded(router())
    }
}

fn router() -> Router<Page> {
    Router::new()
        .route("/", get(now::show))
        .route("/timeline", get(timeline::show))
        .route("/search", get(search::show))
        .route("/search/judge", post(search::judge))
        .route("/prompts", get(prompts::show))
        .route("/prompts/{id}", get(prompts::replay))
        .route("/records/{id}", get(record::show))
        .route("/records/{id}/correct", post(record::correct))
        .route("/records/{id}/tags", post(record::tag))
        .route("/records/{id}/standing", post(standing::stand))
        .route("/records/{id}/link", post(record::link))
        .route("/records/{id}/unlink", post(record::unlink))
        .route(
            "/records/{id}/forget",
            get(forget::ask).post(forget::forget),
        )
        .route("/forgotten/{number}", get(forget::show))
        .route("/erase", post(forget::erase))
        .route("/undo", post(undo::undo))
        .route("/knowledge", get(knowledge::show))
        .route("/knowledge/merge", post(knowledge::merge))
        .route("/knowledge/review", get(review::show))
        .route("/knowledge/answer", post(review::answer))
        .route("/knowledge/consolidate", post(review::consolidate))
        .route("/knowledge/undo", post(review::undo_action))
        .route("/learning", get(learning::show).post(learning::switch))
        .route("/workspace", get(workspace::show))
        .route("/workspace/approve", post(workspace::approve))
        .route("/workspace/decline", post(workspace::decline))
        .route("/workspace/merge", post(workspace::merge))
        .route("/workspace/recover", post(workspace::recover))
        .route("/global", get(global::show))
        .route("/global/{id}", get(global::thing))
        .route("/global/unpublish", post(global::unpublish))
        .route(
            "/records/{id}/publish",
            get(publish::ask).post(publish::publish),
        )
        .route("/care", get(care::show))
        .route("/care/audit", get(audit::show))
        .route("/care/backup", get(care::backup))
        .route("/care/tokens", post(care::add_token))
        .route("/care/tokens/revoke", post(care::revoke_token))
        .route("/live", get(live::listen))
        .route("/enter/{secret}", get(enter::enter))
        .route(shell::SIGN_OUT, post(enter::leave))
        .route("/assets/{version}/{name}", get(assets::serve))
}
