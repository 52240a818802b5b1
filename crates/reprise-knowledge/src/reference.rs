//! Reference tables: the meaning of the words for confidence and evidence, and which of them an
//! unknown word may mean.
//!
//! The five kinds of evidence are ours; users may use other words, and define them by a record.

use crate::prelude::*;
use crate::values::parse_details;

/// Returns what a level of confidence means.
pub fn meaning_of_confidence(level: ConfidenceLevel) -> &'static str {
    match level {
        ConfidenceLevel::VeryLow => "A guess",
        ConfidenceLevel::Low => "More likely than not, with doubts",
        ConfidenceLevel::Medium => "Likely; look again before much depends on it",
        ConfidenceLevel::High => "Relied on by its author",
        ConfidenceLevel::VeryHigh => "Its author knows of nothing against it",
    }
}

/// Returns what a kind of evidence means, and its typical confidence, which is only a hint.
pub fn meaning_of_evidence(evidence: Evidence) -> (&'static str, &'static str) {
    match evidence {
        Evidence::Documented => ("Official docs, specs", "medium-high"),
        Evidence::Tested => ("Ran code, verified behavior", "high"),
        Evidence::Observed => ("Saw in logs/output", "medium"),
        Evidence::Inferred => ("Reasoned from evidence", "low-medium"),
        Evidence::Hearsay => ("Someone said so", "low"),
    }
}

/// Metadata key of a kind of evidence that is none of ours.
pub const EVIDENCE_FIELD: &str = "evidence";

/// Returns the kind of evidence of a record, in one of our words or its author's.
pub fn evidence_of(record: &MemoryRecord) -> Option<&str> {
    let own = record.evidence.map(Evidence::name);
    own.or_else(|| record.metadata.get(EVIDENCE_FIELD)?.as_str())
}

/// Beginnings of words that suggest a kind of evidence.
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

/// Guesses the kinds of evidence that a word may mean, the likeliest first: by spelling, then by
/// [`CUES`].
pub fn guess_evidence(word: &str) -> Vec<Evidence> {
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

/// A user's definition of a kind of evidence.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct EvidenceDefinition {
    /// The normalized word.
    pub name: String,
    pub description: String,
    /// Typical confidence of this evidence.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub typical_confidence: Option<String>,
    /// The kind that it was merged into and is read as.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alias_of: Option<String>,
}

impl EvidenceDefinition {
    /// Tag of every definition.
    pub const TAG: &'static str = "reference:evidence";

    /// Reads the definition of a record; `None` if it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        parse_details(record, "reference")
    }

    fn to_text(&self) -> String {
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

    /// Converts it to the `details` of a record.
    pub fn to_details(&self) -> Value {
        let mut details = json!(self);
        details["type"] = json!("reference");
        details["table"] = json!("evidence");
        details
    }

    /// Converts it into a new record.
    pub fn to_record(&self) -> NewRecord {
        reference_record(self.to_text(), Self::TAG, self.to_details())
    }
}

/// How two tags are related, in another system's words or a person's.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct TagRelation {
    pub from_tag: String,
    pub to_tag: String,
    /// `alias_of`, `child_of`, `related_to`, or another word.
    pub relation: String,
}

impl TagRelation {
    /// The tag of every record of a relation.
    pub const TAG: &'static str = "reference:tag";

    /// Reads the relation of a record; `None` if it holds none.
    pub fn of(record: &MemoryRecord) -> Option<Self> {
        parse_details(record, "tag_relation")
    }

    /// Converts it into a new record.
    pub fn to_record(&self) -> NewRecord {
        let words = self.relation.replace('_', " ");
        let text = format!("Tag `{}` is {words} `{}`", self.from_tag, self.to_tag);
        let mut details = json!(self);
        details["type"] = json!("tag_relation");
        reference_record(text, Self::TAG, details)
    }
}

fn reference_record(text: String, tag: &str, details: Value) -> NewRecord {
    let mut record = NewRecord::new(text, MemorySource::UserInput, MemoryKind::Pattern);
    record.tags = vec![tag.to_owned()];
    record.details = Some(details);
    record
}

/// Normalizes a kind of evidence to the spelling that is stored; `None` if nothing of it is left.
pub fn normalize_evidence(word: &str) -> Option<String> {
    let known = word.parse::<Evidence>().ok();
    let own = || normalize_tag(word).map(|word| word.replace('_', "-"));
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
            assert_eq!(guess_evidence(word), meant, "{word}");
        }
    }

    #[test]
    fn one_spelling_is_kept() {
        assert_eq!(
            normalize_evidence(" Trial and Error ").as_deref(),
            Some("trial-and-error")
        );
        assert_eq!(normalize_evidence("TESTED").as_deref(), Some("tested"));
        assert_eq!(normalize_evidence(" "), None);
    }
}
