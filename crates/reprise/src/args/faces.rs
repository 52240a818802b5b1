//! What may be typed to run the daemon and to speak with it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use reprise_operations::{HookEvent, Profile};
use reprise_server::HookProgram;
use reprise_types::UserId;

use super::WhoseArguments;

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// Listen on this address too, for requests with a token; `127.0.0.1:7341` for example
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    /// Refuse what one token asks beyond so many requests a second [default: no limit]
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_second: Option<NonZeroU32>,
    /// Send traces to this OpenTelemetry collector, as JSON over HTTP
    #[arg(long, value_name = "URL", env = crate::env::OTLP)]
    pub(crate) otlp: Option<String>,
    /// End after so many seconds without a request [default: stay]
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_exit: Option<u64>,
    /// Take the place of a daemon that runs now, once it has finished what is under way
    #[arg(long)]
    pub(crate) replace: bool,
    /// Follow this log of a host (`/logs/events.jsonl`) as it grows, and keep what happens
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// Whose memory the log feeds, whatever its events say [default: the configured user]
    #[arg(long, value_name = "USER", requires = "events")]
    pub(crate) events_user: Option<UserId>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Say whether a daemon runs, and how it is
    Status,
    /// Tell the daemon to finish what is under way and end
    Stop,
    /// Make, list and withdraw tokens for HTTP
    #[command(subcommand)]
    Token(TokenCommand),
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token and print it: the only time that it is shown
    Add {
        /// What to call it
        name: String,
        /// Whose memory alone it opens [default: every user's]
        #[arg(long)]
        user: Option<UserId>,
    },
    /// List the tokens by name
    List,
    /// Confirm the sign-in of a program that shows this code
    Approve {
        /// As it is shown
        code: String,
        #[command(flatten)]
        whose: WhoseArguments,
        /// Refuse it instead
        #[arg(long)]
        refuse: bool,
    },
    /// Replace a token by a new one and print that
    Rotate {
        /// Which
        name: String,
    },
    /// Withdraw a token
    Revoke {
        /// Which
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Which tools the client sees: lean (4), default (9), full (33) or workspace (24)
    #[arg(long, default_value = "default")]
    pub(crate) profile: Profile,
    /// All of the user's memory, or the part of the project that it is started in
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ConnectScope,
}

/// How much of a memory an agent's program is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ConnectScope {
    /// All of it
    #[default]
    User,
    /// What belongs to the project, by git remote and first commit
    Project,
}

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// Which operation
    pub(crate) operation: Option<String>,
    /// A JSON object; `-` reads stdin
    #[arg(default_value = "{}")]
    pub(crate) arguments: String,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Print the one-time link on a line of its own and open nothing
    #[arg(long)]
    pub(crate) print: bool,
    /// Sign in to look only: nothing can be changed
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Let this session go on to the memory of every user here
    #[arg(long)]
    pub(crate) all_users: bool,
}

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// session-start, user-prompt, post-tool, answer, stop, pre-compact or session-end
    pub(crate) event: HookEvent,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Whose JSON is read and written: claude-code, codex, cursor, gemini,
    /// opencode, copilot or windsurf
    #[arg(long, default_value = "claude-code")]
    pub(crate) program: HookProgram,
    /// Print the context as text instead of the JSON that the program reads
    #[arg(long)]
    pub(crate) text: bool,
    /// How long it waits for memory, in milliseconds
    #[arg(long, default_value = "250")]
    pub(crate) deadline_ms: u32,
}

/// A program that runs agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum HostProgram {
    ClaudeCode,
    Codex,
    Cursor,
    Gemini,
    Opencode,
    /// VS Code with Copilot
    Vscode,
    CopilotCli,
    Windsurf,
    Zed,
    Kiro,
    /// Any other: prints what to put into its configuration
    Generic,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// Which program
    pub(crate) program: HostProgram,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Take back what was written
    #[arg(long)]
    pub(crate) undo: bool,
    /// Print what would be written, and write nothing
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) show: bool,
    /// All of the user's memory, or the part of the project that the program works in
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ConnectScope,
    /// Take the place of another program's MCP server of our name, until `disconnect`
    #[arg(long)]
    pub(crate) replace: bool,
}
