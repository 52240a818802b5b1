//! A reader of the lines of a file, in which an error of one line concerns that line only.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use crate::encoding::{TextReader, strip_byte_order_mark};
use crate::error::FileError;
use crate::folder::OpenMode;
use crate::user_paths::open_path;

/// An iterator over the numbered lines of a reader, which skips blank ones.
#[derive(Debug)]
pub struct LineReader<R> {
    reader: TextReader<R>,
    number: u64,
    bytes_max: u64,
}

impl LineReader<BufReader<File>> {
    /// Opens a file to read lines of at most `bytes_max` bytes each.
    pub fn open(path: &Path, bytes_max: u64) -> Result<Self, FileError> {
        let file = open_path(path, OpenMode::Read)?;
        Ok(Self::new(BufReader::new(file), bytes_max))
    }
}

impl<R: BufRead> LineReader<R> {
    /// Reads lines of at most `bytes_max` bytes each from a reader.
    pub fn new(reader: R, bytes_max: u64) -> Self {
        Self {
            reader: TextReader::new(reader),
            number: 0,
            bytes_max,
        }
    }

    /// Returns the next line, blank or not.
    pub fn next_raw_line(&mut self) -> Option<<Self as Iterator>::Item> {
        let mut bytes = Vec::new();
        let mut limited = Read::take(&mut self.reader, self.bytes_max + 1);
        match limited.read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) => self.number += 1,
            Err(error) => return Some(Err(error)),
        }
        if bytes.len() as u64 > self.bytes_max && bytes.last() != Some(&b'\n') {
            let why = format!("it is longer than {} bytes; split it", self.bytes_max);
            let rest = self.reader.skip_until(b'\n');
            return Some(rest.map(|_| (self.number, Err(why))));
        }
        if self.number == 1 {
            bytes.drain(..bytes.len() - strip_byte_order_mark(&bytes).len());
        }
        let line = String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned());
        Some(Ok((self.number, Ok(line))))
    }
}

impl<R: BufRead> Iterator for LineReader<R> {
    /// The line number from 1, and the line or what is wrong with it.
    type Item = io::Result<(u64, Result<String, String>)>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            match self.next_raw_line()? {
                Ok((_, Ok(line))) if line.trim().is_empty() => {}
                line => return Some(line),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bad_line_spoils_only_itself() {
        let long = "x".repeat(1_000);
        let bytes = [
            b"\xef\xbb\xbfone\n\xff\n\n".as_slice(),
            long.as_bytes(),
            b"\ntwo",
        ]
        .concat();
        let lines: Vec<_> = LineReader::new(bytes.as_slice(), 99)
            .map(Result::unwrap)
            .collect();
        let numbers: Vec<u64> = lines.iter().map(|(number, _)| *number).collect();
        assert_eq!(numbers, [1, 2, 4, 5]);
        assert_eq!(lines[0].1.as_deref(), Ok("one\n"));
        assert_eq!(lines[1].1.as_deref(), Ok("\u{fffd}\n"));
        assert!(lines[2].1.as_ref().unwrap_err().contains("99 bytes"));
        assert_eq!(lines[3].1.as_deref(), Ok("two"));
    }

    #[test]
    fn a_line_without_an_end_is_one_bad_line() {
        let long = io::repeat(b'x').take(1 << 20);
        let reader = BufReader::new(long.chain(b"\ntwo".as_slice()));
        let lines: Vec<_> = LineReader::new(reader, 99).map(Result::unwrap).collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1], (2, Ok("two".to_owned())));
    }
}
