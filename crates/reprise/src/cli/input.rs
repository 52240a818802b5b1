//! Input of commands: a file or standard input, lines of JSONL, and documents of YAML.

use std::io::{BufRead, Read};

use reprise_files::{LineReader, OpenMode, TextReader};
use reprise_knowledge::parse_yaml;

use crate::cli::prelude::*;

/// Opens a file, or standard input for `-`.
pub fn open(file: &Path) -> anyhow::Result<Box<dyn Read>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    let opened = fs_err::File::open(file);
    let missing = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    if opened.as_ref().is_err_and(missing) {
        bail!("`{}` does not exist", file.display());
    }
    Ok(Box::new(opened?))
}

/// Opens a copy: a regular file, or standard input for `-`.
pub(super) fn open_regular_file(file: &Path) -> anyhow::Result<Box<dyn Read + Send>> {
    if file == Path::new("-") {
        return Ok(Box::new(io::stdin()));
    }
    Ok(Box::new(reprise_files::open_path(file, OpenMode::Read)?))
}

/// Most bytes of a text that are read; a record stores fewer and reports it.
const TEXT_BYTES_READ_MAX: u64 = 16 * 1024 * 1024;

/// Reads a text from a file, or from standard input for `-`; an empty one is refused.
pub(super) fn read_text(file: &Path) -> anyhow::Result<String> {
    let mut text = String::new();
    TextReader::new(BufReader::new(open(file)?))
        .take(TEXT_BYTES_READ_MAX)
        .read_to_string(&mut text)
        .with_context(|| format!("`{}` cannot be read as text", file.display()))?;
    let text = text.trim();
    if text.is_empty() && file == Path::new("-") {
        bail!("standard input is empty; write the text there");
    }
    ensure!(!text.is_empty(), "`{}` is empty", file.display());
    Ok(text.to_owned())
}

/// Returns a text as it was typed; for a single `-`, the text on standard input.
pub(super) fn read_typed_text(typed: &[String]) -> anyhow::Result<String> {
    match typed {
        [dash] if dash == "-" => read_text(Path::new("-")),
        words => Ok(words.join(" ").trim().to_owned()),
    }
}

/// Longest line: a text at its limit, escaped, with its metadata, and a reserve.
const LINE_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// Returns the numbered lines of a JSONL file.
pub fn jsonl<R: BufRead>(reader: R) -> LineReader<R> {
    LineReader::new(reader, LINE_BYTES_MAX)
}

/// Returns the documents of a YAML file, each with the number of its last line, and as a line of
/// JSON or an error.
pub(super) fn read_yaml_documents<R: BufRead>(
    reader: R,
) -> impl Iterator<Item = io::Result<(u64, Result<String, String>)>> {
    let mut lines = jsonl(reader);
    std::iter::from_fn(move || {
        let (mut text, mut bad, mut number) = (String::new(), None, 0);
        loop {
            match lines.next_raw_line() {
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
            let read = || -> Result<String, String> { Ok(parse_yaml(&document)?.to_string()) };
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
        let read: Vec<_> = read_yaml_documents(text.as_bytes())
            .map(Result::unwrap)
            .collect();
        assert_eq!(read.len(), 3, "{read:?}");
        let first: Value = serde_json::from_str(read[0].1.as_ref().unwrap()).unwrap();
        assert_eq!(first, json!({"text": "a\n---\n\nb\n", "tags": ["x"]}));
        assert!(read[1].1.is_err());
        assert_eq!(read[2], (11, Ok("{\"text\":\"last\"}".to_owned())));
    }
}
