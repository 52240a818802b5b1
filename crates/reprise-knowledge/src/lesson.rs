//! Lessons as records: a title, what was learned, where it applies and where it does not.
//!
//! This is the only format of a lesson in `details`.

use reprise_types::to_one_line;

use crate::prelude::*;
use crate::values::parse_details;

/// The `details` of a lesson.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LessonDetails {
    /// One line that names the lesson.
    pub title: String,
    pub content: String,
    /// Words by which it should be found.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub keywords: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub contexts: Vec<String>,
    /// Contexts where it does not apply.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub anti_contexts: Vec<String>,
    /// Where the lesson can be looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_notes: Option<String>,
    /// Experiment of another system that it comes from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub derived_from_experiment: Option<String>,
    /// Other fields of another system, unchanged.
    #[serde(flatten)]
    pub other: Map<String, Value>,
}

/// Beginnings of the lines that a lesson's text has besides title and content.
const ADDED_LINE_HEADS: [&str; 3] = ["Applies to: ", "Does not apply to: ", "Keywords: "];

/// Normalizes contexts: single spaces within, none around, each once regardless of case.
pub fn normalize_contexts(contexts: &[String]) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let normal = contexts.iter().map(|context| to_one_line(context));
    normal
        .filter(|context| !context.is_empty() && seen.insert(context.to_lowercase()))
        .collect()
}

/// Returns a title for a text without one: the beginning of its first line.
pub(crate) fn derive_title(text: &str) -> String {
    const CHARS: usize = 80;
    let line = text.lines().map(str::trim).find(|line| !line.is_empty());
    line.unwrap_or_default().chars().take(CHARS).collect()
}

impl LessonDetails {
    /// Reads the lesson of a record; `None` if it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        let mut lesson: Self = parse_details(record, "lesson")?;
        lesson.other.remove("type");
        Some(lesson)
    }

    /// Converts it to the `details` of a record.
    pub fn to_details(&self) -> Value {
        let mut details = serde_json::to_value(self).unwrap_or_default();
        details["type"] = json!("lesson");
        details
    }

    /// Returns the text of a lesson, or a part of it, without the lines that [`Self::to_text`]
    /// adds: a reader gets those in fields of their own.
    pub fn without_added_lines(text: &str) -> String {
        let is_added = |line: &&str| ADDED_LINE_HEADS.iter().any(|head| line.starts_with(head));
        let lines: Vec<&str> = text.lines().filter(|line| !is_added(line)).collect();
        lines.join("\n").trim().to_owned()
    }

    /// Returns the text that is searched: title, content, contexts and keywords.
    pub fn to_text(&self) -> String {
        let parts = [self.title.trim_end(), self.content.trim_end()];
        let mut parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        parts.dedup();
        let mut text = parts.join("\n\n");
        for (head, words) in [
            (ADDED_LINE_HEADS[0], &self.contexts),
            (ADDED_LINE_HEADS[1], &self.anti_contexts),
            (ADDED_LINE_HEADS[2], &self.keywords),
        ] {
            if !words.is_empty() {
                text.push_str(&["\n", head, &words.join("; ")].concat());
            }
        }
        text
    }
}

/// Whether a lesson applies to a situation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ContextFit {
    /// It names this context as one where it applies.
    Applies(String),
    /// It names this context as one where it does not apply.
    DoesNotApply(String),
    /// It does not mention the situation.
    Unstated,
}

/// Words that do not identify a context.
const FILLERS: [&str; 14] = [
    "a", "an", "the", "on", "of", "for", "in", "to", "my", "our", "and", "or", "at", "with",
];

impl ContextFit {
    /// Compares the contexts of a lesson with a situation: `here` in the user's words, and a
    /// question, which matches a context only with all of its words. If both lists match, the
    /// anti-context counts.
    pub fn compare(
        contexts: &[String],
        anti_contexts: &[String],
        here: &[String],
        question: &str,
    ) -> Self {
        let here: Vec<_> = here.iter().map(|at| split_into_stems(at)).collect();
        let question_stems = split_into_stems(question);
        let find_match = |contexts: &[String]| {
            let found = contexts.iter().find(|context| {
                let context_stems = split_into_stems(context);
                let is_here = |here: &BTreeSet<String>| {
                    context_stems.is_subset(here)
                        || here.len() > 1 && here.is_subset(&context_stems)
                };
                !context_stems.is_empty()
                    && (context_stems.is_subset(&question_stems) || here.iter().any(is_here))
            });
            found.cloned()
        };
        if let Some(context) = find_match(anti_contexts) {
            return Self::DoesNotApply(context);
        }
        find_match(contexts).map_or(Self::Unstated, Self::Applies)
    }
}

/// Splits a text into stems: `updating workflows` equals `update a workflow`.
fn split_into_stems(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.map(str::to_lowercase);
    words
        .filter(|word| !word.is_empty() && !FILLERS.contains(&word.as_str()))
        .map(|word| strip_ending(&word).to_owned())
        .collect()
}

fn strip_ending(word: &str) -> &str {
    const LEAST: usize = 4;
    let endings = ["ing", "ed", "es", "s"];
    let cut = endings.iter().find_map(|ending| word.strip_suffix(ending));
    let cut = cut.filter(|cut| cut.len() >= LEAST).unwrap_or(word);
    cut.strip_suffix('e')
        .filter(|cut| cut.len() >= LEAST)
        .unwrap_or(cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(words: &[&str]) -> Vec<String> {
        words.iter().map(|word| (*word).to_owned()).collect()
    }

    #[test]
    fn a_place_is_known_in_other_forms_of_its_words_and_the_warning_counts() {
        let contexts = list(&["shared team branch", "after rebase"]);
        let anti = list(&["personal feature branch", "creating new workflows"]);
        for (here, question, expected) in [
            ("the shared team branches", "", Some(true)),
            ("team branch", "", Some(true)),
            ("my personal feature branch of today", "", Some(false)),
            ("create a new workflow", "", Some(false)),
            ("branch", "", None),
            ("elsewhere", "", None),
            (
                "",
                "is a force push fine on a personal feature branch",
                Some(false),
            ),
            ("", "force push a feature branch", None),
            ("after rebase", "on a personal feature branch", Some(false)),
        ] {
            let at = list(&[here]);
            let found = match ContextFit::compare(&contexts, &anti, &at, question) {
                ContextFit::Applies(_) => Some(true),
                ContextFit::DoesNotApply(_) => Some(false),
                ContextFit::Unstated => None,
            };
            assert_eq!(found, expected, "{here:?} {question}");
        }
    }
}
