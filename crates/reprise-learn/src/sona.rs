//! `sona.json`: the learned state for people and other programs to read.
//!
//! It is a projection: it is compared with the log's state and never loaded into it.

use reprise_types::{EmbeddingSpace, RecordId};
use serde::{Deserialize, Serialize};

use crate::learning::OutcomeLearning;

/// Version of the learner's numbers, which rises when an equal log gives other numbers; a file with
/// an older version is old, not forged.
const VERSION: u32 = 2;
/// Most records in the list, those with most uses first.
const RECORDS_MAX: usize = 100;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SonaFile {
    pub version: u32,
    /// The embedding model that questions and records share, once there is one.
    pub model: Option<EmbeddingSpace>,
    /// The last commit that the file covers.
    pub log_position: u64,
    pub runs: u64,
    /// Current largest adjustment, 0..1.
    pub cap: f32,
    /// Gate of the evidence learner, 0..1.
    pub evidence_gate: f32,
    /// Gate of the adapter, 0..1.
    pub adapter_gate: f32,
    /// Down projection of the adapter: rank 2 times dimensions.
    pub micro_lora_down: Vec<f32>,
    /// Up projection of the adapter: rank 2 times dimensions.
    pub micro_lora_up: Vec<f32>,
    /// The records used by most runs.
    pub most_used: Vec<UsedRecord>,
    /// SHA-256 of the learned state, in hex.
    pub digest: String,
}

/// A record that runs used.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct UsedRecord {
    pub id: RecordId,
    pub uses: usize,
}

/// Result of comparing a `sona.json` with the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SonaState {
    /// It matches the log.
    Current,
    Missing,
    /// Truncated, or another kind of file.
    Unreadable,
    /// It covers an earlier commit.
    Old,
    /// It claims this commit but differs.
    Forged,
}

impl SonaState {
    /// Returns the message for a person.
    pub fn message(self) -> &'static str {
        match self {
            Self::Current => "sona.json says what the log says",
            Self::Missing => "sona.json was missing and has been written from the log",
            Self::Unreadable => {
                "sona.json could not be read and has been written anew from the log"
            }
            Self::Old => "sona.json was older than the log and has been written anew from it",
            Self::Forged => {
                "sona.json did not say what the log says and has been written anew from it"
            }
        }
    }
}

impl SonaFile {
    pub fn from_learning(
        learning: &OutcomeLearning,
        model: Option<EmbeddingSpace>,
        log_position: u64,
    ) -> Self {
        let status = learning.status();
        let weights = learning.learner.adapter.weights();
        let uses = learning.learner.evidence.iter_used();
        let mut most_used: Vec<UsedRecord> = uses
            .map(|(id, uses)| UsedRecord {
                id: *id,
                uses: uses.len(),
            })
            .collect();
        most_used.sort_by_key(|used| (std::cmp::Reverse(used.uses), used.id));
        most_used.truncate(RECORDS_MAX);
        Self {
            version: VERSION,
            model,
            log_position,
            runs: status.runs,
            cap: status.cap,
            evidence_gate: status.evidence_gate,
            adapter_gate: status.adapter_gate,
            micro_lora_down: weights.down.clone(),
            micro_lora_up: weights.up.clone(),
            most_used,
            digest: learning.digest(),
        }
    }

    pub fn to_json(&self) -> String {
        // Cannot fail: its numbers are finite and its keys are strings.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Compares the content of the file on disk with this one, which comes from the log.
    pub fn compare_with_file(&self, found: Option<&str>) -> SonaState {
        let Some(text) = found else {
            return SonaState::Missing;
        };
        match serde_json::from_str::<Self>(text) {
            Err(_) => SonaState::Unreadable,
            Ok(_) if text == self.to_json() => SonaState::Current,
            Ok(file) if file.version < VERSION || file.log_position < self.log_position => {
                SonaState::Old
            }
            Ok(_) => SonaState::Forged,
        }
    }
}
