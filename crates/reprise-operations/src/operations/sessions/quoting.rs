//! Whether what was said quotes a memory.

use crate::prelude::*;

/// Characters at a record's beginning that are its own: who writes them has read it.
const QUOTED_CHARS: usize = 60;
const QUOTED_CHARS_MIN: usize = 24;

/// Whether what was said names a record, or repeats how it begins.
pub(super) fn quotes_record(said: &str, id: RecordId, text: &str) -> bool {
    let beginning: String = fold_text(text).chars().take(QUOTED_CHARS).collect();
    let repeats = beginning.chars().count() >= QUOTED_CHARS_MIN && said.contains(&beginning);
    repeats || said.contains(&id.to_string().to_lowercase())
}

/// Folds letter case and line breaks, so that they do not hide a quotation.
pub(super) fn fold_text(text: &str) -> String {
    to_one_line(text).to_lowercase()
}
