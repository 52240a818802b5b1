//! What a record's language does to its cosine with a question.
//!
//! A model of many languages finds texts of one language nearer to each other than texts that say
//! the same in two: asked in Russian, it has every Russian note before the German one that answers.
//! So the mean of each language's cosines with the question is brought to that of the nearest
//! language; within one language nothing changes.

use reprise_index::Sample;

/// Records that the mean of all counts as for a language's own, of which there may be few.
const PRIOR_RECORDS: f32 = 4.0;

/// What is added to the cosines of each language's records.
#[derive(Debug, Default)]
pub(super) struct ByLanguage<'a> {
    /// The records of each language but English, ascending.
    records: &'a [Vec<u32>],
    /// One for each of them, and one for all others; none where nothing is added.
    added: Vec<f32>,
}

impl<'a> ByLanguage<'a> {
    /// From cosines of some records with the question, by ordinal; with how these lie afterwards.
    pub(super) fn of(records: &'a [Vec<u32>], cosines: &[(u32, f32)]) -> (Self, Sample) {
        let mut languages = Self {
            records,
            added: vec![0.0; records.len() + 1],
        };
        let mut sums = vec![(0.0_f32, 0.0_f32); records.len() + 1];
        for (ordinal, cosine) in cosines {
            let sum = &mut sums[languages.place(*ordinal)];
            *sum = (sum.0 + 1.0, sum.1 + cosine);
        }
        let mean = sums.iter().map(|sum| sum.1).sum::<f32>() / cosines.len().max(1) as f32;
        let own =
            |(count, sum): &(f32, f32)| (sum + PRIOR_RECORDS * mean) / (count + PRIOR_RECORDS);
        let held = sums.iter().filter(|sum| sum.0 > 0.0);
        let nearest = held.map(own).fold(f32::NEG_INFINITY, f32::max);
        for (added, sum) in languages.added.iter_mut().zip(&sums) {
            if sum.0 > 0.0 {
                *added = nearest - own(sum);
            }
        }
        let brought: Vec<f32> = cosines
            .iter()
            .map(|(ordinal, cosine)| cosine + languages.added(*ordinal))
            .collect();
        let count = brought.len().max(1) as f32;
        let mean = brought.iter().sum::<f32>() / count;
        let square = brought.iter().map(|one| (one - mean).powi(2)).sum::<f32>() / count;
        let sample = Sample {
            mean,
            deviation: square.sqrt(),
            count: brought.len() as u32,
        };
        (languages, sample)
    }

    /// What is added to a record's cosine.
    pub(super) fn added(&self, ordinal: u32) -> f32 {
        if self.added.is_empty() {
            return 0.0;
        }
        self.added[self.place(ordinal)]
    }

    fn place(&self, ordinal: u32) -> usize {
        let held = |records: &Vec<u32>| records.binary_search(&ordinal).is_ok();
        let found = self.records.iter().position(held);
        found.unwrap_or(self.records.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_answers_in_another_language_stands_out_among_its_own() {
        // Ten in the question's language, ten in another, one of which answers.
        let records = [(10..20).collect::<Vec<u32>>()];
        let cosine = |at: u32| match at {
            0..10 => 0.80 + 0.002 * at as f32,
            15 => 0.79,
            _ => 0.70 + 0.002 * (at - 10) as f32,
        };
        let cosines: Vec<(u32, f32)> = (0..20).map(|at| (at, cosine(at))).collect();
        let (languages, sample) = ByLanguage::of(&records, &cosines);
        let brought = |at: u32| cosine(at) + languages.added(at);
        assert!((0..20).all(|at| at == 15 || brought(at) < brought(15)));
        assert!((0..10).all(|at| languages.added(at) == 0.0), "its own stay");
        assert!(sample.count == 20 && sample.deviation < 0.03, "{sample:?}");
        // Of one language alone, as of none, nothing moves.
        let (alone, _) = ByLanguage::of(&[], &cosines);
        assert!((0..20).all(|at| alone.added(at) == 0.0));
        assert!(ByLanguage::default().added(3) == 0.0);
    }
}
