//! What is reported of a moment in a session of an agent's program, and what is answered.

use reprise_types::sha256_hex;

use crate::prelude::*;

/// Digits of a hash that make the key of a request: 128 bits.
const KEY_DIGITS: usize = 32;

/// The moments of a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum HookEvent {
    /// A session begins, or goes on after a compaction.
    SessionStart,
    /// The user has said something.
    UserPrompt,
    /// A tool has run.
    PostTool,
    /// The agent has said something; its turn may go on.
    Answer,
    /// The agent has finished its answer.
    Stop,
    /// The conversation is about to be shortened.
    PreCompact,
    /// The session is over.
    SessionEnd,
    /// The program draws its status bar: it is told what memory did in the session.
    StatusLine,
}

impl HookEvent {
    /// Every moment with its name on the command line and its name in Claude Code, where a tool
    /// that has failed is a moment of its own; what that does not have is named as Cursor does.
    pub const ALL: [(Self, &'static str, &'static str); 9] = [
        (Self::SessionStart, "session-start", "SessionStart"),
        (Self::UserPrompt, "user-prompt", "UserPromptSubmit"),
        (Self::PostTool, "post-tool", "PostToolUse"),
        (Self::PostTool, "post-tool", "PostToolUseFailure"),
        (Self::Answer, "answer", "AfterAgentResponse"),
        (Self::Stop, "stop", "Stop"),
        (Self::PreCompact, "pre-compact", "PreCompact"),
        (Self::SessionEnd, "session-end", "SessionEnd"),
        (Self::StatusLine, "status-line", "StatusLine"),
    ];

    /// How long a program waits for the answer unless it says otherwise, in milliseconds.
    #[must_use]
    pub fn deadline_ms(self) -> u32 {
        if self == Self::SessionStart {
            OPENING_DEADLINE_MS
        } else {
            HOOK_DEADLINE_MS
        }
    }

    /// Its name in an address.
    #[must_use]
    pub fn address_name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(event, ..)| *event == self);
        named.map_or("", |(_, _, host)| host)
    }

    /// Its name on the command line.
    #[must_use]
    pub fn name(self) -> &'static str {
        let named = Self::ALL.iter().find(|(event, ..)| *event == self);
        named.map_or("", |(_, own, _)| own)
    }
}

impl std::str::FromStr for HookEvent {
    type Err = String;

    /// Either name.
    fn from_str(text: &str) -> Result<Self, String> {
        let named = Self::ALL
            .iter()
            .find(|(_, own, host)| text == *own || text == *host);
        named.map(|(event, ..)| *event).ok_or_else(|| {
            let mut names: Vec<&str> = Self::ALL.iter().map(|(_, own, _)| *own).collect();
            names.dedup();
            format!("the events are {}", names.join(", "))
        })
    }
}

/// How long a program waits for the answer of its hook unless it says otherwise, in milliseconds.
pub const HOOK_DEADLINE_MS: u32 = 250;
/// How long it waits for what a session begins with: the daemon may have to start, and every
/// program gives its first hook seconds.
pub const OPENING_DEADLINE_MS: u32 = 2_500;

arguments! {
    /// What the daemon needs of an event, and nothing else of what the program said.
    #[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(default, deny_unknown_fields)]
    pub struct HookReport {
        /// The program's session.
        pub session: String as SessionName,
        /// The program that runs the agent.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub agent: String as NameText,
        /// The project's name: the folder that holds its repository.
        pub project: String as NameText,
        /// What the user, or the agent, said; of a command what failed in it, or what it committed.
        pub text: String as LongText,
        /// The command that ran, for a tool.
        pub command: String as LineText,
        /// What the command printed. It is not stored: it tells which of two contradicting
        /// memories the session agrees with.
        #[serde(skip_serializing_if = "String::is_empty")]
        pub printed: String as LongText,
        /// Whether the command succeeded, or the answer was finished, where that can be told.
        pub succeeded: Option<bool>,
        /// Files that a tool has changed, from the project's folder on.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        pub files: Vec<String> as LongText,
        /// When it happened, where it is told later: nobody waits for an answer any more.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub at: Option<DateTime<Utc>>,
        /// How long its program waits for the answer, in milliseconds; 250 by default.
        #[serde(skip_serializing_if = "Option::is_none")]
        pub deadline_ms: Option<u32> as ItemCount,
    }
}

impl HookReport {
    /// Returns how long its program waits for the answer.
    pub(crate) fn deadline(&self) -> Duration {
        let deadline_ms = self.deadline_ms.unwrap_or(HOOK_DEADLINE_MS);
        Duration::from_millis(deadline_ms.into())
    }

    /// Returns the key of the request that tells of an event at once. An event that is told later
    /// has the same one, by its time: so it is known that its program goes on without the answer.
    #[must_use]
    pub fn request_key(&self, event: HookEvent, at: DateTime<Utc>) -> String {
        let named = [&self.session, event.address_name(), &at.to_rfc3339()].join("\n");
        let mut key = sha256_hex(named.as_bytes());
        key.truncate(KEY_DIGITS);
        key
    }
}

/// What a hook prints.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct HookAnswer {
    /// For the prompt; empty for nothing.
    pub context: String,
}
