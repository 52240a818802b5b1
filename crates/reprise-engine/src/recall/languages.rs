//! What a record's language does to its cosine with a question.
//!
//! A model of many languages finds texts of one language nearer to each other than texts that say
//! the same in two: asked in Russian, it has every Russian note before the German one that answers.
//! So the mean of each language's cosines with the question is brought to that of the nearest
//! language; within one language nothing changes.

use std::collections::BTreeMap;

use reprise_index::{Language, Sample};

/// Records that the mean of all counts as for a language's own, of which there may be few.
const PRIOR_RECORDS: f32 = 4.0;

/// What is added to the cosines of each language's records, and nothing to those of others.
#[derive(Debug, Default)]
pub(super) struct ByLanguage(BTreeMap<Language, f32>);

impl ByLanguage {
    /// From cosines of some records with the question, each with the record's language; with how
    /// these lie afterwards.
    pub(super) fn of(cosines: &[(Language, f32)]) -> (Self, Sample) {
        let mut sums: BTreeMap<Language, (f32, f32)> = BTreeMap::new();
        for (language, cosine) in cosines {
            let sum = sums.entry(*language).or_default();
            *sum = (sum.0 + 1.0, sum.1 + cosine);
        }
        let count = cosines.len().max(1) as f32;
        let mean = sums.values().map(|sum| sum.1).sum::<f32>() / count;
        let own =
            |(count, sum): &(f32, f32)| (sum + PRIOR_RECORDS * mean) / (count + PRIOR_RECORDS);
        let nearest = sums.values().map(own).fold(f32::NEG_INFINITY, f32::max);
        let added = sums
            .iter()
            .map(|(language, sum)| (*language, nearest - own(sum)));
        let languages = Self(added.collect());
        let brought = cosines.iter();
        let brought = brought.map(|(language, cosine)| cosine + languages.added(|| *language));
        let sample = Sample::of(brought);
        (languages, sample)
    }

    /// What is added to the cosine of a record of this language, which is asked where it counts.
    pub(super) fn added(&self, language: impl FnOnce() -> Language) -> f32 {
        if self.0.is_empty() {
            return 0.0;
        }
        self.0.get(&language()).copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_answers_in_another_language_stands_out_among_its_own() {
        // Ten in the question's language, ten in another, one of which answers.
        let language = |at: u32| match at {
            0..10 => Language::Russian,
            _ => Language::German,
        };
        let cosine = |at: u32| match at {
            0..10 => 0.80 + 0.002 * at as f32,
            15 => 0.79,
            _ => 0.70 + 0.002 * (at - 10) as f32,
        };
        let cosines: Vec<(Language, f32)> = (0..20).map(|at| (language(at), cosine(at))).collect();
        let (languages, sample) = ByLanguage::of(&cosines);
        let brought = |at: u32| cosine(at) + languages.added(|| language(at));
        assert!((0..20).all(|at| at == 15 || brought(at) < brought(15)));
        let own = languages.added(|| Language::Russian);
        assert!(own == 0.0, "its own stay");
        assert!(sample.count == 20 && sample.deviation < 0.03, "{sample:?}");
        // Of one language alone, as of none, nothing moves.
        let (alone, _) = ByLanguage::of(&cosines[..10]);
        assert!(alone.added(|| Language::Russian) == 0.0);
        assert!(ByLanguage::default().added(|| Language::German) == 0.0);
    }
}
