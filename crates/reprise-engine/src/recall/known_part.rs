//! The part of a short question of which memory knows the words.
//!
//! The vector of `berlin lease` is near to whatever is about Berlin, and so is that of `berlin`. A
//! record to which the whole is no nearer hardly says anything of a lease: it is not called
//! relevant, however near it is.

use reprise_index::{Query, QueryTerm};
use reprise_rank::{is_mostly_unknown, question_subject};

use crate::snapshot::Snapshot;

impl Snapshot {
    /// Returns the words of a short question that some record has, if half of its words or more
    /// stand in none. A recall compares the vector of this part, too
    /// ([`RecallCall::with_known_part`](crate::RecallCall::with_known_part)).
    #[must_use]
    pub fn find_known_part(&self, question: &str) -> Option<String> {
        let query = self.index.analyse_query(&question_subject(question));
        let count = query.terms.len();
        if !is_mostly_unknown(count, count) {
            return None;
        }
        let (known, unknown): (Vec<_>, Vec<_>) = query
            .terms
            .into_iter()
            .partition(|term| self.is_known_word(term));
        let is_part = !known.is_empty() && is_mostly_unknown(count, unknown.len());
        let words: Vec<&str> = known.iter().map(|term| term.surface.as_str()).collect();
        is_part.then(|| words.join(" "))
    }

    /// Whether a live record has a word.
    fn is_known_word(&self, term: &QueryTerm) -> bool {
        let alone = Query {
            terms: vec![term.clone()],
        };
        let holders = self.index.find_all_words(&alone, 0).unwrap_or_default();
        holders
            .into_iter()
            .any(|ordinal| self.live_doc(ordinal).is_some())
    }
}
