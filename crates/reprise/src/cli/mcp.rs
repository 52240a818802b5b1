//! `reprise mcp`: a server of MCP on stdin and stdout. It holds nothing: the daemon, started on
//! demand, has the memories.

use std::sync::Arc;

use anyhow::Context as _;
use reprise_agent::MemoryService;
use reprise_knowledge::Project;
use reprise_operations::{Catalogue, Memories};
use reprise_server::McpFace;
use reprise_types::SystemClock;

use super::{Context, daemon, runtime, serve};
use crate::args::{ConnectScope, McpArguments};
use crate::exit::Exit;

pub(super) fn run(context: &Context, arguments: &McpArguments) -> anyhow::Result<Exit> {
    let user = arguments.whose.user.clone();
    let profile = arguments.profile;
    let project = match arguments.scope {
        ConnectScope::User => None,
        ConnectScope::Project => Some(project()?),
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
        let memories = Memories::new(service, Arc::new(SystemClock));
        let memories = memories
            .with_tags(context.config.tag_rules())
            .with_workspaces(context.config.workspaces.clone());
        let face = McpFace::here(memories.clone(), Catalogue::default(), Some(user), profile);
        let served = face.in_project(project).serve_stdio().await;
        memories.shut_down().await;
        anyhow::Ok(served?)
    })?;
    // A read of stdin may still be under way on a thread of its own.
    runtime.shutdown_background();
    Ok(Exit::Success)
}

/// The project of the folder in which the program has started us.
fn project() -> anyhow::Result<String> {
    let folder = std::env::current_dir()?;
    let project = Project::of(&folder).with_context(|| {
        let folder = folder.display();
        format!("`{folder}` belongs to no git repository; start in one, or use `--scope user`")
    })?;
    Ok(project.name().to_owned())
}
