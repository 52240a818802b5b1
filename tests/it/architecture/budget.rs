//! How much each crate may hold: types and functions that other files see, and tokens of code.
//! A change that raises a number says why behind it.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use reprise_tests::SourceFile;

/// A crate's folder, and the most types, functions and thousands of tokens it may have. A type or
/// a function counts if another file may use it; tests and comments do not count.
const BUDGETS: &[(&str, [usize; 3])] = &[
    // Kept tails, facts that wrap on narrow terminals, names that were nearly meant; a folder for
    // a pause, the question of setup, and the settings that were missing from the list.
    // One sentence for whatever the parser refuses; several ids to forget, and the transcripts that
    // still have them; near memories as perhaps.
    // A line of progress in place of a crate for it.
    // An event whose project a hook has no time to find, the directory of models in what is
    // written, and the first question about the project of the folder.
    // The catalogue of its operations is put together here, and the host is behind one file.
    // The catalogue is put together here, with the operations on governed workspaces.
    ("crates/reprise", [141, 435, 165]),
    // A prompt that gets no line is not judged a second time.
    // An answer that came after its ranking is added to what an outcome may name.
    ("crates/reprise-agent", [95, 186, 47]),
    // Cards of models are read in a file of their own, so that none is in a circle.
    ("crates/reprise-embed", [66, 144, 44]),
    // A project is known by its short name too, a known record gains tags, and a prompt has its
    // answers by what it was for.
    // What is saved as a whole is encoded on another thread; a checkpoint has one owner.
    // The open contradictions come from one function, for tending and for hooks.
    // A prompt and the answer that ended its turn are read as one thing to find.
    // What is left of forgotten records is copied by a branch as by an import, and a correction of
    // a retired record outlasts its retirement. What newer records contradict is one list.
    ("crates/reprise-engine", [64, 370, 83]),
    // A renaming that never replaces.
    ("crates/reprise-files", [11, 63, 11]),
    // A handle to a store that is there later, in place of a store that hands on each method.
    ("crates/reprise-global", [82, 161, 41]),
    ("crates/reprise-global-cli", [19, 22, 13]),
    ("crates/reprise-hnsw", [9, 29, 7]),
    // Standing rules in the languages that people type; exact terms without their documents.
    // A compaction moves what is still in the file to the new one.
    // What is saved is one list of parts.
    ("crates/reprise-index", [54, 341, 61]),
    // Claims in several wordings, renamed notes, odd rows of sessions, and a turn of a session by
    // one function for hooks and imports.
    // Rules of prompts, questions and orders in four languages, ends of commands by one function,
    // and rules that a later one revokes.
    // Rules, withdrawals and corrections in the forms in which people tell them, in two languages;
    // how both of the latter are read is three functions that they share.
    // Rules, their ends and corrections are read by their grammar, in files of their own.
    ("crates/reprise-knowledge", [110, 450, 178]),
    // A rating is no run.
    // A forgotten result takes its place in a chain before it goes.
    ("crates/reprise-learn", [26, 122, 24]),
    // The preview of a hook in Ask, the journal of changes from anywhere, what is left to do, the
    // reason of each memory that a prompt was given, and beginnings of ids.
    // The project of a lesson, the lesson in place of its prompt, one list of contradictions, and
    // "both stay" that is taken back.
    // A person decides about any two memories.
    // Failures that a later run ended, answers below their lesson, one table of sureness.
    // The operations on governed workspaces are in a crate of their own (ADR 0063); what other
    // crates declare operations with can be seen by them.
    // What is asked, who reads the answer and what they get are types: the steps that change an
    // answer are functions over them, for all that ask. Rules that are listed, ended and left out.
    // What a step adds to an answer is judged like what was found.
    ("crates/reprise-operations", [234, 443, 158]),
    // Contradictions of several memories as one question, a look before a restore, the bar of
    // phones, changes from anywhere; tokens by day, ratings, reasons, a question before erasing;
    // settings that are changed in place, lists to choose filters from, lines of changes, axes.
    // Prompts of a day and of a project, two chosen memories next to each other, every pause.
    // Uses of each prompt in words, groups of alike memories, ratings apart from runs.
    ("crates/reprise-page", [66, 328, 118]),
    // As in reprise-global; drafts and rows of things have files below those that use them.
    ("crates/reprise-postgres", [25, 154, 50]),
    // Ask shows the judgement that a prompt is given; what a prompt is for, and what came of it.
    // An answer below the lesson that has its sentence.
    // A result that contradicts another comes first, also where it came in later; a prompt and its
    // answer are one thing.
    ("crates/reprise-rank", [34, 129, 36]),
    ("crates/reprise-redact", [19, 50, 24]),
    ("crates/reprise-rvf", [1, 2, 4]),
    ("crates/reprise-sandbox-workspace", [1, 2, 1]),
    ("crates/reprise-seal", [0, 0, 2]),
    // An entry of the list of copies is one type, here, for the terminal too.
    // Settings that the page saves, the folders of an MCP client, and the name of its program.
    // Buckets of requests in place of a crate for them; a request that is served ends by itself.
    ("crates/reprise-server", [109, 317, 107]),
    // Places of pages in place of parts; a torn tail is kept aside, and inspect says what it is
    // the beginning of.
    // Nothing forgotten comes back over damage, a forged file is bounded, own pages go in steps.
    // What a forgotten correction replaced stays replaced.
    // An entry, what the directory needs of it and its place are one form.
    // A file that is read on past sectors that cannot be read.
    ("crates/reprise-store", [51, 178, 49]),
    // Sections are what log, index and engine exchange; whole and short names of projects;
    // the outcome of a run is told from what a session taught.
    // Elements that are still in the file are read from another vector.
    // The width of a row follows from its fields; a part that is saved has one form for log, index
    // and engine, and what is read later from a section has one.
    ("crates/reprise-types", [105, 228, 53]),
    // Imports of files of their own, so that none is in a circle.
    ("crates/reprise-workspace", [65, 266, 76]),
    ("crates/reprise-workspace-cli", [7, 5, 8]),
    ("crates/reprise-workspace-operations", [20, 8, 6]),
    ("crates/reprise-workspace-types", [29, 27, 5]),
    ("sandbox", [101, 123, 40]),
];

/// What a crate holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct CrateSize {
    types: usize,
    functions: usize,
    tokens: usize,
}

/// Returns a complaint for each crate that holds more than its budget, or far less.
pub(super) fn over_budget(sources: &[SourceFile]) -> Vec<String> {
    complaints(sources, BUDGETS)
}

fn complaints(sources: &[SourceFile], budgets: &[(&str, [usize; 3])]) -> Vec<String> {
    let mut sizes: BTreeMap<&str, CrateSize> = BTreeMap::new();
    for source in sources.iter().filter(|source| !source.is_test()) {
        let (folder, file) = source.path.split_once("/src/").unwrap_or_default();
        if !file.is_empty() {
            let tokens: TokenStream = source.text.parse().unwrap_or_default();
            sizes.entry(folder).or_default().add(tokens);
        }
    }
    let mut complaints = Vec::new();
    for (folder, size) in sizes {
        let row = [size.types, size.functions, size.tokens.div_ceil(1_000)];
        let Some((_, budget)) = budgets.iter().find(|(known, _)| *known == folder) else {
            complaints.push(format!("(\"{folder}\", {row:?}), is not in the budget"));
            continue;
        };
        let is_over = row.iter().zip(budget).any(|(held, most)| held > most);
        let is_loose = row
            .iter()
            .zip(budget)
            .any(|(held, most)| held * 20 + 20 < most * 19);
        if is_over || is_loose {
            complaints.push(format!(
                "(\"{folder}\", {row:?}), has the budget {budget:?}"
            ));
        }
    }
    complaints
}

impl CrateSize {
    /// Counts `tokens` and all groups in them, without what only tests compile.
    fn add(&mut self, tokens: TokenStream) {
        let mut tokens = tokens.into_iter().peekable();
        let mut is_visible = false;
        while let Some(token) = tokens.next() {
            self.tokens += 1;
            match token {
                TokenTree::Punct(mark) if mark.as_char() == '#' => {
                    let Some(TokenTree::Group(attribute)) = tokens.peek() else {
                        continue;
                    };
                    let text = attribute.stream().to_string().replace(' ', "");
                    let is_comment = text.starts_with("doc=");
                    if is_comment || text == "cfg(test)" {
                        self.tokens -= 1;
                        tokens.next();
                    }
                    if text == "cfg(test)" {
                        skip_item(&mut tokens);
                    }
                }
                TokenTree::Ident(word) => match word.to_string().as_str() {
                    "pub" => is_visible = true,
                    "const" | "async" | "unsafe" => {}
                    "fn" => self.functions += usize::from(std::mem::take(&mut is_visible)),
                    "struct" | "enum" | "trait" | "union" | "type" => {
                        self.types += usize::from(std::mem::take(&mut is_visible));
                    }
                    _ => is_visible = false,
                },
                TokenTree::Group(group) => {
                    // The brackets behind `pub` say who sees it; any other group ends an item.
                    is_visible &= group.delimiter() == Delimiter::Parenthesis;
                    let is_kept = is_visible;
                    self.tokens += 1;
                    self.add(group.stream());
                    is_visible = is_kept;
                }
                TokenTree::Punct(_) => is_visible = false,
                TokenTree::Literal(_) => {}
            }
        }
    }
}

/// Passes over an item: to its semicolon or the end of its braces.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) {
    for token in tokens {
        let ends = match token {
            TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
            TokenTree::Punct(mark) => mark.as_char() == ';',
            _ => false,
        };
        if ends {
            return;
        }
    }
}

#[test]
fn what_others_see_is_counted_and_tests_are_not() {
    let text = "//! Head.\nuse a::B;\npub struct A { pub b: B }\nstruct P;\nfn g() {}\npub const C: u8 = 1;\n\
        /** Comment. */ pub(crate) const fn f(x: u8) -> u8 { x }\nimpl A { pub async fn m(&self) {} }";
    let tests = "#[cfg(test)]\nuse t::T;\n#[cfg(test)]\nmod tests { pub fn h() {} }";
    let measure = |text: &str| {
        let mut size = CrateSize::default();
        size.add(text.parse().expect("well-formed"));
        size
    };
    let size = measure(text);
    assert_eq!((size.types, size.functions), (1, 2));
    assert_eq!(measure(&[text, tests].join("\n")), size);
    assert!(measure("fn f() { g(1) }").tokens > measure("fn f() { g() }").tokens);

    let sources = [SourceFile::new("crates/a/src/lib.rs", text)];
    let found = |budgets| complaints(&sources, budgets).len();
    assert_eq!(found(&[("crates/a", [1, 2, 1])]), 0);
    assert_eq!(found(&[("crates/a", [1, 1, 1])]), 1, "a function too many");
    assert_eq!(
        found(&[("crates/a", [9, 2, 1])]),
        1,
        "a budget that does not bite"
    );
    assert_eq!(found(&[]), 1, "a crate without a budget");
}
