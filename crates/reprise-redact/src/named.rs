//! Values of names that only secrets have: `DB_PASSWORD=...`, `"clientSecret": "..."`,
//! `--password ...`, `<password>...</password>`.
//!
//! Parses a name, its separator and its value; the separator decides how much proof a value needs.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::proof::{has_digit, has_sign, is_coined, is_mixed, is_odd, is_random};
use crate::rules::{Needs, Rules};
use crate::scan::{Found, REACH, begins_word, goes_on, head, passed_over, shifted, tail};

/// Bytes before and after a name that are looked at.
const BEFORE: usize = 256;
const AFTER: usize = REACH;
/// Bytes of a value that tell what it is.
const TOLD_BY: usize = 256;
/// Longest part of a name before its last word.
const LEFT: usize = 128;
/// Verbs of calls whose argument is no secret but the name of one.
const GETTERS: [&str; 10] = [
    "get", "find", "fetch", "read", "load", "lookup", "resolve", "has", "is", "delete",
];

/// The separator of a name and its value, the value's opening quote included.
#[expect(
    clippy::expect_used,
    reason = "a constant expression; every test of names compiles it"
)]
static JOINT: LazyLock<Regex> = LazyLock::new(|| {
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
enum Place {
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

impl Rules {
    /// The value of the name that contains the word at `word`, and the end of the name.
    pub(crate) fn named<'a>(&self, text: &str, word: Range<usize>) -> (usize, Option<Found<'a>>) {
        let name = name_around(text, &word);
        let mut end = name.end;
        let found = self.value_of(text, name, &mut end);
        (found.as_ref().map_or(end, |found| found.range.end), found)
    }

    /// The value of a name; `looked_to` is where the next name may stand if it has none.
    fn value_of<'a>(
        &self,
        text: &str,
        name: Range<usize>,
        looked_to: &mut usize,
    ) -> Option<Found<'a>> {
        let written = text.get(name.clone())?;
        let ending = self.names.ending(written)?;
        let rest = head(text.get(name.end..)?, AFTER);
        let before = tail(text.get(..name.start)?, BEFORE);
        let (place, value) = placed(before, written, rest)?;
        *looked_to += passed_over(value.len());
        let found = head(rest.get(value.clone())?, TOLD_BY);
        let line = Line::of(before, rest.get(value.end..)?);
        let placeholder = !self.placeholders.is_value(found)
            || found.eq_ignore_ascii_case(written)
            // The name of a secret that a cloud keeps.
            || last_word(before).contains("arn:")
            // `t.pass("what was looked at")`.
            || place == Place::Called && written.rsplit('.').next() == Some("pass")
            // `${NAME:?what is said where it is not set}`.
            || found.starts_with('?') && before.ends_with("${")
            // What follows a prompt: `ask("Password: ")`.
            || found.starts_with(')')
            || place == Place::Certain && found.ends_with(['(', '{', '[']);
        if placeholder || !judge(ending.needs, place, found, written, &line) {
            return None;
        }
        let end = name.end + value.end;
        let end = end + goes_on(rest, value.end, text.get(end..)?);
        Some(Found::new(name.end + value.start..end, "assigned"))
    }

    /// The kind of secret that a JSON key names; `None` where its value is no secret.
    pub(crate) fn secret_key(&self, key: &str) -> Option<&str> {
        let ending = self.names.ending(key)?;
        (ending.needs != Needs::Random).then_some(ending.name.as_str())
    }
}

/// The line around a name and its value.
struct Line<'a> {
    before: &'a str,
    after: &'a str,
}

impl<'a> Line<'a> {
    fn of(before: &'a str, after: &'a str) -> Self {
        Self {
            before: before.rsplit('\n').next().unwrap_or_default(),
            after: after.split('\n').next().unwrap_or_default(),
        }
    }

    /// The line holds only the name and its value.
    fn is_pair(&self) -> bool {
        let before = self.before.rsplit("\\n").next().unwrap_or_default();
        let after = self.after.split("\\n").next().unwrap_or_default();
        let indented = before.trim_start_matches([' ', '\t', '-']).is_empty();
        indented && after.trim_end_matches(['\r', ' ', '"', '\'']).is_empty()
    }

    /// The name is an argument of a call or an item of a list.
    fn is_argument(&self) -> bool {
        self.before.trim_end().ends_with(['(', ',', '[', '{'])
    }

    /// Nothing else is on the line, but for a command that sets a variable.
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
fn judge(needs: Needs, place: Place, value: &str, name: &str, line: &Line<'_>) -> bool {
    let bare = value.trim_end_matches(['.', ',', ';', ')', '?', '!']);
    let odd = is_odd(bare);
    let spaced = value.contains(char::is_whitespace);
    let upper = name.chars().all(|c| !c.is_ascii_lowercase());
    let called = line.before.trim_end_matches(['"', '\'']).ends_with('(');
    if place == Place::Listed && !called && !name.starts_with('-') {
        return false;
    }
    if matches!(place, Place::Called | Place::Paired | Place::Dashed) {
        let enough = match needs {
            Needs::Any => place != Place::Dashed || bare.len() >= 8,
            Needs::Value if place == Place::Called => bare.len() >= 12,
            _ => is_random(bare),
        };
        let here = match place {
            Place::Called => !is_getter(name),
            Place::Paired => line.is_alone(),
            _ => true,
        };
        let made = is_mixed(bare) || needs == Needs::Any && is_coined(bare);
        return here && enough && !spaced && odd && made;
    }
    if needs == Needs::Random {
        let long = if name.eq_ignore_ascii_case("key") {
            24
        } else {
            16
        };
        let value = value.strip_prefix("base64:").unwrap_or(value);
        // What is only called a key is as a rule a digest.
        let is_digest = long == 24 && value.bytes().all(|byte| byte.is_ascii_hexdigit());
        return value.len() >= long && is_random(value) && !is_digest;
    }
    if spaced {
        // Labels and messages have spaces too, so a pass phrase must be exported, or have a digit
        // or sign.
        let is_flag = name.starts_with('-');
        let phrase = needs == Needs::Any
            && place == Place::Quoted
            && (is_flag || upper && line.is_exported());
        return phrase
            || needs != Needs::Mixed
                && place != Place::Colon
                && odd
                && value.split_whitespace().count() < 4;
    }
    if needs == Needs::Mixed {
        let short = matches!(place, Place::Certain | Place::Quoted | Place::Flag)
            && value.len() >= 20
            && !value.contains(['.', ' ']);
        return is_mixed(bare) || short || upper && place == Place::Tight && value.len() >= 8;
    }
    let any = needs == Needs::Any;
    match place {
        Place::Certain => value.len() >= 3,
        Place::Quoted => value.len() >= 3 && (any || odd || value.len() >= 6),
        Place::Listed => odd && value.len() >= 6,
        Place::Tight | Place::Flag if odd => bare.len() >= 3,
        Place::Tight => {
            value.len() >= 4 && !line.is_argument() && (any || upper && value.len() >= 8)
        }
        Place::Flag => value.len() >= 6 && any && line.after.trim().is_empty(),
        Place::Called | Place::Paired | Place::Dashed => false,
        Place::Spaced => odd && value.len() >= 4 && (any || is_mixed(bare)),
        Place::Colon if odd => bare.len() >= 6 && (has_digit(bare) || !any || bare.len() >= 8),
        Place::Colon => any && value.len() >= 6 && line.is_pair() && bare.len() == value.len(),
    }
}

fn last_word(text: &str) -> &str {
    text.rsplit(char::is_whitespace).next().unwrap_or_default()
}

/// Whether a call of this name takes the name of a secret.
fn is_getter(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    GETTERS.iter().any(|verb| name.starts_with(verb))
}

/// The whole name around a word: letters, digits, `_` and `-`, to the left also `.`.
fn name_around(text: &str, word: &Range<usize>) -> Range<usize> {
    let bytes = text.as_bytes();
    let part = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-');
    let left = bytes[..word.start].iter().rev();
    let left = left
        .take(LEFT)
        .take_while(|b| part(b) || **b == b'.')
        .count();
    let right = bytes[word.end..].iter().take_while(|b| part(b)).count();
    let mut name = word.start - left..word.end + right;
    // The letter of an escaped line break is not part of the name.
    let escaped =
        text[..name.start].ends_with('\\') && text[name.clone()].starts_with(['n', 't', 'r']);
    if escaped && begins_word(text, name.start + 1) && name.start < word.start {
        name.start += 1;
    }
    name
}

/// The separator, and the range of the value in `rest`, which follows the name.
fn placed(before: &str, name: &str, rest: &str) -> Option<(Place, Range<usize>)> {
    let flag = name.starts_with('-') && rest.starts_with([' ', '\t']);
    if flag {
        let value = rest.trim_start_matches([' ', '\t']);
        let at = rest.len() - value.len();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let range = match quote {
            Some(quote) => quoted(value, 1, &quote.to_string()),
            None => unquoted(value, 0),
        };
        let shown = value.get(range.clone())?;
        let place = if quote.is_some() {
            Place::Quoted
        } else {
            Place::Flag
        };
        return (!shown.starts_with('-')).then(|| (place, shifted(&range, at)));
    }
    let joint = JOINT.captures(rest)?;
    let closed = joint.name("closed").is_some();
    let by = joint.name("joint")?.as_str().trim();
    let space = joint.name("space").is_some_and(|space| !space.is_empty());
    let led = rest.starts_with([' ', '\t']);
    let end = joint.get(0)?.end();
    let start = joint.name("space")?.end();
    let quote = joint.name("quote");
    let listed = joint
        .name("list")
        .and_then(|list| secret_list(rest, list.end()));
    let range = match (quote, listed) {
        (Some(_), Some(items)) => items,
        (Some(quote), None) => quoted(rest, end, quote.as_str()),
        (None, _) => unquoted(rest, start),
    };
    let place = match (by, closed, quote.is_some()) {
        (">", false, false) if before.ends_with('<') && !space => {
            let value = rest.get(end..)?.split('<').next()?;
            let start = end + value.len() - value.trim_start().len();
            return Some((Place::Certain, start..start + value.trim().len()));
        }
        // Something to pass to another.
        ("to", ..) if name.ends_with("pass") => return None,
        // A path such as `a::b`, not a pair.
        (":", ..) if rest.get(end..).is_some_and(|more| more.starts_with(':')) => return None,
        (",", true, true) => Place::Listed,
        // What a function is called with, or a literal that a value is compared with.
        ("==" | "===" | "!=", _, true) | ("(" | "", false, true) => Place::Called,
        ("", false, false) => Place::Paired,
        ("-" | "->" | "<-", ..) => Place::Dashed,
        ("to", _, false) | ("(" | "" | "==" | "===" | "!=" | ">" | ",", ..) => return None,
        (_, true, true) => Place::Certain,
        (by, ..) if by.to_ascii_lowercase().contains("value") => Place::Certain,
        ("::", _, false) => Place::Spaced,
        (_, _, true) => Place::Quoted,
        (":", ..) => Place::Colon,
        _ if space || led => Place::Spaced,
        _ => Place::Tight,
    };
    Some((place, range))
}

/// The items of a list one of which is a secret by its looks, without the brackets.
fn secret_list(text: &str, start: usize) -> Option<Range<usize>> {
    let items = text.get(start..)?.split([']', '\n']).next()?.trim_end();
    let mut bare = items
        .split(',')
        .map(|item| item.trim().trim_matches(['"', '\'', '`']));
    let is_secret = bare.any(|item| {
        let made = is_random(item) || has_digit(item) && has_sign(item);
        item.len() >= 8 && (is_mixed(item) && made || is_coined(item))
    });
    is_secret.then_some(start..start + items.len())
}

/// Up to the closing quote, else to the end of the line.
fn quoted(text: &str, start: usize, quote: &str) -> Range<usize> {
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

/// Up to a space, a quote, or a separator of pairs.
fn unquoted(text: &str, start: usize) -> Range<usize> {
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
