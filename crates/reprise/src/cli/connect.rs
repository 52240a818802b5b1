//! `reprise connect` and `disconnect`: wiring an agent's program through its own configuration.
//!
//! Lives here: reading, showing, backing up and writing files. What stands in them is in
//! `connect/`. Must never live here: a change that `disconnect` cannot take back.

mod edit;
mod hooks;
mod plan;
#[cfg(test)]
mod plugins;

use std::io::Write;
use std::path::Path;

use anyhow::Context as _;
use serde_json::Value;

use super::Context;
use crate::args::{ConnectArguments, HostProgram};
use crate::exit::Exit;
use plan::{Entry, Target};

/// Ending of the copy of a file as it was before the first change.
const BACKUP: &str = "before-reprise";

pub(super) fn run(context: &Context, arguments: &ConnectArguments) -> anyhow::Result<Exit> {
    let entry = entry(context, arguments)?;
    let mut out = anstream::stdout().lock();
    if arguments.program == HostProgram::Generic {
        writeln!(out, "{}", plan::generic(&entry))?;
        suggest(arguments);
        return Ok(Exit::Success);
    }
    for target in plan::targets(arguments.program, &crate::env::home()?) {
        let before = read(&target)?;
        let after = target
            .with(&before, &entry)
            .with_context(|| cannot(&target))?;
        let backup = with_ending(&target.path, BACKUP);
        let foreign = !before.is_empty() && !target.is_ours() && before != after;
        if foreign && !arguments.show && !backup.exists() {
            fs_err::write(&backup, &before)?;
        }
        write(&mut out, arguments, &target, &before, &after)?;
    }
    suggest(arguments);
    Ok(Exit::Success)
}

/// What is left for a person to do, which nothing here does by itself.
fn suggest(arguments: &ConnectArguments) {
    if arguments.show {
        return;
    }
    if let Some(left) = plan::left_to_do(arguments.program) {
        super::note(left);
    }
    super::note(&format!(
        "for your CLAUDE.md or AGENTS.md, if you like:\n{}",
        plan::SNIPPET
    ));
}

pub(super) fn undo(_: &Context, arguments: &ConnectArguments) -> anyhow::Result<Exit> {
    let mut out = anstream::stdout().lock();
    if arguments.program == HostProgram::Generic {
        super::note("take out what `reprise connect generic` printed by hand");
        return Ok(Exit::Success);
    }
    for target in plan::targets(arguments.program, &crate::env::home()?) {
        let before = read(&target)?;
        let after = target.without(&before).with_context(|| cannot(&target))?;
        let after = as_it_was(&target, after);
        write(&mut out, arguments, &target, &before, &after)?;
    }
    Ok(Exit::Success)
}

/// What is left of a file without us, in the form that its owner gave it: to the letter where
/// nobody has changed it since, and nothing where there was no file before.
fn as_it_was(target: &Target, after: String) -> String {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    match fs_err::read_to_string(with_ending(&target.path, BACKUP)) {
        Ok(kept) if read(&kept).is_some() && read(&kept) == read(&after) => kept,
        Err(_) if ["", "{}"].contains(&after.trim()) => String::new(),
        _ => after,
    }
}

fn entry(context: &Context, arguments: &ConnectArguments) -> anyhow::Result<Entry> {
    Ok(Entry {
        program: std::env::current_exe()?.display().to_string(),
        data: context.places.data.display().to_string(),
        user: arguments.whose.user.to_string(),
    })
}

fn cannot(target: &Target) -> String {
    let path = target.path.display();
    format!("`{path}` cannot be changed and was left as it is; repair it, or use `connect generic`")
}

fn read(target: &Target) -> anyhow::Result<String> {
    match fs_err::read_to_string(&target.path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(error.into()),
    }
}

fn write(
    out: &mut impl Write,
    arguments: &ConnectArguments,
    target: &Target,
    before: &str,
    after: &str,
) -> anyhow::Result<()> {
    let path = target.path.display();
    if arguments.show {
        writeln!(out, "# {path}\n{}", after.trim_end())?;
        return Ok(());
    }
    if before == after {
        writeln!(out, "{path} is as it should be")?;
        return Ok(());
    }
    if after.is_empty() {
        fs_err::remove_file(&target.path)?;
        writeln!(out, "{path} removed")?;
        return Ok(());
    }
    if let Some(folder) = target.path.parent() {
        fs_err::create_dir_all(folder)?;
    }
    // Whole or not at all: the program may read it at this moment. A link to a file elsewhere, as
    // those have who keep their settings in a repository, stays a link.
    let place = fs_err::canonicalize(&target.path).unwrap_or_else(|_| target.path.clone());
    let beside = with_ending(&place, "new");
    fs_err::write(&beside, after)?;
    if let Ok(known) = fs_err::metadata(&place) {
        fs_err::set_permissions(&beside, known.permissions())?;
    }
    fs_err::rename(&beside, &place)?;
    writeln!(out, "{path} changed")?;
    Ok(())
}

fn with_ending(path: &Path, ending: &str) -> std::path::PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}
