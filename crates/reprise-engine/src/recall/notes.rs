//! Notes for a reader about how the question was understood.

use reprise_rank::NamesInQuestion;
use reprise_types::RecallRequest;
use reprise_types::limits::QUERY_BYTES_MAX;

use super::plan::RecallPlan;
use crate::snapshot::Snapshot;
use crate::snapshot::other_spaces::percent_done;
use crate::write::prepare::format_space;

/// Collects the notes of an answer.
pub(super) fn collect_notes(
    snapshot: &Snapshot,
    request: &RecallRequest,
    plan: &RecallPlan<'_>,
    names: &NamesInQuestion,
) -> Vec<String> {
    let mut notes = plan.when.notes.clone();
    notes.extend_from_slice(&names.notes);
    let bytes = request.query.len();
    if bytes > QUERY_BYTES_MAX {
        notes.push(format!(
            "the question has {bytes} bytes; only the first {QUERY_BYTES_MAX} were looked at"
        ));
    }
    if plan.query.terms.is_empty() && !request.query.trim().is_empty() {
        let how = if plan.can_compare_meaning() {
            "the question has no word to look up by: its meaning alone was compared"
        } else {
            "the question has no word to look up by; use words of what is sought"
        };
        notes.push(how.to_owned());
    }
    let left = snapshot.other_spaces.len();
    if left > 0
        && let Some(done) = percent_done(snapshot.index.embedded_count(), left)
    {
        let own = snapshot
            .space
            .as_ref()
            .map(format_space)
            .unwrap_or_default();
        let meanwhile = if plan.other_spaces.len() == snapshot.other_spaces.iter().count() {
            "the others are compared in the space they have"
        } else {
            "of the others some have no model here and are found by words and time"
        };
        notes.push(format!(
            "re-embedding: {done} % of the vectors are of {own}; {meanwhile}"
        ));
    }
    if plan.view.considered_count() == 0 {
        notes.extend(snapshot.explain_empty_view(&request.filter, request.as_of));
    }
    notes
}
