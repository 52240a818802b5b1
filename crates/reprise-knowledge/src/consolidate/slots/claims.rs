//! Reads what a statement says of a subject in one form, however it is said: `dropped support for
//! X` is `no longer supports X`, `one approval is enough` is `needs one approval`, `we turned X
//! off` is `X is off`, and who is vegetarian eats no meat. The words are data (`claims.txt`). Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use super::super::lexicon::{DAYS, meaning_of};
use super::super::tokens::{TextToken, stem_word};
use super::kinds::find_state;
use crate::values::is_in_words;

const WORDS: &str = include_str!("claims.txt");
/// What is said with [`SUPPORTS`] may be said with each verb of an ability.
const SUPPORTS: &str = "support";
const AVAILABLE: &str = "avail";
const NEEDS: &str = "need";

/// What a text says of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Claim {
    /// Stems of who or what it is said of; empty for `we`.
    subject: BTreeSet<String>,
    /// What is said of it: the stem of a verb, or the name of a state.
    verb: String,
    /// What it says that is so, and what it says that is not.
    yes: BTreeSet<String>,
    no: BTreeSet<String>,
    /// Of what it needs how many.
    amount: Option<(BTreeSet<String>, String)>,
    /// Whether the form says that this was otherwise.
    changes: bool,
}

/// Returns why two claims cannot both hold.
pub(super) fn explain_claims(a: &[Claim], b: &[Claim]) -> Option<String> {
    a.iter().find_map(|one| {
        let mut others = b.iter();
        others.find_map(|other| one.explain_against(other))
    })
}

impl Claim {
    fn explain_against(&self, other: &Self) -> Option<String> {
        let generic = |one: &Self| one.verb == SUPPORTS;
        let is_ability = |one: &Self| is_in_words(word_list("abilities"), &one.verb);
        let verbs = self.verb == other.verb
            || (generic(self) && is_ability(other))
            || (generic(other) && is_ability(self));
        let nobody = self.subject.is_empty() || other.subject.is_empty();
        let is_state = self.verb.starts_with(STATE_OF);
        let subjects = self.subject == other.subject || (nobody && !is_state);
        if !verbs || !subjects {
            return None;
        }
        if let (Some((what, number)), Some((same, count))) = (&self.amount, &other.amount) {
            let all_nobody = self.subject.is_empty() && other.subject.is_empty();
            let says = !all_nobody || self.changes || other.changes;
            return (what == same && number != count && says)
                .then(|| format!("`{number}` against `{count}`"));
        }
        let against = |so: &Self, not: &Self| so.yes.intersection(&not.no).next().cloned();
        let about = against(self, other).or_else(|| against(other, self))?;
        Some(format!("they disagree about `{about}`"))
    }
}

/// Beginning of the verb of a claim about a state.
const STATE_OF: &str = "is ";

/// A text's first statement in small letters, without articles and without when it was so.
struct Sentence {
    words: Vec<String>,
}

/// Reads the claims of a text.
pub(super) fn read_claims(tokens: &[TextToken]) -> Vec<Claim> {
    let mut words: Vec<String> = Vec::new();
    for token in tokens {
        let lower = token.written.to_lowercase();
        let lower = lower.strip_suffix("'s").unwrap_or(&lower).to_owned();
        if !matches!(lower.as_str(), "the" | "a" | "an" | "our" | "just" | "also") {
            words.extend(lower.split('-').map(str::to_owned));
        }
        if token.ends_clause && words.len() > 2 {
            break;
        }
    }
    cut_time(&mut words);
    let is_person = |word: &String| matches!(word.as_str(), "i" | "you" | "he" | "she" | "my");
    let hedged = |word: &String| is_in_words(word_list("hedges"), word);
    if words.is_empty() || words.iter().any(|word| is_person(word) || hedged(word)) {
        return Vec::new();
    }
    let sentence = Sentence { words };
    let found = [
        sentence.read_support_noun(),
        sentence.read_passive(),
        sentence.read_need(),
        sentence.read_switching(),
        sentence.read_state(),
        sentence.read_verb(),
        sentence.read_diet(),
        sentence.read_preference(),
    ];
    found.into_iter().flatten().collect()
}

/// Cuts off when something is so: `since May`, `in the last release`, `last week`.
fn cut_time(words: &mut Vec<String>) {
    let word = |at: usize| words.get(at).map_or("", String::as_str);
    let is_version =
        |word: &str| word.starts_with(|c: char| c.is_ascii_digit()) || is_in_words(DAYS, word);
    let cut = (1..words.len()).find(|at| match (word(*at), word(at + 1)) {
        ("last" | "this" | "next", unit) => is_in_words(word_list("units of time"), unit),
        ("in" | "with" | "from" | "as", next) => {
            is_in_words(word_list("latest"), next)
                || is_version(next)
                || is_in_words(word_list("units of time"), next)
        }
        ("for", "now") | ("these", "days") | ("after", "all") | ("any", "longer" | "more") => true,
        (first, _) => is_in_words(word_list("times"), first),
    });
    if let Some(at) = cut {
        words.truncate(at);
    }
}

impl Sentence {
    fn word(&self, at: usize) -> &str {
        self.words.get(at).map_or("", String::as_str)
    }

    fn find(&self, list: &str) -> Option<usize> {
        let mut words = self.words.iter();
        words.position(|word| is_in_words(word_list(list), word))
    }

    /// Whether a `has` belongs to a verb behind it: `has stopped accepting`.
    fn is_auxiliary(&self, at: usize) -> bool {
        let next = self.word(at + 1);
        next.ends_with("ed") || next == "been" || VERBS.contains_key(next)
    }

    /// Returns the stems of the words from one place to another that say something of their own.
    fn stems(&self, from: usize, to: usize) -> BTreeSet<String> {
        let words = self.words.get(from..to).unwrap_or_default().iter();
        words.filter_map(|word| content_stem(word)).collect()
    }

    /// Returns where what begins at a place ends: before the next preposition.
    fn end_of_object(&self, from: usize) -> usize {
        let ends = |word: &String| is_in_words(word_list("object ends"), word);
        let rest = self.words.get(from..).unwrap_or_default();
        from + rest.iter().position(ends).unwrap_or(rest.len())
    }

    /// Returns the things named from one place to another, each as its stems in order.
    fn objects(&self, from: usize, to: usize) -> BTreeSet<String> {
        let words = self.words.get(from..to).unwrap_or_default();
        let parts = words.split(|word| matches!(word.as_str(), "and" | "or" | "nor"));
        let named = parts.map(|part| {
            let stems: Vec<String> = part.iter().filter_map(|word| content_stem(word)).collect();
            stems.join(" ")
        });
        named.filter(|name| !name.is_empty()).collect()
    }

    /// Whether words before a place negate what follows.
    fn is_negated_before(&self, to: usize) -> bool {
        let words = self.words.get(..to).unwrap_or_default();
        words.iter().filter(|word| meaning_of(word).negates).count() % 2 == 1
    }

    /// `Dropped support for X`, `support for X was added to S`, `X support was dropped`.
    fn read_support_noun(&self) -> Option<Claim> {
        let noun = self.words.iter().position(|word| word == "support")?;
        let (added, dropped) = (self.find("added"), self.find("dropped"));
        let verb = added.or(dropped)?;
        let is_verb = self.word(verb.wrapping_sub(1)) != "no";
        let (from, to) = if self.word(noun + 1) == "for" {
            (noun + 2, self.end_of_object(noun + 2))
        } else if verb < noun {
            (verb + 1, noun)
        } else {
            (0, noun)
        };
        let end = to.max(verb + 1).max(noun + 1);
        let subject = if matches!(self.word(end), "from" | "to" | "in" | "by" | "of") {
            self.stems(end + 1, self.words.len())
        } else if verb < noun {
            self.stems(0, verb)
        } else {
            BTreeSet::new()
        };
        let objects = self.objects(from, to);
        (is_verb && !objects.is_empty() && added.is_none_or(|_| dropped.is_none()))
            .then(|| Claim::of_verb(SUPPORTS, subject, objects, added.is_some(), true))
    }

    /// `X is no longer supported by S`, `X is not available on S`.
    fn read_passive(&self) -> Option<Claim> {
        let at = self.find("said of what is supported")?;
        let copula = self.words.get(..at)?.iter();
        let copula = copula
            .clone()
            .position(|word| matches!(word.as_str(), "is" | "are"))?;
        let objects = self.objects(0, copula);
        let is_so = !self.is_negated_before(at) ^ self.word(at).starts_with("un");
        let follows = matches!(self.word(at + 1), "by" | "on" | "in" | "for" | "to");
        let subject = if follows {
            self.stems(at + 2, self.words.len())
        } else {
            BTreeSet::new()
        };
        let verb = match stem_word(self.word(at)).as_str() {
            "availabl" | "unavailabl" => AVAILABLE.to_owned(),
            "unsupport" => SUPPORTS.to_owned(),
            stem => stem.to_owned(),
        };
        (!objects.is_empty()).then(|| Claim::of_verb(&verb, subject, objects, is_so, false))
    }

    /// `S needs two approvals`, `two approvals are needed for S`, `one approval is enough`.
    fn read_need(&self) -> Option<Claim> {
        let count = |word: &String| {
            let digits = word.bytes().all(|b| b.is_ascii_digit());
            let single = (word == "single").then_some("1");
            meaning_of(word)
                .number
                .or(single)
                .or(digits.then_some(word))
                .map(str::to_owned)
        };
        let at = self.words.iter().position(|word| count(word).is_some())?;
        let number = count(self.words.get(at)?)?;
        let needs = self
            .find("needs")
            .filter(|verb| *verb < at && at - *verb <= 2);
        let enough = self.find("enough").filter(|enough| *enough > at);
        let verb = needs.or(enough)?;
        if self.is_negated_before(verb + 1) {
            return None;
        }
        let to = if needs.is_some() {
            self.end_of_object(at + 1)
        } else {
            let copula = |word: &String| matches!(word.as_str(), "is" | "are");
            let words = self.words.get(at..verb)?;
            at + words.iter().position(copula).unwrap_or(words.len())
        };
        let before = if needs.is_some() { verb } else { at };
        let mut subject = self.stems(0, before);
        let purpose = to.max(verb + 1);
        if matches!(self.word(purpose), "for" | "to" | "per") {
            subject.extend(self.stems(purpose + 1, self.words.len()));
        }
        let what = self.stems(at + 1, to);
        let says_only = self
            .words
            .iter()
            .any(|word| word == "only" || word == "enough");
        (!what.is_empty()).then(|| Claim {
            subject,
            verb: NEEDS.to_owned(),
            amount: Some((what, number)),
            changes: says_only,
            ..Claim::default()
        })
    }

    /// `We turned X off`, `we disabled X`.
    fn read_switching(&self) -> Option<Claim> {
        let first = usize::from(matches!(self.word(0), "we" | "they"));
        let verb = self.word(first);
        let is_on = |word: &String| matches!(word.as_str(), "on" | "off");
        let (state, so, subject) = if matches!(verb, "turned" | "switched" | "shut") {
            let place = first + self.words.get(first..)?.iter().position(is_on)?;
            let around = place == first + 1 || place + 1 == self.words.len();
            let (state, so) = find_state(self.word(place), "turned", "", around)?;
            let mut subject = self.stems(first + 1, place);
            subject.extend(self.stems(place + 1, self.words.len()));
            (state, so, subject)
        } else {
            let (state, so) = find_state(verb, "", "", true).filter(|_| verb.ends_with("ed"))?;
            (state, so, self.stems(first + 1, self.words.len()))
        };
        Claim::of_state(state, so, subject, false, true)
    }

    /// `X is off`, `X is no longer active`.
    fn read_state(&self) -> Option<Claim> {
        let is_copula = |word: &String| matches!(word.as_str(), "is" | "are");
        let copula = self.words.iter().position(is_copula)?;
        let mut places = (copula + 1..self.words.len()).take(3);
        let (at, (state, so)) =
            places.find_map(|at| Some((at, find_state(self.word(at), "is", "", true)?)))?;
        let mut subject = self.stems(0, copula);
        subject.extend(self.stems(at + 1, self.words.len()));
        let is_negated = self.is_negated_before(at);
        Claim::of_state(state, so, subject, is_negated, false)
    }

    /// `S does not handle X`, `S works on X`, `S stopped accepting X`, `S has X`.
    fn read_verb(&self) -> Option<Claim> {
        let verbs = self.words.iter().enumerate().skip(1);
        let (at, verb) = verbs
            .filter_map(|(at, word)| Some((at, *VERBS.get(word.as_str())?)))
            .find(|(at, verb)| *verb != AVAILABLE || !self.is_auxiliary(*at))?;
        let word = self.word(at);
        let stopped = word.ends_with("ing");
        let before = self.word(at - 1);
        let is_past = self.words.get(..at)?.iter().any(|word| word == "did");
        let preposition = matches!(verb, "work" | "run");
        let is_led = !preposition || matches!(self.word(at + 1), "on" | "with");
        if (stopped && !matches!(before, "stopped" | "stops" | "quit")) || is_past || !is_led {
            return None;
        }
        let mut from = at + 1 + usize::from(preposition);
        let negated = self.is_negated_before(at) ^ stopped ^ (self.word(from) == "no");
        from += usize::from(self.word(from) == "no");
        let subject = self.stems(0, at - usize::from(stopped));
        let objects = self.objects(from, self.end_of_object(from));
        let plain = self
            .words
            .first()
            .is_some_and(|word| matches!(word.as_str(), "we" | "they"));
        if objects.is_empty() || (subject.is_empty() && !plain) {
            return None;
        }
        let mut claim = Claim::of_verb(verb, subject, objects, !negated, stopped);
        // Who eats red meat eats meat.
        if matches!(verb, "eat" | "drink") {
            let heads: Vec<String> = claim
                .yes
                .iter()
                .filter_map(|name| last_word(name))
                .collect();
            claim.yes.extend(heads);
        }
        Some(claim)
    }

    /// `S prefers X over Y`.
    fn read_preference(&self) -> Option<Claim> {
        let is_verb = |word: &String| matches!(word.as_str(), "prefer" | "prefers");
        let at = self.words.iter().position(is_verb)?;
        let end = self.end_of_object(at + 1);
        let is_left = matches!(self.word(end), "over" | "to" | "than");
        let left = if is_left {
            self.objects(end + 1, self.end_of_object(end + 1))
        } else {
            BTreeSet::new()
        };
        (!self.is_negated_before(at)).then(|| Claim {
            subject: self.stems(0, at),
            verb: "prefer".to_owned(),
            yes: self.objects(at + 1, end),
            no: left,
            ..Claim::default()
        })
    }

    /// `S is vegetarian`: eats no meat.
    fn read_diet(&self) -> Option<Claim> {
        let is_copula = |word: &String| matches!(word.as_str(), "is" | "are");
        let copula = self.words.iter().position(is_copula)?;
        let (at, (verb, no, yes)) = (copula + 1..self.words.len())
            .find_map(|at| Some((at, DIETS.get(stem_word(self.word(at)).as_str())?)))?;
        let listed = |list: &str| -> BTreeSet<String> {
            list.split_ascii_whitespace().map(stem_word).collect()
        };
        (!self.is_negated_before(at)).then(|| Claim {
            subject: self.stems(0, copula),
            verb: (*verb).to_owned(),
            yes: listed(yes),
            no: listed(no),
            ..Claim::default()
        })
    }
}

impl Claim {
    fn of_verb(
        verb: &str,
        subject: BTreeSet<String>,
        objects: BTreeSet<String>,
        is_so: bool,
        changes: bool,
    ) -> Self {
        let (yes, no) = if is_so {
            (objects, BTreeSet::new())
        } else {
            (BTreeSet::new(), objects)
        };
        Self {
            subject,
            verb: verb.to_owned(),
            yes,
            no,
            amount: None,
            changes,
        }
    }

    /// A state and its opposite are one thing that is so or not.
    fn of_state(
        state: usize,
        so: &str,
        subject: BTreeSet<String>,
        is_negated: bool,
        changes: bool,
    ) -> Option<Self> {
        let verb = format!("{STATE_OF}{state}");
        let (first, is_first) = super::kinds::first_of_state(state, so)?;
        let objects = BTreeSet::from([first.to_owned()]);
        (!subject.is_empty())
            .then(|| Self::of_verb(&verb, subject, objects, is_first ^ is_negated, changes))
    }
}

fn last_word(name: &str) -> Option<String> {
    name.rsplit(' ').next().map(str::to_owned)
}

/// Returns the stem of a word that says something of its own.
fn content_stem(word: &str) -> Option<String> {
    let meaning = meaning_of(word);
    let silent = is_in_words(word_list("silent"), word);
    let says = word.contains(char::is_alphanumeric) && !meaning.is_function && !silent;
    says.then(|| stem_word(word))
}

/// Returns the words of a list of `claims.txt`.
fn word_list(name: &str) -> &'static str {
    LISTS.get(name).copied().unwrap_or_default()
}

static LISTS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let lines = WORDS.lines().filter(|line| !line.starts_with('#'));
    lines.filter_map(|line| line.split_once(": ")).collect()
});

/// The stem of each form of a verb of an ability, and of eating and drinking.
static VERBS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
    let lists = LISTS.iter().filter_map(|(name, forms)| {
        let verb = name.strip_prefix("verb ")?;
        Some(forms.split_ascii_whitespace().map(move |form| (form, verb)))
    });
    lists.flatten().collect()
});

/// Who lives so: the verb, what he does not, and what he does.
static DIETS: LazyLock<BTreeMap<&str, (&str, &str, &str)>> = LazyLock::new(|| {
    let lists = LISTS.iter().filter_map(|(name, foods)| {
        let (verb, diets) = name.strip_prefix("who ")?.split_once(' ')?;
        let (no, yes) = foods.split_once(" but ").unwrap_or((foods, ""));
        Some(
            diets
                .split_ascii_whitespace()
                .map(move |diet| (diet, (verb, no, yes))),
        )
    });
    lists.flatten().collect()
});
