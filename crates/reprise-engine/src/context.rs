//! Context assembly: memories that were found become text for a prompt, within a token budget.
//!
//! A pure function of the answer and the budget.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use reprise_types::{
    About, ContextBlock, QuotedMemory, Recall, RecordId, RetrievedMemory, TokensBy, one_line,
};

use crate::excerpt::excerpt;
use crate::recall::{NOTHING_SPEAKS, without_sensitive};

/// No record gets more than this share of the budget while others still want room.
const SHARES: usize = 3;

/// Tokens of a short memory with its date, id and reasons: what sets how many are looked for.
const MEMORY_TOKENS: usize = 32;
/// Memories that are looked for, at least and at most.
const CANDIDATES: RangeInclusive<usize> = 5..=100;

/// Results to ask a recall for, so that they can fill `budget` tokens.
#[must_use]
pub fn context_candidates(budget: usize) -> usize {
    (budget / MEMORY_TOKENS).clamp(*CANDIDATES.start(), *CANDIDATES.end())
}

/// Tokens of so many bytes: four count as one, as the embedder's tokenisers are busy embedding.
fn tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// The text of what `recall` shows, within `budget` tokens: a bound, not a goal.
///
/// Better memories choose first. A text too long for its share is cut to whole sentences around
/// the words that matched (to words, where one sentence alone is too long), and grows again where
/// room is left. What repeats a better memory is left out, and so is what is sensitive. It is
/// quoted in a frame named after `nonce`, which is drawn for this answer alone.
#[must_use]
pub fn context_block(recall: &Recall, budget: usize, nonce: u128) -> ContextBlock {
    let mut rest = Cow::Borrowed(recall);
    if rest.results.iter().any(|one| one.record.is_sensitive()) {
        without_sensitive(rest.to_mut());
    }
    let wanted = distinct(rest.results.iter().filter(|one| one.shown).collect());
    let share = budget / wanted.len().clamp(1, SHARES);
    let mut chosen: Vec<Chosen<'_>> = Vec::new();
    let frame = QuotedMemory::new(nonce).around().len();
    // First everyone within a share, then whoever was cut within what is left.
    for limit in [share, budget] {
        for memory in &wanted {
            let kept = chosen
                .iter()
                .position(|c| c.memory.record.id == memory.record.id);
            if kept.is_some_and(|place| chosen.get(place).is_some_and(|c| !c.is_cut)) {
                continue;
            }
            let one = |text: &str| Chosen::new(memory, text);
            let others: Vec<&Chosen<'_>> = chosen
                .iter()
                .enumerate()
                .filter_map(|(place, one)| (Some(place) != kept).then_some(one))
                .collect();
            // What the rest of the text has, so that only the new line is written for each try.
            let rest = frame + measured(&others, &one(""));
            let fits = |text: &str| {
                tokens(text.len()) <= limit && tokens(rest + one(text).measured) <= budget
            };
            let excerpt = excerpt(&memory.record.text, &memory.why.matched_words, &fits);
            if let Some(one) = excerpt.as_deref().map(one) {
                match kept.and_then(|place| chosen.get_mut(place)) {
                    Some(old) => *old = one,
                    None => chosen.push(one),
                }
            }
        }
    }
    let text = render(&chosen, nonce);
    ContextBlock {
        tokens: tokens(text.len()),
        counted_by: TokensBy::BytesOverFour,
        records: ordered(&chosen),
        left_out: recall.results.len() - chosen.len(),
        nothing_relevant: rest.nothing_relevant,
        verdict: rest.verdict,
        recall_id: recall.recall_id,
        degraded: recall.degraded.clone(),
        text,
    }
}

/// One memory with the part of its text that is shown.
#[derive(Debug, Clone)]
struct Chosen<'a> {
    memory: &'a RetrievedMemory,
    text: String,
    is_cut: bool,
    /// Bytes that its line adds to the whole.
    measured: usize,
}

impl<'a> Chosen<'a> {
    fn new(memory: &'a RetrievedMemory, text: &str) -> Self {
        let mut line = QuotedMemory::new(0);
        line.line(&label(memory), text);
        Self {
            memory,
            is_cut: text != memory.record.text.trim(),
            text: text.to_owned(),
            measured: line.lines().len(),
        }
    }

    fn session(&self) -> &'a str {
        &self.memory.record.session_id
    }
}

/// Bytes that the lines of `others` add to the whole, and the heads of their sessions and of
/// `one`'s.
fn measured(others: &[&Chosen<'_>], one: &Chosen<'_>) -> usize {
    let mut sessions: Vec<&str> = others.iter().map(|other| other.session()).collect();
    sessions.push(one.session());
    sessions.sort_unstable();
    sessions.dedup();
    let mut heads = QuotedMemory::new(0);
    for name in sessions {
        head(&mut heads, name);
    }
    let lines: usize = others.iter().map(|other| other.measured).sum();
    lines + heads.lines().len()
}

/// Leaves out blank texts and those that say nothing beyond a better one.
fn distinct(found: Vec<&RetrievedMemory>) -> Vec<&RetrievedMemory> {
    let mut kept: Vec<(&RetrievedMemory, String)> = Vec::new();
    for memory in found {
        let plain = one_line(&memory.record.text).to_lowercase();
        if !plain.is_empty() && !kept.iter().any(|(_, other)| other.contains(&plain)) {
            kept.push((memory, plain));
        }
    }
    kept.into_iter().map(|(memory, _)| memory).collect()
}

/// Sessions in the order of their best memory, each with its memories, oldest first.
fn grouped<'c, 'a>(chosen: &'c [Chosen<'a>]) -> Vec<(&'c str, Vec<&'c Chosen<'a>>)> {
    let mut best_first: Vec<&Chosen<'a>> = chosen.iter().collect();
    best_first.sort_by(|a, b| b.memory.sona_score.total_cmp(&a.memory.sona_score));
    let mut sessions: Vec<(&str, Vec<&Chosen<'a>>)> = Vec::new();
    for one in best_first {
        let name = one.session();
        match sessions.iter_mut().find(|(known, _)| *known == name) {
            Some((_, list)) => list.push(one),
            None => sessions.push((name, vec![one])),
        }
    }
    for (_, list) in &mut sessions {
        list.sort_by_key(|one| (one.memory.record.timestamp, one.memory.record.id));
    }
    sessions
}

fn ordered(chosen: &[Chosen<'_>]) -> Vec<RecordId> {
    let sessions = grouped(chosen);
    let ones = sessions.iter().flat_map(|(_, list)| list);
    ones.map(|one| one.memory.record.id).collect()
}

fn render(chosen: &[Chosen<'_>], nonce: u128) -> String {
    let mut memory = QuotedMemory::new(nonce);
    for (name, list) in grouped(chosen) {
        head(&mut memory, name);
        for one in list {
            memory.line(&label(one.memory), &one.text);
        }
    }
    memory.into_text()
}

fn head(memory: &mut QuotedMemory, session: &str) {
    match session {
        "" => memory.line("Outside any session", ""),
        name => memory.line("Session ", name),
    }
}

/// What stands before a memory's text: its day, its id, what it is, who said or published it,
/// whether it stands and why it is here.
fn label(memory: &RetrievedMemory) -> String {
    let record = &memory.record;
    let date = record.timestamp.format("%Y-%m-%d %H:%M");
    let corrected = record.corrected_at().map_or_else(String::new, |at| {
        format!("; corrected on {}", at.format("%Y-%m-%d"))
    });
    let newer = memory.why.contradicted_by;
    let newer = newer.map_or_else(String::new, |id| format!("; newer: {id}"));
    let reason = match memory.why.reason.as_str() {
        "" | NOTHING_SPEAKS => String::new(),
        reason => format!("; {reason}"),
    };
    let by = memory.published.as_ref();
    let by = by.map_or_else(String::new, |by| format!("; {}", by.words()));
    let about = About::of(record);
    format!(
        "- {date} [{}; {about}{corrected}{newer}{by}{reason}] ",
        record.id
    )
}
