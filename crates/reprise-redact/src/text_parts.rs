//! Parts of a text, by bytes.

use std::ops::Range;

/// Moves a range by an offset.
pub(crate) fn shift_range(range: &Range<usize>, by: usize) -> Range<usize> {
    by + range.start..by + range.end
}

/// Returns the first `bytes_max` bytes of a text.
pub(crate) fn prefix_of(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// Returns the last `bytes_max` bytes of a text.
pub(crate) fn suffix_of(text: &str, bytes_max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..]
}
