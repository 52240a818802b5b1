//! `reprise hook`: memory at the moments of an agent's session. It waits for nothing longer than
//! its deadline, and a failure of memory is no failure of the agent: it is silent and exits with 0.

use std::io::{Read, Write};
use std::time::Duration;

use reprise_operations::HookAnswer;
use reprise_server::{Call, Client};

use super::project::{self, HOOK_COMMITS_MAX};
use super::{Context, daemon};
use crate::args::HookArguments;
use crate::exit::Exit;

/// More input than this is not looked at.
const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;

pub(super) fn run(context: &Context, arguments: &HookArguments) -> Exit {
    let mut builder = tokio::runtime::Builder::new_current_thread();
    let Ok(runtime) = builder.enable_all().build() else {
        return Exit::Success;
    };
    let answer = runtime.block_on(async {
        let asked = ask(context, arguments);
        let deadline = Duration::from_millis(arguments.deadline_ms.into());
        tokio::time::timeout(deadline, asked).await.ok().flatten()
    });
    // A read of stdin may still be waiting for its end.
    runtime.shutdown_background();
    let text = answer.and_then(|answer| {
        if arguments.text {
            return (!answer.context.is_empty()).then_some(answer.context);
        }
        arguments.program.answer(arguments.event, &answer)
    });
    if let Some(text) = text {
        // Nobody is left to be told where stdout is gone.
        let _printed = writeln!(crate::printer::stdout(), "{text}").is_ok();
    }
    Exit::Success
}

/// `None` for anything that does not work out.
async fn ask(context: &Context, arguments: &HookArguments) -> Option<HookAnswer> {
    let (program, event) = (arguments.program, arguments.event);
    let own = context.clone();
    let read = tokio::task::spawn_blocking(move || {
        let mut input = String::new();
        let mut stdin = std::io::stdin().lock().take(INPUT_BYTES_MAX);
        stdin.read_to_string(&mut input).ok()?;
        let mut report = program.report(event, &input)?;
        // Worktrees, clones and other machines mean the same project.
        let folder = program.folder(&input);
        let found = folder.and_then(|folder| project::of(&own, &folder, HOOK_COMMITS_MAX));
        match found {
            Some(Ok(project)) => project.name().clone_into(&mut report.project),
            Some(Err(error)) => tracing::warn!(%error, "this moment is of no project"),
            None => {}
        }
        Some(report)
    });
    let client: Client = daemon::client(context).ok()?;
    let report = read.await.ok()??;
    let path = Call::path_of(&arguments.whose.user, &["hooks", event.host_name()]);
    let body = serde_json::to_value(report).ok()?;
    client.ask(&Call::post(path, &body)).await.ok()
}
