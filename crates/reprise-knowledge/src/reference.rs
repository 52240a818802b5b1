//! Reference tables: what a word for confidence or evidence means, and which one is meant by a word
//! that is not there (A22, A23).
//!
//! The five kinds of evidence are ours; others come into use by being used, and get a meaning by a
//! definition, which is a record like any other.

use crate::prelude::*;
use crate::values::held;

/// What a level of confidence means.
pub fn meaning_of_confidence(level: ConfidenceLevel) -> &'static str {
    match level {
        ConfidenceLevel::VeryLow => "A guess",
        ConfidenceLevel::Low => "More likely than not, with doubts",
        ConfidenceLevel::Medium => "Likely; look again before much depends on it",
        ConfidenceLevel::High => "Relied on by its author",
        ConfidenceLevel::VeryHigh => "Its author knows of nothing against it",
    }
}

/// What a kind of evidence means, and how sure one typically is by it: a hint, nothing more.
pub fn meaning_of_evidence(evidence: Evidence) -> (&'static str, &'static str) {
    match evidence {
        Evidence::Documented => ("Official docs, specs", "medium-high"),
        Evidence::Tested => ("Ran code, verified behavior", "high"),
        Evidence::Observed => ("Saw in logs/output", "medium"),
        Evidence::Inferred => ("Reasoned from evidence", "low-medium"),
        Evidence::Hearsay => ("Someone said so", "low"),
    }
}

/// Where a record keeps a kind of evidence that is none of ours.
pub const EVIDENCE_FIELD: &str = "evidence";

/// What a record rests on, in one of our words or in its author's.
pub fn evidence_of(record: &MemoryRecord) -> Option<&str> {
    let own = record.evidence.map(Evidence::name);
    own.or_else(|| record.metadata.get(EVIDENCE_FIELD)?.as_str())
}

/// Words that speak of a kind of evidence without being its name.
const CUES: [(Evidence, &[&str]); 5] = [
    (
        Evidence::Documented,
        &[
            "doc",
            "manual",
            "spec",
            "official",
            "reference",
            "readme",
            "paper",
        ],
    ),
    (
        Evidence::Tested,
        &[
            "test",
            "trial",
            "tried",
            "ran",
            "run",
            "verif",
            "experiment",
            "proven",
            "reproduc",
        ],
    ),
    (
        Evidence::Observed,
        &[
            "observ", "error", "saw", "seen", "log", "output", "measur", "notice", "monitor",
        ],
    ),
    (
        Evidence::Inferred,
        &[
            "infer",
            "reason",
            "deduc",
            "assum",
            "guess",
            "conclu",
            "hypothes",
            "intuition",
        ],
    ),
    (
        Evidence::Hearsay,
        &[
            "hear",
            "said",
            "say",
            "told",
            "rumor",
            "rumour",
            "chat",
            "forum",
            "colleague",
        ],
    ),
];

/// The kinds of evidence that may be meant by a word, the likeliest first: by spelling, then by
/// what it speaks of.
pub fn meant_by(word: &str) -> Vec<Evidence> {
    let word = word.to_lowercase();
    let parts: Vec<&str> = word.split(|c: char| !c.is_alphanumeric()).collect();
    let near = |evidence: &Evidence| strsim::osa_distance(&word, evidence.name()) <= 2;
    let mut meant: Vec<Evidence> = Evidence::ALL.iter().copied().filter(near).collect();
    for part in parts.iter().filter(|part| !part.is_empty()) {
        for (evidence, cues) in CUES {
            if !meant.contains(&evidence) && cues.iter().any(|cue| part.starts_with(cue)) {
                meant.push(evidence);
            }
        }
    }
    meant
}

/// The meaning that somebody gave to a kind of evidence of their own.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Definition {
    /// The word, in its one spelling.
    pub name: String,
    pub description: String,
    /// How sure one typically is by it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_confidence: Option<String>,
    /// The kind that it was merged into: whoever says it means that.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias_of: Option<String>,
}

impl Definition {
    /// The tag of every definition.
    pub const TAG: &'static str = "reference:evidence";

    /// The definition of a record; `None` where it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        held(record, "reference")
    }

    fn text(&self) -> String {
        let mut text = format!("Evidence `{}`", self.name);
        if let Some(other) = &self.alias_of {
            text.push_str(&[" means `", other, "`"].concat());
        }
        if !self.description.is_empty() {
            text.push_str(&[": ", &self.description].concat());
        }
        if let Some(typical) = &self.typical_confidence {
            text.push_str(&["; typical confidence ", typical].concat());
        }
        text
    }

    /// As `details` of a record.
    pub fn details(&self) -> Value {
        let mut details = json!(self);
        details["type"] = json!("reference");
        details["table"] = json!("evidence");
        details
    }

    /// The record that keeps it.
    pub fn record(&self) -> NewRecord {
        record(self.text(), Self::TAG, self.details())
    }
}

/// How two tags are related, in another system's words or a person's: a record like any other
/// (A20).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TagRelation {
    pub from_tag: String,
    pub to_tag: String,
    /// `alias_of`, `child_of`, `related_to`, or a word of its author's.
    pub relation: String,
}

impl TagRelation {
    /// The tag of every such record.
    pub const TAG: &'static str = "reference:tag";

    /// The relation of a record; `None` where it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        held(record, "tag_relation")
    }

    /// The record that keeps it.
    pub fn record(&self) -> NewRecord {
        let words = self.relation.replace('_', " ");
        let text = format!("Tag `{}` is {words} `{}`", self.from_tag, self.to_tag);
        let mut details = json!(self);
        details["type"] = json!("tag_relation");
        record(text, Self::TAG, details)
    }
}

fn record(text: String, tag: &str, details: Value) -> NewRecord {
    let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Pattern);
    record.tags = vec![tag.to_owned()];
    record.details = Some(details);
    record
}

/// A kind of evidence in the one spelling in which it is kept; `None` where nothing of it is left.
pub fn normal_evidence(word: &str) -> Option<String> {
    let known = word.parse::<Evidence>().ok();
    let own = || normal_tag(word).map(|word| word.replace('_', "-"));
    known.map(|known| known.name().to_owned()).or_else(own)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_meant_is_found_by_spelling_and_by_what_it_speaks_of() {
        use Evidence::{Documented, Hearsay, Inferred, Observed, Tested};
        for (word, meant) in [
            ("trial-and-error", &[Tested, Observed][..]),
            ("tseted", &[Tested]),
            ("infered", &[Inferred]),
            ("official docs", &[Documented]),
            ("a colleague told me", &[Hearsay]),
            ("vibes", &[]),
        ] {
            assert_eq!(meant_by(word), meant, "{word}");
        }
    }

    #[test]
    fn one_spelling_is_kept() {
        assert_eq!(
            normal_evidence(" Trial and Error ").as_deref(),
            Some("trial-and-error")
        );
        assert_eq!(normal_evidence("TESTED").as_deref(), Some("tested"));
        assert_eq!(normal_evidence(" "), None);
    }
}
