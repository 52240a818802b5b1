//! What must not leave a hook: what is private, and what memory itself had said.
//!
//! Taking that out of a text.

use reprise_redact::without_elements;
use reprise_types::without_quoted;

/// Longest text that a hook hands on, in bytes.
pub(super) const TEXT_BYTES_MAX: usize = 8 * 1024;
/// Elements that are taken out. Gemini CLI encloses what a hook had added to a prompt, which it
/// shows to the next hook with its brackets escaped; the last is what older versions of ours wrote.
const TAKEN_OUT: [&str; 3] = ["private", "hook_context", "reprise-memory"];

/// Without what is private and without what memory had put there; cut to the longest text.
pub(super) fn clean(text: &str) -> String {
    let text = without_elements(&without_quoted(text), &TAKEN_OUT);
    let end = text.floor_char_boundary(TEXT_BYTES_MAX);
    text.get(..end).unwrap_or_default().trim().to_owned()
}
