//! A lesson among the answers: how sure, on what ground, where it holds, and whether it does here.

use reprise_knowledge::{Fit, Lesson};

use crate::prelude::*;

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
