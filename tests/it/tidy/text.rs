//! Rules that read one source at a time.
//!
//! Functions from a source to complaints, and the list that the run goes through.

use reprise_tests::{Masked, Source};

/// A rule over one source.
pub(super) type Rule = fn(&Source) -> Vec<String>;

pub(super) const RULES: &[Rule] = &[
    too_long,
    headless,
    mod_file,
    crowded_lib,
    forbidden_words,
    idle_matches,
    outside_names,
    wide_lines,
    non_ascii,
];

const LINES_MAX: usize = 600;
const COLUMNS_MAX: usize = 100;

pub(super) fn too_long(source: &Source) -> Vec<String> {
    let lines = source.text.lines().count();
    let over = lines > LINES_MAX;
    over.then(|| format!("{}: {lines} lines, at most {LINES_MAX}", source.path))
        .into_iter()
        .collect()
}

pub(super) fn headless(source: &Source) -> Vec<String> {
    let opened = source.text.starts_with("//!");
    let says = "does not open with a //! head comment";
    (!opened)
        .then(|| format!("{}: {says}", source.path))
        .into_iter()
        .collect()
}

pub(super) fn mod_file(source: &Source) -> Vec<String> {
    let found = source.path.ends_with("/mod.rs");
    let says = "name it after its folder, beside the folder";
    found
        .then(|| format!("{}: {says}", source.path))
        .into_iter()
        .collect()
}

/// `lib.rs` is a page of contents: head comment, attributes, `mod` lines and `pub use`.
pub(super) fn crowded_lib(source: &Source) -> Vec<String> {
    if !source.path.ends_with("/lib.rs") {
        return Vec::new();
    }
    let crowded = |item: &String| {
        let listed = ["mod ", "pub mod ", "pub(crate) mod ", "pub use "]
            .iter()
            .any(|start| item.starts_with(start));
        let inline_module = item.contains("mod ") && item.contains('{');
        !item.is_empty() && (!listed || inline_module)
    };
    without_attributes(&source.masked.code)
        .split(';')
        .map(|item| item.split_whitespace().collect::<Vec<_>>().join(" "))
        .find(crowded)
        .map(|item| item.chars().take(40).collect::<String>())
        .map(|shown| format!("{}: holds more than its contents: {shown}", source.path))
        .into_iter()
        .collect()
}

fn without_attributes(code: &str) -> String {
    let mut kept = String::new();
    let mut depth = 0_u32;
    let mut before = ' ';
    for c in code.chars() {
        match c {
            '[' if depth > 0 || before == '#' || before == '!' => depth += 1,
            ']' if depth > 0 => depth -= 1,
            '#' | '!' if depth == 0 => {}
            _ if depth == 0 => kept.push(c),
            _ => {}
        }
        before = c;
    }
    kept
}

/// What a finished tree does not hold: switched-off tests, stubs, leftovers, reminders.
pub(super) fn forbidden_words(source: &Source) -> Vec<String> {
    // Put together from parts, so that a plain search for leftovers finds none here.
    const IN_CODE: [&str; 5] = [
        concat!("#[ig", "nore"),
        "should_panic",
        "todo!",
        "dbg!",
        "unimplemented!",
    ];
    const IN_COMMENTS: [&str; 4] = ["TODO", concat!("FIX", "ME"), concat!("XX", "X"), "HACK"];
    let mut complaints = Vec::new();
    let lines = source
        .masked
        .code
        .lines()
        .zip(source.masked.comments.lines());
    for (number, (code, comment)) in lines.enumerate() {
        for word in IN_CODE {
            if code.contains(word) {
                complaints.push(format!("{}:{}: {word}", source.path, number + 1));
            }
        }
        let words: Vec<&str> = comment.split(|c: char| !c.is_alphanumeric()).collect();
        for word in IN_COMMENTS {
            if words.contains(&word) {
                complaints.push(format!("{}:{}: {word}", source.path, number + 1));
            }
        }
    }
    complaints
}

/// `matches!(..);` as a statement looks like an assertion and is none; no lint sees it.
pub(super) fn idle_matches(source: &Source) -> Vec<String> {
    let code: Vec<char> = source.masked.code.chars().collect();
    let mut complaints = Vec::new();
    let needle: Vec<char> = "matches!(".chars().collect();
    for start in 0..code.len() {
        if code.get(start..start + needle.len()) != Some(needle.as_slice()) {
            continue;
        }
        let before = code.iter().take(start).rev().find(|c| !c.is_whitespace());
        let opens_statement = matches!(before, None | Some(';' | '{' | '}'));
        if opens_statement && ends_statement(&code, start + needle.len()) {
            let line = code.iter().take(start).filter(|c| **c == '\n').count() + 1;
            complaints.push(format!(
                "{}:{line}: matches! asserts nothing here",
                source.path
            ));
        }
    }
    complaints
}

/// From just inside an open bracket: is what follows its end a semicolon?
fn ends_statement(code: &[char], inside: usize) -> bool {
    let mut depth = 1_u32;
    for (offset, c) in code.iter().skip(inside).enumerate() {
        match c {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            let after = code
                .iter()
                .skip(inside + offset + 1)
                .find(|c| !c.is_whitespace());
            return after == Some(&';');
        }
    }
    false
}

pub(super) fn outside_names(source: &Source) -> Vec<String> {
    names_outside(&source.path, &source.text)
}

/// Folders of the machine this was built on: a clone elsewhere has none of them.
pub(super) fn names_outside(path: &str, text: &str) -> Vec<String> {
    // Put together here so that the rule does not find itself.
    let outside = ["/work", "../"].map(|start| format!("{start}{}shared", slash_unless(start)));
    let mut complaints = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if outside.iter().any(|name| line.contains(name)) {
            complaints.push(format!(
                "{path}:{}: points outside the checkout",
                number + 1
            ));
        }
    }
    complaints
}

fn slash_unless(start: &str) -> &'static str {
    if start.ends_with('/') { "" } else { "/" }
}

/// rustfmt leaves long strings and comments as they are. Links may run on, and so may a line that
/// is little more than a literal: a message broken in two is found by nobody who searches for it.
/// In tests, where data stands in rows, the contents of literals do not count at all.
pub(super) fn wide_lines(source: &Source) -> Vec<String> {
    let tests_from = tests_from(source);
    let mut complaints = Vec::new();
    let lines = source
        .text
        .lines()
        .zip(source.masked.without_literals.lines());
    for (number, (line, shown)) in lines.enumerate() {
        let columns = line.chars().count();
        let literal_free = shown.split_whitespace().map(str::len).sum::<usize>();
        let free_max = if number >= tests_from {
            COLUMNS_MAX
        } else {
            40
        };
        let excused = line.contains("://") || (shown != line && literal_free < free_max);
        if columns > COLUMNS_MAX && !excused {
            let place = format!("{}:{}", source.path, number + 1);
            complaints.push(format!("{place}: {columns} columns, at most {COLUMNS_MAX}"));
        }
    }
    complaints
}

/// ASCII everywhere; a test's literals may hold what users write.
pub(super) fn non_ascii(source: &Source) -> Vec<String> {
    let tests_from = tests_from(source);
    let mut complaints = Vec::new();
    let lines = source
        .text
        .lines()
        .zip(source.masked.without_literals.lines());
    for (number, (line, shown)) in lines.enumerate() {
        let seen = if number >= tests_from { shown } else { line };
        if !seen.is_ascii() {
            complaints.push(format!("{}:{}: not ASCII", source.path, number + 1));
        }
    }
    complaints
}

/// The line from which on a source is test code: its first, if the whole file is.
fn tests_from(source: &Source) -> usize {
    let whole = ["/tests/", "/tests.rs", "/benches/", "/testing"]
        .iter()
        .any(|part| source.path.contains(part))
        || source.path.starts_with("tests/")
        || source.path.ends_with("_tests.rs");
    if whole {
        return 0;
    }
    let lines: Vec<&str> = source.masked.code.lines().collect();
    lines
        .windows(2)
        .position(|pair| {
            let module = pair.get(1).is_some_and(|line| line.starts_with("mod "));
            pair.first()
                .is_some_and(|line| line.starts_with("#[cfg(test)]"))
                && module
        })
        .unwrap_or(usize::MAX)
}

/// For canaries: a rule over `text` as if it stood at `path`.
pub(super) fn complaints_of(rule: Rule, path: &str, text: &str) -> usize {
    rule(&Source {
        path: path.to_owned(),
        text: text.to_owned(),
        masked: Masked::of(text),
    })
    .len()
}
