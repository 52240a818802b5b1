//! The page of those who operate a service of published knowledge, in the look and with the parts
//! of the page of a memory. The service says what is on it; here it is rendered.

use axum::Router;
use axum::extract::Request;
use axum::http::{Method, StatusCode, header};
use axum::middleware::Next;
use axum::response::{IntoResponse as _, Response};
use axum::routing::get;
use maud::{Markup, html};

use crate::compress::accepts_gzip;
use crate::guard::{is_from_own_page, secure_response};
use crate::{assets, shell, text};

/// Most characters of a name and of a notice.
const LINE_CHARS: usize = 400;
/// Longest token or text that a field takes.
const FIELD_CHARS: usize = 4_000;

/// Content policy: only what this service serves, and no inline script or style.
const ADMIN_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
    img-src 'self'; font-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// Address prefix of the files of the page.
pub const ADMIN_ASSETS: &str = assets::FOLDER;
/// Field of every form that says which sign-in the form is of.
pub const ADMIN_FORM_TOKEN: &str = shell::FORM_TOKEN;

/// What one page of the operators shows.
#[derive(Debug)]
pub struct AdminPage<'a> {
    /// The addresses and names of all pages.
    pub tabs: &'a [(&'a str, &'a str)],
    /// The address of this one.
    pub tab: &'a str,
    /// Who signed in, of which organisation.
    pub operator: &'a str,
    pub sign_out: &'a str,
    /// Value of [`ADMIN_FORM_TOKEN`].
    pub form_token: &'a str,
    /// What was just done, or why it was not.
    pub notice: Option<&'a str>,
    pub tables: &'a [AdminTable],
}

/// A table with a heading.
#[derive(Debug, Default)]
pub struct AdminTable {
    pub title: &'static str,
    /// What it is about, in a sentence.
    pub why: &'static str,
    /// Names of the columns, without that of the buttons.
    pub heads: &'static [&'static str],
    pub rows: Vec<AdminRow>,
    /// What is said where there are no rows.
    pub empty: &'static str,
}

/// A row, with what can be done to it.
#[derive(Debug, Default)]
pub struct AdminRow {
    pub cells: Vec<String>,
    pub acts: Vec<AdminAct>,
}

/// A button that does something.
#[derive(Debug)]
pub struct AdminAct {
    pub label: &'static str,
    /// To which thing, for those who hear the page.
    pub about: String,
    pub address: &'static str,
    /// Hidden fields that say to what it is done.
    pub fields: Vec<(&'static str, String)>,
    /// What is asked for.
    pub asks: Vec<AdminField>,
}

/// A text that is asked for.
#[derive(Debug)]
pub struct AdminField {
    pub name: &'static str,
    pub label: &'static str,
    /// What is there before anything is typed.
    pub value: String,
    pub is_required: bool,
}

impl AdminField {
    /// Returns a field that is empty and has to be filled in.
    pub fn required(name: &'static str, label: &'static str) -> Self {
        Self {
            name,
            label,
            value: String::new(),
            is_required: true,
        }
    }
}

/// Renders a page of the operators.
pub fn render_admin_page(page: &AdminPage<'_>) -> Markup {
    let name = page.tabs.iter().find(|(path, _)| *path == page.tab);
    let title = name.map_or("Service", |(_, name)| *name);
    let body = html! {
        header class="top" {
            a class="brand" href=(page.tab) {
                img src=(assets::asset_path("icon.svg")) alt="" width="22" height="22"; "Reprise"
            }
            nav class="places" aria-label="Main" {
                @for (path, name) in page.tabs {
                    a href=(path) aria-current=[(*path == page.tab).then_some("page")] { (name) }
                }
            }
            div class="right" {
                span class="user" { (text::shorten(page.operator, LINE_CHARS)) }
                form method="post" action=(page.sign_out) {
                    (render_form_token(page)) button class="quiet" { "Sign out" }
                }
            }
        }
        main id="main" tabindex="-1" {
            div class="title" { h1 { (title) } }
            @if let Some(notice) = page.notice {
                p class="notice" role="status" { (text::shorten(notice, LINE_CHARS)) }
            }
            @for one in page.tables { (render_admin_table(page, one)) }
        }
    };
    shell::render_document_without_events(title, &body)
}

fn render_form_token(page: &AdminPage<'_>) -> Markup {
    html! { input type="hidden" name=(ADMIN_FORM_TOKEN) value=(page.form_token); }
}

fn render_admin_table(page: &AdminPage<'_>, one: &AdminTable) -> Markup {
    let has_acts = one.rows.iter().any(|row| !row.acts.is_empty());
    let mut heads = one.heads.to_vec();
    heads.extend(has_acts.then_some("Change"));
    html! {
        section {
            h2 { (one.title) }
            @if !one.why.is_empty() { p class="why" { (one.why) } }
            @if one.rows.is_empty() { p { (one.empty) } }
            @else {
                (shell::table(one.title, &heads, one.rows.iter().map(|row| html! {
                    @for cell in &row.cells { td { (text::render(cell)) } }
                    @if has_acts {
                        td { @for act in &row.acts { (render_act(page, act)) } }
                    }
                })))
            }
        }
    }
}

fn render_act(page: &AdminPage<'_>, act: &AdminAct) -> Markup {
    let named = format!("{} {}", act.label, act.about);
    html! {
        form method="post" action=(act.address) class="fields" {
            (render_form_token(page))
            @for (name, value) in &act.fields { input type="hidden" name=(name) value=(value); }
            @for one in &act.asks {
                label {
                    (one.label) " "
                    input name=(one.name) value=(one.value) required[one.is_required] maxlength="500";
                }
            }
            button aria-label=(named) { (act.label) }
        }
    }
}

/// Renders the page on which an operator signs in with a token.
pub fn render_admin_sign_in(address: &str, refused: Option<&str>) -> Markup {
    let body = html! {
        main id="main" class="alone" tabindex="-1" {
            h1 { "Operate this service" }
            p {
                "Sign in with a token that may operate. It stays in this browser for 12 hours. "
                code { "reprise global open" } " on a machine of the server prints a link that needs none."
            }
            @if let Some(refused) = refused {
                p class="need" role="alert" { (text::shorten(refused, LINE_CHARS)) }
            }
            form method="post" action=(address) class="fields" {
                label {
                    "Token "
                    input type="password" name="token" required autocomplete="off"
                        maxlength=(FIELD_CHARS);
                }
                button class="main" { "Sign in" }
            }
        }
    };
    shell::render_document_without_events("Sign in", &body)
}

/// Guards the page: refuses a form from elsewhere, and says of each response what a browser may do
/// with it.
pub async fn guard_admin_request(request: Request, next: Next) -> Response {
    let is_read = [Method::GET, Method::HEAD].contains(request.method());
    let is_compressed = accepts_gzip(request.headers());
    let host = request.headers().get(header::HOST);
    let host = host.and_then(|host| host.to_str().ok()).map(str::to_owned);
    let is_own_origin = |origin: &str| {
        let named = origin.split_once("://").map(|(_, named)| named);
        named.is_some() && named == host.as_deref()
    };
    let response = if is_read || is_from_own_page(request.headers(), is_own_origin) {
        next.run(request).await
    } else {
        let said = "this form was sent from another page; reload this page and send it again";
        (StatusCode::FORBIDDEN, said).into_response()
    };
    secure_response(response, ADMIN_POLICY, is_compressed).await
}

/// Returns the router of the files of the page.
pub fn build_admin_asset_router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    Router::new().route("/assets/{version}/{name}", get(assets::serve_asset))
}
