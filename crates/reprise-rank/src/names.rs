//! What a question names letter by letter (an identifier, a name of the metadata, a phrase in
//! quotes), and which records have it. These records come first if the question asks for just that,
//! whatever their scores, and are preferred if it is a detail.
//!
//! This mechanism is separate from the signals, so that no refit changes it. The caller looks
//! up which records have what is named.

pub(crate) mod identifiers;
pub(crate) mod terms;

use std::collections::HashSet;
use std::sync::LazyLock;

use reprise_types::{MatchedIdentifier, MemoryRecord};

use crate::fuse::scored::{Lift, ScoredCandidate};
use identifiers::{normalize_name, visit_identifiers};
use terms::{author_words, external_id_term, pair_term, value_term, visit_metadata};

/// Most records added for one named thing, the newest first.
const HOLDERS_MAX: usize = 256;
/// Share of a named thing that a record has if it mentions it but is not called so.
const MENTION: f32 = 0.9;
/// Share from which on a record has all that a question names, if it asks for nothing else.
const WHOLE_SHARE: f32 = 0.85;
/// Lowest logit of such a record: nine in ten.
const CERTAIN: f32 = 2.2;
/// Distance of the worst record of one share above the best of the next, as a logit.
const STEP: f32 = 0.01;
/// Logit of having all that is named if the question also asks something else. On the development
/// commits 1 and 2 are within .4 of each other in R@5 and R@10, and 1 is better calibrated; to put
/// these records first costs 1.6 of R@10 on one store.
const ALL_OF_IT: f32 = 1.0;

#[expect(
    clippy::struct_excessive_bools,
    reason = "independent answers about one question"
)]
#[derive(Debug, Default)]
pub struct NamesInQuestion {
    pub named_things: Vec<NamedThing>,
    /// The question asks for nothing else.
    pub asks_nothing_else: bool,
    /// The question asks for little else, so records that have what is named come first.
    pub holders_come_first: bool,
    /// It names something that no word of a language looks like, and asks for little else.
    pub names_certainly: bool,
    /// The question asks for all of a time, and for nothing else: the oldest record comes first.
    pub is_timeline: bool,
    /// The question asks for nothing else, and no record has what it names.
    pub names_only_unknown: bool,
    /// Notes for the reader of the answer.
    pub notes: Vec<String>,
}

/// One thing that the question names, and the records that have it.
#[derive(Debug, Default)]
pub struct NamedThing {
    /// The name as the question writes it.
    pub surface: String,
    /// The terms by which it was found; none for a phrase in quotes.
    pub terms: Vec<String>,
    pub phrase: Option<String>,
    /// Whether it is no word of a language, or the question says that it is an author's name.
    pub is_certain: bool,
    /// The field in which every holder has it, if that is known.
    pub field: Option<&'static str>,
    /// Whether ordinary words have its form too; then it is dropped if the question asks something
    /// else.
    pub is_ambiguous: bool,
    /// Logit that it adds, without putting a record first, if the question asks something else: a
    /// time is not always that of the record. 0 for other named things.
    pub bonus: f32,
    /// Admitted records that have it, ascending.
    pub holders: Vec<u32>,
    /// The holders that are called so.
    pub owners: Vec<u32>,
}

impl NamesInQuestion {
    /// Returns the records that have some of what is named, ascending: the newest of each if there
    /// are many.
    pub fn holders(&self) -> Vec<u32> {
        let mut holders: Vec<u32> = Vec::new();
        for thing in &self.named_things {
            holders.extend(thing.owners.iter().rev().take(HOLDERS_MAX));
            holders.extend(thing.holders.iter().rev().take(HOLDERS_MAX));
        }
        holders.sort_unstable();
        holders.dedup();
        holders
    }

    /// Whether a record has all that is named, and little else is asked.
    pub(crate) fn is_certain_match(&self, scored: &ScoredCandidate) -> bool {
        let share = scored.named.unwrap_or(0.0);
        (self.asks_nothing_else || self.names_certainly) && share >= WHOLE_SHARE
    }

    /// Returns how much of what is named a record has, 0..1; a rare thing counts more.
    fn share_of(&self, ordinal: u32) -> f32 {
        let (mut held, mut all) = (0.0, 0.0);
        for thing in self
            .named_things
            .iter()
            .filter(|s| self.asks_nothing_else || s.bonus == 0.0)
        {
            let weight = 1.0 / (1.0 + thing.holders.len() as f32).ln_1p();
            all += weight;
            if thing.owners.binary_search(&ordinal).is_ok() {
                held += weight;
            } else if thing.holders.binary_search(&ordinal).is_ok() {
                held += weight * MENTION;
            }
        }
        if all > 0.0 { held / all } else { 0.0 }
    }

    /// Lifts the records that have some of what is named. If little else is asked, they rank above
    /// those that have none; if nothing else is, those that have more of it rank above those that
    /// have less. Within one share the order stays.
    pub fn lift_holders(&self, ranked: &mut [ScoredCandidate]) {
        if self.named_things.is_empty() || ranked.is_empty() {
            return;
        }
        for thing in self
            .named_things
            .iter()
            .filter(|s| !self.asks_nothing_else && s.bonus > 0.0)
        {
            for scored in ranked.iter_mut() {
                if thing.holders.binary_search(&scored.ordinal).is_ok() {
                    scored.lift(Lift::Named, thing.bonus);
                    scored.named = Some(0.0);
                }
            }
        }
        let mut shares: Vec<(f32, usize)> = (0..ranked.len())
            .map(|at| (self.share_of(ranked[at].ordinal), at))
            .collect();
        shares.sort_by(|a, b| a.0.total_cmp(&b.0));
        let whole = self.asks_nothing_else;
        let same = |a: &(f32, usize), b: &(f32, usize)| {
            let both_some = a.0 > 0.0 && b.0 > 0.0;
            a.0.total_cmp(&b.0).is_eq() || (both_some && !whole)
        };
        let mut floor = f32::NEG_INFINITY;
        for tier in shares.chunk_by(same) {
            let own = |(share, at): &(f32, usize)| {
                ranked[*at].logit + if whole { 0.0 } else { ALL_OF_IT * share }
            };
            let low = tier.iter().map(own).fold(f32::INFINITY, f32::min);
            let first = tier.first().map_or(0.0, |(share, _)| *share);
            let mut lift = if self.holders_come_first {
                (floor + STEP - low).max(0.0)
            } else {
                0.0
            };
            if (whole || self.names_certainly) && first >= WHOLE_SHARE {
                lift = lift.max(CERTAIN - low);
            }
            for (share, at) in tier {
                let scored = &mut ranked[*at];
                if *share > 0.0 {
                    let more = if whole { 0.0 } else { ALL_OF_IT * share };
                    scored.lift(Lift::Named, lift + more);
                    scored.named = Some(*share);
                }
                floor = floor.max(scored.logit);
            }
        }
    }

    /// Returns the tier of a record that was scored and happened at this time; a lower one comes
    /// first, whatever the scores. If little else is asked, the records that have some of what is
    /// named come first; if nothing else is, those with more of it; and those of a time in the
    /// order in which they happened.
    pub(crate) fn tier_of(&self, scored: &ScoredCandidate, time: Option<i64>) -> (bool, i64) {
        if self.is_timeline {
            return (scored.named.is_none(), time.unwrap_or(i64::MIN));
        }
        let share = scored.named.filter(|_| self.holders_come_first);
        let share = share.unwrap_or(0.0);
        let share = if self.asks_nothing_else {
            share
        } else {
            share.ceil()
        };
        // The bits of numbers from 0 up are in the order of the numbers.
        (false, -i64::from(share.to_bits()))
    }

    /// Returns the named things that a record has, each with the field that has it.
    pub(crate) fn matched_identifiers(
        &self,
        ordinal: u32,
        record: &MemoryRecord,
    ) -> Vec<MatchedIdentifier> {
        let found = self.named_things.iter().filter_map(|thing| {
            thing.holders.binary_search(&ordinal).ok()?;
            let field = thing.name_field_holding_it(record)?;
            let text = thing.surface.clone();
            Some(MatchedIdentifier { text, field })
        });
        found.collect()
    }
}

impl NamedThing {
    /// Returns the field of a record that has the named thing; `None` if none has.
    fn name_field_holding_it(&self, record: &MemoryRecord) -> Option<String> {
        if let Some(phrase) = &self.phrase {
            return fold_case(&record.text)
                .contains(phrase.as_str())
                .then(|| "text".to_owned());
        }
        if let Some(field) = self.field {
            return Some(field.to_owned());
        }
        let is_it = |term: &str| self.terms.iter().any(|known| known == term);
        if is_it(&record.id.to_string()) {
            return Some("id".to_owned());
        }
        let called = |id: &str| normalize_name(id).is_some_and(|id| is_it(&external_id_term(&id)));
        if record.external_ids.iter().any(|id| called(&id.id)) {
            return Some("external_id".to_owned());
        }
        let mut field = None;
        let mut in_text = false;
        visit_identifiers(&record.text, &mut |_, term| in_text |= is_it(&term));
        if in_text {
            return Some("text".to_owned());
        }
        visit_metadata(&record.metadata, "", 1, &mut |key, value| {
            let mut holds = is_it(&pair_term(key, &value)) || is_it(&value_term(&value));
            holds |= author_words(key, &value).any(|part| is_it(&value_term(part)));
            visit_identifiers(&value, &mut |_, term| holds |= is_it(&term));
            if holds && field.is_none() {
                field = Some(["metadata.", key].concat());
            }
        });
        let sources = record.provenance.source_refs.iter();
        for source in sources {
            visit_identifiers(source, &mut |_, term| {
                if is_it(&term) && field.is_none() {
                    field = Some("source_refs".to_owned());
                }
            });
        }
        field
    }

    /// Creates a thing that these records have.
    pub fn new(surface: &str, terms: Vec<String>, holders: Vec<u32>) -> Self {
        Self {
            surface: surface.to_owned(),
            terms,
            holders,
            ..Self::default()
        }
    }

    /// Adds records that have it, or are called so if `is_id`.
    pub fn add_records(&mut self, term: String, found: &[u32], is_id: bool) {
        let merge = |into: &mut Vec<u32>| {
            into.extend(found);
            into.sort_unstable();
            into.dedup();
        };
        if !self.terms.contains(&term) {
            self.terms.push(term);
        }
        merge(&mut self.holders);
        if is_id {
            merge(&mut self.owners);
        }
    }
}

/// Returns a text in small letters with one space between words.
pub fn fold_case(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").to_lowercase()
}

/// Words with which people ask for a record by name: `who wrote`, `the commit`, `show me`. A
/// question of these words and of names asks for nothing else.
const FILLER_WORDS: &str = "a about all an and any anything are as at author be bug by change changed \
    changes code commit commits contain containing contains did do does done \
    entries entry error errors every everything exact exit external file files \
    find flag flags for from get give had happen happened has hash have \
    history how http i id in is issue issues it its key know log look made me \
    memories memory mention mentioned mentions my of on option options or our \
    path phrase please pr pull record records release request said say says \
    show status tell that the there this ticket to tool use used user uses \
    value version was we were what when where which who with wrote";

static FILLER_WORD_SET: LazyLock<HashSet<&str>> =
    LazyLock::new(|| FILLER_WORDS.split_whitespace().collect());

/// Whether a word only asks, or contains no letter or digit.
pub fn is_filler_word(word: &str) -> bool {
    let word = word
        .trim_matches(|c: char| !c.is_alphanumeric())
        .to_lowercase();
    word.is_empty() || FILLER_WORD_SET.contains(word.as_str())
}

/// Whether a word asks something about what is named, and not for what names it.
pub fn asks_about_named_thing(word: &str) -> bool {
    const ASKING: [&str; 9] = [
        "who", "whose", "when", "where", "how", "why", "wer", "wann", "wo",
    ];
    ASKING.contains(&word.to_lowercase().as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_that_ask_say_nothing() {
        assert!(is_filler_word("Which") && is_filler_word("?") && is_filler_word("(the)"));
        assert!(!is_filler_word("why") && !is_filler_word("broke") && !is_filler_word("a b"));
    }
}
