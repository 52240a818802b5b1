//! What all versions of a record say together, summed up once: a record that changes every minute
//! has thousands of them, and each new one is compared with all.

use std::collections::HashSet;
use std::sync::{Arc, Mutex};

use reprise_types::{ContentHash, ExternalId, MemoryRecord, RecordId, lock};

/// Most records whose versions are held summed up.
const HELD_MAX: usize = 16;

/// Some versions of a record, summed up.
#[derive(Debug, Clone, Default)]
pub(crate) struct VersionSummary {
    ids: HashSet<RecordId>,
    texts: HashSet<ContentHash>,
    /// The external ids that a correction inherits, those of the newest version first.
    names: Vec<ExternalId>,
}

impl VersionSummary {
    fn of(version: &MemoryRecord) -> Self {
        let own = version.external_ids.iter();
        let own = own.filter(|name| name.is_shared_by_versions());
        Self {
            ids: HashSet::from([version.id]),
            texts: HashSet::from([ContentHash::of_text(&version.text)]),
            names: own.cloned().collect(),
        }
    }

    fn extend_by_newer(&mut self, newer: Self) {
        self.ids.extend(newer.ids);
        self.texts.extend(newer.texts);
        let older = std::mem::replace(&mut self.names, newer.names);
        for name in older {
            if !self.names.contains(&name) {
                self.names.push(name);
            }
        }
    }
}

/// A version and all that it corrected, as far as they are stored: what was summed up before, and
/// the versions after that.
#[derive(Debug, Default)]
pub(crate) struct Lineage {
    known: Arc<VersionSummary>,
    newer: VersionSummary,
}

impl Lineage {
    pub(crate) fn new(known: Arc<VersionSummary>) -> Self {
        Self {
            known,
            newer: VersionSummary::default(),
        }
    }

    fn parts(&self) -> [&VersionSummary; 2] {
        [&self.newer, &self.known]
    }

    /// Whether no version of it is stored.
    pub(crate) fn is_empty(&self) -> bool {
        self.parts().iter().all(|part| part.ids.is_empty())
    }

    pub(crate) fn contains(&self, id: RecordId) -> bool {
        self.parts().iter().any(|part| part.ids.contains(&id))
    }

    /// Whether any version has this text.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        let hash = ContentHash::of_text(text);
        self.parts().iter().any(|part| part.texts.contains(&hash))
    }

    /// Returns the external ids that a correction inherits; one may come twice.
    pub(crate) fn names(&self) -> impl Iterator<Item = &ExternalId> {
        self.parts().into_iter().flat_map(|part| &part.names)
    }

    pub(crate) fn add_newer(&mut self, version: &MemoryRecord) {
        self.newer.extend_by_newer(VersionSummary::of(version));
    }
}

/// The records whose versions were summed up last, each by its newest version. Only the writer
/// changes it: what is held depends on what was written, not on who reads.
#[derive(Debug, Default)]
pub(crate) struct LineageCache(Mutex<Vec<(RecordId, Arc<VersionSummary>)>>);

impl LineageCache {
    pub(crate) fn get(&self, newest: RecordId) -> Option<Arc<VersionSummary>> {
        let held = lock(&self.0);
        let found = held.iter().find(|(id, _)| *id == newest);
        found.map(|(_, summary)| Arc::clone(summary))
    }

    /// Holds a lineage by its newest version, in place of what was known of it by an older one.
    pub(crate) fn hold(&self, newest: RecordId, older: Option<RecordId>, lineage: Lineage) {
        let Lineage { mut known, newer } = lineage;
        let mut held = lock(&self.0);
        held.retain(|(id, _)| Some(*id) != older);
        if !newer.ids.is_empty() {
            // Nobody else has it, unless somebody reads at this moment.
            Arc::make_mut(&mut known).extend_by_newer(newer);
        }
        if held.len() >= HELD_MAX {
            held.remove(0);
        }
        held.push((newest, known));
    }
}
