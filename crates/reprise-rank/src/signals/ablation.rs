//! Leaves signals out, to measure what each is worth.

use thiserror::Error;

use super::SIGNALS;
use super::weights::COUNT;

/// The signals that take part in a recall: all, unless some are left out by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ablation([bool; COUNT]);

/// The error for a name that is neither a signal nor a kind of evidence.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("there is no ranking signal `{name}`; the names are {known}")]
pub struct UnknownSignal {
    pub name: String,
    /// All valid names, separated by commas.
    pub known: String,
}

impl Default for Ablation {
    fn default() -> Self {
        Self([true; COUNT])
    }
}

impl Ablation {
    /// Leaves out every signal of these names, or of these kinds: `words`, `meaning`, `context`,
    /// `session`, `voice`, `speaker`, `instruction`, `time`.
    pub fn without<'a>(names: impl IntoIterator<Item = &'a str>) -> Result<Self, UnknownSignal> {
        let mut takes_part = [true; COUNT];
        for name in names {
            let mut known = false;
            for (takes_part, signal) in takes_part.iter_mut().zip(&SIGNALS) {
                if signal.name == name || signal.kinds.contains(&name) {
                    *takes_part = false;
                    known = true;
                }
            }
            if !known {
                return Err(UnknownSignal {
                    name: name.to_owned(),
                    known: Self::names().join(", "),
                });
            }
        }
        Ok(Self(takes_part))
    }

    /// Returns every name that [`Self::without`] accepts: kinds first, then signals.
    #[must_use]
    pub fn names() -> Vec<&'static str> {
        let mut names: Vec<&str> = SIGNALS.iter().flat_map(|s| s.kinds).copied().collect();
        names.sort_unstable();
        names.dedup();
        names.extend(SIGNALS.iter().map(|signal| signal.name));
        let mut seen = std::collections::BTreeSet::new();
        names.retain(|name| seen.insert(*name));
        names
    }

    pub(crate) fn takes_part(&self, signal: usize) -> bool {
        self.0.get(signal).copied().unwrap_or(false)
    }
}
