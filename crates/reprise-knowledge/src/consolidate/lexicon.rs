//! Tables of English words that the comparison of texts uses.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::values::is_in_words;

/// What a word contributes to the meaning of a text.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Meaning {
    pub(super) negates: bool,
    /// Carries no assertion of its own.
    pub(super) is_function: bool,
    pub(super) number: Option<&'static str>,
    pub(super) tense: Option<&'static str>,
    pub(super) degree: Option<&'static str>,
    pub(super) relation: Option<&'static str>,
    /// Canonical name of the unit.
    pub(super) unit: Option<&'static str>,
}

/// Returns the meaning of a word in lower case; the default for most words.
pub(super) fn meaning_of(lower: &str) -> Meaning {
    static TABLE: LazyLock<HashMap<&str, Meaning>> = LazyLock::new(|| {
        let mut known: HashMap<&str, Meaning> = HashMap::new();
        let mut note = |words: &'static str, note: &dyn Fn(&mut Meaning, &'static str)| {
            for word in words.split_whitespace() {
                note(known.entry(word).or_default(), word);
            }
        };
        note(NEGATIONS, &|known, _| known.negates = true);
        note(FUNCTION_WORDS, &|known, _| known.is_function = true);
        note(RELATIONS, &|known, word| known.relation = Some(word));
        for (tense, words) in TENSES {
            note(words, &|known, _| known.tense = Some(tense));
        }
        for (degree, words) in DEGREES {
            note(words, &|known, _| known.degree = Some(degree));
        }
        let numbers = NUMBER_WORDS.split_whitespace();
        for (word, number) in numbers.filter_map(|pair| pair.split_once('=')) {
            known.entry(word).or_default().number = Some(number);
        }
        for names in UNITS {
            for name in *names {
                known.entry(name).or_default().unit = names.first().copied();
            }
        }
        known
    });
    TABLE.get(lower).copied().unwrap_or_default()
}

/// Returns the stem that replaces all its synonyms; `None` for a stem without synonyms.
pub(super) fn canonical_stem(stem: &str) -> Option<&'static str> {
    static TABLE: LazyLock<HashMap<&str, &str>> = LazyLock::new(|| {
        let sets = SYNONYMS.iter();
        let pairs = sets.flat_map(|same| {
            let first = same.first().copied().unwrap_or_default();
            same.iter().map(move |stem| (*stem, first))
        });
        pairs.collect()
    });
    TABLE.get(stem).copied()
}

/// Whether a single value follows a word.
pub(super) fn is_verb_of_one_value(word: &str) -> bool {
    is_in_words(TAKES_ONE, word)
}

/// Whether the number after a noun is a name and no value.
pub(super) fn names_things_by_number(noun: &str) -> bool {
    is_in_words(LABELS, noun)
}

/// Whether what a verb says may be true of several things at once.
pub(super) fn is_many_valued(verb: &str) -> bool {
    is_in_words(MANY_VALUES, verb)
}

/// Whether a text describes a past event, and not a state.
pub(super) fn describes_event(tokens: &[String]) -> bool {
    let mut before = "";
    tokens.iter().any(|word| {
        let state = matches!(before, "is" | "are" | "be" | "being" | "gets" | "a" | "the");
        before = word;
        let past = word.len() > 4 && word.ends_with("ed");
        !state && (past || PAST_FORMS.contains(&word.as_str()))
    })
}

/// Words that negate a statement.
const NEGATIONS: &str = "\
    not no never without cannot neither nor none nothing avoid";

/// Function words that change the meaning nevertheless. `of` and `by` do not: the same can be said
/// without them.
const RELATIONS: &str = "\
    to in at for with as into about";

/// Verbs which say that the activity after them has ended.
pub(super) const STOPS: &[&str] = &["stopped", "stops", "stop", "ceased", "quit"];

/// Words that are names, even in lower case.
pub(super) const DAYS: &str = "\
    monday tuesday wednesday thursday friday saturday sunday january february april june \
    july august september october november december";

/// Units, each with the names that it has after a number.
const UNITS: &[&[&str]] = &[
    &["ms", "millisecond", "milliseconds", "msec"],
    &["s", "sec", "secs", "second", "seconds"],
    &["min", "mins", "minute", "minutes"],
    &["h", "hr", "hrs", "hour", "hours"],
    &["d", "day", "days"],
    &["kb", "kilobyte", "kilobytes"],
    &["mb", "megabyte", "megabytes"],
    &["gb", "gigabyte", "gigabytes"],
    &["tb", "terabyte", "terabytes"],
    &["percent", "pct", "%"],
    &["km", "kilometre", "kilometres", "kilometer", "kilometers"],
    &["kg", "kilogram", "kilograms", "kilo", "kilos"],
    &["eur", "euro", "euros"],
    &["usd", "dollar", "dollars"],
];

/// Stems with two spellings that no rule covers.
pub(super) const SPELLINGS: &[(&str, &str)] = &[
    ("catalogu", "catalog"),
    ("centr", "center"),
    ("grey", "gray"),
    ("licenc", "licens"),
    ("cancell", "cancel"),
    ("programm", "program"),
    ("adviser", "advisor"),
    ("tyr", "tir"),
];

/// Words that tell the tense.
const TENSES: &[(&str, &str)] = &[
    (
        "past",
        "was were had did used formerly previously once yesterday ago",
    ),
    ("future", "will shall soon tomorrow planned going"),
    ("ended", "longer anymore stopped"),
    ("lasting", "still yet been"),
];

/// Words that tell how much, how often or how surely.
const DEGREES: &[(&str, &str)] = &[
    ("all", "all every each always"),
    ("some", "some sometimes often usually"),
    ("only", "only"),
    ("except", "except"),
    ("most", "most"),
    ("few", "few"),
    ("may", "may might could"),
    ("can", "can"),
    ("should", "should"),
    ("must", "must"),
    ("would", "would"),
    ("at", "at"),
    ("least", "least"),
    ("than", "than"),
];

const NUMBER_WORDS: &str = "\
    one=1 two=2 three=3 four=4 five=5 six=6 seven=7 eight=8 nine=9 ten=10 eleven=11 twelve=12 \
    thirteen=13 fourteen=14 fifteen=15 sixteen=16 seventeen=17 eighteen=18 nineteen=19 twenty=20 \
    thirty=30 forty=40 fifty=50 sixty=60 seventy=70 eighty=80 ninety=90 hundred=100 \
    thousand=1000";

/// Words without a meaning of their own; negation, tense and degree are listed separately.
const FUNCTION_WORDS: &str = "\
    a an the is are be been being am was were do does did has have had having will shall of \
    to in on at by for with as it its this that these those there here and or we our us you \
    your i my me he she they them their his her who which what where please also just really \
    very actually basically simply quite currently now note remember that's it's can should \
    must may might could would not no cannot fyi psa til reminder never all every each \
    always into about than such any then so too get gets";

/// Stems that are synonyms in records about work.
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
    &["liv", "locat", "stor", "keep", "resid"],
];

/// Irregular past forms.
const PAST_FORMS: &[&str] = &[
    "was", "were", "had", "did", "took", "ran", "went", "made", "got", "sent", "came", "saw",
    "found", "left", "lost", "gave", "fell", "rose", "grew", "spent", "began", "broke", "told",
    "paid", "met", "won", "held", "kept", "slept", "drove", "rode", "flew", "swam", "ate", "drank",
    "wrote", "read", "bought", "sold", "hit", "cut", "shut", "stood", "sat", "threw", "caught",
];

/// Words that are followed by a single value.
const TAKES_ONE: &str = "\
    is are be equals = defaults default set listens lives live located stored hosted \
    deployed written owned maintained meets named called prefers prefer expires takes costs \
    lasts starts ends runs uses use has have requires require needs need allows allow pinned \
    limited keeps keep must should times retries holds targets points";

/// Verbs that are true of several values at once.
const MANY_VALUES: &str = "\
    supports reads writes calls talks works connects includes covers exports imports likes tests \
    fails knows helps visits";

/// Nouns whose number is a name and no value, such as `issue 12`.
const LABELS: &str = "\
    pr prs issue ticket bug commit build job run step user order case test chapter page line \
    task story sprint iteration room item invoice customer release request merge pull patch \
    record row episode session revision experiment milestone adr rfc";
