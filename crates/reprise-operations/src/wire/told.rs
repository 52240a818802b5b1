//! What a reader is told of a record before its text: what it is, who said it, where and when, and
//! whether it still stands; the part of the text that a light answer shows; and of a lesson how
//! sure it is, on what ground, where it holds, and whether it does here.

use reprise_engine::excerpt;
use reprise_knowledge::{Fit, Lesson};
use reprise_types::parse_timestamp;

use crate::prelude::*;

/// Characters of a session's name: a longer one is a number that tells nothing.
const SESSION_CHARS: usize = 24;

/// That so many sensitive records are left out, and how they are read.
pub(crate) fn sensitive_left_out(count: usize, command: &str) -> String {
    let count = counted(count, "sensitive record");
    format!("{count} left out; `reprise {command}` shows what they say, and `get` with an id")
}

/// Leaves out what is sensitive; the note that says so, where any was.
pub(crate) fn take_sensitive(records: &mut Vec<MemoryRecord>) -> Option<String> {
    let all = records.len();
    records.retain(|record| !record.is_sensitive());
    let left_out = all - records.len();
    (left_out > 0).then(|| sensitive_left_out(left_out, "list"))
}

#[derive(Debug, Clone)]
pub(crate) struct Told {
    about: About,
    session: String,
    at: DateTime<Utc>,
    corrected_at: Option<DateTime<Utc>>,
    /// What contradicts it and is newer.
    newer: Option<RecordId>,
}

impl Told {
    pub(crate) fn of(record: &MemoryRecord, newer: Option<RecordId>) -> Self {
        Self {
            about: About::of(record),
            session: record.session_id.clone(),
            at: record.timestamp,
            corrected_at: record.corrected_at(),
            newer,
        }
    }

    /// The same of a record's line in an answer.
    pub(crate) fn of_line(line: &Value) -> Option<Self> {
        let part = |name: &str| line[name].as_str();
        let time = |name: &str| parse_timestamp(part(name)?).ok();
        let is_correction = !line["supersedes"].is_null();
        let tags = line["tags"].as_array().into_iter().flatten();
        let about = About::deserialize(line).ok()?;
        Some(Self {
            about: about.tagged(tags.filter_map(Value::as_str)),
            session: part("session_id").unwrap_or_default().to_owned(),
            at: time("timestamp").or_else(|| time("when"))?,
            corrected_at: time("corrected_at")
                .or_else(|| is_correction.then(|| time("known_at"))?),
            newer: part("newer").and_then(|id| id.parse().ok()),
        })
    }

    pub(crate) fn words(&self, calendar: &Calendar) -> String {
        let mut said = self.about.to_string();
        let session = self.session.trim();
        let is_short = session.chars().count() <= SESSION_CHARS;
        if self.about.project.is_none() && !session.is_empty() && is_short {
            said.push_str(&[" in session ", session].concat());
        }
        said.push_str(&[", ", &calendar.ago(self.at)].concat());
        if let Some(at) = self.corrected_at {
            said.push_str(&["; corrected on ", &calendar.day_of(at).to_string()].concat());
        }
        if let Some(newer) = self.newer {
            said.push_str(&["; newer: ", &newer.to_string()].concat());
        }
        said
    }
}

/// Characters of a text in a light answer.
const EXCERPT: usize = 240;

/// As much of a text as a light answer shows, around what matched.
pub(crate) fn short(text: &str, words: &[String]) -> String {
    within(text, words, EXCERPT)
}

/// The same within so many characters.
pub(crate) fn within(text: &str, words: &[String], chars: usize) -> String {
    let fits = |part: &str| part.chars().count() <= chars;
    excerpt(text, words, &fits).unwrap_or_else(|| text.chars().take(chars).collect())
}

/// What a lesson says beside its text.
#[skip_serializing_none]
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct LessonCard {
    /// The line that names it.
    pub title: String,
    /// How sure its author was.
    pub confidence: Option<ConfidenceLevel>,
    /// Its ground.
    pub evidence: Option<String>,
    /// Where it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,
    /// Where not.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub anti_contexts: Vec<String>,
    /// Whether it holds where the question is asked; missing where it says nothing of that.
    pub applies: Option<bool>,
    /// That it does not, for a reader.
    pub warning: Option<String>,
}

impl LessonCard {
    /// The card of a record; `None` where it holds no lesson.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let lesson = Lesson::of(record)?;
        Some(Self {
            title: lesson.title,
            confidence: record.confidence_level(),
            evidence: evidence_of(record).map(str::to_owned),
            contexts: lesson.contexts,
            anti_contexts: lesson.anti_contexts,
            applies: None,
            warning: None,
        })
    }

    /// Whether a record holds `here`, or says nothing of where it does.
    pub(crate) fn holds(record: &MemoryRecord, here: &[String], question: &str) -> bool {
        let fit = Lesson::of(record)
            .map(|own| Fit::of(&own.contexts, &own.anti_contexts, here, question));
        !matches!(fit, Some(Fit::DoesNotApply(_)))
    }

    /// Says whether it holds here: `here` in the asker's words, and the question itself.
    pub fn place(&mut self, here: &[String], question: &str) {
        match Fit::of(&self.contexts, &self.anti_contexts, here, question) {
            Fit::Applies(_) => self.applies = Some(true),
            Fit::DoesNotApply(context) => {
                self.applies = Some(false);
                self.warning = Some(format!("does not apply here: {context}"));
            }
            Fit::Unsaid => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, MemorySource, RecordBody, Zone};

    use super::*;

    #[test]
    fn a_line_says_who_said_it_when_and_whether_it_stands() {
        let at = parse_timestamp("2026-02-02T09:00:00Z").unwrap();
        let calendar = Calendar {
            now: at + TimeDelta::days(3),
            zone: Zone::Utc,
        };
        let body = RecordBody::new("a", MemorySource::UserInput, MemoryKind::Finding);
        let mut record = body.kept(RecordId::from_u128(7), at);
        record.session_id = "fri".to_owned();
        let said = |record: &MemoryRecord, newer| Told::of(record, newer).words(&calendar);
        assert_eq!(said(&record, None), "note in session fri, 3 days ago");
        record.metadata.insert("speaker".into(), "Ada".into());
        record.tags = vec!["project:shop".to_owned()];
        record.supersedes = Some(RecordId::from_u128(3));
        record.known_at += TimeDelta::days(1);
        let newer = RecordId::from_u128(9);
        let expected =
            format!("note by Ada in shop, 3 days ago; corrected on 2026-02-03; newer: {newer}");
        assert_eq!(said(&record, Some(newer)), expected);
        let mut line = serde_json::to_value(ExportLine::new(&record)).unwrap();
        assert!(Told::of_line(&line).is_none(), "it does not say what it is");
        let about = serde_json::to_value(About::of(&record)).unwrap();
        for (name, value) in about.as_object().unwrap() {
            line[name] = value.clone();
        }
        line["newer"] = newer.to_string().into();
        let told = Told::of_line(&line).unwrap();
        assert_eq!(told.words(&calendar), expected);
    }
}
