//! The gate of a learner: a running regression of quality on the learner's predictions, which tests
//! whether they are right.
//!
//! It measures whether quality can be predicted from the records used, not whether the reported
//! qualities are honest; the cap bounds the effect of dishonest ones.

use reprise_types::limits::LEARNING_RUNS_MIN;

/// Decay of a run's weight with every later run, for an effective window of about 200 runs.
const DECAY: f64 = 0.995;
/// The t value at which the gate begins to open; the noise of two learners exceeds it one time in
/// fourteen.
const T_CLOSED: f64 = 1.8;
/// The t value at which the gate is fully open, which a real effect reaches soon after the first.
const T_OPEN: f64 = 2.2;

/// Decayed moments of (1, baseline, prediction, quality), from which the gate is computed.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct PredictionGate {
    pub(crate) runs: u32,
    /// Upper triangle, row by row: 11 1b 1e 1q bb be bq ee eq qq.
    pub(crate) moments: [f64; 10],
}

/// A run as input of the gate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct GateSample {
    pub(crate) baseline: f32,
    pub(crate) expected: f32,
    pub(crate) quality: f32,
    /// Weight of the run, 0..1.
    pub(crate) weight: f32,
}

reprise_types::impl_binary_codec! {
    PredictionGate { runs, moments }
}

impl PredictionGate {
    /// Adds a finished run.
    pub(crate) fn add_run(&mut self, sample: GateSample) {
        self.runs = self.runs.saturating_add(1);
        for moment in &mut self.moments {
            *moment *= DECAY;
        }
        self.add_moments(sample, f64::from(sample.weight));
    }

    /// Replaces the run `old`, which `age` others followed, by `new`.
    pub(crate) fn replace_run(&mut self, old: GateSample, new: GateSample, age: u64) {
        let decay = DECAY.powi(i32::try_from(age).unwrap_or(i32::MAX));
        self.add_moments(old, -decay * f64::from(old.weight));
        self.add_moments(new, decay * f64::from(new.weight));
    }

    fn add_moments(&mut self, sample: GateSample, by: f64) {
        let row = [
            1.0,
            f64::from(sample.baseline),
            f64::from(sample.expected),
            f64::from(sample.quality),
        ];
        let mut place = 0;
        for (index, left) in row.iter().enumerate() {
            for right in &row[index..] {
                self.moments[place] += by * left * right;
                place += 1;
            }
        }
    }

    /// Returns the t value of the prediction's coefficient, controlled for the baseline; 0 if it is
    /// undefined.
    pub(crate) fn t_value(&self) -> f64 {
        let [n, b, e, q, bb, be, bq, ee, eq, qq] = self.moments;
        if self.runs < LEARNING_RUNS_MIN || n <= 3.0 {
            return 0.0;
        }
        // Centred sums of squares and products.
        let (sbb, see, sqq) = (bb - b * b / n, ee - e * e / n, qq - q * q / n);
        let (sbe, sbq, seq) = (be - b * e / n, bq - b * q / n, eq - e * q / n);
        // Partials the baseline out of prediction and quality.
        let out = |both: f64, left: f64, right: f64| {
            if sbb > 1e-12 {
                both - left * right / sbb
            } else {
                both
            }
        };
        let (vee, veq, vqq) = (out(see, sbe, sbe), out(seq, sbe, sbq), out(sqq, sbq, sbq));
        if vee <= 1e-9 || vqq <= 0.0 {
            return 0.0;
        }
        let slope = veq / vee;
        let rest = (vqq - slope * veq).max(1e-9);
        slope / (rest / (n - 3.0) / vee).sqrt()
    }

    /// Returns how far the gate is open, 0..1.
    pub(crate) fn openness(&self) -> f32 {
        ((self.t_value() - T_CLOSED) / (T_OPEN - T_CLOSED)).clamp(0.0, 1.0) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(expected: f32, quality: f32) -> GateSample {
        GateSample {
            baseline: 0.5,
            expected,
            quality,
            weight: 1.0,
        }
    }

    #[test]
    fn it_opens_for_what_comes_true_and_stays_shut_for_what_does_not() {
        let (mut right, mut wrong, mut few) = (
            PredictionGate::default(),
            PredictionGate::default(),
            PredictionGate::default(),
        );
        for run in 0..40_u32 {
            let expected = if run % 2 == 0 { 0.2 } else { -0.2 };
            let noise = [0.05, -0.03, 0.01, -0.04, 0.02][run as usize % 5];
            right.add_run(sample(expected, 0.5 + expected + noise));
            wrong.add_run(sample(expected, 0.5 - expected + noise));
            if run < 14 {
                few.add_run(sample(expected, 0.5 + expected));
            }
        }
        assert!(right.openness() >= 1.0, "t is {}", right.t_value());
        assert!(wrong.openness() <= 0.0, "t is {}", wrong.t_value());
        assert!(
            few.openness() <= 0.0,
            "too few runs, t is {}",
            few.t_value()
        );
    }

    #[test]
    fn without_expectations_nothing_is_believed() {
        let mut gate = PredictionGate::default();
        for run in 0..100_u32 {
            gate.add_run(sample(0.0, (run % 7) as f32 / 7.0));
        }
        assert_eq!(gate.t_value().to_bits(), 0.0_f64.to_bits());
    }

    #[test]
    fn a_revision_leaves_what_the_revised_run_would_have_left() {
        let (mut revised, mut plain) = (PredictionGate::default(), PredictionGate::default());
        for run in 0..30_u32 {
            let expected = (run % 3) as f32 / 10.0;
            let last = if run == 20 { 0.0 } else { 0.8 };
            revised.add_run(sample(expected, 0.8));
            plain.add_run(sample(expected, last));
        }
        let expected = (20 % 3) as f32 / 10.0;
        revised.replace_run(sample(expected, 0.8), sample(expected, 0.0), 9);
        for (one, other) in revised.moments.iter().zip(plain.moments) {
            assert!((one - other).abs() < 1e-9);
        }
    }
}
