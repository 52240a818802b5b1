//! Texts in UTF-16, as programs of Windows write them: with a mark before them, or, in a pipe,
//! without one.

use std::borrow::Cow;
use std::io::{self, BufRead, Read};

/// The mark that some editors write before a text; it belongs to no line.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Bytes that tell how a text is encoded.
const SEEN_BYTES: usize = 4;

/// How the units of UTF-16 are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum UnitOrder {
    Little,
    Big,
}

impl UnitOrder {
    /// Returns the order of a text's units from its first bytes; `None` for a text in another
    /// encoding. Without a mark, its first two units are characters of ASCII.
    fn of_beginning(bytes: &[u8]) -> Option<Self> {
        match *bytes {
            [0xff, 0xfe, ..] => Some(Self::Little),
            [0xfe, 0xff, ..] => Some(Self::Big),
            [a, 0, b, 0, ..] if a != 0 && b != 0 => Some(Self::Little),
            [0, a, 0, b, ..] if a != 0 && b != 0 => Some(Self::Big),
            _ => None,
        }
    }

    fn unit_of(self, pair: [u8; 2]) -> u16 {
        match self {
            Self::Little => u16::from_le_bytes(pair),
            Self::Big => u16::from_le_bytes(pair).swap_bytes(),
        }
    }
}

/// How a text is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TextEncoding {
    Utf16(UnitOrder),
    Other,
}

/// Returns a text in UTF-16 as UTF-8, without its mark; `None` for bytes in another encoding. What
/// is no character becomes `U+FFFD`.
pub fn decode_utf16(bytes: &[u8]) -> Option<String> {
    UnitOrder::of_beginning(bytes)?;
    let mut text = String::new();
    let read = TextReader::new(bytes).read_to_string(&mut text);
    read.is_ok().then_some(text)
}

/// Returns the text of bytes without a mark before it, in UTF-16 or UTF-8; what is no character
/// becomes `U+FFFD`.
pub fn decode_text(bytes: &[u8]) -> Cow<'_, str> {
    match decode_utf16(bytes) {
        Some(text) => Cow::Owned(text),
        None => String::from_utf8_lossy(strip_byte_order_mark(bytes)),
    }
}

/// A reader of UTF-8 from another one, whose text may be in UTF-16. Bytes of other encodings pass
/// as they are.
#[derive(Debug)]
pub struct TextReader<R> {
    reader: R,
    /// `None` before the first bytes were seen.
    encoding: Option<TextEncoding>,
    /// What is decoded and not yet read, from `at` on.
    decoded: String,
    at: usize,
    /// The first byte of a unit whose second has not come.
    half: Option<u8>,
    /// The first unit of a pair whose second has not come.
    high: Option<u16>,
}

impl<R: BufRead> TextReader<R> {
    pub fn new(reader: R) -> Self {
        Self {
            reader,
            encoding: None,
            decoded: String::new(),
            at: 0,
            half: None,
            high: None,
        }
    }

    /// Looks at the first bytes, which stay to be read.
    fn find_encoding(&mut self) -> io::Result<TextEncoding> {
        if let Some(known) = self.encoding {
            return Ok(known);
        }
        let seen = self.reader.fill_buf()?;
        let order = UnitOrder::of_beginning(&seen[..seen.len().min(SEEN_BYTES)]);
        let found = order.map_or(TextEncoding::Other, TextEncoding::Utf16);
        self.encoding = Some(found);
        Ok(found)
    }

    /// Decodes what the other reader has next; nothing is decoded at its end.
    fn decode_more(&mut self, order: UnitOrder) -> io::Result<()> {
        self.decoded.clear();
        self.at = 0;
        while self.decoded.is_empty() {
            let bytes = self.reader.fill_buf()?;
            let count = bytes.len();
            if count == 0 {
                let is_cut = self.half.take().is_some() | self.high.take().is_some();
                self.decoded
                    .extend(is_cut.then_some(char::REPLACEMENT_CHARACTER));
                return Ok(());
            }
            let mut units = Vec::with_capacity(count / 2 + 2);
            units.extend(self.high.take());
            for byte in bytes {
                match self.half.take() {
                    Some(first) => units.push(order.unit_of([first, *byte])),
                    None => self.half = Some(*byte),
                }
            }
            self.reader.consume(count);
            self.high = units.pop_if(|last| (0xd800..0xdc00).contains(last));
            let characters = char::decode_utf16(units);
            let characters = characters.map(|one| one.unwrap_or(char::REPLACEMENT_CHARACTER));
            self.decoded
                .extend(characters.filter(|one| *one != '\u{feff}'));
        }
        Ok(())
    }
}

impl<R: BufRead> Read for TextReader<R> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let ready = self.fill_buf()?;
        let count = ready.len().min(out.len());
        out[..count].copy_from_slice(&ready[..count]);
        self.consume(count);
        Ok(count)
    }
}

impl<R: BufRead> BufRead for TextReader<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        let TextEncoding::Utf16(order) = self.find_encoding()? else {
            return self.reader.fill_buf();
        };
        if self.at == self.decoded.len() {
            self.decode_more(order)?;
        }
        Ok(&self.decoded.as_bytes()[self.at..])
    }

    fn consume(&mut self, count: usize) {
        if let Some(TextEncoding::Utf16(_)) = self.encoding {
            self.at = (self.at + count).min(self.decoded.len());
        } else {
            self.reader.consume(count);
        }
    }
}

/// Returns the bytes of a text without the mark that some editors write before it.
pub fn strip_byte_order_mark(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

#[cfg(test)]
mod tests {
    use std::io::BufReader;

    use super::*;
    use crate::LineReader;

    fn encode(text: &str, order: UnitOrder, has_mark: bool) -> Vec<u8> {
        let mark = has_mark.then_some(0xfeff);
        let units = mark.into_iter().chain(text.encode_utf16());
        let bytes = units.map(|unit| match order {
            UnitOrder::Little => unit.to_le_bytes(),
            UnitOrder::Big => unit.swap_bytes().to_le_bytes(),
        });
        bytes.flatten().collect()
    }

    #[test]
    fn a_text_in_utf16_is_read_whatever_its_order_its_mark_and_its_pieces() {
        // A unit with the byte of a new line in it, and a pair of units.
        let text = "{\"a\": \"\u{410a} \u{a0a} \u{1f98a}\"}\n{\"b\": 1}\n";
        for order in [UnitOrder::Little, UnitOrder::Big] {
            for has_mark in [true, false] {
                let bytes = encode(text, order, has_mark);
                assert_eq!(decode_text(&bytes), text);
                for piece in [4, 5, 7, 64] {
                    let reader = BufReader::with_capacity(piece, &*bytes);
                    let lines = LineReader::new(reader, 99).map(Result::unwrap);
                    let lines: Vec<_> = lines.map(|(_, line)| line.unwrap()).collect();
                    assert_eq!(lines.concat(), text, "{order:?} {has_mark} {piece}");
                }
            }
        }
    }

    #[test]
    fn another_encoding_passes_as_it_is_and_a_cut_unit_is_told() {
        for text in ["", "a", "ab", "{}", "caf\u{e9}", "\u{0}\u{0}ab"] {
            assert_eq!(decode_text(text.as_bytes()), text);
        }
        assert_eq!(decode_text(b"caf\xe9 noir"), "caf\u{fffd} noir");
        let mut cut = encode("ab\u{1f98a}", UnitOrder::Little, true);
        cut.truncate(cut.len() - 1);
        assert_eq!(decode_text(&cut), "ab\u{fffd}");
    }
}
