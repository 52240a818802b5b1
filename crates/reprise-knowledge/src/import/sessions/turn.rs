//! The one form in which a session is stored: hooks keep it while it goes on, an import brings it
//! in later, and both are the same memory.

use reprise_types::RecordType;

use crate::own_words::{says_enough, says_something};
use crate::prelude::*;

/// Something that was said or done in a session of an agent.
#[derive(Debug, Clone)]
pub struct SessionTurn<'a> {
    pub text: String,
    /// A prompt, an answer, or what was done.
    pub what: RecordType,
    pub at: Option<DateTime<Utc>>,
    pub session: &'a str,
    /// The program.
    pub agent: Option<&'a str>,
    pub project_tag: Option<String>,
}

impl SessionTurn<'_> {
    /// Whether what a person or an agent said is worth keeping: an order to go on is not.
    pub fn is_worth_keeping(text: &str) -> bool {
        says_enough(text) && says_something(text)
    }

    /// Converts it to the record that is stored.
    pub fn into_record(self) -> NewRecord {
        let source = match self.what {
            RecordType::Prompt => MemorySource::UserInput,
            _ => MemorySource::WorkerResult,
        };
        let mut record = NewRecord::new(self.text, source, MemoryKind::Episode);
        record.timestamp = self.at;
        self.session.clone_into(&mut record.session_id);
        record.tags = self.project_tag.into_iter().collect();
        record.provenance.actor_id = self.agent.map(str::to_owned);
        // An answer is one by its source.
        let is_marked = self.what != RecordType::Answer;
        record.details = is_marked.then(|| json!({ "type": self.what }));
        record
    }
}
