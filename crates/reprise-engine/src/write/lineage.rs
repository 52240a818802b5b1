//! What all versions of a record say together, summed up once: a record that changes every minute
//! has thousands of them, and each new one is compared with all.

use std::collections::HashSet;
use std::sync::Mutex;

use reprise_types::{ContentHash, ExternalId, MemoryRecord, RecordId, lock};

use crate::write::prepare;

/// Most records whose versions are held summed up.
const HELD_MAX: usize = 16;

/// A version and all that it corrected, as far as they are stored.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    ids: HashSet<RecordId>,
    texts: HashSet<ContentHash>,
    /// The external ids that a correction inherits, those of the newest version first.
    names: Vec<ExternalId>,
}

impl Lineage {
    /// Whether no version of it is stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }

    pub(crate) fn contains(&self, id: RecordId) -> bool {
        self.ids.contains(&id)
    }

    /// Whether any version has this text.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        self.texts.contains(&prepare::content_hash(text))
    }

    /// Returns the external ids that a correction inherits.
    pub(crate) fn names(&self) -> &[ExternalId] {
        &self.names
    }

    pub(crate) fn add_newer(&mut self, version: &MemoryRecord) {
        self.ids.insert(version.id);
        self.texts.insert(prepare::content_hash(&version.text));
        let own = version.external_ids.iter();
        let own = own.filter(|name| name.is_shared_by_versions());
        let mut names: Vec<ExternalId> = own.cloned().collect();
        let older = std::mem::take(&mut self.names).into_iter();
        for name in older {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        self.names = names;
    }
}

/// The records whose versions were summed up last, each by its newest version.
#[derive(Debug, Default)]
pub(crate) struct LineageCache(Mutex<Vec<(RecordId, Lineage)>>);

impl LineageCache {
    pub(crate) fn take(&self, newest: RecordId) -> Option<Lineage> {
        let mut held = lock(&self.0);
        let at = held.iter().position(|(id, _)| *id == newest)?;
        Some(held.remove(at).1)
    }

    pub(crate) fn hold(&self, newest: RecordId, lineage: Lineage) {
        let mut held = lock(&self.0);
        if held.len() >= HELD_MAX {
            held.remove(0);
        }
        held.push((newest, lineage));
    }
}
