//! `reprise global audit`: who did what with a store, and who got and lost tokens of its service.

use reprise_global::{AuditLine, Caller, GlobalStore};
use reprise_server::TokenFile;
use reprise_types::UserId;
use serde_json::json;

use super::{serve, store, token};
use crate::args::WhichStore;
use crate::cli::{Context, output, runtime};
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
    output::rows(
        context,
        lines,
        |line| json!(line),
        |line| {
            let (at, what) = (line.at.format("%Y-%m-%d %H:%M:%S"), &line.what);
            let who = if line.who.is_empty() { "-" } else { &line.who };
            let mut parts = vec![format!("{at}  {who}  {what}")];
            parts.extend(line.id.map(|id| id.to_string()));
            parts.extend(line.version.map(|version| version.to_string()));
            parts.extend(line.name.clone());
            parts.extend(line.about.as_ref().map(|about| format!("of {about}")));
            parts.join("  ")
        },
    )
}

/// What the store of this machine says, or the database.
async fn told(
    context: &Context,
    which: &WhichStore,
    user: &UserId,
    limit: usize,
) -> anyhow::Result<Vec<AuditLine>> {
    let caller = Caller::new(user.clone());
    if let Some(url) = &which.database_url {
        let store = serve::database(context, which, url).await?;
        return Ok(store.audit(&caller, limit).await?);
    }
    let store = serve::in_folder(context, which);
    Ok(store.audit(&caller, limit).await?)
}
