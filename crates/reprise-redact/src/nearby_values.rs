//! Finds values on another line or in another cell than their name: below a label, in a table.

use std::ops::Range;

use crate::proof::{has_random_class_changes, is_random, is_unlike_word};
use crate::rules::{RedactionRules, ValueRequirement};
use crate::scan::SecretMatch;
use crate::text_parts::{prefix_of, shift_range, suffix_of};

/// Longest line that is a label or a row.
const LINE_BYTES_MAX: usize = 1024;
/// Most rows of a table that are read.
const ROWS_MAX: usize = 100;
/// Most characters and words of a cell that is a name.
const NAME_CHARS_MAX: usize = 40;
const NAME_WORDS_MAX: usize = 3;
/// Most lines between a label and its value: empty ones, and one that underlines.
const BETWEEN_MAX: usize = 3;

/// Prefixes of public keys, certificates, pictures and digests, and texts directly before them.
const PUBLIC_PREFIXES: [&str; 8] = [
    "AAAA", "MII", "MDQ", "MCow", "iVBOR", "sha256-", "sha384-", "sha512-",
];
const PUBLIC_MARKERS: [&str; 4] = ["SHA256:", "h1:", "kid=", "nonce=\""];
/// Words in URLs that give access to anybody who has the URL.
const ACCESS_WORDS: [&str; 8] = [
    "login", "magic", "invite", "reset", "verify", "token", "hook", "auth",
];

/// What a value that is far from its name must have, and whether nothing but a value can be there.
#[derive(Debug, Clone, Copy)]
struct ValueExpectation {
    needs: ValueRequirement,
    is_certain: bool,
}

impl RedactionRules {
    /// Finds the values that the line around `at` names on lines or in cells after it. Returns the
    /// end of the line, too.
    pub(crate) fn find_values_near_line<'a>(
        &self,
        text: &str,
        at: usize,
    ) -> (usize, Vec<SecretMatch<'a>>) {
        let before = suffix_of(&text[..at], LINE_BYTES_MAX);
        let start = at - before.len() + before.rfind('\n').map_or(0, |found| found + 1);
        let rest = prefix_of(&text[at..], LINE_BYTES_MAX);
        let end = at + rest.find('\n').unwrap_or(rest.len());
        let line = &text[start..end];
        let mut found = Vec::new();
        if let Some(wanted) = self.parse_label(line) {
            found.extend(self.find_value_below(text, end, wanted));
        }
        if let Some(delimiter) = find_delimiter(line) {
            found.extend(self.find_values_in_cells(text, start..end, delimiter));
        }
        found.extend(self.find_stray_tokens(text, start..end));
        let found = found.into_iter();
        (
            end,
            found
                .map(|range| SecretMatch::new(range, "assigned"))
                .collect(),
        )
    }

    /// Finds the values of every Kubernetes Secret, whatever their names.
    pub(crate) fn find_manifest_values(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let mut at = 0;
        for manifest in text.split_inclusive("\n---") {
            if manifest.contains("kind: Secret") {
                let values = self.find_values_in_manifest(manifest).into_iter();
                found.extend(values.map(|value| shift_range(&value, at)));
            }
            at += manifest.len();
        }
        found
    }

    fn find_values_in_manifest(&self, text: &str) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        let (mut at, mut outer) = (0, None);
        for line in text.split_inclusive('\n') {
            let start = at;
            at += line.len();
            let bare = line.trim();
            let indent = line.len() - line.trim_start().len();
            if matches!(bare, "data:" | "stringData:") {
                outer = Some(indent);
            } else if !bare.is_empty() && outer.is_some_and(|outer| indent <= outer) {
                outer = None;
            }
            let value = bare
                .split_once(": ")
                .map_or("", |(_, value)| value.trim_matches(is_decoration));
            let is_value = self.placeholders.is_value(value);
            if outer.is_some() && is_value && value.len() >= 4 {
                let value_at = start + line.rfind(value).unwrap_or_default();
                found.push(value_at..value_at + value.len());
            }
        }
        found
    }

    /// Finds tokens of no known form on a line that names a secret.
    fn find_stray_tokens(&self, text: &str, line: Range<usize>) -> Vec<Range<usize>> {
        let signs = |c: char| matches!(c, '_' | '-');
        let written = |c: char| c.is_ascii_alphanumeric() || signs(c) || "+/=".contains(c);
        let whole = &text[line.clone()];
        let runs = whole.split(|c| !written(c)).filter(|run| {
            let last = run.rsplit('/').next().unwrap_or_default();
            has_random_class_changes(last)
                && !PUBLIC_PREFIXES.iter().any(|start| run.starts_with(start))
        });
        let runs: Vec<&str> = runs.collect();
        let mut words = whole.split(|c: char| !(c.is_ascii_alphanumeric() || signs(c)));
        let tells = ["pub", "fingerprint", "kid", "_id", " id"];
        let is_explained = tells.iter().any(|tell| whole.contains(tell));
        let named = |word| {
            let ending = self.names.find_ending(word);
            ending.is_some_and(|ending| !is_explained || ending.needs != ValueRequirement::Random)
        };
        if runs.is_empty() || !words.any(named) {
            return Vec::new();
        }
        let mut at = line.start;
        let found = runs.into_iter().filter_map(|run| {
            let start = at + text[at..line.end].find(run)?;
            at = start + run.len();
            let before = &text[line.start..start];
            let word = before.rsplit(char::is_whitespace).next()?;
            let calls = ["(", "!", ":", "  "];
            let is_call = calls.iter().any(|sign| text[at..].starts_with(sign));
            let is_public = PUBLIC_MARKERS.iter().any(|name| word.ends_with(name));
            // The path of a URL shows whether its last part gives access.
            let path = run.rfind('/').filter(|_| word.contains("://"));
            let (path, start) = path.map_or(("", start), |end| (&run[..end], start + end + 1));
            let opens = |part: &&str| word.contains(*part) || path.contains(*part);
            let is_plain_url = word.contains("://") && !ACCESS_WORDS.iter().any(opens);
            (!is_public && !is_call && !is_plain_url).then_some(start..at)
        });
        found.collect()
    }

    /// Returns what the value must have that a line such as `Password:` announces.
    fn parse_label(&self, line: &str) -> Option<ValueExpectation> {
        let given = line.trim_end();
        let mut line = line.trim_end_matches(is_decoration);
        // In YAML these mean that the next line is a value.
        let is_certain = [": |", ": |-", ": >", ": >-"]
            .iter()
            .any(|style| given.ends_with(style));
        for style in ["|", ">", "|-", ">-", "\"\"\"", "'''", "!vault", "\\"] {
            line = line
                .strip_suffix(style)
                .map_or(line, |line| line.trim_end_matches(is_decoration));
        }
        let bare = line.trim_end_matches([':', '=', '?']);
        // The output of a command follows it.
        let announces = bare.len() < line.len() || line.trim_start().starts_with("$ ");
        let bare = bare.trim_matches(is_decoration).trim_start_matches("- ");
        let bare = skip_speaker(bare).map_or(bare, |at| &bare[at..]);
        let words = bare.split_whitespace().count();
        if let Some(ending) = self.names.find_ending(bare) {
            let is_name = words <= NAME_WORDS_MAX && !bare.contains(['(', '{', '=', ';', ',']);
            let needs = ending.needs;
            return (announces || is_name).then_some(ValueExpectation { needs, is_certain });
        }
        let mut words = bare.split_whitespace();
        let named = words.find_map(|word| self.names.find_ending(word))?;
        announces.then_some(ValueExpectation {
            needs: named.needs,
            is_certain: false,
        })
    }

    /// Finds the value that is alone on a line below the one that ends at `end`.
    fn find_value_below(
        &self,
        text: &str,
        end: usize,
        wanted: ValueExpectation,
    ) -> Option<Range<usize>> {
        let mut at = end;
        for _ in 0..BETWEEN_MAX {
            let rest = text.get(at..)?.strip_prefix('\n')?;
            let line = prefix_of(rest, LINE_BYTES_MAX);
            let line = &line[..line.find('\n').unwrap_or(line.len())];
            let is_rule = line.trim().chars().all(|c| matches!(c, '-' | '=' | '~'));
            let is_fence = line.trim_start().starts_with("```");
            if line.trim().is_empty() || is_rule || is_fence || line.contains("$ANSIBLE_VAULT") {
                at += 1 + line.len();
                continue;
            }
            let value = self.find_value_in_cell(line, wanted)?;
            let start = at + 1 + value.start;
            // The value may be wrapped over more lines.
            let mut end = at + 1 + value.end;
            for line in text
                .get(at + 1 + line.len()..)?
                .split('\n')
                .skip(1)
                .take(ROWS_MAX)
            {
                let value = line.trim();
                if value.len() > LINE_BYTES_MAX || !is_random(value) {
                    break;
                }
                end = text[end..]
                    .find(value)
                    .map_or(end, |found| end + found + value.len());
            }
            return Some(start..end);
        }
        None
    }

    /// Finds the value in a line or a cell that has nothing else.
    fn find_value_in_cell(&self, cell: &str, wanted: ValueExpectation) -> Option<Range<usize>> {
        let value = cell.trim_start_matches(is_decoration);
        let value = value.strip_prefix("- ").unwrap_or(value);
        let value = skip_speaker(value).map_or(value, |at| &value[at..]);
        let value = value.trim_start_matches(is_decoration);
        let start = cell.len() - value.len();
        let value = value.trim_end_matches(|c| is_decoration(c) || matches!(c, ',' | ';' | '\\'));
        let spaced = value.contains(char::is_whitespace);
        let is_secret = !spaced && self.placeholders.is_value(value) && is_strong(value, wanted);
        is_secret.then_some(start..start + value.len())
    }

    /// Finds the values in the cell after a name, or in the rows below it.
    fn find_values_in_cells(
        &self,
        text: &str,
        line: Range<usize>,
        delimiter: char,
    ) -> Vec<Range<usize>> {
        let header = split_cells(text, line.clone(), delimiter);
        let named = header.iter().enumerate().filter_map(|(column, cell)| {
            let name = text[cell.clone()].trim_matches(is_decoration);
            let short = name.chars().count() <= NAME_CHARS_MAX;
            let short = short && name.split_whitespace().count() <= NAME_WORDS_MAX;
            let ending = self.names.find_ending(name).filter(|_| short)?;
            Some((column, ending.needs))
        });
        let named: Vec<(usize, ValueRequirement)> = named.collect();
        let wanted = |needs, is_certain| ValueExpectation { needs, is_certain };
        let mut found = Vec::new();
        if matches!(delimiter, '|' | '\t') {
            for (column, needs) in &named {
                let cell = header.get(column + 1).cloned();
                let wanted = wanted(*needs, false);
                found.extend(cell.and_then(|cell| self.find_value_of_cell(text, cell, wanted)));
            }
        }
        let is_header = delimiter == '|' || header.iter().all(|cell| is_title(&text[cell.clone()]));
        if named.is_empty() || header.len() < 2 || !is_header {
            return found;
        }
        let mut end = line.end;
        for _ in 0..ROWS_MAX {
            let Some(rest) = text.get(end..).and_then(|rest| rest.strip_prefix('\n')) else {
                break;
            };
            let row = prefix_of(rest, LINE_BYTES_MAX);
            let row = end + 1..end + 1 + row.find('\n').unwrap_or(row.len());
            end = row.end;
            let row = split_cells(text, row, delimiter);
            let names_again = named.iter().any(|(column, _)| {
                let cell = row
                    .get(*column)
                    .map(|cell| text[cell.clone()].trim_matches(is_decoration));
                cell.is_some_and(|cell| self.names.find_ending(cell).is_some())
            });
            if row.len() != header.len() || names_again {
                break;
            }
            for (column, needs) in &named {
                let cell = row.get(*column).cloned();
                let wanted = wanted(*needs, true);
                found.extend(cell.and_then(|cell| self.find_value_of_cell(text, cell, wanted)));
            }
        }
        found
    }

    fn find_value_of_cell(
        &self,
        text: &str,
        cell: Range<usize>,
        wanted: ValueExpectation,
    ) -> Option<Range<usize>> {
        let value = self.find_value_in_cell(text.get(cell.clone())?, wanted)?;
        Some(shift_range(&value, cell.start))
    }
}

/// Whether a character is around a name or a value and not a part of either.
fn is_decoration(c: char) -> bool {
    c.is_whitespace() || matches!(c, '*' | '_' | '`' | '"' | '\'' | '>' | '#')
}

/// Returns the offset of the text after `name: `, as in a chat or an interview.
fn skip_speaker(line: &str) -> Option<usize> {
    let (name, _) = line.split_once(": ")?;
    let is_name = !name.is_empty() && name.len() <= 20 && !name.contains(char::is_whitespace);
    is_name.then_some(name.len() + 2)
}

/// Finds the character that separates the cells of a line.
fn find_delimiter(line: &str) -> Option<char> {
    let mut signs = ['|', '\t', ';', ','].into_iter();
    signs.find(|sign| line.trim().contains(*sign))
}

fn split_cells(text: &str, line: Range<usize>, delimiter: char) -> Vec<Range<usize>> {
    let mut start = line.start;
    let parts = text[line].split(delimiter);
    let cells = parts.map(|part| {
        let cell = start..start + part.len();
        start = cell.end + delimiter.len_utf8();
        cell
    });
    cells.collect()
}

/// Whether a cell is the title of a column.
fn is_title(cell: &str) -> bool {
    let cell = cell.trim_matches(is_decoration);
    let written = |c: char| c.is_alphabetic() || matches!(c, ' ' | '_' | '-' | '.');
    !cell.is_empty()
        && cell.split_whitespace().count() <= NAME_WORDS_MAX
        && cell.chars().all(written)
}

/// Whether a value that is far from its name is a secret: not a word, a number or a type.
fn is_strong(value: &str, ValueExpectation { needs, is_certain }: ValueExpectation) -> bool {
    if needs == ValueRequirement::Random {
        return value.len() >= 24 && is_random(value);
    }
    let letters = value.chars().any(|c| c.is_ascii_alphabetic());
    let cased = value.chars().any(|c| c.is_ascii_uppercase())
        && value.chars().any(|c| c.is_ascii_lowercase());
    let signed = value.contains(['!', '#', '$', '%', '^', '*', '+', '@', '~', '?', '&']);
    let long = value.len()
        >= if needs == ValueRequirement::Any {
            8
        } else {
            16
        };
    let mixed = is_unlike_word(value) && letters;
    let is_label_value = is_certain && needs == ValueRequirement::Any && long;
    value.len() >= 6 && (mixed && (signed || cased && long || is_label_value) || is_random(value))
}

#[cfg(test)]
mod tests {
    use crate::Redactor;

    #[test]
    fn a_table_or_a_label_gives_its_values_and_keeps_the_rest() {
        for (text, expected) in [
            (
                "| user | password | since |\n|---|---|---|\n| ada | Kx7!mmQ2 | 2024 |\n\
                 | bob | in 1Password | 2023 |",
                "| user | password | since |\n|---|---|---|\n| ada | [redacted:assigned] | 2024 |\n\
                 | bob | in 1Password | 2023 |",
            ),
            (
                "user,password\nada,Kx7!mmQ2\n\nmore,text7A!x9",
                "user,password\nada,[redacted:assigned]\n\nmore,text7A!x9",
            ),
            (
                "v: 1\ndata:\n  a: YWRhYmNk\n  b: |\n  c: YWRhYmNl\n\
                 kind: Secret\n---\ndata:\n  d: plain",
                "v: 1\ndata:\n  a: [redacted:assigned]\n  b: |\n  c: [redacted:assigned]\n\
                 kind: Secret\n---\ndata:\n  d: plain",
            ),
            (
                "DB password\n-----\nKx7!mmQ2\n",
                "DB password\n-----\n[redacted:assigned]\n",
            ),
            (
                "The password:\n\n  - `Kx7!mmQ2`",
                "The password:\n\n  - `[redacted:assigned]`",
            ),
            (
                "The password:\nsee the vault",
                "The password:\nsee the vault",
            ),
            ("password:\n  required: true", "password:\n  required: true"),
        ] {
            assert_eq!(Redactor::new().redact_text(text).text, expected);
        }
    }
}
