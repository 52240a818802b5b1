//! Splits a text into the pieces from which terms are built: words, runs of a script without
//! spaces, symbols.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Piece<'t> {
    Word {
        word: &'t str,
        after_apostrophe: bool,
    },
    /// Letters of a script without spaces between words.
    Run(&'t str),
    /// An emoji or another pictograph.
    Symbol(&'t str),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Letter,
    Unspaced,
    /// A mark that belongs to the letter before it.
    Mark,
    Symbol,
    Between,
}

fn classify_char(c: char) -> CharClass {
    if c.is_ascii() {
        return if c.is_ascii_alphanumeric() {
            CharClass::Letter
        } else {
            CharClass::Between
        };
    }
    if is_mark(c) || is_syllable_end(c) {
        CharClass::Mark
    } else if is_pictograph(c) {
        CharClass::Symbol
    } else if !c.is_alphanumeric() {
        CharClass::Between
    } else if is_unspaced(c) {
        CharClass::Unspaced
    } else {
        CharClass::Letter
    }
}

/// Calls `emit` for every piece of `text`, in order.
pub(super) fn for_each_piece<'t>(text: &'t str, mut emit: impl FnMut(Piece<'t>)) {
    let mut open: Option<(usize, CharClass)> = None;
    let mut apostrophe_before = false;
    let mut previous = ' ';
    for (at, c) in text.char_indices() {
        let class = classify_char(c);
        if let Some((from, kind)) = open
            && class != kind
            && class != CharClass::Mark
        {
            emit(build_piece(&text[from..at], kind, apostrophe_before));
            open = None;
        }
        match class {
            CharClass::Symbol => emit(Piece::Symbol(&text[at..at + c.len_utf8()])),
            CharClass::Letter | CharClass::Unspaced if open.is_none() => {
                open = Some((at, class));
                apostrophe_before = matches!(previous, '\'' | '\u{2019}');
            }
            _ => {}
        }
        previous = c;
    }
    if let Some((from, kind)) = open {
        emit(build_piece(&text[from..], kind, apostrophe_before));
    }
}

fn build_piece(text: &str, kind: CharClass, after_apostrophe: bool) -> Piece<'_> {
    if kind == CharClass::Unspaced {
        return Piece::Run(text);
    }
    Piece::Word {
        word: text,
        after_apostrophe,
    }
}

/// Calls `emit` for each pair of adjacent characters of a run, and before it for each single
/// Chinese character (`true`); for a run of one character with that character.
pub(super) fn for_each_pair<'t>(run: &'t str, mut emit: impl FnMut(&'t str, bool)) {
    let mut before: Option<(usize, char)> = None;
    let mut pairs = 0;
    let mut last = run;
    let begins = |c: char| !is_mark(c) && !is_syllable_end(c);
    for (at, c) in run.char_indices().filter(|(_, c)| begins(*c)) {
        let rest = run[at..].chars().skip(1);
        let parts = rest.take_while(|part| is_syllable_end(*part) || is_kana_mark(*part));
        let end = at + c.len_utf8() + parts.map(char::len_utf8).sum::<usize>();
        last = &run[at..end];
        if is_han(c) && run.len() > end - at && !MEANINGLESS_ALONE.contains(c) {
            emit(last, true);
        }
        if let Some((from, first)) = before {
            pairs += 1;
            if !is_meaningless_pair(first, c) {
                emit(&run[from..end], false);
            }
        }
        before = Some((at, c));
    }
    if pairs == 0 && !MEANINGLESS_ALONE.chars().any(|c| last.starts_with(c)) {
        emit(last, false);
    }
}

/// Characters without a meaning of their own: of, past-tense and question marks, they, this, that,
/// which, what, how, who, I, you, he, she, it, is.
const MEANINGLESS_ALONE: &str = "\u{7684}\u{4e86}\u{5417}\u{5462}\u{5427}\u{554a}\u{4eec}\u{8fd9}\
    \u{90a3}\u{54ea}\u{4ec0}\u{4e48}\u{600e}\u{8c01}\u{6211}\u{4f60}\u{60a8}\u{4ed6}\u{5979}\u{5b83}\
    \u{662f}";
/// Pairs of Hiragana that end or join sentences: desu, masu, shita, shite, iru, aru,
/// koto, suru, kara, made, niha, deha, nai, nano, deki, doko, naze, doush, nani, tsu-te, tsu-ta.
const MEANINGLESS_PAIRS: &str = "\u{3067}\u{3059} \u{307e}\u{3059} \u{3057}\u{305f} \u{3057}\u{3066} \
    \u{3044}\u{308b} \u{3042}\u{308b} \u{3053}\u{3068} \u{3059}\u{308b} \u{304b}\u{3089} \
    \u{307e}\u{3067} \u{306b}\u{306f} \u{3067}\u{306f} \u{306a}\u{3044} \u{306a}\u{306e} \
    \u{3069}\u{3053} \u{306a}\u{305c} \u{3069}\u{3046} \u{306a}\u{306b} \u{3063}\u{3066} \
    \u{3063}\u{305f} \u{3066}\u{3044} \u{307e}\u{3057} \u{3059}\u{304b} \u{306e}\u{3067}";

/// Whether a pair of characters only holds a sentence together.
fn is_meaningless_pair(one: char, other: char) -> bool {
    let is_nothing = |c: char| MEANINGLESS_ALONE.contains(c);
    if is_nothing(one) && is_nothing(other) {
        return true;
    }
    let mut joints = MEANINGLESS_PAIRS.split(' ').map(|pair| {
        let mut letters = pair.chars();
        (letters.next(), letters.next())
    });
    joints.any(|pair| pair == (Some(one), Some(other)))
}

/// Whether it is an accent, a vowel sign or another mark at a letter, or joins or varies emoji.
pub(super) fn is_mark(c: char) -> bool {
    matches!(
        c,
        '\u{300}'..='\u{36f}'
            | '\u{591}'..='\u{5c7}'
            | '\u{610}'..='\u{61a}'
            | '\u{640}'
            | '\u{64b}'..='\u{65f}'
            | '\u{93c}'
            | '\u{94d}'
            | '\u{9bc}'
            | '\u{9cd}'
            | '\u{bcd}'
            | '\u{c4d}'
            | '\u{ccd}'
            | '\u{d4d}'
            | '\u{e31}'
            | '\u{e34}'..='\u{e3a}'
            | '\u{e47}'..='\u{e4e}'
            | '\u{103a}'
            | '\u{3099}'..='\u{309a}'
            | '\u{200d}'
            | '\u{fe0e}'..='\u{fe0f}'
            | '\u{ff9e}'..='\u{ff9f}'
    )
}

/// Whether it is a later part of a Korean syllable that is written in its parts.
fn is_syllable_end(c: char) -> bool {
    matches!(c, '\u{1160}'..='\u{11ff}' | '\u{d7b0}'..='\u{d7ff}')
}

/// Whether it makes another kana of the one before it.
fn is_kana_mark(c: char) -> bool {
    matches!(c, '\u{3099}'..='\u{309a}' | '\u{ff9e}'..='\u{ff9f}')
}

/// Whether it is a pictograph that people write among words; skin colours are none.
fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{2600}'..='\u{27bf}' | '\u{2b50}'..='\u{2b55}' | '\u{1f1e6}'..='\u{1f1ff}'
        | '\u{1f300}'..='\u{1f3fa}' | '\u{1f400}'..='\u{1faff}')
}

pub(super) fn is_han(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}'
        | '\u{20000}'..='\u{3134f}')
}

/// Whether its script is looked up in pairs of characters: it has no spaces between words or, in
/// Korean, joins words with particles.
fn is_unspaced(c: char) -> bool {
    is_han(c)
        || matches!(
            c,
            '\u{e00}'..='\u{eff}'
                | '\u{1000}'..='\u{109f}'
                | '\u{1100}'..='\u{115f}'
                | '\u{1780}'..='\u{17ff}'
                | '\u{3040}'..='\u{30ff}'
                | '\u{a960}'..='\u{a97f}'
                | '\u{ac00}'..='\u{d7af}'
                | '\u{ff66}'..='\u{ff9d}'
        )
}

/// Longest word that is split at its capitals; a longer one is a blob, not an identifier.
const IDENTIFIER_BYTES_MAX: usize = 48;

/// Calls `emit` for the parts of a `camelCase` or `HTTPServer` word; returns their number.
pub(super) fn for_each_identifier_part<'t>(word: &'t str, mut emit: impl FnMut(&'t str)) -> usize {
    if word.len() > IDENTIFIER_BYTES_MAX || !word.chars().skip(1).any(char::is_uppercase) {
        emit(word);
        return 1;
    }
    let (mut start, mut parts) = (0, 0);
    let mut previous: Option<char> = None;
    let mut rest = word.char_indices().peekable();
    while let Some((at, c)) = rest.next() {
        let next_is_lower = rest.peek().is_some_and(|(_, next)| next.is_lowercase());
        let begins = c.is_uppercase()
            && previous.is_some_and(|previous| previous.is_lowercase() || next_is_lower);
        if begins {
            emit(&word[start..at]);
            start = at;
            parts += 1;
        }
        previous = Some(c);
    }
    emit(&word[start..]);
    parts + 1
}
