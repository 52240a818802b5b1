//! One pass over a text: finds the search words, checks the rules they belong to, replaces secrets.

use std::ops::Range;

use crate::element::{Unclosed, elements};
use crate::rules::{Meaning, Phrase, Rules, Token};

/// Most passes over a text: a replacement may uncover another secret.
const PASSES_MAX: usize = 4;
/// Bytes before a token that its rule may examine.
const BEFORE: usize = 64;
/// Bytes of a URL in which user and password are looked for.
const ADDRESS: usize = 512;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    pub text: String,
    /// What was taken out, in the order it was found.
    pub removed: Vec<Removed>,
}

/// A secret that was taken out, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Removed {
    /// The rule that found it; the text has `[redacted:rule]` in its place.
    pub rule: String,
    /// The line of the text on which it began, from 1.
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) kind: &'a str,
    /// Length of the known prefix.
    pub(crate) known: usize,
}

impl Rules {
    /// Replaces every secret by `[redacted:kind]`. Idempotent.
    #[must_use]
    pub fn redact(&self, text: &str) -> Redacted {
        let mut redacted = Redacted {
            text: text.to_owned(),
            removed: Vec::new(),
        };
        // Where each line of the text stood before anything was taken out.
        let mut lines: Vec<u32> = Vec::new();
        for _ in 0..PASSES_MAX {
            let found = self.found(&redacted.text);
            if found.is_empty() {
                break;
            }
            if lines.is_empty() {
                lines.extend((1..).take(breaks(text) + 1));
            }
            redacted = replaced(redacted, &found, &mut lines);
        }
        redacted
    }

    /// Every secret, in order, none overlapping another.
    fn found<'a>(&'a self, text: &str) -> Vec<Found<'a>> {
        let mut all: Vec<Found<'a>> = Vec::new();
        let mut named_until = 0;
        for word in self.words.find_overlapping_iter(text) {
            for meaning in &self.meanings[word.pattern().as_usize()] {
                match meaning {
                    Meaning::Token(index) => {
                        all.extend(self.token(&self.tokens[*index], text, word.start()));
                    }
                    Meaning::Phrase(index) => {
                        all.extend(self.phrase(&self.phrases[*index], text, word.start()));
                    }
                    Meaning::Name if word.start() >= named_until => {
                        let (end, found) = self.named(text, word.range());
                        named_until = end;
                        all.extend(found);
                    }
                    Meaning::Name => {}
                }
            }
        }
        for (kind, like) in &self.shapes {
            all.extend(like.find_iter(text).map(|found| Found {
                range: found.range(),
                kind,
                known: 0,
            }));
        }
        for (at, _) in text.match_indices("://") {
            all.extend(self.address(text, at + 3));
        }
        for range in elements(text, "private", Unclosed::Stays) {
            all.push(Found {
                range,
                kind: "private",
                known: 0,
            });
        }
        // Earliest first, then longest, then the longest known prefix.
        all.sort_by_key(|found| {
            let Range { start, end } = found.range;
            (start, std::cmp::Reverse((end, found.known)))
        });
        let mut apart: Vec<Found<'a>> = Vec::with_capacity(all.len());
        for found in all {
            match apart.last_mut() {
                Some(last) if found.range.start < last.range.end => {
                    last.range.end = last.range.end.max(found.range.end);
                }
                _ => apart.push(found),
            }
        }
        apart
    }

    fn token<'a>(&self, token: &'a Token, text: &str, at: usize) -> Option<Found<'a>> {
        let from = text.get(at..)?;
        let rest = from.strip_prefix(token.start.as_str())?;
        if !token.within && !begins_word(text, at) {
            return None;
        }
        let then = token.then.find(rest)?;
        let mut start = at;
        if let Some(before) = &token.before {
            let from = text.floor_char_boundary(at.saturating_sub(BEFORE));
            start = from + before.find(text.get(from..at)?)?.start();
        }
        let range = start..at + token.start.len() + then.end();
        let (secret, after) = (text.get(range.clone())?, text.get(range.end..)?);
        self.placeholders
            .prove(token.proof, secret, after)
            .then_some(Found {
                range,
                kind: &token.kind,
                known: token.start.len(),
            })
    }

    fn phrase<'a>(&self, phrase: &'a Phrase, text: &str, at: usize) -> Option<Found<'a>> {
        if !begins_word(text, at) {
            return None;
        }
        let from = text.get(at..)?;
        let secret = phrase.like.captures(from)?.name("secret")?;
        let after = from.get(secret.end()..)?;
        let proven = self
            .placeholders
            .prove(phrase.proof, secret.as_str(), after);
        proven.then(|| Found {
            range: at + secret.start()..at + secret.end(),
            kind: &phrase.kind,
            known: 0,
        })
    }

    /// The password of a URL, or a token as its user: `scheme://user:password@`.
    fn address(&self, text: &str, at: usize) -> Option<Found<'static>> {
        let rest = text.get(at..)?;
        let end = text.floor_char_boundary((at + ADDRESS).min(text.len()));
        let end = rest
            .find(|c: char| {
                c.is_whitespace() || matches!(c, '"' | '\'' | '`' | '<' | '>' | '\\' | '|')
            })
            .map_or(end, |found| end.min(at + found));
        let rest = text.get(at..end)?;
        // An `@` after `?` or `#`, or in a path after a port, does not follow a user.
        let before_query = rest.find(['?', '#']);
        let last = rest.rfind('@')?;
        let ats = rest.match_indices('@').map(|(found, _)| found);
        let mut before_it = ats.filter(|found| before_query.is_none_or(|query| *found < query));
        let user_end = before_it.next_back().unwrap_or(last);
        let user = rest.get(..user_end)?;
        let host = rest.get(user_end + 1..)?;
        if !host.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '[' | '$' | '{' | '_')) {
            return None;
        }
        let secret = match user.split_once(':') {
            Some((name, _)) if name.contains(['/', '[']) => return None,
            Some((_, password)) => {
                let port = password.split('/').next().unwrap_or_default();
                let is_port = password.contains('/')
                    && port.len() <= 5
                    && port.bytes().all(|b| b.is_ascii_digit());
                if is_port {
                    return None;
                }
                let name = user.len() - password.len() - 1;
                if password == "x-oauth-basic" || password.is_empty() || is_token(&user[..name]) {
                    0..name
                } else {
                    name + 1..user.len()
                }
            }
            None if is_token(user) => 0..user.len(),
            None => return None,
        };
        let value = user.get(secret.clone())?;
        let shown = value.is_empty()
            || value.starts_with("[redacted:")
            || !self.placeholders.is_value(value);
        (!shown).then_some(Found {
            range: at + secret.start..at + secret.end,
            kind: "url_password",
            known: 0,
        })
    }
}

/// `from` without what was found in it; `lines` are those of its text, and become those of the result.
fn replaced(from: Redacted, found: &[Found<'_>], lines: &mut Vec<u32>) -> Redacted {
    let Redacted { text, mut removed } = from;
    let mut kept = String::with_capacity(text.len());
    let mut kept_lines = Vec::with_capacity(lines.len());
    let (mut at, mut line) = (0, 0);
    for secret in found {
        let before = &text[at..secret.range.start];
        kept.push_str(before);
        kept.push_str(&["[redacted:", secret.kind, "]"].concat());
        let until = line + breaks(before);
        kept_lines.extend_from_slice(&lines[line..until]);
        removed.push(Removed {
            rule: secret.kind.to_owned(),
            line: lines[until],
        });
        line = until + breaks(&text[secret.range.clone()]);
        lines[line] = lines[until];
        at = secret.range.end;
    }
    kept.push_str(&text[at..]);
    kept_lines.extend_from_slice(&lines[line..]);
    *lines = kept_lines;
    Redacted {
        text: kept,
        removed,
    }
}

/// The line breaks of a text.
fn breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Whether the user part of a URL is a token.
fn is_token(user: &str) -> bool {
    let written = user
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.' | '~'));
    let digits = user.bytes().filter(u8::is_ascii_digit).count();
    user.len() >= 16 && written && digits >= 2 && user.bytes().any(|b| b.is_ascii_alphabetic())
}

/// Whether `at` is at the beginning of a word; an escaped line break before it does not count as
/// part of the word.
pub(crate) fn begins_word(text: &str, at: usize) -> bool {
    let mut before = text[..at].chars().rev();
    match before.next() {
        Some(c) if c.is_alphanumeric() || c == '_' => {
            let escaped = matches!(c, 'n' | 't' | 'r') && before.next() == Some('\\');
            escaped || is_escape(&text[..at])
        }
        _ => true,
    }
}

/// Whether `before` ends with a percent-encoded byte such as `%3D`.
fn is_escape(before: &str) -> bool {
    let Some(tail) = before.len().checked_sub(3).and_then(|at| before.get(at..)) else {
        return false;
    };
    let mut bytes = tail.bytes();
    bytes.next() == Some(b'%') && bytes.all(|b| b.is_ascii_hexdigit())
}
