//! Governing a memory: what is to be forgotten, what a compaction or a merge did, the
//! switches of learning.

use reprise_engine::{ForgetSelector, Merged};
use reprise_types::{Calendar, ExternalId, RecordId};
use serde::{Deserialize, Serialize};

/// What is to be forgotten: exactly one of the four.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ForgetBody {
    /// The record with this id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<RecordId>,
    /// The record with this external id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub external_id: Option<String>,
    /// All records of this session.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<String>,
    /// All that happened before this instant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Why; the audit stub keeps it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

impl ForgetBody {
    /// The selectors to try, in order: an external id may have come from the batch contract or from
    /// an event log.
    pub fn selectors(&self, calendar: &Calendar) -> Result<Vec<ForgetSelector>, String> {
        match (self.id, &self.external_id, &self.session, &self.before) {
            (Some(id), None, None, None) => Ok(vec![ForgetSelector::Id(id)]),
            (None, Some(external), None, None) => {
                let named = |space| ForgetSelector::External(ExternalId::new(space, external));
                Ok([ExternalId::BATCH, ExternalId::EVENT].map(named).into())
            }
            (None, None, Some(session), None) => Ok(vec![ForgetSelector::Session(session.clone())]),
            (None, None, None, Some(before)) => {
                let before = calendar.since(before).map_err(|error| error.to_string())?;
                Ok(vec![ForgetSelector::Before(before)])
            }
            _ => Err("name one of id, external_id, session and before".to_owned()),
        }
    }

    /// Why.
    #[must_use]
    pub fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or("asked for by a client")
    }
}

/// What a compaction did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Compacted {
    /// Size of the file before.
    pub bytes_before: u64,
    /// Size of the file after.
    pub bytes_after: u64,
    /// Records whose content was carried over.
    pub records: u32,
    /// Records of which only the stub was.
    pub forgotten: u32,
}

/// What is to be done with learning.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LearningAction {
    /// Adjustments are made.
    On,
    /// No adjustment is made; outcomes are learned from all the same.
    Off,
    /// What was learned is thrown away; the log keeps what happened.
    Reset,
}

/// What the merge of a branch did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MergeReport {
    /// Records that are new.
    pub added: usize,
    /// Records that an earlier merge, or the source itself, had brought.
    pub known: usize,
    /// Records that have more tags now.
    pub retagged: usize,
    /// Records that were not taken.
    pub rejected: Vec<NotMerged>,
}

/// A record of a branch that was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct NotMerged {
    /// Its id in the branch.
    pub id: RecordId,
    /// What was wrong with it.
    pub why: String,
}

impl From<Merged> for MergeReport {
    fn from(merged: Merged) -> Self {
        let rejected = merged.rejected.into_iter();
        Self {
            added: merged.added,
            known: merged.known,
            retagged: merged.retagged,
            rejected: rejected
                .map(|(id, why)| NotMerged {
                    id,
                    why: why.to_string(),
                })
                .collect(),
        }
    }
}
