//! The analyser, from text to terms: words, parts of identifiers, pairs of characters where a
//! script has no spaces, pictures; stop words removed, irregular forms mapped to their base, words
//! stemmed.
//!
//! Every word in Latin letters has its English form first, in every text: what a text is taken for
//! never hides it from an English question. A text in another language has the forms of that beside
//! it, at the same place, and a question has those of every language that the store holds.

mod irregular;
mod language;
mod scan;
pub(crate) mod spelling;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use reprise_types::limits::QUERY_BYTES_MAX;
use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;
use xxhash_rust::xxh3::xxh3_64;

pub use language::Language;
use language::folded;
use scan::{Piece, each_pair, each_part, pieces};

/// Number of terms that form the head of a text.
pub const HEAD_TERMS: usize = 64;
/// Longest term kept, in bytes; the rest of a longer word is ignored.
const TERM_BYTES_MAX: usize = 64;
/// Prefix of how a word ends that joins several, where one of them may begin.
const PART: char = '\u{3}';
/// Letters of each part, at least, and of the longest word that is taken apart.
const PART_LETTERS_MIN: usize = 4;
const JOINED_LETTERS_MAX: usize = 40;

/// Words that carry no meaning of their own. Sorted.
const STOP_WORDS: [&str; 101] = [
    "a", "about", "am", "an", "and", "are", "aren", "as", "at", "be", "been", "being", "but", "by",
    "can", "could", "couldn", "did", "didn", "do", "does", "doesn", "for", "from", "had", "hadn",
    "has", "hasn", "have", "haven", "he", "her", "here", "hers", "him", "his", "how", "i", "if",
    "in", "into", "is", "isn", "it", "its", "just", "me", "might", "mine", "must", "my", "no",
    "nor", "not", "of", "on", "or", "our", "ours", "shall", "she", "should", "shouldn", "so",
    "such", "than", "that", "the", "their", "theirs", "them", "then", "there", "these", "they",
    "this", "those", "to", "too", "us", "was", "wasn", "we", "were", "weren", "what", "when",
    "where", "which", "while", "who", "whom", "whose", "why", "will", "with", "would", "wouldn",
    "you", "your", "yours",
];

/// Where `text` holds a form of one of `words`: byte ranges, ascending, not overlapping.
pub fn word_ranges(text: &str, words: &[String]) -> Vec<Range<usize>> {
    let language = Language::of(text);
    let mut wanted = BTreeSet::new();
    for word in words {
        terms(
            word,
            &Reading::of_question(Language::English, &[language]),
            |term| {
                wanted.insert(term.key.to_owned());
            },
        );
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    terms(text, &Reading::of_text(language), |term| {
        if wanted.contains(term.key) {
            let start = term.surface.as_ptr().addr() - text.as_ptr().addr();
            ranges.push(start..start + term.surface.len());
        }
    });
    // An identifier yields ranges for its parts and for the whole.
    ranges.sort_unstable_by_key(|range| (range.start, Reverse(range.end)));
    ranges.dedup_by(|later, kept| later.start < kept.end);
    ranges
}

/// A query's distinct terms, in order of first appearance.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Query {
    pub terms: Vec<QueryTerm>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueryTerm {
    /// The stem, by which documents are matched.
    pub stem: String,
    /// Its forms in other languages that the store holds: a document with one of them has the term.
    pub forms: Vec<String>,
    /// The words that it joins, where the store holds all of them.
    pub parts: Vec<String>,
    /// Words that are spelled like it, where the store does not hold it: see
    /// [`crate::IndexSnapshot::mend`].
    pub mended: Vec<String>,
    /// A stop word of a language that the store holds: texts in it lack the word.
    pub is_optional: bool,
    /// Whether it stands by itself and is made of letters: no part of an identifier.
    pub is_plain: bool,
    /// A hash of the stem, never 0: what [`crate::DocTraits::speaker`] is compared with.
    pub number: u32,
    /// The word as the query first wrote it.
    pub surface: String,
    /// Occurrences in the query.
    pub count: u32,
}

impl QueryTerm {
    /// All keys that stand for it.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let others = self.forms.iter().chain(&self.mended);
        std::iter::once(self.stem.as_bytes()).chain(others.map(String::as_bytes))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct Term<'k, 't> {
    pub(crate) key: &'k str,
    /// The word as the text has it.
    pub(crate) surface: &'t str,
    pub(crate) role: Role,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// It takes a place in the text.
    Word,
    /// Another form of the word before it.
    Form,
    /// It stands at the place of the word that follows: it makes no text longer.
    Beside,
}

/// How the words of a text are read.
#[derive(Debug, Clone)]
pub(crate) struct Reading {
    /// Its stop words are left out, as the English ones are.
    language: Language,
    /// Languages whose forms a word gets beside the English one.
    forms: Vec<Language>,
    is_question: bool,
}

impl Reading {
    pub(crate) fn of_text(language: Language) -> Self {
        Self {
            language,
            forms: [language]
                .into_iter()
                .filter(|one| one.is_latin())
                .collect(),
            is_question: false,
        }
    }

    fn of_question(language: Language, held: &[Language]) -> Self {
        Self {
            language,
            forms: held.iter().copied().filter(|one| one.is_latin()).collect(),
            is_question: true,
        }
    }
}

/// The number shared by a speaker's first name and the same word in a query; 0 for none.
///
/// It is a hash: a collision may change a rank, never lose a result.
pub(crate) fn name_number(name: &str) -> u32 {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let first = words.find(|word| !word.is_empty());
    first.map_or(0, |word| {
        let lower = word.to_lowercase();
        term_number(&english().stem(&folded(&lower)))
    })
}

/// The query's terms, for a store that holds texts in `languages`; what lies beyond
/// [`QUERY_BYTES_MAX`] is ignored.
pub(crate) fn query(text: &str, languages: &[Language]) -> Query {
    let text = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
    let own = Language::of_question(text, languages);
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: Vec<QueryTerm> = Vec::new();
    let mut last = None;
    terms(text, &Reading::of_question(own, languages), |term| {
        let known = positions.get(term.key).copied();
        match (term.role, known) {
            (Role::Form, _) => {
                let last = last.and_then(|last: usize| found.get_mut(last));
                if let Some(QueryTerm { forms, stem, .. }) = last
                    && *stem != *term.key
                    && !forms.iter().any(|form| *form == *term.key)
                {
                    forms.push(term.key.to_owned());
                }
            }
            (_, Some(position)) => {
                found[position].count += 1;
                last = Some(position);
            }
            (_, None) => {
                last = Some(found.len());
                positions.insert(term.key.to_owned(), found.len());
                found.push(QueryTerm {
                    number: term_number(term.key),
                    stem: term.key.to_owned(),
                    forms: Vec::new(),
                    parts: Vec::new(),
                    mended: Vec::new(),
                    is_optional: {
                        let lower = term.surface.to_lowercase();
                        languages.iter().any(|held| held.is_stop_word(&lower))
                    },
                    is_plain: is_plain(text, term.surface),
                    surface: term.surface.to_owned(),
                    count: 1,
                });
            }
        }
    });
    Query { terms: found }
}

/// Whether a word of a question is one of a language: of letters, in small ones but for the first,
/// and nothing joins it to another.
fn is_plain(text: &str, word: &str) -> bool {
    let start = word.as_ptr().addr() - text.as_ptr().addr();
    let joins = |c: char| c.is_alphanumeric() || "_-./\\:#@`=$&%+*<>{}[]~".contains(c);
    let before = text[..start].chars().next_back();
    let mut after = text[start + word.len()..].chars();
    let (after, next) = (after.next(), after.next());
    let ends = matches!(after, Some('.' | ':')) && next.is_none_or(char::is_whitespace);
    word.chars().all(char::is_alphabetic)
        && !word.chars().skip(1).any(char::is_uppercase)
        && !before.is_some_and(joins)
        && (ends || !after.is_some_and(joins))
}

/// The first word of a text that has one of some keys, as the text has it.
pub fn word_of(text: &str, keys: &[String]) -> Option<String> {
    let mut found = None;
    terms(text, &Reading::of_text(Language::of(text)), |term| {
        if found.is_none() && keys.iter().any(|key| *key == *term.key) {
            found = Some(term.surface.to_lowercase());
        }
    });
    found
}

/// Calls `emit` for every term of `text` in order.
pub(crate) fn terms<'t>(text: &'t str, reading: &Reading, mut emit: impl FnMut(Term<'_, 't>)) {
    pieces(text, |piece| match piece {
        Piece::Word {
            word,
            after_apostrophe,
        } => {
            // Endings of English contractions: it's, I'm, they'd, we'll, you're, I've, don't.
            let fragment = matches!(word, "s" | "m" | "d" | "ll" | "re" | "ve" | "t");
            if after_apostrophe && fragment {
                return;
            }
            let parts = each_part(word, |part| word_terms(part, reading, &mut emit));
            if parts != 1 {
                word_terms(word, reading, &mut emit);
            }
        }
        Piece::Run(run) => each_pair(run, |surface, is_alone| {
            let key = composed(surface);
            let role = if is_alone { Role::Beside } else { Role::Word };
            emit(Term {
                key: &key,
                surface,
                role,
            });
        }),
        Piece::Sign(surface) => emit(Term {
            key: surface,
            surface,
            role: Role::Beside,
        }),
    });
}

fn word_terms<'t>(word: &'t str, reading: &Reading, emit: &mut impl FnMut(Term<'_, 't>)) {
    let lower = if word.is_ascii() {
        word.to_ascii_lowercase()
    } else {
        composed(&word.to_lowercase())
    };
    let mut emit = |key: &str, role| {
        let key = &key[..key.floor_char_boundary(TERM_BYTES_MAX)];
        if !key.is_empty() {
            emit(Term {
                key,
                surface: word,
                role,
            });
        }
    };
    if is_stop_word(&lower) {
        return;
    }
    if let Some(language) = Language::of_word(&lower) {
        if !language.is_stop_word(&lower) {
            emit(&language.stems(&lower).0, Role::Word);
        }
        return;
    }
    let mut plain = folded(&lower).into_owned();
    plain.truncate(plain.floor_char_boundary(TERM_BYTES_MAX));
    let is_letters = plain.bytes().all(|b| b.is_ascii_lowercase());
    if !is_letters || reading.forms.is_empty() {
        if is_letters {
            emit(&english().stem(irregular::base_form(&plain)), Role::Word);
        } else {
            emit(&plain, Role::Word);
        }
        return;
    }
    if reading.language.is_latin() && reading.language.is_stop_word(&lower) {
        return;
    }
    let first = english().stem(irregular::base_form(&plain)).into_owned();
    emit(&first, Role::Word);
    for language in &reading.forms {
        if language.is_stop_word(&lower) {
            continue;
        }
        let (stem, bare) = language.stems(&lower);
        let bare = bare.filter(|bare| *bare != stem);
        for form in std::iter::once(stem).chain(bare) {
            if form != first {
                emit(&form, Role::Form);
            }
        }
        if language.joins_words() {
            parts_of(*language, &lower, reading.is_question, |key| {
                emit(key, Role::Form);
            });
        }
    }
}

/// Keys of the words that a word of a text may end in, where such a language joins words; of a word
/// of a question the key of the texts' words that end in it.
fn parts_of(language: Language, lower: &str, is_question: bool, mut emit: impl FnMut(&str)) {
    let mut part = |word: &str| {
        let mut key = String::from(PART);
        key.push_str(&language.stems(word).0);
        emit(&key);
    };
    let letters: Vec<usize> = lower.char_indices().map(|(at, _)| at).collect();
    let count = letters.len();
    if is_question {
        if count >= PART_LETTERS_MIN {
            part(lower);
        }
        return;
    }
    if count > JOINED_LETTERS_MAX {
        return;
    }
    let ends = letters.get(PART_LETTERS_MIN..(count + 1).saturating_sub(PART_LETTERS_MIN));
    for at in ends.into_iter().flatten() {
        let (before, after) = lower.split_at(*at);
        if may_begin(before, after) {
            part(after);
        }
    }
}

/// Whether a word may begin between two letters of a longer one.
fn may_begin(before: &str, after: &str) -> bool {
    /// Two consonants that Germanic words begin with.
    const ONSETS: &str = "bl br ch dr dw fl fr fj gl gn gr hj hv kl kn kr kv pf ph pl pr ps qu sc sh sj \
        sk sl sm sn sp st sw th tj tr tw vl vr wr zw";
    let is_vowel =
        |c: char| !matches!(c, 'b'..='d' | 'f'..='h' | 'j'..='n' | 'p'..='t' | 'v'..='x' | 'z');
    let onset = after.get(..2).unwrap_or_default();
    let begins = onset.chars().any(is_vowel) || ONSETS.split(' ').any(|known| known == onset);
    let is_split = before.ends_with('c') && after.starts_with(['h', 'k']);
    begins && !is_split && before.chars().any(is_vowel)
}

/// The two words that a word of a question joins, as keys, if the store holds both.
pub(crate) fn held_parts(
    surface: &str,
    languages: &[Language],
    holds: impl Fn(&str) -> bool,
) -> Option<[String; 2]> {
    /// What stands between them, the longest first.
    const LINKS: [&str; 7] = ["es", "en", "er", "s", "n", "e", ""];
    let language = languages.iter().find(|language| language.joins_words())?;
    let lower = surface.to_lowercase();
    let is_word = (2 * PART_LETTERS_MIN..=JOINED_LETTERS_MAX).contains(&lower.chars().count());
    if !is_word || !lower.chars().all(char::is_alphabetic) {
        return None;
    }
    let key = |word: &str| language.stems(word).0;
    // Where the halves are most alike in length first.
    let mut places: Vec<usize> = lower.char_indices().map(|(at, _)| at).collect();
    places.sort_by_key(|at| at.abs_diff(lower.len() / 2));
    places.into_iter().find_map(|at| {
        let (before, after) = lower.split_at(at);
        let short = |part: &str| part.chars().count() < PART_LETTERS_MIN;
        if short(before) || short(after) || !may_begin(before, after) || !holds(&key(after)) {
            return None;
        }
        let bare = LINKS.iter().filter_map(|link| before.strip_suffix(link));
        let mut bare = bare.filter(|bare| !short(bare)).map(key);
        Some([bare.find(|bare| holds(bare))?, key(after)])
    })
}

/// A letter and its accents as one, and what is wider or narrower than usual as usual.
fn composed(text: &str) -> String {
    if text.contains(|c| matches!(c, '\u{ff00}'..='\u{ffef}')) {
        text.nfkc().collect()
    } else {
        text.nfc().collect()
    }
}

fn english() -> Stemmer {
    Stemmer::create(Algorithm::English)
}

fn term_number(stem: &str) -> u32 {
    (xxh3_64(stem.as_bytes()) as u32).max(1)
}

fn is_stop_word(lower: &str) -> bool {
    STOP_WORDS.binary_search(&lower).is_ok()
}

#[cfg(test)]
mod tests;
