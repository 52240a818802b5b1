//! Builds context: memories that were found become text for a prompt, within a token budget.
//!
//! This is a pure function of the answer and the budget.

#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::RangeInclusive;

use reprise_types::{
    Calendar, ContextBlock, HitStyle, HitView, PublicationOrigin, QuotedMemory, RecallResponse,
    RecordCaption, RecordId, RetrievedMemory, TokenUnit, Zone, to_one_line,
};

use super::excerpt::excerpt;
use super::remove_sensitive;
use crate::explain::reason::NO_REASON;

/// Share of the budget that one record gets at most while others still need room: one in so many.
const SHARES: usize = 3;

/// Tokens of a short memory with its date, id and reasons, from which the number of candidates
/// follows.
const MEMORY_TOKENS: usize = 32;
/// Fewest and most candidates.
const CANDIDATES: RangeInclusive<usize> = 5..=100;

/// Returns how many results a recall should return to fill `budget` tokens.
#[must_use]
pub fn context_candidate_count(budget: usize) -> usize {
    (budget / MEMORY_TOKENS).clamp(*CANDIDATES.start(), *CANDIDATES.end())
}

/// Estimates the tokens of so many bytes: four bytes count as one, because the embedder's
/// tokenisers are busy.
#[must_use]
pub fn estimate_tokens(bytes: usize) -> usize {
    bytes.div_ceil(4)
}

/// Builds the text of what `recall` shows, within `budget` tokens, which are a bound and not a
/// goal.
///
/// Better memories get room first. A text too long for its share is cut to whole sentences around
/// the words that matched (to words, if one sentence alone is too long), and grows again if room is
/// left. Sensitive memories and those that repeat a better one are left out. The text is quoted in
/// a frame named after `nonce`, which must be drawn for this answer alone.
#[must_use]
pub fn build_context_block(recall: &RecallResponse, budget: usize, nonce: u128) -> ContextBlock {
    let mut rest = Cow::Borrowed(recall);
    if rest.results.iter().any(|one| one.record.is_sensitive()) {
        remove_sensitive(rest.to_mut());
    }
    let shown = drop_repeats(rest.results.iter().filter(|one| one.shown).collect());
    let share = budget / shown.len().clamp(1, SHARES);
    let mut chosen: Vec<ChosenMemory<'_>> = Vec::new();
    let head: Vec<&str> = rest.half_answer().into_iter().collect();
    let frame = QuotedMemory::new(nonce).empty_frame().len() + count_bytes_of_notes(&head);
    // The first pass gives everyone a share, the second gives what is left to those that were cut.
    for limit in [share, budget] {
        for memory in &shown {
            let position = chosen
                .iter()
                .position(|c| c.memory.record.id == memory.record.id);
            if position.is_some_and(|place| chosen.get(place).is_some_and(|c| !c.is_cut)) {
                continue;
            }
            let one = |text: &str| ChosenMemory::new(memory, text);
            let others: Vec<&ChosenMemory<'_>> = chosen
                .iter()
                .enumerate()
                .filter_map(|(place, one)| (Some(place) != position).then_some(one))
                .collect();
            // Measures the rest of the text once, so that each attempt renders the new line only.
            let rest = frame + count_bytes_of_lines(&others, &one(""));
            let fits = |text: &str| {
                estimate_tokens(text.len()) <= limit
                    && estimate_tokens(rest + one(text).line_bytes) <= budget
            };
            let excerpt = excerpt(&memory.record.text, &memory.why.matched_words, &fits);
            if let Some(one) = excerpt.as_deref().map(one) {
                match position.and_then(|place| chosen.get_mut(place)) {
                    Some(old) => *old = one,
                    None => chosen.push(one),
                }
            }
        }
    }
    let head = if chosen.is_empty() { Vec::new() } else { head };
    let mut text = render_block(&chosen, &head, nonce);
    let note = recall.chain_note().filter(|_| !chosen.is_empty());
    if let Some(note) = note {
        let with_note = render_block(&chosen, &[&head[..], &[note]].concat(), nonce);
        if estimate_tokens(with_note.len()) <= budget {
            text = with_note;
        }
    }
    ContextBlock {
        tokens: estimate_tokens(text.len()),
        counted_by: TokenUnit::BytesOverFour,
        records: ids_in_order(&chosen),
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
struct ChosenMemory<'a> {
    memory: &'a RetrievedMemory,
    text: String,
    is_cut: bool,
    /// Bytes that its line adds to the whole.
    line_bytes: usize,
}

impl<'a> ChosenMemory<'a> {
    fn new(memory: &'a RetrievedMemory, text: &str) -> Self {
        let mut line = QuotedMemory::new(0);
        line.add_hit(&view_memory(memory, text), HitStyle::Prompt);
        Self {
            memory,
            is_cut: text != memory.record.text.trim(),
            text: text.to_owned(),
            line_bytes: line.lines().len(),
        }
    }

    fn session(&self) -> &'a str {
        &self.memory.record.session_id
    }
}

/// Returns the bytes that the lines of `others` add to the whole, with the headings of their
/// sessions and of `one`'s.
fn count_bytes_of_lines(others: &[&ChosenMemory<'_>], one: &ChosenMemory<'_>) -> usize {
    let mut sessions: Vec<&str> = others.iter().map(|other| other.session()).collect();
    sessions.push(one.session());
    sessions.sort_unstable();
    sessions.dedup();
    let mut heads = QuotedMemory::new(0);
    for name in sessions {
        write_session_heading(&mut heads, name);
    }
    let lines: usize = others.iter().map(|other| other.line_bytes).sum();
    lines + heads.lines().len()
}

/// Leaves out blank texts and those that a better one contains.
fn drop_repeats(found: Vec<&RetrievedMemory>) -> Vec<&RetrievedMemory> {
    let mut distinct: Vec<(&RetrievedMemory, String)> = Vec::new();
    for memory in found {
        let plain = to_one_line(&memory.record.text).to_lowercase();
        if !plain.is_empty() && !distinct.iter().any(|(_, other)| other.contains(&plain)) {
            distinct.push((memory, plain));
        }
    }
    distinct.into_iter().map(|(memory, _)| memory).collect()
}

/// Groups memories by session. Sessions come in the order of their best memory, memories oldest
/// first.
fn group_by_session<'c, 'a>(
    chosen: &'c [ChosenMemory<'a>],
) -> Vec<(&'c str, Vec<&'c ChosenMemory<'a>>)> {
    let mut best_first: Vec<&ChosenMemory<'a>> = chosen.iter().collect();
    best_first.sort_by(|a, b| b.memory.sona_score.total_cmp(&a.memory.sona_score));
    let mut sessions: Vec<(&str, Vec<&ChosenMemory<'a>>)> = Vec::new();
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

fn ids_in_order(chosen: &[ChosenMemory<'_>]) -> Vec<RecordId> {
    let sessions = group_by_session(chosen);
    let ones = sessions.iter().flat_map(|(_, list)| list);
    ones.map(|one| one.memory.record.id).collect()
}

/// Returns the bytes that notes at the beginning add to the whole.
fn count_bytes_of_notes(notes: &[&str]) -> usize {
    let mut lines = QuotedMemory::new(0);
    for note in notes {
        lines.add_line("", note);
    }
    lines.lines().len()
}

fn render_block(chosen: &[ChosenMemory<'_>], notes: &[&str], nonce: u128) -> String {
    let mut memory = QuotedMemory::new(nonce);
    for note in notes {
        memory.add_line("", note);
    }
    for (name, list) in group_by_session(chosen) {
        write_session_heading(&mut memory, name);
        for one in list {
            memory.add_hit(&view_memory(one.memory, &one.text), HitStyle::Prompt);
        }
    }
    memory.into_text()
}

fn write_session_heading(memory: &mut QuotedMemory, session: &str) {
    match session {
        "" => memory.add_line("Outside any session", ""),
        name => memory.add_line("Session ", name),
    }
}

/// Returns a memory as the prompt has it: a line below the heading of its session.
fn view_memory(memory: &RetrievedMemory, text: &str) -> HitView {
    let (record, why) = (&memory.record, &memory.why);
    let caption = RecordCaption::of(record, why.contradicted_by).with_held_until(why.held_until);
    let utc = Calendar {
        now: record.timestamp,
        zone: Zone::Utc,
    };
    let caption = caption.to_words_below_session(&utc);
    let reason = Some(&why.reason).filter(|reason| *reason != NO_REASON);
    HitView {
        published: memory
            .published
            .as_ref()
            .map(PublicationOrigin::describe)
            .unwrap_or_default(),
        reason: reason.cloned().unwrap_or_default(),
        ..HitView::new(record.id, record.timestamp, caption, text.to_owned())
    }
}
