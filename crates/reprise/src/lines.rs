//! Lines of a JSONL file, however bad. What stands in them is `reprise-server`'s wire form.

use std::io::BufRead;

/// Longest line that is read whole: a text at its limit, escaped, with its metadata, and room.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Numbered lines of a file, one bad line at a time: invalid UTF-8 spoils its own line only.
pub(crate) struct Lines<R> {
    reader: R,
    number: u64,
}

impl<R: BufRead> Lines<R> {
    pub(crate) fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    /// Line number from 1, and the line or what is wrong with it.
    type Item = std::io::Result<(u64, Result<String, String>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            let mut limited = std::io::Read::take(&mut self.reader, LINE_BYTES_MAX);
            match limited.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(_) => self.number += 1,
                Err(error) => return Some(Err(error)),
            }
            let line = String::from_utf8(bytes).map_err(|error| {
                format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1)
            });
            match line {
                Ok(line) if line.trim().is_empty() => {}
                line => return Some(Ok((self.number, line))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_spoils_only_itself() {
        let bytes = b"one\n\xff\n\ntwo".as_slice();
        let lines: Vec<_> = Lines::new(bytes).map(Result::unwrap).collect();
        assert_eq!(lines[0], (1, Ok("one\n".to_owned())));
        assert_eq!(lines[1].0, 2);
        assert!(lines[1].1.as_ref().unwrap_err().contains("UTF-8"));
        assert_eq!(lines[2], (4, Ok("two".to_owned())));
    }
}
