//! Plain language as a test: names and comments that a stranger can read (docs/builders/STYLE.md).
//!
//! Each rule with a bad example that it has to notice.

use std::collections::BTreeMap;

use reprise_tests::{SourceFile, WorkspaceTree};

/// What a rule lets pass, each with its reason: `(part of the complaint, reason)`.
const EXCEPTIONS: [(&str, &str); 1] = [(
    "tests/lab/src/bench/write.rs",
    "rows of docs/benchmarks.md have these names",
)];
const EXCEPTIONS_MAX: usize = 20;

/// Participles and adverbs that name no action.
const NO_VERBS: &str = "told said found taken kept named known moved written held made gone sought asked left shown \
    given seen heard brought chosen drawn begun done meant built sent spoken thrown lent laid lost won grown met \
    paid counted marked listed wanted answered called tried turned used noted judged weighed opened closed ended \
    started passed stored saved loaded read_out placed admitted agreed settled served spent put_away stood stands \
    behind beside around within along over there here";

/// Words that name no role.
const NO_ROLES: &str = "Part Place Way Form Line Item Known Held Done Asked Told Found Said Standing Shared Taken Kept \
    Gone Made Named Near Hot Others Elsewhere Around Back Tie Door Visit Trouble Desk Making Written Seen Given Moved \
    Left";

/// Turns of speech that a reader has to translate; put together, so that the rule does not find
/// itself.
const TURNS: [&str; 8] = [
    concat!("where there is", " none"),
    concat!("where there are", " none"),
    concat!("what is", " not"),
    concat!("who", "ever"),
    concat!("sta", "nds"),
    concat!("bes", "ide"),
    concat!("is to be", " had"),
    concat!("to be", " had"),
];

#[test]
fn every_name_and_comment_is_plain() {
    let tree = WorkspaceTree::read().expect("the workspace is readable");
    let mut complaints: Vec<String> = tree.sources.iter().flat_map(complaints_about).collect();
    complaints.extend(repeated_types(&tree.sources));
    for (part, reason) in EXCEPTIONS {
        let count = complaints.len();
        complaints.retain(|complaint| !complaint.contains(part));
        assert!(
            complaints.len() < count,
            "no complaint holds {part}: {reason}"
        );
    }
    assert!(EXCEPTIONS.len() <= EXCEPTIONS_MAX, "too many exceptions");
    let complaints = complaints.join("\n");
    assert!(complaints.is_empty(), "not plain:\n{complaints}");
}

/// Returns what the rules about a single file say of `source`.
fn complaints_about(source: &SourceFile) -> Vec<String> {
    let path = &source.path;
    let mut complaints = Vec::new();
    let mut complain = |number: usize, what: String| {
        complaints.push(format!("{path}:{number}: {what}"));
    };
    let lines: Vec<&str> = source.text.lines().collect();
    for (number, line) in (1..).zip(&lines) {
        if let Some(name) = function_in(line)
            && NO_VERBS.split_whitespace().any(|word| word == name)
        {
            complain(number, format!("`fn {name}` does not say what it does"));
        }
        if let Some((name, _)) = type_in(line)
            && NO_ROLES.split_whitespace().any(|word| word == name)
        {
            complain(number, format!("the type `{name}` does not say its role"));
        }
        let comment = comment_in(line);
        if let Some(code) = requirement_in(comment) {
            complain(number, format!("the requirement code {code} in a comment"));
        }
        let words = format!("{comment} {}", strings_in(line)).to_lowercase();
        if let Some(turn) = TURNS.iter().find(|turn| holds_words(&words, turn)) {
            complain(number, format!("the turn \"{turn}\""));
        }
    }
    for (number, block) in doc_blocks(&lines) {
        if block[0].starts_with("The same") {
            complain(number, "a doc comment begins \"The same\"".to_owned());
        }
        if !is_sentence(&block) {
            complain(
                number,
                format!("a doc comment is no whole sentence: {}", block[0]),
            );
        }
    }
    complaints
}

/// Returns a complaint for each type that is visible outside its file and shares its name.
fn repeated_types(sources: &[SourceFile]) -> Vec<String> {
    let mut places: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for source in sources {
        for (number, line) in (1..).zip(source.text.lines()) {
            if let Some((name, true)) = type_in(line) {
                let place = format!("{}:{number}", source.path);
                places.entry(name).or_default().push(place);
            }
        }
    }
    let repeated = places.into_iter().filter(|(_, places)| places.len() > 1);
    repeated
        .map(|(name, places)| format!("{}: the type `{name}` has namesakes", places.join(", ")))
        .collect()
}

fn identifier(text: &str) -> &str {
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    &text[..end.unwrap_or(text.len())]
}

/// Returns `line` without its visibility, and whether it had one.
fn without_visibility(line: &str) -> (&str, bool) {
    let line = line.trim_start();
    let Some(rest) = line.strip_prefix("pub") else {
        return (line, false);
    };
    match rest.strip_prefix('(').and_then(|rest| rest.split_once(')')) {
        Some((_, rest)) => (rest.trim_start(), true),
        None => (rest.trim_start(), rest.starts_with(' ')),
    }
}

/// Returns the name of the function that `line` defines.
fn function_in(line: &str) -> Option<&str> {
    let (mut rest, _) = without_visibility(line);
    for qualifier in ["const ", "async ", "unsafe "] {
        rest = rest.strip_prefix(qualifier).unwrap_or(rest);
    }
    rest.strip_prefix("fn ").map(identifier)
}

/// Returns the name of the type that `line` defines, and whether it is visible outside its file.
fn type_in(line: &str) -> Option<(&str, bool)> {
    // A type inside an implementation has the name that its trait gives it.
    if line.starts_with(' ') && line.trim_start().starts_with("type ") {
        return None;
    }
    let (rest, is_visible) = without_visibility(line);
    let kinds = ["struct ", "enum ", "trait ", "type ", "union "];
    let rest = kinds.iter().find_map(|kind| rest.strip_prefix(kind))?;
    // A macro names the types that it makes.
    let name = identifier(rest);
    (!name.is_empty()).then_some((name, is_visible))
}

/// Returns the comment of `line`: all of a comment line, the end of a line of code without strings.
fn comment_in(line: &str) -> &str {
    let line = line.trim_start();
    match line.find("//") {
        Some(0) => line,
        Some(at) if !line.contains('"') => &line[at..],
        _ => "",
    }
}

/// Returns what is between quotation marks in `line`, a line of code.
fn strings_in(line: &str) -> String {
    if line.trim_start().starts_with("//") {
        return String::new();
    }
    let line = line.replace("\\\"", "");
    line.split('"')
        .skip(1)
        .step_by(2)
        .collect::<Vec<_>>()
        .join(" ")
}

/// Whether `text` holds `words` with no letter next to them.
fn holds_words(text: &str, words: &str) -> bool {
    let is_letter = |c: Option<char>| c.is_some_and(|c| c.is_alphanumeric() || c == '_');
    text.match_indices(words).any(|(at, _)| {
        !is_letter(text[..at].chars().next_back())
            && !is_letter(text[at + words.len()..].chars().next())
    })
}

/// Returns the first code of a requirement in `comment`, such as M followed by 51.
fn requirement_in(comment: &str) -> Option<&str> {
    let is_edge = |c: char| !(c.is_alphanumeric() || "_#./-".contains(c));
    let words = comment
        .split(is_edge)
        .map(|word| word.trim_end_matches(['.', '-']));
    words.into_iter().find(|word| {
        let digits = word.strip_prefix(['M', 'S', 'A', 'C', 'W', 'R']);
        digits.is_some_and(|digits| {
            (1..=2).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit())
        })
    })
}

/// Returns the doc comments in `lines`, each with the number of its first line.
fn doc_blocks<'a>(lines: &[&'a str]) -> Vec<(usize, Vec<&'a str>)> {
    let mut blocks: Vec<(usize, Vec<&str>)> = Vec::new();
    let mut is_within = false;
    for (number, line) in (1..).zip(lines) {
        let line = line.trim_start();
        let text = line
            .strip_prefix("///")
            .or_else(|| line.strip_prefix("//!"));
        let text = text.filter(|text| !text.starts_with('/'));
        match (text, is_within) {
            (Some(text), true) => blocks.last_mut().expect("begun").1.push(text.trim()),
            (Some(text), false) => blocks.push((number, vec![text.trim()])),
            (None, _) => {}
        }
        is_within = text.is_some();
    }
    blocks
}

/// Whether a doc comment begins as a sentence does and its first paragraph and its end close one.
fn is_sentence(block: &[&str]) -> bool {
    let first = block[0];
    let begins = first.starts_with(|c: char| {
        c.is_ascii_uppercase() || c.is_ascii_digit() || "`\"[(<*-".contains(c)
    });
    let closes = |line: &str| {
        let line = line.trim_end_matches(['"', '`', ')']);
        line.ends_with(['.', '!', '?', ':'])
    };
    let drawn = |line: &str| line.starts_with(['|', '-', '`']) || line.ends_with('|');
    if block.iter().any(|line| line.starts_with("```")) {
        return begins;
    }
    let paragraph = block.iter().take_while(|line| !line.is_empty()).last();
    let last = block.iter().rev().find(|line| !line.is_empty());
    let is_closed = |line: Option<&&str>| line.is_some_and(|line| closes(line) || drawn(line));
    begins && is_closed(paragraph) && is_closed(last)
}

#[test]
fn each_rule_of_plain_language_notices_its_bad_example() {
    let path = "crates/reprise-store/src/log.rs";
    let turn = TURNS[5];
    for (count, text) in [
        (1, "pub(crate) async fn told() {}".to_owned()),
        (0, "pub(crate) async fn tell_listeners() {}".to_owned()),
        (1, "struct Part;".to_owned()),
        (0, "    type Item = u8;".to_owned()),
        (0, "struct PartEntry;".to_owned()),
        (1, "/// The same for two.\nfn f() {}".to_owned()),
        (1, "/// Entries applied,\na: u8,".to_owned()),
        (1, "/// and how many of them.\nb: u8,".to_owned()),
        (0, "/// Entries applied.\na: u8,".to_owned()),
        (
            0,
            "/// Draws it:\n///\n/// ```text\n/// a | b\n/// ```\nfn f() {}".to_owned(),
        ),
        (1, "// Kept once (M51).".to_owned()),
        (1, "let a = 1; // C5".to_owned()),
        (
            0,
            "// Kept in RFC-M51 and on an M2-class machine.".to_owned(),
        ),
        (1, format!("// It is {turn} the file.")),
        (1, format!("let a = \"it is {turn} it\";")),
        (0, format!("let {turn}s = 1;")),
    ] {
        let complaints = complaints_about(&SourceFile::new(path, &text));
        assert_eq!(complaints.len(), count, "{text}: {complaints:?}");
    }
    let twice = [
        SourceFile::new(path, "pub struct Log;\nstruct Local;\npub enum Entry {}"),
        SourceFile::new(
            "tests/it/log.rs",
            "pub(crate) type Log = u8;\nstruct Local;",
        ),
    ];
    let found = repeated_types(&twice);
    assert_eq!(found.len(), 1, "{found:?}");
}
