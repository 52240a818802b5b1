//! `reprise pause` and `resume`: the project may be named by a folder of this machine, which the
//! operation cannot see.

use clap::Args;
use reprise_operations::operations::sessions::pausing::Pause;

use crate::args::{OperationArguments, OperationRunner};
use crate::cli::prelude::*;

/// Runs an operation on the project of the folder that was typed.
pub(super) struct FolderRunner<'a>(pub(super) &'a Context);

impl OperationRunner for FolderRunner<'_> {
    type Done = anyhow::Result<Exit>;

    fn run_operation<O>(&self, asked: OperationArguments<O::Arguments>) -> anyhow::Result<Exit>
    where
        O: Operation<Arguments: Args>,
    {
        let mut given = serde_json::to_value(&asked.asked)?;
        let typed = given["project"].as_str();
        let folder = typed.filter(|typed| project::is_folder_name(typed));
        let found = folder.map(|folder| project::project_name_of_folder(self.0, folder));
        if let Some(name) = found.transpose()? {
            tell!("using project `{name}`");
            given["project"] = name.into();
            if O::SPEC.name == <Pause as Operation>::SPEC.name {
                // The folder is there, even if no memory is of it yet.
                given["new"] = true.into();
            }
        }
        output::run::<O>(self.0, &asked.whose, serde_json::from_value(given)?)
    }
}
