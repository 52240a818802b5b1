//! Detects the language of a text and analyses its words: stop words, stems, folded accents.
//!
//! The script reveals some languages. Those in Latin letters are detected by function words, which
//! are stop words anyway: a short technical note has too few letters for letter statistics, and
//! without any of these words it counts as English.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

use super::scan::{Piece, for_each_piece, is_han, is_mark};

/// Leading bytes of a text from which its language is detected.
const SCANNED_BYTES_MAX: usize = 1500;
/// Fewest different function words that identify a text's language.
const DISTINCT_MIN: u32 = 2;
/// Number of languages in Latin letters other than English.
const LATIN_COUNT: usize = 13;

/// A language that texts are analysed in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Language {
    English,
    Danish,
    German,
    Spanish,
    Finnish,
    French,
    Hungarian,
    Italian,
    Dutch,
    Norwegian,
    Portuguese,
    Romanian,
    Swedish,
    Turkish,
    Russian,
    Greek,
    Arabic,
    Tamil,
    Chinese,
    Japanese,
    Korean,
    Thai,
}

use Language::{
    Arabic, Chinese, Danish, Dutch, English, Finnish, French, German, Greek, Hungarian, Italian,
    Japanese, Korean, Norwegian, Portuguese, Romanian, Russian, Spanish, Swedish, Tamil, Thai,
    Turkish,
};

/// Every language with its code (ISO 639-1) and its stemmer.
const LANGUAGES: [(Language, &str, Option<Algorithm>); 22] = [
    (English, "en", Some(Algorithm::English)),
    (Danish, "da", Some(Algorithm::Danish)),
    (German, "de", Some(Algorithm::German)),
    (Spanish, "es", Some(Algorithm::Spanish)),
    (Finnish, "fi", Some(Algorithm::Finnish)),
    (French, "fr", Some(Algorithm::French)),
    (Hungarian, "hu", Some(Algorithm::Hungarian)),
    (Italian, "it", Some(Algorithm::Italian)),
    (Dutch, "nl", Some(Algorithm::Dutch)),
    (Norwegian, "no", Some(Algorithm::Norwegian)),
    (Portuguese, "pt", Some(Algorithm::Portuguese)),
    (Romanian, "ro", Some(Algorithm::Romanian)),
    (Swedish, "sv", Some(Algorithm::Swedish)),
    (Turkish, "tr", Some(Algorithm::Turkish)),
    (Russian, "ru", Some(Algorithm::Russian)),
    (Greek, "el", Some(Algorithm::Greek)),
    (Arabic, "ar", Some(Algorithm::Arabic)),
    (Tamil, "ta", Some(Algorithm::Tamil)),
    (Chinese, "zh", None),
    (Japanese, "ja", None),
    (Korean, "ko", None),
    (Thai, "th", None),
];

/// Function words, one language per line; a `~` marks a word that is English, too, and so does not
/// identify the language.
const STOP_WORD_LISTS: &str = include_str!("stop_words.txt");

/// For each word, bitmaps of the languages of which it is a stop word, and of those that it
/// identifies. Words are looked up without accents.
static STOP_WORDS: LazyLock<HashMap<String, (u32, u32)>> = LazyLock::new(|| {
    let mut all: HashMap<String, (u32, u32)> = HashMap::new();
    for line in STOP_WORD_LISTS.lines() {
        let mut words = line.split(' ');
        let Some(language) = words.next().and_then(Language::from_code) else {
            continue;
        };
        for word in words {
            let bare = word.trim_start_matches('~');
            let key = fold_accents(bare).into_owned();
            let (stops, tells) = all.entry(key.clone()).or_default();
            *stops |= language.bit();
            let is_ambiguous = bare != word || bare.len() == 1 || super::is_english_stop_word(&key);
            *tells |= if is_ambiguous { 0 } else { language.bit() };
        }
    }
    all
});

impl Language {
    /// Returns its code in ISO 639-1.
    pub fn code(self) -> &'static str {
        self.entry().1
    }

    pub fn from_code(code: &str) -> Option<Self> {
        let found = LANGUAGES.iter().find(|(_, known, _)| *known == code);
        found.map(|(language, ..)| *language)
    }

    fn entry(self) -> &'static (Self, &'static str, Option<Algorithm>) {
        &LANGUAGES[self as usize % LANGUAGES.len()]
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Whether it uses Latin letters, so that words get its forms in addition to the English ones.
    pub(super) fn is_latin(self) -> bool {
        (1..=LATIN_COUNT).contains(&(self as usize))
    }

    /// Whether it joins several words into one.
    pub(super) fn has_compound_words(self) -> bool {
        matches!(self, German | Dutch | Danish | Swedish | Norwegian)
    }

    /// Detects the language of a stored text.
    pub(crate) fn detect(text: &str) -> Self {
        Self::detect_among(text, DISTINCT_MIN, u32::MAX)
    }

    /// Detects the language of a query among `held`: one identifying word is enough.
    pub(super) fn detect_query(text: &str, held: &[Self]) -> Self {
        let held = held.iter().fold(0, |bits, language| bits | language.bit());
        if held == 0 {
            return English;
        }
        Self::detect_among(text, 1, held)
    }

    fn detect_among(text: &str, distinct_min: u32, among: u32) -> Self {
        let text = &text[..text.floor_char_boundary(SCANNED_BYTES_MAX)];
        if let Some(language) = detect_script(text) {
            return language;
        }
        let mut counts = [StopWordCounts::default(); LATIN_COUNT + 1];
        let mut seen: Vec<&str> = Vec::new();
        let mut english = 0;
        for_each_piece(text, |piece| {
            let Piece::Word { word, .. } = piece else {
                return;
            };
            let is_english = super::is_english_stop_word(&word.to_ascii_lowercase());
            english += u32::from(is_english);
            let Some(&(stops, tells)) = STOP_WORDS.get(&*fold_accents(&word.to_lowercase())) else {
                return;
            };
            let is_new = !seen.contains(&word);
            seen.extend(is_new.then_some(word));
            for (number, counts) in (0..).zip(&mut counts) {
                let has = |bits: u32| bits >> number & 1;
                counts.words += has(tells);
                counts.distinct += has(tells) * u32::from(is_new);
                counts.shared += has(stops) * u32::from(is_english);
            }
        });
        let mut best = (0, English);
        for ((language, ..), counts) in LANGUAGES.iter().zip(counts) {
            let is_told = counts.distinct >= distinct_min
                && counts.words + counts.shared > english
                && language.bit() & among != 0;
            if is_told && counts.words > best.0 {
                best = (counts.words, *language);
            }
        }
        best.1
    }

    /// Whether a word in lower case is a stop word of this language.
    pub(super) fn is_stop_word(self, lower: &str) -> bool {
        let found = STOP_WORDS.get(&*fold_accents(lower));
        found.is_some_and(|(stops, _)| stops & self.bit() != 0)
    }

    /// Returns the stem of a word in lower case, with accents folded, and the stem that it has when
    /// written without accents.
    pub(super) fn stem_variants(self, lower: &str) -> (String, Option<String>) {
        let Some(algorithm) = self.entry().2 else {
            return (lower.to_owned(), None);
        };
        let stemmer = Stemmer::create(algorithm);
        let spelled = match self {
            German => restore_umlauts(lower),
            Russian => lower.replace('\u{451}', "\u{435}").into(),
            _ => Cow::Borrowed(lower),
        };
        let stem = fold_accents(&stemmer.stem(&spelled)).into_owned();
        let bare = match fold_accents(lower) {
            Cow::Owned(bare) if self.is_latin() => {
                Some(fold_accents(&stemmer.stem(&bare)).into_owned())
            }
            _ => None,
        };
        (stem, bare)
    }

    /// Detects the language of a word that is not in Latin letters.
    pub(super) fn detect_word_script(word: &str) -> Option<Self> {
        word.chars().find_map(|c| match c {
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Greek),
            '\u{400}'..='\u{52f}' => Some(Russian),
            '\u{600}'..='\u{6ff}' => Some(Arabic),
            '\u{b80}'..='\u{bff}' => Some(Tamil),
            _ => None,
        })
    }
}

/// Counts of one language's function words in a text.
#[derive(Debug, Clone, Copy, Default)]
struct StopWordCounts {
    /// Words that identify it; `distinct` counts the different ones.
    words: u32,
    distinct: u32,
    /// English function words that it has, too.
    shared: u32,
}

/// Detects the language of a text with mostly non-Latin letters.
fn detect_script(text: &str) -> Option<Language> {
    if text.is_ascii() {
        return None;
    }
    let (mut latin, mut others, mut kana) = (0, [0_u32; LANGUAGES.len()], 0);
    let mut buffer = [0; 4];
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        let language = match c {
            '\u{3040}'..='\u{30ff}' => {
                kana += 1;
                Some(Japanese)
            }
            '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7af}' => Some(Korean),
            '\u{e00}'..='\u{e7f}' => Some(Thai),
            c if is_han(c) => Some(Chinese),
            c => Language::detect_word_script(c.encode_utf8(&mut buffer)),
        };
        match language {
            Some(language) => others[language as usize] += 1,
            None => latin += 1,
        }
    }
    if kana > 0 {
        let han = std::mem::take(&mut others[Chinese as usize]);
        others[Japanese as usize] += han;
    }
    let most = others
        .iter()
        .zip(LANGUAGES)
        .max_by_key(|(count, _)| **count);
    // A word of these scripts has fewer letters than a Latin one, and code names are Latin.
    let most = most.filter(|(count, _)| **count * 3 > latin && **count > 0);
    most.map(|(_, (language, ..))| language)
}

/// Restores German umlauts that are written as `ae`, `oe` and `ue`.
fn restore_umlauts(lower: &str) -> Cow<'_, str> {
    if !["ae", "oe", "ue"].iter().any(|pair| lower.contains(pair)) {
        return Cow::Borrowed(lower);
    }
    let mut out = String::with_capacity(lower.len());
    let mut letters = lower.chars().peekable();
    while let Some(c) = letters.next() {
        let before = out.chars().next_back();
        let after_vowel = before.is_some_and(|c| matches!(c, 'a' | 'e' | 'o' | 'u' | 'q'));
        let umlaut = match c {
            'a' => Some('\u{e4}'),
            'o' => Some('\u{f6}'),
            'u' if !after_vowel => Some('\u{fc}'),
            _ => None,
        };
        match umlaut.filter(|_| letters.peek() == Some(&'e')) {
            Some(umlaut) => {
                letters.next();
                out.push(umlaut);
            }
            None => out.push(c),
        }
    }
    Cow::Owned(out)
}

/// Removes the accents of Latin and Greek letters.
pub(super) fn fold_accents(text: &str) -> Cow<'_, str> {
    if text.is_ascii()
        || text
            .chars()
            .any(|c| matches!(c, '\u{400}'..='\u{52f}' | '\u{e00}'..='\u{e7f}'))
    {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    for c in text.nfd().filter(|c| !is_mark(*c)) {
        match c {
            '\u{df}' => out.push_str("ss"),
            '\u{e6}' => out.push_str("ae"),
            '\u{153}' => out.push_str("oe"),
            '\u{fe}' => out.push_str("th"),
            '\u{f8}' => out.push('o'),
            '\u{142}' => out.push('l'),
            '\u{111}' | '\u{f0}' => out.push('d'),
            '\u{131}' => out.push('i'),
            c => out.push(c),
        }
    }
    if out == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(out.nfc().collect())
    }
}
