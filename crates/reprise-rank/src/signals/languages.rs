//! Corrects a record's cosine with a question for the record's language.
//!
//! A model of many languages finds texts of one language more similar to each other than texts that
//! say the same in two: asked in Russian, it ranks every Russian note above the German one that
//! answers. So the mean of each language's cosines with the question is raised to that of the
//! nearest language; within one language nothing changes.

use std::collections::BTreeMap;

use reprise_index::{Language, Spread};

/// Weight, in records, of the overall mean in the mean of a language, which may have few records.
const PRIOR_RECORDS: f32 = 4.0;

/// The offsets that are added to the cosines of each language's records; 0 for other languages.
#[derive(Debug, Default)]
pub struct LanguageOffsets(BTreeMap<Language, f32>);

impl LanguageOffsets {
    /// Computes the offsets from the cosines of some records with the question, each with the
    /// record's language, and the distribution of these cosines afterwards.
    pub fn from_cosines(cosines: &[(Language, f32)]) -> (Self, Spread) {
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
        let offsets = sums
            .iter()
            .map(|(language, sum)| (*language, nearest - own(sum)));
        let languages = Self(offsets.collect());
        let brought = cosines.iter();
        let brought = brought.map(|(language, cosine)| cosine + languages.offset_for(|| *language));
        let sample = Spread::from_values(brought);
        (languages, sample)
    }

    /// Returns what is added to the cosine of a record of this language; `language` is called only
    /// if any offset exists.
    pub fn offset_for(&self, language: impl FnOnce() -> Language) -> f32 {
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
        let (languages, sample) = LanguageOffsets::from_cosines(&cosines);
        let brought = |at: u32| cosine(at) + languages.offset_for(|| language(at));
        assert!((0..20).all(|at| at == 15 || brought(at) < brought(15)));
        let own = languages.offset_for(|| Language::Russian);
        assert!(own == 0.0, "its own stay");
        assert!(sample.count == 20 && sample.deviation < 0.03, "{sample:?}");
        // With one language only, as with none, nothing changes.
        let (alone, _) = LanguageOffsets::from_cosines(&cosines[..10]);
        assert!(alone.offset_for(|| Language::Russian) == 0.0);
        assert!(LanguageOffsets::default().offset_for(|| Language::German) == 0.0);
    }
}
