//! `reprise man`: the manual, a page for each command.

use std::path::Path;

use clap::CommandFactory;

use crate::args::Arguments;
use crate::exit::Exit;

pub(super) fn run(folder: &Path) -> anyhow::Result<Exit> {
    fs_err::create_dir_all(folder)?;
    clap_mangen::generate_to(Arguments::command(), folder)?;
    Ok(Exit::Success)
}
