//! What a visitor did and can take back, for as long as the session lasts.

use std::collections::VecDeque;

use chrono::{DateTime, Utc};
use reprise_types::{Link, MemoryRecord, RecordId};

/// Acts that can be taken back; the oldest makes room.
const HELD_MAX: usize = 32;

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Act {
    /// A new version took the place of `old`.
    Corrected {
        old: Box<MemoryRecord>,
        new: RecordId,
        /// A sentence on the secrets that were taken out of the new wording.
        taken_out: String,
    },
    /// A new version stays for another time, or is seen by others.
    Settled {
        old: Box<MemoryRecord>,
        new: RecordId,
    },
    /// Others find it under this id.
    Published { record: RecordId, global: RecordId },
    Tagged {
        record: RecordId,
        before: Vec<String>,
    },
    Linked {
        from: RecordId,
        to: RecordId,
        relation: String,
    },
    /// A link was taken back.
    Unlinked {
        from: RecordId,
        to: RecordId,
        relation: String,
    },
    /// This is what it said; all its versions went.
    Forgotten {
        record: Box<MemoryRecord>,
        gone: Vec<RecordId>,
        /// What it was linked with.
        links: Vec<Link>,
    },
    /// Several, in the order in which they were done.
    Many(Vec<Self>),
}

impl Act {
    /// The record that it is about; of several, of the first.
    pub(crate) fn record(&self) -> RecordId {
        match self {
            Self::Many(acts) => acts
                .first()
                .map_or(RecordId::from_parts(0, 0), Self::record),
            Self::Corrected { new, .. } | Self::Settled { new, .. } => *new,
            Self::Tagged { record, .. } | Self::Published { record, .. } => *record,
            Self::Linked { from, .. } | Self::Unlinked { from, .. } => *from,
            Self::Forgotten { record, .. } => record.id,
        }
    }

    pub(crate) fn says(&self) -> String {
        match self {
            Self::Corrected { .. } => {
                "Corrected; the earlier wording is in the history.".to_owned()
            }
            Self::Settled { .. } => "Saved as a new version.".to_owned(),
            Self::Published { .. } => "Published: others can find it now.".to_owned(),
            Self::Tagged { .. } => "The tags are saved.".to_owned(),
            Self::Linked { .. } => "Linked.".to_owned(),
            Self::Unlinked { .. } => "The link is gone.".to_owned(),
            Self::Forgotten { .. } => "Forgotten.".to_owned(),
            Self::Many(acts) => {
                let one = acts.first().map(Self::says).unwrap_or_default();
                format!("{} records: {one}", acts.len())
            }
        }
    }

    /// The ids of all that was forgotten.
    pub(crate) fn gone(&self) -> Vec<RecordId> {
        match self {
            Self::Forgotten { gone, .. } => gone.clone(),
            Self::Many(acts) => acts.iter().flat_map(Self::gone).collect(),
            _ => Vec::new(),
        }
    }
}

/// An act with its number in the session.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Done {
    pub(crate) number: u64,
    pub(crate) at: DateTime<Utc>,
    pub(crate) act: Act,
}

/// The acts of a session that can be taken back.
#[derive(Debug, Default)]
pub(crate) struct Undo {
    next: u64,
    done: VecDeque<Done>,
}

impl Undo {
    /// Notes an act; answers its number.
    pub(crate) fn push(&mut self, act: Act, at: DateTime<Utc>) -> u64 {
        if self.done.len() >= HELD_MAX {
            self.done.pop_front();
        }
        self.next += 1;
        let number = self.next;
        self.done.push_back(Done { number, at, act });
        number
    }

    pub(crate) fn get(&self, number: u64) -> Option<Done> {
        let mut found = self.done.iter().filter(|done| done.number == number);
        found.next().cloned()
    }

    /// Takes an act out: it is being undone, or can no longer be.
    pub(crate) fn remove(&mut self, number: u64) {
        self.done.retain(|done| done.number != number);
    }

    /// Texts of forgotten records leave this process too.
    pub(crate) fn drop_forgotten(&mut self) {
        self.done.retain(|done| done.act.gone().is_empty());
    }

    /// Newest first.
    pub(crate) fn all(&self) -> Vec<Done> {
        self.done.iter().rev().cloned().collect()
    }
}
