//! The arguments of `reprise import`.

use std::path::PathBuf;

use clap::Args;
use reprise_knowledge::ImportKind;
use reprise_types::UserId;

#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ImportArguments {
    /// A file or folder: a project with `.sunwell`, frames, an ai-lessons database, ...
    pub(crate) path: PathBuf,
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
    /// What it is, where that cannot be seen from it
    #[arg(long, value_name = "KIND", value_parser = kinds())]
    pub(crate) from: Option<ImportKind>,
    /// Only say what would be kept
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take times that name no zone as of Greenwich, not of this machine
    #[arg(long)]
    pub(crate) utc: bool,
    /// Replace what is known by its name and says something else
    #[arg(long)]
    pub(crate) update: bool,
    /// Keep texts as they stand, keys and passwords included
    #[arg(long)]
    pub(crate) verbatim: bool,
    /// Keep the records now and embed them at the next start of the service
    #[arg(long)]
    pub(crate) later: bool,
}

fn kinds() -> impl clap::builder::TypedValueParser<Value = ImportKind> {
    use clap::builder::{PossibleValuesParser, TypedValueParser};
    let names = ImportKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<ImportKind>())
}
