//! `reprise hook`: memory at the moments of an agent's session. It waits for nothing longer than
//! its deadline, and a failure of memory is no failure of the agent: it is silent and exits with 0.

use std::io::Read;
use std::pin::pin;

use reprise_knowledge::with_gone;
use reprise_operations::{HookAnswer, HookEvent, HookReport};

use super::daemon;
use super::project::HOOK_COMMITS_MAX;
use crate::args::HookArguments;
use crate::cli::prelude::*;

/// More input than this is not looked at.
const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Of its time, what it takes to keep a moment that could not be told.
const KEEPING: Duration = Duration::from_millis(30);
/// How long it is looked whether what an answer names is still there, of the time that is left.
const STILL: Duration = Duration::from_millis(100);

pub(super) fn run(context: &Context, arguments: &HookArguments) -> Exit {
    // Its end waits for no read of stdin.
    let Ok(runtime) = runtime::asking() else {
        return Exit::Success;
    };
    let answer = runtime.block_on(async {
        let began = Instant::now();
        let deadline = Duration::from_millis(arguments.deadline_ms.into());
        let asked = ask(context, arguments, began + deadline);
        let (answer, folder) = tokio::time::timeout(deadline, asked).await.ok()??;
        let left = deadline.saturating_sub(began.elapsed()).min(STILL);
        Some(still(answer, folder, left).await)
    });
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
async fn ask(
    context: &Context,
    arguments: &HookArguments,
    until: Instant,
) -> Option<(HookAnswer, Option<PathBuf>)> {
    let (program, event) = (arguments.program, arguments.event);
    let own = context.clone();
    let read = tokio::task::spawn_blocking(move || {
        let mut input = String::new();
        let mut stdin = io::stdin().lock().take(INPUT_BYTES_MAX);
        stdin.read_to_string(&mut input).ok()?;
        let mut report = program.report(event, &input)?;
        // Worktrees, clones and other machines mean the same project.
        let folder = program.folder(&input);
        let found = folder.as_deref();
        let found = found.and_then(|folder| project::of(&own, folder, HOOK_COMMITS_MAX));
        match found {
            Some(Ok(project)) => project.name().clone_into(&mut report.project),
            Some(Err(error)) => tracing::warn!(%error, "this moment is of no project"),
            None => {}
        }
        Some((report, folder))
    });
    let client: Client = daemon::client(context).ok()?;
    let (report, folder) = read.await.ok()??;
    let answer = match Unsent::of(context) {
        None => client.ask(&call(arguments, &report)?).await.ok(),
        Some(unsent) => tell(context, arguments, &client, &unsent, report, until).await,
    };
    Some((answer?, folder))
}

fn call(arguments: &HookArguments, report: &HookReport) -> Option<Call> {
    let event = arguments.event.host_name();
    let path = Call::path_of(&arguments.whose.user, &["hooks", event]);
    Some(Call::post(path, &serde_json::to_value(report).ok()?))
}

/// Tells the daemon of another machine what happened after all that waits; what cannot be told in
/// time waits, too.
async fn tell(
    context: &Context,
    arguments: &HookArguments,
    client: &Client,
    unsent: &Unsent,
    report: HookReport,
    until: Instant,
) -> Option<HookAnswer> {
    let now = Instant::now();
    let half = now + until.saturating_duration_since(now) / 2;
    if !unsent.is_empty() {
        Unsent::warm();
    }
    match unsent.send(client, half).await {
        Ok((0, _)) => {}
        told => {
            keep(arguments, unsent, report);
            if matches!(told, Ok((_, true))) {
                let aside = Unsent::send_aside(context);
                aside.unwrap_or_else(|error| tracing::debug!(%error, "the rest waits"));
            }
            return None;
        }
    }
    let call = call(arguments, &report)?;
    let within = until.saturating_duration_since(Instant::now());
    let half = within.saturating_sub(KEEPING) / 2;
    let mut asked = pin!(client.ask(&call));
    let mut answered = tokio::time::timeout(half, &mut asked).await;
    if answered.is_err() {
        Unsent::warm();
        answered = tokio::time::timeout(half, &mut asked).await;
    }
    match answered {
        Ok(Ok(answer)) => Some(answer),
        // Sent again it would be refused again.
        Ok(Err(problem)) if problem.kind == ProblemKind::Invalid => None,
        _ => {
            keep(arguments, unsent, report);
            None
        }
    }
}

fn keep(arguments: &HookArguments, unsent: &Unsent, report: HookReport) {
    let event = arguments.event;
    // Of a session that began nothing is kept.
    if event == HookEvent::SessionStart {
        return;
    }
    let user = &arguments.whose.user;
    if let Err(error) = unsent.push(user, event.host_name(), report) {
        tracing::warn!(%error, "this moment is lost");
    }
}

/// The answer with what is gone of the things that it names, as far as that is known in time. A
/// look that takes longer is left to itself: this process ends before it.
async fn still(answer: HookAnswer, folder: Option<PathBuf>, within: Duration) -> HookAnswer {
    let Some(folder) = folder.filter(|_| !answer.context.is_empty() && !within.is_zero()) else {
        return answer;
    };
    let (context, until) = (answer.context.clone(), Instant::now() + within);
    let is_late = move || Instant::now() >= until;
    let looked = tokio::task::spawn_blocking(move || with_gone(&context, &folder, &is_late));
    match tokio::time::timeout(within, looked).await {
        Ok(Ok(context)) => HookAnswer { context },
        _ => answer,
    }
}
