//! Tags that come with a record that is known already: what its sender says of it later counts,
//! too.

use reprise_types::limits::LIST_ITEMS_MAX;
use reprise_types::{ExternalId, NewRecord, RecordId, normalize_tags};

use crate::engine::Engine;
use crate::write::Draft;

impl Engine {
    /// Adds to the draft the tags of a known record that it never had: one that a person took away
    /// stays away. A row that a program copied into another session brings none, and neither does a
    /// request that is repeated.
    pub(super) fn draft_late_tags(&self, new: &NewRecord, of: RecordId, draft: &mut Draft) {
        let mut sent = normalize_tags(&new.tags);
        let said = [ExternalId::BATCH, ExternalId::SUNWELL, ExternalId::REQUEST];
        let mut names = new.external_ids.iter();
        let is_said = names.all(|name| said.contains(&name.namespace.as_str()));
        let is_own =
            |session: &str| is_said || new.session_id.is_empty() || new.session_id == *session;
        if let Some(record) = draft.batch.get_mut(of) {
            if is_own(&record.session_id) {
                let held = std::mem::take(&mut record.body.tags);
                record.body.tags = join_tags(held, sent);
            }
            return;
        }
        let snapshot = &self.snapshot;
        let Some(ordinal) = snapshot.live_ordinal(of) else {
            return;
        };
        sent.retain(|tag| !snapshot.marks.had_tag(ordinal, tag));
        let is_repeated = |name: &ExternalId| {
            name.namespace == ExternalId::REQUEST && snapshot.find_by_external_id(name) == Some(of)
        };
        if sent.is_empty() || new.external_ids.iter().any(is_repeated) {
            return;
        }
        let versions: Vec<u32> = snapshot.version_ordinals(of).collect();
        sent.retain(|tag| {
            let mut versions = versions.iter();
            !versions.any(|version| snapshot.marks.had_tag(*version, tag))
        });
        let known = || snapshot.get_stored(of)?.ok();
        if !sent.is_empty() && known().is_some_and(|known| is_own(&known.session_id)) {
            let held = draft.late_tags.entry(ordinal);
            let held = held.or_insert_with(|| snapshot.tags_of(ordinal));
            *held = join_tags(std::mem::take(held), sent);
        }
    }
}

/// Joins the tags of a record with later ones, as many as it may have.
fn join_tags(mut held: Vec<String>, later: Vec<String>) -> Vec<String> {
    for tag in later {
        if held.len() < LIST_ITEMS_MAX && !held.contains(&tag) {
            held.push(tag);
        }
    }
    held.sort_unstable();
    held
}
