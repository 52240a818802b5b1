//! Arguments of the commands that store, find and change memories.

use std::path::{Path, PathBuf};

use chrono::{DateTime, Utc};
use clap::builder::{PossibleValue, PossibleValuesParser, RangedI64ValueParser, TypedValueParser};
use clap::{Args, Subcommand};
use reprise_knowledge::ImportKind;
use reprise_operations::operations::links::graph;
use reprise_operations::operations::outcomes::WithdrawOutcome;
use reprise_operations::operations::outcomes::how;
use reprise_operations::operations::records::list;
use reprise_operations::operations::{forgetting, links, recall, records};
use reprise_operations::{Filter, Lesson};

use super::operation::{WhoseArguments, operation_commands};

/// How records from outside are stored.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct IngestOptions {
    /// Replace memories that came from the same source (the same external id) and changed there.
    #[arg(long)]
    pub(crate) update: bool,
    /// Do not remove keys and passwords from texts.
    #[arg(long)]
    pub(crate) verbatim: bool,
    /// Store memories now; the daemon computes their embeddings when it runs next.
    #[arg(long)]
    pub(crate) later: bool,
}

#[derive(Debug, Args)]
pub(crate) struct IngestArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    #[command(flatten)]
    pub(crate) input: IngestInput,
    /// Print each external_id as soon as it is on disk.
    #[arg(long)]
    pub(crate) ack: bool,
    /// Memories per commit; with 1, each is on disk before the next is read.
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = group_size_parser())]
    pub(crate) group: u8,
    #[command(flatten)]
    pub(crate) how: IngestOptions,
    /// Longest wait for another command that uses the memory file.
    #[arg(long, default_value_t = 600, value_name = "SECONDS")]
    pub(crate) wait: u64,
}

#[derive(Debug, Default, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct IngestInput {
    /// JSONL file, or YAML if its name ends in .yaml; `-` reads stdin.
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// One memory per line:
    /// {"external_id","text","source","kind","session_id","timestamp","metadata"}; `-` reads
    /// stdin.
    #[arg(long, value_name = "FILE")]
    pub(crate) jsonl: Option<PathBuf>,
    /// YAML with one document per memory; `-` reads stdin.
    #[arg(long, value_name = "FILE")]
    pub(crate) yaml: Option<PathBuf>,
    /// Event log of a host (`/logs/events.jsonl`); every event belongs to --user.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["ack", "update", "verbatim", "later"])]
    pub(crate) events: Option<PathBuf>,
}

impl IngestInput {
    /// Returns the file, and whether it is YAML.
    pub(crate) fn file_and_format(&self) -> (&Path, bool) {
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

fn group_size_parser() -> RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(1..=64)
}

#[derive(Debug, Clone, Args)]
#[expect(clippy::struct_excessive_bools, reason = "each is a flag of its own")]
pub(crate) struct ImportArguments {
    /// File or folder: an agent's sessions, notes, another memory's export, ...; or an agent, such
    /// as claude-code.
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// What the file is, if it is not recognized.
    #[arg(long, value_name = "KIND", value_parser = import_kind_parser())]
    pub(crate) from: Option<ImportKind>,
    /// Show what would be imported; change nothing.
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Import only what happened since then: `30d`, a day or a time.
    #[arg(long, value_name = "TIME", value_parser = super::since)]
    pub(crate) since: Option<DateTime<Utc>>,
    /// Read times without a zone as UTC, not in the zone of this machine.
    #[arg(long)]
    pub(crate) utc: bool,
    #[command(flatten)]
    pub(crate) how: IngestOptions,
    /// For notes: also write changes in memory back to the notes.
    #[arg(long)]
    pub(crate) sync: bool,
    /// For notes: import changes as they happen, until Ctrl-C.
    #[arg(long, conflicts_with = "dry_run")]
    pub(crate) watch: bool,
    /// For notes: forget memories whose note or section was deleted.
    #[arg(long)]
    pub(crate) forget_gone: bool,
}

fn import_kind_parser() -> impl TypedValueParser<Value = ImportKind> {
    let values = ImportKind::ALL
        .iter()
        .map(|kind| PossibleValue::new(kind.name()).help(explain_import_kind(*kind)));
    PossibleValuesParser::new(values).try_map(|name| name.parse::<ImportKind>())
}

/// Returns what the help says of a kind of import.
fn explain_import_kind(kind: ImportKind) -> &'static str {
    match kind {
        ImportKind::Reprise => "An export of Reprise: JSONL, JSON, YAML or rvf",
        ImportKind::Rvf => "A file of the rvf-runtime library",
        ImportKind::Sunwell => "A project with a `.sunwell` folder, from Sunwell",
        ImportKind::Frames => "Frames of ralph, an agent loop",
        ImportKind::AiLessons => "A `knowledge.db` of ai-lessons",
        ImportKind::ServerMemory => "The `memory.jsonl` of MCP's memory server",
        ImportKind::Mem0 => "Memories of mem0",
        ImportKind::ClaudeMem => "The database of claude-mem",
        ImportKind::ClaudeCode => "Sessions of Claude Code",
        ImportKind::Codex => "Sessions of Codex",
        ImportKind::Gemini => "Sessions of Gemini CLI",
        ImportKind::Opencode => "Sessions of OpenCode",
        ImportKind::Cursor => "Messages of Cursor",
        ImportKind::Copilot => "Sessions of Copilot CLI",
        ImportKind::Chatgpt => "Conversations that ChatGPT exported",
        ImportKind::ClaudeAi => "Conversations that claude.ai exported",
        ImportKind::Trajectory => "A session as ATIF, or as Trajectory v1 of Letta",
        ImportKind::Git => "The commits of a git repository",
        ImportKind::Instructions => "`CLAUDE.md`, `AGENTS.md` and other instructions of a project",
        ImportKind::Markdown => "Markdown notes",
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct TagsArguments {
    #[command(subcommand)]
    pub(crate) command: Option<TagsCommand>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// List only tags that may be synonyms: similar spelling, or a plural.
    #[arg(long)]
    pub(crate) review: bool,
    /// Replace the first tag by the second in every memory.
    #[arg(long, num_args = 2, value_names = ["FROM", "INTO"], conflicts_with = "review")]
    pub(crate) merge: Option<Vec<String>>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TagsCommand {
    #[command(flatten)]
    Links(LinksCommand),
    /// List the kinds of evidence; define and merge them.
    Sources(SourcesArguments),
}

operation_commands! {
    LinksCommand {
        /// Link two memories.
        Link(links::Link),
        /// List the memories that links lead to from one.
        Related(links::Related),
        /// Show how two memories are connected, link by link.
        Path(graph::Path),
        /// List groups of linked memories, or what is linked to one.
        Clusters(graph::ClusterOf),
        /// List the memories that connect two tags, or that hold all memories together.
        Bridges(graph::BridgesOf),
    }
}

#[derive(Debug, Args)]
#[command(override_usage = "reprise learn [OPTIONS] <TEXT>...\n       \
    reprise learn [OPTIONS] --title <TITLE> --text <TEXT>")]
pub(crate) struct LearnArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    #[command(flatten)]
    pub(crate) lesson: Lesson,
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ShowArguments {
    #[command(subcommand)]
    pub(crate) command: Option<HowCommand>,
    #[command(flatten)]
    pub(crate) asked: records::GetArguments,
    /// Also show the memories that are linked to it.
    #[arg(long)]
    pub(crate) around: bool,
    /// Also show what only programs need.
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

operation_commands! {
    HowCommand {
        /// Show how a run like this one was done before.
        How(how::How),
    }
}

#[derive(Debug, Args)]
#[group(skip)]
#[command(override_usage = "reprise recall [OPTIONS] <TEXT>...\n       \
    reprise recall [OPTIONS] --queries <FILE>")]
pub(crate) struct RecallArguments {
    /// Your question.
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Read {"query": "...", "query_id": "..."} lines and answer each; `-` reads stdin.
    #[arg(long, value_name = "FILE", conflicts_with = "max_tokens")]
    pub(crate) queries: Option<PathBuf>,
    /// Show what each score is made of.
    #[arg(long, conflicts_with_all = ["queries", "max_tokens"])]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) asked: recall::RecallArguments,
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArguments {
    /// Memories to forget with their earlier versions, by id or external id.
    #[arg(value_name = "ID", group = "what")]
    pub(crate) records: Vec<String>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    #[command(flatten)]
    pub(crate) asked: forgetting::ForgetArguments,
    /// Erase the texts from disk, and look for them in the memory file and every known copy.
    #[arg(long, conflicts_with_all = ["dry_run", "everything"])]
    pub(crate) verify: bool,
    /// Delete the user: all memories and branches, from the disk.
    #[arg(long, group = "what")]
    pub(crate) everything: bool,
    /// With --everything: do not ask.
    #[arg(long, requires = "everything")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct SourcesArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// List only kinds without a meaning, with suggestions.
    #[arg(long)]
    pub(crate) review: bool,
    /// Replace the first kind by the second in every memory.
    #[arg(long, num_args = 2, value_names = ["FROM", "INTO"], conflicts_with = "review")]
    pub(crate) merge: Option<Vec<String>>,
    /// Define a kind of evidence.
    #[arg(long, value_name = "NAME", conflicts_with_all = ["review", "merge"])]
    pub(crate) add: Option<String>,
    /// Its meaning.
    #[arg(long, requires = "add", default_value = "")]
    pub(crate) description: String,
    /// Its typical confidence.
    #[arg(long, requires = "add", value_name = "LEVEL")]
    pub(crate) typical_confidence: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ListArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// List only memories of this day, month or year.
    #[arg(long, value_name = "TIME", conflicts_with_all = ["since", "until"])]
    day: Option<String>,
    #[command(flatten)]
    asked: list::Arguments,
}

impl ListArguments {
    /// Returns the day to list if nothing else is asked for.
    pub(crate) fn day(&self) -> Option<&str> {
        let is_all = self.asked.filter == Filter::default() && self.asked.grep.is_none();
        self.day.as_deref().filter(|_| is_all)
    }

    /// Returns the list request; a day becomes its first and last instant.
    pub(crate) fn list_request(&self) -> list::Arguments {
        let mut asked = self.asked.clone();
        if self.day.is_some() {
            asked.filter.since.clone_from(&self.day);
            asked.filter.until.clone_from(&self.day);
        }
        asked
    }
}

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub(crate) struct OutcomeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<OutcomeCommand>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// File with one finished run per line, as a JSON object; `-` reads stdin.
    ///
    /// Fields of a line:
    ///   "recall_id"     Id of the recall whose answer the run had
    ///   "query_id"      In its place: your id of the question in `recall --queries`
    ///   "query"         Text of the question
    ///   "used"          External ids of the memories that the run used, as a list
    ///   "quality"       How well the run went, from 0 (failed) to 1 (as wanted)
    ///   "run_id"        Optional: id of the run, which `outcome withdraw` takes
    ///   "failure_kind"  Optional: task, auth, rate_limit, network or provider
    ///   "credit"        Optional: explicit (the run said what it used) or implicit.
    #[arg(long, value_name = "FILE", required = true, verbatim_doc_comment)]
    pub(crate) jsonl: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum OutcomeCommand {
    /// Show whether learning is on, and from how many runs it learned.
    Status(WhoseArguments),
    /// Explain why a memory's score changes for a question, run by run.
    Explain(ExplainArguments),
    /// Rebuild what was learned from the log, and write sona.json.
    Replay(WhoseArguments),
    /// Delete everything that was learned, and the outcomes; no memory is deleted.
    Reset(ResetArguments),
    #[command(flatten)]
    Withdrawing(WithdrawCommand),
    /// Stop adjusting scores; outcomes are still recorded.
    Off(WhoseArguments),
    /// Adjust scores again.
    On(WhoseArguments),
    /// Draw the quality of runs over time as SVG.
    Plot(PlotArguments),
}

operation_commands! {
    WithdrawCommand {
        /// Withdraw the outcome of one run, so that nothing is learned from it.
        Withdraw(WithdrawOutcome),
    }
}

#[derive(Debug, Args)]
pub(crate) struct ResetArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Do not ask for confirmation.
    #[arg(long)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Recall that a run referred to, or the question itself.
    #[arg(value_name = "RECALL_ID|QUESTION")]
    pub(crate) question: String,
    /// Memory, by id or external id.
    pub(crate) record: String,
}

#[derive(Debug, Args)]
pub(crate) struct PlotArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// File to write [default: stdout].
    #[arg(long, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Overwrite a file that is not an earlier plot.
    #[arg(long, requires = "out")]
    pub(crate) force: bool,
}
