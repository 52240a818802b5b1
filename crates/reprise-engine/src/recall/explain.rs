//! Explain: reads the chosen records back and says, part by part, why each is here. Learning is
//! added here because it may only reorder what was found.

use std::collections::HashSet;

use chrono::{DateTime, Utc};
use reprise_index::{QueryTerm, word_of};
use reprise_types::{
    LearnedMove, LearningEngine, MemoryRecord, RankSignal, RecordId, RetrievedMemory, Visibility,
    Why,
};

use super::answer::logit;
use super::contrary::Contrary;
use super::diversify::{mixed, spread};
use super::fuse::{Fusion, Scored};
use super::leads::Leads;
use super::lookup::Lookup;
use super::reason::{self, BETWEEN};
use super::scene::Scene;
use super::signals::SIGNALS;
use crate::snapshot::Snapshot;

/// Replaced versions that one result names, newest first.
const HISTORY_MAX: usize = 16;

/// What lifted some records above others.
#[derive(Debug, Clone, Copy)]
pub(super) struct Raised<'a> {
    pub(super) lookup: &'a Lookup,
    pub(super) contrary: &'a Contrary,
    pub(super) leads: &'a Leads,
}

/// The results, best first by the adjusted score and then spread over sessions, and whether a
/// damaged record was left out.
pub(super) fn run(
    scene: &Scene<'_>,
    fusion: &Fusion,
    best: &[Scored],
    raised: Raised<'_>,
    learning: &dyn LearningEngine,
) -> (Vec<RetrievedMemory>, bool) {
    let (snapshot, plan) = (scene.snapshot, scene.plan);
    let Raised {
        lookup, contrary, ..
    } = raised;
    let mut damaged = false;
    let mut results = Vec::with_capacity(plan.top_k.min(best.len()));
    let mut seen = HashSet::new();
    let reordered = reordered(snapshot, scene, best, learning);
    // Only a conversation crowds others out: records that answer nobody stay as they are ranked.
    let session = |(scored, _): &(&Scored, LearnedMove)| {
        let doc = snapshot.index.doc(scored.ordinal);
        doc.filter(|_| scored.dialogue > 0.0)?.session
    };
    let ordinal = |(scored, _): &(&Scored, LearnedMove)| scored.ordinal;
    let diverse = by_kind(snapshot, spread(reordered, session));
    let sorted = lookup.sorted(diverse, ordinal, |ordinal| {
        snapshot.index.place_in_time(ordinal).map(|place| place.0)
    });
    for (scored, moved) in contrary.sorted(sorted, ordinal) {
        if results.len() == plan.top_k {
            break;
        }
        match snapshot.record(scored.ordinal, plan.as_of) {
            Ok(record) if is_over(snapshot, &record, plan.now) => {}
            // One event is often told several times: the best telling is enough. Of what is
            // published each has its author, and none hides another's.
            Ok(record)
                if record.visibility != Visibility::Published
                    && !seen.insert(record.content_hash) => {}
            Ok(record) => {
                let score = logistic(scored.logit);
                let sona_score = (score + moved.adjustment).clamp(0.0, 1.0);
                let newer = contrary.newest(scored.ordinal);
                let mut why = Why {
                    worked: snapshot.learner.worked(record.id),
                    taught_by: learning.taught_by(plan.vector, record.id),
                    learning: (moved.cap > 0.0).then_some(moved),
                    supersedes: history(snapshot, &record),
                    matched_identifiers: lookup.matched(scored.ordinal, &record),
                    contradicted_by: newer.and_then(|newer| snapshot.id_at(newer)),
                    is_certain: lookup.is_certain(scored.ordinal),
                    lacks: plan.wanted.lacked_by(&record),
                    lacks_all: lookup.in_vain,
                    ..why(scene, fusion, scored, raised)
                };
                let mended = mended(scene, scored.ordinal, &record.text);
                for word in &mut why.matched_words {
                    let own = mended.iter().find(|(_, typed)| typed == word);
                    word.clone_from(own.map_or(&word.clone(), |(own, _)| own));
                }
                why.reason = reason::plain(scene, fusion, scored, &why, &mended);
                if let Some((day, asked)) = raised.leads.asked(snapshot, scored.ordinal) {
                    let said = format!("{BETWEEN}followed when this was asked on {day}");
                    why.reason.push_str(&said);
                    why.answered = Some(asked);
                }
                results.push(RetrievedMemory {
                    record,
                    score,
                    sona_score,
                    why,
                    shown: false,
                    published: None,
                });
            }
            // Forgetting is erasure: not even a question about the past brings it back.
            Err(_) if !snapshot.is_kept(scored.ordinal) => {}
            Err(error) => {
                tracing::warn!(ordinal = scored.ordinal, %error, "a record could not be read back");
                damaged = true;
            }
        }
    }
    (results, damaged)
}

/// The best candidates by their adjusted scores, each with its adjustment. Without evidence every
/// adjustment is zero and the order is the fused one, ties and all.
fn reordered<'a>(
    snapshot: &Snapshot,
    scene: &Scene<'_>,
    best: &'a [Scored],
    learning: &dyn LearningEngine,
) -> Vec<(&'a Scored, LearnedMove)> {
    let id = |scored: &Scored| snapshot.index.doc(scored.ordinal).map(|doc| doc.id);
    let ids: Vec<RecordId> = best
        .iter()
        .map(|scored| id(scored).unwrap_or(RecordId::from_u128(0)))
        .collect();
    let (cap, gates) = (learning.cap(), learning.gates());
    let evidence = learning.evidence(scene.plan.vector, &ids);
    let moves = best.iter().zip(evidence).map(|(scored, evidence)| {
        let correction = scene.plan.correction.as_ref();
        let adapter = correction.map_or(0.0, |by| by.gain(snapshot, scored.ordinal));
        (scored, LearnedMove::within(cap, gates, evidence, adapter))
    });
    let mut all: Vec<(&Scored, LearnedMove)> = moves.collect();
    if all.iter().any(|(_, moved)| moved.adjustment != 0.0) {
        let score = |(scored, moved): &(&Scored, LearnedMove)| {
            (logistic(scored.logit) + moved.adjustment).clamp(0.0, 1.0)
        };
        all.sort_by(|a, b| score(b).total_cmp(&score(a)));
    }
    all
}

/// What was spread over sessions, with other kinds where one has been heard often. All turns of
/// dialogues are one kind.
fn by_kind<'a>(
    snapshot: &Snapshot,
    all: Vec<(&'a Scored, LearnedMove)>,
) -> Vec<(&'a Scored, LearnedMove)> {
    let kind = |(scored, _): &(&Scored, LearnedMove)| {
        let doc = snapshot.index.doc(scored.ordinal);
        let apart = doc.filter(|_| scored.dialogue == 0.0);
        apart.map_or(0, |doc| {
            u32::from(doc.kind.number()) << 8 | u32::from(doc.source.number())
        })
    };
    mixed(all, kind, |(scored, moved)| match moved.adjustment {
        0.0 => scored.logit,
        moved => logit(logistic(scored.logit) + moved),
    })
}

/// Whether its time is over, and nobody said that it stays.
fn is_over(snapshot: &Snapshot, record: &MemoryRecord, now: Option<DateTime<Utc>>) -> bool {
    now.is_some_and(|now| record.is_over(now)) && !snapshot.are_apart(record.id, record.id)
}

/// The versions that this record replaced, newest first: they never answer themselves.
fn history(snapshot: &Snapshot, record: &MemoryRecord) -> Vec<RecordId> {
    let older = |id: &RecordId| {
        let ordinal = snapshot.index.find(*id)?;
        snapshot.reader.record(ordinal).ok()?.supersedes
    };
    let history = std::iter::successors(record.supersedes, older);
    history.take(HISTORY_MAX).collect()
}

fn why(scene: &Scene<'_>, fusion: &Fusion, scored: &Scored, raised: Raised<'_>) -> Why {
    let parts = SIGNALS.iter().zip(scored.values).zip(fusion.weights);
    let mut signals: Vec<RankSignal> = parts
        .filter(|(_, weight)| *weight != 0.0)
        .map(|((signal, value), weight)| part(signal.name, value, weight))
        .collect();
    if fusion.unknown_context != 0.0 && scored.dialogue < 1.0 {
        let outside = 1.0 - scored.dialogue;
        signals.push(part("unknown_context", outside, fusion.unknown_context));
    }
    signals.extend(start(fusion));
    signals.extend((scored.steps > 0.0).then(|| part("steps_of_run", scored.steps, 1.0)));
    let gain = raised.leads.gain(scored.ordinal);
    signals.extend((gain > 0.0).then(|| part("asked_before", gain, 1.0)));
    let gain = super::kinds::gain(scene.plan, scored.ordinal);
    signals.extend((gain > 0.0).then(|| part("asked_type", 1.0, gain)));
    signals.extend(raised.lookup.lift(scored.ordinal).map(|(share, lift)| {
        let value = if share > 0.0 { share } else { 1.0 };
        part("named", value, lift / value)
    }));
    let lift = raised.contrary.lift(scored.ordinal);
    signals.extend(lift.map(|lift| part("newer", 1.0, lift)));
    let nearness = scene.nearness(scored.ordinal);
    Why {
        dialogue: scored.dialogue,
        signals,
        raw_distance: nearness.map(|near| 1.0 - near.cosine),
        matched_words: scene
            .lexical
            .matched_words(scored.ordinal, &scene.plan.query),
        ..Why::default()
    }
}

/// Words of a record that the question spells otherwise, each with how.
fn mended(scene: &Scene<'_>, ordinal: u32, text: &str) -> Vec<(String, String)> {
    let held = scene.lexical.terms_of(ordinal);
    let terms = scene.plan.query.terms.iter().zip(scene.lexical.terms);
    let mended = terms.filter(|(term, signal)| {
        !term.mended.is_empty() && signal.bit.is_some_and(|bit| held >> bit & 1 == 1)
    });
    let own =
        |(term, _): (&QueryTerm, _)| Some((word_of(text, &term.mended)?, term.surface.clone()));
    mended.filter_map(own).collect()
}

/// What is the same for every record of an answer.
pub(super) fn start(fusion: &Fusion) -> [RankSignal; 2] {
    [
        part("base_rate", 1.0, fusion.base),
        part("doubt", fusion.doubt, -1.0),
    ]
}

pub(super) fn part(name: &str, value: f32, weight: f32) -> RankSignal {
    RankSignal {
        name: name.to_owned(),
        value,
        weight,
        // Nothing is not less than nothing, which `-0.0` looks like.
        contribution: value * weight + 0.0,
    }
}

pub(super) fn logistic(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit).exp())
}
