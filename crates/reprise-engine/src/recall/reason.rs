//! The reasons for one result as a person reads them, in one line.
//!
//! Read from the scene and not from the signals, so that it stays true whatever they weigh; what a
//! kind of evidence did not count for is not said.

use reprise_types::{TaughtBy, Why};

use super::fuse::{Fusion, Scored};
use super::scene::Scene;
use super::signals::SIGNALS;

pub(super) const BETWEEN: &str = " \u{b7} ";
const WORDS: usize = 5;
/// Standard scores from which a cosine is called close, and related.
const CLOSE: f32 = 3.0;
const RELATED: f32 = 1.5;
/// The cosine from which it is close whatever the others are.
const CLOSE_COSINE: f32 = 0.6;
/// Standard score from which a whole session is about the question.
const ABOUT: f32 = 2.0;
/// What a kind of evidence adds to the logit, at least, to be a reason.
const COUNTS: f32 = 0.1;

/// Said of what came along, as the neighbour of an answer does.
pub(crate) const NOTHING_SPEAKS: &str = "nothing in particular speaks for it";

/// One line, never empty.
pub(super) fn plain(
    scene: &Scene<'_>,
    fusion: &Fusion,
    scored: &Scored,
    why: &Why,
    mended: &[(String, String)],
) -> String {
    let counts = |kind: &str| {
        let parts = SIGNALS.iter().zip(scored.values).zip(fusion.weights);
        let of_kind = parts.filter(|((signal, _), _)| signal.kinds.contains(&kind));
        of_kind
            .map(|((_, value), weight)| value * weight)
            .sum::<f32>()
            > COUNTS
    };
    let own = scene.lexical.terms_of(scored.ordinal);
    let mut reasons = Vec::new();
    reasons.extend(named(why));
    let newer = why.contradicted_by;
    reasons.extend(newer.map(|newer| format!("contradicted by {newer}, which is newer")));
    reasons.extend(words(scene, own).map(|words| format!("same words: {words}")));
    if !mended.is_empty() {
        let (own, typed): (Vec<_>, Vec<_>) = mended.iter().cloned().unzip();
        reasons.push(format!("{}, for {}", own.join(" "), typed.join(" ")));
    }
    reasons.extend(meaning(scene, scored.ordinal, why.raw_distance).map(str::to_owned));
    let traits = scene.index.traits(scored.ordinal, &scene.plan.view);
    if let Some(traits) = traits {
        if counts("context") {
            let (before, after) = traits.neighbours;
            let near = [("before", before), ("after", after)];
            reasons.extend(near.into_iter().filter_map(|(side, near)| {
                let words = words(scene, scene.lexical.terms_of(near?) & !own)?;
                Some(format!("the record {side} it names {words}"))
            }));
        }
        let session = traits.session;
        if counts("session") && session.is_some() && scene.session_words_of(session) >= ABOUT {
            reasons.push("its session is about this".to_owned());
        }
        if scene.named && scene.names(traits.speaker) {
            reasons.push("by the one you name".to_owned());
        }
        if traits.instruction && traits.by_user && counts("instruction") {
            reasons.push("a standing instruction".to_owned());
        }
        if traits.dated && scene.plan.asked.when {
            reasons.push("tells a time".to_owned());
        }
    }
    reasons.extend(why.worked.map(|worked| worked.to_string()));
    reasons.extend(taught(why));
    if reasons.is_empty() {
        reasons.push(NOTHING_SPEAKS.to_owned());
    }
    reasons.extend(why.lacks.iter().cloned());
    reasons.join(BETWEEN)
}

/// What the question names letter by letter, and where the record has it.
fn named(why: &Why) -> Option<String> {
    let named = why.matched_identifiers.iter().take(WORDS);
    let named = named.map(|named| match named.field.as_str() {
        "text" => named.text.clone(),
        field => format!("{} ({})", named.text, field.replace('_', " ")),
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("named: {}", named.join(", ")))
}

/// The question's words that `mask` names, rarest first.
fn words(scene: &Scene<'_>, mask: u32) -> Option<String> {
    let terms = scene.plan.query.terms.iter().zip(scene.lexical.terms);
    let held = terms.filter(|(term, signal)| {
        term.mended.is_empty() && signal.bit.is_some_and(|bit| mask >> bit & 1 == 1)
    });
    let mut held: Vec<(&str, f32)> = held
        .map(|(term, signal)| (term.surface.as_str(), signal.idf))
        .collect();
    held.sort_by(|a, b| b.1.total_cmp(&a.1));
    let more = held.len().saturating_sub(WORDS);
    let mut named: Vec<&str> = held.into_iter().take(WORDS).map(|(word, _)| word).collect();
    let others = format!("{more} more");
    if more > 0 {
        named.push(&others);
    }
    (!named.is_empty()).then(|| named.join(", "))
}

fn meaning(scene: &Scene<'_>, ordinal: u32, distance: Option<f32>) -> Option<&'static str> {
    let cosine = 1.0 - distance?;
    let standard = scene.meaning_of(ordinal);
    if cosine >= CLOSE_COSINE || standard >= CLOSE {
        Some("close in meaning")
    } else {
        (standard >= RELATED).then_some("related in meaning")
    }
}

/// What past runs say of it.
fn taught(why: &Why) -> Option<String> {
    let moved = why.learning.map(|learned| learned.adjustment);
    let moved = moved.filter(|moved| *moved != 0.0)?;
    let how = if moved > 0.0 {
        "helped"
    } else {
        "did not help"
    };
    Some(match TaughtBy::mean_quality(&why.taught_by) {
        Some(quality) => {
            let count = why.taught_by.len();
            let runs = if count == 1 { "run" } else { "runs" };
            format!("{how} in {count} similar {runs} (quality {quality:.2})")
        }
        None => format!("what is like it {how} before"),
    })
}
