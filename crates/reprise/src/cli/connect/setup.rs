//! `reprise setup`: finds the programs of agents on this machine, connects those that are chosen,
//! brings in their sessions of the last 30 days in the background, and asks one question of what
//! came in, which it answers.

use std::io::{BufRead, IsTerminal};
use std::os::unix::process::CommandExt;

use clap::ValueEnum;
use reprise_operations::operations::care::Stats;

use super::apply::SettingsChange;
use super::first_question::{AskedExample, find_example};
use super::{apply, build_entry, describe_connection, plan, plan_connection, show_or_apply};
use crate::args::{ConnectScope, HostProgram, SetupArguments};
use crate::cli::import::{KnownSessions, find_histories};
use crate::cli::prelude::*;
use crate::cli::recall;

/// Age of the oldest sessions that are brought in. Claude Code deletes older ones by default.
const SESSION_DAYS: i64 = 30;
/// Longest wait for the first memory that answers a question.
const FIRST_MEMORY: Duration = Duration::from_secs(20);
const POLL: Duration = Duration::from_millis(200);
/// Longest wait from then on for the others, while more come in.
const OTHERS: Duration = Duration::from_secs(3);
/// File with the output of the imports, in the folder of our own files.
const LOG: &str = "setup.log";

/// A program on this machine, and what connecting it would change.
struct FoundProgram {
    program: HostProgram,
    changes: anyhow::Result<Vec<SettingsChange>>,
}

impl FoundProgram {
    fn is_connected(&self) -> bool {
        let changes = self.changes.as_ref();
        changes.is_ok_and(|changes| !changes.iter().any(SettingsChange::has_effect))
    }
}

/// What became of one program.
#[derive(Debug, Serialize)]
struct ProgramResult {
    program: HostProgram,
    connected: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    /// Whether this command has connected it.
    #[serde(skip)]
    is_new: bool,
}

/// Sessions that are on their way into memory.
#[derive(Debug, Serialize)]
struct SessionSource {
    path: PathBuf,
    holds: String,
}

pub(in crate::cli) fn run(context: &Context, arguments: &SetupArguments) -> anyhow::Result<Exit> {
    let began = Instant::now();
    let home = crate::env::home_folder()?;
    let found = find_programs(context, arguments, &home)?;
    if arguments.show {
        if found.is_empty() {
            note("no agents found; nothing would be written");
        }
        for one in found {
            show_or_apply(context, true, &one.changes?)?;
        }
        return Ok(Exit::Success);
    }
    let chosen = choose_programs(&found, arguments, &home)?;
    let results = connect_programs(found, &chosen, &home);
    let user = &arguments.whose.user;
    let sources = start_session_imports(context, user, &results, &home)?;
    let example = wait_for_example(context, user, !sources.is_empty())?;
    let arrivals = match example {
        Some(_) => None,
        None => describe_arrivals(context, user),
    };
    let seconds = began.elapsed().as_secs_f64();
    let failed = results.iter().any(|one| one.error.is_some());
    let row = json!({
        "programs": results,
        "sources": sources,
        "question": example.as_ref().map(|example| &example.question),
        "seconds": seconds,
    });
    output::print(context, &row, |out| {
        print_example(out, example.as_ref(), arrivals.as_deref())?;
        if let Some(summary) = summarize_results(&results, seconds) {
            writeln!(out, "{summary}")?;
        }
        Ok(())
    })?;
    Ok(output::exit(!failed))
}

/// Returns what became of the programs, in a sentence; `None` if none was found.
fn summarize_results(results: &[ProgramResult], seconds: f64) -> Option<String> {
    let list_labels = |wanted: fn(&ProgramResult) -> bool| -> Vec<&str> {
        let wanted = results.iter().filter(|one| wanted(one));
        wanted.map(|one| plan::label(one.program)).collect()
    };
    let new = list_labels(|one| one.is_new);
    let before = list_labels(|one| one.connected && !one.is_new);
    if !new.is_empty() {
        let named = [new, before].concat().join(", ");
        return Some(format!(
            "Ready in {seconds:.1} s. The next session of {named} begins with what the last ones \
             knew."
        ));
    }
    if before.is_empty() {
        return (!results.is_empty()).then(|| {
            "Nothing was connected, and no file changed. `reprise connect AGENT` connects one."
                .to_owned()
        });
    }
    let (named, verb) = (
        before.join(", "),
        if before.len() == 1 { "was" } else { "were" },
    );
    Some(format!(
        "Nothing new was connected. {named} {verb} connected already."
    ))
}

/// Finds the programs on this machine, and plans what connecting them would change.
fn find_programs(
    context: &Context,
    arguments: &SetupArguments,
    home: &Path,
) -> anyhow::Result<Vec<FoundProgram>> {
    let entry = build_entry(context, &arguments.whose, ConnectScope::User, false)?;
    let all = HostProgram::value_variants().iter().copied();
    let there = all.filter(|program| plan::is_on_machine(*program, home));
    let found = there.map(|program| FoundProgram {
        program,
        changes: plan_connection(program, home, &entry),
    });
    Ok(found.collect())
}

/// Prints what was found, and returns the programs that are to be connected.
fn choose_programs(
    found: &[FoundProgram],
    arguments: &SetupArguments,
    home: &Path,
) -> anyhow::Result<Vec<HostProgram>> {
    if found.is_empty() {
        note(
            "No supported agent was found. For another one, `reprise connect generic` prints what \
             to add to its configuration.",
        );
        return Ok(Vec::new());
    }
    note("On this machine:");
    let mut open = Vec::new();
    for one in found {
        let label = plan::label(one.program);
        if one.is_connected() {
            tell!("     {label}: connected already");
            continue;
        }
        open.push(one.program);
        tell!("  {:>2} {label}", open.len());
        let Ok(changes) = &one.changes else {
            continue;
        };
        let targets = plan::targets(one.program, home);
        for (change, target) in changes.iter().zip(&targets) {
            if change.has_effect() {
                let (path, adds) = (change.path.display(), target.describe());
                tell!("       {path}: {adds}");
            }
        }
    }
    if open.is_empty() || arguments.yes {
        return Ok(open);
    }
    let stdin = io::stdin();
    ensure!(
        stdin.is_terminal(),
        "this is not a terminal: add --yes to connect all of them, or --show to see what would be \
         written"
    );
    note("Enter connects all of them; `1 2` connects those; `n` connects none.");
    let mut line = String::new();
    stdin.lock().read_line(&mut line)?;
    parse_choice(&open, &line)
}

/// Returns the programs that an answer names.
fn parse_choice(open: &[HostProgram], answer: &str) -> anyhow::Result<Vec<HostProgram>> {
    let answer = answer.trim();
    if answer.is_empty() || answer.eq_ignore_ascii_case("y") {
        return Ok(open.to_vec());
    }
    if answer.eq_ignore_ascii_case("n") {
        return Ok(Vec::new());
    }
    let words = answer.split([' ', ',']).filter(|word| !word.is_empty());
    let chosen = words.map(|word| {
        let number: usize = word.parse().ok()?;
        open.get(number.checked_sub(1)?).copied()
    });
    let chosen: Option<Vec<_>> = chosen.collect();
    let most = open.len();
    chosen.with_context(|| {
        format!("`{answer}` names none of them: type numbers from 1 to {most}; nothing was changed")
    })
}

/// Connects the chosen programs, and prints which files changed. A program that cannot be connected
/// does not stop the others.
fn connect_programs(
    found: Vec<FoundProgram>,
    chosen: &[HostProgram],
    home: &Path,
) -> Vec<ProgramResult> {
    let mut results = Vec::new();
    for one in found {
        let (program, connected) = (one.program, one.is_connected());
        let applied = match one.changes {
            Ok(changes) if chosen.contains(&program) => {
                let applied = apply::apply(&changes, &mut |_| Ok(()));
                applied.map(|()| note(&describe_connection(program, &changes, home)))
            }
            Ok(_) => {
                if connected {
                    results.push(ProgramResult {
                        program,
                        connected,
                        error: None,
                        is_new: false,
                    });
                }
                continue;
            }
            Err(error) => Err(error),
        };
        let error = applied.err().map(|error| format!("{error:#}"));
        if let Some(error) = &error {
            tell!("{}: {error}", plan::label(program));
        } else if let Some(left) = plan::manual_step(program) {
            note(left);
        }
        results.push(ProgramResult {
            program,
            connected: error.is_none(),
            is_new: error.is_none(),
            error,
        });
    }
    results
}

/// Starts the imports of the connected programs' sessions in the background.
fn start_session_imports(
    context: &Context,
    user: &UserId,
    results: &[ProgramResult],
    home: &Path,
) -> anyhow::Result<Vec<SessionSource>> {
    let since = SystemClock.now() - TimeDelta::days(SESSION_DAYS);
    let mut sources = Vec::new();
    let mut known = KnownSessions::of(context, user);
    for one in results.iter().filter(|one| one.connected) {
        let Some(kind) = plan::find_history_kind(one.program) else {
            continue;
        };
        for history in find_histories(kind, home, Some(since), &mut known) {
            if history.is_known {
                let label = plan::label(one.program);
                tell!("memory has the last {SESSION_DAYS} days of {label} already");
                continue;
            }
            if sources.is_empty() {
                start_daemon_for_import(context)?;
            }
            let (path, holds) = (history.path, history.summary);
            let label = plan::label(one.program);
            tell!("bringing in the last {SESSION_DAYS} days of {label}: {holds}");
            let mut command = own_command(context)?;
            command.arg("import").arg(&path);
            command.args(["--from", kind.name(), "--user", user.as_str()]);
            command.args(["--since", &since.to_rfc3339()]);
            spawn_in_background(context, command)?;
            sources.push(SessionSource { path, holds });
        }
        if one.program == HostProgram::ClaudeCode {
            tell!(
                "Claude Code deletes its sessions after {SESSION_DAYS} days; what is brought in \
                 stays here, and from now on each session is kept while it goes on"
            );
        }
    }
    Ok(sources)
}

/// Starts the daemon, through which several imports can write at once, and says what it fetches.
fn start_daemon_for_import(context: &Context) -> anyhow::Result<()> {
    if !context.no_daemon
        && let Err(error) = crate::cli::daemon::start(context)
    {
        tell!("no daemon could be started ({error:#}); the sessions are brought in without one");
    }
    if context.model().is_some() && model::models(context).find_installed().is_none() {
        note(
            "the embedding model is not installed yet: it is downloaded in the background (107 \
             MB), and until then memory searches by words",
        );
    }
    fs_err::create_dir_all(context.places.own_folder())?;
    Ok(())
}

/// Returns a command of this program that works on the same files.
fn own_command(context: &Context) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(crate::cli::daemon::global_options(context));
    if context.no_daemon {
        command.arg("--no-daemon");
    }
    Ok(command)
}

/// Starts a command that goes on after this process has ended; its output goes to a file.
fn spawn_in_background(context: &Context, mut command: Command) -> anyhow::Result<()> {
    let path = context.places.own_folder().join(LOG);
    let log = reprise_files::open_path(&path, reprise_files::OpenMode::Append);
    let log = log.with_context(|| format!("`{}` cannot be written", path.display()))?;
    command.stdin(Stdio::null()).stdout(log.try_clone()?);
    command.stderr(log).process_group(0);
    command
        .spawn()
        .map(drop)
        .context("no import could be started")
}

/// Waits until what came in answers a question.
fn wait_for_example(
    context: &Context,
    user: &UserId,
    comes_in: bool,
) -> anyhow::Result<Option<AskedExample>> {
    let until = Instant::now()
        + if comes_in {
            FIRST_MEMORY
        } else {
            Duration::ZERO
        };
    let (mut known, mut first) = (0, None);
    loop {
        let live = if store::exists(context, user)? {
            let stats = output::call::<Stats>(context, user, NoArguments {});
            stats.map_or(0, |stats| stats.live)
        } else {
            0
        };
        let comes_more = std::mem::replace(&mut known, live) != live;
        if live > 0 {
            let waits = first.get_or_insert_with(Instant::now).elapsed() < OTHERS;
            if !(comes_in && comes_more && waits)
                && let Some(example) = find_example(context, user)
            {
                return Ok(Some(example));
            }
        }
        if Instant::now() >= until {
            return Ok(None);
        }
        std::thread::sleep(POLL);
    }
}

/// Says how much came in so far.
fn describe_arrivals(context: &Context, user: &UserId) -> Option<String> {
    let stats = output::call::<Stats>(context, user, NoArguments {}).ok()?;
    let (memories, sessions) = (stats.live as usize, stats.sessions as usize);
    (memories > 0).then(|| {
        let memories = format_count(memories, "memory");
        let sessions = format_count(sessions, "session");
        format!("{memories} of {sessions} came in so far.")
    })
}

/// Prints a question with its answer as an example, or else what came in.
fn print_example(
    out: &mut impl Write,
    example: Option<&AskedExample>,
    arrivals: Option<&str>,
) -> io::Result<()> {
    if let Some(AskedExample { question, answer }) = example {
        let command = format!("reprise recall \"{question}\"");
        writeln!(out, "{} {command}", terminal::title("For example:"))?;
        return recall::print_answer(out, answer, SystemClock.now(), Page::stdout(), false);
    }
    if let Some(arrivals) = arrivals {
        writeln!(out, "{arrivals}")?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_names_all_some_or_none() {
        use HostProgram::{ClaudeCode, Codex, Zed};
        let open = [ClaudeCode, Codex, Zed];
        for (answer, chosen) in [
            ("\n", &open[..]),
            ("y", &open[..]),
            ("n", &[][..]),
            ("1, 3\n", &[ClaudeCode, Zed][..]),
            ("2", &[Codex][..]),
        ] {
            assert_eq!(
                parse_choice(&open, answer).expect("an answer"),
                chosen,
                "{answer:?}"
            );
        }
        for answer in ["4", "0", "claude", "1 x"] {
            assert!(parse_choice(&open, answer).is_err(), "{answer}");
        }
    }

    #[test]
    fn the_end_says_what_was_connected_and_what_was_so_before() {
        let result = |program, is_new| ProgramResult {
            program,
            connected: true,
            error: None,
            is_new,
        };
        let cursor = || result(HostProgram::Cursor, false);
        let said = |results: &[ProgramResult]| summarize_results(results, 1.14);
        assert_eq!(said(&[]), None);
        assert_eq!(
            said(&[cursor()]).as_deref(),
            Some("Nothing new was connected. Cursor was connected already.")
        );
        let ready = said(&[result(HostProgram::Codex, true), cursor()]);
        assert!(ready.is_some_and(|said| {
            said.starts_with("Ready in 1.1 s. The next session of Codex, Cursor begins")
        }));
    }

    #[test]
    fn without_an_example_only_what_came_in_is_told() {
        let mut out = Vec::new();
        print_example(&mut out, None, None).expect("printed");
        assert_eq!(out, b"");
        let arrivals = Some("7 memories of 2 sessions came in so far.");
        print_example(&mut out, None, arrivals).expect("printed");
        assert_eq!(out, b"7 memories of 2 sessions came in so far.\n");
    }
}
