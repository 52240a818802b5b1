//! The pages, a file each, and the router with their addresses.

mod access;
mod add;
mod agents;
mod ask;
mod backups;
mod care;
mod change;
mod configuration;
mod diary;
mod duplicates;
mod enter;
mod help;
mod home;
mod learning;
mod linked;
mod memory;
mod narrow;
mod pause;
mod programs;
mod publish;
mod record;
mod review;
mod week;
mod why_not;
mod wording;

use axum::Router;
use axum::extract::DefaultBodyLimit;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use maud::html;

use crate::page::{NO_ROOM, PageError, PageRequest, PageResult, WebPage};
use crate::{assets, shell, undo};

impl WebPage {
    /// Builds the router of all pages.
    pub fn router(&self) -> Router {
        self.guard_router(router().fallback(unknown_address))
    }
}

/// Says that there is no page; a person who is signed in has the header, to go on from there.
async fn unknown_address(visit: PageResult<PageRequest>) -> Response {
    let error = PageError::new(StatusCode::NOT_FOUND, NO_ROOM);
    let Ok(visit) = visit else {
        return error.into_response();
    };
    let (title, rest) = error.split_sentence();
    let body = html! {
        p class="lead" { (rest) }
        p class="acts" { a class="button" href="/" { "Home" } }
    };
    (error.status, shell::render_page(&visit, "", title, &body)).into_response()
}

/// A form with a file has a limit of its own.
fn file_form() -> DefaultBodyLimit {
    DefaultBodyLimit::disable()
}

fn router() -> Router<WebPage> {
    Router::new()
        .route("/", get(home::show))
        .route("/needs", get(home::show_needs))
        .route("/help", get(help::show))
        .route("/timeline", get(memory::show_timeline))
        .route("/knowledge", get(memory::show_knowledge))
        .route("/knowledge/merge", post(memory::merge_tags))
        .route("/projects", get(memory::show_projects))
        .route("/new", get(add::show).post(add::save))
        .route("/search", get(ask::show))
        .route("/search/judge", post(ask::ratings::judge_result))
        .route("/prompts", get(agents::show))
        .route("/prompts/{id}", get(agents::show_prompt))
        .route("/agents", get(programs::show))
        .route("/pause", post(pause::set_pause))
        .route("/activity", get(agents::show_activity))
        .route("/learning", get(learning::show).post(learning::switch))
        .route("/learning/withdraw", post(learning::withdraw_outcome))
        .route("/records/{id}", get(record::show))
        .route("/records/{id}/correct", post(change::correct))
        .route("/records/{id}/tags", post(change::save_tags))
        .route("/records/{id}/standing", post(change::save_settings))
        .route("/records/{id}/link", post(change::link))
        .route("/records/{id}/unlink", post(change::unlink))
        .route(
            "/records/{id}/forget",
            get(change::confirm_forget).post(change::forget),
        )
        .route(
            "/records/{id}/publish",
            get(publish::confirm_publish).post(publish::publish),
        )
        .route("/many", post(change::change_selected))
        .route("/forgotten/{number}", get(change::show_forget_proof))
        .route(
            "/erase",
            get(change::erasure::confirm_erase).post(change::erasure::erase),
        )
        .route("/undo", post(undo::undo))
        .route("/done", get(diary::show_changes))
        .route("/knowledge/review", get(review::show))
        .route("/compare", get(review::compare::show_comparison))
        .route("/knowledge/answer", post(review::answer_pair))
        .route(
            "/knowledge/tidy",
            get(duplicates::show).post(duplicates::consolidate),
        )
        .route("/knowledge/consolidate", post(duplicates::consolidate))
        .route("/knowledge/undo", post(diary::undo_action))
        .route("/global", get(publish::show))
        .route("/global/{id}", get(publish::show_published))
        .route("/global/unpublish", post(publish::unpublish))
        .route("/care", get(care::show_storage))
        .route("/care/backups", get(backups::show).post(backups::save))
        .route("/care/schedule", post(backups::set_schedule))
        .route("/care/upload", post(backups::upload).layer(file_form()))
        .route(
            "/care/restore",
            get(backups::confirm_restore).post(backups::restore),
        )
        .route("/care/delete", post(backups::delete))
        .route("/care/import", post(backups::import).layer(file_form()))
        .route("/care/access", get(access::show))
        .route(
            "/care/configuration",
            get(configuration::show).post(configuration::save),
        )
        .route("/care/audit", get(care::show_health))
        .route("/care/backup", get(backups::download))
        .route("/care/export", get(backups::download_export))
        .route("/care/tokens", post(access::add_token))
        .route("/care/tokens/revoke", post(access::revoke_token))
        .route("/care/http", post(access::turn_http_on))
        .route("/users", get(enter::show_users))
        .route(shell::SWITCH, post(enter::switch_user))
        .route("/live", get(enter::stream_changes))
        .route("/enter/{secret}", get(enter::follow_link))
        .route(shell::SIGN_OUT, post(enter::sign_out))
        .route("/assets/{version}/{name}", get(assets::serve_asset))
}
