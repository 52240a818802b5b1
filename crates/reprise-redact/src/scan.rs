//! One pass over a text: finds the search words, checks the rules they belong to, replaces secrets.

use std::ops::Range;

use crate::address::address;
use crate::element::{Unclosed, elements};
use crate::encoded::encoded;
use crate::fold::Folded;
use crate::proof::is_random;
use crate::rules::{Meaning, Needs, Phrase, Rules, Token};

/// Most passes over a text: a replacement may uncover another secret.
const PASSES_MAX: usize = 4;
/// Bytes before a token that its rule may examine.
const BEFORE: usize = 64;
/// Bytes from where it begins in which a rule finds its secret; one that goes on is then followed
/// to its end. So a text costs a rule no more than this for each place where it may begin.
pub(crate) const REACH: usize = 1024;

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
        let mut all = self.found_as_written(text);
        for (run, plain) in encoded(text) {
            if !self.found_as_written(&plain).is_empty() {
                all.push(Found::new(run, "encoded"));
            }
        }
        if let Some(folded) = Folded::of(text) {
            let found = self.found_as_written(&folded.text).into_iter();
            all.extend(found.map(|one| Found {
                range: folded.given(&one.range),
                ..one
            }));
        }
        apart(all)
    }

    /// Every secret of a text, in no order.
    fn found_as_written<'a>(&'a self, text: &str) -> Vec<Found<'a>> {
        let mut all: Vec<Found<'a>> = Vec::new();
        // Up to where a rule has looked, or a name and its value are read.
        let mut tokens = vec![0; self.tokens.len()];
        let mut phrases = vec![0; self.phrases.len()];
        let (mut named, mut lined) = (0, 0);
        for word in self.words.find_overlapping_iter(text) {
            let at = word.start();
            for meaning in &self.meanings[word.pattern().as_usize()] {
                match *meaning {
                    Meaning::Token(index) if at >= tokens[index] => {
                        let (until, found) = self.token(&self.tokens[index], text, at);
                        tokens[index] = until;
                        all.extend(found);
                    }
                    Meaning::Phrase(index) if at >= phrases[index] => {
                        let (until, found) = self.phrase(&self.phrases[index], text, at);
                        phrases[index] = until;
                        all.extend(found);
                    }
                    Meaning::Name => {
                        if at >= named {
                            let (end, found) = self.named(text, word.range());
                            named = end;
                            all.extend(found);
                        }
                        if at >= lined {
                            let (end, found) = self.lines(text, at);
                            lined = end;
                            all.extend(found);
                        }
                    }
                    Meaning::Token(_) | Meaning::Phrase(_) => {}
                }
            }
        }
        for (kind, like, proof) in &self.shapes {
            let found = like.find_iter(text);
            let found = found.filter(|one| self.placeholders.prove(*proof, one.as_str(), ""));
            all.extend(found.map(|found| Found::new(found.range(), kind)));
        }
        for (at, _) in text.match_indices("://") {
            let found = address(&self.placeholders, text, at + 3);
            all.extend(found.map(|range| Found::new(range, "url_password")));
        }
        let manifests = self.manifests(text).into_iter();
        all.extend(manifests.map(|range| Found::new(range, "assigned")));
        let private = elements(text, "private", Unclosed::Stays).into_iter();
        // `<private>...</private>` only says how it is written.
        let holds = |range: &Range<usize>| !text[range.clone()].contains(">...<");
        let private = private.filter(holds);
        all.extend(private.map(|range| Found::new(range, "private")));
        all
    }

    /// The secret of a token, and from where on the token may be looked for again.
    fn token<'a>(&self, token: &'a Token, text: &str, at: usize) -> (usize, Option<Found<'a>>) {
        let rest = text.get(at..).unwrap_or_default();
        let rest = rest.strip_prefix(token.start.as_str());
        let Some(rest) = rest.filter(|_| token.within || begins_word(text, at)) else {
            return (at, None);
        };
        let within = head(rest, token.reach);
        let Some(then) = token.then.find(within).map(|then| then.end()) else {
            // What looks far is not looked for again soon where it was not found.
            let far = if token.reach > REACH {
                token.reach / 2
            } else {
                0
            };
            return (at + far, None);
        };
        let end = at + token.start.len() + then;
        let Some(start) = token.before.as_ref().map_or(Some(at), |before| {
            let from = text.floor_char_boundary(at.saturating_sub(BEFORE));
            Some(from + before.find(text.get(from..at)?)?.start())
        }) else {
            return (at, None);
        };
        let (secret, after) = (&text[start..end], &text[end..]);
        if !self.placeholders.prove(token.proof, secret, after) {
            // A part of it proves no more.
            return (end, None);
        }
        let end = end + goes_on(within, then, after);
        let found = Found {
            range: start..end,
            kind: &token.kind,
            known: token.start.len(),
        };
        (end, Some(found))
    }

    /// The secret of a phrase, and from where on the phrase may be looked for again.
    fn phrase<'a>(&self, phrase: &'a Phrase, text: &str, at: usize) -> (usize, Option<Found<'a>>) {
        if !phrase.within && !begins_word(text, at) {
            return (at, None);
        }
        let within = head(text.get(at..).unwrap_or_default(), REACH);
        let parts = phrase.like.captures(within);
        let secret = parts.as_ref().and_then(|parts| parts.name("secret"));
        let Some((parts, secret)) = parts.as_ref().zip(secret) else {
            return (at, None);
        };
        let is_named = parts.name("name").is_none_or(|name| {
            let ending = self.names.ending(name.as_str());
            ending.is_some_and(|ending| ending.needs != Needs::Random || is_random(secret.as_str()))
        });
        let after = text.get(at + secret.end()..).unwrap_or_default();
        let proven = self
            .placeholders
            .prove(phrase.proof, secret.as_str(), after);
        if !is_named || !proven {
            return (at + secret.start() + passed_over(secret.len()), None);
        }
        let end = at + secret.end() + goes_on(within, secret.end(), after);
        (
            end,
            Some(Found::new(at + secret.start()..end, &phrase.kind)),
        )
    }
}

impl<'a> Found<'a> {
    pub(crate) fn new(range: Range<usize>, kind: &'a str) -> Self {
        Self {
            range,
            kind,
            known: 0,
        }
    }
}

/// What was found, in order: what overlaps is one.
fn apart(mut all: Vec<Found<'_>>) -> Vec<Found<'_>> {
    // Earliest first, then longest, then the longest known prefix.
    all.sort_by_key(|found| {
        let Range { start, end } = found.range;
        (start, std::cmp::Reverse((end, found.known)))
    });
    let mut apart: Vec<Found<'_>> = Vec::with_capacity(all.len());
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

/// `from` without what was found in it; `lines` are those of its text, then those of the result.
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

/// How far from the beginning of a value that is none a rule does not look again: nothing, but for
/// one so long that each place in it would cost as much.
pub(crate) fn passed_over(value_bytes: usize) -> usize {
    if value_bytes < REACH / 2 {
        0
    } else {
        REACH / 16
    }
}

/// A range of a part of a text that begins at `by`, in the text.
pub(crate) fn shifted(range: &Range<usize>, by: usize) -> Range<usize> {
    by + range.start..by + range.end
}

/// The first `bytes_max` bytes of a text.
pub(crate) fn head(text: &str, bytes_max: usize) -> &str {
    &text[..text.floor_char_boundary(bytes_max)]
}

/// The last `bytes_max` bytes of a text.
pub(crate) fn tail(text: &str, bytes_max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(bytes_max))..]
}

/// How many bytes a secret goes on in `after`, where it ended only with what was looked at.
pub(crate) fn goes_on(looked_at: &str, end: usize, after: &str) -> usize {
    if end < looked_at.len() {
        return 0;
    }
    let signs = ['"', '\'', '`', '<', '>', '\\', ',', ';'];
    let ends = |c: char| c.is_whitespace() || signs.contains(&c);
    after.find(ends).unwrap_or(after.len())
}
