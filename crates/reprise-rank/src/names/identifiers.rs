//! Finds the identifiers in a text, which people look up letter by letter and not by meaning:
//! hashes, issues, flags, paths, codes, versions, symbols and pairs. Each has one spelling here.

/// The form of an identifier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum IdentifierShape {
    /// `a44e677`: 7 to 64 hexadecimal digits; a UUID, or its beginning.
    Hash,
    /// `#1268`, `GH-12`, `issue 7`.
    Issue,
    /// `--hyperlink-format`, `-Wall`.
    Flag,
    /// `src/cli/recall.rs`, any run of its parts, and the name of its file.
    Path,
    /// `E0382`, `ENOSPC`, `HTTP 404`, `OPS-123`.
    Code,
    /// `v1.26.0`.
    Version,
    /// `session_manager`, `std::fs`, `ada@example.org`.
    Symbol,
    /// `key=value`.
    Pair,
    /// A form that ordinary words have too: `1.5`, `and/or`, `-x`. Looked up only if nothing else
    /// is asked.
    Loose,
}

/// Longest name or value that is looked up, in bytes; a longer one is a text.
const NAME_BYTES_MAX: usize = 128;
/// Longest identifier, in bytes.
const BYTES_MAX: usize = 256;
/// Most parts of a path that are used, from its end.
const PARTS_MAX: usize = 8;
/// Most terms that a hash prefix is compared with.
pub const HASH_TERMS_MAX: usize = 64;
/// Shortest prefix of a hash that is looked up, if only one hash begins so.
pub const HASH_PREFIX_MIN: usize = 4;
const HASH_DIGITS: std::ops::RangeInclusive<usize> = 7..=64;

/// The error names of POSIX, and of Windows' sockets after `WSA`.
const ERRNO: &str = "e2big eacces eaddrinuse eaddrnotavail eafnosupport eagain ealready ebadf \
    ebadmsg ebusy ecanceled echild econnaborted econnrefused econnreset \
    edeadlk edestaddrreq edom edquot eexist efault efbig ehostdown \
    ehostunreach eilseq einprogress eintr einval eio eisconn eisdir eloop \
    emfile emlink emsgsize enametoolong enetdown enetreset enetunreach enfile \
    enobufs enodev enoent enoexec enolck enomem enoprotoopt enospc enosys \
    enotconn enotdir enotempty enotsup enxio eoverflow eperm epipe erange \
    erofs espipe esrch etimedout exdev";

/// Calls `visit(shape, term)` for every identifier of `text`, in order. One word may have several
/// terms: the longer one first.
pub fn visit_identifiers(text: &str, visit: &mut dyn FnMut(IdentifierShape, String)) {
    let mut before = "";
    for word in bare_words(text) {
        visit_word(word, before, visit);
        before = word;
    }
}

/// Iterates over the identifiers of a text as they are written there, each with its form.
pub fn identifiers(text: &str) -> impl Iterator<Item = (IdentifierShape, &str)> {
    let mut before = "";
    bare_words(text).filter_map(move |word| {
        let mut first = None;
        visit_word(word, before, &mut |shape, _| {
            first.get_or_insert(shape);
        });
        before = word;
        first.map(|shape| (shape, word))
    })
}

/// Returns the one spelling of a name: small letters, one space between words. `None` if it is
/// empty or as long as a text.
pub fn normalize_name(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > NAME_BYTES_MAX {
        return None;
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    Some(words.join(" "))
}

/// Iterates over the words of a text without the punctuation around them.
pub fn bare_words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || is_mark(c));
    words.map(trim_punctuation).filter(|word| !word.is_empty())
}

fn is_mark(c: char) -> bool {
    const MARKS: [char; 21] = [
        '`', '"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '*', '\u{201c}',
        '\u{201d}', '\u{2018}', '\u{2019}', '\u{ab}', '\u{bb}',
    ];
    !c.is_ascii_alphanumeric() && MARKS.contains(&c)
}

/// Removes the punctuation around a word.
fn trim_punctuation(word: &str) -> &str {
    let word = word.trim_start_matches([':', '!', '?', '=', '&', '%']);
    word.trim_end_matches(|c: char| {
        matches!(
            c,
            '.' | ':' | '!' | '?' | '=' | '&' | '%' | '-' | '/' | '\\' | '~' | '+'
        )
    })
}

/// Visits the identifiers in one word; `before` is the word before it.
pub fn visit_word(word: &str, before: &str, visit: &mut dyn FnMut(IdentifierShape, String)) {
    if word.len() > BYTES_MAX {
        return;
    }
    if let Some((name, number)) = word.rsplit_once('#')
        && is_number(number)
    {
        visit(IdentifierShape::Issue, ["#", number].concat());
        if !name.is_empty() {
            visit_path(name, visit);
        }
        return;
    }
    if let Some(number) = word.get(3..)
        && word[..3].eq_ignore_ascii_case("gh-")
        && is_number(number)
    {
        return visit(IdentifierShape::Issue, ["#", number].concat());
    }
    if is_number(word) {
        if let Some((shape, head)) = number_shape_by_word_before(before) {
            visit(shape, [head, word].concat());
        }
        if HASH_DIGITS.contains(&word.len()) {
            visit(IdentifierShape::Hash, word.to_owned());
        }
        return;
    }
    if is_uuid(word) {
        return visit(IdentifierShape::Hash, word.to_lowercase());
    }
    if word.starts_with('-') {
        // `-q/--quiet`: several names of one thing; `--output=path/to/file`.
        let (flags, value) = word.split_once('=').unwrap_or((word, ""));
        flags.split('/').for_each(|one| visit_flag(one, visit));
        return visit_word(trim_punctuation(value), "", visit);
    }
    if let Some((_, hash)) = word.rsplit_once('@')
        && is_hash(hash)
    {
        // `owner/repo@a44e677`
        visit(IdentifierShape::Hash, hash.to_lowercase());
    }
    if let Some((key, value)) = word.split_once('=')
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
        && !key.is_empty()
    {
        if let Some(value) = normalize_name(value) {
            visit(
                IdentifierShape::Pair,
                [&key.to_lowercase(), "=", &value].concat(),
            );
        }
        visit_word(key, "", visit);
        return visit_word(trim_punctuation(value), "", visit);
    }
    if is_hash(word) {
        return visit(IdentifierShape::Hash, word.to_lowercase());
    }
    if let Some(shape) = version_shape(word) {
        let number = word.trim_start_matches(['v', 'V']);
        return visit(shape, number.to_lowercase());
    }
    if is_code(word) {
        return visit(IdentifierShape::Code, word.to_lowercase());
    }
    // `exact:v1.0.0`, `sha256:a44e677`
    if let Some((name, value)) = word.rsplit_once(':')
        && !name.is_empty()
        && !name.ends_with(':')
        && (is_hash(value)
            || is_code(value)
            || version_shape(value) == Some(IdentifierShape::Version))
    {
        visit_word(value, "", visit);
    }
    visit_path(word, visit);
}

/// Returns what a number after this word is, with the beginning of its term.
fn number_shape_by_word_before(before: &str) -> Option<(IdentifierShape, &'static str)> {
    let before = before.to_lowercase();
    match before.as_str() {
        "issue" | "issues" | "pr" | "prs" | "bug" | "ticket" | "mr" | "pull" | "request" => {
            Some((IdentifierShape::Issue, "#"))
        }
        "status" | "code" | "error" | "errno" | "exit" | "signal" => {
            Some((IdentifierShape::Code, "code "))
        }
        http if http == "http" || http.starts_with("http/") => {
            Some((IdentifierShape::Code, "code "))
        }
        _ => None,
    }
}

fn visit_flag(word: &str, visit: &mut dyn FnMut(IdentifierShape, String)) {
    let name = word.trim_start_matches('-');
    let is_name = name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'))
        && (1..=2).contains(&(word.len() - name.len()));
    let has_letter = name.contains(|c: char| c.is_ascii_alphabetic());
    if !is_name || !has_letter {
        return;
    }
    let shape = if name.len() > 1 {
        IdentifierShape::Flag
    } else {
        IdentifierShape::Loose
    };
    visit(shape, word.to_lowercase());
}

/// Visits a path with every run of its parts, a dotted name, or a symbol.
fn visit_path(text: &str, visit: &mut dyn FnMut(IdentifierShape, String)) {
    let lower = text.to_lowercase().replace('\\', "/");
    let lower = lower
        .split_once("://")
        .map_or(lower.as_str(), |(_, rest)| rest);
    let lower = strip_line_number(lower);
    let usable =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+' | '~' | ':');
    let parts: Vec<&str> = lower
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".." | "~"))
        .collect();
    let are_usable = |parts: &[&str]| parts.iter().all(|part| part.chars().all(usable));
    match parts.as_slice() {
        [one] => visit_symbol(one, visit),
        [.., file] if are_usable(&parts) => {
            let shape = if parts.len() > 2 || parts.iter().any(|part| has_inner_punctuation(part)) {
                IdentifierShape::Path
            } else {
                IdentifierShape::Loose
            };
            let nearest_parts = &parts[parts.len().saturating_sub(PARTS_MAX)..];
            for from in 0..nearest_parts.len() {
                for to in (from + 2..=nearest_parts.len()).rev() {
                    let run = nearest_parts[from..to].join("/");
                    let stem = (to == nearest_parts.len())
                        .then(|| file_stem(&run))
                        .flatten();
                    let stem = stem.map(str::to_owned);
                    visit(shape, run);
                    if let Some(stem) = stem {
                        visit(shape, stem);
                    }
                }
            }
            visit_symbol(file, visit);
        }
        _ => {}
    }
}

/// Visits a name of one part: `recall.rs`, `session_manager`, `std::fs::read`.
fn visit_symbol(name: &str, visit: &mut dyn FnMut(IdentifierShape, String)) {
    if name.contains("::") {
        let parts: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
        for from in 0..parts.len().saturating_sub(1) {
            visit(IdentifierShape::Symbol, parts[from..].join("::"));
        }
        return;
    }
    if has_inner_punctuation(name) && name.chars().any(char::is_alphabetic) {
        let shape = match file_stem(name) {
            Some(_) => IdentifierShape::Path,
            None => IdentifierShape::Symbol,
        };
        visit(shape, name.to_owned());
    }
}

/// Returns a file's name without its ending, if it has one.
fn file_stem(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once('.')?;
    let is_ending = (1..=10).contains(&ending.len())
        && ending.chars().all(|c| c.is_ascii_alphanumeric())
        && ending.contains(|c: char| c.is_ascii_alphabetic());
    (is_ending && stem.rsplit('/').next().is_some_and(|stem| !stem.is_empty())).then_some(stem)
}

/// Whether a name has punctuation inside that words of a language do not have.
fn has_inner_punctuation(name: &str) -> bool {
    let mut inside = name
        .trim_matches(['.', '_', '-', ':'])
        .split(['.', '_', '@']);
    let longer = |part: &str| part.chars().count() > 1;
    let first = inside.next().is_some_and(longer);
    let others: Vec<&str> = inside.collect();
    // `e.g` and `p.m` are words, and `.env` is not.
    let dotted = !others.is_empty() && (first || others.iter().any(|part| longer(part)));
    dotted || (name.starts_with('.') && name.len() > 2)
}

/// Removes a line number: `recall.rs:12:5` is line 12 of `recall.rs`.
fn strip_line_number(text: &str) -> &str {
    let mut text = text;
    while let Some((rest, number)) = text.rsplit_once(':') {
        if !is_number(number) || rest.ends_with(':') {
            break;
        }
        text = rest;
    }
    text
}

pub fn is_hash(word: &str) -> bool {
    HASH_DIGITS.contains(&word.len()) && is_hex(word)
}

/// Places of the dashes in a UUID.
const UUID_DASHES: [usize; 4] = [8, 13, 18, 23];
const UUID_BYTES: usize = 36;

/// Whether a word is a UUID, or a beginning of one with a dash: `3f2504e0-4f89`. One of numbers
/// alone has to be whole, since dates are written so, too.
pub fn is_uuid(word: &str) -> bool {
    let fits = word.bytes().enumerate().all(|(at, byte)| {
        if UUID_DASHES.contains(&at) {
            byte == b'-'
        } else {
            byte.is_ascii_hexdigit()
        }
    });
    let has = |is: fn(&u8) -> bool| word.bytes().any(|byte| is(&byte));
    fits && (UUID_DASHES[0] + 2..=UUID_BYTES).contains(&word.len())
        && has(u8::is_ascii_digit)
        && (word.len() == UUID_BYTES || has(u8::is_ascii_alphabetic))
}

/// Whether a word consists of hexadecimal digits, not all of them letters: `defaced` is a word.
pub fn is_hex(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_hexdigit()) && word.bytes().any(|b| b.is_ascii_digit())
}

pub fn is_number(word: &str) -> bool {
    (1..=20).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}

/// Returns the form of a version: `1.26.0`, `v2`, `2.0-rc.1`; two numbers alone are ambiguous.
fn version_shape(word: &str) -> Option<IdentifierShape> {
    let number = word.trim_start_matches(['v', 'V']);
    let is_marked = word.len() - number.len() == 1;
    let core = number.split(['-', '+']).next().unwrap_or_default();
    let mut parts = core.split('.');
    if !core.split('.').all(is_number) || word.len() - number.len() > 1 {
        return None;
    }
    match (parts.nth(1).is_some(), parts.next().is_some(), is_marked) {
        (_, true, _) | (true, _, true) => Some(IdentifierShape::Version),
        (true, false, false) | (false, _, true) => Some(IdentifierShape::Loose),
        _ => None,
    }
}

/// Whether a word is a code: `E0382`, `TS2345`, `OPS-123`, `CVE-2024-1234`, `ENOSPC`, `SIGKILL`.
fn is_code(word: &str) -> bool {
    let letters = word
        .find(|c: char| !c.is_ascii_uppercase())
        .unwrap_or(word.len());
    let (head, rest) = word.split_at(letters);
    if rest.is_empty() {
        let bare = head
            .strip_prefix("WSA")
            .unwrap_or(head)
            .to_ascii_lowercase();
        let is_signal = head.len() > 4 && head.starts_with("SIG");
        return is_signal || ERRNO.split_whitespace().any(|name| name == bare);
    }
    let numbers: Vec<&str> = rest.trim_start_matches('-').split('-').collect();
    let digits = numbers.iter().all(|number| is_number(number));
    (1..=10).contains(&head.len()) && digits && (rest.starts_with('-') || rest.len() >= 3)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn collect_identifiers(text: &str) -> Vec<(IdentifierShape, String)> {
        let mut terms = Vec::new();
        visit_identifiers(text, &mut |shape, term| terms.push((shape, term)));
        terms
    }

    fn terms_of_shape(text: &str, shape: IdentifierShape) -> Vec<String> {
        let terms = collect_identifiers(text)
            .into_iter()
            .filter(|(found, _)| *found == shape);
        terms.map(|(_, term)| term).collect()
    }

    #[test]
    fn each_shape_is_seen_and_spelled_in_one_way() {
        for (text, shape, expected) in [
            ("see A44E677, or", IdentifierShape::Hash, &["a44e677"][..]),
            (
                "Fix #1268 (GH-12), owner/repo#7",
                IdentifierShape::Issue,
                &["#1268", "#12", "#7"],
            ),
            ("issue 9 and PR 10", IdentifierShape::Issue, &["#9", "#10"]),
            (
                "`--Hyperlink-Format=x` and -Wall",
                IdentifierShape::Flag,
                &["--hyperlink-format", "-wall"],
            ),
            (
                "-q/--quiet/--Has",
                IdentifierShape::Flag,
                &["--quiet", "--has"],
            ),
            ("-opath/to/output", IdentifierShape::Flag, &["-opath"]),
            ("me/fd@a44e677", IdentifierShape::Hash, &["a44e677"]),
            ("sha256:a44e677b", IdentifierShape::Hash, &["a44e677b"]),
            (
                "run 3F2504E0-4f89-11d3-9a0c-0305e82c3301, 3f2504e0-4f and 20260101-1200",
                IdentifierShape::Hash,
                &["3f2504e0-4f89-11d3-9a0c-0305e82c3301", "3f2504e0-4f"],
            ),
            ("exact:v1.0.0", IdentifierShape::Version, &["1.0.0"]),
            (
                "--output=out/page.html",
                IdentifierShape::Path,
                &["out/page.html", "out/page", "page.html"],
            ),
            (
                "HTTP 404, exit code 101",
                IdentifierShape::Code,
                &["code 404", "code 101"],
            ),
            ("HTTP/1.1 503", IdentifierShape::Code, &["code 503"]),
            (
                "E0382 ENOSPC OPS-123 SIGKILL",
                IdentifierShape::Code,
                &["e0382", "enospc", "ops-123", "sigkill"],
            ),
            (
                "v1.26.0 and 2.0.1-rc.1 or v2.0",
                IdentifierShape::Version,
                &["1.26.0", "2.0.1-rc.1", "2.0"],
            ),
            ("RUST_LOG=Debug", IdentifierShape::Pair, &["rust_log=debug"]),
            (
                "the session_manager of std::fs::read()",
                IdentifierShape::Symbol,
                &["session_manager", "std::fs::read", "fs::read"],
            ),
            (
                "recall.rs:12:5 and .gitignore",
                IdentifierShape::Path,
                &["recall.rs"],
            ),
            (
                "mail ada@example.org",
                IdentifierShape::Path,
                &["ada@example.org"],
            ),
        ] {
            assert_eq!(terms_of_shape(text, shape), expected, "{text}");
        }
        assert_eq!(
            terms_of_shape("the .gitignore", IdentifierShape::Symbol),
            [".gitignore"]
        );
    }

    #[test]
    fn a_path_is_known_by_every_run_of_its_parts() {
        let mut found = terms_of_shape("in ./src/cli/recall.rs:", IdentifierShape::Path);
        found.sort();
        assert_eq!(
            found,
            [
                "cli/recall",
                "cli/recall.rs",
                "recall.rs",
                "src/cli",
                "src/cli/recall",
                "src/cli/recall.rs"
            ]
        );
        assert_eq!(
            terms_of_shape("C:\\a\\b.txt", IdentifierShape::Path),
            terms_of_shape("c:/a/b.txt", IdentifierShape::Path)
        );
        assert!(
            terms_of_shape("https://example.org/a/b", IdentifierShape::Path)
                .contains(&"example.org/a".to_owned())
        );
    }

    #[test]
    fn words_are_no_identifiers_and_loose_ones_are_marked() {
        let text = "We defaced it, e.g. at 9 p.m. - don't \"shout\" (or do): well... 42 ENGLISH --";
        assert_eq!(collect_identifiers(text), []);
        assert_eq!(
            terms_of_shape("1.5 times and/or -x", IdentifierShape::Loose),
            ["1.5", "and/or", "-x"]
        );
        assert!(collect_identifiers(&"/".repeat(1_000_000)).is_empty());
        assert!(collect_identifiers(&"#".repeat(300)).is_empty());
        for odd in [
            "=",
            "-",
            "#",
            "::",
            "a::",
            ":1:2",
            "/./..",
            "\u{e9}.\u{e9}",
            "g\u{e9}-1",
            "gh-",
        ] {
            collect_identifiers(odd);
        }
    }
}
