//! What a text asserts, taken apart so that two can be compared: words, numbers, names, negation,
//! tense. Pure.

use std::collections::BTreeSet;

/// A word of a text, as far as comparing needs it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Word {
    /// Lower case, a plain stem, one of its synonyms.
    pub(super) stem: String,
    /// How it was written, without marks around it.
    pub(super) written: String,
    pub(super) class: Class,
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
}

impl Facts {
    pub(super) fn of(text: &str) -> Self {
        let mut facts = Self::default();
        let mut clause: Vec<Word> = Vec::new();
        let mut first = true;
        let expanded = text.replace('\u{2019}', "'");
        for token in expanded.split_whitespace() {
            let ends = token.ends_with([',', ';', '.', ':', '!', '?']);
            let sentence_ends = token.ends_with(['.', '!', '?', ':']);
            let written = bare(token);
            let lower = written.to_lowercase();
            let lower = lower.strip_suffix("'s").unwrap_or(&lower);
            if is_clause_word(lower) && !clause.is_empty() {
                facts.clauses.push(std::mem::take(&mut clause));
            }
            facts.note(lower);
            if let Some(word) = word(written, lower, first) {
                clause.push(word);
            }
            first = sentence_ends;
            if ends && !clause.is_empty() {
                facts.clauses.push(std::mem::take(&mut clause));
            }
        }
        if !clause.is_empty() {
            facts.clauses.push(clause);
        }
        facts
    }

    /// What negation, tense and degree a word brings.
    fn note(&mut self, lower: &str) {
        if NEGATIONS.contains(&lower) || lower.ends_with("n't") {
            self.negated = !self.negated;
        }
        let find = |table: &[(&'static str, &'static str)]| {
            let found = table.iter().find(|(word, _)| *word == lower);
            found.map(|(_, class)| *class)
        };
        self.tenses.extend(find(TENSES));
        self.degrees.extend(find(DEGREES));
    }

    /// All words, in order.
    pub(super) fn words(&self) -> impl Iterator<Item = &Word> {
        self.clauses.iter().flatten()
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

/// A token without the marks around it.
fn bare(token: &str) -> &str {
    const AROUND: &[char] = &[
        '.', ',', ';', ':', '!', '?', '"', '\'', '`', '(', ')', '[', ']', '{', '}', '<', '>', '*',
    ];
    token.trim_matches(AROUND)
}

fn word(written: &str, lower: &str, first: bool) -> Option<Word> {
    if lower.is_empty() || !lower.contains(|c: char| c.is_alphanumeric()) {
        return None;
    }
    let class = class_of(written, first);
    let stem = match class {
        // Letter by letter; a name at the beginning of a sentence is one in the middle too.
        Class::Number | Class::Identifier => written.to_owned(),
        Class::Name => lower.to_owned(),
        Class::Content => {
            if let Some((_, number)) = NUMBER_WORDS.iter().find(|(word, _)| *word == lower) {
                return Some(Word {
                    stem: (*number).to_owned(),
                    written: written.to_owned(),
                    class: Class::Number,
                });
            }
            if FUNCTION_WORDS.contains(&lower) || lower.ends_with("n't") {
                return None;
            }
            let stem = stem(lower);
            let same = SYNONYMS.iter().find(|same| same.contains(&stem.as_str()));
            same.and_then(|same| same.first())
                .map_or(stem, |first| (*first).to_owned())
        }
    };
    Some(Word {
        stem,
        written: written.to_owned(),
        class,
    })
}

fn class_of(written: &str, first: bool) -> Class {
    let digits = written.chars().filter(char::is_ascii_digit).count();
    let letters = written.chars().filter(|c| c.is_alphabetic()).count();
    let inside = |marks: &[char]| written.contains(marks);
    if digits > 0 && letters <= 3 {
        return Class::Number;
    }
    let capitals = written.chars().filter(|c| c.is_uppercase()).count();
    let inner = written.chars().skip(1).any(char::is_uppercase);
    let camel = inner && letters > capitals;
    if digits > 0 || inside(&['_', '/', '\\', '@', '#', '=', '$', '.', ':']) || camel {
        return Class::Identifier;
    }
    if capitals > 0 && !first {
        return Class::Name;
    }
    Class::Content
}

/// A plain stem: enough that `tests`, `tested` and `testing` meet, never so much that two words do.
fn stem(lower: &str) -> String {
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
                && ending.len() < 4
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

fn is_clause_word(lower: &str) -> bool {
    const WORDS: [&str; 12] = [
        "when", "if", "because", "since", "so", "then", "after", "before", "until", "while",
        "unless", "whenever",
    ];
    WORDS.contains(&lower)
}

const NEGATIONS: &[&str] = &[
    "not", "no", "never", "without", "cannot", "neither", "nor", "none", "nothing", "avoid",
];

/// Words that tell a time, by what they tell.
const TENSES: &[(&str, &str)] = &[
    ("was", "past"),
    ("were", "past"),
    ("had", "past"),
    ("did", "past"),
    ("used", "past"),
    ("formerly", "past"),
    ("previously", "past"),
    ("once", "past"),
    ("yesterday", "past"),
    ("ago", "past"),
    ("will", "future"),
    ("shall", "future"),
    ("soon", "future"),
    ("tomorrow", "future"),
    ("planned", "future"),
    ("going", "future"),
    ("longer", "ended"),
    ("anymore", "ended"),
    ("stopped", "ended"),
    ("still", "lasting"),
    ("yet", "lasting"),
    ("been", "lasting"),
];

/// Words that tell how much, how often or how sure.
const DEGREES: &[(&str, &str)] = &[
    ("all", "all"),
    ("every", "all"),
    ("each", "all"),
    ("always", "all"),
    ("some", "some"),
    ("sometimes", "some"),
    ("often", "some"),
    ("usually", "some"),
    ("only", "only"),
    ("except", "except"),
    ("most", "most"),
    ("few", "few"),
    ("may", "may"),
    ("might", "may"),
    ("could", "may"),
    ("can", "can"),
    ("should", "should"),
    ("must", "must"),
    ("would", "would"),
    ("at", "at"),
    ("least", "least"),
    ("than", "than"),
];

const NUMBER_WORDS: &[(&str, &str)] = &[
    ("one", "1"),
    ("two", "2"),
    ("three", "3"),
    ("four", "4"),
    ("five", "5"),
    ("six", "6"),
    ("seven", "7"),
    ("eight", "8"),
    ("nine", "9"),
    ("ten", "10"),
    ("twelve", "12"),
    ("twenty", "20"),
    ("thirty", "30"),
    ("hundred", "100"),
    ("thousand", "1000"),
];

/// Words that carry no assertion of their own; those of negation, tense and degree are noted apart.
const FUNCTION_WORDS: &[&str] = &[
    "a",
    "an",
    "the",
    "is",
    "are",
    "be",
    "been",
    "being",
    "am",
    "was",
    "were",
    "do",
    "does",
    "did",
    "has",
    "have",
    "had",
    "having",
    "will",
    "shall",
    "of",
    "to",
    "in",
    "on",
    "at",
    "by",
    "for",
    "with",
    "as",
    "it",
    "its",
    "this",
    "that",
    "these",
    "those",
    "there",
    "here",
    "and",
    "or",
    "we",
    "our",
    "us",
    "you",
    "your",
    "i",
    "my",
    "me",
    "he",
    "she",
    "they",
    "them",
    "their",
    "his",
    "her",
    "who",
    "which",
    "what",
    "where",
    "please",
    "also",
    "just",
    "really",
    "very",
    "actually",
    "basically",
    "simply",
    "quite",
    "currently",
    "now",
    "note",
    "remember",
    "that's",
    "it's",
    "can",
    "should",
    "must",
    "may",
    "might",
    "could",
    "would",
    "not",
    "no",
    "never",
    "all",
    "every",
    "each",
    "always",
    "into",
    "about",
    "than",
    "such",
    "any",
    "then",
    "so",
    "too",
    "get",
    "gets",
];

/// Stems that say the same in what is kept of work.
const SYNONYMS: &[&[&str]] = &[
    &["use", "us", "utiliz", "utilis", "employ"],
    &["fix", "repair", "resolv", "solv", "mend"],
    &["error", "failur", "fault"],
    &["start", "begin", "launch"],
    &["delet", "remov", "eras"],
    &["config", "configuration", "setting"],
    &["repo", "repository"],
    &["db", "databas"],
    &["run", "execut", "invok"],
    &["need", "requir"],
    &["directory", "folder", "dir"],
    &["doc", "documentation", "docs"],
    &["creat", "mak"],
    &["show", "display"],
    &["big", "larg"],
    &["fast", "quick"],
    &["chang", "modify", "alter"],
    &["env", "environment"],
    &["app", "application"],
    &["auth", "authentication"],
    &["prefer", "lik", "favor", "favour"],
    &["liv", "locat", "found", "stored", "stor", "resid"],
];
