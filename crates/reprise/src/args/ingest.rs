//! The arguments of `reprise ingest`.

use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::RangedI64ValueParser;
use reprise_types::UserId;

#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of the command line"
)]
pub(crate) struct IngestArguments {
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
    #[command(flatten)]
    pub(crate) input: IngestInput,
    /// Print each external_id once its record is durable
    #[arg(long)]
    pub(crate) ack: bool,
    /// Records of one commit; 1 makes each durable before the next is read
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = group_sizes())]
    pub(crate) group: u8,
    /// Replace what is known by its external_id and says something else
    #[arg(long)]
    pub(crate) update: bool,
    /// Keep texts as they stand, keys and passwords included
    #[arg(long)]
    pub(crate) verbatim: bool,
    /// Keep the records now and embed them at the next start of the service
    #[arg(long)]
    pub(crate) later: bool,
    /// How long to wait for the end of another command that has the memory
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    pub(crate) wait: u64,
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct IngestInput {
    /// The records, as JSON or by the ending .yaml as YAML; `-` reads stdin
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// One record per line:
    /// {"external_id","text","source","kind","session_id","timestamp","metadata"}; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: Option<PathBuf>,
    /// The same as YAML, one document per record; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) yaml: Option<PathBuf>,
}

/// How records are written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum IngestForm {
    /// An object a line.
    Jsonl,
    /// A document each.
    Yaml,
}

impl IngestInput {
    /// What is read, and as what.
    pub(crate) fn form(&self) -> (IngestForm, &Path) {
        if let Some(file) = &self.yaml {
            return (IngestForm::Yaml, file);
        }
        if let Some(file) = &self.jsonl {
            return (IngestForm::Jsonl, file);
        }
        let file = self.file.as_deref().unwrap_or(Path::new("-"));
        let ending = file.extension().and_then(|ending| ending.to_str());
        match ending {
            Some("yaml" | "yml") => (IngestForm::Yaml, file),
            _ => (IngestForm::Jsonl, file),
        }
    }
}

fn group_sizes() -> RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(1..=64)
}
