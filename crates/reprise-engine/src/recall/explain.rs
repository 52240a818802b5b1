//! Explain: reads the chosen records back and says, part by part, why each is here. Learning is
//! added here because it may only reorder what was found.

use std::collections::HashSet;

use reprise_types::{LearningEngine, RankSignal, RetrievedMemory, VectorStore, Why};

use super::fuse::{NAMES, Scored};
use super::plan::Plan;
use super::search::Signals;
use crate::snapshot::Snapshot;

/// The results, best first by the adjusted score, and whether a damaged record was left out.
pub(super) fn run(
    snapshot: &Snapshot,
    plan: &Plan<'_>,
    signals: &Signals<'_>,
    best: Vec<Scored>,
    learning: &dyn LearningEngine,
) -> (Vec<RetrievedMemory>, bool) {
    let mut damaged = false;
    let mut results = Vec::with_capacity(plan.top_k.min(best.len()));
    let mut seen = HashSet::new();
    for scored in best {
        if results.len() == plan.top_k {
            break;
        }
        match snapshot.reader.record(scored.ordinal) {
            // One event is often told several times: the best telling is enough.
            Ok(record) if !seen.insert(record.content_hash) => {}
            Ok(record) => {
                let score = logistic(scored.logit);
                let cap = learning.cap();
                let moved = learning.adjustment(plan.vector, record.id).clamp(-cap, cap);
                let sona_score = (score + moved).clamp(0.0, 1.0);
                let why = Why {
                    taught_by: learning.taught_by(plan.vector, record.id),
                    ..why(snapshot, plan, signals, &scored)
                };
                results.push(RetrievedMemory {
                    record,
                    score,
                    sona_score,
                    why,
                });
            }
            // Forgetting is erasure: not even a question about the past brings it back.
            Err(_) if is_forgotten(snapshot, scored.ordinal) => {}
            Err(error) => {
                tracing::warn!(ordinal = scored.ordinal, %error, "a record could not be read back");
                damaged = true;
            }
        }
    }
    // Stable: without evidence the order of the fused scores stays as it was.
    results.sort_by(|a, b| b.sona_score.total_cmp(&a.sona_score));
    (results, damaged)
}

fn is_forgotten(snapshot: &Snapshot, ordinal: u32) -> bool {
    snapshot
        .index
        .doc(ordinal)
        .is_some_and(|doc| doc.forgotten_at.is_some())
}

fn why(snapshot: &Snapshot, plan: &Plan<'_>, signals: &Signals<'_>, scored: &Scored) -> Why {
    let signals_of = NAMES
        .iter()
        .zip(&scored.parts)
        .filter(|(_, part)| part.weight != 0.0);
    Why {
        signals: signals_of
            .map(|(name, part)| RankSignal {
                name: (*name).to_owned(),
                value: part.value,
                weight: part.weight,
                contribution: part.value * part.weight,
            })
            .collect(),
        raw_distance: raw_distance(snapshot, plan, signals, scored.ordinal),
        matched_words: signals.lexical.matched_words(scored.ordinal, &plan.query),
        taught_by: Vec::new(),
        supersedes: Vec::new(),
    }
}

/// One minus the cosine, from the full-precision vector; from the code where that cannot be read.
fn raw_distance(
    snapshot: &Snapshot,
    plan: &Plan<'_>,
    signals: &Signals<'_>,
    ordinal: u32,
) -> Option<f32> {
    let query = plan.vector.filter(|_| snapshot.index.has_vector(ordinal))?;
    let mut vector = vec![0.0; snapshot.reader.dimensions()];
    let cosine = if snapshot.reader.vector(ordinal, &mut vector) {
        vector.iter().zip(query).map(|(a, b)| a * b).sum()
    } else {
        signals.meaning.get(ordinal as usize).copied()?
    };
    Some(1.0 - cosine)
}

fn logistic(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}
