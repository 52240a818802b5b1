//! One pass over a text: finds the search words, checks their rules, and replaces secrets.

use std::ops::Range;

use crate::address::find_url_secret;
use crate::element::{UnclosedElement, find_elements};
use crate::encoded::decode_runs;
use crate::fold::FoldedText;
use crate::proof::is_random;
use crate::rules::{
    PhraseMatcher, REACH_BYTES, RedactionRules, TokenMatcher, ValueRequirement, WordRole,
};
use crate::text_parts::prefix_of;

/// Most passes over a text: a replacement may uncover another secret.
const PASSES_MAX: usize = 4;
/// Most bytes before a token that its rule may examine.
const BEFORE_BYTES_MAX: usize = 64;

/// A text without its secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedText {
    pub text: String,
    /// The removed secrets, in the order in which they were found.
    pub removed: Vec<RemovedSecret>,
}

/// A secret that was removed, without its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemovedSecret {
    /// The rule that found it; the text has `[redacted:rule]` instead.
    pub rule: String,
    /// The line of the text on which it began, from 1.
    pub line: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SecretMatch<'a> {
    pub(crate) range: Range<usize>,
    pub(crate) kind: &'a str,
    /// Length of the known prefix of the secret.
    pub(crate) prefix_len: usize,
}

impl RedactionRules {
    /// Replaces every secret by `[redacted:kind]`. Idempotent.
    pub fn redact(&self, text: &str) -> RedactedText {
        let mut redacted = RedactedText {
            text: text.to_owned(),
            removed: Vec::new(),
        };
        // The number of each line in the original text.
        let mut lines: Vec<u32> = Vec::new();
        for _ in 0..PASSES_MAX {
            let found = self.find_secrets(&redacted.text);
            if found.is_empty() {
                break;
            }
            if lines.is_empty() {
                lines.extend((1..).take(count_line_breaks(text) + 1));
            }
            redacted = replace_secrets(redacted, &found, &mut lines);
        }
        redacted
    }

    /// Finds every secret, in order and without overlaps.
    fn find_secrets<'a>(&'a self, text: &str) -> Vec<SecretMatch<'a>> {
        let mut all = self.find_secrets_as_written(text);
        for (run, plain) in decode_runs(text) {
            if !self.find_secrets_as_written(&plain).is_empty() {
                all.push(SecretMatch::new(run, "encoded"));
            }
        }
        if let Some(folded) = FoldedText::fold(text) {
            let found = self.find_secrets_as_written(&folded.text).into_iter();
            all.extend(found.map(|one| SecretMatch {
                range: folded.original_range(&one.range),
                ..one
            }));
        }
        merge_overlapping(all)
    }

    /// Finds every secret in the text as it is written, in no order.
    fn find_secrets_as_written<'a>(&'a self, text: &str) -> Vec<SecretMatch<'a>> {
        let mut all: Vec<SecretMatch<'a>> = Vec::new();
        // The position up to which each rule, and the search for names, has examined the text.
        let mut tokens = vec![0; self.tokens.len()];
        let mut phrases = vec![0; self.phrases.len()];
        let (mut named, mut lined) = (0, 0);
        for word in self.word_search.find_overlapping_iter(text) {
            let at = word.start();
            for role in &self.word_roles[word.pattern().as_usize()] {
                match *role {
                    WordRole::TokenMatcher(index) if at >= tokens[index] => {
                        let (until, found) = self.match_token(&self.tokens[index], text, at);
                        tokens[index] = until;
                        all.extend(found);
                    }
                    WordRole::PhraseMatcher(index) if at >= phrases[index] => {
                        let (until, found) = self.match_phrase(&self.phrases[index], text, at);
                        phrases[index] = until;
                        all.extend(found);
                    }
                    WordRole::Name => {
                        if at >= named {
                            let (end, found) = self.find_named_value(text, word.range());
                            named = end;
                            all.extend(found);
                        }
                        if at >= lined {
                            let (end, found) = self.find_values_near_line(text, at);
                            lined = end;
                            all.extend(found);
                        }
                    }
                    WordRole::TokenMatcher(_) | WordRole::PhraseMatcher(_) => {}
                }
            }
        }
        for (kind, like, proof) in &self.shapes {
            let found = like.find_iter(text);
            let found = found.filter(|one| self.placeholders.is_proven(*proof, one.as_str(), ""));
            // The digits of an id may look like those of a card.
            let found = found.filter(|one| !is_within_uuid(text, one.range()));
            all.extend(found.map(|found| SecretMatch::new(found.range(), kind)));
        }
        for (at, _) in text.match_indices("://") {
            let found = find_url_secret(&self.placeholders, text, at + 3);
            all.extend(found.map(|range| SecretMatch::new(range, "url_password")));
        }
        let manifests = self.find_manifest_values(text).into_iter();
        all.extend(manifests.map(|range| SecretMatch::new(range, "assigned")));
        let private = find_elements(text, "private", UnclosedElement::KeepAsText).into_iter();
        // `<private>...</private>` only explains the tag.
        let holds = |range: &Range<usize>| !text[range.clone()].contains(">...<");
        let private = private.filter(holds);
        all.extend(private.map(|range| SecretMatch::new(range, "private")));
        all
    }

    /// Finds the secret of a token at `at`. Returns the position from which the token may be
    /// searched for again, too.
    fn match_token<'a>(
        &self,
        token: &'a TokenMatcher,
        text: &str,
        at: usize,
    ) -> (usize, Option<SecretMatch<'a>>) {
        let rest = text.get(at..).unwrap_or_default();
        let rest = rest.strip_prefix(token.start.as_str());
        let Some(rest) = rest.filter(|_| token.inside_words || is_at_word_start(text, at)) else {
            return (at, None);
        };
        let within = prefix_of(rest, token.reach);
        let Some(then) = token.rest.find(within).map(|then| then.end()) else {
            // A token with a long reach is not searched for again soon if it was not found.
            let far = if token.reach > REACH_BYTES {
                token.reach / 2
            } else {
                0
            };
            return (at + far, None);
        };
        let end = at + token.start.len() + then;
        let Some(start) = token.before.as_ref().map_or(Some(at), |before| {
            let from = text.floor_char_boundary(at.saturating_sub(BEFORE_BYTES_MAX));
            Some(from + before.find(text.get(from..at)?)?.start())
        }) else {
            return (at, None);
        };
        let (secret, after) = (&text[start..end], &text[end..]);
        if !self.placeholders.is_proven(token.proof, secret, after) {
            // A part of it proves no more.
            return (end, None);
        }
        let end = end + secret_tail_len(within, then, after);
        let found = SecretMatch {
            range: start..end,
            kind: &token.kind,
            prefix_len: token.start.len(),
        };
        (end, Some(found))
    }

    /// Finds the secret of a phrase at `at`. Returns the position from which the phrase may be
    /// searched for again, too.
    fn match_phrase<'a>(
        &self,
        phrase: &'a PhraseMatcher,
        text: &str,
        at: usize,
    ) -> (usize, Option<SecretMatch<'a>>) {
        if !phrase.inside_words && !is_at_word_start(text, at) {
            return (at, None);
        }
        let within = prefix_of(text.get(at..).unwrap_or_default(), REACH_BYTES);
        let parts = phrase.like.captures(within);
        let secret = parts.as_ref().and_then(|parts| parts.name("secret"));
        let Some((parts, secret)) = parts.as_ref().zip(secret) else {
            return (at, None);
        };
        let is_named = parts.name("name").is_none_or(|name| {
            let ending = self.names.find_ending(name.as_str());
            ending.is_some_and(|ending| {
                ending.needs != ValueRequirement::Random || is_random(secret.as_str())
            })
        });
        let after = text.get(at + secret.end()..).unwrap_or_default();
        let proven = self
            .placeholders
            .is_proven(phrase.proof, secret.as_str(), after);
        if !is_named || !proven {
            return (at + secret.start() + skip_after_failure(secret.len()), None);
        }
        let end = at + secret.end() + secret_tail_len(within, secret.end(), after);
        (
            end,
            Some(SecretMatch::new(at + secret.start()..end, &phrase.kind)),
        )
    }
}

impl<'a> SecretMatch<'a> {
    pub(crate) fn new(range: Range<usize>, kind: &'a str) -> Self {
        Self {
            range,
            kind,
            prefix_len: 0,
        }
    }
}

/// Sorts matches and merges those that overlap.
fn merge_overlapping(mut all: Vec<SecretMatch<'_>>) -> Vec<SecretMatch<'_>> {
    // Earliest first, then longest, then the longest known prefix.
    all.sort_by_key(|found| {
        let Range { start, end } = found.range;
        (start, std::cmp::Reverse((end, found.prefix_len)))
    });
    let mut merged: Vec<SecretMatch<'_>> = Vec::with_capacity(all.len());
    for found in all {
        match merged.last_mut() {
            Some(last) if found.range.start < last.range.end => {
                last.range.end = last.range.end.max(found.range.end);
            }
            _ => merged.push(found),
        }
    }
    merged
}

/// Replaces the matches in `from`. `lines` has the original line numbers of its text, and then
/// those of the result.
fn replace_secrets(
    from: RedactedText,
    found: &[SecretMatch<'_>],
    lines: &mut Vec<u32>,
) -> RedactedText {
    let RedactedText { text, mut removed } = from;
    let mut remaining = String::with_capacity(text.len());
    let mut remaining_lines = Vec::with_capacity(lines.len());
    let (mut at, mut line) = (0, 0);
    for secret in found {
        let before = &text[at..secret.range.start];
        remaining.push_str(before);
        remaining.push_str(&["[redacted:", secret.kind, "]"].concat());
        let until = line + count_line_breaks(before);
        remaining_lines.extend_from_slice(&lines[line..until]);
        removed.push(RemovedSecret {
            rule: secret.kind.to_owned(),
            line: lines[until],
        });
        line = until + count_line_breaks(&text[secret.range.clone()]);
        lines[line] = lines[until];
        at = secret.range.end;
    }
    remaining.push_str(&text[at..]);
    remaining_lines.extend_from_slice(&lines[line..]);
    *lines = remaining_lines;
    RedactedText {
        text: remaining,
        removed,
    }
}

/// Counts the line breaks of a text.
fn count_line_breaks(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// Whether `at` is at the beginning of a word; an escaped line break before it does not count as
/// part of the word.
pub(crate) fn is_at_word_start(text: &str, at: usize) -> bool {
    let mut before = text[..at].chars().rev();
    match before.next() {
        Some(c) if c.is_alphanumeric() || c == '_' => {
            let escaped = matches!(c, 'n' | 't' | 'r') && before.next() == Some('\\');
            escaped || ends_with_percent_escape(&text[..at])
        }
        _ => true,
    }
}

/// Whether `before` ends with a percent-encoded byte such as `%3D`.
fn ends_with_percent_escape(before: &str) -> bool {
    let Some(tail) = before.len().checked_sub(3).and_then(|at| before.get(at..)) else {
        return false;
    };
    let mut bytes = tail.bytes();
    bytes.next() == Some(b'%') && bytes.all(|b| b.is_ascii_hexdigit())
}

/// Returns how many bytes a rule skips after a value that is no secret: none, unless the value is
/// so long that examining it at each position would be expensive.
pub(crate) fn skip_after_failure(value_bytes: usize) -> usize {
    if value_bytes < REACH_BYTES / 2 {
        0
    } else {
        REACH_BYTES / 16
    }
}

/// Returns how many bytes a secret continues in `after`, if it ended with the examined text.
pub(crate) fn secret_tail_len(looked_at: &str, end: usize, after: &str) -> usize {
    if end < looked_at.len() {
        return 0;
    }
    let signs = ['"', '\'', '`', '<', '>', '\\', ',', ';'];
    let ends = |c: char| c.is_whitespace() || signs.contains(&c);
    after.find(ends).unwrap_or(after.len())
}

/// Lengths of the groups of a UUID (RFC 9562), which hyphens part.
const UUID_GROUPS: [usize; 5] = [8, 4, 4, 4, 12];

/// Whether a place of a text lies within a UUID.
fn is_within_uuid(text: &str, place: Range<usize>) -> bool {
    let is_part = |c: char| c.is_ascii_hexdigit() || c == '-';
    let (before, rest) = text.split_at(place.start);
    let start = before.trim_end_matches(is_part).len();
    let end = text.len() - rest.trim_start_matches(is_part).len();
    let whole = text.get(start..end).unwrap_or_default();
    place.end <= end && whole.split('-').map(str::len).eq(UUID_GROUPS)
}
