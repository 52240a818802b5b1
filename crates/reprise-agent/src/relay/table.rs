//! The topic table, which says what event becomes what kind of memory.

use std::collections::BTreeMap;

use reprise_types::{MemoryKind, MemorySource};
use serde::Deserialize;
use serde_json::Value;

use super::template::{Template, is_identifier, value_at};

const BUILTIN: &str = include_str!("topics.toml");
/// Version of the table's format.
const VERSION: u32 = 1;

/// Which events become memories, and how.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicTable {
    version: u32,
    pub(super) text: Vec<Template>,
    pub(super) text_bytes_max: usize,
    pub(super) metadata: Vec<String>,
    pub(super) source_refs: Vec<String>,
    pub(super) run: RunRules,
    pub(super) session: SessionRules,
    pub(super) report: ReportRules,
    pub(super) documented: BTreeMap<String, DocumentedKind>,
    rule: Vec<TopicRule>,
    #[serde(default)]
    approved: ApprovalRules,
    ignore: IgnoreRules,
}

/// One rule of the table; the head of `topics.toml` explains each field.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TopicRule {
    topic: String,
    #[serde(rename = "as")]
    documented: String,
    #[serde(default)]
    when: BTreeMap<String, Vec<Value>>,
    pub(super) text: Option<Vec<Template>>,
    pub(super) after: Option<String>,
    #[serde(default)]
    pub(super) optional: bool,
    pub(super) split: Option<Split>,
    #[serde(default)]
    pub(super) part: String,
}

/// How an event becomes several records, or a typed part of it becomes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Split {
    Report,
    Finding,
    Learning,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DocumentedKind {
    pub(super) source: MemorySource,
    pub(super) kind: MemoryKind,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RunRules {
    pub(super) paths: Vec<String>,
    pub(super) actor_prefixes: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SessionRules {
    pub(super) paths: Vec<String>,
    pub(super) run_prefix: String,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ReportRules {
    pub(super) findings_max: usize,
    pub(super) learnings_max: usize,
    pub(super) confidence_min: f32,
    pub(super) finding_evidence_min: usize,
    pub(super) learning_kind: MemoryKind,
}

/// Events by which a person approves a run, and the path of the run's id in them.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct ApprovalRules {
    topics: Vec<String>,
    run: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct IgnoreRules {
    topics: Vec<String>,
    prefixes: Vec<String>,
}

/// What the table says about an event.
#[derive(Debug, Clone, Copy)]
pub(super) enum RuleMatch<'a> {
    Keep(&'a TopicRule, &'a str, DocumentedKind),
    Ignore,
    Unknown,
}

/// Why a table cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TopicTableError {
    /// The text is not TOML, or not a topic table.
    #[error("the topic table is not valid: {message}")]
    Parse {
        /// Message of the parser, with line and column.
        message: String,
    },
    #[error(
        "the topic table has version {got}, this program reads version {VERSION}; start from the built-in table"
    )]
    Version { got: u32 },
    /// A rule maps to a topic that the table does not document.
    #[error("a rule for `{topic}` says `as = \"{documented}\"`, which [documented] does not list")]
    Undocumented { topic: String, documented: String },
}

impl TopicTable {
    pub fn load_builtin() -> Result<Self, TopicTableError> {
        Self::parse(BUILTIN)
    }

    pub fn parse(text: &str) -> Result<Self, TopicTableError> {
        let table: Self =
            toml_edit::de::from_str(text).map_err(|error| TopicTableError::Parse {
                message: error.to_string(),
            })?;
        if table.version != VERSION {
            return Err(TopicTableError::Version { got: table.version });
        }
        if let Some(rule) = table
            .rule
            .iter()
            .find(|rule| !table.documented.contains_key(&rule.documented))
        {
            return Err(TopicTableError::Undocumented {
                topic: rule.topic.clone(),
                documented: rule.documented.clone(),
            });
        }
        Ok(table)
    }

    /// Returns the run that an event approves; `None` for any other event.
    pub(super) fn find_approved_run(&self, event_type: &str, payload: &Value) -> Option<String> {
        let topics = &self.approved.topics;
        if !topics
            .iter()
            .any(|topic| matches_pattern(topic, event_type))
        {
            return None;
        }
        let paths = self.approved.run.iter();
        let mut run_ids = paths.filter_map(|path| value_at(payload, path)?.as_str());
        run_ids.find(|run| is_identifier(run)).map(str::to_owned)
    }

    pub(super) fn match_rule(&self, event_type: &str, payload: &Value) -> RuleMatch<'_> {
        if self.ignore.topics.iter().any(|topic| topic == event_type)
            || self
                .ignore
                .prefixes
                .iter()
                .any(|p| matches_pattern(p, event_type))
        {
            return RuleMatch::Ignore;
        }
        let mut is_known_topic = false;
        for rule in self
            .rule
            .iter()
            .filter(|r| matches_pattern(&r.topic, event_type))
        {
            is_known_topic = true;
            if rule.matches_payload(payload)
                && let Some((topic, documented)) = self.documented.get_key_value(&rule.documented)
            {
                return RuleMatch::Keep(rule, topic, *documented);
            }
        }
        if is_known_topic {
            RuleMatch::Ignore
        } else {
            RuleMatch::Unknown
        }
    }
}

impl TopicRule {
    fn matches_payload(&self, payload: &Value) -> bool {
        self.when.iter().all(|(path, wanted)| {
            value_at(payload, path).is_some_and(|value| wanted.contains(value))
        })
    }
}

/// Returns whether an event type matches a pattern: a topic, or a prefix that ends in `.*`.
fn matches_pattern(pattern: &str, event_type: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => event_type.starts_with(prefix),
        None => pattern == event_type,
    }
}
