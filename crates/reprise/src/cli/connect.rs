//! `reprise connect` and `disconnect`: wiring an agent's program through its own configuration.
//!
//! Planning every change before the first is made, and saying what was done. What stands in the
//! files is in `connect/plan.rs`, how they are written in `connect/apply.rs`.

mod apply;
mod edit;
mod entry;
mod plan;
#[cfg(test)]
mod tests;

use crate::args::{ConnectArguments, ConnectScope, HostProgram};
use crate::cli::prelude::*;
use apply::{Backup, Change};
use entry::Entry;
use plan::Target;

pub(super) fn run(context: &Context, arguments: &ConnectArguments) -> anyhow::Result<Exit> {
    let entry = entry(context, arguments)?;
    settle(context, arguments)?;
    if arguments.program == HostProgram::Generic {
        writeln!(crate::printer::stdout(), "{}", plan::generic(&entry))?;
    } else {
        let home = crate::env::home()?;
        make(arguments, &connecting(arguments.program, &home, &entry)?)?;
    }
    if arguments.show {
        return Ok(Exit::Success);
    }
    suggest(arguments);
    propose(context, arguments);
    if let Some(kind) = plan::history(arguments.program) {
        super::import::offer(kind, &crate::env::home()?, &arguments.whose.user);
    }
    Ok(Exit::Success)
}

pub(super) fn undo(arguments: &ConnectArguments) -> anyhow::Result<Exit> {
    if arguments.program == HostProgram::Generic {
        note("take out what `reprise connect generic` printed by hand");
        return Ok(Exit::Success);
    }
    let home = crate::env::home()?;
    let changes = disconnecting(arguments.program, &home)?;
    make(arguments, &changes)?;
    if !arguments.show {
        apply::clear_folders(&changes, &home);
    }
    Ok(Exit::Success)
}

/// What becomes of a program's files; an error where one of them cannot be changed.
fn changes(
    program: HostProgram,
    home: &Path,
    change: impl Fn(&Target, &str) -> anyhow::Result<(String, Backup)>,
) -> anyhow::Result<Vec<Change>> {
    let targets = plan::targets(program, home).into_iter();
    let changes = targets.map(|target| {
        let before = apply::read(&target.path)?;
        let (after, backup) = change(&target, &before).with_context(|| cannot(&target))?;
        Ok(Change {
            path: target.path,
            before,
            after,
            backup,
        })
    });
    changes.collect()
}

/// What `connect` does to them.
fn connecting(program: HostProgram, home: &Path, entry: &Entry) -> anyhow::Result<Vec<Change>> {
    changes(program, home, |target, before| {
        let after = target.with(before, entry)?;
        // A file without us is as its owner has it: an older copy is out of date.
        let without = target.without(before);
        let is_owners = without.is_ok_and(|without| without == before);
        let foreign = !before.is_empty() && !target.is_ours() && before != after;
        let is_due = foreign && (is_owners || apply::copy_of(&target.path).is_none());
        let backup = if is_due { Backup::Made } else { Backup::Kept };
        Ok((after, backup))
    })
}

/// What `disconnect` does to them.
fn disconnecting(program: HostProgram, home: &Path) -> anyhow::Result<Vec<Change>> {
    changes(program, home, |target, before| {
        let copied = apply::copy_of(&target.path);
        let after = target.without(before)?;
        let after = target.given_back(&after, copied.as_deref())?;
        Ok((as_it_was(after, copied), Backup::Dropped))
    })
}

/// What is left of a file without us, in the form that its owner gave it: to the letter where
/// nobody has changed it since, and nothing where there was no file before.
fn as_it_was(after: String, copied: Option<String>) -> String {
    let read = |text: &str| edit::read(text).ok();
    match copied {
        Some(copied) if read(&copied).is_some() && read(&copied) == read(&after) => copied,
        None if ["", "{}"].contains(&after.trim()) => String::new(),
        _ => after,
    }
}

/// Shows the changes, or makes them and says so.
fn make(arguments: &ConnectArguments, changes: &[Change]) -> anyhow::Result<()> {
    let mut out = crate::printer::stdout();
    if arguments.show {
        for change in changes {
            let (path, after) = (change.path.display(), change.after.trim_end());
            writeln!(out, "# {path}\n{after}")?;
        }
        return Ok(());
    }
    apply::apply(changes, &mut |_| Ok(()))?;
    for change in changes {
        let path = change.path.display();
        match (change.is_one(), change.after.is_empty()) {
            (false, _) => writeln!(out, "{path} is as it should be")?,
            (true, true) => writeln!(out, "{path} removed")?,
            (true, false) => writeln!(out, "{path} changed")?,
        }
    }
    Ok(())
}

/// A model that would find more of what this user keeps, where one would.
fn propose(context: &Context, arguments: &ConnectArguments) {
    if context.remote.is_some() || !context.config.proposes_models() {
        return;
    }
    let opened = store::read(context, &arguments.whose.user);
    let proposal = opened.ok().and_then(|engine| engine.stats().proposal);
    if let Some(proposal) = proposal {
        note(&proposal);
    }
}

/// What is left for a person to do, which nothing here does by itself.
fn suggest(arguments: &ConnectArguments) {
    if let Some(left) = plan::left_to_do(arguments.program) {
        note(left);
    }
    if !plan::tells(arguments.program) {
        tell!(
            "for your CLAUDE.md or AGENTS.md, if you like:\n{}",
            plan::SNIPPET
        );
    }
}

/// What is started later has none of this environment: the daemon elsewhere that it names goes into
/// the configuration, its token into a file that nobody else can read.
fn settle(context: &Context, arguments: &ConnectArguments) -> anyhow::Result<()> {
    let Some(remote) = context.remote.as_ref().filter(|_| !arguments.show) else {
        return Ok(());
    };
    if remote.settle(&context.places)? {
        let file = context.places.config.display();
        tell!(
            "`{file}` names the daemon at {} from now on; `REPRISE_URL=` before a command means \
             this machine",
            remote.url
        );
    }
    Ok(())
}

fn entry(context: &Context, arguments: &ConnectArguments) -> anyhow::Result<Entry> {
    let named = context.is_config_named;
    let search = crate::env::search_path();
    let program = entry::lasting(&std::env::current_exe()?, search.as_deref());
    Ok(Entry {
        program: program.display().to_string(),
        data: context.places.data.display().to_string(),
        config: named.then(|| context.places.config.display().to_string()),
        user: arguments.whose.user.to_string(),
        of_project: arguments.scope == ConnectScope::Project,
        replaces: arguments.replace,
    })
}

fn cannot(target: &Target) -> String {
    let path = target.path.display();
    format!("`{path}` cannot be changed and was left as it is; repair it, or use `connect generic`")
}
