//! Lines of a file, however bad: what is wrong with one spoils that line only.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use reprise_files::{Access, open_path};
use serde_json::{Map, Value};

use crate::error::ImportError;

/// Longest line that is read.
const LINE_BYTES_MAX: u64 = 16 * 1024 * 1024;

/// What some editors put before a text; it belongs to none of its lines.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Numbered lines of a reader.
#[derive(Debug)]
pub struct Lines<R> {
    reader: R,
    number: u64,
}

impl Lines<BufReader<File>> {
    /// The lines of a file.
    pub(crate) fn open(path: &Path) -> Result<Self, ImportError> {
        Ok(Self::new(BufReader::new(open_path(path, Access::Read)?)))
    }
}

impl<R: BufRead> Lines<R> {
    /// The lines of a reader.
    pub fn new(reader: R) -> Self {
        Self { reader, number: 0 }
    }

    fn rest_of_line(&mut self) -> std::io::Result<()> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let used = end.map_or(buffer.len(), |end| end + 1);
            let is_end = end.is_some() || buffer.is_empty();
            self.reader.consume(used);
            if is_end {
                return Ok(());
            }
        }
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    /// Line number from 1, and the line or what is wrong with it. Blank lines are passed over.
    type Item = std::io::Result<(u64, Result<String, String>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let mut bytes = Vec::new();
            let mut limited = Read::take(&mut self.reader, LINE_BYTES_MAX);
            match limited.read_until(b'\n', &mut bytes) {
                Ok(0) => return None,
                Ok(_) => self.number += 1,
                Err(error) => return Some(Err(error)),
            }
            if bytes.len() as u64 == LINE_BYTES_MAX && !bytes.ends_with(b"\n") {
                if let Err(error) = self.rest_of_line() {
                    return Some(Err(error));
                }
                let why = format!("the line is longer than {LINE_BYTES_MAX} bytes; split it");
                return Some(Ok((self.number, Err(why))));
            }
            if self.number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
                bytes.drain(..BYTE_ORDER_MARK.len());
            }
            match String::from_utf8(bytes) {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => return Some(Ok((self.number, Ok(line)))),
                Err(error) => {
                    let at = error.utf8_error().valid_up_to() + 1;
                    return Some(Ok((self.number, Err(format!("byte {at} is not UTF-8")))));
                }
            }
        }
    }
}

/// A text's bytes without the mark that some editors put before it.
pub(crate) fn unmarked(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(BYTE_ORDER_MARK).unwrap_or(bytes)
}

/// The object of a line of JSON, or a sentence about it.
pub(crate) fn object(line: &str) -> Result<Map<String, Value>, String> {
    match serde_json::from_str(line) {
        Ok(Value::Object(object)) => Ok(object),
        Ok(_) => Err("the line is JSON but no object".to_owned()),
        Err(error) if error.is_eof() => Err("the line is cut: its JSON does not end".to_owned()),
        Err(error) => Err(format!("the line is no JSON: {error}")),
    }
}

/// A text field that says something.
pub(crate) fn text<'a>(object: &'a Map<String, Value>, name: &str) -> Option<&'a str> {
    let text = object.get(name)?.as_str()?;
    (!text.trim().is_empty()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_spoils_itself_only() {
        let long = "x".repeat(LINE_BYTES_MAX as usize + 7);
        let bytes = [
            b"\xef\xbb\xbfa\n\n\xff\n".as_slice(),
            long.as_bytes(),
            b"\nb",
        ]
        .concat();
        let lines: Vec<_> = Lines::new(bytes.as_slice()).map(Result::unwrap).collect();
        let numbers: Vec<u64> = lines.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 3, 4, 5]);
        assert!(lines[1].1.as_ref().unwrap_err().contains("UTF-8"));
        assert!(lines[2].1.as_ref().unwrap_err().contains("longer"));
        assert_eq!(lines[0].1.as_deref(), Ok("a\n"));
        assert_eq!(lines[3].1.as_deref(), Ok("b"));
    }
}
