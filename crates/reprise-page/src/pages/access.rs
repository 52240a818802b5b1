//! The tab of Settings that says who can use this memory over HTTP: tokens, and HTTP itself.

use reprise_types::UserId;

use crate::page::Token;
use crate::prelude::*;

/// The address of the tab.
const ACCESS: &str = "/care/access";
/// The setting with the address of HTTP, which is a word where it is off.
const HTTP_SETTING: &str = "serve.http";
/// How long a new token can be valid: days and label.
const LIFETIMES: [(u32, &str); 3] = [(30, "30 days"), (90, "90 days"), (365, "a year")];

/// Where programs with a token reach this memory.
struct HttpAddress {
    address: String,
    /// Whether it is on only until the daemon stops.
    is_for_now: bool,
}

fn find_http_address(visit: &PageRequest) -> Option<HttpAddress> {
    let settings = visit.page.host().settings();
    let value = settings.into_iter().find(|one| one.name == HTTP_SETTING)?;
    let (address, rest) = match value.value.split_once(',') {
        Some((address, rest)) => (address, rest),
        None => (&*value.value, ""),
    };
    address.contains(':').then(|| HttpAddress {
        address: address.to_owned(),
        is_for_now: !rest.is_empty(),
    })
}

/// Shows who can use this memory over the network.
pub(crate) async fn show(visit: PageRequest, pairs: QueryPairs) -> PageResult<Markup> {
    let tokens = visit.page.host().tokens(&visit.user).await?;
    let http = find_http_address(&visit);
    let body = html! {
        (undo::render_done_toast(&visit, pairs.get("done")))
        div class="split" {
            div { (render_tokens(&visit, &tokens, http.is_some())) }
            div class="aside" { (render_http(&visit, http.as_ref())) }
        }
    };
    Ok(render_page(&visit, ACCESS, "Settings", &body))
}

fn render_tokens(visit: &PageRequest, tokens: &[Token], is_http_on: bool) -> Markup {
    let calendar = visit.page.calendar();
    let heads = [
        "Name",
        "Opens",
        "Created",
        "Expires",
        "Last used",
        "!Revoke",
    ];
    html! {
        section {
            h2 { "Tokens" }
            p class="why" {
                "A program on this or another machine uses this memory over HTTP with a token. A \
                 token made here opens the memory of " b { (visit.user) } " only."
            }
            @if !is_http_on {
                p class="notice" { "A token works once HTTP is on. You can create one now." }
            }
            @if !tokens.is_empty() {
                (table("Tokens", &heads, tokens.iter().map(|token| {
                    let is_over = token.expires.is_some_and(|end| end <= visit.page.now());
                    html! {
                        td { code { (text::shorten(&token.name, 64)) } }
                        td { (if token.is_for_all { "every user's memory" } else { "this memory" }) }
                        td { (calendar.format_relative(token.made)) }
                        td {
                            @match token.expires {
                                None => "never",
                                Some(_) if is_over => { span class="chip bad" { "expired" } }
                                Some(end) => (calendar.day_of(end)),
                            }
                        }
                        td { (token.used.map_or("never".to_owned(), |at| calendar.format_relative(at))) }
                        td { (render_revoke_button(visit, token)) }
                    }
                })))
            }
            div class="fields" {
                (form(visit, "/care/tokens", &html! {
                    label {
                        "Name of the new token"
                        input name="name" required maxlength="64" autocomplete="off"
                            spellcheck="false";
                    }
                    label {
                        "Valid"
                        select name="days" {
                            option value="" { "until I revoke it" }
                            @for (days, label) in LIFETIMES {
                                option value=(days) { "for " (label) }
                            }
                        }
                    }
                    button data-command="Create token" { "Create token" }
                }))
            }
        }
    }
}

fn render_revoke_button(visit: &PageRequest, token: &Token) -> Markup {
    html! {
        @if token.is_for_all { span class="faint" { "by " code { "reprise serve token revoke" } } }
        @else {
            (form(visit, "/care/tokens/revoke", &html! {
                input type="hidden" name="name" value=(token.name);
                button class="danger" aria-label=(format!("Revoke {}", token.name)) { "Revoke" }
            }))
        }
    }
}

/// Says whether HTTP is on, and offers to turn it on.
fn render_http(visit: &PageRequest, http: Option<&HttpAddress>) -> Markup {
    html! {
        section class="card" id="http" {
            h2 { "HTTP" }
            @match http {
                Some(http) => {
                    p class="why" { "HTTP is on. Programs with a token reach this memory at:" }
                    pre class="block" data-copy { "http://" (http.address) }
                    @if http.is_for_now {
                        p class="why" {
                            "It is on until the daemon stops. To keep it on, add this to "
                            code { "config.toml" } ":"
                        }
                        pre class="block" data-copy { "[serve]\nhttp = \"" (http.address) "\"" }
                    }
                }
                None => {
                    p class="why" {
                        "HTTP is off. Programs on this machine do not need it. Turned on here, it \
                         can be reached from this machine only, and only with a token."
                    }
                    (form(visit, "/care/http", &html! {
                        button class="first" data-command="Turn HTTP on" { "Turn HTTP on" }
                    }))
                    p class="why" { "For other machines, restart the daemon with an address of this one:" }
                    pre class="block" data-copy { "reprise serve --replace --http ADDRESS:7341" }
                }
            }
        }
    }
}

/// Turns HTTP on until the daemon stops.
pub(crate) async fn turn_http_on(posted: Posted) -> PageResult<Redirect> {
    posted.visit.page.host().turn_http_on().await?;
    Ok(Redirect::to("/care/access?done=http"))
}

/// Creates a token and shows it, this once.
pub(crate) async fn add_token(posted: Posted) -> PageResult<Markup> {
    let (visit, name) = (&posted.visit, posted.text("name").trim());
    let days = match posted.text("days") {
        "" => None,
        _ => Some(i64::from(posted.parse_value::<u16>("days")?)),
    };
    let expires = days.map(|days| visit.page.now() + TimeDelta::days(days));
    let host = visit.page.host();
    let token = host.add_token(&visit.user, name, expires).await?;
    let http = find_http_address(visit);
    let body = html! {
        div class="card" {
            p role="status" { "This token is shown once. Copy it to the program that uses it." }
            pre class="block" data-copy { (token) }
            @if let Some(http) = &http {
                p class="why" { "In a terminal:" }
                pre class="block" data-copy { (describe_curl(&http.address, &visit.user, &token)) }
                p class="why" { "For a program with MCP over HTTP:" }
                pre class="block" data-copy { (describe_http_server(&http.address, &token)) }
            }
            p { a class="button" href=(ACCESS) { "Back to the tokens" } }
        }
        @if http.is_none() { (render_http(visit, None)) }
    };
    Ok(render_page(visit, ACCESS, "New token", &body))
}

/// Writes the line that asks this memory from a terminal.
fn describe_curl(address: &str, user: &UserId, token: &str) -> String {
    let path = format!(
        "http://{address}/v1/users/{}/recall",
        percent_encode(user.as_str())
    );
    format!(
        "curl {path} -H \"Authorization: Bearer {token}\" -d '{{\"query\": \"what was decided\"}}'"
    )
}

/// Writes the settings by which a program reaches this memory by MCP over HTTP.
fn describe_http_server(address: &str, token: &str) -> String {
    let servers = json!({
        "mcpServers": { "memory": {
            "type": "http",
            "url": format!("http://{address}/mcp"),
            "headers": { "Authorization": format!("Bearer {token}") },
        } }
    });
    serde_json::to_string_pretty(&servers).unwrap_or_default()
}

pub(crate) async fn revoke_token(posted: Posted) -> PageResult<Redirect> {
    let (visit, name) = (&posted.visit, posted.text("name"));
    visit.page.host().revoke_token(&visit.user, name).await?;
    Ok(Redirect::to("/care/access?done=revoked"))
}
