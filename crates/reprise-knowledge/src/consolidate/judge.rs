//! Whether two texts say the same, the contrary, or something else. Pure, and careful: where it
//! cannot tell, it says so, because what is merged wrongly is lost to its reader.

use super::changed;
use super::facts::{Class, Facts, Word, stem};
use super::lexicon::meaning;
use crate::values::among;

/// What two texts are to each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judgement {
    Same,
    /// Both cannot hold; why.
    Contrary(String),
    /// They are alike, and a person has to say; why.
    Doubt(String),
    Other,
}

/// Words of their own that a text needs to be compared at all.
const WORDS_MIN: usize = 3;
/// Words of what is denied since a time.
const DENIED_MIN: usize = 2;
/// Share of all words that two texts need in common to be compared.
pub(super) const ALIKE_MIN: f64 = 0.5;
/// The same, to be worth a doubt.
const DOUBT_MIN: f64 = 0.6;
/// Words of the stretch in which two texts differ.
const SPAN_MAX: usize = 4;

pub(super) fn judge(one: (&str, &Facts), other: (&str, &Facts)) -> Judgement {
    // What holds since a time holds now.
    let now = [changed::since(one.0), changed::since(other.0)];
    if let [Some(_), None] | [None, Some(_)] = now {
        let [a, b] = [one.0, other.0].map(str::to_owned);
        let (a, b) = (now[0].clone().unwrap_or(a), now[1].clone().unwrap_or(b));
        let (facts_a, facts_b) = (Facts::of(&a), Facts::of(&b));
        if let Judgement::Contrary(why) = compared((&a, &facts_a), (&b, &facts_b)) {
            return Judgement::Contrary(why);
        }
        let denies = |not: &Facts, so: &Facts| {
            let (count, all) = (not.words().count(), so.words().count());
            not.negated
                && !so.negated
                && count >= DENIED_MIN
                && count * 2 >= all
                && without(not, so).is_empty()
        };
        let of_now = if now[0].is_some() {
            (&facts_a, &facts_b)
        } else {
            (&facts_b, &facts_a)
        };
        if denies(of_now.0, of_now.1) {
            return Judgement::Contrary("one negates what the other says".to_owned());
        }
    }
    match compared(one, other) {
        Judgement::Contrary(why) => Judgement::Contrary(why),
        judged => changed::moved(one, other).map_or(judged, Judgement::Contrary),
    }
}

fn compared(one: (&str, &Facts), other: (&str, &Facts)) -> Judgement {
    let ((text_a, a), (text_b, b)) = (one, other);
    let (count_a, count_b) = (a.words().count(), b.words().count());
    if count_a < WORDS_MIN || count_b < WORDS_MIN || a.asks != b.asks {
        return Judgement::Other;
    }
    let (only_a, only_b) = (without(a, b), without(b, a));
    let shared = count_a - only_a.len();
    let alike = shared as f64 / (count_a + only_b.len()) as f64;
    if only_a.is_empty() && only_b.is_empty() {
        return of_equal_words(a, b);
    }
    if alike < ALIKE_MIN {
        return Judgement::Other;
    }
    if let ([x], [y]) = (&only_a[..], &only_b[..])
        && are_antonyms(x, y)
        && a.negated == b.negated
    {
        return Judgement::Contrary(format!("`{}` against `{}`", x.written, y.written));
    }
    for (less, more, said) in [(&only_a, b, a), (&only_b, a, b)] {
        let of_it = said.words().find(|word| more.rejected.contains(&word.stem));
        if let Some(word) = of_it.filter(|_| less.is_empty() && said.rejected.is_empty()) {
            return Judgement::Contrary(format!("`{}` holds no more for one", word.written));
        }
    }
    let why = format!("they differ in {} and {}", listed(&only_a), listed(&only_b));
    if a.tenses == b.tenses
        && a.degrees == b.degrees
        && a.negated == b.negated
        && !a.asks
        && excludes(text_a, text_b)
    {
        return Judgement::Contrary(why);
    }
    if alike < DOUBT_MIN {
        return Judgement::Other;
    }
    if only_a.is_empty() || only_b.is_empty() {
        let more = if only_a.is_empty() { &only_b } else { &only_a };
        return Judgement::Doubt(format!("one says more: {}", listed(more)));
    }
    Judgement::Doubt(why)
}

/// The same words, perhaps turned around by what is no word of its own.
fn of_equal_words(a: &Facts, b: &Facts) -> Judgement {
    if a.negated != b.negated {
        return Judgement::Contrary("one negates what the other says".to_owned());
    }
    if a.degrees != b.degrees {
        return Judgement::Doubt("they differ in how much or how sure".to_owned());
    }
    if a.tenses != b.tenses {
        return Judgement::Doubt("they tell of different times".to_owned());
    }
    if a.relations != b.relations {
        return Judgement::Doubt("they relate their words otherwise".to_owned());
    }
    let is_read_as = |a: &Facts, b: &Facts| {
        let plain: Vec<&Word> = b.words().collect();
        let mut readings = a.readings().into_iter();
        readings.any(|read| read.iter().zip(&plain).all(|(x, y)| x.is(y)))
    };
    let same = is_read_as(a, b) || is_read_as(b, a) || a.sorted_clauses() == b.sorted_clauses();
    // `is kept by` has the form of a past, and is none.
    let passive = |one: &Facts, other: &Facts| {
        one.words().any(|word| word.by) && past_forms(other).is_empty()
    };
    let times = past_forms(a) == past_forms(b) || passive(a, b) || passive(b, a);
    if !times {
        return Judgement::Doubt("they tell of different times".to_owned());
    }
    let exact = |facts: &Facts| -> Vec<String> {
        let exact = facts.words().filter(|word| word.class == Class::Identifier);
        let mut exact: Vec<String> = exact.map(|word| word.written.clone()).collect();
        exact.sort_unstable();
        exact
    };
    if exact(a) != exact(b) {
        return Judgement::Doubt("an identifier is spelled otherwise".to_owned());
    }
    if a.marks != b.marks {
        return Judgement::Doubt("they differ in a symbol".to_owned());
    }
    if same {
        return Judgement::Same;
    }
    Judgement::Doubt("the same words stand in another order".to_owned())
}

/// The stems of the words that have the form of a past; `is located` is none, beside `lives`.
fn past_forms(facts: &Facts) -> Vec<&str> {
    let past = facts.words().filter(|word| {
        let ends = word.written.to_lowercase().ends_with("ed");
        word.class == Class::Content && ends && word.stem != "liv"
    });
    let mut past: Vec<&str> = past.map(|word| word.stem.as_str()).collect();
    past.sort_unstable();
    past
}

/// The words of one that the other does not have, each as often as it has more.
fn without<'a>(one: &'a Facts, other: &Facts) -> Vec<&'a Word> {
    let mut left: Vec<&Word> = other.words().collect();
    let mut only = Vec::new();
    for word in one.words() {
        let exact = left.iter().position(|other| other.stem == word.stem);
        match exact.or_else(|| left.iter().position(|other| other.is(word))) {
            Some(place) => {
                left.swap_remove(place);
            }
            None => only.push(word),
        }
    }
    only
}

fn listed(words: &[&Word]) -> String {
    let words: Vec<String> = words
        .iter()
        .take(SPAN_MAX)
        .map(|word| format!("`{}`", word.written))
        .collect();
    words.join(", ")
}

/// Whether two texts give one thing two values: they differ in one stretch, which stands where a
/// value stands, behind a word that takes one value only.
fn excludes(a: &str, b: &str) -> bool {
    let (a, b) = (tokens(a), tokens(b));
    // What holds now is said against what held.
    let is_now = |tokens: &[String]| tokens.iter().any(|word| NOW.contains(&word.as_str()));
    let changes = is_now(&a) != is_now(&b);
    let timeless = |tokens: Vec<String>| -> Vec<String> {
        let words = tokens.into_iter();
        words.filter(|word| !NOW.contains(&word.as_str())).collect()
    };
    let (a, b) = (timeless(a), timeless(b));
    let before = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let ends = a.iter().rev().zip(b.iter().rev());
    let after = ends.take_while(|(x, y)| x == y).count();
    let after = after.min(a.len() - before).min(b.len() - before);
    let spans = [&a, &b].map(|tokens| tokens.get(before..tokens.len() - after).unwrap_or_default());
    if spans
        .iter()
        .any(|span| span.is_empty() || span.len() > SPAN_MAX)
    {
        return false;
    }
    let head = a.get(..before).unwrap_or_default();
    let number = |span: &[String]| {
        span.iter()
            .any(|w| w.contains(|c: char| c.is_ascii_digit()))
    };
    let numbers = spans.iter().all(|span| number(span));
    let lasts = lasts(&a, before, after) && lasts(&b, before, after);
    // `The default branch is main`: a verb has its subject before it. `From the branch main`: what
    // kind of value it is stands before it, and something is said of a subject.
    let last = head.last().map_or("", String::as_str);
    let slot = SLOTS.contains(&last);
    let verb = verb_of(head, slot || changes, if changes { 1 } else { 2 });
    let Some(verb) = verb.or_else(|| lasts.then(|| head.len() - 1)) else {
        return false;
    };
    let first = |span: &[String]| span.first().cloned().unwrap_or_default();
    let labels = |word: &str| among(LABELS, word) || word.starts_with('#');
    // A label alone is a value: `from the branch release`.
    let labelled = |span: &&[String]| {
        let names = |word: &String| labels(word) && (span.len() > 1 || word.starts_with('#'));
        span.iter().any(names)
    };
    if (!lasts && labels(last)) || spans.iter().any(labelled) {
        return false;
    }
    // `is a developer` and `is a climber` hold of one person; so do `is testing` and such.
    let undetermined = |word: &str| matches!(word, "a" | "an" | "one" | "also");
    if undetermined(last) || spans.iter().any(|span| undetermined(&first(span))) {
        return false;
    }
    let between = head.get(verb + 1..).unwrap_or_default();
    // What holds on a condition is said of the condition, and it may be another.
    if head
        .iter()
        .take(verb)
        .any(|word| CONDITIONS.contains(&word.as_str()))
    {
        return false;
    }
    // What is used in one place may be used in another: a value stands right behind its `in`.
    let said = between
        .iter()
        .filter(|word| !ARTICLES.contains(&word.as_str()));
    let said: Vec<&str> = said.map(String::as_str).collect();
    let mut places = said.iter().rev().skip(1);
    if after > 0 && places.any(|word| matches!(*word, "in" | "on" | "at" | "with" | "from" | "to"))
    {
        return false;
    }
    // What is enabled for one may be enabled for another; what is kept for 30 days is not for 60.
    if !lasts
        && between
            .iter()
            .any(|word| matches!(word.as_str(), "for" | "of"))
    {
        return false;
    }
    let is_event = |word: &String| word.ends_with("ing") && word.len() > 5;
    if between.iter().any(is_event) || spans.iter().any(|span| span.iter().any(is_event)) {
        return false;
    }
    let verb = head.get(verb).map_or("", String::as_str);
    // What is used or had may be several things, but not a number of them, nor for one purpose.
    !TAKES_MANY.contains(&verb) || numbers || after > 0
}

fn is_subject(word: &str) -> bool {
    word.len() > 2 && !ARTICLES.contains(&word)
}

/// Where the verb stands that takes one value and has a subject before it; where what follows is
/// known to be a value, any verb from the word `from` on does. A name may end like one: the last
/// word that does is it.
fn verb_of(head: &[String], value_follows: bool, from: usize) -> Option<usize> {
    let said = |at: &usize| head.iter().take(*at).any(|word| is_subject(word));
    let takes_one = |at: &usize| {
        let word = head.get(*at).map_or("", String::as_str);
        among(TAKES_ONE, word) && said(at)
    };
    let says = |at: &usize| {
        let word = head.get(*at).map_or("", String::as_str);
        *at >= from && word.len() > 3 && word.ends_with('s') && said(at)
    };
    let any = || (0..head.len()).rfind(says).filter(|_| value_follows);
    (0..head.len()).find(takes_one).or_else(any)
}

/// Whether a text says how much of something is so: `It retries a request 3 times`. Of what is so
/// there is one measure, of what happened none.
fn lasts(tokens: &[String], before: usize, after: usize) -> bool {
    let (head, rest) = tokens.split_at(before);
    let Some((number, [unit, ..])) = rest.split_first() else {
        return false;
    };
    let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_of = unit == "times" || meaning(unit).unit.is_some();
    let subjects = head.iter().filter(|word| is_subject(word)).count();
    rest.len() == after + 1 && is_plain && is_of && subjects > 1 && !happened(tokens)
}

/// Whether something is told that happened, and not what is so.
pub(super) fn happened(tokens: &[String]) -> bool {
    let mut before = "";
    tokens.iter().any(|word| {
        let state = matches!(before, "is" | "are" | "be" | "being" | "gets" | "a" | "the");
        before = word;
        let past = word.len() > 4 && word.ends_with("ed");
        !state && (past || PASTS.contains(&word.as_str()))
    })
}

pub(super) fn tokens(text: &str) -> Vec<String> {
    let tokens = text.split_whitespace().map(|token| {
        let around: &[char] = &['.', ',', ';', ':', '!', '?', '"', '\'', '`', '(', ')'];
        token.trim_matches(around).to_lowercase()
    });
    tokens.filter(|token| !token.is_empty()).collect()
}

fn are_antonyms(x: &Word, y: &Word) -> bool {
    let plain = |word: &Word| {
        let lower = word.written.to_lowercase();
        stem(lower.strip_suffix("ly").unwrap_or(&lower))
    };
    let is = |word: &Word, name: &str| word.stem == name || plain(word) == stem(name);
    let pairs = ANTONYMS.iter();
    let mut pairs = pairs.flat_map(|(a, b)| [(a, b), (b, a)]);
    pairs.any(|(a, b)| is(x, a) && is(y, b))
}

/// Past forms that no ending tells.
const PASTS: &[&str] = &[
    "was", "were", "had", "did", "took", "ran", "went", "made", "got", "sent", "came", "saw",
    "found", "left", "lost", "gave", "fell", "rose", "grew", "spent", "began", "broke", "told",
    "paid", "met", "won", "held", "kept", "slept", "drove", "rode", "flew", "swam", "ate", "drank",
    "wrote", "read", "bought", "sold", "hit", "cut", "shut", "stood", "sat", "threw", "caught",
];

const ARTICLES: &[&str] = &["the", "our", "its", "this", "that", "their", "and"];

/// Words behind which it is said when something holds.
const CONDITIONS: &[&str] = &["when", "if", "unless", "until", "while", "whenever", "once"];

/// Words that say that it is so now, and need not have been.
const NOW: &[&str] = &["now", "nowadays", "currently", "today", "meanwhile"];

/// What a value is one of, so that the word behind it is the value.
const SLOTS: &[&str] = &[
    "branch", "port", "region", "version", "theme", "language", "timezone", "currency", "database",
    "license", "licence", "model", "registry", "bucket", "queue", "schema", "channel",
];

/// Words behind which one value stands.
const TAKES_ONE: &str = "\
    is are be equals = defaults default set listens lives live located stored hosted \
    deployed written owned maintained meets named called prefers prefer expires takes costs \
    lasts starts ends runs uses use has have requires require needs need allows allow pinned \
    limited keeps keep must should times retries holds targets points";

/// Of these, those that may have several.
const TAKES_MANY: &[&str] = &[
    "uses", "use", "has", "have", "requires", "require", "needs", "need", "allows", "allow",
    "keeps", "keep", "must", "should", "runs", "holds",
];

/// Words that say which one, so that the number behind them is a name.
const LABELS: &str = "\
    pr prs issue ticket bug commit build job run step user order case test chapter page line \
    task story sprint iteration room item invoice customer release request merge pull patch \
    record row episode session revision experiment milestone adr rfc";

/// Stems of which one excludes the other.
const ANTONYMS: &[(&str, &str)] = &[
    ("enabl", "disabl"),
    ("on", "off"),
    ("tru", "fals"),
    ("allow", "deny"),
    ("allow", "forbid"),
    ("allow", "block"),
    ("permit", "forbid"),
    ("increas", "decreas"),
    ("accept", "reject"),
    ("pas", "fail"),
    ("pass", "fail"),
    ("succeed", "fail"),
    ("success", "failur"),
    ("add", "delet"),
    ("start", "stop"),
    ("open", "clos"),
    ("public", "privat"),
    ("minimum", "maximum"),
    ("min", "max"),
    ("first", "last"),
    ("mor", "less"),
    ("higher", "lower"),
    ("high", "low"),
    ("above", "below"),
    ("sync", "async"),
    ("synchronou", "asynchronou"),
    ("synchronous", "asynchronous"),
    ("mutabl", "immutabl"),
    ("safe", "unsafe"),
    ("saf", "unsaf"),
    ("required", "optional"),
    ("need", "optional"),
    ("ascend", "descend"),
    ("faster", "slower"),
    ("fast", "slow"),
    ("big", "small"),
    ("left", "right"),
    ("stabl", "unstabl"),
    ("support", "unsupport"),
    ("works", "break"),
    ("work", "break"),
    ("valid", "invalid"),
    ("activ", "inactiv"),
    ("online", "offline"),
    ("onlin", "offlin"),
    ("read", "writ"),
    ("encrypt", "unencrypt"),
    ("love", "hat"),
    ("lov", "hat"),
    ("prefer", "hat"),
    ("prefer", "dislik"),
    ("always", "never"),
    ("before", "after"),
    ("include", "exclude"),
    ("everybody", "nobody"),
    ("everyone", "nobody"),
    ("everything", "nothing"),
    ("inside", "outside"),
    ("with", "without"),
    ("cheap", "expensive"),
    ("early", "late"),
    ("manual", "automatic"),
    ("visible", "hidden"),
    ("static", "dynamic"),
    ("strict", "lenient"),
    ("upper", "lower"),
    ("ahead", "behind"),
    ("singular", "plural"),
    ("permanent", "temporary"),
    ("tabs", "spac"),
    ("tab", "spac"),
];
