//! The analyser, from text to terms: words, parts of identifiers, pairs of characters if a script
//! has no spaces, emoji. Stop words are removed, irregular forms mapped to their base form, words
//! stemmed.
//!
//! Every word in Latin letters gets its English form first, in every text, so that a wrongly
//! detected language never hides it from an English query. A text in another language also gets the
//! forms of that language, at the same position; a query gets those of every language in the store.

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
use language::fold_accents;
use scan::{Piece, for_each_identifier_part, for_each_pair, for_each_piece};

/// Number of terms that form the head of a text.
pub const HEAD_TERMS: usize = 64;
/// Longest term kept, in bytes; the rest of a longer word is ignored.
const TERM_BYTES_MAX: usize = 64;
/// Prefix of a term that is the end of a compound word, from where one of its parts may begin.
const COMPOUND_END_PREFIX: char = '\u{3}';
/// Fewest letters of each part of a compound.
const COMPOUND_PART_LETTERS_MIN: usize = 4;
const COMPOUND_LETTERS_MAX: usize = 40;

/// English words without a meaning of their own, sorted.
const ENGLISH_STOP_WORDS: [&str; 101] = [
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

/// Finds where `text` has a form of one of `words`: byte ranges, ascending, not overlapping.
pub fn find_ranges_of_words(text: &str, words: &[String]) -> Vec<Range<usize>> {
    let language = Language::detect(text);
    let mut wanted = BTreeSet::new();
    for word in words {
        for_each_term(
            word,
            &AnalyserConfig::for_query(Language::English, &[language]),
            |term| {
                wanted.insert(term.key.to_owned());
            },
        );
    }
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for_each_term(text, &AnalyserConfig::for_text(language), |term| {
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
    /// Its forms in other languages of the store: a document with one of them has the term.
    pub forms: Vec<String>,
    /// The words that a compound joins, if the store has all of them.
    pub compound_parts: Vec<String>,
    /// Keys of similarly spelled words, if the store does not have it: see
    /// [`crate::IndexSnapshot::correct_spelling`].
    pub corrections: Vec<String>,
    /// It is a stop word of a language in the store: texts in that language lack the word.
    pub is_optional: bool,
    /// Whether it is a separate word of letters, not a part of an identifier.
    pub is_plain: bool,
    /// Hash of the stem, never 0, to be compared with [`crate::DocTraits::speaker`].
    pub hash: u32,
    /// The word as the query first wrote it.
    pub surface: String,
    /// Occurrences in the query.
    pub count: u32,
}

impl QueryTerm {
    /// Returns all keys by which documents match it.
    pub(crate) fn keys(&self) -> impl Iterator<Item = &[u8]> {
        let others = self.forms.iter().chain(&self.corrections);
        std::iter::once(self.stem.as_bytes()).chain(others.map(String::as_bytes))
    }
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct AnalysedTerm<'k, 't> {
    pub(crate) key: &'k str,
    /// The word as written in the text.
    pub(crate) surface: &'t str,
    pub(crate) role: TermRole,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TermRole {
    /// A word, which counts in the text's length.
    Word,
    /// Another form of the preceding word.
    Variant,
    /// A term at the position of the word that follows; it does not count in the text's length.
    Additional,
}

/// How a text is analysed.
#[derive(Debug, Clone)]
pub(crate) struct AnalyserConfig {
    /// Its stop words are removed, as the English ones are.
    language: Language,
    /// Languages whose forms a word gets in addition to the English one.
    forms: Vec<Language>,
    is_question: bool,
}

impl AnalyserConfig {
    pub(crate) fn for_text(language: Language) -> Self {
        Self {
            language,
            forms: [language]
                .into_iter()
                .filter(|one| one.is_latin())
                .collect(),
            is_question: false,
        }
    }

    fn for_query(language: Language, held: &[Language]) -> Self {
        Self {
            language,
            forms: held.iter().copied().filter(|one| one.is_latin()).collect(),
            is_question: true,
        }
    }
}

/// Hashes a speaker's first name like the same word in a query; 0 for no name.
///
/// A collision may change a rank but never loses a result.
pub(crate) fn hash_speaker_name(name: &str) -> u32 {
    let mut words = name.split(|c: char| !c.is_alphanumeric());
    let first = words.find(|word| !word.is_empty());
    first.map_or(0, |word| {
        let lower = word.to_lowercase();
        hash_stem(&english_stemmer().stem(&fold_accents(&lower)))
    })
}

/// Analyses a query for a store that has texts in `languages`; text beyond [`QUERY_BYTES_MAX`] is
/// ignored.
pub(crate) fn analyse_query(text: &str, languages: &[Language]) -> Query {
    let text = &text[..text.floor_char_boundary(QUERY_BYTES_MAX)];
    let own = Language::detect_query(text, languages);
    let mut positions: BTreeMap<String, usize> = BTreeMap::new();
    let mut found: Vec<QueryTerm> = Vec::new();
    let mut last = None;
    for_each_term(text, &AnalyserConfig::for_query(own, languages), |term| {
        let known = positions.get(term.key).copied();
        match (term.role, known) {
            (TermRole::Variant, _) => {
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
                    hash: hash_stem(term.key),
                    stem: term.key.to_owned(),
                    forms: Vec::new(),
                    compound_parts: Vec::new(),
                    corrections: Vec::new(),
                    is_optional: {
                        let lower = term.surface.to_lowercase();
                        languages.iter().any(|held| held.is_stop_word(&lower))
                    },
                    is_plain: is_plain_word(text, term.surface),
                    surface: term.surface.to_owned(),
                    count: 1,
                });
            }
        }
    });
    Query { terms: found }
}

/// Whether a word of a query is plain language: of letters, in lower case except the first, and not
/// joined to another word.
fn is_plain_word(text: &str, word: &str) -> bool {
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

/// Finds the first word of a text that has one of some keys, in lower case.
pub fn find_first_word_with_key(text: &str, keys: &[String]) -> Option<String> {
    let mut found = None;
    for_each_term(
        text,
        &AnalyserConfig::for_text(Language::detect(text)),
        |term| {
            if found.is_none() && keys.iter().any(|key| *key == *term.key) {
                found = Some(term.surface.to_lowercase());
            }
        },
    );
    found
}

/// Calls `emit` for every term of `text` in order.
pub(crate) fn for_each_term<'t>(
    text: &'t str,
    reading: &AnalyserConfig,
    mut emit: impl FnMut(AnalysedTerm<'_, 't>),
) {
    for_each_piece(text, |piece| match piece {
        Piece::Word {
            word,
            after_apostrophe,
        } => {
            // Endings of English contractions: it's, I'm, they'd, we'll, you're, I've, don't.
            let fragment = matches!(word, "s" | "m" | "d" | "ll" | "re" | "ve" | "t");
            if after_apostrophe && fragment {
                return;
            }
            let parts =
                for_each_identifier_part(word, |part| emit_word_terms(part, reading, &mut emit));
            if parts != 1 {
                emit_word_terms(word, reading, &mut emit);
            }
        }
        Piece::Run(run) => for_each_pair(run, |surface, is_alone| {
            let key = compose_accents(surface);
            let role = if is_alone {
                TermRole::Additional
            } else {
                TermRole::Word
            };
            emit(AnalysedTerm {
                key: &key,
                surface,
                role,
            });
        }),
        Piece::Symbol(surface) => emit(AnalysedTerm {
            key: surface,
            surface,
            role: TermRole::Additional,
        }),
    });
}

fn emit_word_terms<'t>(
    word: &'t str,
    reading: &AnalyserConfig,
    emit: &mut impl FnMut(AnalysedTerm<'_, 't>),
) {
    let lower = if word.is_ascii() {
        word.to_ascii_lowercase()
    } else {
        compose_accents(&word.to_lowercase())
    };
    let mut emit = |key: &str, role| {
        let key = &key[..key.floor_char_boundary(TERM_BYTES_MAX)];
        if !key.is_empty() {
            emit(AnalysedTerm {
                key,
                surface: word,
                role,
            });
        }
    };
    if is_english_stop_word(&lower) {
        return;
    }
    if let Some(language) = Language::detect_word_script(&lower) {
        if !language.is_stop_word(&lower) {
            emit(&language.stem_variants(&lower).0, TermRole::Word);
        }
        return;
    }
    let mut plain = fold_accents(&lower).into_owned();
    plain.truncate(plain.floor_char_boundary(TERM_BYTES_MAX));
    let is_letters = plain.bytes().all(|b| b.is_ascii_lowercase());
    if !is_letters || reading.forms.is_empty() {
        if is_letters {
            emit(
                &english_stemmer().stem(irregular::base_form(&plain)),
                TermRole::Word,
            );
        } else {
            emit(&plain, TermRole::Word);
        }
        return;
    }
    if reading.language.is_latin() && reading.language.is_stop_word(&lower) {
        return;
    }
    let first = english_stemmer()
        .stem(irregular::base_form(&plain))
        .into_owned();
    emit(&first, TermRole::Word);
    for language in &reading.forms {
        if language.is_stop_word(&lower) {
            continue;
        }
        let (stem, bare) = language.stem_variants(&lower);
        let bare = bare.filter(|bare| *bare != stem);
        for form in std::iter::once(stem).chain(bare) {
            if form != first {
                emit(&form, TermRole::Variant);
            }
        }
        if language.has_compound_words() {
            emit_compound_ends(*language, &lower, reading.is_question, |key| {
                emit(key, TermRole::Variant);
            });
        }
    }
}

/// Emits the keys of the compound ends of a word: for a text, of every part in which the word may
/// end; for a query, the key of words that end in it.
fn emit_compound_ends(
    language: Language,
    lower: &str,
    is_question: bool,
    mut emit: impl FnMut(&str),
) {
    let mut part = |word: &str| {
        let mut key = String::from(COMPOUND_END_PREFIX);
        key.push_str(&language.stem_variants(word).0);
        emit(&key);
    };
    let letters: Vec<usize> = lower.char_indices().map(|(at, _)| at).collect();
    let count = letters.len();
    if is_question {
        if count >= COMPOUND_PART_LETTERS_MIN {
            part(lower);
        }
        return;
    }
    if count > COMPOUND_LETTERS_MAX {
        return;
    }
    let ends = letters
        .get(COMPOUND_PART_LETTERS_MIN..(count + 1).saturating_sub(COMPOUND_PART_LETTERS_MIN));
    for at in ends.into_iter().flatten() {
        let (before, after) = lower.split_at(*at);
        if can_split_compound(before, after) {
            part(after);
        }
    }
}

/// Whether a word may begin between two letters of a longer one.
fn can_split_compound(before: &str, after: &str) -> bool {
    /// Pairs of consonants with which Germanic words begin.
    const ONSETS: &str = "bl br ch dr dw fl fr fj gl gn gr hj hv kl kn kr kv pf ph pl pr ps qu sc sh sj \
        sk sl sm sn sp st sw th tj tr tw vl vr wr zw";
    let is_vowel =
        |c: char| !matches!(c, 'b'..='d' | 'f'..='h' | 'j'..='n' | 'p'..='t' | 'v'..='x' | 'z');
    let onset = after.get(..2).unwrap_or_default();
    let begins = onset.chars().any(is_vowel) || ONSETS.split(' ').any(|known| known == onset);
    let is_split = before.ends_with('c') && after.starts_with(['h', 'k']);
    begins && !is_split && before.chars().any(is_vowel)
}

/// Splits a compound word of a query into two words, as keys, if the store has both.
pub(crate) fn split_compound(
    surface: &str,
    languages: &[Language],
    holds: impl Fn(&str) -> bool,
) -> Option<[String; 2]> {
    /// Linking letters between the two words, the longest first.
    const LINKS: [&str; 7] = ["es", "en", "er", "s", "n", "e", ""];
    let language = languages
        .iter()
        .find(|language| language.has_compound_words())?;
    let lower = surface.to_lowercase();
    let is_word =
        (2 * COMPOUND_PART_LETTERS_MIN..=COMPOUND_LETTERS_MAX).contains(&lower.chars().count());
    if !is_word || !lower.chars().all(char::is_alphabetic) {
        return None;
    }
    let key = |word: &str| language.stem_variants(word).0;
    // Try the positions with halves of most similar length first.
    let mut places: Vec<usize> = lower.char_indices().map(|(at, _)| at).collect();
    places.sort_by_key(|at| at.abs_diff(lower.len() / 2));
    places.into_iter().find_map(|at| {
        let (before, after) = lower.split_at(at);
        let short = |part: &str| part.chars().count() < COMPOUND_PART_LETTERS_MIN;
        if short(before)
            || short(after)
            || !can_split_compound(before, after)
            || !holds(&key(after))
        {
            return None;
        }
        let bare = LINKS.iter().filter_map(|link| before.strip_suffix(link));
        let mut bare = bare.filter(|bare| !short(bare)).map(key);
        Some([bare.find(|bare| holds(bare))?, key(after)])
    })
}

/// Composes letters with their accents, and maps wide and narrow characters, ligatures and letters
/// of formulas to the usual ones.
fn compose_accents(text: &str) -> String {
    let is_other_form = |c: char| matches!(c, '\u{ff00}'..='\u{ffef}' | '\u{fb00}'..='\u{fb06}' | '\u{1d400}'..='\u{1d7ff}');
    if text.contains(is_other_form) {
        text.nfkc().collect()
    } else {
        text.nfc().collect()
    }
}

fn english_stemmer() -> Stemmer {
    Stemmer::create(Algorithm::English)
}

fn hash_stem(stem: &str) -> u32 {
    (xxh3_64(stem.as_bytes()) as u32).max(1)
}

fn is_english_stop_word(lower: &str) -> bool {
    ENGLISH_STOP_WORDS.binary_search(&lower).is_ok()
}

#[cfg(test)]
mod tests;
