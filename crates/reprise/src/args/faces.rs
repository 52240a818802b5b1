//! What may be typed to run the daemon and to speak with it.

use std::net::SocketAddr;
use std::num::NonZeroU32;

use clap::{Args, Subcommand, ValueEnum};
use reprise_operations::{HookEvent, Lesson, Profile};
use reprise_server::HookProgram;
use reprise_types::{ConfidenceLevel, Evidence, UserId};

use super::LearnCommand;

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
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
pub(crate) struct WhoseArguments {
    /// Whose memory
    #[arg(long, env = crate::env::USER, default_value = "default")]
    pub(crate) user: UserId,
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
pub(crate) struct McpArguments {
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Which tools the client sees: lean (4), default (9), full (27) or workspace (24)
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
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct LearnArguments {
    #[command(subcommand)]
    pub(crate) command: Option<LearnCommand>,
    /// What was learned, in a sentence
    #[arg(conflicts_with = "lesson_text")]
    pub(crate) text: Vec<String>,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    #[command(flatten)]
    pub(crate) lesson: LessonArguments,
}

impl LearnArguments {
    /// The lesson, in a sentence or in its parts.
    pub(crate) fn lesson(&self) -> Lesson {
        let mut lesson = self.lesson.lesson();
        if !self.text.is_empty() {
            lesson.text = Some(self.text.join(" "));
        }
        lesson
    }
}

#[derive(Debug, Args)]
pub(crate) struct LessonArguments {
    /// One line that names it
    #[arg(long)]
    title: Option<String>,
    /// What was learned: one thing
    #[arg(id = "lesson_text", long = "text", visible_alias = "content")]
    content: Option<String>,
    /// A free word (may be repeated, or several with commas)
    #[arg(long, value_delimiter = ',')]
    tags: Vec<String>,
    /// A word that it should be found by (may be repeated)
    #[arg(long, value_delimiter = ',')]
    keywords: Vec<String>,
    /// Where it holds (may be repeated)
    #[arg(long)]
    context: Vec<String>,
    /// Where it does not hold (may be repeated)
    #[arg(long)]
    anti_context: Vec<String>,
    /// very-low, low, medium, high or very-high
    #[arg(long)]
    confidence: Option<ConfidenceLevel>,
    /// documented, tested, observed, inferred or hearsay
    #[arg(long, value_name = "EVIDENCE")]
    source: Option<Evidence>,
    /// Where that can be looked up
    #[arg(long)]
    source_notes: Option<String>,
    /// The session that taught it
    #[arg(long)]
    session: Option<String>,
}

impl LessonArguments {
    /// What is not given stays.
    pub(crate) fn lesson(&self) -> Lesson {
        let given = |list: &Vec<String>| (!list.is_empty()).then(|| list.clone());
        Lesson {
            title: self.title.clone(),
            text: self.content.clone(),
            tags: given(&self.tags),
            keywords: given(&self.keywords),
            contexts: given(&self.context),
            anti_contexts: given(&self.anti_context),
            confidence: self.confidence,
            evidence: self.source,
            source_notes: self.source_notes.clone(),
            session: self.session.clone(),
        }
    }
}

#[derive(Debug, Args)]
pub(crate) struct NamedArguments {
    /// The record's id or external id
    pub(crate) id: String,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
}

#[derive(Debug, Args)]
pub(crate) struct EditArguments {
    #[command(flatten)]
    pub(crate) named: NamedArguments,
    #[command(flatten)]
    pub(crate) lesson: LessonArguments,
}

#[derive(Debug, Args)]
pub(crate) struct RelatedArguments {
    #[command(flatten)]
    pub(crate) named: NamedArguments,
    /// Links to walk
    #[arg(long, default_value_t = 2)]
    pub(crate) depth: usize,
}

#[derive(Debug, Args)]
pub(crate) struct LinkArguments {
    /// The record that the link leads from
    pub(crate) from: String,
    /// The record that it leads to
    pub(crate) to: String,
    /// For example derived_from or contradicts
    #[arg(long, default_value = "related_to")]
    pub(crate) relation: String,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
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
}

#[derive(Debug, Args)]
pub(crate) struct HookArguments {
    /// session-start, user-prompt, post-tool, answer, stop, pre-compact or session-end
    pub(crate) event: HookEvent,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Whose JSON is read and written: claude-code, codex, cursor, gemini or opencode
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
    /// Any other: prints what to put into its configuration
    Generic,
}

#[derive(Debug, Args)]
pub(crate) struct ConnectArguments {
    /// Which program
    pub(crate) program: HostProgram,
    #[command(flatten)]
    pub(crate) whose: WhoseArguments,
    /// Print what would be written, and write nothing
    #[arg(long)]
    pub(crate) show: bool,
    /// All of the user's memory, or the part of the project that the program works in
    #[arg(long, value_enum, default_value_t)]
    pub(crate) scope: ConnectScope,
    /// Take the place of another program's MCP server of our name, until `disconnect`
    #[arg(long)]
    pub(crate) replace: bool,
}
