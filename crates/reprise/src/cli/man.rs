//! `reprise man`: the manual, a page for each command.

use std::path::Path;

use crate::args;
use crate::exit::Exit;

pub(super) fn run(folder: &Path) -> anyhow::Result<Exit> {
    fs_err::create_dir_all(folder)?;
    clap_mangen::generate_to(args::command(), folder)?;
    Ok(Exit::Success)
}
