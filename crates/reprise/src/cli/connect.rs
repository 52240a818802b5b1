//! `reprise connect` and `disconnect`: wiring an agent's program through its own configuration.
//!
//! Every change is planned before the first is made. The contents of the
//! files are in `connect/plan.rs`, how they are written in `connect/apply.rs`.

mod apply;
mod edit;
mod entry;
mod first_question;
mod plan;
mod setup;
#[cfg(test)]
mod tests;

use clap::ValueEnum as _;

use crate::args::{ConnectArguments, ConnectScope, HostProgram};
use crate::cli::prelude::*;
use apply::{BackupAction, SettingsChange};
use entry::ProgramEntry;
use plan::Target;
use reprise_server::{AgentProgram, HookProgram};
pub(super) use setup::run as setup;

/// Longest wait for the version of an agent's program.
const VERSION: Duration = Duration::from_secs(5);

pub(super) fn run(context: &Context, arguments: &ConnectArguments) -> anyhow::Result<Exit> {
    let entry = build_entry(
        context,
        &arguments.whose,
        arguments.scope,
        arguments.replace,
    )?;
    save_remote_daemon(context, arguments)?;
    if arguments.program == HostProgram::Generic {
        writeln!(
            crate::printer::stdout(),
            "{}",
            plan::render_generic_setup(&entry)
        )?;
    } else {
        let home = crate::env::home_folder()?;
        let changes = plan_connection(arguments.program, &home, &entry)?;
        show_or_apply(context, arguments.show, &changes)?;
        if !arguments.show {
            let said = describe_connection(arguments.program, &changes, &home);
            writeln!(crate::printer::stdout(), "{said}")?;
        }
    }
    if arguments.show {
        return Ok(Exit::Success);
    }
    print_next_steps(arguments);
    propose_model(context, arguments);
    if let Some(kind) = plan::find_history_kind(arguments.program) {
        let home = crate::env::home_folder()?;
        super::import::offer_import(context, kind, &home, &arguments.whose.user);
    }
    Ok(Exit::Success)
}

pub(super) fn undo(context: &Context, arguments: &ConnectArguments) -> anyhow::Result<Exit> {
    if arguments.program == HostProgram::Generic {
        note("remove what `reprise connect generic` printed by hand");
        return Ok(Exit::Success);
    }
    let home = crate::env::home_folder()?;
    let changes = plan_disconnection(arguments.program, &home)?;
    // The files that a killed `connect` left are removed even if there is nothing else to undo.
    show_or_apply(context, arguments.show, &changes)?;
    if !arguments.show && changes.iter().any(SettingsChange::has_effect) {
        let said = describe_disconnection(arguments.program, &changes, &home);
        writeln!(crate::printer::stdout(), "{said}")?;
    } else if !arguments.show {
        let program = plan::label(arguments.program);
        tell!("nothing to undo: Reprise is not connected to {program}");
    }
    if !arguments.show {
        apply::remove_empty_folders(&changes, &home);
    }
    Ok(Exit::Success)
}

/// Lists the programs that run agents on this machine, with what of ours their settings have.
pub(super) fn list_agent_programs() -> Vec<AgentProgram> {
    let Ok(home) = crate::env::home_folder() else {
        return Vec::new();
    };
    let all = HostProgram::value_variants().iter().copied();
    let there = all.filter(|program| plan::is_on_machine(*program, &home));
    there
        .map(|program| find_agent_program(program, &home))
        .collect()
}

/// Reads what of ours a program's settings have.
fn find_agent_program(program: HostProgram, home: &Path) -> AgentProgram {
    let targets = plan::targets(program, home).into_iter();
    let files = targets.filter_map(|target| {
        let text = apply::read_settings(&target.path).ok()?;
        Some((target, text))
    });
    let files: Vec<(Target, String)> = files.collect();
    AgentProgram {
        name: name_of(program),
        label: plan::label(program).to_owned(),
        is_connected: files.iter().any(|(target, text)| target.has_ours(text)),
        has_hooks: files.iter().any(|(target, text)| target.has_hooks(text)),
    }
}

/// Plans the changes of a program's files; an error if one of them cannot be changed.
fn plan_changes(
    program: HostProgram,
    home: &Path,
    change: impl Fn(&Target, &str) -> anyhow::Result<(String, BackupAction)>,
) -> anyhow::Result<Vec<SettingsChange>> {
    let targets = plan::targets(program, home).into_iter();
    let changes = targets.map(|target| {
        let before = apply::read_settings(&target.path)?;
        let (after, backup) =
            change(&target, &before).with_context(|| cannot_change_message(&target))?;
        Ok(SettingsChange {
            path: target.path,
            before,
            after,
            backup,
        })
    });
    changes.collect()
}

/// Plans what `connect` changes in a program's files.
fn plan_connection(
    program: HostProgram,
    home: &Path,
    entry: &ProgramEntry,
) -> anyhow::Result<Vec<SettingsChange>> {
    plan_changes(program, home, |target, before| {
        let after = target.with(before, entry)?;
        // A file without us is as its owner has it: an older copy is out of date. A file with
        // nothing but ours was made by us, and is nobody's.
        let without = target.without(before).ok();
        let is_owners = without.as_deref() == Some(before);
        let is_all_ours = without.is_some_and(|without| is_blank(&without));
        let foreign = !before.is_empty() && !target.is_ours() && before != after;
        let is_first = !is_all_ours && apply::read_backup(&target.path).is_none();
        let is_due = foreign && (is_owners || is_first);
        let backup = if is_due {
            BackupAction::Made
        } else {
            BackupAction::Kept
        };
        Ok((after, backup))
    })
}

/// Plans what `disconnect` changes in a program's files.
fn plan_disconnection(program: HostProgram, home: &Path) -> anyhow::Result<Vec<SettingsChange>> {
    plan_changes(program, home, |target, before| {
        let copied = apply::read_backup(&target.path);
        let after = target.without(before)?;
        let after = target.restore_replaced(&after, copied.as_deref())?;
        // A copy that has ours in it is not how the owner had the file.
        let original = copied.filter(|copied| !target.has_ours(copied));
        Ok((
            restore_original_form(after, original),
            BackupAction::Dropped,
        ))
    })
}

/// Restores the form that the owner gave the file: the exact copy if nobody has changed it since,
/// and an empty text if there was no file before.
fn restore_original_form(after: String, copied: Option<String>) -> String {
    let read = |text: &str| edit::parse_json_object(text).ok();
    match copied {
        Some(copied) if read(&copied).is_some() && read(&copied) == read(&after) => copied,
        None if is_blank(&after) => String::new(),
        _ => after,
    }
}

/// Returns whether a file with this text says nothing.
fn is_blank(text: &str) -> bool {
    ["", "{}"].contains(&text.trim())
}

/// Prints the changes, or applies them.
fn show_or_apply(context: &Context, show: bool, changes: &[SettingsChange]) -> anyhow::Result<()> {
    if !show {
        return apply::apply(changes, &mut |_| Ok(()));
    }
    for change in changes {
        let row = json!({ "path": change.path, "text": change.after });
        output::print(context, &row, |out| {
            let (path, after) = (change.path.display(), change.after.trim_end());
            Ok(writeln!(out, "# {path}\n{after}")?)
        })?;
    }
    Ok(())
}

/// Says that a program is connected, in which files, and what comes next.
fn describe_connection(program: HostProgram, changes: &[SettingsChange], home: &Path) -> String {
    let label = plan::label(program);
    let changed = changes.iter().filter(|change| change.has_effect());
    let changed: Vec<String> = changed.map(|change| shorten(&change.path, home)).collect();
    if changed.is_empty() {
        return format!("{label} was connected already; no file changed.");
    }
    let (files, name) = (changed.join(", "), name_of(program));
    format!(
        "Connected {label}: {files}. Restart it; its next session has your memories (undo: \
         `reprise connect {name} --undo`)."
    )
}

/// Says what disconnecting a program did to each of its files.
fn describe_disconnection(program: HostProgram, changes: &[SettingsChange], home: &Path) -> String {
    let changed = changes.iter().filter(|change| change.has_effect());
    let done = changed.map(|change| {
        let path = shorten(&change.path, home);
        if change.after.is_empty() {
            format!("deleted {path} (nothing else was in it)")
        } else {
            format!("removed Reprise from {path}")
        }
    });
    let done: Vec<String> = done.collect();
    format!(
        "Disconnected {}: {}.",
        plan::label(program),
        done.join(", ")
    )
}

/// Returns what a person types for a program.
fn name_of(program: HostProgram) -> String {
    let value = program.to_possible_value();
    value.map_or_else(String::new, |value| value.get_name().to_owned())
}

/// Returns a path below the home folder with `~` in place of that folder.
fn shorten(path: &Path, home: &Path) -> String {
    match path.strip_prefix(home) {
        Ok(rest) => format!("~/{}", rest.display()),
        Err(_) => path.display().to_string(),
    }
}

/// Proposes a model if another one would find more of this user's memories.
fn propose_model(context: &Context, arguments: &ConnectArguments) {
    if context.remote.is_some() || !context.config.proposes_models() {
        return;
    }
    let opened = store::open_for_reading(context, &arguments.whose.user);
    let proposal = opened.ok().and_then(|engine| engine.stats().proposal);
    if let Some(proposal) = proposal {
        note(&proposal);
    }
}

/// Prints the steps that a person has to do.
fn print_next_steps(arguments: &ConnectArguments) {
    if let Some(left) = plan::manual_step(arguments.program) {
        note(left);
    }
    if !plan::has_rules_file(arguments.program) {
        tell!(
            "You may add these lines to your CLAUDE.md or AGENTS.md; nothing was written there:\n{}",
            plan::SNIPPET
        );
    }
}

/// Saves the remote daemon that the environment names into the configuration, and its token into a
/// private file: programs that start us later do not have this environment.
fn save_remote_daemon(context: &Context, arguments: &ConnectArguments) -> anyhow::Result<()> {
    let Some(remote) = context.remote.as_ref().filter(|_| !arguments.show) else {
        return Ok(());
    };
    if remote.save_to_configuration(&context.places)? {
        let file = context.places.config.display();
        tell!(
            "`{file}` names the daemon at {} from now on; `REPRISE_URL=` before a command means \
             this machine",
            remote.url
        );
    }
    Ok(())
}

fn build_entry(
    context: &Context,
    whose: &WhoseArguments,
    scope: ConnectScope,
    replaces: bool,
) -> anyhow::Result<ProgramEntry> {
    let named = context.is_config_named;
    let search = crate::env::search_path();
    let program = entry::find_lasting_path(&std::env::current_exe()?, search.as_deref());
    Ok(ProgramEntry {
        program: program.display().to_string(),
        data: context.places.data.display().to_string(),
        models: context
            .is_models_dir_named
            .then(|| context.places.models.display().to_string()),
        config: named.then(|| context.places.config.display().to_string()),
        user: whose.user.to_string(),
        of_project: scope == ConnectScope::Project,
        replaces,
        tool_callers: find_tool_callers(),
    })
}

/// Finds the programs on the search path whose version can call a tool as a hook. One that does not
/// say its version in time cannot.
fn find_tool_callers() -> Vec<HookProgram> {
    let Ok(runtime) = runtime::build_single_threaded() else {
        return Vec::new();
    };
    runtime.block_on(async {
        let asked = entry::TOOL_CALLERS.map(|(program, command, since)| {
            let printed = tokio::spawn(read_version(command));
            async move {
                let printed = printed.await.ok()??;
                entry::is_version_since(&printed, since).then_some(program)
            }
        });
        let mut found = Vec::new();
        for one in asked {
            found.extend(one.await);
        }
        found
    })
}

/// Reads what a program on the search path prints of its version.
async fn read_version(name: &'static str) -> Option<String> {
    let mut command = tokio::process::Command::new(crate::env::find_program(name)?);
    command
        .arg("--version")
        .stdin(Stdio::null())
        .kill_on_drop(true);
    let printed = tokio::time::timeout(VERSION, command.output()).await;
    Some(String::from_utf8_lossy(&printed.ok()?.ok()?.stdout).into_owned())
}

fn cannot_change_message(target: &Target) -> String {
    let path = target.path.display();
    format!("`{path}` was not changed")
}
