//! What an answer says of itself where words and times alone were compared.

use super::{DegradedPart, RecallResponse, RetrievedMemory};

impl RecallResponse {
    /// Returns why this is half an answer: words and time alone found it, so that what says the
    /// same in other words is missing. `None` for a whole answer.
    pub fn half_answer(&self) -> Option<&'static str> {
        let is_unembedded = self.degraded.contains(&DegradedPart::UnembeddedRecords);
        let by_meaning = |found: &RetrievedMemory| found.why.raw_distance.is_some();
        if is_unembedded && !self.results.iter().any(by_meaning) {
            return Some(
                "Half an answer: these memories wait for the model, so only words and times were \
                 compared.",
            );
        }
        let words_alone = |part: &&DegradedPart| {
            matches!(
                part,
                DegradedPart::NoQueryVector | DegradedPart::EmbedderLate
            )
        };
        let part = self.degraded.iter().find(words_alone);
        part.map(|part| match part {
            DegradedPart::EmbedderLate => {
                "Half an answer: the model was late, so only words and times were compared."
            }
            _ => "Half an answer: there is no model, so only words and times were compared.",
        })
    }
}
