//! Finds the values of names that only secrets have: `DB_PASSWORD=...`, `"clientSecret": "..."`,
//! `--password ...`, `<password>...</password>`.
//!
//! Parses a name, its separator and its value; the separator decides how much proof a value needs.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::proof::{has_digit, has_sign, is_joined_words, is_mixed, is_random, is_unlike_word};
use crate::rules::{REACH_BYTES, RedactionRules, ValueRequirement};
use crate::scan::{SecretMatch, is_at_word_start, secret_tail_len, skip_after_failure};
use crate::text_parts::{prefix_of, shift_range, suffix_of};

/// Most bytes before and after a name that are examined.
const BEFORE_BYTES_MAX: usize = 256;
const AFTER_BYTES_MAX: usize = REACH_BYTES;
/// Most bytes of a value that are judged.
const JUDGED_BYTES_MAX: usize = 256;
/// Longest part of a name before its last word.
const NAME_LEFT_BYTES_MAX: usize = 128;
/// Verbs of calls whose argument is not a secret but the name of one.
const GETTER_VERBS: [&str; 10] = [
    "get", "find", "fetch", "read", "load", "lookup", "resolve", "has", "is", "delete",
];

/// The separator of a name and its value, the value's opening quote included.
#[expect(
    clippy::expect_used,
    reason = "a constant expression; every test of names compiles it"
)]
static SEPARATOR: LazyLock<Regex> = LazyLock::new(|| {
    let joint = concat!(
        r#"\A(?P<closed>\\*["'`])?(?:\]|\[\d*\])?\*{0,2}[ \t]*(?:\([^()\n]{1,40}\)[ \t]*)?"#,
        r#"(?P<joint>"?[ \t]+(?:\{\s*)?value[ \t]*=|,[ \t]*"(?:[Pp]arameter)?[Vv]alue"[ \t]*:"#,
        r#"|\s*\n[ \t]*value[ \t]*:|[ \t]+string[ \t]*=|,[ \t]*value[ \t]*:|"[ \t]+(?:content|value)[ \t]*="#,
        r#"|:[ \t]*(?:&[ ]?)?(?:'static[ ])?(?:str|String|string)[ \t]*=|:=|=>|={1,3}|!="#,
        r#"|\.{2,}[ \t]*:|::[ \t]|:-|:|<-|->|[ \t]-[ \t]|[ \t]+to[ \t]+|>|,|\(|[ \t]+)"#,
        r#"\*{0,2}(?P<space>[ \t]*)(?P<list>\[[ \t]*)?(?:(?:(?:[A-Za-z][A-Za-z0-9_:.]*)?(?:Some|Ok|from|new|SecretStr|bytes|b64decode|[dD]ecode|fromhex|unhexlify)|\[\]byte|)\(\s*)?"#,
        r#"(?:[brfuN@]|\$)?(?P<quote>\\*["'`])?"#,
    );
    Regex::new(joint).expect("a constant expression compiles")
});

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ValuePosition {
    /// `"name": "value"`, `<name>value</name>`: certainly a value.
    Certain,
    /// `name = "value"`, `--name value`.
    Quoted,
    /// `name=value`.
    Tight,
    /// `name = value`.
    Spaced,
    /// `name: value`.
    Colon,
    /// `("name", "value")`.
    Listed,
    /// `--name value`.
    Flag,
    /// `set_name("value")`, `NAME 'value'`.
    Called,
    /// `name value`, alone on its line.
    Paired,
    /// `name - value`.
    Dashed,
}

impl RedactionRules {
    /// Finds the value of the name that contains the word at `word`. Returns the position from
    /// which the next name may be searched for, too.
    pub(crate) fn find_named_value<'a>(
        &self,
        text: &str,
        word: Range<usize>,
    ) -> (usize, Option<SecretMatch<'a>>) {
        let name = whole_name_range(text, &word);
        let mut end = name.end;
        let found = self.find_value_of_name(text, name, &mut end);
        (found.as_ref().map_or(end, |found| found.range.end), found)
    }

    /// The value of a name; `next_start` is where the next name may stand if it has none.
    fn find_value_of_name<'a>(
        &self,
        text: &str,
        name: Range<usize>,
        next_start: &mut usize,
    ) -> Option<SecretMatch<'a>> {
        let written = text.get(name.clone())?;
        let ending = self.names.find_ending(written)?;
        let rest = prefix_of(text.get(name.end..)?, AFTER_BYTES_MAX);
        let before = suffix_of(text.get(..name.start)?, BEFORE_BYTES_MAX);
        let (position, value) = find_value_position(before, written, rest)?;
        *next_start += skip_after_failure(value.len());
        let found = prefix_of(rest.get(value.clone())?, JUDGED_BYTES_MAX);
        let line = LineContext::new(before, rest.get(value.end..)?);
        let placeholder = !self.placeholders.is_value(found)
            || found.eq_ignore_ascii_case(written)
            // The name of a secret that a cloud keeps.
            || last_word(before).contains("arn:")
            // `t.pass("what was tested")`.
            || position == ValuePosition::Called && written.rsplit('.').next() == Some("pass")
            // `${NAME:?the message if it is not set}`.
            || found.starts_with('?') && before.ends_with("${")
            // The end of a prompt: `ask("Password: ")`.
            || found.starts_with(')')
            || position == ValuePosition::Certain && found.ends_with(['(', '{', '[']);
        if placeholder || !is_secret_value(ending.needs, position, found, written, &line) {
            return None;
        }
        let end = name.end + value.end;
        let end = end + secret_tail_len(rest, value.end, text.get(end..)?);
        Some(SecretMatch::new(name.end + value.start..end, "assigned"))
    }

    /// Returns the kind of secret that a JSON key names; `None` if its value is not a secret.
    pub(crate) fn secret_kind_of_key(&self, key: &str) -> Option<&str> {
        let ending = self.names.find_ending(key)?;
        (ending.needs != ValueRequirement::Random).then_some(ending.name.as_str())
    }
}

/// The line around a name and its value.
struct LineContext<'a> {
    before: &'a str,
    after: &'a str,
}

impl<'a> LineContext<'a> {
    fn new(before: &'a str, after: &'a str) -> Self {
        Self {
            before: before.rsplit('\n').next().unwrap_or_default(),
            after: after.split('\n').next().unwrap_or_default(),
        }
    }

    /// Whether the line has only the name and its value.
    fn is_pair(&self) -> bool {
        let before = self.before.rsplit("\\n").next().unwrap_or_default();
        let after = self.after.split("\\n").next().unwrap_or_default();
        let indented = before.trim_start_matches([' ', '\t', '-']).is_empty();
        indented && after.trim_end_matches(['\r', ' ', '"', '\'']).is_empty()
    }

    /// Whether the name is an argument of a call or an item of a list.
    fn name_follows_bracket_or_comma(&self) -> bool {
        self.before.trim_end().ends_with(['(', ',', '[', '{'])
    }

    /// Whether nothing else is on the line, except a command that sets a variable.
    fn is_alone(&self) -> bool {
        self.is_exported() && self.after.trim().is_empty()
    }

    fn is_exported(&self) -> bool {
        let before = self.before.trim();
        let export = [
            "export", "set", "setenv", "setx", "set -x", "set -gx", "ENV", "ARG",
        ];
        before.is_empty() || export.iter().any(|word| before.ends_with(word))
    }
}

/// Whether a value after this separator is a secret.
fn is_secret_value(
    needs: ValueRequirement,
    position: ValuePosition,
    value: &str,
    name: &str,
    line: &LineContext<'_>,
) -> bool {
    let bare = value.trim_end_matches(['.', ',', ';', ')', '?', '!']);
    let odd = is_unlike_word(bare);
    let spaced = value.contains(char::is_whitespace);
    let upper = name.chars().all(|c| !c.is_ascii_lowercase());
    let called = line.before.trim_end_matches(['"', '\'']).ends_with('(');
    if position == ValuePosition::Listed && !called && !name.starts_with('-') {
        return false;
    }
    if matches!(
        position,
        ValuePosition::Called | ValuePosition::Paired | ValuePosition::Dashed
    ) {
        let enough = match needs {
            ValueRequirement::Any => position != ValuePosition::Dashed || bare.len() >= 8,
            ValueRequirement::Value if position == ValuePosition::Called => bare.len() >= 12,
            _ => is_random(bare),
        };
        let here = match position {
            ValuePosition::Called => !is_getter(name),
            ValuePosition::Paired => line.is_alone(),
            _ => true,
        };
        let is_mixture = is_mixed(bare) || needs == ValueRequirement::Any && is_joined_words(bare);
        return here && enough && !spaced && odd && is_mixture;
    }
    if needs == ValueRequirement::Random {
        let long = if name.eq_ignore_ascii_case("key") {
            24
        } else {
            16
        };
        let value = value.strip_prefix("base64:").unwrap_or(value);
        // A value that is only called a key is usually a digest.
        let is_digest = long == 24 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        return value.len() >= long && is_random(value) && !is_digest;
    }
    if spaced {
        // Labels and messages have spaces too, so a pass phrase must be exported, or have a digit
        // or sign.
        let is_flag = name.starts_with('-');
        let phrase = needs == ValueRequirement::Any
            && position == ValuePosition::Quoted
            && (is_flag || upper && line.is_exported());
        return phrase
            || needs != ValueRequirement::Mixed
                && position != ValuePosition::Colon
                && odd
                && value.split_whitespace().count() < 4;
    }
    if needs == ValueRequirement::Mixed {
        let short = matches!(
            position,
            ValuePosition::Certain | ValuePosition::Quoted | ValuePosition::Flag
        ) && value.len() >= 20
            && !value.contains(['.', ' ']);
        return is_mixed(bare)
            || short
            || upper && position == ValuePosition::Tight && value.len() >= 8;
    }
    let any = needs == ValueRequirement::Any;
    match position {
        ValuePosition::Certain => value.len() >= 3,
        ValuePosition::Quoted => value.len() >= 3 && (any || odd || value.len() >= 6),
        ValuePosition::Listed => odd && value.len() >= 6,
        ValuePosition::Tight | ValuePosition::Flag if odd => bare.len() >= 3,
        ValuePosition::Tight => {
            value.len() >= 4
                && !line.name_follows_bracket_or_comma()
                && (any || upper && value.len() >= 8)
        }
        ValuePosition::Flag => value.len() >= 6 && any && line.after.trim().is_empty(),
        ValuePosition::Called | ValuePosition::Paired | ValuePosition::Dashed => false,
        ValuePosition::Spaced => odd && value.len() >= 4 && (any || is_mixed(bare)),
        ValuePosition::Colon if odd => {
            bare.len() >= 6 && (has_digit(bare) || !any || bare.len() >= 8)
        }
        ValuePosition::Colon => {
            any && value.len() >= 6 && line.is_pair() && bare.len() == value.len()
        }
    }
}

fn last_word(text: &str) -> &str {
    text.rsplit(char::is_whitespace).next().unwrap_or_default()
}

/// Whether the argument of a call of this name is the name of a secret.
fn is_getter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    GETTER_VERBS.iter().any(|verb| name.starts_with(verb))
}

/// Returns the range of the whole name around a word: letters, digits, `_` and `-`, to the left
/// also `.`.
fn whole_name_range(text: &str, word: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let left = bytes[..word.start].iter().rev();
    let left = left
        .take(NAME_LEFT_BYTES_MAX)
        .take_while(|b| part(b) || **b == b'.')
        .count();
    let right = bytes[word.end..].iter().take_while(|b| part(b)).count();
    let mut name = word.start - left..word.end + right;
    // The letter of an escaped line break is not part of the name.
    let escaped =
        text[..name.start].ends_with('\\') && text[name.clone()].starts_with(['n', 't', 'r']);
    if escaped && is_at_word_start(text, name.start + 1) && name.start < word.start {
        name.start += 1;
    }
    name
}

/// Finds the position of the value and its range in `rest`, which follows the name.
fn find_value_position(
    before: &str,
    name: &str,
    rest: &str,
) -> Option<(ValuePosition, Range<usize>)> {
    let flag = name.starts_with('-') && rest.starts_with([' ', '\t']);
    if flag {
        let value = rest.trim_start_matches([' ', '\t']);
        let at = rest.len() - value.len();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let range = match quote {
            Some(quote) => quoted_range(value, 1, &quote.to_string()),
            None => unquoted_range(value, 0),
        };
        let shown = value.get(range.clone())?;
        let position = if quote.is_some() {
            ValuePosition::Quoted
        } else {
            ValuePosition::Flag
        };
        return (!shown.starts_with('-')).then(|| (position, shift_range(&range, at)));
    }
    let joint = SEPARATOR.captures(rest)?;
    let closed = joint.name("closed").is_some();
    let by = joint.name("joint")?.as_str().trim();
    let space = joint.name("space").is_some_and(|space| !space.is_empty());
    let led = rest.starts_with([' ', '\t']);
    let end = joint.get(0)?.end();
    let start = joint.name("space")?.end();
    let quote = joint.name("quote");
    let listed = joint
        .name("list")
        .and_then(|list| find_secret_list(rest, list.end()));
    let range = match (quote, listed) {
        (Some(_), Some(items)) => items,
        (Some(quote), None) => quoted_range(rest, end, quote.as_str()),
        (None, _) => unquoted_range(rest, start),
    };
    let position = match (by, closed, quote.is_some()) {
        (">", false, false) if before.ends_with('<') && !space => {
            let value = rest.get(end..)?.split('<').next()?;
            let start = end + value.len() - value.trim_start().len();
            return Some((ValuePosition::Certain, start..start + value.trim().len()));
        }
        // `pass to` is a verb, not a name.
        ("to", ..) if name.ends_with("pass") => return None,
        // A path such as `a::b`, not a pair.
        (":", ..) if rest.get(end..).is_some_and(|more| more.starts_with(':')) => return None,
        (",", true, true) => ValuePosition::Listed,
        // The argument of a call, or a literal that a value is compared with.
        ("==" | "===" | "!=", _, true) | ("(" | "", false, true) => ValuePosition::Called,
        ("", false, false) => ValuePosition::Paired,
        ("-" | "->" | "<-", ..) => ValuePosition::Dashed,
        ("to", _, false) | ("(" | "" | "==" | "===" | "!=" | ">" | ",", ..) => return None,
        (_, true, true) => ValuePosition::Certain,
        (by, ..) if by.to_ascii_lowercase().contains("value") => ValuePosition::Certain,
        ("::", _, false) => ValuePosition::Spaced,
        (_, _, true) => ValuePosition::Quoted,
        (":", ..) => ValuePosition::Colon,
        _ if space || led => ValuePosition::Spaced,
        _ => ValuePosition::Tight,
    };
    Some((position, range))
}

/// Returns the range of the items of a list, without the brackets, if one of them looks like a
/// secret.
fn find_secret_list(text: &str, start: usize) -> Option<Range<usize>> {
    let items = text.get(start..)?.split([']', '\n']).next()?.trim_end();
    let mut bare = items
        .split(',')
        .map(|item| item.trim().trim_matches(['"', '\'', '`']));
    let is_secret = bare.any(|item| {
        let is_unlike_name = is_random(item) || has_digit(item) && has_sign(item);
        item.len() >= 8 && (is_mixed(item) && is_unlike_name || is_joined_words(item))
    });
    is_secret.then_some(start..start + items.len())
}

/// Returns the range up to the closing quote, or to the end of the line if there is none.
fn quoted_range(text: &str, start: usize, quote: &str) -> Range<usize> {
    let rest = &text[start..];
    let line = rest.find('\n').unwrap_or(rest.len());
    let mark = quote.trim_start_matches('\\');
    let mut at = 0;
    while let Some(found) = rest[at..line].find(mark) {
        let end = at + found;
        let slashes = rest[..end]
            .bytes()
            .rev()
            .take_while(|b| *b == b'\\')
            .count();
        // A quote with another escape than the opening one's is part of the value.
        if slashes == quote.len() - mark.len() || slashes % 2 == 0 {
            return start..start + end - slashes.min(quote.len() - mark.len());
        }
        at = end + mark.len();
    }
    start..start + line
}

/// Returns the range up to a space, a quote, or a separator of pairs.
fn unquoted_range(text: &str, start: usize) -> Range<usize> {
    let rest = &text[start..];
    let run = rest.find(|c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '`'));
    let mut run = &rest[..run.unwrap_or(rest.len())];
    // Also ends at an escaped line break and at the end of a Markdown link.
    for end in ["\\n", ")]("] {
        if let Some(at) = run.find(end) {
            run = &run[..at];
        }
    }
    let ends = run.char_indices().find(|(at, c)| {
        let next = &run[at + c.len_utf8()..];
        matches!(c, '&' | ';' | ',') && (next.is_empty() || starts_pair(next))
            || *c == '<' && next.starts_with('/')
    });
    let run = ends.map_or(run, |(at, _)| &run[..at]);
    start..start + run.trim_end_matches('\\').len()
}

/// Whether another `name=` follows.
fn starts_pair(text: &str) -> bool {
    let end =
        text.find(|c: char| !(c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '-' | '%')));
    end.is_some_and(|end| end > 0 && text[end..].starts_with(['=', ':']))
}
