//! Turns raw scores into standard scores: how far a record is above the mean of this store, for
//! this query.
//!
//! Scores are normalised by their spread, so that a signal that separates nothing weighs nothing.
//! Merging ranks instead was measured to be worse than BM25 alone.

use reprise_index::Spread;
use reprise_types::UnrelatedCosines;

/// Pseudo-records that steady mean and deviation.
const PRIOR_RECORDS: f64 = 8.0;
/// Further pseudo-records in a store next to empty, half as many at [`FEW_RECORDS`]: among few
/// records an outlier is itself most of the deviation, and would hide behind it.
const PRIOR_RECORDS_OF_FEW: f64 = 32.0;
const FEW_RECORDS: f64 = 40.0;
/// Lowest standard score that is told apart, as [`HIGHEST`] is the highest.
const LOWEST: f32 = -2.0;
const HIGHEST: f32 = 10.0;

/// Assumed mean and deviation of a signal, before a store has been seen.
#[derive(Debug, Clone, Copy)]
struct Prior {
    mean: f64,
    deviation: f64,
}

/// The cosines that MiniLM gives unrelated short texts.
const COSINES: Prior = Prior {
    mean: 0.1,
    deviation: 0.12,
};

/// The lowest cosine of a model that means anything. Some models give unrelated texts .1, as the
/// one that ranking was fitted to, some .75: cosines above the floor are brought to 0..1 before
/// they are used.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct CosineFloor(f32);

/// Deviations of the floor below the mean of unrelated texts, which gives the reference 0.
const FLOOR_DEVIATIONS: f32 = 0.83;
/// Floors up to this one count as 0.
const FLOOR_FROM: f32 = 0.45;
/// Floors from this one on count in full.
const FLOOR_FULL: f32 = 0.65;
/// Highest floor, of a model that tells nothing apart.
const FLOOR_MAX: f32 = 0.95;

impl CosineFloor {
    /// Returns the floor of a model, which is 0 if it was not measured.
    pub fn of_model(unrelated: Option<UnrelatedCosines>) -> Self {
        unrelated.map_or_else(Self::default, Self::from_unrelated)
    }

    fn from_unrelated(unrelated: UnrelatedCosines) -> Self {
        let floor = unrelated.mean() - FLOOR_DEVIATIONS * unrelated.deviation();
        let part = ((floor - FLOOR_FROM) / (FLOOR_FULL - FLOOR_FROM)).clamp(0.0, 1.0);
        Self((part * floor).min(FLOOR_MAX))
    }

    /// Rescales a cosine to the range above the floor: at most 1, and below 0 if it is less than
    /// unrelated.
    pub fn rescale(self, cosine: f32) -> f32 {
        (cosine - self.0) / (1.0 - self.0)
    }

    pub fn rescale_spread(self, sample: &Spread) -> Spread {
        Spread {
            mean: self.rescale(sample.mean),
            deviation: sample.deviation / (1.0 - self.0),
            count: sample.count,
        }
    }
}

/// BM25 scores, of records and of sessions.
const BM25: Prior = Prior {
    mean: 0.0,
    deviation: 1.5,
};

/// The mean and deviation of a signal among the live records.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    mean: f32,
    per_deviation: f32,
}

impl Scale {
    /// Creates the scale of cosines with a question.
    pub fn of_cosines(spread: Spread) -> Self {
        Self::new(COSINES, spread)
    }

    /// Creates the scale of BM25 scores, of records or of sessions.
    pub fn of_words(spread: Spread) -> Self {
        Self::new(BM25, spread)
    }

    /// Creates a scale from mean and deviation over `count` records, steadied by the prior's
    /// pseudo-records.
    fn new(prior: Prior, spread: Spread) -> Self {
        let square_of = |mean: f64, deviation: f64| mean.mul_add(mean, deviation * deviation);
        let (mean, deviation) = (f64::from(spread.mean), f64::from(spread.deviation));
        let seen = f64::from(spread.count);
        let prior_records =
            PRIOR_RECORDS + PRIOR_RECORDS_OF_FEW / (1.0 + (seen / FEW_RECORDS).powi(2));
        let total = seen + prior_records;
        let square = seen * square_of(mean, deviation)
            + prior_records * square_of(prior.mean, prior.deviation);
        let mean = seen.mul_add(mean, prior_records * prior.mean) / total;
        let variance = mean.mul_add(-mean, square / total).max(f64::EPSILON);
        Self {
            mean: mean as f32,
            per_deviation: variance.sqrt().recip() as f32,
        }
    }

    /// Returns the deviations of a value above the mean.
    pub fn standard_score(self, value: f32) -> f32 {
        (value - self.mean) * self.per_deviation
    }
}

/// Steadies the deviations of a question's cosines in several spaces. Which records are still in
/// which space is a matter of time: if one space held only rows of a ledger, the least dissimilar
/// of them would exceed its mean by more than the answer does among all kinds in another. So half
/// of each variance is that of all.
pub fn share_variance(samples: &mut [Spread]) {
    let in_use = samples.iter().filter(|sample| sample.count > 0);
    if in_use.clone().count() < 2 {
        return;
    }
    let square = |sample: &Spread| sample.deviation * sample.deviation;
    let weight: f32 = in_use.clone().map(|sample| sample.count as f32).sum();
    let all = in_use.map(|sample| sample.count as f32 * square(sample));
    let variance = all.sum::<f32>() / weight;
    for sample in samples.iter_mut() {
        sample.deviation = f32::midpoint(square(sample), variance).sqrt();
    }
}

/// Returns a standard score as a signal: 0 at two deviations below the mean, 1 at ten above.
pub(crate) fn to_signal(standard: f32) -> f32 {
    ((standard - LOWEST) / (HIGHEST - LOWEST)).clamp(0.0, 1.0)
}

/// Returns a condition as a signal.
pub(crate) fn flag_to_signal(holds: bool) -> f32 {
    f32::from(u8::from(holds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_models_floor_is_taken_off_and_of_one_like_the_reference_there_is_none() {
        let wide = Spread {
            mean: 0.1,
            deviation: 0.12,
            count: 400,
        };
        assert_eq!(
            CosineFloor::from_unrelated(UnrelatedCosines::new(0.1, 0.12)),
            CosineFloor(0.0)
        );
        assert_eq!(CosineFloor(0.0).rescale_spread(&wide), wide);
        let floor = CosineFloor::from_unrelated(UnrelatedCosines::new(0.78, 0.035));
        let brought = floor.rescale_spread(&Spread {
            mean: 0.78,
            deviation: 0.035,
            count: 400,
        });
        assert!((0.05..0.2).contains(&brought.mean), "{brought:?}");
        assert!((0.08..0.2).contains(&brought.deviation), "{brought:?}");
        assert!(floor.rescale(0.92) > 0.6 && floor.rescale(1.0) <= 1.0);
        // The floor belongs to the model, however many records there are, and however similar they
        // are.
        let narrow = UnrelatedCosines::new(0.78, 0.035);
        assert_eq!(CosineFloor::of_model(Some(narrow)), floor);
        assert_eq!(CosineFloor::of_model(None), CosineFloor(0.0));
    }

    #[test]
    fn one_spread_stays_as_it_is_and_of_several_none_is_far_from_the_others() {
        let sample = |deviation, count| Spread {
            mean: 0.1,
            deviation,
            count,
        };
        let mut alone = [sample(0.06, 128), sample(0.0, 0)];
        share_variance(&mut alone);
        assert_eq!(alone, [sample(0.06, 128), sample(0.0, 0)]);
        let mut two = [sample(0.04, 100), sample(0.12, 100)];
        share_variance(&mut two);
        let [narrow, wide] = two.map(|sample| sample.deviation);
        assert!((0.06..0.08).contains(&narrow), "{narrow}");
        assert!((0.10..0.12).contains(&wide), "{wide}");
    }
}
