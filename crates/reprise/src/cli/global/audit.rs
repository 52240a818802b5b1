//! `reprise global audit`: who did what with a store, and who got and lost tokens of its service.

use std::io::Write;

use reprise_global::{AuditLine, Caller, GlobalStore};
use reprise_server::TokenFile;
use reprise_types::UserId;

use super::{serve, store, token};
use crate::args::WhichStore;
use crate::cli::{Context, runtime};
use crate::exit::Exit;

pub(super) fn run(
    context: &Context,
    which: &WhichStore,
    user: &UserId,
    limit: usize,
) -> anyhow::Result<Exit> {
    let is_named = which.store.is_some() || which.database_url.is_some();
    let lines = if !is_named && context.config.global_service(user).is_some() {
        let (global, caller) = store::open(context, user)?;
        store::wait(global.audit(&caller, limit))??
    } else {
        serve::is_there(which)?;
        let told = runtime::threaded()?.block_on(told(context, which, user, limit))?;
        TokenFile::new(token::place(context)).audited(told, limit)?
    };
    let mut out = crate::printer::stdout();
    for line in lines {
        if context.json {
            writeln!(out, "{}", serde_json::to_string(&line)?)?;
            continue;
        }
        let (at, what) = (line.at.format("%Y-%m-%d %H:%M:%S"), line.what);
        let who = if line.who.is_empty() { "-" } else { &line.who };
        write!(out, "{at}  {who}  {what}")?;
        if let Some(id) = line.id {
            write!(out, "  {id}")?;
        }
        if let Some(version) = line.version {
            write!(out, "  {version}")?;
        }
        if let Some(name) = line.name {
            write!(out, "  {name}")?;
        }
        if let Some(about) = line.about {
            write!(out, "  of {about}")?;
        }
        writeln!(out)?;
    }
    Ok(Exit::Success)
}

/// What the store of this machine says, or the database.
async fn told(
    context: &Context,
    which: &WhichStore,
    user: &UserId,
    limit: usize,
) -> anyhow::Result<Vec<AuditLine>> {
    let caller = Caller::new(user.clone());
    Ok(match &which.database_url {
        Some(url) => {
            serve::database(context, which, url)
                .await?
                .audit(&caller, limit)
                .await?
        }
        None => {
            serve::in_folder(context, which)
                .audit(&caller, limit)
                .await?
        }
    })
}
