//! Whether a record was used: what is said after it was shown names it, or has words of it that
//! were in neither the question nor most of memory.

use std::collections::BTreeSet;

use reprise_types::RecordId;

use crate::identifiers::each;
use crate::snapshot::Snapshot;

/// Words of its own that tell, without an identifier.
const WORDS: usize = 2;
/// A word is rare that so many records hold, ...
const RARE: usize = 8;
/// ... or no more than one in so many.
const RARE_SHARE: usize = 50;

impl Snapshot {
    /// Whether `said` shows that the record was used by who had asked `question`: it has the id,
    /// an identifier or path of its own, or two of its rare words.
    pub fn shows_use(&self, id: RecordId, question: &str, said: &str) -> bool {
        if said.contains(&id.to_string()) {
            return true;
        }
        let Some(Ok(record)) = self.get(id) else {
            return false;
        };
        let named = |text: &str| {
            let mut names = BTreeSet::new();
            each(text, &mut |_, term| {
                names.insert(term);
            });
            names
        };
        let (of_said, of_question) = (named(said), named(question));
        let is_new = |term: &String| of_said.contains(term) && !of_question.contains(term);
        if named(&record.text).iter().any(is_new) {
            return true;
        }
        let words = |text: &str| self.index.analyse_query(text).terms;
        let stems = |text: &str| -> BTreeSet<String> {
            words(text).into_iter().map(|term| term.stem).collect()
        };
        let (of_said, of_question) = (stems(said), stems(question));
        let shared = words(&record.text).into_iter();
        let shared =
            shared.filter(|term| of_said.contains(&term.stem) && !of_question.contains(&term.stem));
        let most = RARE.max(self.index.len() / RARE_SHARE);
        let rare = shared.filter(|term| {
            let alone = self.index.analyse_query(&term.surface);
            let held = self.index.holding_words(&alone, most);
            held.is_some_and(|held| held.len() <= most)
        });
        rare.take(WORDS).count() == WORDS
    }
}
