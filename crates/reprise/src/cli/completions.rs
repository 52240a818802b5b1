//! `reprise completions`: a script for the user's shell.

use crate::args;
use crate::exit::Exit;

pub(super) fn run(shell: clap_complete::Shell) -> anyhow::Result<Exit> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut args::command(), "reprise", &mut script);
    std::io::Write::write_all(&mut crate::printer::stdout_of_bytes(), &script)?;
    Ok(Exit::Success)
}
