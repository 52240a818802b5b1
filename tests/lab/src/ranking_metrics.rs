//! The metrics of one ranking for one question.

use std::collections::BTreeSet;

/// The depths at which recall is computed.
pub const DEPTHS: [usize; 4] = [1, 5, 10, 20];

/// Depth of nDCG.
const GAIN_DEPTH: usize = 10;

/// One thing to be found: any of these external ids will do.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Gold(pub BTreeSet<String>);

impl Gold {
    pub fn from_id(id: impl Into<String>) -> Self {
        Self(BTreeSet::from([id.into()]))
    }
}

/// The metrics of one question, each 0..1.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RankingMetrics {
    /// Share of the gold found among the first of [`DEPTHS`].
    pub recall: [f64; DEPTHS.len()],
    /// 1 where any of it was.
    pub any: [f64; DEPTHS.len()],
    /// Reciprocal rank of the first hit, 0 without; `None` without gold.
    pub reciprocal_rank: Option<f64>,
    /// Value of nDCG at 10 (Jarvelin and Kekalainen 2002, binary gains, log2); `None` without gold.
    pub ndcg10: Option<f64>,
}

impl RankingMetrics {
    /// Of a question without gold under a protocol that counts it all the same.
    pub(crate) fn without_gold(share: f64) -> Self {
        Self {
            recall: [share; DEPTHS.len()],
            any: [share; DEPTHS.len()],
            reciprocal_rank: Some(0.0),
            ndcg10: Some(0.0),
        }
    }
}

/// The metrics of `ranked`, ids best first. Without gold, recall counts 1 (the usual session
/// protocol; at turn level such questions are excluded before).
pub fn measure_ranking(ranked: &[&str], gold: &[Gold]) -> RankingMetrics {
    if gold.is_empty() {
        return RankingMetrics {
            recall: [1.0; DEPTHS.len()],
            any: [1.0; DEPTHS.len()],
            reciprocal_rank: None,
            ndcg10: None,
        };
    }
    let mut open: BTreeSet<&Gold> = gold.iter().collect();
    let wanted = open.len();
    // Gold found up to and including each rank.
    let mut found = Vec::with_capacity(ranked.len());
    let (mut first, mut gain) = (None, 0.0);
    for (place, id) in ranked.iter().enumerate() {
        let before = open.len();
        open.retain(|gold| !gold.0.contains(*id));
        if open.len() < before {
            first = first.or(Some(place));
            if place < GAIN_DEPTH {
                gain += discount(place);
            }
        }
        found.push(wanted - open.len());
    }
    let at = |depth: usize| {
        let last = depth.min(found.len()).checked_sub(1);
        last.and_then(|last| found.get(last)).copied().unwrap_or(0)
    };
    let best: f64 = (0..wanted.min(GAIN_DEPTH)).map(discount).sum();
    RankingMetrics {
        recall: DEPTHS.map(|depth| at(depth) as f64 / wanted as f64),
        any: DEPTHS.map(|depth| f64::from(at(depth) > 0)),
        reciprocal_rank: Some(first.map_or(0.0, |place| 1.0 / (place as f64 + 1.0))),
        ndcg10: Some(gain / best),
    }
}

fn discount(place: usize) -> f64 {
    1.0 / (place as f64 + 2.0).log2()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn gold(ids: &[&str]) -> Vec<Gold> {
        ids.iter().map(|id| Gold::from_id(*id)).collect()
    }

    fn close(a: f64, b: f64) {
        assert!((a - b).abs() < 1e-12, "{a} is not {b}");
    }

    #[test]
    fn recall_is_the_share_of_the_gold_at_each_depth() {
        let marks = measure_ranking(&["x", "a", "y", "z", "w", "b"], &gold(&["a", "b", "c"]));
        close(marks.recall[0], 0.0);
        close(marks.recall[1], 1.0 / 3.0);
        close(marks.recall[2], 2.0 / 3.0);
        close(marks.any[0], 0.0);
        close(marks.any[1], 1.0);
        close(marks.reciprocal_rank.unwrap(), 0.5);
        // Hits at ranks 2 and 6 of three wanted: 1/log2 3 + 1/log2 7 over 1 + 1/log2 3 + 1/2.
        let ideal = 1.0 + 1.0 / 3_f64.log2() + 0.5;
        let gain = 1.0 / 3_f64.log2() + 1.0 / 7_f64.log2();
        close(marks.ndcg10.unwrap(), gain / ideal);
    }

    #[test]
    fn a_gold_named_twice_counts_once_and_so_does_a_repeated_hit() {
        let marks = measure_ranking(&["a", "a"], &gold(&["a", "a"]));
        marks
            .recall
            .into_iter()
            .for_each(|recall| close(recall, 1.0));
        close(marks.ndcg10.unwrap(), 1.0);
    }

    #[test]
    fn any_bearer_of_a_tag_finds_it_and_the_second_adds_nothing() {
        let tagged = Gold(["a", "b"].map(str::to_owned).into());
        let marks = measure_ranking(&["b", "a"], &[tagged, Gold::from_id("c")]);
        close(marks.recall[3], 0.5);
        close(marks.reciprocal_rank.unwrap(), 1.0);
    }

    #[test]
    fn an_empty_ranking_finds_nothing_and_no_gold_counts_one() {
        let none = measure_ranking(&[], &gold(&["a"]));
        assert_eq!((none.recall, none.any), ([0.0; 4], [0.0; 4]));
        assert_eq!((none.reciprocal_rank, none.ndcg10), (Some(0.0), Some(0.0)));
        let free = measure_ranking(&["a"], &[]);
        assert_eq!((free.recall, free.reciprocal_rank), ([1.0; 4], None));
    }
}
