//! Arguments of the daemon and of the programs that talk to it.

use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};
use reprise_operations::operations::sessions::pausing::{Pause, Resume};
use reprise_operations::{HookEvent, Profile};
use reprise_server::HookProgram;
use reprise_types::UserId;
use serde::Serialize;

use super::catalogue::find_profile;
use super::{WhoseArguments, operation_commands};

#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ServeArguments {
    #[command(subcommand)]
    pub(crate) command: Option<ServeCommand>,
    /// Also listen on this address for requests with a token, such as `127.0.0.1:7341`.
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) http: Option<SocketAddr>,
    /// Most requests a second for one token [default: no limit].
    #[arg(long, value_name = "N")]
    pub(crate) requests_per_second: Option<NonZeroU32>,
    /// Send traces to this OpenTelemetry collector, as JSON over HTTP.
    #[arg(long, value_name = "URL", env = crate::env::OTLP)]
    pub(crate) otlp: Option<String>,
    /// Stop after this many seconds without a request [default: never].
    #[arg(long, value_name = "SECONDS")]
    pub(crate) idle_exit: Option<u64>,
    /// Replace a running daemon after it has finished its work.
    #[arg(long)]
    pub(crate) replace: bool,
    /// Follow this event log of a host (`/logs/events.jsonl`) and store its events.
    #[arg(long, value_name = "FILE")]
    pub(crate) events: Option<PathBuf>,
    /// User whose memories the events become [default: the configured user].
    #[arg(long, value_name = "USER", requires = "events")]
    pub(crate) events_user: Option<UserId>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ServeCommand {
    /// Show whether a daemon runs, and its state.
    Status,
    /// Stop the daemon after it has finished its work.
    Stop,
    #[command(flatten)]
    Pausing(ServePauseCommand),
    /// Create, list and revoke tokens for HTTP.
    #[command(subcommand)]
    Token(TokenCommand),
}

operation_commands! {
    ServePauseCommand {
        /// Pause memory everywhere, or for one project or agent; `reprise pause` is the same.
        Pause(Pause),
        /// End a pause; `reprise resume` is the same.
        Resume(Resume),
    }
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Create a token and print it; it is shown only once.
    Add {
        /// Name of the token.
        name: String,
        /// Only user whose memories it opens [default: every user].
        #[arg(long)]
        user: Option<UserId>,
    },
    /// List tokens by name.
    List,
    /// Approve the sign-in of a program that shows this code.
    Approve {
        /// Code that the program shows.
        code: String,
        #[command(flatten)]
        whose: WhoseArguments,
        /// Refuse the sign-in.
        #[arg(long)]
        refuse: bool,
    },
    /// Replace a token and print the new one.
    Rotate {
        /// Name of the token.
        name: String,
    },
    /// Revoke a token.
    Revoke {
        /// Name of the token.
        name: String,
    },
}

#[derive(Debug, Args)]
pub(crate) struct McpArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Tools that the client sees, from few to many: lean, default, full; or workspace.
    #[arg(long, default_value = "default", value_parser = find_profile)]
    pub(crate) profile: Profile,
    /// Use all of the user's memories, or only those of the current project.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ConnectScope,
}

/// Memories that an agent sees.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, ValueEnum)]
pub(crate) enum ConnectScope {
    /// All memories.
    #[default]
    User,
    /// Memories of the project, recognized by git remote and first commit.
    Project,
}

#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// Name of the operation.
    pub(crate) operation: Option<String>,
    /// Arguments as a JSON object; `-` reads stdin.
    #[arg(default_value = "{}")]
    pub(crate) arguments: String,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

#[derive(Debug, Args)]
pub(crate) struct OpenArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Print the one-time link, valid for two minutes; do not open a browser.
    #[arg(long)]
    pub(crate) print: bool,
    /// Sign in without permission to change anything.
    #[arg(long)]
    pub(crate) read_only: bool,
    /// Allow this sign-in to open the memories of every user.
    #[arg(long)]
    pub(crate) all_users: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct HookArguments {
    /// Event: session-start, user-prompt, post-tool, answer, stop, pre-compact, session-end or
    /// status-line.
    pub(crate) event: HookEvent,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Program whose JSON is read and written: claude-code, codex, cursor, gemini, opencode,
    /// copilot or windsurf.
    #[arg(long, default_value = "claude-code")]
    pub(crate) program: HookProgram,
    /// Print the context as text, not as the JSON that the program reads.
    #[arg(long)]
    pub(crate) text: bool,
    /// Longest wait for memory, in milliseconds [default: 2500 at session-start, else 250].
    #[arg(long)]
    pub(crate) deadline_ms: Option<u32>,
}

impl HookArguments {
    /// Returns how long the hook waits for memory.
    pub(crate) fn deadline(&self) -> Duration {
        let deadline_ms = self.deadline_ms.unwrap_or(self.event.deadline_ms());
        Duration::from_millis(deadline_ms.into())
    }
}

/// Program that runs agents.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum HostProgram {
    ClaudeCode,
    Codex,
    Cursor,
    Gemini,
    Opencode,
    /// VS Code with Copilot.
    Vscode,
    CopilotCli,
    Windsurf,
    Zed,
    Kiro,
    /// Any other agent: prints what to add to its configuration.
    Generic,
}

#[derive(Debug, Args)]
pub(crate) struct SetupArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Connect every agent that is found; ask nothing.
    #[arg(long)]
    pub(crate) yes: bool,
    /// Show what would be written; change nothing.
    #[arg(long, visible_alias = "dry-run", conflicts_with = "yes")]
    pub(crate) show: bool,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// Agent to connect.
    #[arg(value_name = "AGENT")]
    pub(crate) program: HostProgram,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Disconnect: remove what `connect` wrote.
    #[arg(long)]
    pub(crate) undo: bool,
    /// Show what would be written; change nothing.
    #[arg(long, visible_alias = "dry-run")]
    pub(crate) show: bool,
    /// Use all of the user's memories, or only those of the project the agent works in.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ConnectScope,
    /// Replace an MCP server of the same name; `connect AGENT --undo` restores it.
    #[arg(long)]
    pub(crate) replace: bool,
}
