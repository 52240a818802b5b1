//! Keeping one lesson.

use std::borrow::Cow;

use reprise_types::{QuotedMemory, RecordId, system_entropy};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::catalogue::{Operation, Profile, Spec};
use crate::memories::{Known, Lesson, Memory};
use crate::problem::Problem;
use crate::wire::Fate;

/// What became of a lesson.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Learned {
    /// The record that holds it.
    pub id: RecordId,
    /// Whether it is new.
    pub outcome: Novelty,
    /// Tags that may be slips, and files for other programs that cannot be written.
    pub warnings: Vec<String>,
    /// A kind of evidence that may be a slip.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
    /// Records that said the same before, or the contrary.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub known: Vec<Known>,
}

/// Whether a lesson is new.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Novelty {
    /// It was kept.
    Inserted,
    /// It was known, word for word.
    Duplicate,
}

#[derive(Debug)]
pub struct Learn;

impl Operation for Learn {
    const SPEC: Spec = Spec::adds("learn", "Keep one lesson.")
        .tool("learn", Profile::Lean)
        .also(&["remember"]);
    type Arguments = Lesson;
    type Answer = Learned;

    async fn run(memory: &Memory, lesson: Lesson) -> Result<Learned, Problem> {
        let doubts = memory.tag_doubts(lesson.tags.as_deref().unwrap_or_default());
        let mut warnings = doubts.await?;
        let (fate, evidence) = memory.learn(lesson).await?;
        let (id, outcome) = match fate {
            Fate::Inserted { id, .. } => (id, Novelty::Inserted),
            Fate::Duplicate { of, .. } => (of, Novelty::Duplicate),
            Fate::Rejected { why } => return Err(Problem::invalid(why)),
        };
        let known = match outcome {
            // It is kept by now, whatever becomes of the look.
            Novelty::Inserted => memory.known(id).await.unwrap_or_default(),
            Novelty::Duplicate => Vec::new(),
        };
        warnings.extend(memory.projection_warnings().await);
        Ok(Learned {
            id,
            outcome,
            warnings,
            evidence,
            known,
        })
    }

    fn text(learned: &Learned) -> Cow<'_, str> {
        let outcome = match learned.outcome {
            Novelty::Inserted => "inserted",
            Novelty::Duplicate => "duplicate",
        };
        let mut quoted = QuotedMemory::new(system_entropy());
        for warning in &learned.warnings {
            quoted.line("warning ", warning);
        }
        if let Some(doubt) = &learned.evidence {
            quoted.line("evidence ", doubt);
        }
        for Known { id, contrary, text } in &learned.known {
            let relation = match contrary {
                None => "the same is known".to_owned(),
                Some(why) => ["the contrary is known (", why, ")"].concat(),
            };
            quoted.line(&format!("{id} "), &[&relation, ": ", text].concat());
        }
        let text = format!("{outcome} as {}\n{}", learned.id, quoted.into_text());
        text.trim_end().to_owned().into()
    }
}
