//! Finds words that are spelled like an unknown one in a sorted dictionary, without reading the
//! words that begin differently.

use std::collections::BTreeSet;

use super::language::fold_accents;

/// Fewest letters of a word that is looked up one edit away.
const ONE_EDIT_LETTERS_MIN: usize = 5;
const TWO_EDITS_LETTERS_MIN: usize = 7;
const NAME_TWO_EDITS_LETTERS_MIN: usize = 9;
const LETTERS_MAX: usize = 24;
/// Most letters of an ending that may contain the typing error.
const ENDING_MAX: usize = 6;
const STEM_MIN: usize = 4;

/// One word, and the keys found so far that are the fewest edits away. An edit is a letter too
/// many, one missing, one replaced, or two swapped.
#[derive(Debug)]
pub(crate) struct SpellingMatcher {
    typed: Vec<char>,
    /// Most edits of a match.
    edits_max: usize,
    matches: BTreeSet<String>,
    /// The key visited last; `edit_rows` has the edits between each prefix of it and of the word.
    key: Vec<char>,
    edit_rows: Vec<Vec<usize>>,
}

impl SpellingMatcher {
    /// Creates a matcher; `None` for a word that is too short or too long.
    pub(crate) fn new(word: &str) -> Option<Self> {
        let lower = word.to_lowercase();
        let typed: Vec<char> = fold_accents(&lower).chars().collect();
        let is_name = word.starts_with(char::is_uppercase);
        let two_from = if is_name {
            NAME_TWO_EDITS_LETTERS_MIN
        } else {
            TWO_EDITS_LETTERS_MIN
        };
        let edits_max = match typed.len() {
            letters if !(ONE_EDIT_LETTERS_MIN..=LETTERS_MAX).contains(&letters) => return None,
            letters => 1 + usize::from(letters >= two_from),
        };
        Some(Self {
            edit_rows: vec![(0..=typed.len()).collect()],
            typed,
            edits_max,
            matches: BTreeSet::new(),
            key: Vec::new(),
        })
    }

    /// Returns the first letters that a similar key may have: the first or second of the word.
    pub(crate) fn first_letters(&self) -> BTreeSet<String> {
        self.typed.iter().take(2).map(ToString::to_string).collect()
    }

    /// Compares a key with the word; `is_key_of` says whether a key belongs to a word. Returns the
    /// length in bytes of a prefix that no similar key begins with; 0 if the next key may match.
    pub(crate) fn visit_key(&mut self, key: &str, is_key_of: impl Fn(&str, &str) -> bool) -> usize {
        let same = key
            .chars()
            .zip(&self.key)
            .take_while(|(one, other)| one == *other);
        let same = same.count();
        self.key.truncate(same);
        self.edit_rows.truncate(same + 1);
        let mut bytes = key.chars().take(same).map(char::len_utf8).sum::<usize>();
        for letter in key.chars().skip(same) {
            bytes += letter.len_utf8();
            if !self.push_letter(letter) {
                self.key.pop();
                self.edit_rows.pop();
                return bytes;
            }
        }
        if let Some(edits) = self
            .edit_distance(key, is_key_of)
            .filter(|edits| *edits <= self.edits_max)
        {
            if edits < self.edits_max {
                self.matches.clear();
                self.edits_max = edits;
            }
            self.matches.insert(key.to_owned());
        }
        0
    }

    /// Returns the most similar keys.
    pub(crate) fn into_matches(self) -> Vec<String> {
        self.matches.into_iter().collect()
    }

    /// Adds a letter of the key; `false` if no key with this prefix can be similar.
    fn push_letter(&mut self, letter: char) -> bool {
        let [.., last] = self.edit_rows.as_slice() else {
            return false;
        };
        let older = self
            .edit_rows
            .len()
            .checked_sub(2)
            .and_then(|at| self.edit_rows.get(at));
        let mut row = vec![self.edit_rows.len()];
        for (at, typed) in self.typed.iter().enumerate() {
            let mut edits = (last[at] + usize::from(letter != *typed))
                .min(last[at + 1] + 1)
                .min(row[at] + 1);
            let before = at.checked_sub(1).and_then(|at| self.typed.get(at));
            if let Some(older) = older
                && before == Some(&letter)
                && self.key.last() == Some(typed)
            {
                edits = edits.min(older[at - 1] + 1);
            }
            row.push(edits);
        }
        let is_near = row.iter().any(|edits| *edits <= self.edits_max);
        self.key.push(letter);
        self.edit_rows.push(row);
        is_near
    }

    /// Returns the edits between the word and a key, or a word of that key with the same ending.
    fn edit_distance(&self, key: &str, is_key_of: impl Fn(&str, &str) -> bool) -> Option<usize> {
        let row = self.edit_rows.last()?;
        let mut best = row.last().copied()?;
        if self.key.len() < STEM_MIN {
            return Some(best);
        }
        let from = self.typed.len().saturating_sub(ENDING_MAX);
        for (at, edits) in row
            .iter()
            .enumerate()
            .skip(from)
            .take(self.typed.len() - from)
        {
            if *edits >= best || *edits > self.edits_max {
                continue;
            }
            let ending: String = self.typed.iter().skip(at).collect();
            if is_key_of(&format!("{key}{ending}"), key) {
                best = *edits;
            } else if *edits == 0 && best > 1 {
                let mut slips = endings_one_edit_away(&ending).into_iter();
                if slips.any(|ending| is_key_of(&format!("{key}{ending}"), key)) {
                    best = 1;
                }
            }
        }
        Some(best)
    }
}

/// Returns all endings that are one edit away.
fn endings_one_edit_away(ending: &str) -> BTreeSet<String> {
    let letters: Vec<char> = ending.chars().collect();
    let mut found = BTreeSet::new();
    for at in 0..=letters.len() {
        let (before, after) = letters.split_at(at);
        let mut keep = |middle: &[char], rest: usize| {
            let rest = after.iter().skip(rest);
            found.insert(before.iter().chain(middle).chain(rest).collect::<String>());
        };
        if let [one, two, ..] = after {
            keep(&[*two, *one], 2);
        }
        keep(&[], 1);
        for letter in 'a'..='z' {
            keep(&[letter], 0);
            keep(&[letter], 1);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    fn match_keys(word: &str, keys: &[&str]) -> Vec<String> {
        let mut matcher = SpellingMatcher::new(word).unwrap();
        let mut past = String::new();
        for key in keys {
            if past.is_empty() || !key.starts_with(&past) {
                let bytes = matcher.visit_key(key, |word, key| word == format!("{key}ation"));
                past = key[..bytes].to_owned();
            }
        }
        matcher.into_matches()
    }

    #[test]
    fn the_nearest_are_found_and_what_begins_otherwise_is_passed_over() {
        let keys = [
            "cafe", "coff", "coffe", "coffin", "configur", "conflict", "confu",
        ];
        assert_eq!(match_keys("cofffe", &keys), ["coffe"]);
        assert_eq!(match_keys("ocffe", &keys), ["coffe"]);
        assert_eq!(match_keys("configuratoin", &keys), ["configur"]);
        assert_eq!(match_keys("confgiuration", &keys), ["configur"]);
        assert_eq!(match_keys("conflcit", &keys), ["conflict"]);
        assert_eq!(match_keys("balance", &keys), [""; 0]);
        assert!(SpellingMatcher::new("cafe").is_none());
    }
}
