//! Lessons as records: a title, what was learned, where it holds and where not.
//!
//! The one form of a lesson in `details`.

mod fit;

use std::collections::BTreeSet;

use reprise_types::MemoryRecord;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

pub use fit::Fit;

/// What stands in a lesson's `details`.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Lesson {
    /// One line that names it.
    pub title: String,
    pub content: String,
    /// Words that it should be found by.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,
    /// Where it does not hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anti_contexts: Vec<String>,
    /// Where that can be looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_notes: Option<String>,
    /// The experiment of another system that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived_from_experiment: Option<String>,
    /// What another system said of it beside this, as it stood there.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// How the lines begin that a lesson's text has beside title and content.
const HEADS: [&str; 3] = ["Applies to: ", "Does not apply to: ", "Keywords: "];

/// Contexts in one spelling: without spaces around or doubled within them, each once, whatever its
/// case.
pub fn normal_contexts(contexts: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let normal = contexts.iter().map(|context| {
        let words: Vec<&str> = context.split_whitespace().collect();
        words.join(" ")
    });
    normal
        .filter(|context| !context.is_empty() && seen.insert(context.to_lowercase()))
        .collect()
}

/// The title of what has none: how its first line begins (C37).
pub(crate) fn derived_title(text: &str) -> String {
    const CHARS: usize = 80;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(CHARS).collect()
}

impl Lesson {
    /// The lesson of a record; `None` where it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let details = record.details.as_ref()?;
        if details.get("type")? != "lesson" {
            return None;
        }
        let mut lesson: Self = serde_json::from_value(details.clone()).ok()?;
        lesson.other.remove("type");
        Some(lesson)
    }

    /// As `details` of a record.
    pub fn details(&self) -> Value {
        let mut details = serde_json::to_value(self).unwrap_or_default();
        details["type"] = json!("lesson");
        details
    }

    /// A text of a lesson, or a part of it, without the lines that [`Self::text`] adds to its
    /// content: a reader is told those beside it.
    pub fn told(text: &str) -> String {
        let is_added = |line: &&str| HEADS.iter().any(|head| line.starts_with(head));
        let lines: Vec<&str> = text.lines().filter(|line| !is_added(line)).collect();
        lines.join("\n").trim().to_owned()
    }

    /// What is searched: title and content, and the words that say where it holds.
    pub fn text(&self) -> String {
        let parts = [self.title.trim_end(), self.content.trim_end()];
        let mut parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.dedup();
        let mut text = parts.join("\n\n");
        for (head, words) in [
            (HEADS[0], &self.contexts),
            (HEADS[1], &self.anti_contexts),
            (HEADS[2], &self.keywords),
        ] {
            if !words.is_empty() {
                text.push_str(&["\n", head, &words.join("; ")].concat());
            }
        }
        text
    }
}
