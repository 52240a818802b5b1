//! Splits a text into what it asserts, so that two can be compared: words, numbers, names,
//! negation, tense. Pure.

use std::collections::BTreeSet;
use std::sync::OnceLock;

use super::lexicon::{DAYS, Meaning, SPELLINGS, STOPS, canonical_stem, meaning_of};
use super::marks;
use super::slots::SlotText;
use super::tokens::{stem_word, tokenize};
use super::wording::reword_for_comparison;
use crate::values::is_in_words;

/// A word of a text, prepared for comparison.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct FactWord {
    /// Stem in lower case, replaced by the first of its synonyms.
    pub(super) stem: String,
    /// The word as it was written, without punctuation around it.
    pub(super) written: String,
    pub(super) class: WordClass,
    /// Whether the word before it is `by`.
    pub(super) by: bool,
    /// Whether it belongs to the name before it: `Ada's`.
    pub(super) owned: bool,
}

impl FactWord {
    /// Whether both are the same word; at the beginning of a sentence a name looks like any word.
    pub(super) fn is_same_word(&self, other: &Self) -> bool {
        let is_name = self.class == WordClass::Name || other.class == WordClass::Name;
        let lower = |word: &Self| {
            let lower = word.written.to_lowercase();
            lower
                .strip_suffix("'s")
                .map_or(lower.clone(), str::to_owned)
        };
        self.stem == other.stem || (is_name && lower(self) == lower(other))
    }

    fn new_content(stem: &str, written: &str) -> Self {
        Self {
            stem: stem.to_owned(),
            written: written.to_owned(),
            class: WordClass::Content,
            by: false,
            owned: false,
        }
    }
}

/// How a word is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum WordClass {
    /// An ordinary word with a meaning of its own.
    Content,
    /// A number, version, date or measure.
    Number,
    /// A path, a symbol, a hash or an address, compared letter by letter.
    Identifier,
    /// A word with a capital letter within a sentence.
    Name,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Its meaningful words, in their order, clause by clause.
    pub(super) clauses: Vec<Vec<FactWord>>,
    /// Whether an odd number of its words negate it.
    pub(super) negated: bool,
    /// Words that say when: past, future, no longer.
    pub(super) tenses: BTreeSet<&'static str>,
    /// Words that say how much or how sure: all, some, may, must.
    pub(super) degrees: BTreeSet<&'static str>,
    /// Prepositions, ascending: `to Anna` is not `about Anna`.
    pub(super) relations: Vec<&'static str>,
    /// Whether the text is a question.
    pub(super) asks: bool,
    /// Stems of what the text rejects: `instead of npm`, `, not gRPC`.
    pub(super) rejected: BTreeSet<String>,
    /// Symbols that are no punctuation, ascending: `<`, `&&`, an emoji.
    pub(super) marks: Vec<String>,
    /// The text as it is compared.
    pub(super) wording: String,
    /// Whether the text announces that it corrects something.
    pub(super) corrects: bool,
    /// Its values and other words, once they were asked for.
    slots: OnceLock<SlotText>,
}

impl Facts {
    pub(super) fn of(text: &str) -> Self {
        let (wording, corrects) = reword_for_comparison(text);
        let mut facts = Self {
            asks: wording.trim_end().ends_with('?'),
            marks: marks::extract_marks(&wording),
            corrects,
            ..Self::default()
        };
        let mut clause: Vec<FactWord> = Vec::new();
        let mut first = true;
        let mut before = String::new();
        let (mut rejects, mut owned) = (false, false);
        let tokens = tokenize(&wording);
        for (at, token) in tokens.iter().enumerate() {
            let written = token.written.as_str();
            let whole = written.to_lowercase();
            let lower = whole.strip_suffix("'s").unwrap_or(&whole);
            let known = meaning_of(lower);
            if is_clause_word(lower) && !clause.is_empty() {
                facts.clauses.push(std::mem::take(&mut clause));
            }
            let next = || Some(tokens.get(at + 1)?.written.to_lowercase());
            let stops = STOPS.contains(&lower)
                && next().is_some_and(|next| next.len() > 4 && next.ends_with("ing"));
            if stops {
                facts.negated = !facts.negated;
                facts.tenses.insert("ended");
            }
            facts.add_meaning(&known);
            // `off` says something of its own at the end of a clause, and so does `on`.
            let switch = lower == "on" && token.ends_clause;
            let marks_time = match lower {
                "longer" => before == "no",
                "more" => before == "any",
                "anymore" | "still" => true,
                _ => false,
            };
            let found = match () {
                () if stops || marks_time => None,
                () if switch => Some(FactWord::new_content(lower, written)),
                () => parse_word(written, (&whole, lower), &known, first),
            };
            if let Some(mut word) = found {
                if let Some(unit) = known.unit.filter(|_| is_amount(&before)) {
                    unit.clone_into(&mut word.stem);
                }
                word.by = before == "by";
                word.owned = owned;
                if rejects {
                    facts.rejected.insert(word.stem.clone());
                    rejects = false;
                }
                clause.push(word);
            }
            // `instead of npm`, `rather than npm`, `plain HTTP, not gRPC`.
            rejects |= (lower == "of" && before == "instead")
                || (lower == "than" && before == "rather")
                || (lower == "not" && at > 0 && clause.is_empty());
            // The sign of a list begins no sentence.
            first = token.ends_sentence || (first && !lower.contains(char::is_alphanumeric));
            owned = written.ends_with("'s");
            lower.clone_into(&mut before);
            if token.ends_clause {
                rejects = false;
                if !clause.is_empty() {
                    facts.clauses.push(std::mem::take(&mut clause));
                }
            }
        }
        if !clause.is_empty() {
            facts.clauses.push(clause);
        }
        facts.relations.sort_unstable();
        facts.wording = wording;
        facts
    }

    /// Returns its values and other words.
    pub(super) fn slots(&self) -> &SlotText {
        self.slots
            .get_or_init(|| SlotText::of(&self.wording, self.corrects))
    }

    /// Adds the negation, tense, degree and relation of a word.
    fn add_meaning(&mut self, meaning: &Meaning) {
        self.negated ^= meaning.negates;
        self.tenses.extend(meaning.tense);
        self.degrees.extend(meaning.degree);
        self.relations.extend(meaning.relation);
    }

    /// Returns all words, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = &FactWord> {
        self.clauses.iter().flatten()
    }

    /// Returns the words in their order, and in the orders with the same meaning: `X is kept by Y`
    /// is `Y keeps X`, `if A, B` is `B if A`, and `Ada's key` is the key of Ada.
    pub(super) fn list_word_orders(&self) -> Vec<Vec<&FactWord>> {
        let plain: Vec<&FactWord> = self.words().collect();
        let mut readings = Vec::new();
        let lower = |word: &&FactWord| word.written.to_lowercase();
        if let Some(by) = plain.iter().position(|word| word.by)
            && let Some((deed, done)) = plain.get(..by).and_then(<[&FactWord]>::split_last)
            && deed.class == WordClass::Content
            && lower(deed).ends_with("ed")
            && !done.is_empty()
        {
            let doer = plain.get(by..).unwrap_or_default();
            readings.push([doer, &[*deed], done].concat());
        }
        let clause = plain
            .iter()
            .rposition(|word| is_clause_word(&lower(word)))
            .filter(|at| *at > 0);
        if let Some(at) = clause {
            let (statement, condition) = plain.split_at(at);
            readings.push([condition, statement].concat());
        }
        if let Some(at) = plain.iter().position(|word| word.owned) {
            let names = plain.get(..at).unwrap_or_default().iter().rev();
            let names = names.take_while(|word| word.written.starts_with(char::is_uppercase));
            let from = at - names.count();
            let mut reordered = plain.clone();
            reordered[from..=at].rotate_right(1);
            readings.push(reordered);
        }
        readings.push(plain);
        readings
    }

    /// Returns the stems of each clause, with the clauses sorted.
    pub(super) fn sorted_clauses(&self) -> Vec<Vec<&str>> {
        let mut clauses: Vec<Vec<&str>> = self
            .clauses
            .iter()
            .map(|clause| clause.iter().map(|word| word.stem.as_str()).collect())
            .collect();
        clauses.sort_unstable();
        clauses
    }
}

/// Builds a word from its spelling, its lower-case form and that form without an `'s`; `None` for a
/// word without a meaning of its own. `first` is set at the beginning of a sentence.
fn parse_word(
    written: &str,
    (whole, lower): (&str, &str),
    meaning: &Meaning,
    first: bool,
) -> Option<FactWord> {
    if lower.is_empty() || !lower.contains(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let class = classify_word(written, whole, first);
    let stem = match class {
        // Letter by letter; a name at the beginning of a sentence is one in the middle too.
        WordClass::Number | WordClass::Identifier => written.to_owned(),
        WordClass::Name => lower.to_owned(),
        WordClass::Content => {
            if let Some(number) = meaning.number {
                return Some(FactWord {
                    class: WordClass::Number,
                    ..FactWord::new_content(number, written)
                });
            }
            if meaning.is_function {
                return None;
            }
            let stem = normalize_spelling(stem_word(lower));
            canonical_stem(&stem).map_or(stem, str::to_owned)
        }
    };
    Some(FactWord {
        class,
        ..FactWord::new_content(&stem, written)
    })
}

fn classify_word(written: &str, whole: &str, first: bool) -> WordClass {
    const MARKS: &str = "_/\\@#=$.:";
    let (mut digits, mut letters, mut capitals) = (0, 0, 0);
    let (mut inner, mut marked) = (false, false);
    for (at, c) in written.chars().enumerate() {
        digits += usize::from(c.is_ascii_digit());
        letters += usize::from(c.is_alphabetic());
        let is_capital = c.is_uppercase();
        capitals += usize::from(is_capital);
        inner |= is_capital && at > 0;
        marked |= MARKS.contains(c);
    }
    if digits > 0 && letters <= 3 {
        return WordClass::Number;
    }
    let camel = inner && letters > capitals;
    if digits > 0 || marked || camel {
        return WordClass::Identifier;
    }
    let is_day = is_in_words(DAYS, whole.trim_end_matches('s'));
    if is_day || (capitals > 0 && !first) {
        return WordClass::Name;
    }
    WordClass::Content
}

/// Returns one spelling of a stem that has two.
fn normalize_spelling(stem: String) -> String {
    if let Some((_, same)) = SPELLINGS.iter().find(|(other, _)| *other == stem) {
        return (*same).to_owned();
    }
    for (british, american) in [("is", "iz"), ("ys", "yz"), ("our", "or")] {
        if let Some(base) = stem.strip_suffix(british)
            && base.len() >= 3
        {
            return [base, american].concat();
        }
    }
    stem
}

/// Whether a unit may follow the word.
fn is_amount(lower: &str) -> bool {
    lower.starts_with(|c: char| c.is_ascii_digit()) || meaning_of(lower).number.is_some()
}

fn is_clause_word(lower: &str) -> bool {
    const WORDS: [&str; 12] = [
        "when", "if", "because", "since", "so", "then", "after", "before", "until", "while",
        "unless", "whenever",
    ];
    WORDS.contains(&lower)
}
