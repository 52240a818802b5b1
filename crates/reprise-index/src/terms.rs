//! Terms of a text as hashes with weights, for a store with its own postings (PostgreSQL). Analyser
//! and BM25 over heads are those of [`crate::lexical`].

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::lexical::{TAIL_COUNT, idf, smoothed_idf};
use crate::live_set::{B, K1_HEAD};
use crate::words::{AnalyserConfig, HEAD_TERMS, Language, TermRole, for_each_term};

#[derive(Debug, Clone, PartialEq, Default)]
pub struct TextTerms {
    /// Each distinct term once, in order of first appearance.
    pub terms: Vec<TextTerm>,
    /// Number of terms of its head, at most 64.
    pub head_terms: u16,
    /// Number of terms of the whole text, repeated ones included.
    pub total_terms: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub struct TextTerm {
    /// 64-bit hash of its stem.
    pub hash: i64,
    /// Occurrences in the head; less than 1 if it occurs only in the tail.
    pub count: f32,
    /// The word as the text first wrote it.
    pub surface: String,
}

pub fn extract_terms(text: &str) -> TextTerms {
    let mut result = TextTerms::default();
    let mut positions: HashMap<i64, usize> = HashMap::new();
    for_each_term(
        text,
        &AnalyserConfig::for_text(Language::detect(text)),
        |term| {
            let in_head = usize::from(result.head_terms) < HEAD_TERMS;
            let is_word = term.role == TermRole::Word;
            result.total_terms += u32::from(is_word);
            result.head_terms += u16::from(in_head && is_word);
            let number = xxh3_64(term.key.as_bytes()).cast_signed();
            let position = *positions.entry(number).or_insert_with(|| {
                result.terms.push(TextTerm {
                    hash: number,
                    count: 0.0,
                    surface: term.surface.to_owned(),
                });
                result.terms.len() - 1
            });
            if let Some(term) = result.terms.get_mut(position) {
                if in_head {
                    term.count += 1.0;
                } else if term.count == 0.0 {
                    term.count = TAIL_COUNT;
                }
            }
        },
    );
    result
}

/// Returns a term's idf over heads, where `holding` of `texts` contain it; 0 if none does.
pub fn term_idf(texts: u32, holding: u32) -> f32 {
    idf(texts.max(holding), holding)
}

/// Returns a term's weight relative to the query's other terms, also for words that no text has.
pub fn term_relative_weight(texts: u32, holding: u32) -> f32 {
    smoothed_idf(texts.max(holding), holding)
}

/// Returns a term's contribution to a text's BM25: `count` is that of [`TextTerm`], `head` the
/// text's head length, `head_average` the mean head length over the store.
pub fn term_bm25(weight: f32, count: f32, head: u16, head_average: f32) -> f32 {
    let [saturation, slope] = bm25_parameters();
    let length = f32::from(head) / head_average.max(1.0);
    weight * (saturation + 1.0) * count / (count + saturation * ((1.0 - slope) + slope * length))
}

/// Returns k1 and b of [`term_bm25`], for a database that computes it itself.
pub fn bm25_parameters() -> [f32; 2] {
    [K1_HEAD, B]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_of_a_word_are_one_term_and_a_tail_counts_less() {
        let long = format!("Deploys deploying. {} zebra", "filler word ".repeat(40));
        let found = extract_terms(&long);
        let count = |word: &str| {
            let number = extract_terms(word).terms[0].hash;
            let term = found.terms.iter().find(|term| term.hash == number);
            term.map(|term| term.count)
        };
        assert_eq!(count("deploy"), Some(2.0));
        assert_eq!(count("zebras"), Some(TAIL_COUNT));
        assert_eq!(count("otter"), None);
        assert_eq!((found.head_terms, found.total_terms), (64, 83));
        assert_eq!(extract_terms("the of").terms, []);
    }

    #[test]
    fn a_rare_term_of_a_short_text_scores_most() {
        let (rare, common) = (term_idf(1_000, 3), term_idf(1_000, 600));
        assert!(term_bm25(rare, 1.0, 20, 20.0) > term_bm25(common, 1.0, 20, 20.0));
        assert!(term_bm25(rare, 1.0, 10, 20.0) > term_bm25(rare, 1.0, 40, 20.0));
        assert!(term_bm25(rare, 2.0, 20, 20.0) > term_bm25(rare, 1.0, 20, 20.0));
        assert_eq!(term_idf(1_000, 0).to_bits(), 0.0_f32.to_bits());
        assert!(term_relative_weight(1_000, 0) > term_relative_weight(1_000, 1));
        // The count of texts may be older than the postings.
        assert!(term_idf(0, 7) > 0.0);
    }
}
