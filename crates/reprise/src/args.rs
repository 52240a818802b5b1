//! What may be typed: every command, flag and default, and nothing of what they do.

#![expect(
    clippy::doc_markdown,
    reason = "these comments are help texts, shown as they are written"
)]

mod catalogue;
mod daemon;
mod files;
mod global;
mod health;
mod help;
mod operation;
mod records;
mod written;

use std::num::NonZeroU16;
use std::path::PathBuf;

use chrono::{DateTime, Utc};
use clap::{Args, Parser, Subcommand};
use reprise_operations::operations::lessons;
use reprise_operations::operations::sessions::pausing::{Pause, Resume};
use reprise_types::{Calendar, Clock, SystemClock, TimeError};

pub(crate) use catalogue::assemble_catalogue;
pub(crate) use daemon::{
    CallArguments, ConnectArguments, ConnectScope, HookArguments, HostProgram, McpArguments,
    OpenArguments, ServeArguments, ServeCommand, SetupArguments, TokenCommand,
};
pub(crate) use files::{
    BackupArguments, BackupCommand, BranchCommand, DemoArguments, DemoCommand, ExportArguments,
    ExportFormat, KeptDemo, KeyArguments, LateEvent, RebuildArguments, RestoreArguments,
    SealArguments, SyncArguments,
};
pub use global::CatalogueCommand;
pub(crate) use global::{BranchArguments, GlobalBranchCommand};
pub(crate) use global::{
    PublishArguments, RateArguments, ShareCommand, ShareRepositoryArguments, TrustArguments,
    UnpublishArguments,
};
pub(crate) use health::{
    CheckArguments, DoctorArguments, DoctorCommand, InspectArguments, ModelsCommand,
    ReviewArguments,
};
pub(crate) use help::{
    build_command, render_other_help, shorten_global_options, with_default_user,
};
use operation::operation_commands;
pub(crate) use operation::{OperationArguments, OperationRunner, WhoseArguments};
pub(crate) use records::{
    ExplainArguments, ForgetArguments, ImportArguments, IngestArguments, IngestInput,
    IngestOptions, LearnArguments, ListArguments, OutcomeArguments, OutcomeCommand, PlotArguments,
    RecallArguments, ResetArguments, ShowArguments, SourcesArguments, TagsArguments, TagsCommand,
};
pub(crate) use written::{WrittenCommand, parse_written};

/// Memory for AI agents: keeps what happened and finds what helps.
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

const AFTER_HELP: &str = "Exit codes: 0 success; 1 some input was refused (a message says which and \
why), or `doctor` found a problem; 2 the command failed. With a daemon on another machine \
also: 3 not reachable, 4 unknown token, 5 access denied, 6 different version.\nData is printed on \
stdout, everything else on stderr.";

/// Heading of the options that every command takes.
const GLOBAL_HEADING: &str = "Global options";

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = GLOBAL_HEADING)]
pub struct Common {
    /// Directory with one folder per user [default: ~/.local/share/reprise].
    #[arg(long, global = true, env = crate::env::DATA_DIR, value_name = "DIR")]
    pub(crate) data_dir: Option<PathBuf>,
    /// Directory of the models [default: ~/.cache/reprise/models].
    #[arg(long, global = true, env = crate::env::MODELS_DIR, value_name = "DIR")]
    pub(crate) models_dir: Option<PathBuf>,
    /// Configuration file [default: ~/.config/reprise/config.toml].
    #[arg(long, global = true, env = crate::env::CONFIG, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
    /// Print JSON: one object, or one object per line.
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Do not use the embedding model; search by words and time (a running daemon keeps its own).
    #[arg(long, global = true)]
    pub(crate) no_model: bool,
    /// Do not ask a running daemon; open the files directly.
    #[arg(long, global = true)]
    pub(crate) no_daemon: bool,
    /// Give up on a daemon that is silent for twice this many seconds.
    #[arg(
        long, global = true, hide = true, env = crate::env::DAEMON_PATIENCE,
        value_name = "SECONDS", default_value = "5"
    )]
    pub(crate) daemon_patience: NonZeroU16,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Connect the agents on this machine and bring in their sessions.
    Setup(SetupArguments),
    /// See a demo: a week of agent work, a crash, a recovery, a question.
    Demo(DemoArguments),
    /// Connect one agent by hooks and MCP; --undo disconnects it.
    Connect(ConnectArguments),
    /// Open the page with your memories in the browser.
    Open(OpenArguments),
    /// Find problems and fix them; tidy up; manage models.
    Doctor(DoctorArguments),
    /// Remember a lesson.
    Learn(LearnArguments),
    /// Import sessions, notes and the memories of other programs.
    Import(ImportArguments),
    /// Correct a memory; the old version is kept.
    #[command(override_usage = "reprise edit [OPTIONS] <ID> <TEXT>...\n       \
        reprise edit [OPTIONS] <ID> --tags <TAGS>, or another part of it")]
    #[command(mut_arg("tags", |tags| tags.help("All its tags from now on, separated by commas")))]
    #[command(mut_arg("project", |project| {
        project.help("Move it to this project, or to that of this folder; `none` for all")
    }))]
    Edit(OperationArguments<lessons::UpdateArguments>),
    /// Forget memories, a session or a project; --verify proves that the text is gone.
    Forget(ForgetArguments),
    /// Ask a question; --why shows why each result matches.
    Recall(RecallArguments),
    /// List memories, newest first.
    List(ListArguments),
    /// Show one memory, or how a run like this one was done before.
    Show(ShowArguments),
    /// List and merge tags; also the links between memories, and kinds of evidence.
    Tags(TagsArguments),
    /// Count what is stored.
    Stats(WhoseArguments),
    /// Report how runs went, and see what was learned from them.
    Outcome(OutcomeArguments),
    /// Back up all memories of a user to a file, or restore them.
    Backup(BackupArguments),
    /// Write memories as JSONL, Markdown, YAML or for other programs.
    Export(ExportArguments),
    /// Try something on a copy: compare, merge, drop; sync machines.
    #[command(subcommand)]
    Branch(BranchCommand),
    /// Publish memories, take them back, rate those of others.
    #[command(subcommand)]
    Share(ShareCommand),
    /// Run the daemon; see its status, stop it, manage tokens; pause memory.
    Serve(ServeArguments),
    /// Add memories from a JSONL or YAML file, or from a host's event log.
    Ingest(IngestArguments),
    /// Serve MCP on stdin and stdout.
    Mcp(McpArguments),
    /// Answer an agent's hook: JSON on stdin, context on stdout; never blocks the agent.
    Hook(HookArguments),
    /// Print one line for an agent's status bar: JSON on stdin.
    Statusline(WhoseArguments),
    /// Run an operation with JSON arguments, as over HTTP; without a name, list operations.
    Call(CallArguments),
    /// Verify the memory file, as `doctor check` does: scripts call it by this name.
    #[command(hide = true)]
    Check(CheckArguments),
    /// Restore memories, as `backup restore` does: scripts call it by this name.
    #[command(hide = true)]
    Restore(RestoreArguments),
    #[command(flatten)]
    Pausing(PauseCommand),
    /// Explain a command; --all lists every command.
    Help {
        /// List every command, with those for programs.
        #[arg(long)]
        all: bool,
        /// Write a manual page for each command into this folder.
        #[arg(long, value_name = "FOLDER", conflicts_with_all = ["all", "command"])]
        man: Option<PathBuf>,
        /// Print a completion script for this shell.
        #[arg(long, value_name = "SHELL", conflicts_with_all = ["all", "command", "man"])]
        completions: Option<clap_complete::Shell>,
        /// Command to explain.
        command: Vec<String>,
    },
}

operation_commands! {
    PauseCommand {
        /// Pause memory: agents get nothing and nothing is stored until `resume`.
        #[command(hide = true)]
        Pause(Pause),
        /// End a pause: agents get memories, and new ones are stored.
        #[command(hide = true)]
        Resume(Resume),
    }
}

/// Returns the calendar of the machine's user.
pub(crate) fn calendar() -> Calendar {
    Calendar::in_machine_zone(SystemClock.now())
}

/// Parses a time or a day, and returns its first instant.
pub fn since(text: &str) -> Result<DateTime<Utc>, TimeError> {
    calendar().parse_since(text)
}

/// Parses a time or a day, and returns its last instant.
fn until(text: &str) -> Result<DateTime<Utc>, TimeError> {
    calendar().parse_until(text)
}
