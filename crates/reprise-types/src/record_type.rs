//! The type of a record as a person would call it, and the byline that a reader sees with its text.

mod project_names;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::{MemoryKind, MemorySource, RecordType};
use crate::quote::to_one_line;
use crate::record::{ExternalId, RecordBody};
pub use project_names::{is_same_project, list_names_of_project, short_project_name};

/// Keys of typed knowledge whose value may be `decision`.
const CATEGORY_KEYS: [&str; 3] = ["category", "observation_type", "kind"];
/// How the title of a decision begins.
const DECISION_TITLES: [&str; 3] = ["decision:", "decided:", "adr:"];
/// Metadata keys that only the output of a tool has.
const TOOL_KEYS: [&str; 3] = ["tool", "tool_name", "command"];
/// Most characters of a name.
const NAME_CHARS: usize = 40;

impl RecordType {
    /// The beginning of a tag that names the type of a record whose program stores no other name
    /// of it.
    pub const TAG_PREFIX: &str = "type:";
}

/// Type, author and project of a record, which a reader sees in addition to its text and times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "About")]
pub struct RecordByline {
    /// The type, as a person would call it.
    #[serde(rename = "type")]
    pub record_type: RecordType,
    /// Its author, if known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The last part of its project's name; JSON has the whole name in the tag only.
    #[serde(skip)]
    pub project: Option<String>,
}

impl RecordByline {
    pub fn of(record: &RecordBody) -> Self {
        Self {
            record_type: record.record_type(),
            by: record.author().and_then(shorten_name),
            project: record.project().and_then(shorten_name),
        }
    }

    /// Adds the project that the tags name, for a byline that was read from JSON.
    #[must_use]
    pub fn with_project_from_tags<'t>(self, tags: impl IntoIterator<Item = &'t str>) -> Self {
        let tagged = project_from_tags(tags).and_then(shorten_name);
        Self {
            project: self.project.or(tagged),
            ..self
        }
    }
}

impl std::fmt::Display for RecordByline {
    /// Formats it as in `commit by Ada in shop`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.record_type.name())?;
        for (word, name) in [(" by ", &self.by), (" in ", &self.project)] {
            if let Some(name) = name {
                f.write_str(word)?;
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

fn project_from_tags<'t>(tags: impl IntoIterator<Item = &'t str>) -> Option<&'t str> {
    let mut tags = tags.into_iter();
    let named = tags.find_map(|tag| tag.strip_prefix("project:"))?;
    named.rsplit('/').next()
}

/// Returns the beginning of a name, on one line.
fn shorten_name(text: &str) -> Option<String> {
    let name: String = to_one_line(text).chars().take(NAME_CHARS).collect();
    (!name.is_empty()).then_some(name)
}

impl RecordBody {
    /// Returns the `type` of its details or metadata if that is a known one, else the type that its
    /// source implies. A lesson or a note has the type that a tag or its title says.
    pub fn record_type(&self) -> RecordType {
        let typed = self.details.as_ref().and_then(type_from_details);
        let by_metadata = || self.metadata.get("type")?.as_str()?.parse().ok();
        let mut tags = self.tags.iter();
        let mut by_tag =
            || tags.find_map(|tag| tag.strip_prefix(RecordType::TAG_PREFIX)?.parse().ok());
        let named = typed.or_else(by_metadata);
        let is_plain = matches!(named, None | Some(RecordType::Lesson | RecordType::Note));
        if !is_plain {
            return named.unwrap_or(RecordType::Note);
        }
        let own = by_tag()
            .or(named)
            .unwrap_or_else(|| self.type_from_source());
        let may_decide = matches!(own, RecordType::Lesson | RecordType::Note);
        if may_decide && self.is_titled_decision() {
            return RecordType::Decision;
        }
        own
    }

    /// Whether its title, or its text without one, says that it is a decision.
    fn is_titled_decision(&self) -> bool {
        let title = self.details.as_ref().and_then(|it| it["title"].as_str());
        let title = title.filter(|title| !title.trim().is_empty());
        let title = title.unwrap_or(&self.text).trim_start();
        DECISION_TITLES.iter().any(|word| {
            let beginning = title.get(..word.len());
            beginning.is_some_and(|own| own.eq_ignore_ascii_case(word))
        })
    }

    /// Metadata keys that name the author of a record.
    pub const AUTHOR_KEYS: [&str; 4] = ["author", "speaker", "sender", "user"];

    /// Returns its author: by its metadata, else by its typed knowledge, else the agent at work.
    fn author(&self) -> Option<&str> {
        let named = Self::AUTHOR_KEYS.iter();
        let mut named = named.filter_map(|key| self.metadata.get(*key)?.as_str());
        let author = || self.details.as_ref()?["author"].as_str();
        let actor = || {
            let actor = self.provenance.actor_id.as_deref()?;
            let is_agent = self.source != MemorySource::UserInput;
            is_agent.then(|| actor.split(':').next())?
        };
        named.next().or_else(author).or_else(actor)
    }

    fn project(&self) -> Option<&str> {
        let tagged = project_from_tags(self.tags.iter().map(String::as_str));
        tagged.or_else(|| self.metadata.get("project")?.as_str())
    }

    /// Returns the type that follows from its source; in a session an episode is a turn.
    fn type_from_source(&self) -> RecordType {
        let is_turn = self.kind == MemoryKind::Episode && !self.session_id.is_empty();
        match self.source {
            MemorySource::UserInput if is_turn && self.is_addressed_to_agent() => {
                RecordType::Prompt
            }
            MemorySource::ConductorPlan | MemorySource::TrajectoryOutcome => RecordType::Run,
            MemorySource::WriterRevision => RecordType::Document,
            MemorySource::WorkerResult if self.is_tool_output() => RecordType::Command,
            MemorySource::WorkerResult if is_turn => RecordType::Answer,
            MemorySource::UserInput | MemorySource::WorkerResult => RecordType::Note,
        }
    }

    /// Whether its text came from an event of a host, or from the user in a conversation.
    fn is_addressed_to_agent(&self) -> bool {
        let role = self.metadata.get("role");
        role.is_some_and(|role| role == "user")
            || self.find_external_id(ExternalId::EVENT).is_some()
    }

    fn is_tool_output(&self) -> bool {
        TOOL_KEYS.iter().any(|key| self.metadata.contains_key(*key))
    }

    /// Whether it says how a run went. What a session taught has the source of a run, too, and says
    /// nothing of one.
    pub fn is_run_outcome(&self) -> bool {
        self.source == MemorySource::TrajectoryOutcome && self.record_type() == RecordType::Run
    }

    /// Whether it is the outcome of a run without any steps, so that it has only the question.
    pub fn is_run_without_steps(&self) -> bool {
        let steps = self.details.as_ref().and_then(|it| it["steps"].as_array());
        self.source == MemorySource::TrajectoryOutcome && steps.is_some_and(Vec::is_empty)
    }
}

/// Returns the type of typed knowledge; `None` if its `type` says no more than its source.
fn type_from_details(details: &Value) -> Option<RecordType> {
    let text_of = |key: &str| details[key].as_str();
    let form = text_of("type")?;
    if let Ok(named) = form.parse() {
        return Some(named);
    }
    if CATEGORY_KEYS
        .iter()
        .any(|key| text_of(key) == Some("decision"))
    {
        return Some(RecordType::Decision);
    }
    match form {
        "outcome" | "plan" => Some(RecordType::Run),
        "learning" | "failure" | "distilled" => Some(RecordType::Lesson),
        "claude_mem_prompt" => Some(RecordType::Prompt),
        "observation" | "claude_mem_observation" | "claude_mem_summary" => Some(RecordType::Note),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_record_is_called_what_a_person_would_call_it() {
        use MemoryKind::{Episode, Finding, Strategy};
        use MemorySource::{TrajectoryOutcome, UserInput, WorkerResult, WriterRevision};
        let record = |source, kind, session: &str| {
            let mut record = RecordBody::new("a", source, kind);
            session.clone_into(&mut record.session_id);
            record
        };
        for (source, kind, session, expected) in [
            (UserInput, Episode, "", "note"),
            (UserInput, Episode, "s", "note"),
            (UserInput, Finding, "s", "note"),
            (WorkerResult, Episode, "s", "answer"),
            (WorkerResult, Finding, "s", "note"),
            (WriterRevision, Finding, "s", "document"),
            (TrajectoryOutcome, Strategy, "", "run"),
        ] {
            let type_name = record(source, kind, session).record_type().name();
            assert_eq!(type_name, expected, "{source} {kind} {session}");
        }
        for (details, expected) in [
            (json!({ "type": "test" }), "test"),
            (json!({ "type": "decision" }), "decision"),
            (
                json!({ "type": "learning", "category": "decision" }),
                "decision",
            ),
            (json!({ "type": "learning", "category": "fix" }), "lesson"),
            (
                json!({ "type": "observation", "observation_type": "error" }),
                "note",
            ),
            (json!({ "type": "mem0_memory" }), "answer"),
            (json!(["type"]), "answer"),
        ] {
            let mut typed = record(WorkerResult, Episode, "s");
            typed.details = Some(details.clone());
            assert_eq!(typed.record_type().name(), expected, "{details}");
        }
        let typed_lesson = |tags: &[&str], text: &str| {
            let mut lesson = RecordBody::new(text, UserInput, Finding);
            lesson.details = Some(json!({ "type": "lesson", "title": "" }));
            lesson.tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
            lesson.record_type().name()
        };
        assert_eq!(typed_lesson(&[], "We keep SQLite"), "lesson");
        assert_eq!(
            typed_lesson(&["type:decision"], "We keep SQLite"),
            "decision"
        );
        assert_eq!(typed_lesson(&[], "Decision: we keep SQLite"), "decision");
        assert_eq!(typed_lesson(&["type:note"], "We keep SQLite"), "note");
        let mut prompt = record(UserInput, Episode, "s");
        prompt.external_ids = vec![ExternalId::new(ExternalId::EVENT, "7")];
        assert_eq!(prompt.record_type(), RecordType::Prompt);
        let mut command = record(WorkerResult, Episode, "s");
        command.metadata.insert("tool".into(), "terminal".into());
        assert_eq!(command.record_type(), RecordType::Command);
        command.metadata.insert("type".into(), "Commit".into());
        assert_eq!(command.record_type(), RecordType::Commit);
        command.metadata.insert("type".into(), 7.into());
        assert_eq!(command.record_type(), RecordType::Command);
    }

    #[test]
    fn a_reader_is_told_who_said_it_and_where() {
        let mut record = RecordBody::new("a", MemorySource::WorkerResult, MemoryKind::Episode);
        assert_eq!(RecordByline::of(&record).to_string(), "note");
        record.provenance.actor_id = Some("claude-code:7".to_owned());
        record.tags = vec![
            "x".to_owned(),
            "project:git.example.org/acme/shop".to_owned(),
        ];
        let about = RecordByline::of(&record).to_string();
        assert_eq!(about, "note by claude-code in shop");
        record.metadata.insert("author".into(), "Ada\nB.".into());
        record.details = Some(json!({ "type": "commit", "author": "Eve" }));
        let about = RecordByline::of(&record).to_string();
        assert_eq!(about, "commit by Ada B. in shop");
        record.source = MemorySource::UserInput;
        (record.metadata, record.details) = (serde_json::Map::new(), None);
        assert_eq!(RecordByline::of(&record).to_string(), "note in shop");
    }
}
