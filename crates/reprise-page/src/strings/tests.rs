//! No English word stands outside the strings.

use std::fs;
use std::path::{Path, PathBuf};

/// What two words in a row may be outside this module: commands and names of colours, which no
/// language changes.
const NO_WORDS: [&str; 3] = ["reprise recall", "kind category", "light dark"];

/// What stands between quotation marks in a source, line by line, but for lists of classes.
fn quoted(source: &str) -> Vec<&str> {
    let lines = source.lines().map(str::trim_start);
    let code = lines.filter(|line| !line.starts_with("//") && !line.starts_with('*'));
    let parts = code.flat_map(|line| {
        let parts: Vec<&str> = line.split(['"', '`']).collect();
        let pairs = parts.chunks_exact(2).map(|pair| (pair[0], pair[1]));
        let said = pairs.filter(|(before, _)| !before.ends_with("class="));
        said.map(|(_, text)| text).collect::<Vec<_>>()
    });
    parts.collect()
}

/// Whether a reader would take it for words: two in a row, with nothing of a path, a header or a
/// selector.
fn is_said(text: &str) -> bool {
    if text.contains(['=', ';', '[', '/', '#']) || NO_WORDS.iter().any(|one| text.contains(one)) {
        return false;
    }
    let is_word = |word: &str| word.len() > 1 && word.chars().all(|c| c.is_ascii_alphabetic());
    let words: Vec<&str> = text.split_whitespace().collect();
    words
        .windows(2)
        .any(|two| two.iter().all(|word| is_word(word)))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_strings = path.file_stem().is_some_and(|name| name == "strings");
        if path.is_dir() && !is_strings {
            sources(&path, found);
        } else if path.is_file() && !is_strings {
            found.push(path);
        }
    }
}

#[test]
fn no_words_stand_elsewhere() {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = vec![here.join("assets/page.js")];
    sources(&here.join("src"), &mut files);
    assert!(files.len() > 30);
    let mut strays = Vec::new();
    for file in files {
        let source = fs::read_to_string(&file).unwrap();
        let code = source.split("#[cfg(test)]").next().unwrap_or_default();
        let said = quoted(code).into_iter().filter(|text| is_said(text));
        strays.extend(said.map(|text| format!("{}: {text}", file.display())));
    }
    assert_eq!(strays, Vec::<String>::new());
}

#[test]
fn words_are_told_from_what_is_none() {
    assert!(is_said("Nothing was found."));
    assert!(quoted("p { \"Not so fast\" }").into_iter().any(is_said));
    assert_eq!(quoted("p class=\"scroll trail\" { \"Go on\" }"), ["Go on"]);
    for none in [
        "kind category-{known}",
        "text/css; charset=utf-8",
        "input, textarea",
        "{name}",
    ] {
        assert!(!is_said(none), "{none}");
    }
}
