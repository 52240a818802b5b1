//! Merges the answers to other wordings of a question, which a host provides, into its own.

use std::collections::HashMap;

use reprise_types::{RecallResponse, RecordId};

use super::decide_shown;
use crate::order::order_results;

/// Most characters of a wording that a reason names.
const WORDING_CHARS: usize = 60;

/// Merges the answer to a question with the answers to other wordings of it: a record counts with
/// its best score. The receipt, and the number of considered records, are the question's own.
#[must_use]
pub fn merge_wordings(
    mut recall: RecallResponse,
    others: Vec<(String, RecallResponse)>,
    top_k: usize,
) -> RecallResponse {
    let ids = recall.results.iter().map(|found| found.record.id);
    let mut places: HashMap<RecordId, usize> = ids.zip(0..).collect();
    for (wording, other) in others {
        for part in other.degraded {
            if !recall.degraded.contains(&part) {
                recall.degraded.push(part);
            }
        }
        let wording: String = wording.chars().take(WORDING_CHARS).collect();
        for mut found in other.results {
            found.why.reason = format!("asked as \"{wording}\": {}", found.why.reason);
            let place = places.get(&found.record.id).copied();
            match place.and_then(|place| recall.results.get_mut(place)) {
                Some(known) if known.sona_score >= found.sona_score => {}
                Some(known) => *known = found,
                None => {
                    places.insert(found.record.id, recall.results.len());
                    recall.results.push(found);
                }
            }
        }
    }
    order_results(&mut recall.results, |_| false);
    recall.results.truncate(top_k);
    decide_shown(&mut recall);
    recall
}
