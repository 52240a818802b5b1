//! Where a command reads from: a file, or standard input; and what is read in pieces: lines of
//! JSONL, documents of YAML.

use std::io::{BufRead, Read};

use reprise_files::{Access, Lines};
use reprise_knowledge::read_yaml;

use crate::cli::prelude::*;

/// A file, or standard input for `-`.
pub(super) fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(fs_err::File::open(file)?))
}

/// The same of a copy that stands somewhere: a regular file.
pub(super) fn open_copy(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return open(file);
    }
    Ok(Box::new(reprise_files::open_path(file, Access::Read)?))
}

/// Longest line that is read whole: a text at its limit, escaped, with its metadata, and room.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Numbered lines of a JSONL file.
pub(super) fn jsonl<R: BufRead>(reader: R) -> Lines<R> {
    Lines::new(reader, LINE_BYTES_MAX)
}

/// Numbered documents of a YAML file, each as a line of JSON: the number of its last line, and its
/// JSON or what is wrong with it.
pub(super) fn documents<R: BufRead>(
    reader: R,
) -> impl Iterator<Item = io::Result<(u64, Result<String, String>)>> {
    let mut lines = jsonl(reader);
    std::iter::from_fn(move || {
        let (mut text, mut bad, mut number) = (String::new(), None, 0);
        loop {
            match lines.raw() {
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
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_of_yaml_are_lines_of_json() {
        let text = "---\ntext: |\n  a\n  ---\n\n  b\ntags: [x]\n---\n: {\n---\ntext: last\n";
        let read: Vec<_> = documents(text.as_bytes()).map(Result::unwrap).collect();
        assert_eq!(read.len(), 3, "{read:?}");
        let first: Value = serde_json::from_str(read[0].1.as_ref().unwrap()).unwrap();
        assert_eq!(first, json!({"text": "a\n---\n\nb\n", "tags": ["x"]}));
        assert!(read[1].1.is_err());
        assert_eq!(read[2], (11, Ok("{\"text\":\"last\"}".to_owned())));
    }
}
