//! `reprise share join`: takes an invitation to a service of published knowledge up.

use std::io::IsTerminal;

use reprise_redact::{OutboundBody, is_plain_http_to_other_machine};

use crate::cli::prelude::*;
use crate::{config, outbound};

/// How long the service of an invitation may take, and its longest answer.
const JOIN: Duration = Duration::from_secs(15);
const JOINED_BYTES_MAX: u64 = 64 * 1024;

/// Accepts an invitation and writes the service into the configuration: with `yes` at once, at a
/// terminal after a question. Otherwise it prints what to write.
pub(super) fn run(context: &Context, link: &str, yes: bool) -> anyhow::Result<Exit> {
    let found = link.split_once("/join#");
    let (url, code) = found.context("an invitation is a link with `/join#`; copy all of it")?;
    if is_plain_http_to_other_machine(url) && !context.config.global.allow_plain_http {
        bail!(
            "{url} is plain HTTP to another machine, where the token can be read on its way; ask for \
             an https:// link, or set `allow_plain_http = true` under [global] if the way is safe"
        );
    }
    let file = context.places.config.display();
    if let Some(other) = context
        .config
        .global
        .url
        .as_deref()
        .filter(|other| *other != url)
    {
        bail!(
            "{file} names the service {other} already; take `url` out of [global] there, then run \
             this again (the invitation is still open)"
        );
    }
    let request = ureq::http::Request::builder()
        .method(ureq::http::Method::POST)
        .uri(format!("{url}/v1/invitations"))
        .header("authorization", format!("Bearer {code}"))
        .body(OutboundBody::empty())
        .context("the link is no address; copy all of it")?;
    let answer = outbound::send_and_read(&outbound::new_agent(), request, JOIN, JOINED_BYTES_MAX);
    let (status, answer) =
        answer.with_context(|| format!("{url} does not answer; try again later"))?;
    let said: Value = serde_json::from_slice(&answer).unwrap_or_default();
    let text = |name: &str| said[name].as_str().unwrap_or_default().to_owned();
    let (user, token) = (text("user"), text("token"));
    if status != 200 || token.is_empty() {
        let detail = text("detail");
        bail!("{url} gave no token ({status}); {detail}");
    }
    let question = format!("Write {url} and the token of `{user}` into {file}?");
    let is_agreed = yes || io::stdin().is_terminal() && confirm(&question, "not a terminal")?;
    if is_agreed {
        write_service(context, url, &user, &token)?;
        let line = format!(
            "{user} can use {url} now: `reprise recall --scope local+global QUESTION`; {file} has it"
        );
        output::line(context, &said, line)?;
        return Ok(Exit::Success);
    }
    let lines = format!("[global]\nurl = \"{url}\"\n\n[global.tokens]\n{user} = \"{token}\"");
    output::line(context, &said, lines)?;
    tell!("put these lines into {file}: the token is shown this once");
    Ok(Exit::Success)
}

/// Writes a service and the token of a user into the configuration; everything else in it stays.
fn write_service(context: &Context, url: &str, user: &str, token: &str) -> anyhow::Result<()> {
    config::edit_file(&context.places.config, |_, document| {
        let global = document.entry("global").or_insert_with(toml_edit::table);
        let global = global.as_table_mut();
        let global = global.context("[global] is not a table; correct it")?;
        global.insert("url", toml_edit::value(url));
        let tokens = global.entry("tokens").or_insert_with(toml_edit::table);
        let tokens = tokens.as_table_mut();
        let tokens = tokens.context("[global.tokens] is not a table; correct it")?;
        tokens.insert(user, toml_edit::value(token));
        Ok(())
    })?;
    Ok(())
}
