//! A text as a person reads it: without invisible characters, its signs in usual width, its escapes
//! resolved. Secrets are searched for in both texts, and removed from the original.

use std::ops::Range;

/// Escapes that hide the sign between a name and its value.
const ESCAPES: [(&str, char); 22] = [
    ("&quot;", '"'),
    ("&#34;", '"'),
    ("&#39;", '\''),
    ("&apos;", '\''),
    ("&lt;", '<'),
    ("&gt;", '>'),
    ("&amp;", '&'),
    ("%3D", '='),
    ("%3d", '='),
    ("%3A", ':'),
    ("%3a", ':'),
    ("%22", '"'),
    ("%27", '\''),
    ("%20", ' '),
    ("&#61;", '='),
    ("&#x3d;", '='),
    ("&#x3D;", '='),
    ("&#58;", ':'),
    ("&#x3a;", ':'),
    ("&#x3A;", ':'),
    ("&#x22;", '"'),
    ("&#x27;", '\''),
];

/// A folded text, with the positions of its bytes in the original.
#[derive(Debug)]
pub(crate) struct FoldedText {
    pub(crate) text: String,
    /// Pairs of offsets: from this byte of `text` on, bytes are equal to those of the original from
    /// that byte on.
    steps: Vec<(usize, usize)>,
}

impl FoldedText {
    /// Folds a text; `None` if that changes nothing.
    pub(crate) fn fold(text: &str) -> Option<Self> {
        let hides =
            |byte: u8| !byte.is_ascii() || matches!(byte, b'&' | b'%' | b'\\' | b'"' | b'\'');
        if !text.bytes().any(hides) {
            return None;
        }
        let mut folded = Self {
            text: String::new(),
            steps: Vec::new(),
        };
        let (mut copied, mut at) = (0, 0);
        while let Some(c) = text[at..].chars().next() {
            let is_plain = u8::try_from(c).is_ok_and(|byte| !hides(byte));
            let read = if is_plain {
                None
            } else {
                fold_start(&text[at..], c)
            };
            match read {
                None => at += c.len_utf8(),
                Some((length, replacement)) => {
                    folded.text.push_str(&text[copied..at]);
                    folded.text.extend(replacement);
                    at += length;
                    copied = at;
                    folded.steps.push((folded.text.len(), at));
                }
            }
        }
        folded.text.push_str(&text[copied..]);
        (!folded.steps.is_empty()).then_some(folded)
    }

    /// Returns the range of the original text for a range of the folded text.
    pub(crate) fn original_range(&self, range: &Range<usize>) -> Range<usize> {
        self.original_offset(range.start)..self.original_offset(range.end)
    }

    fn original_offset(&self, at: usize) -> usize {
        let after = self.steps.partition_point(|(here, _)| *here <= at);
        match after.checked_sub(1).and_then(|last| self.steps.get(last)) {
            Some((here, there)) => at - here + there,
            None => at,
        }
    }
}

/// Folds the character or escape at the start of `rest`. Returns its length and its replacement;
/// `None` if it is unchanged.
fn fold_start(rest: &str, c: char) -> Option<(usize, Option<char>)> {
    let replacement = match c {
        '&' | '%' => {
            let (escape, c) = ESCAPES
                .iter()
                .find(|(escape, _)| rest.starts_with(escape))?;
            return Some((escape.len(), Some(*c)));
        }
        // A line that goes on after a backslash, and a text in two literals.
        '\\' if rest.starts_with("\\\n") => {
            let next = rest[2..].trim_start_matches([' ', '\t']);
            return Some((rest.len() - next.len(), None));
        }
        '"' | '\'' => {
            let next = rest[1..].trim_start_matches([' ', '\t']);
            let next = next
                .strip_prefix('+')
                .or_else(|| next.strip_prefix("\n "))?;
            let next = next.trim_start().strip_prefix(c)?;
            return Some((rest.len() - next.len(), None));
        }
        '\\' => {
            let digits = rest.strip_prefix("\\u00")?.get(..2)?;
            let c = u8::from_str_radix(digits, 16).ok()?;
            let c = (b' '..=b'~').contains(&c).then_some(char::from(c))?;
            return Some(("\\u0000".len(), Some(c)));
        }
        '\u{ad}'
        | '\u{34f}'
        | '\u{61c}'
        | '\u{115f}'..='\u{1160}'
        | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}'
        | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}'
        | '\u{2800}'
        | '\u{3164}'
        | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}'
        | '\u{e0000}'..='\u{e0fff}' => None,
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0),
        '\u{a0}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(' '),
        '\u{2028}' | '\u{2029}' => Some('\n'),
        '\u{b4}' | '\u{2018}'..='\u{201b}' | '\u{2032}' | '\u{2039}'..='\u{203a}' => Some('\''),
        '\u{201c}'..='\u{201f}' | '\u{ab}' | '\u{bb}' | '\u{2033}' | '\u{300c}'..='\u{300f}' => {
            Some('"')
        }
        '\u{2010}'..='\u{2015}' | '\u{2212}' => Some('-'),
        '\u{2236}' | '\u{a789}' | '\u{fe55}' => Some(':'),
        '\u{2192}' | '\u{21d2}' | '\u{279c}' => Some('='),
        _ => return None,
    };
    Some((c.len_utf8(), replacement))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folded_text_knows_where_each_byte_stood() {
        let text = "a\u{200b}b\u{ff1a} &quot;\\u0063\u{e9}d";
        let folded = FoldedText::fold(text).unwrap();
        assert_eq!(folded.text, "ab: \"c\u{e9}d");
        for (part, original) in [
            ("b", "b"),
            (":", "\u{ff1a}"),
            ("\"", "&quot;"),
            ("c", "\\u0063"),
            ("\u{e9}d", "\u{e9}d"),
        ] {
            let at = folded.text.find(part).unwrap();
            let range = folded.original_range(&(at..at + part.len()));
            assert_eq!(&text[range], original);
        }
        let joined = FoldedText::fold("\"ab\" + \"cd\" ef\\\n  gh").unwrap();
        assert_eq!(joined.text, "\"abcd\" efgh");
        assert!(FoldedText::fold("plain & 100% \\n \u{e9}").is_none());
    }
}
