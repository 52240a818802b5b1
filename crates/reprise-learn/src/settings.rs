//! Settings of learning: the weights of weaker kinds of runs.

use crate::error::{LearnError, LearnResult};

/// Weights of weaker kinds of runs. They are part of the learned state; after a change the log is
/// replayed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LearnSettings {
    exogenous_weight: f32,
    implicit_weight: f32,
}

impl LearnSettings {
    /// Checks the weights, 0..=1: of a run that failed for an outside cause (auth, network, rate
    /// limit, provider; 1 treats it as any other failure), and of a run with implicit credit.
    pub fn new(exogenous_weight: f32, implicit_weight: f32) -> LearnResult<Self> {
        for (name, got) in [
            ("exogenous_weight", exogenous_weight),
            ("implicit_weight", implicit_weight),
        ] {
            if !(0.0..=1.0).contains(&got) {
                return Err(LearnError::Weight { name, got });
            }
        }
        Ok(Self {
            exogenous_weight,
            implicit_weight,
        })
    }

    /// Returns the weight of a run that failed for an outside cause, 0..=1.
    pub fn exogenous_weight(self) -> f32 {
        self.exogenous_weight
    }

    /// Returns the weight of a run with implicit credit, 0..=1.
    pub fn implicit_weight(self) -> f32 {
        self.implicit_weight
    }
}

impl Default for LearnSettings {
    /// Returns 0.25 for outside causes and 0.5 for implicit credit.
    fn default() -> Self {
        Self {
            exogenous_weight: 0.25,
            implicit_weight: 0.5,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_weight_is_a_number_from_0_to_1() {
        assert!(LearnSettings::new(0.0, 1.0).is_ok());
        for bad in [f32::NAN, f32::INFINITY, -0.1, 1.1] {
            let error = LearnSettings::new(bad, 0.5).unwrap_err().to_string();
            assert!(error.contains("exogenous_weight"), "{error}");
            let error = LearnSettings::new(0.5, bad).unwrap_err().to_string();
            assert!(error.contains("implicit_weight"), "{error}");
        }
    }
}
