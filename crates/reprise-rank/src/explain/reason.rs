//! Renders the reasons for one result for people, in one line.
//!
//! They are read from the scene and not from the signals, so that they stay true whatever the
//! weights are; evidence that did not count is left out.

use chrono::{DateTime, Utc};
use reprise_types::{Calendar, ContributingRun, MemoryRecord, RankExplanation, Zone};

use super::{ExplainedQuestion, ResultFacts, WeighedWord};
use crate::candidate::Nearness;
use crate::order::RankedCandidate;
use crate::signals::SIGNALS;

pub(super) const SEPARATOR: &str = " \u{b7} ";
const WORDS: usize = 5;
/// Standard score from which a cosine is called close.
const CLOSE: f32 = 3.0;
/// Standard score from which a cosine is called related.
const RELATED: f32 = 1.5;
/// Cosine from which it is called close whatever the others are.
const CLOSE_COSINE: f32 = 0.6;
/// Standard score from which a whole session is about the question.
const ABOUT: f32 = 2.0;
/// Smallest part of the logit that makes a kind of evidence a reason.
const COUNTS: f32 = 0.1;

/// The reason of a result that came along, for example as the neighbour of an answer.
pub(crate) const NO_REASON: &str = "no strong match";

/// Renders one line, which is never empty.
pub(super) fn render_reason(
    question: &ExplainedQuestion<'_>,
    ranked: &RankedCandidate,
    why: &RankExplanation,
    facts: &ResultFacts<'_>,
) -> String {
    let counts = |kind: &str| {
        let parts = SIGNALS.iter().zip(ranked.scored.values);
        let parts = parts.zip(question.model.weights);
        let of_kind = parts.filter(|((signal, _), _)| signal.kinds.contains(&kind));
        of_kind
            .map(|((_, value), weight)| value * weight)
            .sum::<f32>()
            > COUNTS
    };
    let mut reasons = Vec::new();
    reasons.extend(render_matches(why));
    let newer = why.contradicted_by;
    reasons.extend(newer.map(|newer| format!("contradicted by {newer}, which is newer")));
    reasons.extend(render_words(&facts.same_words).map(|words| format!("same words: {words}")));
    if !facts.respelled.is_empty() {
        let each = facts.respelled.iter();
        let each = each.map(|(own, typed)| format!("`{own}` is spelled like `{typed}`"));
        reasons.push(each.collect::<Vec<_>>().join(", "));
    }
    reasons.extend(facts.nearness.and_then(render_meaning).map(str::to_owned));
    let around = &facts.around;
    let asked = render_words(&around.prompt_words);
    reasons.extend(asked.map(|words| format!("its prompt contains: {words}")));
    if counts("context") {
        let near = [
            ("previous", &around.previous_words),
            ("next", &around.next_words),
        ];
        reasons.extend(near.into_iter().filter_map(|(side, words)| {
            Some(format!(
                "the {side} memory contains: {}",
                render_words(words)?
            ))
        }));
    }
    if counts("session") && around.session_words.is_some_and(|score| score >= ABOUT) {
        reasons.push("its session is about this".to_owned());
    }
    if around.is_by_named_speaker {
        reasons.push("by the one you name".to_owned());
    }
    if around.is_instruction && counts("instruction") {
        reasons.push("a standing instruction".to_owned());
    }
    if around.is_dated && question.asks_when {
        reasons.push("says when".to_owned());
    }
    reasons.extend(why.worked.map(|worked| worked.to_string()));
    reasons.extend(render_learning(why));
    if reasons.is_empty() {
        reasons.push(NO_REASON.to_owned());
    }
    reasons.extend(why.lacks.iter().cloned());
    reasons.join(SEPARATOR)
}

/// Renders how the run of an outcome record went, and how long ago; `None` for any other record.
pub(super) fn render_outcome(record: &MemoryRecord, now: Option<DateTime<Utc>>) -> Option<String> {
    if !record.is_run_outcome() {
        return None;
    }
    let how = match record.quality_score? {
        quality if quality >= 0.6 => "worked well once",
        quality if quality > 0.4 => "worked in part once",
        quality if quality > 0.0 => "failed in part once",
        _ => "failed once",
    };
    let ago = now.map(|now| {
        Calendar {
            now,
            zone: Zone::Utc,
        }
        .format_relative(record.timestamp)
    });
    let ago = ago.map(|ago| format!(", {ago}"));
    Some(format!("{how}{}", ago.unwrap_or_default()))
}

/// Renders what the question names letter by letter, and where the record has it.
fn render_matches(why: &RankExplanation) -> Option<String> {
    let named = why.matched_identifiers.iter().take(WORDS);
    let named = named.map(|named| match named.field.as_str() {
        "text" => named.text.clone(),
        field => format!("{} ({})", named.text, field.replace('_', " ")),
    });
    let named: Vec<String> = named.collect();
    (!named.is_empty()).then(|| format!("named: {}", named.join(", ")))
}

/// Renders words of the question, rarest first.
fn render_words(words: &[WeighedWord<'_>]) -> Option<String> {
    let mut matched = words.to_vec();
    matched.sort_by(|a, b| b.idf.total_cmp(&a.idf));
    let more = matched.len().saturating_sub(WORDS);
    let mut named: Vec<&str> = matched
        .into_iter()
        .take(WORDS)
        .map(|matched| matched.word)
        .collect();
    let others = format!("{more} more");
    if more > 0 {
        named.push(&others);
    }
    (!named.is_empty()).then(|| named.join(", "))
}

fn render_meaning(near: Nearness) -> Option<&'static str> {
    if near.cosine >= CLOSE_COSINE || near.standard >= CLOSE {
        Some("close in meaning")
    } else {
        (near.standard >= RELATED).then_some("related in meaning")
    }
}

/// Renders what past runs teach about a result.
fn render_learning(why: &RankExplanation) -> Option<String> {
    let adjustment = why.learning.map(|learned| learned.adjustment);
    let adjustment = adjustment.filter(|adjustment| *adjustment != 0.0)?;
    let how = if adjustment > 0.0 {
        "helped"
    } else {
        "did not help"
    };
    Some(match ContributingRun::mean_quality(&why.taught_by) {
        Some(quality) => {
            let count = why.taught_by.len();
            let runs = if count == 1 { "run" } else { "runs" };
            format!("{how} in {count} similar {runs} (quality {quality:.2})")
        }
        None => format!("similar memories {how} before"),
    })
}
