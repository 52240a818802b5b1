//! Identifiers in a text: what somebody looks up letter by letter and not by what it means.
//!
//! Which characters make a hash, an issue, a flag, a path, a code, a version, a symbol or a pair,
//! and the one spelling of each.

/// What an identifier looks like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Shape {
    /// `a44e677`: 7 to 64 hexadecimal digits.
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
    /// Of a shape that other words have too: `1.5`, `and/or`, `-x`. Looked up only where nothing
    /// else is asked.
    Loose,
}

/// Longest name or value that is looked up, in bytes; a longer one is a text.
const NAME_BYTES_MAX: usize = 128;
/// Longest identifier, in bytes.
const BYTES_MAX: usize = 256;
/// Parts of a path that are looked at, from its end.
const PARTS_MAX: usize = 8;
/// Terms that may begin like a hash that is cut short.
pub(crate) const HASHES_MAX: usize = 64;
/// Shortest beginning of a hash that is looked up where only one hash begins so.
pub(crate) const SHORT_HASH: usize = 4;
const HASH_DIGITS: std::ops::RangeInclusive<usize> = 7..=64;

/// The error names of POSIX, and of Windows' sockets with `WSA` before them.
const ERRNO: &str = "e2big eacces eaddrinuse eaddrnotavail eafnosupport eagain ealready ebadf \
    ebadmsg ebusy ecanceled echild econnaborted econnrefused econnreset \
    edeadlk edestaddrreq edom edquot eexist efault efbig ehostdown \
    ehostunreach eilseq einprogress eintr einval eio eisconn eisdir eloop \
    emfile emlink emsgsize enametoolong enetdown enetreset enetunreach enfile \
    enobufs enodev enoent enoexec enolck enomem enoprotoopt enospc enosys \
    enotconn enotdir enotempty enotsup enxio eoverflow eperm epipe erange \
    erofs espipe esrch etimedout exdev";

/// Calls `take(shape, term)` for every identifier of `text`, in order. One word may have several
/// terms: the wider one first.
pub(crate) fn each(text: &str, take: &mut dyn FnMut(Shape, String)) {
    let mut before = "";
    for word in words(text) {
        of_word(word, before, take);
        before = word;
    }
}

/// The identifiers of a text as they are written there, each with what it looks like.
pub fn identifiers(text: &str) -> impl Iterator<Item = (Shape, &str)> {
    let mut before = "";
    words(text).filter_map(move |word| {
        let mut first = None;
        of_word(word, before, &mut |shape, _| {
            first.get_or_insert(shape);
        });
        before = word;
        first.map(|shape| (shape, word))
    })
}

/// The one spelling: small letters, one space between words. `None` for nothing, and for a text.
pub(crate) fn plain(text: &str) -> Option<String> {
    let text = text.trim();
    if text.is_empty() || text.len() > NAME_BYTES_MAX {
        return None;
    }
    let words: Vec<String> = text.split_whitespace().map(str::to_lowercase).collect();
    Some(words.join(" "))
}

/// The words of a text without the punctuation around them.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || is_mark(c));
    words.map(trimmed).filter(|word| !word.is_empty())
}

fn is_mark(c: char) -> bool {
    const MARKS: [char; 21] = [
        '`', '"', '\'', '(', ')', '[', ']', '{', '}', '<', '>', ',', ';', '|', '*', '\u{201c}',
        '\u{201d}', '\u{2018}', '\u{2019}', '\u{ab}', '\u{bb}',
    ];
    !c.is_ascii_alphanumeric() && MARKS.contains(&c)
}

/// Without the punctuation around it.
fn trimmed(word: &str) -> &str {
    let word = word.trim_start_matches([':', '!', '?', '=', '&', '%']);
    word.trim_end_matches(|c: char| {
        matches!(
            c,
            '.' | ':' | '!' | '?' | '=' | '&' | '%' | '-' | '/' | '\\' | '~' | '+'
        )
    })
}

/// The identifiers in one word; `before` is the word before it.
pub(crate) fn of_word(word: &str, before: &str, take: &mut dyn FnMut(Shape, String)) {
    if word.len() > BYTES_MAX {
        return;
    }
    if let Some((name, number)) = word.rsplit_once('#')
        && is_number(number)
    {
        take(Shape::Issue, ["#", number].concat());
        if !name.is_empty() {
            path(name, take);
        }
        return;
    }
    if let Some(number) = word.get(3..)
        && word[..3].eq_ignore_ascii_case("gh-")
        && is_number(number)
    {
        return take(Shape::Issue, ["#", number].concat());
    }
    if is_number(word) {
        if let Some((shape, head)) = counted(before) {
            take(shape, [head, word].concat());
        }
        if HASH_DIGITS.contains(&word.len()) {
            take(Shape::Hash, word.to_owned());
        }
        return;
    }
    if word.starts_with('-') {
        // `-q/--quiet`: several names of one thing; `--output=path/to/file`.
        let (flags, value) = word.split_once('=').unwrap_or((word, ""));
        flags.split('/').for_each(|one| flag(one, take));
        return of_word(trimmed(value), "", take);
    }
    if let Some((_, hash)) = word.rsplit_once('@')
        && is_hash(hash)
    {
        // `owner/repo@a44e677`
        take(Shape::Hash, hash.to_lowercase());
    }
    if let Some((key, value)) = word.split_once('=')
        && key
            .chars()
            .all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '-'))
        && !key.is_empty()
    {
        if let Some(value) = plain(value) {
            take(Shape::Pair, [&key.to_lowercase(), "=", &value].concat());
        }
        of_word(key, "", take);
        return of_word(trimmed(value), "", take);
    }
    if is_hash(word) {
        return take(Shape::Hash, word.to_lowercase());
    }
    if let Some(shape) = version(word) {
        let number = word.trim_start_matches(['v', 'V']);
        return take(shape, number.to_lowercase());
    }
    if is_code(word) {
        return take(Shape::Code, word.to_lowercase());
    }
    // `exact:v1.0.0`, `sha256:a44e677`
    if let Some((name, value)) = word.rsplit_once(':')
        && !name.is_empty()
        && !name.ends_with(':')
        && (is_hash(value) || is_code(value) || version(value) == Some(Shape::Version))
    {
        of_word(value, "", take);
    }
    path(word, take);
}

/// What a number after this word is.
fn counted(before: &str) -> Option<(Shape, &'static str)> {
    let before = before.to_lowercase();
    match before.as_str() {
        "issue" | "issues" | "pr" | "prs" | "bug" | "ticket" | "mr" | "pull" | "request" => {
            Some((Shape::Issue, "#"))
        }
        "status" | "code" | "error" | "errno" | "exit" | "signal" => Some((Shape::Code, "code ")),
        http if http == "http" || http.starts_with("http/") => Some((Shape::Code, "code ")),
        _ => None,
    }
}

fn flag(word: &str, take: &mut dyn FnMut(Shape, String)) {
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
        Shape::Flag
    } else {
        Shape::Loose
    };
    take(shape, word.to_lowercase());
}

/// A path with every run of its parts, a dotted name, a symbol.
fn path(text: &str, take: &mut dyn FnMut(Shape, String)) {
    let lower = text.to_lowercase().replace('\\', "/");
    let lower = lower
        .split_once("://")
        .map_or(lower.as_str(), |(_, rest)| rest);
    let lower = without_place(lower);
    let usable =
        |c: char| c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '@' | '+' | '~' | ':');
    let parts: Vec<&str> = lower
        .split('/')
        .filter(|part| !matches!(*part, "" | "." | ".." | "~"))
        .collect();
    let are_usable = |parts: &[&str]| parts.iter().all(|part| part.chars().all(usable));
    match parts.as_slice() {
        [one] => symbol(one, take),
        [.., file] if are_usable(&parts) => {
            let shape = if parts.len() > 2 || parts.iter().any(|part| is_named(part)) {
                Shape::Path
            } else {
                Shape::Loose
            };
            let near = &parts[parts.len().saturating_sub(PARTS_MAX)..];
            for from in 0..near.len() {
                for to in (from + 2..=near.len()).rev() {
                    let run = near[from..to].join("/");
                    let stem = (to == near.len()).then(|| stem_of(&run)).flatten();
                    let stem = stem.map(str::to_owned);
                    take(shape, run);
                    if let Some(stem) = stem {
                        take(shape, stem);
                    }
                }
            }
            symbol(file, take);
        }
        _ => {}
    }
}

/// A name of one part: `recall.rs`, `session_manager`, `std::fs::read`.
fn symbol(name: &str, take: &mut dyn FnMut(Shape, String)) {
    if name.contains("::") {
        let parts: Vec<&str> = name.split("::").filter(|part| !part.is_empty()).collect();
        for from in 0..parts.len().saturating_sub(1) {
            take(Shape::Symbol, parts[from..].join("::"));
        }
        return;
    }
    if is_named(name) && name.chars().any(char::is_alphabetic) {
        let shape = match stem_of(name) {
            Some(_) => Shape::Path,
            None => Shape::Symbol,
        };
        take(shape, name.to_owned());
    }
}

/// A file's name without its ending, where it has one.
fn stem_of(name: &str) -> Option<&str> {
    let (stem, ending) = name.rsplit_once('.')?;
    let is_ending = (1..=10).contains(&ending.len())
        && ending.chars().all(|c| c.is_ascii_alphanumeric())
        && ending.contains(|c: char| c.is_ascii_alphabetic());
    (is_ending && stem.rsplit('/').next().is_some_and(|stem| !stem.is_empty())).then_some(stem)
}

/// Whether a word has what words of a language do not have within.
fn is_named(name: &str) -> bool {
    let mut inside = name
        .trim_matches(['.', '_', '-', ':'])
        .split(['.', '_', '@']);
    let longer = |part: &str| part.chars().count() > 1;
    let first = inside.next().is_some_and(longer);
    let others: Vec<&str> = inside.collect();
    // `e.g` and `p.m` are words; `.env` is none.
    let dotted = !others.is_empty() && (first || others.iter().any(|part| longer(part)));
    dotted || (name.starts_with('.') && name.len() > 2)
}

/// `recall.rs:12:5` is line 12 of `recall.rs`.
fn without_place(text: &str) -> &str {
    let mut text = text;
    while let Some((rest, number)) = text.rsplit_once(':') {
        if !is_number(number) || rest.ends_with(':') {
            break;
        }
        text = rest;
    }
    text
}

pub(crate) fn is_hash(word: &str) -> bool {
    HASH_DIGITS.contains(&word.len()) && is_hex(word)
}

/// Hexadecimal digits, not all of them letters: `defaced` is a word.
pub(crate) fn is_hex(word: &str) -> bool {
    word.bytes().all(|b| b.is_ascii_hexdigit()) && word.bytes().any(|b| b.is_ascii_digit())
}

pub(crate) fn is_number(word: &str) -> bool {
    (1..=20).contains(&word.len()) && word.bytes().all(|b| b.is_ascii_digit())
}

/// `1.26.0`, `v2`, `2.0-rc.1`; two numbers alone are loose.
fn version(word: &str) -> Option<Shape> {
    let number = word.trim_start_matches(['v', 'V']);
    let is_marked = word.len() - number.len() == 1;
    let core = number.split(['-', '+']).next().unwrap_or_default();
    let mut parts = core.split('.');
    if !core.split('.').all(is_number) || word.len() - number.len() > 1 {
        return None;
    }
    match (parts.nth(1).is_some(), parts.next().is_some(), is_marked) {
        (_, true, _) | (true, _, true) => Some(Shape::Version),
        (true, false, false) | (false, _, true) => Some(Shape::Loose),
        _ => None,
    }
}

/// `E0382`, `TS2345`, `OPS-123`, `CVE-2024-1234`, `ENOSPC`, `SIGKILL`.
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

    fn terms(text: &str) -> Vec<(Shape, String)> {
        let mut terms = Vec::new();
        each(text, &mut |shape, term| terms.push((shape, term)));
        terms
    }

    fn of(text: &str, shape: Shape) -> Vec<String> {
        let terms = terms(text).into_iter().filter(|(found, _)| *found == shape);
        terms.map(|(_, term)| term).collect()
    }

    #[test]
    fn each_shape_is_seen_and_spelled_in_one_way() {
        for (text, shape, expected) in [
            ("see A44E677, or", Shape::Hash, &["a44e677"][..]),
            (
                "Fix #1268 (GH-12), owner/repo#7",
                Shape::Issue,
                &["#1268", "#12", "#7"],
            ),
            ("issue 9 and PR 10", Shape::Issue, &["#9", "#10"]),
            (
                "`--Hyperlink-Format=x` and -Wall",
                Shape::Flag,
                &["--hyperlink-format", "-wall"],
            ),
            ("-q/--quiet/--Has", Shape::Flag, &["--quiet", "--has"]),
            ("-opath/to/output", Shape::Flag, &["-opath"]),
            ("me/fd@a44e677", Shape::Hash, &["a44e677"]),
            ("sha256:a44e677b", Shape::Hash, &["a44e677b"]),
            ("exact:v1.0.0", Shape::Version, &["1.0.0"]),
            (
                "--output=out/page.html",
                Shape::Path,
                &["out/page.html", "out/page", "page.html"],
            ),
            (
                "HTTP 404, exit code 101",
                Shape::Code,
                &["code 404", "code 101"],
            ),
            ("HTTP/1.1 503", Shape::Code, &["code 503"]),
            (
                "E0382 ENOSPC OPS-123 SIGKILL",
                Shape::Code,
                &["e0382", "enospc", "ops-123", "sigkill"],
            ),
            (
                "v1.26.0 and 2.0.1-rc.1 or v2.0",
                Shape::Version,
                &["1.26.0", "2.0.1-rc.1", "2.0"],
            ),
            ("RUST_LOG=Debug", Shape::Pair, &["rust_log=debug"]),
            (
                "the session_manager of std::fs::read()",
                Shape::Symbol,
                &["session_manager", "std::fs::read", "fs::read"],
            ),
            ("recall.rs:12:5 and .gitignore", Shape::Path, &["recall.rs"]),
            ("mail ada@example.org", Shape::Path, &["ada@example.org"]),
        ] {
            assert_eq!(of(text, shape), expected, "{text}");
        }
        assert_eq!(of("the .gitignore", Shape::Symbol), [".gitignore"]);
    }

    #[test]
    fn a_path_is_known_by_every_run_of_its_parts() {
        let mut found = of("in ./src/cli/recall.rs:", Shape::Path);
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
            of("C:\\a\\b.txt", Shape::Path),
            of("c:/a/b.txt", Shape::Path)
        );
        assert!(of("https://example.org/a/b", Shape::Path).contains(&"example.org/a".to_owned()));
    }

    #[test]
    fn words_are_no_identifiers_and_loose_ones_are_marked() {
        let text = "We defaced it, e.g. at 9 p.m. - don't \"shout\" (or do): well... 42 ENGLISH --";
        assert_eq!(terms(text), []);
        assert_eq!(
            of("1.5 times and/or -x", Shape::Loose),
            ["1.5", "and/or", "-x"]
        );
        assert!(terms(&"/".repeat(1_000_000)).is_empty());
        assert!(terms(&"#".repeat(300)).is_empty());
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
            terms(odd);
        }
    }
}
