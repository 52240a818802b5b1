//! Lines of a JSONL file, however bad. What stands in them is `reprise-server`'s wire form.

use std::io::BufRead;

use reprise_knowledge::read_yaml;

/// Longest line that is read whole: a text at its limit, escaped, with its metadata, and room.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// What some editors put before a text; it belongs to none of its lines.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

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
            match self.raw()? {
                Ok((_, Ok(line))) if line.trim().is_empty() => {}
                line => return Some(line),
            }
        }
    }
}

impl<R: BufRead> Lines<R> {
    /// The next line, blank or not.
    fn raw(&mut self) -> Option<<Self as Iterator>::Item> {
        let mut bytes = Vec::new();
        let mut limited = std::io::Read::take(&mut self.reader, LINE_BYTES_MAX + 1);
        match limited.read_until(b'\n', &mut bytes) {
            Ok(0) => return None,
            Ok(_) => self.number += 1,
            Err(error) => return Some(Err(error)),
        }
        if bytes.len() as u64 > LINE_BYTES_MAX && bytes.last() != Some(&b'\n') {
            return Some(self.reader.skip_until(b'\n').map(|_| {
                let why = format!("it has more than {LINE_BYTES_MAX} bytes");
                (self.number, Err(why))
            }));
        }
        if self.number == 1 && bytes.starts_with(BYTE_ORDER_MARK) {
            bytes.drain(..BYTE_ORDER_MARK.len());
        }
        let line = String::from_utf8(bytes)
            .map_err(|error| format!("byte {} is not UTF-8", error.utf8_error().valid_up_to() + 1));
        Some(Ok((self.number, line)))
    }
}

/// Numbered documents of a YAML file, each as a line of JSON.
pub(crate) struct Documents<R> {
    lines: Lines<R>,
}

impl<R: BufRead> Documents<R> {
    pub(crate) fn new(reader: R) -> Self {
        let lines = Lines::new(reader);
        Self { lines }
    }
}

impl<R: BufRead> Iterator for Documents<R> {
    /// Number of the document's last line, and its JSON or what is wrong with it.
    type Item = std::io::Result<(u64, Result<String, String>)>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut text, mut bad, mut number) = (String::new(), None, 0);
        loop {
            match self.lines.raw() {
                Some(Err(error)) => return Some(Err(error)),
                Some(Ok((_, Ok(line)))) if line.trim_end() == "---" => {}
                Some(Ok((at, Ok(line)))) => {
                    number = at;
                    text.push_str(&line);
                    continue;
                }
                Some(Ok((at, Err(why)))) => {
                    (number, bad) = (at, Some(why));
                    continue;
                }
                None if text.trim().is_empty() && bad.is_none() => return None,
                None => {}
            }
            let document = std::mem::take(&mut text);
            if document.trim().is_empty() && bad.is_none() {
                continue;
            }
            let read = || -> Result<String, String> { Ok(read_yaml(&document)?.to_string()) };
            return Some(Ok((number, bad.map_or_else(read, Err))));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read as _;

    use super::*;

    #[test]
    fn a_bad_line_spoils_only_itself() {
        let bytes = b"\xef\xbb\xbfone\n\xff\n\ntwo".as_slice();
        let lines: Vec<_> = Lines::new(bytes).map(Result::unwrap).collect();
        assert_eq!(lines[0], (1, Ok("one\n".to_owned())));
        assert_eq!(lines[1].0, 2);
        assert!(lines[1].1.as_ref().unwrap_err().contains("UTF-8"));
        assert_eq!(lines[2], (4, Ok("two".to_owned())));
    }

    #[test]
    fn a_line_without_an_end_is_one_bad_line() {
        let long = std::io::repeat(b'x').take(3 * LINE_BYTES_MAX);
        let lines = Lines::new(std::io::BufReader::new(long.chain(b"\ntwo".as_slice())));
        let lines: Vec<_> = lines.map(Result::unwrap).collect();
        assert_eq!(lines.len(), 2);
        assert!(lines[0].1.as_ref().unwrap_err().contains("67108864 bytes"));
        assert_eq!(lines[1], (2, Ok("two".to_owned())));
    }

    #[test]
    fn documents_of_yaml_are_lines_of_json() {
        let text = "---\ntext: |\n  a\n  ---\n\n  b\ntags: [x]\n---\n: {\n---\ntext: last\n";
        let read: Vec<_> = Documents::new(text.as_bytes())
            .map(Result::unwrap)
            .collect();
        assert_eq!(read.len(), 3, "{read:?}");
        let first: serde_json::Value = serde_json::from_str(read[0].1.as_ref().unwrap()).unwrap();
        assert_eq!(
            first,
            serde_json::json!({"text": "a\n---\n\nb\n", "tags": ["x"]})
        );
        assert!(read[1].1.is_err());
        assert_eq!(read[2], (11, Ok("{\"text\":\"last\"}".to_owned())));
    }
}
