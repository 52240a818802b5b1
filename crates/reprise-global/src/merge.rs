//! Two answers as one: four buckets, then `sona_score` inside each. Each answer keeps its own
//! order inside a bucket: what it set above something else stays above it.
//!
//! A pure function of scores.

use std::collections::BTreeMap;

use reprise_engine::order_by_tier;
use reprise_types::RelevanceVerdict;

/// Where one bucket ends and the next begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Thresholds {
    /// A local result from this score on comes before everything.
    pub local_high: f32,
    /// A published thing from this quality on comes before what is locally less sure.
    pub global_quality: f32,
}

impl Default for Thresholds {
    fn default() -> Self {
        Self {
            local_high: 0.6,
            global_quality: 0.7,
        }
    }
}

/// What a merge needs to know of a result.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Scores {
    /// Relevance before learning, 0..1.
    pub score: f32,
    /// Relevance after, 0..1.
    pub sona_score: f32,
    /// Of a published thing, its quality, 0..1; `None` for the user's own.
    pub quality: Option<f32>,
}

/// Below this score a result is about something else, and comes last.
const RELEVANT_FROM: f32 = RelevanceVerdict::NOTHING_BELOW;

impl Scores {
    /// 0: local and high; 1: published, relevant and proven; 2: local and low; 3: published and
    /// unproven; 4: about something else, wherever from.
    fn merge_bucket(self, thresholds: Thresholds) -> u8 {
        match self.quality {
            _ if self.score < RELEVANT_FROM => 4,
            None if self.score >= thresholds.local_high => 0,
            None => 2,
            Some(quality)
                if quality >= thresholds.global_quality
                    && self.score >= RelevanceVerdict::WEAK_BELOW =>
            {
                1
            }
            Some(_) => 3,
        }
    }
}

/// One answer with the bucket of each result. Inside its bucket a result counts as no more than
/// what its answer set above it: so a sort by these scores keeps the answer's order.
fn assign_buckets<T>(answer: Vec<(Scores, T)>, thresholds: Thresholds) -> Vec<(u8, Scores, T)> {
    let mut lowest = BTreeMap::new();
    let ranked = answer.into_iter().map(|(mut scores, one)| {
        let bucket = scores.merge_bucket(thresholds);
        let above = lowest.entry(bucket).or_insert(scores.sona_score);
        scores.sona_score = scores.sona_score.min(*above);
        *above = scores.sona_score;
        (bucket, scores, one)
    });
    ranked.collect()
}

/// Puts both answers, each best first, in one order and keeps the first `top_k`. Of what is equal
/// the user's own comes first. Where the published would have no place although one of it is likely
/// to answer, the best of it takes the last place of several: else nothing new would be found, or
/// proven.
pub fn merge_answers<T>(
    local: Vec<(Scores, T)>,
    global: Vec<(Scores, T)>,
    top_k: usize,
    thresholds: Thresholds,
) -> Vec<T> {
    let mut all = assign_buckets(local, thresholds);
    all.extend(assign_buckets(global, thresholds));
    // The user's own are the first of what ties.
    order_by_tier(&mut all, |one| one.0, |one| one.1.sona_score);
    let is_global = |one: &(u8, Scores, T)| one.1.quality.is_some();
    let place = all.iter().position(is_global);
    if let Some(place) = place.filter(|place| *place >= top_k && top_k > 1)
        && all
            .get(place)
            .is_some_and(|one| one.1.score >= RelevanceVerdict::WEAK_BELOW)
    {
        let best = all.remove(place);
        all.insert(top_k - 1, best);
    }
    all.truncate(top_k);
    all.into_iter().map(|(_, _, one)| one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    type One = (&'static str, f32, Option<f32>);

    fn order(local: &[One], global: &[One], top_k: usize) -> Vec<&'static str> {
        let scored = |answer: &[One]| {
            let scored = answer.iter().map(|one| {
                let scores = Scores {
                    score: one.1,
                    sona_score: one.1,
                    quality: one.2,
                };
                (scores, one.0)
            });
            scored.collect::<Vec<_>>()
        };
        merge_answers(scored(local), scored(global), top_k, Thresholds::default())
    }

    #[test]
    fn the_four_buckets_come_in_their_order() {
        let local = [
            ("low", 0.59, None),
            ("high", 0.6, None),
            ("off", 0.01, None),
        ];
        let global = [
            ("unproven", 0.99, Some(0.69)),
            ("proven", 0.3, Some(0.7)),
            ("proven but weak", 0.1, Some(0.9)),
            ("off too", 0.02, Some(0.9)),
        ];
        assert_eq!(
            order(&local, &global, 9),
            [
                "high",
                "proven",
                "low",
                "unproven",
                "proven but weak",
                "off too",
                "off"
            ]
        );
    }

    #[test]
    fn the_buckets_end_where_they_are_told_to() {
        let scored = |score, quality| Scores {
            score,
            sona_score: score,
            quality,
        };
        let ends = |local_high, global_quality| {
            let thresholds = Thresholds {
                local_high,
                global_quality,
            };
            let local = vec![(scored(0.5, None), "own")];
            merge_answers(
                local,
                vec![(scored(0.9, Some(0.8)), "other")],
                2,
                thresholds,
            )
        };
        assert_eq!(ends(0.6, 0.7), ["other", "own"]);
        assert_eq!(ends(0.4, 0.7), ["own", "other"], "it is high");
        assert_eq!(ends(0.6, 0.9), ["own", "other"], "the other is not proven");
    }

    #[test]
    fn each_answer_keeps_its_own_order_inside_a_bucket() {
        let local = [
            ("second session", 0.7, None),
            ("first session", 0.8, None),
            ("off", 0.01, None),
            ("off too", 0.03, None),
        ];
        let global = [("other", 0.02, Some(0.9))];
        assert_eq!(
            order(&local, &global, 5),
            ["second session", "first session", "other", "off", "off too"]
        );
    }

    #[test]
    fn the_users_own_comes_first_of_equals() {
        assert_eq!(
            order(&[("own", 0.02, None)], &[("other", 0.02, Some(0.5))], 2),
            ["own", "other"]
        );
    }

    #[test]
    fn a_likely_answer_is_not_crowded_out_and_an_unlikely_one_is() {
        let local = [("a", 0.3, None), ("b", 0.2, None), ("c", 0.1, None)];
        assert_eq!(
            order(&local, &[("new", 0.2, Some(0.5))], 3),
            ["a", "b", "new"]
        );
        assert_eq!(
            order(&local, &[("new", 0.19, Some(0.5))], 3),
            ["a", "b", "c"]
        );
        assert_eq!(order(&local, &[("new", 0.9, Some(0.5))], 1), ["a"]);
        assert_eq!(order(&local, &[("new", 0.9, Some(0.5))], 0), [""; 0]);
    }
}
