//! What may be typed to keep, find and tend records: an operation's own arguments, and whose
//! memory.

use std::path::{Path, PathBuf};

use clap::builder::{PossibleValuesParser, RangedI64ValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use reprise_knowledge::ImportKind;
use reprise_operations::operations::learning::WithdrawOutcomeArguments;
use reprise_operations::operations::tending::{self, Verdict};
use reprise_operations::operations::{audit, graph, list, records};
use reprise_operations::{Filter, Lesson, NoArguments};
use reprise_types::UserId;

#[derive(Debug, Clone, Args)]
pub(crate) struct WhoseArguments {
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value_t)]
    pub(crate) user: UserId,
}

#[derive(Debug, Args)]
pub(crate) struct Ask<A: Args> {
    #[command(flatten)]
    pub(crate) asked: A,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

/// How records that come from outside are kept.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TakenIn {
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

#[derive(Debug, Args)]
pub(crate) struct IngestArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    #[command(flatten)]
    pub(crate) input: IngestInput,
    /// Print each external_id once its record is durable
    #[arg(long)]
    pub(crate) ack: bool,
    /// Records of one commit; 1 makes each durable before the next is read
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = group_sizes())]
    pub(crate) group: u8,
    #[command(flatten)]
    pub(crate) how: TakenIn,
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

impl IngestInput {
    /// What is read, and whether as YAML.
    pub(crate) fn form(&self) -> (&Path, bool) {
        if let Some(file) = &self.yaml {
            return (file, true);
        }
        if let Some(file) = &self.jsonl {
            return (file, false);
        }
        let file = self.file.as_deref().unwrap_or(Path::new("-"));
        let ending = file.extension().and_then(|ending| ending.to_str());
        (file, matches!(ending, Some("yaml" | "yml")))
    }
}

fn group_sizes() -> RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(1..=64)
}

#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ImportArguments {
    /// A file or folder: a project with `.sunwell`, frames, an ai-lessons database, ...
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// What it is, where that cannot be seen from it
    #[arg(long, value_name = "KIND", value_parser = import_kinds())]
    pub(crate) from: Option<ImportKind>,
    /// Only say what would be kept
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Take times that name no zone as of Greenwich, not of this machine
    #[arg(long)]
    pub(crate) utc: bool,
    #[command(flatten)]
    pub(crate) how: TakenIn,
    /// Of notes: what memory says by now goes out to the notes that it wrote there, too
    #[arg(long)]
    pub(crate) sync: bool,
    /// Of notes: go on as they change, until Ctrl-C
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) watch: bool,
    /// Of notes: forget what stands for notes and sections that are gone
    #[arg(long)]
    pub(crate) forget_gone: bool,
}

fn import_kinds() -> impl TypedValueParser<Value = ImportKind> {
    let names = ImportKind::ALL.iter().map(|kind| kind.name());
    PossibleValuesParser::new(names).try_map(|name| name.parse::<ImportKind>())
}

#[derive(Debug, Args)]
pub(crate) struct TagsArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Name those that may be one: near in spelling, or a plural
    #[arg(long)]
    pub(crate) review: bool,
    /// Give every record that has the first tag the second in its place
    #[arg(long, num_args = 2, value_names = ["FROM", "INTO"], conflicts_with = "review")]
    pub(crate) merge: Option<Vec<String>>,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LearnArguments {
    #[command(subcommand)]
    pub(crate) command: Option<LearnCommand>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    #[command(flatten)]
    pub(crate) lesson: Lesson,
}

#[derive(Debug, Args)]
pub(crate) struct ShowArguments {
    #[command(flatten)]
    pub(crate) asked: records::GetArguments,
    /// With what stands around it, and the links among that
    #[arg(long)]
    pub(crate) around: bool,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum GraphCommand {
    /// How two records are connected, link by link
    Path(Ask<graph::PathArguments>),
    /// What stands around a record; without one, groups that belong together by their links
    #[command(alias = "around")]
    Clusters(Ask<graph::ClusterArguments>),
    /// The records that hold two domains together, or all of memory
    Bridges(Ask<graph::BridgesArguments>),
}

#[derive(Debug, Args)]
pub(crate) struct SourcesArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// List those alone that nobody said the meaning of, with what may be meant
    #[arg(long)]
    pub(crate) review: bool,
    /// Let every record that rests on the first rest on the second; the first means that then
    #[arg(long, num_args = 2, value_names = ["FROM", "INTO"], conflicts_with = "review")]
    pub(crate) merge: Option<Vec<String>>,
    /// Say what a kind of evidence means
    #[arg(long, value_name = "NAME", conflicts_with_all = ["review", "merge"])]
    pub(crate) add: Option<String>,
    /// Its meaning
    #[arg(long, requires = "add", default_value = "")]
    pub(crate) description: String,
    /// How sure one typically is by it
    #[arg(long, requires = "add", value_name = "LEVEL")]
    pub(crate) typical_confidence: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Only what happened on this day, or in this month or year
    #[arg(long, value_name = "TIME", conflicts_with_all = ["since", "until"])]
    day: Option<String>,
    #[command(flatten)]
    asked: list::Arguments,
}

impl ListArguments {
    /// The day that is looked through, where nothing else is said of the records.
    pub(crate) fn day(&self) -> Option<&str> {
        let is_all = self.asked.filter == Filter::default();
        self.day.as_deref().filter(|_| is_all)
    }

    /// What is asked for, a day as the time from its beginning to its end.
    pub(crate) fn asked(&self) -> list::Arguments {
        let mut asked = self.asked.clone();
        if self.day.is_some() {
            asked.filter.since.clone_from(&self.day);
            asked.filter.until.clone_from(&self.day);
        }
        asked
    }
}

#[derive(Debug, Args)]
pub(crate) struct OutcomeArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// One run per line: {"query_id"|"recall_id","query","used":[external_id],"quality"}, and as
    /// one likes "run_id","failure_kind","credit"; `-` reads stdin
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: PathBuf,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LearnCommand {
    /// Say how far learning is believed, and what it rests on
    Status(WhoseArguments),
    /// Say why a record is moved for a question, run by run
    #[command(visible_alias = "why")]
    Explain(ExplainArguments),
    /// Fold the log again, prove that it teaches the same, and write sona.json anew
    Replay(WhoseArguments),
    /// Throw away everything learned; the log keeps what happened
    Reset(ResetArguments),
    /// Take back how one run went: nothing is learned from it any more
    Withdraw(Ask<WithdrawOutcomeArguments>),
    /// Make no adjustments; outcomes are learned from all the same
    Off(WhoseArguments),
    /// Make adjustments again
    On(WhoseArguments),
    /// Draw quality over time as SVG
    Plot(PlotArguments),
}

/// What is governed; `learn` only ever keeps a lesson.
#[derive(Debug, Subcommand)]
pub(crate) enum LearningCommand {
    #[command(flatten)]
    Learned(LearnCommand),
    /// Report how runs went that used what was recalled, from a JSONL file
    Outcome(OutcomeArguments),
}

#[derive(Debug, Args)]
pub(crate) struct ResetArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Ask nothing
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// The recall that a run referred to, or the question itself
    #[arg(value_name = "RECALL_ID|QUESTION")]
    pub(crate) question: String,
    /// The record: its id or its external id
    pub(crate) record: String,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Where to; stdout by default
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Replace a file that is no earlier plot
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TendArguments {
    #[command(flatten)]
    pub(crate) now: Ask<tending::ConsolidateArguments>,
    #[command(subcommand)]
    pub(crate) command: Option<TendCommand>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TendCommand {
    /// List the pairs of records that a person has to look at, or answer one
    Review(ReviewArguments),
    /// Take back what was put away, or a correction
    Undo(Ask<tending::UndoArguments>),
    /// Say how memory is: duplicates, contradictions, stale, secrets, and what was done to it
    Audit(Ask<NoArguments>),
    /// Tell what was done, the latest first
    Log(Ask<audit::DiaryArguments>),
}

#[derive(Debug, Args)]
pub(crate) struct ReviewArguments {
    /// The two records of a pair; without them every pair is listed
    #[arg(num_args = 2, value_names = ["A", "B"], requires = "answer")]
    pub(crate) pair: Vec<String>,
    /// What they are to each other; one letter will do
    #[arg(long, value_enum, requires = "pair")]
    pub(crate) answer: Option<Verdict>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}
