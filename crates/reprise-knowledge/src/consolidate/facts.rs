//! What a text asserts, taken apart so that two can be compared: words, numbers, names, negation,
//! tense. Pure.

use std::collections::BTreeSet;

use super::lexicon::{DAYS, Meaning, SPELLINGS, STOPS, meaning, synonym};
use super::{marks, tokens};
use crate::values::among;

/// A word of a text, as far as comparing needs it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    /// Lower case, a plain stem, one of its synonyms.
    pub(super) stem: String,
    /// How it was written, without marks around it.
    pub(super) written: String,
    pub(super) class: Class,
    /// Whether `by` stands before it.
    pub(super) by: bool,
    /// Whether it belongs to the name before it: `Ada's`.
    pub(super) owned: bool,
}

impl Word {
    /// Whether both are one word; at the beginning of a sentence a name looks like any other.
    pub(super) fn is(&self, other: &Self) -> bool {
        let is_name = self.class == Class::Name || other.class == Class::Name;
        let lower = |word: &Self| {
            let lower = word.written.to_lowercase();
            lower
                .strip_suffix("'s")
                .map_or(lower.clone(), str::to_owned)
        };
        self.stem == other.stem || (is_name && lower(self) == lower(other))
    }

    fn content(stem: &str, written: &str) -> Self {
        Self {
            stem: stem.to_owned(),
            written: written.to_owned(),
            class: Class::Content,
            by: false,
            owned: false,
        }
    }
}

/// What a word is to a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Class {
    /// Says something of its own.
    Content,
    /// A number, version, date or measure.
    Number,
    /// A path, a symbol, a hash, an address: letter by letter.
    Identifier,
    /// Written like a name within a sentence.
    Name,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Facts {
    /// Words that count, in their order, clause by clause.
    pub(super) clauses: Vec<Vec<Word>>,
    /// Whether an odd number of words turn it around.
    pub(super) negated: bool,
    /// Words that say when: past, future, no longer.
    pub(super) tenses: BTreeSet<&'static str>,
    /// Words that say how much or how sure: all, some, may, must.
    pub(super) degrees: BTreeSet<&'static str>,
    /// What stands between words: `to Anna` is not `about Anna`. Ascending.
    pub(super) relations: Vec<&'static str>,
    /// Whether something is asked, and nothing said.
    pub(super) asks: bool,
    /// Stems of what is said to hold no more, or not: `instead of npm`, `, not gRPC`.
    pub(super) rejected: BTreeSet<String>,
    /// Marks that are no punctuation: `<`, `&&`, an emoji. Ascending.
    pub(super) marks: Vec<String>,
}

impl Facts {
    pub(super) fn of(text: &str) -> Self {
        let mut facts = Self {
            asks: text.trim_end().ends_with('?'),
            marks: marks::of(text),
            ..Self::default()
        };
        let mut clause: Vec<Word> = Vec::new();
        let mut first = true;
        let mut before = String::new();
        let (mut rejects, mut owned) = (false, false);
        let tokens = tokens::of(text);
        for (at, token) in tokens.iter().enumerate() {
            let written = token.written.as_str();
            let whole = written.to_lowercase();
            let lower = whole.strip_suffix("'s").unwrap_or(&whole);
            let known = meaning(lower);
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
            facts.note(&known);
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
                () if switch => Some(Word::content(lower, written)),
                () => word(written, (&whole, lower), &known, first),
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
        facts
    }

    /// What negation, tense and degree a word brings.
    fn note(&mut self, meaning: &Meaning) {
        self.negated ^= meaning.negates;
        self.tenses.extend(meaning.tense);
        self.degrees.extend(meaning.degree);
        self.relations.extend(meaning.relation);
    }

    /// All words, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = &Word> {
        self.clauses.iter().flatten()
    }

    /// The words in their order, and in the orders that say the same: `X is kept by Y` is `Y keeps
    /// X`, `if A, B` is `B if A`, and `Ada's key` is the key of Ada.
    pub(super) fn readings(&self) -> Vec<Vec<&Word>> {
        let plain: Vec<&Word> = self.words().collect();
        let mut readings = Vec::new();
        let lower = |word: &&Word| word.written.to_lowercase();
        if let Some(by) = plain.iter().position(|word| word.by)
            && let Some((deed, done)) = plain.get(..by).and_then(<[&Word]>::split_last)
            && deed.class == Class::Content
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
            let (said, condition) = plain.split_at(at);
            readings.push([condition, said].concat());
        }
        if let Some(at) = plain.iter().position(|word| word.owned) {
            let names = plain.get(..at).unwrap_or_default().iter().rev();
            let names = names.take_while(|word| word.written.starts_with(char::is_uppercase));
            let from = at - names.count();
            let mut turned = plain.clone();
            turned[from..=at].rotate_right(1);
            readings.push(turned);
        }
        readings.push(plain);
        readings
    }

    /// The clauses, whatever their order.
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

/// `lower` is the whole word, and what it is without an `'s`.
fn word(
    written: &str,
    (whole, lower): (&str, &str),
    meaning: &Meaning,
    first: bool,
) -> Option<Word> {
    if lower.is_empty() || !lower.contains(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let class = class_of(written, whole, first);
    let stem = match class {
        // Letter by letter; a name at the beginning of a sentence is one in the middle too.
        Class::Number | Class::Identifier => written.to_owned(),
        Class::Name => lower.to_owned(),
        Class::Content => {
            if let Some(number) = meaning.number {
                return Some(Word {
                    class: Class::Number,
                    ..Word::content(number, written)
                });
            }
            if meaning.is_function {
                return None;
            }
            let stem = spelled(stem(lower));
            synonym(&stem).map_or(stem, str::to_owned)
        }
    };
    Some(Word {
        class,
        ..Word::content(&stem, written)
    })
}

fn class_of(written: &str, whole: &str, first: bool) -> Class {
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
        return Class::Number;
    }
    let camel = inner && letters > capitals;
    if digits > 0 || marked || camel {
        return Class::Identifier;
    }
    let is_day = among(DAYS, whole.trim_end_matches('s'));
    if is_day || (capitals > 0 && !first) {
        return Class::Name;
    }
    Class::Content
}

/// A plain stem: enough that `tests`, `tested` and `testing` meet, never so much that two words do.
pub(super) fn stem(lower: &str) -> String {
    for (ending, instead) in [
        ("ies", "y"),
        ("sses", "ss"),
        ("ing", ""),
        ("ed", ""),
        ("es", ""),
        ("s", ""),
    ] {
        if let Some(base) = lower.strip_suffix(ending)
            && base.len() >= 3
            && !(ending == "s" && base.ends_with(['s', 'u', 'i']))
        {
            let mut base = base.to_owned() + instead;
            // `running`, `stopped`: the doubled letter goes.
            let mut last = base.chars().rev();
            if let (Some(a), Some(b)) = (last.next(), last.next())
                && a == b
                && matches!(ending, "ing" | "ed")
                && !matches!(a, 'l' | 's' | 'z')
            {
                base.pop();
            }
            return base.trim_end_matches('e').to_owned();
        }
    }
    lower.trim_end_matches('e').to_owned()
}

/// One spelling of what is written in two.
fn spelled(stem: String) -> String {
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

/// Whether a measure may stand behind it.
fn is_amount(lower: &str) -> bool {
    lower.starts_with(|c: char| c.is_ascii_digit()) || meaning(lower).number.is_some()
}

fn is_clause_word(lower: &str) -> bool {
    const WORDS: [&str; 12] = [
        "when", "if", "because", "since", "so", "then", "after", "before", "until", "while",
        "unless", "whenever",
    ];
    WORDS.contains(&lower)
}
