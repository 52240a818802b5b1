//! The arguments of `reprise rebuild`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use reprise_knowledge::ProjectionKind;
use reprise_types::UserId;

#[derive(Debug, Args)]
pub(crate) struct RebuildArguments {
    /// Which of them [default: those that are configured or there; all where none is]
    #[arg(value_name = "KIND", value_parser = kinds())]
    pub(crate) kind: Vec<ProjectionKind>,
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
    /// Where one of them goes [default: as configured, or beside the memory]
    #[arg(long, value_name = "PATH")]
    pub(crate) to: Option<PathBuf>,
    /// Only records of this project
    #[arg(long, value_name = "NAME", requires = "to")]
    pub(crate) project: Option<String>,
    /// Take over files that another program wrote: import them first
    #[arg(long)]
    pub(crate) adopt: bool,
}

fn kinds() -> impl TypedValueParser<Value = ProjectionKind> {
    let names = ProjectionKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<ProjectionKind>())
}
