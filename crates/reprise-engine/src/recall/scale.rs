//! From raw scores to standard scores: how far a record stands out in this store, for this query.
//!
//! Scores are normalised by their spread, so that a signal that separates nothing weighs nothing
//! (DESIGN 6: merging ranks is worse than BM25 alone).

use reprise_index::Sample;
use reprise_types::Unrelated;

/// Pseudo-records that steady mean and deviation, ...
const PRIOR_RECORDS: f64 = 8.0;
/// ... and so many more where there are next to no records, half as many at [`FEW_RECORDS`]: among
/// few the one that stands out is itself most of the deviation, and would hide behind it.
const PRIOR_RECORDS_OF_FEW: f64 = 32.0;
const FEW_RECORDS: f64 = 40.0;
/// Standard scores from here up to [`HIGHEST`] are told apart.
const LOWEST: f32 = -2.0;
const HIGHEST: f32 = 10.0;

/// What is known of a signal's spread before a store has been seen.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prior {
    mean: f64,
    deviation: f64,
}

/// What MiniLM gives unrelated short texts.
pub(super) const COSINES: Prior = Prior {
    mean: 0.1,
    deviation: 0.12,
};

/// Where a model's cosines begin. Some give unrelated texts .1, as the one that ranking was fitted
/// to, some .75: what is above the floor is brought to 0..1 before anything is made of it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Floor(f32);

/// So many deviations below the mean of unrelated texts lies the floor: for the reference that is
/// 0.
const FLOOR_DEVIATIONS: f32 = 0.83;
/// Floors up to the first are none, from the second on they count in full.
const FLOOR_FROM: f32 = 0.45;
const FLOOR_FULL: f32 = 0.65;
/// A model that tells nothing apart has a floor of 1, above which there is nothing.
const FLOOR_MAX: f32 = 0.95;

impl Floor {
    /// That of a model, where it was measured.
    pub(super) fn of(unrelated: Option<Unrelated>) -> Self {
        unrelated.map_or_else(Self::default, Self::below)
    }

    fn below(unrelated: Unrelated) -> Self {
        let floor = unrelated.mean() - FLOOR_DEVIATIONS * unrelated.deviation();
        let part = ((floor - FLOOR_FROM) / (FLOOR_FULL - FLOOR_FROM)).clamp(0.0, 1.0);
        Self((part * floor).min(FLOOR_MAX))
    }

    /// A cosine above it: at most 1, and below 0 what is less than unrelated.
    pub(super) fn above(self, cosine: f32) -> f32 {
        (cosine - self.0) / (1.0 - self.0)
    }

    pub(super) fn sample(self, sample: &Sample) -> Sample {
        Sample {
            mean: self.above(sample.mean),
            deviation: sample.deviation / (1.0 - self.0),
            count: sample.count,
        }
    }
}

/// BM25, of records and of sessions.
pub(super) const BM25: Prior = Prior {
    mean: 0.0,
    deviation: 1.5,
};

/// Mean and deviation of a signal among the live records.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    mean: f32,
    per_deviation: f32,
}

impl Scale {
    /// From mean and deviation over `count` records, steadied by the prior's pseudo-records.
    pub(super) fn new(prior: Prior, mean: f32, deviation: f32, count: u32) -> Self {
        let square_of = |mean: f64, deviation: f64| mean.mul_add(mean, deviation * deviation);
        let (mean, deviation) = (f64::from(mean), f64::from(deviation));
        let seen = f64::from(count);
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

    /// Deviations above the mean.
    pub(super) fn standard(self, value: f32) -> f32 {
        (value - self.mean) * self.per_deviation
    }
}

/// Steadies the deviations of a question's cosines in several spaces. Which records still stand in
/// which is a matter of time: where one space holds rows of a ledger alone, the least unlike of
/// them would stand out further than the answer does among all kinds in another. So half of each
/// variance is that of all.
pub(super) fn steadied(samples: &mut [Sample]) {
    let held = samples.iter().filter(|sample| sample.count > 0);
    if held.clone().count() < 2 {
        return;
    }
    let square = |sample: &Sample| sample.deviation * sample.deviation;
    let weight: f32 = held.clone().map(|sample| sample.count as f32).sum();
    let all = held.map(|sample| sample.count as f32 * square(sample));
    let variance = all.sum::<f32>() / weight;
    for sample in samples.iter_mut() {
        sample.deviation = f32::midpoint(square(sample), variance).sqrt();
    }
}

/// A standard score as a signal: 0 at two deviations below the mean, 1 at ten above.
pub(super) fn unit(standard: f32) -> f32 {
    ((standard - LOWEST) / (HIGHEST - LOWEST)).clamp(0.0, 1.0)
}

/// What holds or does not, as a signal.
pub(super) fn flag(holds: bool) -> f32 {
    f32::from(u8::from(holds))
}

#[cfg(test)]
mod tests {
    use super::*;
    use reprise_types::EmbeddingSpace;

    #[test]
    fn a_models_floor_is_taken_off_and_of_one_like_the_reference_there_is_none() {
        let wide = Sample {
            mean: 0.1,
            deviation: 0.12,
            count: 400,
        };
        assert_eq!(Floor::below(Unrelated::new(0.1, 0.12)), Floor(0.0));
        assert_eq!(Floor(0.0).sample(&wide), wide);
        let floor = Floor::below(Unrelated::new(0.78, 0.035));
        let brought = floor.sample(&Sample {
            mean: 0.78,
            deviation: 0.035,
            count: 400,
        });
        assert!((0.05..0.2).contains(&brought.mean), "{brought:?}");
        assert!((0.08..0.2).contains(&brought.deviation), "{brought:?}");
        assert!(floor.above(0.92) > 0.6 && floor.above(1.0) <= 1.0);
        // It is the model's: how many records there are, and how alike they are, has no say.
        let space = |model: &str| EmbeddingSpace {
            model: model.to_owned(),
            version: "1".to_owned(),
            dimensions: 8,
        };
        space("narrow").measured(Unrelated::new(0.78, 0.035));
        space("narrow").measured(Unrelated::new(0.1, 0.12));
        assert_eq!(Floor::of(space("narrow").unrelated()), floor);
        assert_eq!(
            Floor::of(space("nobody measured it").unrelated()),
            Floor(0.0)
        );
    }

    #[test]
    fn one_spread_stays_as_it_is_and_of_several_none_is_far_from_the_others() {
        let sample = |deviation, count| Sample {
            mean: 0.1,
            deviation,
            count,
        };
        let mut alone = [sample(0.06, 128), sample(0.0, 0)];
        steadied(&mut alone);
        assert_eq!(alone, [sample(0.06, 128), sample(0.0, 0)]);
        let mut two = [sample(0.04, 100), sample(0.12, 100)];
        steadied(&mut two);
        let [narrow, wide] = two.map(|sample| sample.deviation);
        assert!((0.06..0.08).contains(&narrow), "{narrow}");
        assert!((0.10..0.12).contains(&wide), "{wide}");
    }
}
