//! A text's terms as hashes and their weights, for a store with postings of its own (PostgreSQL):
//! the same analyser and BM25 over heads as in [`crate::lexical`].

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::lexical::{TAIL_COUNT, idf, steadied_idf};
use crate::words::{HEAD_TERMS, Language, Reading, Role, terms};
use crate::world::{B, K1_HEAD};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextTerms {
    /// Each distinct term once, in order of first appearance.
    pub terms: Vec<TextTerm>,
    /// Terms of its head, at most 64.
    pub head: u16,
    /// Terms of all of it, repeated ones included.
    pub all: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextTerm {
    /// A 64-bit hash of its stem.
    pub number: i64,
    /// Occurrences in the head; less than 1 where it occurs only in the tail.
    pub count: f32,
    /// The word as the text first wrote it.
    pub surface: String,
}

pub fn text_terms(text: &str) -> TextTerms {
    let mut found = TextTerms::default();
    let mut places: HashMap<i64, usize> = HashMap::new();
    terms(text, &Reading::of_text(Language::of(text)), |term| {
        let in_head = usize::from(found.head) < HEAD_TERMS;
        let takes_place = term.role == Role::Word;
        found.all += u32::from(takes_place);
        found.head += u16::from(in_head && takes_place);
        let number = xxh3_64(term.key.as_bytes()).cast_signed();
        let place = *places.entry(number).or_insert_with(|| {
            found.terms.push(TextTerm {
                number,
                count: 0.0,
                surface: term.surface.to_owned(),
            });
            found.terms.len() - 1
        });
        if let Some(term) = found.terms.get_mut(place) {
            if in_head {
                term.count += 1.0;
            } else if term.count == 0.0 {
                term.count = TAIL_COUNT;
            }
        }
    });
    found
}

/// A term's idf over heads: `holding` of `texts` hold it. 0 where none does.
pub fn term_weight(texts: u32, holding: u32) -> f32 {
    idf(texts.max(holding), holding)
}

/// A term's weight relative to the query's other terms, defined for words that no text holds.
pub fn term_share(texts: u32, holding: u32) -> f32 {
    steadied_idf(texts.max(holding), holding)
}

/// A term's part of a text's BM25: `count` and `head` as in [`TextTerms`], `head_average` the mean
/// of `head` over the store.
pub fn term_score(weight: f32, count: f32, head: u16, head_average: f32) -> f32 {
    let [saturation, slope] = term_norm();
    let length = f32::from(head) / head_average.max(1.0);
    weight * (saturation + 1.0) * count / (count + saturation * ((1.0 - slope) + slope * length))
}

/// k1 and b of [`term_score`], for a database that computes it.
pub fn term_norm() -> [f32; 2] {
    [K1_HEAD, B]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_term_and_a_tail_counts_less() {
        let long = format!("Deploys deploying. {} zebra", "filler word ".repeat(40));
        let found = text_terms(&long);
        let count = |word: &str| {
            let number = text_terms(word).terms[0].number;
            let term = found.terms.iter().find(|term| term.number == number);
            term.map(|term| term.count)
        };
        assert_eq!(count("deploy"), Some(2.0));
        assert_eq!(count("zebras"), Some(TAIL_COUNT));
        assert_eq!(count("otter"), None);
        assert_eq!((found.head, found.all), (64, 83));
        assert_eq!(text_terms("the of").terms, []);
    }

    #[test]
    fn a_rare_term_of_a_short_text_scores_most() {
        let (rare, common) = (term_weight(1_000, 3), term_weight(1_000, 600));
        assert!(term_score(rare, 1.0, 20, 20.0) > term_score(common, 1.0, 20, 20.0));
        assert!(term_score(rare, 1.0, 10, 20.0) > term_score(rare, 1.0, 40, 20.0));
        assert!(term_score(rare, 2.0, 20, 20.0) > term_score(rare, 1.0, 20, 20.0));
        assert_eq!(term_weight(1_000, 0).to_bits(), 0.0_f32.to_bits());
        assert!(term_share(1_000, 0) > term_share(1_000, 1));
        // The count of texts may be older than the postings.
        assert!(term_weight(0, 7) > 0.0);
    }
}
