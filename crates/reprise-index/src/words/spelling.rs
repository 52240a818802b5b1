//! Words that are spelled like one that no text holds: found in a sorted dictionary without a look
//! at those that begin otherwise.

use std::collections::BTreeSet;

use super::language::folded;

/// Letters of a word, at least, that is looked up one edit away, and two; of one that begins like a
/// name for two.
const ONE_FROM: usize = 5;
const TWO_FROM: usize = 7;
const TWO_OF_NAME_FROM: usize = 9;
const LETTERS_MAX: usize = 24;
/// Letters of an ending, at most, and of a stem, at least, where the slip may be in the ending.
const ENDING_MAX: usize = 6;
const STEM_MIN: usize = 4;

/// One word, and the keys found so far that are fewest edits away: a letter too many, one missing,
/// another one, two swapped.
#[derive(Debug)]
pub(crate) struct Near {
    typed: Vec<char>,
    /// Edits, at most.
    most: usize,
    found: Vec<String>,
    /// The key looked at last, and the edits between each beginning of it and each of the word.
    key: Vec<char>,
    rows: Vec<Vec<usize>>,
}

impl Near {
    /// `None` of a word that is too short or too long for it.
    pub(crate) fn of(word: &str) -> Option<Self> {
        let lower = word.to_lowercase();
        let typed: Vec<char> = folded(&lower).chars().collect();
        let is_name = word.starts_with(char::is_uppercase);
        let two_from = if is_name { TWO_OF_NAME_FROM } else { TWO_FROM };
        let most = match typed.len() {
            letters if !(ONE_FROM..=LETTERS_MAX).contains(&letters) => return None,
            letters => 1 + usize::from(letters >= two_from),
        };
        Some(Self {
            rows: vec![(0..=typed.len()).collect()],
            typed,
            most,
            found: Vec::new(),
            key: Vec::new(),
        })
    }

    /// How keys begin that may be near: as the word does, or with its second letter.
    pub(crate) fn beginnings(&self) -> BTreeSet<String> {
        self.typed.iter().take(2).map(ToString::to_string).collect()
    }

    /// Looks at a key; `is_key_of` tells whether it is one of a word's. Returns how many of its
    /// bytes no near key begins with; 0 where the next one may be near.
    pub(crate) fn look(&mut self, key: &str, is_key_of: impl Fn(&str, &str) -> bool) -> usize {
        let same = key
            .chars()
            .zip(&self.key)
            .take_while(|(one, other)| one == *other);
        let same = same.count();
        self.key.truncate(same);
        self.rows.truncate(same + 1);
        let mut bytes = key.chars().take(same).map(char::len_utf8).sum::<usize>();
        for letter in key.chars().skip(same) {
            bytes += letter.len_utf8();
            if !self.step(letter) {
                self.key.pop();
                self.rows.pop();
                return bytes;
            }
        }
        if let Some(edits) = self
            .edits(key, is_key_of)
            .filter(|edits| *edits <= self.most)
        {
            if edits < self.most {
                self.found.clear();
                self.most = edits;
            }
            self.found.push(key.to_owned());
        }
        0
    }

    /// The nearest keys.
    pub(crate) fn found(self) -> Vec<String> {
        self.found
    }

    /// Adds a letter of the key; `false` where no key that begins so can be near.
    fn step(&mut self, letter: char) -> bool {
        let [.., last] = self.rows.as_slice() else {
            return false;
        };
        let older = self
            .rows
            .len()
            .checked_sub(2)
            .and_then(|at| self.rows.get(at));
        let mut row = vec![self.rows.len()];
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
        let is_near = row.iter().any(|edits| *edits <= self.most);
        self.key.push(letter);
        self.rows.push(row);
        is_near
    }

    /// The edits between the word and a key, or a word that has the key with the same ending.
    fn edits(&self, key: &str, is_key_of: impl Fn(&str, &str) -> bool) -> Option<usize> {
        let row = self.rows.last()?;
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
            if *edits >= best || *edits > self.most {
                continue;
            }
            let ending: String = self.typed.iter().skip(at).collect();
            if is_key_of(&format!("{key}{ending}"), key) {
                best = *edits;
            } else if *edits == 0 && best > 1 {
                let mut slips = one_away(&ending).into_iter();
                if slips.any(|ending| is_key_of(&format!("{key}{ending}"), key)) {
                    best = 1;
                }
            }
        }
        Some(best)
    }
}

/// The endings one edit away.
fn one_away(ending: &str) -> BTreeSet<String> {
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

    fn near(word: &str, keys: &[&str]) -> Vec<String> {
        let mut near = Near::of(word).unwrap();
        let mut past = String::new();
        for key in keys {
            if past.is_empty() || !key.starts_with(&past) {
                let bytes = near.look(key, |word, key| word == format!("{key}ation"));
                past = key[..bytes].to_owned();
            }
        }
        near.found()
    }

    #[test]
    fn the_nearest_are_found_and_what_begins_otherwise_is_passed_over() {
        let keys = [
            "cafe", "coff", "coffe", "coffin", "configur", "conflict", "confu",
        ];
        assert_eq!(near("cofffe", &keys), ["coffe"]);
        assert_eq!(near("ocffe", &keys), ["coffe"]);
        assert_eq!(near("configuratoin", &keys), ["configur"]);
        assert_eq!(near("confgiuration", &keys), ["configur"]);
        assert_eq!(near("conflcit", &keys), ["conflict"]);
        assert_eq!(near("balance", &keys), [""; 0]);
        assert!(Near::of("cafe").is_none());
    }
}
