//! What a text is written in, and what that makes of a word: stop words, stems, folded accents.
//!
//! A script tells its language; of those in Latin letters a text's function words do, which are its
//! stop words anyway. A short technical note has too few letters for statistics of letters, and
//! none of these words makes it English.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::LazyLock;

use rust_stemmers::{Algorithm, Stemmer};
use unicode_normalization::UnicodeNormalization;

use super::scan::{Piece, is_han, is_mark, pieces};

/// Bytes of a text by which its language is told.
const LOOK_BYTES: usize = 1500;
/// Different function words that tell a text's language.
const DISTINCT_MIN: u32 = 2;
/// Languages in Latin letters beside English.
const OF_LATIN: usize = 13;

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

/// Each with its code (ISO 639-1) and what stems its words.
const ALL: [(Language, &str, Option<Algorithm>); 22] = [
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

/// Function words, a language in each line; a `~` marks one that is an English word, too, and tells
/// nothing.
const LISTS: &str = include_str!("stop_words.txt");

/// Which languages have a word for a stop word, and of which it tells: a bit for each, by number.
/// Words are looked up without accents.
static STOP_WORDS: LazyLock<HashMap<String, (u32, u32)>> = LazyLock::new(|| {
    let mut all: HashMap<String, (u32, u32)> = HashMap::new();
    for line in LISTS.lines() {
        let mut words = line.split(' ');
        let Some(language) = words.next().and_then(Language::of_code) else {
            continue;
        };
        for word in words {
            let bare = word.trim_start_matches('~');
            let key = folded(bare).into_owned();
            let (stops, tells) = all.entry(key.clone()).or_default();
            *stops |= language.bit();
            let is_ambiguous = bare != word || bare.len() == 1 || super::is_stop_word(&key);
            *tells |= if is_ambiguous { 0 } else { language.bit() };
        }
    }
    all
});

impl Language {
    /// Its code in ISO 639-1.
    pub fn code(self) -> &'static str {
        self.entry().1
    }

    pub fn of_code(code: &str) -> Option<Self> {
        let found = ALL.iter().find(|(_, known, _)| *known == code);
        found.map(|(language, ..)| *language)
    }

    fn entry(self) -> &'static (Self, &'static str, Option<Algorithm>) {
        &ALL[self as usize % ALL.len()]
    }

    fn bit(self) -> u32 {
        1 << self as u32
    }

    /// Whether the words of a text have forms in it beside the English ones: it shares its letters.
    pub(super) fn is_latin(self) -> bool {
        (1..=OF_LATIN).contains(&(self as usize))
    }

    /// Whether it writes several words in one.
    pub(super) fn joins_words(self) -> bool {
        matches!(self, German | Dutch | Danish | Swedish | Norwegian)
    }

    /// The language of a text that was kept.
    pub(crate) fn of(text: &str) -> Self {
        Self::told(text, DISTINCT_MIN, u32::MAX)
    }

    /// The language of a question, among `held`: one word that is of no other may tell it.
    pub(super) fn of_question(text: &str, held: &[Self]) -> Self {
        let held = held.iter().fold(0, |bits, language| bits | language.bit());
        if held == 0 {
            return English;
        }
        Self::told(text, 1, held)
    }

    fn told(text: &str, distinct_min: u32, among: u32) -> Self {
        let text = &text[..text.floor_char_boundary(LOOK_BYTES)];
        if let Some(language) = by_script(text) {
            return language;
        }
        let mut counts = [Counts::default(); OF_LATIN + 1];
        let mut seen: Vec<&str> = Vec::new();
        let mut english = 0;
        pieces(text, |piece| {
            let Piece::Word { word, .. } = piece else {
                return;
            };
            let is_english = super::is_stop_word(&word.to_ascii_lowercase());
            english += u32::from(is_english);
            let Some(&(stops, tells)) = STOP_WORDS.get(&*folded(&word.to_lowercase())) else {
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
        for ((language, ..), counts) in ALL.iter().zip(counts) {
            let is_told = counts.distinct >= distinct_min
                && counts.words + counts.shared > english
                && language.bit() & among != 0;
            if is_told && counts.words > best.0 {
                best = (counts.words, *language);
            }
        }
        best.1
    }

    /// Whether a word, in small letters, carries no meaning of its own in it.
    pub(super) fn is_stop_word(self, lower: &str) -> bool {
        let found = STOP_WORDS.get(&*folded(lower));
        found.is_some_and(|(stops, _)| stops & self.bit() != 0)
    }

    /// The stems of a word in small letters, accents folded; the second is what it would be for
    /// somebody who writes no accents.
    pub(super) fn stems(self, lower: &str) -> (String, Option<String>) {
        let Some(algorithm) = self.entry().2 else {
            return (lower.to_owned(), None);
        };
        let stemmer = Stemmer::create(algorithm);
        let spelled = match self {
            German => german(lower),
            Russian => lower.replace('\u{451}', "\u{435}").into(),
            _ => Cow::Borrowed(lower),
        };
        let stem = folded(&stemmer.stem(&spelled)).into_owned();
        let bare = match folded(lower) {
            Cow::Owned(bare) if self.is_latin() => Some(folded(&stemmer.stem(&bare)).into_owned()),
            _ => None,
        };
        (stem, bare)
    }

    /// The language of a word that is not in Latin letters.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        word.chars().find_map(|c| match c {
            '\u{370}'..='\u{3ff}' | '\u{1f00}'..='\u{1fff}' => Some(Greek),
            '\u{400}'..='\u{52f}' => Some(Russian),
            '\u{600}'..='\u{6ff}' => Some(Arabic),
            '\u{b80}'..='\u{bff}' => Some(Tamil),
            _ => None,
        })
    }
}

/// Function words of one language in a text.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    /// Those that tell it, and how many different ones.
    words: u32,
    distinct: u32,
    /// English ones that it has, too.
    shared: u32,
}

/// The language of a text most of whose letters are not Latin.
fn by_script(text: &str) -> Option<Language> {
    if text.is_ascii() {
        return None;
    }
    let (mut latin, mut others, mut kana) = (0, [0_u32; ALL.len()], 0);
    let mut buffer = [0; 4];
    for c in text.chars().filter(|c| c.is_alphabetic()) {
        let language = match c {
            '\u{3040}'..='\u{30ff}' => {
                kana += 1;
                Some(Japanese)
            }
            '\u{ac00}'..='\u{d7af}' => Some(Korean),
            '\u{e00}'..='\u{e7f}' => Some(Thai),
            c if is_han(c) => Some(Chinese),
            c => Language::of_word(c.encode_utf8(&mut buffer)),
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
    let most = others.iter().zip(ALL).max_by_key(|(count, _)| **count);
    // A word of these scripts has fewer letters than a Latin one, and names of code are Latin.
    let most = most.filter(|(count, _)| **count * 3 > latin && **count > 0);
    most.map(|(_, (language, ..))| language)
}

/// German as people write it who have no umlauts on their keyboard.
fn german(lower: &str) -> Cow<'_, str> {
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

/// Latin and Greek letters without their accents.
pub(super) fn folded(text: &str) -> Cow<'_, str> {
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
