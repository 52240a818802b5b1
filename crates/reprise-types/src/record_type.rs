//! What a record is to a person, and what a reader is told of it beside its text.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::kind::{MemoryKind, MemorySource, RecordType};
use crate::quote::one_line;
use crate::record::{ExternalId, RecordBody};

/// Where typed knowledge says that it is a decision.
const CATEGORIES: [&str; 3] = ["category", "observation_type", "kind"];
/// Keys of the metadata that only what a tool did has.
const TOOLS: [&str; 3] = ["tool", "tool_name", "command"];
/// Characters of a name.
const NAME_CHARS: usize = 40;

/// What a reader is told of a record beside its text and its times.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct About {
    /// What it is to a person.
    #[serde(rename = "type")]
    pub record_type: RecordType,
    /// Who said it, where that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// The last part of its project's name; JSON has the whole in the tag alone.
    #[serde(skip)]
    pub project: Option<String>,
}

impl About {
    pub fn of(record: &RecordBody) -> Self {
        Self {
            record_type: record.record_type(),
            by: record.said_by().and_then(name),
            project: record.project().and_then(name),
        }
    }

    /// With the project that its tags name, where it was read from JSON.
    #[must_use]
    pub fn tagged<'t>(self, tags: impl IntoIterator<Item = &'t str>) -> Self {
        let tagged = project_of(tags).and_then(name);
        Self {
            project: self.project.or(tagged),
            ..self
        }
    }
}

impl std::fmt::Display for About {
    /// `commit by Ada in shop`.
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

fn project_of<'t>(tags: impl IntoIterator<Item = &'t str>) -> Option<&'t str> {
    let mut tags = tags.into_iter();
    let named = tags.find_map(|tag| tag.strip_prefix("project:"))?;
    named.rsplit('/').next()
}

/// The beginning of a name, on one line.
fn name(text: &str) -> Option<String> {
    let name: String = one_line(text).chars().take(NAME_CHARS).collect();
    (!name.is_empty()).then_some(name)
}

impl RecordBody {
    /// The `type` of its details or metadata where that is one, else what its source implies.
    pub fn record_type(&self) -> RecordType {
        let typed = self.details.as_ref().and_then(of_details);
        let called = || self.metadata.get("type")?.as_str()?.parse().ok();
        typed.or_else(called).unwrap_or_else(|| self.implied())
    }

    /// Keys of the metadata that name who a record is from.
    pub const AUTHOR_KEYS: [&str; 4] = ["author", "speaker", "sender", "user"];

    /// Who said it: by its metadata, else the author of typed knowledge, else the agent at work.
    fn said_by(&self) -> Option<&str> {
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
        let tagged = project_of(self.tags.iter().map(String::as_str));
        tagged.or_else(|| self.metadata.get("project")?.as_str())
    }

    /// What follows from its source; in a session an episode is a turn.
    fn implied(&self) -> RecordType {
        let is_turn = self.kind == MemoryKind::Episode && !self.session_id.is_empty();
        match self.source {
            MemorySource::UserInput if is_turn && self.is_to_an_agent() => RecordType::Prompt,
            MemorySource::ConductorPlan | MemorySource::TrajectoryOutcome => RecordType::Run,
            MemorySource::WriterRevision => RecordType::Document,
            MemorySource::WorkerResult if self.is_of_a_tool() => RecordType::Command,
            MemorySource::WorkerResult if is_turn => RecordType::Answer,
            MemorySource::UserInput | MemorySource::WorkerResult => RecordType::Note,
        }
    }

    /// Whether a person's words were an event of a host, or the user's part of a conversation.
    fn is_to_an_agent(&self) -> bool {
        let role = self.metadata.get("role");
        role.is_some_and(|role| role == "user") || self.external_id(ExternalId::EVENT).is_some()
    }

    fn is_of_a_tool(&self) -> bool {
        TOOLS.iter().any(|key| self.metadata.contains_key(*key))
    }

    /// Whether it is what a run left that says no step: nothing beside its question.
    pub fn is_bare_run(&self) -> bool {
        let steps = self.details.as_ref().and_then(|it| it["steps"].as_array());
        self.source == MemorySource::TrajectoryOutcome && steps.is_some_and(Vec::is_empty)
    }
}

/// What typed knowledge is; `None` where its form says no more than its source.
fn of_details(details: &Value) -> Option<RecordType> {
    let says = |key: &str| details[key].as_str();
    let form = says("type")?;
    if let Ok(named) = form.parse() {
        return Some(named);
    }
    if CATEGORIES.iter().any(|key| says(key) == Some("decision")) {
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
            let said = record(source, kind, session).record_type().name();
            assert_eq!(said, expected, "{source} {kind} {session}");
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
        let mut asked = record(UserInput, Episode, "s");
        asked.external_ids = vec![ExternalId::new(ExternalId::EVENT, "7")];
        assert_eq!(asked.record_type(), RecordType::Prompt);
        let mut called = record(WorkerResult, Episode, "s");
        called.metadata.insert("tool".into(), "terminal".into());
        assert_eq!(called.record_type(), RecordType::Command);
        called.metadata.insert("type".into(), "Commit".into());
        assert_eq!(called.record_type(), RecordType::Commit);
        called.metadata.insert("type".into(), 7.into());
        assert_eq!(called.record_type(), RecordType::Command);
    }

    #[test]
    fn a_reader_is_told_who_said_it_and_where() {
        let mut record = RecordBody::new("a", MemorySource::WorkerResult, MemoryKind::Episode);
        assert_eq!(About::of(&record).to_string(), "note");
        record.provenance.actor_id = Some("claude-code:7".to_owned());
        record.tags = vec![
            "x".to_owned(),
            "project:git.example.org/acme/shop".to_owned(),
        ];
        let about = About::of(&record).to_string();
        assert_eq!(about, "note by claude-code in shop");
        record.metadata.insert("author".into(), "Ada\nB.".into());
        record.details = Some(json!({ "type": "commit", "author": "Eve" }));
        let about = About::of(&record).to_string();
        assert_eq!(about, "commit by Ada B. in shop");
        record.source = MemorySource::UserInput;
        (record.metadata, record.details) = (serde_json::Map::new(), None);
        assert_eq!(About::of(&record).to_string(), "note in shop");
    }
}
