//! Lessons as records: a title, what was learned, where it holds and where not.
//!
//! The one form of a lesson in `details`.

use reprise_types::one_line;

use crate::prelude::*;
use crate::values::held;

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
    let normal = contexts.iter().map(|context| one_line(context));
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
        let mut lesson: Self = held(record, "lesson")?;
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

/// How a lesson stands to a place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// It names this as a place where it holds.
    Applies(String),
    /// It names this as a place where it does not hold.
    DoesNotApply(String),
    /// It says nothing of that place.
    Unsaid,
}

/// Words that say nothing of a place.
const FILLERS: [&str; 14] = [
    "a", "an", "the", "on", "of", "for", "in", "to", "my", "our", "and", "or", "at", "with",
];

impl Fit {
    /// How what holds in `contexts` and not in `anti_contexts` stands to where somebody is: `here`
    /// in their words, and a question, which names a place only where it has all the words of one.
    /// Where both hold the warning counts.
    pub fn of(
        contexts: &[String],
        anti_contexts: &[String],
        here: &[String],
        question: &str,
    ) -> Self {
        let here: Vec<_> = here.iter().map(|at| words(at)).collect();
        let asked = words(question);
        let named = |contexts: &[String]| {
            let found = contexts.iter().find(|context| {
                let said = words(context);
                let is_here = |here: &BTreeSet<String>| {
                    said.is_subset(here) || here.len() > 1 && here.is_subset(&said)
                };
                !said.is_empty() && (said.is_subset(&asked) || here.iter().any(is_here))
            });
            found.cloned()
        };
        if let Some(context) = named(anti_contexts) {
            return Self::DoesNotApply(context);
        }
        named(contexts).map_or(Self::Unsaid, Self::Applies)
    }
}

/// The words of a text without endings: `updating workflows` names what `update a workflow` does.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|c: char| !c.is_alphanumeric());
    let words = words.map(str::to_lowercase);
    words
        .filter(|word| !word.is_empty() && !FILLERS.contains(&word.as_str()))
        .map(|word| bare(&word).to_owned())
        .collect()
}

fn bare(word: &str) -> &str {
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
            let found = match Fit::of(&contexts, &anti, &at, question) {
                Fit::Applies(_) => Some(true),
                Fit::DoesNotApply(_) => Some(false),
                Fit::Unsaid => None,
            };
            assert_eq!(found, expected, "{here:?} {question}");
        }
    }
}
