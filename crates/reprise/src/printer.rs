//! The one way to stdout and stderr: what would act on a terminal, hide a text or turn a line
//! around is written as `\u202e`, which in JSON is the same character, and for a person a mark.
//!
//! Only line ends, tabs and the few styles of `terminal` pass as they are.

use std::io::{self, IsTerminal, StderrLock, StdoutLock, Write};

use anstream::AutoStream;
use reprise_types::is_unsafe_to_display;

/// Most bytes of a style; a longer escape is none.
const STYLE_BYTES_MAX: usize = 12;
/// Reset, bold, dim, underline, red, green, yellow: no style of ours hides a text.
const STYLES: [&[u8]; 8] = [b"", b"0", b"1", b"2", b"4", b"31", b"32", b"33"];

/// Writer that escapes characters which must not reach a terminal.
#[derive(Debug)]
pub struct Printer<W: Write> {
    out: W,
    /// The beginning of a character or style whose rest has not come yet.
    held: Vec<u8>,
}

/// Standard output, locked.
pub fn stdout() -> Printer<AutoStream<StdoutLock<'static>>> {
    #[expect(clippy::disallowed_methods, reason = "behind the printer")]
    Printer::new(anstream::stdout().lock())
}

/// Returns whether standard output is a terminal.
pub(crate) fn is_read_by_a_person() -> bool {
    io::stdout().is_terminal()
}

/// Standard error, locked.
pub fn stderr() -> Printer<AutoStream<StderrLock<'static>>> {
    #[expect(clippy::disallowed_methods, reason = "behind the printer")]
    Printer::new(anstream::stderr().lock())
}

/// Prints the error of a whole command on stderr.
pub fn print_failure(error: &anyhow::Error) {
    // Nothing is left to be done if stderr is gone.
    drop(writeln!(
        stderr(),
        "{}",
        crate::terminal::render_error(error)
    ));
}

/// Standard output for the bytes of a file: as they are, but not to a terminal.
pub(crate) fn stdout_of_bytes() -> Box<dyn Write> {
    #[expect(
        clippy::disallowed_methods,
        reason = "a pipe gets the file's own bytes"
    )]
    let out = io::stdout().lock();
    if out.is_terminal() {
        return Box::new(Printer::new(out));
    }
    Box::new(out)
}

impl<W: Write> Printer<W> {
    pub(crate) fn new(out: W) -> Self {
        Self {
            out,
            held: Vec::new(),
        }
    }

    /// Writes the complete pieces of `bytes`; returns their number of bytes.
    fn write_whole_pieces(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut from = 0;
        while let Some(rest) = bytes.get(from..).filter(|rest| !rest.is_empty()) {
            let plain = rest.iter().take_while(|byte| is_plain(**byte)).count();
            let (plain, rest) = rest.split_at(plain);
            self.out.write_all(plain)?;
            from += plain.len();
            from += match next_piece(rest) {
                Piece::Whole(length) => {
                    self.out.write_all(rest.get(..length).unwrap_or_default())?;
                    length
                }
                Piece::Hidden(c, length) => {
                    self.write_escaped(c)?;
                    length
                }
                Piece::Partial => break,
            };
        }
        Ok(from)
    }

    fn write_escaped(&mut self, c: char) -> io::Result<()> {
        for unit in c.encode_utf16(&mut [0; 2]) {
            write!(self.out, "\\u{unit:04x}")?;
        }
        Ok(())
    }
}

impl<W: Write> Write for Printer<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.held.is_empty() {
            let shown = self.write_whole_pieces(bytes)?;
            self.held.extend(bytes.iter().skip(shown));
        } else {
            let mut all = std::mem::take(&mut self.held);
            all.extend_from_slice(bytes);
            let shown = self.write_whole_pieces(&all)?;
            self.held.extend(all.into_iter().skip(shown));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        // Our own styles are never cut here, so an incomplete one is foreign.
        for byte in std::mem::take(&mut self.held) {
            match byte {
                b' '..=b'~' => self.out.write_all(&[byte])?,
                0x1b => self.write_escaped('\u{1b}')?,
                _ => self.write_escaped(char::REPLACEMENT_CHARACTER)?,
            }
        }
        self.out.flush()
    }
}

impl<W: Write> Drop for Printer<W> {
    fn drop(&mut self) {
        // A caller who needs the error has flushed before.
        if !self.held.is_empty() {
            drop(self.flush());
        }
    }
}

enum Piece {
    Whole(usize),
    Hidden(char, usize),
    Partial,
}

fn is_plain(byte: u8) -> bool {
    matches!(byte, b' '..=b'~' | b'\n' | b'\t')
}

/// Returns the piece that begins with a byte that is not plain.
fn next_piece(bytes: &[u8]) -> Piece {
    let width = match bytes.first() {
        None => return Piece::Partial,
        Some(0x1b) => return parse_style(bytes),
        Some(0..0x80) => 1,
        Some(0..0xe0) => 2,
        Some(0..0xf0) => 3,
        Some(_) => 4,
    };
    let Some(bytes) = bytes.get(..width) else {
        return Piece::Partial;
    };
    let read = std::str::from_utf8(bytes).ok();
    match read.and_then(|text| text.chars().next()) {
        None => Piece::Hidden(char::REPLACEMENT_CHARACTER, 1),
        Some(c) if is_unsafe_to_display(c) => Piece::Hidden(c, width),
        Some(_) => Piece::Whole(width),
    }
}

/// Parses one of our styles; any other escape is hidden.
fn parse_style(bytes: &[u8]) -> Piece {
    let none = Piece::Hidden('\u{1b}', 1);
    let Some((bracket, codes)) = bytes.get(1..).and_then(<[u8]>::split_first) else {
        return Piece::Partial;
    };
    if *bracket != b'[' {
        return none;
    }
    let is_code = |byte: &&u8| byte.is_ascii_digit() || **byte == b';';
    let count = codes.iter().take_while(is_code).count();
    if count > STYLE_BYTES_MAX {
        return none;
    }
    let (codes, end) = codes.split_at(count);
    match end.first() {
        None => Piece::Partial,
        Some(b'm')
            if codes
                .split(|byte| *byte == b';')
                .all(|c| STYLES.contains(&c)) =>
        {
            Piece::Whole(count + 3)
        }
        Some(_) => none,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reprise_tests::hostile_text;

    fn printed(parts: &[&[u8]]) -> String {
        let mut printer = Printer::new(Vec::new());
        for part in parts {
            printer.write_all(part).unwrap();
        }
        printer.flush().unwrap();
        String::from_utf8(std::mem::take(&mut printer.out)).unwrap()
    }

    #[test]
    fn what_acts_is_marked_and_our_styles_pass() {
        for (text, expected) in [
            ("a\tb\n\u{65e5} \u{1f600}", "a\tb\n\u{65e5} \u{1f600}"),
            ("a\u{1b}[2Jb", "a\\u001b[2Jb"),
            (
                "\u{1b}[1mx\u{1b}[0m \u{1b}[1;31my\u{1b}[m",
                "\u{1b}[1mx\u{1b}[0m \u{1b}[1;31my\u{1b}[m",
            ),
            ("\u{1b}[8mx \u{1b}[30m", "\\u001b[8mx \\u001b[30m"),
            ("\u{1b}]0;title\u{7}", "\\u001b]0;title\\u0007"),
            (
                "\u{9b}2J \u{85} \r \u{7f} \u{2028}",
                "\\u009b2J \\u0085 \\u000d \\u007f \\u2028",
            ),
            (
                "\u{202e}\u{2066}\u{200b}\u{e0041}",
                "\\u202e\\u2066\\u200b\\udb40\\udc41",
            ),
            ("ends with \u{1b}", "ends with \\u001b"),
            ("ends with \u{1b}[1", "ends with \\u001b[1"),
        ] {
            assert_eq!(printed(&[text.as_bytes()]), expected, "{text:?}");
            let bytes: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
            assert_eq!(printed(&bytes), expected, "{text:?}, byte by byte");
        }
        assert_eq!(printed(&[b"\xff\x9b2J"]), "\\ufffd\\ufffd2J");
    }

    #[test]
    fn json_that_was_printed_reads_as_what_it_was() {
        for seed in 0..2_000 {
            let text = hostile_text(seed);
            let json = serde_json::to_string(&text).unwrap();
            let shown = printed(&[json.as_bytes()]);
            assert!(!shown.chars().any(is_unsafe_to_display), "{shown:?}");
            assert_eq!(serde_json::from_str::<String>(&shown).unwrap(), text);
        }
    }
}
