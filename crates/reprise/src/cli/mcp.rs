//! `reprise mcp`: a server of MCP on stdin and stdout. It holds nothing: the daemon, started on
//! demand, has the memories. With `--no-daemon` it holds what a daemon would.

use std::sync::Arc;

use anyhow::Context as _;
use reprise_agent::MemoryService;
use reprise_operations::Catalogue;
use reprise_server::McpFace;

use super::global::sharing;
use super::project::COMMITS_MAX;
use super::{Context, daemon, runtime, serve, session};
use crate::args::{ConnectScope, McpArguments};
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &McpArguments) -> anyhow::Result<Exit> {
    let user = arguments.whose.user.clone();
    let profile = arguments.profile;
    let project = match arguments.scope {
        ConnectScope::User => None,
        ConnectScope::Project => Some(project(context)?),
    };
    let runtime = if context.no_daemon {
        runtime::threaded()?
    } else {
        runtime::asking()?
    };
    runtime.block_on(async {
        if !context.no_daemon {
            let client = Arc::new(daemon::client(context)?);
            let face = McpFace::proxy(client, Catalogue::default(), user, profile);
            return Ok(face.in_project(project).serve_stdio().await?);
        }
        let service = MemoryService::start(serve::config(context)?, None).await?;
        let (projections, sharing) = (context.config.projections(&user), sharing(context, false));
        let memories = session::memories(context, service, projections, sharing);
        let kept = memories.clone();
        let keeping = tokio::spawn(async move { kept.keep().await });
        let face = McpFace::here(memories.clone(), Catalogue::default(), Some(user), profile);
        let served = face.in_project(project).serve_stdio().await;
        keeping.abort();
        memories.refresh_projections().await;
        memories.shut_down().await;
        anyhow::Ok(served?)
    })?;
    Ok(Exit::Success)
}

/// The project of the folder in which the program has started us.
fn project(context: &Context) -> anyhow::Result<String> {
    let folder = std::env::current_dir()?;
    let found = super::project::of(context, &folder, COMMITS_MAX).with_context(|| {
        let folder = folder.display();
        format!("`{folder}` belongs to no git repository; start in one, or use `--scope user`")
    })?;
    Ok(found?.name().to_owned())
}
