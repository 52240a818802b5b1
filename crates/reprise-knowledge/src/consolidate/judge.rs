//! Judges whether two texts say the same, contradict each other, or are unrelated. Pure, and
//! careful: it returns a doubt if it cannot tell, because a wrong merge hides a record.

mod revoked;

use revoked::explain_revocation;

use super::changed;
use super::facts::{FactWord, Facts, WordClass};
use super::lexicon::{describes_event, is_verb_of_one_value, meaning_of, names_things_by_number};
use super::slots::explain_new_value;
use super::tokens::{first_clause, split_lower_words, stem_word};

/// How two texts are related.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Judgement {
    Same,
    /// They cannot both hold, with the reason.
    Contradiction(String),
    /// They are alike, and a person has to decide, with the reason.
    Doubt(String),
    Unrelated,
}

/// Fewest meaningful words of a text that is compared.
const WORDS_MIN: usize = 3;
/// Fewest words of a text that denies something since a time.
const DENIED_MIN: usize = 2;
/// Least share of all words that two compared texts have in common.
pub(super) const ALIKE_MIN: f64 = 0.5;
/// Least share of all words that two texts have in common for a doubt.
const DOUBT_MIN: f64 = 0.6;
/// Longest span in which two texts may differ, in words.
const SPAN_MAX: usize = 4;

pub(super) fn judge_statements(one: &Facts, other: &Facts) -> Judgement {
    let (one, other) = ((one.wording.as_str(), one), (other.wording.as_str(), other));
    // A text that holds since some time holds now.
    let now = [
        changed::replace_since_by_now(one.0),
        changed::replace_since_by_now(other.0),
    ];
    if let [Some(_), None] | [None, Some(_)] = now {
        let [a, b] = [one.0, other.0].map(str::to_owned);
        let (a, b) = (now[0].clone().unwrap_or(a), now[1].clone().unwrap_or(b));
        let (facts_a, facts_b) = (Facts::of(&a), Facts::of(&b));
        if let Judgement::Contradiction(why) = judge_as_written((&a, &facts_a), (&b, &facts_b)) {
            return Judgement::Contradiction(why);
        }
        let denies = |not: &Facts, so: &Facts| {
            let (count, all) = (not.words().count(), so.words().count());
            not.negated
                && !so.negated
                && count >= DENIED_MIN
                && count * 2 >= all
                && words_missing_in(not, so).is_empty()
        };
        let of_now = if now[0].is_some() {
            (&facts_a, &facts_b)
        } else {
            (&facts_b, &facts_a)
        };
        if denies(of_now.0, of_now.1) {
            return Judgement::Contradiction("one negates what the other says".to_owned());
        }
    }
    match judge_as_written(one, other) {
        Judgement::Contradiction(why) => Judgement::Contradiction(why),
        judged => changed::explain_change(one, other)
            .or_else(|| explain_revocation(one.0, other.0))
            .or_else(|| explain_denied_head(one, other))
            .or_else(|| explain_new_value(one.1, other.1))
            .map_or(judged, Judgement::Contradiction),
    }
}

/// Returns why two texts cannot both hold if the first clause of one denies the other: `is not
/// allowed until the gate works`.
fn explain_denied_head(one: (&str, &Facts), other: (&str, &Facts)) -> Option<String> {
    let denied = |(text, not): (&str, &Facts), so: (&str, &Facts)| {
        let head = first_clause(text).filter(|_| !so.1.negated)?;
        let padded = [head, " "].concat();
        if !DENIALS.iter().any(|denial| padded.contains(denial)) {
            return None;
        }
        let facts = Facts::of(head);
        let judged = facts
            .negated
            .then(|| judge_as_written((head, &facts), so))?;
        let Judgement::Contradiction(why) = judged else {
            return None;
        };
        (facts.corrects == not.corrects || not.corrects).then_some(why)
    };
    denied(one, other).or_else(|| denied(other, one))
}

/// What a clause that denies something has.
const DENIALS: &[&str] = &[" not ", "n't ", " no ", " never ", "cannot "];

fn judge_as_written(one: (&str, &Facts), other: (&str, &Facts)) -> Judgement {
    let ((text_a, a), (text_b, b)) = (one, other);
    let (count_a, count_b) = (a.words().count(), b.words().count());
    if count_a < WORDS_MIN || count_b < WORDS_MIN || a.asks != b.asks {
        return Judgement::Unrelated;
    }
    let (only_a, only_b) = (words_missing_in(a, b), words_missing_in(b, a));
    let shared = count_a - only_a.len();
    let alike = shared as f64 / (count_a + only_b.len()) as f64;
    if only_a.is_empty() && only_b.is_empty() {
        return judge_equal_words(a, b);
    }
    if alike < ALIKE_MIN {
        return Judgement::Unrelated;
    }
    if let ([x], [y]) = (&only_a[..], &only_b[..])
        && are_antonyms(x, y)
        && a.negated == b.negated
    {
        return Judgement::Contradiction(format!("`{}` against `{}`", x.written, y.written));
    }
    for (less, more, facts) in [(&only_a, b, a), (&only_b, a, b)] {
        let rejected_word = facts
            .words()
            .find(|word| more.rejected.contains(&word.stem));
        if let Some(word) =
            rejected_word.filter(|_| less.is_empty() && facts.rejected.is_empty() && !facts.negated)
        {
            return Judgement::Contradiction(format!("they disagree about `{}`", word.written));
        }
    }
    let why = format!(
        "they differ in {} and {}",
        format_words(&only_a),
        format_words(&only_b)
    );
    if a.tenses == b.tenses
        && a.degrees == b.degrees
        && a.negated == b.negated
        && !a.asks
        && !only_a.is_empty()
        && !only_b.is_empty()
        && (give_different_values(text_a, text_b) || give_different_bounds(text_a, text_b))
    {
        return Judgement::Contradiction(why);
    }
    if alike < DOUBT_MIN {
        return Judgement::Unrelated;
    }
    if only_a.is_empty() || only_b.is_empty() {
        let more = if only_a.is_empty() { &only_b } else { &only_a };
        return Judgement::Doubt(format!("one of them also says {}", format_words(more)));
    }
    Judgement::Doubt(why)
}

/// Judges two texts with the same meaningful words, which may differ in negation, degree, tense or
/// order.
fn judge_equal_words(a: &Facts, b: &Facts) -> Judgement {
    if a.negated != b.negated {
        return Judgement::Contradiction("one negates what the other says".to_owned());
    }
    if a.degrees != b.degrees {
        return Judgement::Doubt("they differ in how much or how sure".to_owned());
    }
    if a.tenses != b.tenses {
        return Judgement::Doubt("they tell of different times".to_owned());
    }
    if a.relations != b.relations {
        return Judgement::Doubt("they connect their words differently".to_owned());
    }
    let is_read_as = |a: &Facts, b: &Facts| {
        let plain: Vec<&FactWord> = b.words().collect();
        let mut readings = a.list_word_orders().into_iter();
        readings.any(|read| read.iter().zip(&plain).all(|(x, y)| x.is_same_word(y)))
    };
    let same = is_read_as(a, b) || is_read_as(b, a) || a.sorted_clauses() == b.sorted_clauses();
    // `is kept by` has the form of a past, and is none.
    let passive = |one: &Facts, other: &Facts| {
        one.words().any(|word| word.by) && list_stems_in_past_form(other).is_empty()
    };
    let times =
        list_stems_in_past_form(a) == list_stems_in_past_form(b) || passive(a, b) || passive(b, a);
    if !times {
        return Judgement::Doubt("they tell of different times".to_owned());
    }
    let exact = |facts: &Facts| -> Vec<String> {
        let exact = facts
            .words()
            .filter(|word| word.class == WordClass::Identifier);
        let mut exact: Vec<String> = exact.map(|word| word.written.clone()).collect();
        exact.sort_unstable();
        exact
    };
    if exact(a) != exact(b) {
        return Judgement::Doubt("an identifier is spelled differently".to_owned());
    }
    if a.marks != b.marks {
        return Judgement::Doubt("they differ in a symbol".to_owned());
    }
    if same {
        return Judgement::Same;
    }
    Judgement::Doubt("the same words are in another order".to_owned())
}

/// Returns the stems of the words in a past form; `is located` is a synonym of `lives` and none.
fn list_stems_in_past_form(facts: &Facts) -> Vec<&str> {
    let past = facts.words().filter(|word| {
        let ends = word.written.to_lowercase().ends_with("ed");
        word.class == WordClass::Content && ends && word.stem != "liv"
    });
    let mut past: Vec<&str> = past.map(|word| word.stem.as_str()).collect();
    past.sort_unstable();
    past
}

/// Returns the words of `one` that `other` lacks, each as often as `one` has it more.
fn words_missing_in<'a>(one: &'a Facts, other: &Facts) -> Vec<&'a FactWord> {
    let mut rest: Vec<&FactWord> = other.words().collect();
    let mut only = Vec::new();
    for word in one.words() {
        let exact = rest.iter().position(|other| other.stem == word.stem);
        match exact.or_else(|| rest.iter().position(|other| other.is_same_word(word))) {
            Some(place) => {
                rest.swap_remove(place);
            }
            None => only.push(word),
        }
    }
    only
}

fn format_words(words: &[&FactWord]) -> String {
    let words: Vec<String> = words
        .iter()
        .take(SPAN_MAX)
        .map(|word| format!("`{}`", word.written))
        .collect();
    words.join(", ")
}

/// Whether two rules differ only in the amount from which, or up to which, they hold: `claims over
/// 50000 need two signatures`.
fn give_different_bounds(a: &str, b: &str) -> bool {
    let (a, b) = (split_lower_words(a), split_lower_words(b));
    let before = a.iter().zip(&b).take_while(|(x, y)| x == y).count();
    let [(Some(one), rest), (Some(other), same)] = [&a, &b].map(|words| {
        let rest = words.get(before + 1..).unwrap_or_default();
        (words.get(before), rest)
    }) else {
        return false;
    };
    let is_one_of = |word: &String, words: &[&str]| words.contains(&word.as_str());
    let head = a.get(..before).unwrap_or_default();
    let is_bound = before > 1 && head.last().is_some_and(|word| is_one_of(word, BOUNDS));
    let is_amount = |word: &String| word.starts_with(|c: char| c.is_ascii_digit());
    let is_rule = rest.iter().any(|word| is_one_of(word, DUTIES));
    let depends = head.iter().any(|word| is_one_of(word, CONDITIONS));
    rest == same && is_bound && is_rule && !depends && is_amount(one) && is_amount(other)
}

/// Whether two texts give one thing two values: they differ in one span, which is in the position
/// of a value, after a word that takes only one.
fn give_different_values(a: &str, b: &str) -> bool {
    let (a, b) = (split_lower_words(a), split_lower_words(b));
    // A text about now contradicts one about before.
    let is_now = |tokens: &[String]| tokens.iter().any(|word| NOW_WORDS.contains(&word.as_str()));
    let changes = is_now(&a) != is_now(&b);
    let timeless = |tokens: Vec<String>| -> Vec<String> {
        let words = tokens.into_iter();
        words
            .filter(|word| !NOW_WORDS.contains(&word.as_str()))
            .collect()
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
    let lasts = states_measure(&a, before, after) && states_measure(&b, before, after);
    // `The default branch is main`: a verb has its subject before it. `From the branch main`: the
    // kind of the value comes before it, and the sentence has a subject.
    let last = head.last().map_or("", String::as_str);
    let slot = SLOTS.contains(&last);
    let verb = find_verb(head, slot || changes, if changes { 1 } else { 2 });
    let Some(verb) = verb.or_else(|| lasts.then(|| head.len() - 1)) else {
        return false;
    };
    let first = |span: &[String]| span.first().cloned().unwrap_or_default();
    let labels = |word: &str| names_things_by_number(word) || word.starts_with('#');
    // A label alone is a value: `from the branch release`.
    let labelled = |span: &&[String]| {
        let names = |word: &String| labels(word) && (span.len() > 1 || word.starts_with('#'));
        span.iter().any(names)
    };
    if (!lasts && labels(last)) || spans.iter().any(labelled) {
        return false;
    }
    // `is a developer` and `is a climber` may both be true of one person; so may `is testing`.
    let undetermined = |word: &str| matches!(word, "a" | "an" | "one" | "also");
    if undetermined(last) || spans.iter().any(|span| undetermined(&first(span))) {
        return false;
    }
    let between = head.get(verb + 1..).unwrap_or_default();
    // A statement with a condition may hold under another condition.
    if head
        .iter()
        .take(verb)
        .any(|word| CONDITIONS.contains(&word.as_str()))
    {
        return false;
    }
    // A thing that is used in one place may be used in another: a value directly follows its `in`.
    let words_between = between
        .iter()
        .filter(|word| !ARTICLES.contains(&word.as_str()));
    let words_between: Vec<&str> = words_between.map(String::as_str).collect();
    let mut places = words_between.iter().rev().skip(1);
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
    // One may use or have several things, but only one number of them, and only one per purpose.
    !TAKES_MANY.contains(&verb) || numbers || after > 0
}

fn is_subject(word: &str) -> bool {
    word.len() > 2 && !ARTICLES.contains(&word)
}

/// Finds the verb that takes one value and has a subject before it. If `value_follows`, any verb
/// from position `from` on is accepted, the last one first, because a name may look like a verb.
fn find_verb(head: &[String], value_follows: bool, from: usize) -> Option<usize> {
    let has_subject = |at: &usize| head.iter().take(*at).any(|word| is_subject(word));
    let takes_one = |at: &usize| {
        let word = head.get(*at).map_or("", String::as_str);
        is_verb_of_one_value(word) && has_subject(at)
    };
    let says = |at: &usize| {
        let word = head.get(*at).map_or("", String::as_str);
        *at >= from && word.len() > 3 && word.ends_with('s') && has_subject(at)
    };
    let any = || (0..head.len()).rfind(says).filter(|_| value_follows);
    (0..head.len()).find(takes_one).or_else(any)
}

/// Whether a text states a measure that holds in general: `It retries a request 3 times`. A past
/// event has no such measure.
fn states_measure(tokens: &[String], before: usize, after: usize) -> bool {
    let (head, rest) = tokens.split_at(before);
    let Some((number, [unit, ..])) = rest.split_first() else {
        return false;
    };
    let is_plain = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    let is_of = unit == "times" || meaning_of(unit).unit.is_some();
    let subjects = head.iter().filter(|word| is_subject(word)).count();
    rest.len() == after + 1 && is_plain && is_of && subjects > 1 && !describes_event(tokens)
}

fn are_antonyms(x: &FactWord, y: &FactWord) -> bool {
    let plain = |word: &FactWord| {
        let lower = word.written.to_lowercase();
        stem_word(lower.strip_suffix("ly").unwrap_or(&lower))
    };
    let is = |word: &FactWord, name: &str| word.stem == name || plain(word) == stem_word(name);
    let pairs = ANTONYMS.iter();
    let mut pairs = pairs.flat_map(|(a, b)| [(a, b), (b, a)]);
    pairs.any(|(a, b)| is(x, a) && is(y, b))
}

const ARTICLES: &[&str] = &["the", "our", "its", "this", "that", "their", "and"];

/// Words that begin a condition.
const CONDITIONS: &[&str] = &["when", "if", "unless", "until", "while", "whenever", "once"];

/// Words which say that something holds now and may not have held before.
const NOW_WORDS: &[&str] = &["now", "nowadays", "currently", "today", "meanwhile"];

/// Words before the amount from which, or up to which, a rule holds.
const BOUNDS: &[&str] = &[
    "over",
    "above",
    "beyond",
    "exceeding",
    "under",
    "below",
    "than",
    "least",
    "most",
    "from",
    "\u{fc}ber",
    "unter",
    "ab",
    "bis",
];

/// Words of what such a rule asks for.
const DUTIES: &[&str] = &[
    "must",
    "need",
    "needs",
    "require",
    "requires",
    "brauchen",
    "braucht",
    "muss",
    "m\u{fc}ssen",
];

/// Nouns that name a kind of value, so that the word after them is the value.
const SLOTS: &[&str] = &[
    "branch", "port", "region", "version", "theme", "language", "timezone", "currency", "database",
    "license", "licence", "model", "registry", "bucket", "queue", "schema", "channel",
];

/// Words of one value that may have several values.
const TAKES_MANY: &[&str] = &[
    "uses", "use", "has", "have", "requires", "require", "needs", "need", "allows", "allow",
    "keeps", "keep", "must", "should", "runs", "holds",
];

/// Pairs of stems that exclude each other.
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
