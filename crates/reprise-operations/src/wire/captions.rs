//! The part of a text that a light answer shows, and the card of a lesson: how sure it is, on what
//! ground, where it applies, and whether it does here.

use reprise_engine::excerpt;
use reprise_knowledge::{ContextFit, LessonDetails};

use crate::prelude::*;

/// Formats the note that so many sensitive records are left out, and how to read them.
pub(crate) fn describe_left_out_sensitive(count: usize, command: &str) -> String {
    let count = format_count(count, "sensitive memory");
    format!("{count} left out; `reprise {command}` shows what they say, and `get` with an id")
}

/// Drops the sensitive records; returns the note that says so, or `None` if there were none.
pub(crate) fn drop_sensitive_records(records: &mut Vec<MemoryRecord>) -> Option<String> {
    let all = records.len();
    records.retain(|record| !record.is_sensitive());
    let left_out = all - records.len();
    (left_out > 0).then(|| describe_left_out_sensitive(left_out, "list"))
}

/// Characters of a text in a light answer.
const EXCERPT: usize = 240;

/// As much of a text as a light answer shows, around what matched.
pub(crate) fn short_excerpt(text: &str, words: &[String]) -> String {
    excerpt_within(text, words, EXCERPT)
}

/// Returns the part of a text around the words that matched, within so many characters.
pub(crate) fn excerpt_within(text: &str, words: &[String], chars: usize) -> String {
    let fits = |part: &str| part.chars().count() <= chars;
    excerpt(text, words, &fits).unwrap_or_else(|| text.chars().take(chars).collect())
}

/// The further parts of a lesson: title, confidence, evidence and contexts.
#[skip_serializing_none]
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
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
        let lesson = LessonDetails::of(record)?;
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

    /// Whether the contexts of a record's lesson do not exclude `here`; true for other records.
    pub(crate) fn applies_here(record: &MemoryRecord, here: &[String], question: &str) -> bool {
        let fit = LessonDetails::of(record)
            .map(|own| ContextFit::compare(&own.contexts, &own.anti_contexts, here, question));
        !matches!(fit, Some(ContextFit::DoesNotApply(_)))
    }

    /// Says whether it holds here: `here` in the asker's words, and the question itself.
    pub fn set_applies(&mut self, here: &[String], question: &str) {
        match ContextFit::compare(&self.contexts, &self.anti_contexts, here, question) {
            ContextFit::Applies(_) => self.applies = Some(true),
            ContextFit::DoesNotApply(context) => {
                self.applies = Some(false);
                self.warning = Some(format!("does not apply here: {context}"));
            }
            ContextFit::Unstated => {}
        }
    }
}
