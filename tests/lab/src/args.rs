//! Command line of `reprise-lab`: what it measures, with every option and default.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are help texts, shown as they are written"
)]

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Parser, Subcommand};
use reprise::lab::Common;
use reprise_lab::{Format, Protocol};
use reprise_types::UserId;

/// Measures Reprise: retrieval quality on data sets, and times and sizes on this machine.
#[derive(Debug, Parser)]
#[command(version, about, max_term_width = 100)]
pub(crate) struct LabArguments {
    #[command(flatten)]
    pub(crate) common: Common,
    #[command(subcommand)]
    pub(crate) command: LabCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabCommand {
    /// Measure retrieval quality on a public data set, next to plain baselines.
    Eval(EvalArguments),
    /// Measure this machine.
    #[command(subcommand)]
    Bench(BenchCommand),
}

#[derive(Debug, Args)]
pub(crate) struct EvalArguments {
    /// The form of the data: a public set's, or folders of records, queries and gold as JSONL, or
    /// `git` for a clone of yours, whose changelog asks for its commits (`offtopic` puts the
    /// questions of each folder to the others; `learning` needs no data: it proves that outcomes
    /// change rankings; `mine` puts sentences of your own memory's records to each installed model;
    /// `answer` has the model of `[eval.answer]` answer LongMemEval, and that of `[eval.judge]`
    /// judge).
    #[arg(value_parser = target_parser())]
    pub(crate) set: EvalTarget,
    /// The set's file or folder; two or more for `offtopic`.
    #[arg(long, value_name = "PATH", visible_alias = "repo")]
    pub(crate) data: Vec<PathBuf>,
    /// The changelog of `git` [default: the one in the clone's root].
    #[arg(long, value_name = "FILE")]
    pub(crate) changelog: Option<PathBuf>,
    /// What a document is: turns, or as others publish: sessions, user-sessions (LongMemEval),
    /// rounds (BEAM).
    #[arg(long, default_value = "turns", value_parser = protocol_parser())]
    pub(crate) protocol: Protocol,
    /// Results of one recall that count [default: 20; 50 by rounds, 200 turns of LongMemEval].
    #[arg(long)]
    pub(crate) top_k: Option<usize>,
    /// Tokens of recalled context that `answer` puts into a prompt.
    #[arg(long, value_name = "TOKENS", default_value_t = 4_000)]
    pub(crate) budget: usize,
    /// Ask the first questions only.
    #[arg(long, value_name = "N")]
    pub(crate) limit: Option<usize>,
    /// Whose memory `mine` asks.
    #[arg(long, env = "REPRISE_USER")]
    pub(crate) user: Option<UserId>,
    /// A row more without these signals (commas between); may be repeated; `each` for one at a
    /// time.
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
    /// Models next to each other, on a memory's own records.
    Mine,
    /// Answers of a model, judged by another one.
    Answer,
}

fn protocol_parser() -> impl TypedValueParser<Value = Protocol> {
    let names = Protocol::ALL.map(Protocol::name);
    PossibleValuesParser::new(names).try_map(|name| {
        let named = Protocol::ALL.into_iter().find(|known| known.name() == name);
        named.ok_or("there is no such protocol")
    })
}

/// The names of the forms, each for its form, and of what else can be evaluated.
fn target_parser() -> impl TypedValueParser<Value = EvalTarget> {
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
    /// Records in the user's own store, and things in each global one.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) records: usize,
    /// How many things the database's index keeps in sight.
    #[arg(long, value_name = "N", default_value_t = 160)]
    pub(crate) sight: u32,
    /// How many rows of a question's words the database reads.
    #[arg(long, value_name = "N", default_value_t = 2_000)]
    pub(crate) word_rows: u32,
    /// An empty PostgreSQL database with pgvector to measure too.
    #[arg(
        long,
        value_name = "URL",
        env = "REPRISE_GLOBAL_DATABASE_URL",
        hide_env_values = true
    )]
    pub(crate) database_url: Option<String>,
    /// Measure nothing but the database.
    #[arg(long, requires = "database_url")]
    pub(crate) database_only: bool,
}

#[derive(Debug, Args)]
pub(crate) struct StoreSize {
    /// Records in the store.
    #[arg(long, default_value_t = 10_000)]
    pub(crate) records: usize,
}

#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Whole recalls against the embedding of their queries, on a synthetic store.
    Recall(StoreSize),
    /// Recalls of two threads against one, and against a writer at full rate.
    Concurrent(StoreSize),
    /// Resident memory beyond model and runtime.
    Memory {
        /// Records in the store.
        #[arg(long, default_value_t = 10_000)]
        records: usize,
        /// Measure this file (the bench starts itself so).
        #[arg(long, hide = true)]
        file: Option<PathBuf>,
    },
    /// Duplicates, near misses and contradictions with labels, told apart.
    Consolidate(StoreSize),
    /// Lessons with tags and links: a recall by tag, a walk of three links.
    Lessons {
        /// Lessons in the store, with five links each.
        #[arg(long, default_value_t = 10_000)]
        records: usize,
    },
    /// What moving in takes, form by form, next to ingest.
    Import {
        /// Lines of each form.
        #[arg(long, default_value_t = 100_000)]
        lines: usize,
    },
    /// Corrections above what they correct, with the model.
    Supersession {
        /// Facts that are corrected.
        #[arg(long, default_value_t = 500)]
        pairs: usize,
    },
    /// A memory left alone for a year, with the model.
    Year {
        /// Days to work through.
        #[arg(long, default_value_t = 365)]
        days: usize,
        /// Events of a day.
        #[arg(long, default_value_t = 300)]
        events: usize,
    },
    /// Pages of a list, plain and narrowed.
    List(StoreSize),
    /// What MCP, HTTP, the command line and a hook add to the engine's own time.
    Faces(StoreSize),
    /// A memory over the log's own vectors and over rvf-runtime's, in one run.
    Vectors(StoreSize),
    /// One small write alone, and during a count, a checkpoint and a compaction.
    Write(StoreSize),
    /// A branch as a copy-on-write clone, where the file system can, and as a copy.
    Branch {
        /// Records in the store.
        #[arg(long, default_value_t = 100_000)]
        records: usize,
    },
    /// Forgetting everything at once, with its proof, and during writes.
    Forget {
        /// Records in the store.
        #[arg(long, default_value_t = 100_000)]
        records: usize,
    },
    /// Published knowledge: embedded, in a database, and with a service that is down or slow.
    Global(BenchGlobalArguments),
    /// Another model takes over: its vectors, recalls meanwhile, what is found before and after.
    Reembed {
        /// Records in the store.
        #[arg(long, default_value_t = 1_000)]
        records: usize,
    },
    /// Resident memory of the model with one session and with more.
    Sessions,
    /// Event ingest: share of the wall time inside the embedding session.
    Ingest {
        /// Events to replay.
        #[arg(long, default_value_t = 10_000)]
        events: usize,
    },
}
