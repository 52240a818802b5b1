//! What a reader should know about how his question was taken.

use reprise_types::RecallRequest;
use reprise_types::limits::QUERY_BYTES_MAX;

use super::lookup::Lookup;
use super::plan::Plan;
use crate::snapshot::Snapshot;

pub(super) fn of(
    snapshot: &Snapshot,
    request: &RecallRequest,
    plan: &Plan<'_>,
    lookup: Lookup,
) -> Vec<String> {
    let mut notes = lookup.notes;
    let bytes = request.query.len();
    if bytes > QUERY_BYTES_MAX {
        notes.push(format!(
            "the question has {bytes} bytes; only the first {QUERY_BYTES_MAX} were looked at"
        ));
    }
    if plan.query.terms.is_empty() && !request.query.trim().is_empty() {
        notes.push(
            match plan.vector {
                Some(_) => "the question has no word to look up by: its meaning alone was compared",
                None => "the question has no word to look up by; use words of what is sought",
            }
            .to_owned(),
        );
    }
    if plan.view.considered() == 0 {
        notes.extend(snapshot.why_none(&request.filter, request.as_of));
    }
    notes
}
