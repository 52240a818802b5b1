//! The text that hooks put into prompts and at the beginning of a session.

use reprise_engine::estimate_tokens;

use crate::operations::sessions::HookAnswer;
use crate::operations::sessions::prompts::{
    InjectedBlock, InjectedLine, InjectedPart, cut_injected,
};
use crate::prelude::*;

/// Returns a result as a line of a prompt.
pub(super) fn view_hit(found: RetrievedMemory, calendar: &Calendar) -> HitView {
    let RetrievedMemory {
        record,
        why,
        published,
        ..
    } = found;
    let mut caption = match published {
        Some(by) => by.describe(),
        None => RecordCaption::of(&record, why.contradicted_by)
            .with_held_until(why.held_until)
            .to_words_without_age(calendar),
    };
    if why.answered.is_some() {
        caption.push_str("; after the same was asked");
    }
    let is_over = why.contradicted_by.is_some();
    HitView {
        mark: if is_over { "Was: " } else { "" },
        ..HitView::new(record.id, record.timestamp, caption, record.body.text)
    }
}

/// Digits of a hash that make a nonce: 128 bits.
const NONCE_DIGITS: usize = 32;

/// What precedes a rule at the beginning of a session.
pub(super) const RULE: &str = "Rule: ";
/// How the rest of a line is reached.
pub(super) const WHOLE: &str = "`get` of the memory server gives the whole of an id.";
pub(super) const OTHERS: &str = "Published by others: check before you rely on one.";

/// Returns the nonce of a frame: the same lines in the same session have the same one, so that what
/// is repeated is repeated byte for byte. A stored text knows neither the session nor its
/// neighbours.
pub(super) fn frame_nonce(session: &str, parts: &[(&str, &str, Vec<HitView>)]) -> u128 {
    let mut all = session.to_owned();
    for (head, _, lines) in parts {
        all.push_str(&["\n", head].concat());
        for line in lines {
            let id = line.id.to_string();
            all.push_str(&["\n", &id, &line.caption, line.mark, &line.text].concat());
        }
    }
    let hash = reprise_types::sha256_hex(all.as_bytes());
    let nonce = hash.get(..NONCE_DIGITS).unwrap_or_default();
    u128::from_str_radix(nonce, 16).unwrap_or_default()
}

/// What is put into a prompt, each part under a line that begins with its head and goes on with how
/// to read more, below all a line that says what is left out, and a note of it; nothing for no
/// lines.
pub(super) fn render_injected(
    parts: &[(&str, &str, Vec<HitView>)],
    left_out: &str,
    nonce: u128,
    at: DateTime<Utc>,
) -> (HookAnswer, Option<InjectedBlock>) {
    let mut memory = QuotedMemory::new(nonce);
    let mut noted = Vec::new();
    for (head, more, lines) in parts.iter().filter(|(.., lines)| !lines.is_empty()) {
        let mut part = InjectedPart {
            head: [*head, *more].concat(),
            lines: Vec::new(),
        };
        memory.add_line(&part.head, "");
        for line in lines {
            let cut = HitView {
                text: cut_injected(&line.text),
                ..line.clone()
            };
            let is_whole_rule = line.mark == RULE && cut.text == line.text;
            for HitLine { label, text, .. } in render_hit(&cut, HitStyle::Hook) {
                // Of a rule that is told whole, a reader needs no id to read the rest.
                let label = if is_whole_rule {
                    ["- ", RULE].concat()
                } else {
                    label
                };
                memory.add_line(&label, &text);
                part.lines.push(InjectedLine {
                    id: line.id,
                    label,
                    excerpt: None,
                });
            }
        }
        noted.push(part);
    }
    if !noted.is_empty() && !left_out.is_empty() {
        memory.add_line(left_out, "");
        noted.push(InjectedPart {
            head: left_out.to_owned(),
            lines: Vec::new(),
        });
    }
    let context = memory.into_text();
    let block = (!noted.is_empty()).then(|| InjectedBlock {
        at,
        tokens: estimate_tokens(context.len()),
        nonce: format!("{nonce:x}"),
        parts: noted,
    });
    (HookAnswer { context }, block)
}
