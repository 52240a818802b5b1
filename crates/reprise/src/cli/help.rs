//! `reprise help`, `man` and `completions`: the commands explained, to people and to shells.

use crate::args;
use crate::cli::prelude::*;
use crate::printer;

/// A command explained, or every one listed.
pub(super) fn run(all: bool, names: &[String]) -> anyhow::Result<Exit> {
    let mut command = args::command();
    let mut asked = &mut command;
    for name in names {
        asked = match asked.find_subcommand_mut(name) {
            Some(found) => found,
            None => anyhow::bail!("there is no command `{name}`; `reprise help --all` lists them"),
        };
    }
    let mut text = asked.render_long_help().ansi().to_string();
    if all && names.is_empty() {
        text.push_str(&args::others(&command));
    }
    write!(printer::stdout(), "{text}")?;
    Ok(Exit::Success)
}

/// The manual, a page for each command.
pub(super) fn man(folder: &Path) -> anyhow::Result<Exit> {
    fs_err::create_dir_all(folder)?;
    clap_mangen::generate_to(args::command(), folder)?;
    Ok(Exit::Success)
}

/// A script for the user's shell.
pub(super) fn completions(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "reprise", &mut script);
    printer::stdout_of_bytes().write_all(&script)?;
    Ok(Exit::Success)
}
