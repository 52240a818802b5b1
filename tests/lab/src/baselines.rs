//! Baselines: cosine alone, BM25 alone, and reciprocal rank fusion of the two. Written
//! independently of the engine, so that a defect there does not distort the comparison.

use std::collections::BTreeMap;

use reprise_index::{IndexSnapshot, IndexWriter};
use reprise_types::limits::QUERY_BYTES_MAX;

/// BM25's saturation and length parameters, usual values.
const K1: f64 = 1.2;
const B: f64 = 0.75;
/// Constant of reciprocal rank fusion (Cormack, Clarke and Buettcher 2009).
const RRF: f64 = 60.0;

/// Ordinals and scores, best first, ties by the older record.
type Ranking = Vec<(usize, f64)>;

/// The records' terms, by the index's own analyser.
pub(crate) struct Bm25 {
    analyser: std::sync::Arc<IndexSnapshot>,
    lengths: Vec<f64>,
    mean: f64,
    postings: BTreeMap<String, Vec<(usize, f64)>>,
}

impl Bm25 {
    pub(crate) fn new<'t>(texts: impl Iterator<Item = &'t str>) -> Self {
        let analyser = IndexWriter::new(1).publish();
        let mut postings: BTreeMap<String, Vec<(usize, f64)>> = BTreeMap::new();
        let mut lengths = Vec::new();
        for (document, text) in texts.enumerate() {
            let mut length = 0.0;
            for (term, count) in count_terms(&analyser, text) {
                length += count;
                postings.entry(term).or_default().push((document, count));
            }
            lengths.push(length);
        }
        let mean = (lengths.iter().sum::<f64>() / lengths.len().max(1) as f64).max(1.0);
        Self {
            analyser,
            lengths,
            mean,
            postings,
        }
    }

    /// Documents that share a term with the query (Robertson and Zaragoza 2009, with the idf that
    /// is never negative).
    pub(crate) fn rank(&self, query: &str) -> Ranking {
        let count = self.lengths.len() as f64;
        let mut scores = vec![0.0; self.lengths.len()];
        for (term, times) in count_terms(&self.analyser, query) {
            let Some(postings) = self.postings.get(&term) else {
                continue;
            };
            let found = postings.len() as f64;
            let idf = (1.0 + (count - found + 0.5) / (found + 0.5)).ln();
            for (document, often) in postings {
                let (Some(score), Some(length)) =
                    (scores.get_mut(*document), self.lengths.get(*document))
                else {
                    continue;
                };
                let norm = K1 * (1.0 - B + B * length / self.mean);
                *score += times * idf * often * (K1 + 1.0) / (often + norm);
            }
        }
        let met = scores.into_iter().enumerate();
        sort_ranking(met.filter(|(_, score)| *score > 0.0).collect())
    }
}

/// Distinct terms with how often the text holds them.
fn count_terms(analyser: &IndexSnapshot, text: &str) -> BTreeMap<String, f64> {
    let mut counts = BTreeMap::new();
    let mut rest = text;
    while !rest.is_empty() {
        // A query is cut at its limit: a longer text goes through in pieces, between words.
        let mut end = rest.floor_char_boundary(QUERY_BYTES_MAX);
        if end < rest.len() {
            let space = rest
                .get(..end)
                .and_then(|piece| piece.rfind(char::is_whitespace));
            end = space.filter(|at| *at > 0).unwrap_or(end);
        }
        let (piece, after) = rest.split_at(end);
        for term in analyser.analyse_query(piece).terms {
            *counts.entry(term.stem).or_insert(0.0) += f64::from(term.count);
        }
        rest = after;
    }
    counts
}

/// All records that have a vector, by cosine.
pub(crate) fn rank_by_cosine(query: &[f32], records: &[Option<&[f32]>]) -> Ranking {
    let score = |vector: &[f32]| {
        let products = vector.iter().zip(query).map(|(a, b)| f64::from(a * b));
        products.sum::<f64>()
    };
    let scored = records.iter().enumerate();
    sort_ranking(
        scored
            .filter_map(|(place, vector)| Some((place, score((*vector)?))))
            .collect(),
    )
}

/// Naive reciprocal rank fusion: a record's score is the sum of 1 / (60 + rank) over the lists that
/// hold it.
pub(crate) fn fuse_rankings(lists: [&Ranking; 2]) -> Ranking {
    let mut scores: BTreeMap<usize, f64> = BTreeMap::new();
    for list in lists {
        for (place, (document, _)) in list.iter().enumerate() {
            *scores.entry(*document).or_default() += 1.0 / (RRF + 1.0 + place as f64);
        }
    }
    sort_ranking(scores.into_iter().collect())
}

fn sort_ranking(mut ranking: Ranking) -> Ranking {
    ranking.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    ranking
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bm25_is_the_formula() {
        let bm25 = Bm25::new(["red fox", "red red hen house", "blue whale"].into_iter());
        let ranking = bm25.rank("red fox");
        let places: Vec<usize> = ranking.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [0, 1]);
        let idf = |found: f64| (1.0 + (3.0 - found + 0.5) / (found + 0.5)).ln();
        let mean = 8.0 / 3.0;
        let part =
            |often: f64, length: f64| often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / mean));
        let expected = idf(2.0) * part(1.0, 2.0) + idf(1.0) * part(1.0, 2.0);
        assert!((ranking[0].1 - expected).abs() < 1e-12);
        assert!((ranking[1].1 - idf(2.0) * part(2.0, 4.0)).abs() < 1e-12);
    }

    #[test]
    fn a_text_beyond_the_query_limit_counts_whole() {
        let long = "tree ".repeat(8_000);
        let bm25 = Bm25::new([long.as_str(), "tree"].into_iter());
        assert!((bm25.lengths[0] - 8_000.0).abs() < 1e-9);
    }

    #[test]
    fn merging_prefers_what_both_lists_hold() {
        let words = vec![(4, 9.0), (2, 8.0)];
        let meaning = vec![(7, 0.9), (2, 0.8), (4, 0.1)];
        let merged = fuse_rankings([&words, &meaning]);
        let places: Vec<usize> = merged.iter().map(|(place, _)| *place).collect();
        assert_eq!(places, [4, 2, 7]);
        assert!((merged[0].1 - (1.0 / 61.0 + 1.0 / 63.0)).abs() < 1e-12);
    }
}
