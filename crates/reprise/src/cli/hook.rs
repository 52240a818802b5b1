//! `reprise hook`: memory at the moments of an agent's session. It waits for nothing longer than
//! its deadline, and a failure of memory is no failure of the agent: it is silent and exits with 0.

use std::io::Read;

use reprise_knowledge::annotate_missing_names;
use reprise_operations::{HOOK_DEADLINE_MS, HookAnswer, HookEvent, HookReport};
use reprise_server::{HookCall, HookProgram, HookResponder};

use super::daemon;
use super::project::HOOK_COMMITS_MAX;
use crate::args::{HookArguments, LateEvent};
use crate::cli::prelude::*;

/// More input than this is not looked at.
const INPUT_BYTES_MAX: u64 = 4 * 1024 * 1024;
/// Time that is reserved to hand over an event that could not be sent.
const KEEPING: Duration = Duration::from_millis(30);
/// Most of that time where no daemon runs yet: as long as its start took so far, for on a busy
/// machine all that this process still does takes longer, too.
const KEEPING_COLD: Duration = Duration::from_millis(100);
/// Time that is left if this process saves such an event itself: it may have to load the redactor.
const SAVING: Duration = Duration::from_secs(1);
/// Least time to read an event, also where the deadline is shorter: what was not read cannot be
/// queued. A program writes it at once; on a busy machine its bytes may come later than it began.
const READING: Duration = Duration::from_secs(2);
/// Longest wait for the line of a status bar.
const STATUS_LINE: Duration = Duration::from_millis(100);
/// Share of what is left for the answer of a daemon that has just started that it may use: it is
/// slow in its first moments.
const COLD_SHARE: (u32, u32) = (7, 8);
/// Longest check whether the files that an answer names still exist.
const STILL: Duration = Duration::from_millis(100);

pub(super) fn run(context: &Context, arguments: &HookArguments) -> Exit {
    // Once a session; the status line tells it, too.
    let begins = arguments.event == HookEvent::SessionStart;
    if let Some(fault) = context.environment_fault.as_ref().filter(|_| begins) {
        tell!("memory: {fault}");
    }
    // This runtime does not wait for a pending read of stdin when it ends.
    let Ok(runtime) = runtime::build_single_threaded() else {
        return Exit::Success;
    };
    let answer = runtime.block_on(async {
        let began = Instant::now();
        // The agent has waited since it started this process, which takes long on a busy machine.
        let whole = arguments.deadline();
        let age = read_process_age().unwrap_or_default();
        let deadline = whole.saturating_sub(age).max(whole / 2);
        let (answer, folder) = ask_memory(context, arguments, began + deadline).await?;
        let left = deadline.saturating_sub(began.elapsed()).min(STILL);
        Some(mark_missing_names(answer, folder, left).await)
    });
    if let Some(text) = answer.and_then(|answer| format_answer(arguments, answer)) {
        // A closed stdout has no reader to notify.
        let _printed = writeln!(crate::printer::stdout(), "{text}").is_ok();
    }
    Exit::Success
}

/// Returns how long ago this process was started, in steps of 10 ms; `None` where the system does
/// not tell.
fn read_process_age() -> Option<Duration> {
    let stat = std::fs::read_to_string("/proc/self/stat").ok()?;
    let uptime = std::fs::read_to_string("/proc/uptime").ok()?;
    compute_process_age(&stat, &uptime)
}

/// Returns the age of the process of a `stat` file of Linux, whose hundredths of a second count
/// from the start of the machine as those of `uptime` do.
fn compute_process_age(stat: &str, uptime: &str) -> Option<Duration> {
    // The name of the program, in brackets, may contain anything.
    let (_, fields) = stat.rsplit_once(')')?;
    let started: u64 = fields.split_whitespace().nth(19)?.parse().ok()?;
    let (seconds, rest) = uptime.split_whitespace().next()?.split_once('.')?;
    let now = seconds.parse::<u64>().ok()? * 100 + rest.parse::<u64>().ok()?;
    Some(Duration::from_millis(now.saturating_sub(started) * 10))
}

/// Formats what the program reads; `None` if there is nothing for it.
fn format_answer(arguments: &HookArguments, answer: HookAnswer) -> Option<String> {
    if arguments.text {
        return (!answer.context.is_empty()).then_some(answer.context);
    }
    arguments.program.answer(arguments.event, &answer)
}

/// Answers the hooks that a program calls as a tool of `reprise mcp`, as a command would.
#[derive(Debug)]
pub(super) struct ToolHooks {
    context: Context,
    whose: WhoseArguments,
    client: Arc<Client>,
}

impl ToolHooks {
    pub(super) fn new(context: &Context, whose: &WhoseArguments, client: Arc<Client>) -> Self {
        Self {
            context: context.clone(),
            whose: whose.clone(),
            client,
        }
    }
}

#[async_trait::async_trait]
impl HookResponder for ToolHooks {
    async fn respond(&self, call: HookCall) -> String {
        let arguments = HookArguments {
            event: call.event,
            whose: self.whose.clone(),
            program: call.program,
            text: false,
            deadline_ms: None,
        };
        let until = Instant::now() + arguments.deadline();
        let Some((report, folder)) = parse_input(&arguments, &call.input) else {
            return String::new();
        };
        let sent = tell_memory(
            &self.context,
            &arguments,
            &self.client,
            (report, folder.clone()),
            until,
        );
        let Some(answer) = sent.await else {
            return String::new();
        };
        let left = until.saturating_duration_since(Instant::now()).min(STILL);
        let answer = mark_missing_names(answer, folder, left).await;
        format_answer(&arguments, answer).unwrap_or_default()
    }
}

/// Reads what a program wrote; bytes that are no text are replaced.
fn read_input() -> Option<String> {
    let mut input = Vec::new();
    let mut stdin = io::stdin().lock().take(INPUT_BYTES_MAX);
    stdin.read_to_end(&mut input).ok()?;
    Some(reprise_files::decode_text(&input).into_owned())
}

/// Parses a program's JSON into what is sent, and the folder in which the program works.
fn parse_input(arguments: &HookArguments, input: &str) -> Option<(HookReport, Option<PathBuf>)> {
    let program = arguments.program;
    let (mut report, folder) = program.parse_input(arguments.event, input)?;
    // A daemon of an earlier version knows the default alone.
    report.deadline_ms = arguments
        .deadline_ms
        .filter(|known| *known != HOOK_DEADLINE_MS);
    // Worktrees, clones and other machines mean the same project.
    Some((report, folder))
}

/// Prints a line for a program's status bar. A failure of memory is no failure of the program: the
/// line then only says that memory is there.
pub(super) fn print_status_line(context: &Context, whose: &WhoseArguments) -> Exit {
    let line = runtime::build_single_threaded().ok().and_then(|runtime| {
        let asked = fetch_status_line(context, whose);
        let asked = runtime.block_on(async { tokio::time::timeout(STATUS_LINE, asked).await });
        asked.unwrap_or_else(|_| Some("memory: busy".to_owned()))
    });
    let mut line =
        line.unwrap_or_else(|| "memory: the daemon starts at the next prompt".to_owned());
    if context.config_fault.is_some() {
        line.push_str("; the configuration has an error, which `reprise doctor` tells");
    }
    if let Some(fault) = &context.environment_fault {
        line.push_str("; ");
        line.push_str(fault);
    }
    // A closed stdout has no reader to notify.
    let _printed = writeln!(crate::printer::stdout(), "{line}").is_ok();
    Exit::Success
}

/// Asks the running daemon for the line of the session on stdin; no daemon is started for it.
async fn fetch_status_line(context: &Context, whose: &WhoseArguments) -> Option<String> {
    let input = read_input()?;
    let event = HookEvent::StatusLine;
    let Some(report) = HookProgram::ClaudeCode.parse_report(event, &input) else {
        return Some("memory: no session".to_owned());
    };
    let client = match context.remote_client().ok()? {
        Some(remote) => remote,
        None => Client::new(context.places.daemon_place()).with_patience(context.patience),
    };
    let path = Call::path_of(&whose.user, &["hooks", event.address_name()]);
    let call = Call::post(path, &serde_json::to_value(&report).ok()?);
    let answer: HookAnswer = client.ask(&call).await.ok()?;
    let is_off = answer.context.is_empty();
    Some(if is_off {
        "memory: paused or off here".to_owned()
    } else {
        answer.context
    })
}

/// Asks memory about the event; `None` on any failure. An event that was read is never lost: what
/// memory does not take in time is queued.
async fn ask_memory(
    context: &Context,
    arguments: &HookArguments,
    until: Instant,
) -> Option<(HookAnswer, Option<PathBuf>)> {
    let began = Instant::now();
    let own = arguments.clone();
    let read = tokio::task::spawn_blocking(move || parse_input(&own, &read_input()?));
    let client = daemon::starting_client(context);
    let read = tokio::time::timeout_at(until.max(began + READING).into(), read);
    let (report, folder) = read.await.ok()?.ok()??;
    let sent = (report, folder.clone());
    let client: Client = match client {
        Ok(client) => client,
        Err(error) => {
            tracing::warn!(%error, "this event waits until its daemon can be asked");
            let named = name_project(context, arguments, sent, until, LateEvent::Keep).await?;
            let unsent = Unsent::for_daemon(context);
            queue_event(context, arguments, &unsent, named, until, LateEvent::Keep);
            return None;
        }
    };
    let answer = tell_memory(context, arguments, &client, sent, until).await;
    Some((answer?, folder))
}

/// Writes the project of its folder into a report. Where that is not found in time, the event is
/// handed to a process that has the time, and there is none here: no other name is as good.
async fn name_project(
    context: &Context,
    arguments: &HookArguments,
    (mut report, folder): (HookReport, Option<PathBuf>),
    until: Instant,
    late: LateEvent,
) -> Option<HookReport> {
    let Some(folder) = folder else {
        return Some(report);
    };
    let (own, place) = (context.clone(), folder.clone());
    let find = move || project::name_folder_within(&own, &place, HOOK_COMMITS_MAX);
    let found = tokio::task::spawn_blocking(find);
    let found_until = until.checked_sub(KEEPING).unwrap_or(until);
    let found = tokio::time::timeout_at(found_until.into(), found);
    if let Ok(Ok(Ok(name))) = found.await {
        report.project = name;
        return Some(report);
    }
    let (user, event) = (&arguments.whose.user, arguments.event.address_name());
    let told = (report.clone(), Some(folder.clone()));
    let Err(error) = Unsent::spawn_keeper(context, user, event, told, late) else {
        return None;
    };
    tracing::debug!(%error, "the hook finds its project itself, however long that takes");
    report.project = project::name_folder_within(context, &folder, usize::MAX).ok()?;
    Some(report)
}

/// Sends a report to the daemon with the project of its folder, after the events that wait, and
/// returns the answer; one that cannot be sent in time is queued, with the time that its request
/// names.
async fn tell_memory(
    context: &Context,
    arguments: &HookArguments,
    client: &Client,
    told: (HookReport, Option<PathBuf>),
    until: Instant,
) -> Option<HookAnswer> {
    let (at, sending) = (
        SystemClock.now(),
        LateEvent::if_near(context.remote.is_none()),
    );
    let report = name_project(context, arguments, told, until, sending).await?;
    let unsent = Unsent::for_daemon(context);
    let late = HookReport {
        at: Some(at),
        ..report.clone()
    };
    let now = Instant::now();
    let half = now + until.saturating_duration_since(now) / 2;
    match unsent.send(client, half).await {
        Ok((0, _)) => {}
        told => {
            let is_near = context.remote.is_none() || matches!(told, Ok((_, true)));
            let sending = LateEvent::if_near(is_near);
            queue_event(context, arguments, &unsent, late, until, sending);
            return None;
        }
    }
    let left = || until.saturating_duration_since(Instant::now());
    let is_cold = context.remote.is_none() && !client.connect_to_running().await;
    let mut sent = report.clone();
    let mut within = left().saturating_sub(KEEPING);
    if is_cold {
        let starting = client.ensure_running();
        let started = tokio::time::timeout(left().saturating_sub(KEEPING_COLD), starting).await;
        let spent = arguments.deadline().saturating_sub(left());
        within = match started {
            Ok(Ok(())) => left().saturating_sub(time_to_keep_cold(spent)),
            _ => Duration::ZERO,
        };
        // The daemon, which is of this version, has only the rest of the time.
        let told = within * COLD_SHARE.0 / COLD_SHARE.1;
        sent.deadline_ms = u32::try_from(told.as_millis()).ok();
    }
    let moment = ["hooks", arguments.event.address_name()];
    let path = Call::path_of(&arguments.whose.user, &moment);
    let call = Call::post(path, &serde_json::to_value(&sent).ok()?);
    let call = call.with_idempotency_key(report.request_key(arguments.event, at));
    match tokio::time::timeout(within, client.ask(&call)).await {
        Ok(Ok(answer)) => Some(answer),
        // A second attempt would be refused, too.
        Ok(Err(problem)) if problem.kind == ProblemKind::Invalid => None,
        _ => {
            // A daemon of this machine has started by then, and takes it.
            queue_event(context, arguments, &unsent, late, until, sending);
            None
        }
    }
}

/// Returns how much of its deadline a hook whose daemon has just started leaves for handing over
/// what is late, after it `spent` so much.
fn time_to_keep_cold(spent: Duration) -> Duration {
    spent.clamp(KEEPING, KEEPING_COLD)
}

/// Queues an event that could not be sent; if there is no time for it, another process does.
fn queue_event(
    context: &Context,
    arguments: &HookArguments,
    unsent: &Unsent,
    report: HookReport,
    until: Instant,
    late: LateEvent,
) {
    // The start of a session has nothing to store; its first prompt receives then what it would
    // have begun with.
    let (user, event) = (&arguments.whose.user, arguments.event.address_name());
    let left = until.saturating_duration_since(Instant::now());
    let save = |report: HookReport| {
        let saved = unsent.push(user, event, report);
        saved.inspect_err(|error| tracing::warn!(%error, "the hook could not save its event"))
    };
    if left < SAVING || save(report.clone()).is_err() {
        match Unsent::spawn_keeper(context, user, event, (report.clone(), None), late) {
            Ok(()) => return,
            Err(error) => tracing::debug!(%error, "the hook saves its event itself"),
        }
        if save(report).is_err() {
            tracing::warn!("this event is lost");
        }
    }
    if late == LateEvent::Send && !unsent.is_empty() {
        let aside = Unsent::spawn_sender(context);
        aside.unwrap_or_else(|error| tracing::debug!(%error, "the rest waits"));
    }
}

/// Marks the names in an answer that no longer exist, as far as that is known in time. A longer
/// check is abandoned: this process ends before it.
async fn mark_missing_names(
    answer: HookAnswer,
    folder: Option<PathBuf>,
    within: Duration,
) -> HookAnswer {
    let Some(folder) = folder.filter(|_| !answer.context.is_empty() && !within.is_zero()) else {
        return answer;
    };
    let (context, until) = (answer.context.clone(), Instant::now() + within);
    let is_late = move || Instant::now() >= until;
    let looked =
        tokio::task::spawn_blocking(move || annotate_missing_names(&context, &folder, &is_late));
    match tokio::time::timeout(within, looked).await {
        Ok(Ok(context)) => HookAnswer { context },
        _ => answer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_that_a_hook_took_to_start_is_told_by_the_system() {
        let stat = "71 (a ) b) S 1 71 71 0 -1 4 9 0 0 0 1 2 0 0 20 0 1 0 4210 1 2 3";
        let age = |uptime| compute_process_age(stat, uptime);
        assert_eq!(age("42.27 80.01"), Some(Duration::from_millis(170)));
        assert_eq!(age("42.05 80.01"), Some(Duration::ZERO));
        assert_eq!(age(""), None);
        assert_eq!(compute_process_age("", "42.27 80.01"), None);
    }

    #[test]
    fn a_hook_leaves_more_time_for_handing_over_the_longer_its_daemon_took_to_start() {
        for (spent_ms, kept_ms) in [(5, 30), (40, 40), (90, 90), (170, 100)] {
            let kept = time_to_keep_cold(Duration::from_millis(spent_ms));
            assert_eq!(kept, Duration::from_millis(kept_ms), "{spent_ms}");
        }
    }
}
