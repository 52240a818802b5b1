//! Sentences that end a rule, or allow what one forbids: "the rule about pnpm no longer holds", "a
//! deploy on Friday is allowed now". They end only a rule that has their words. The words are of
//! English and German.

use super::clauses::{begin_alike, first_clause, fold};
use super::corrections::may_correct;
use super::rules::{is_rule, split_words};
use super::sentences::is_decision;
use crate::requests::{is_question, split_sentences};
use crate::values::is_in_words;

/// Longest sentence that is looked at, in bytes.
const SENTENCE_BYTES_MAX: usize = 240;
/// Words that name a rule.
const RULES: &str = "\
    rule rules convention conventions policy ban restriction guideline requirement regel regeln \
    vorgabe vorgaben verbot konvention richtlinie vorschrift";
/// Words that end what they are said of, and phrases that do.
const ENDING: &str = "\
    forget drop ignore scrap cancel lift lifted disregard revoke revoked abandon retire retired \
    remove removed dropped cancelled canceled withdrawn obsolete outdated void over gone \
    expired delete scratch history dead out raus vergiss vergesst vergessen streich streiche gestrichen ignoriere aufgehoben \
    hinfaellig entfaellt abgeschafft ueberholt veraltet ungueltig weg vorbei loesche geschichte \
    passe";
/// Beginnings of what a rule is about where it is not called one.
const THINGS: [&str; 6] = [
    "the thing about ",
    "the thing with ",
    "that thing about ",
    "that thing with ",
    "das mit ",
    "die sache mit ",
];
/// Words by which such a thing is over.
const DROPPED: &str = "sparen lassen weglassen vergessen";
/// Verbs that end what they are said of without a word for a rule, and most words of such a
/// sentence.
const FORGOTTEN: &str = "forget drop vergiss vergesst streich streiche";
const FORGOTTEN_WORDS_MAX: usize = 4;
/// Words of what is over for a while, or of one thing.
const ONE_TIME: &str = "now today once this that it the about mind der die das es jetzt heute";
/// Words that say of something that it has to be.
const NEEDED: &str = "\
    need needed needs necessary required have has brauchen brauche braucht brauchst noetig \
    erforderlich muessen musst muss";
const ENDING_PHRASES: [&str; 14] = [
    "no longer",
    "any more",
    "anymore",
    "any longer",
    "not apply",
    "n't apply",
    "not hold",
    "n't hold",
    "not valid",
    "n't valid",
    "nicht mehr",
    "nicht laenger",
    "kein mehr",
    "faellt weg",
];
/// Words of a permission, with the verbs before them.
const ALLOWED: &str = "\
    allowed permitted ok okay fine welcome erlaubt zulaessig gestattet moeglich ordnung";
const COPULAS: &str = "is are it's that's you're we're ist sind be become wurde wird";
/// Verbs of a permission.
const MAY: &str = "may can darf darfst duerfen duerft kannst koennen koennt kann";
/// Words that say that it was not so before.
const NOW: &str = "now again jetzt wieder inzwischen mittlerweile neuerdings ab doch";
/// Words that forbid something.
const FORBIDS: &str = "\
    never no not don't dont mustn't only avoid forbidden without nie niemals kein keine keinen \
    nicht nur vermeide verboten ausschliesslich statt instead rather";
/// Words of such sentences that say nothing of what the rule is about.
const PLAIN: &str = "\
    a an the this that these those our my your all any about on of for with to in at by from \
    and or do does did use uses using we you i they it one everybody people please here there \
    longer more anymore apply applies hold holds valid stop from as thing things since when \
    also so true before der die das den dem des ein eine einen einem eines mit zu zum zur ueber \
    fuer von vom am im in an auf bei es wir ihr du man ich sie er und oder dass gilt gelten \
    mehr hier laenger mich uns bitte nutzen benutzen verwenden nehmen verwende nutze nimm \
    besteht steht ist sind";
/// Stems for one thing.
const SAME: &[&str] = &["deploy ausroll rollou ship ausliefer"];
/// Part of the longer of two stems in which stems of one word begin alike.
const COMMON_SHARE: (usize, usize) = (3, 5);

/// What a sentence does to rules that have its words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// It says that a rule is over.
    EndsRule,
    /// It says that something is allowed.
    Allows,
    /// It says that something is not done any more.
    EndsHabit,
}

/// A sentence that ends rules.
#[derive(Debug)]
struct Withdrawal {
    effect: Effect,
    /// Stems of the words that name the rule.
    topic: Vec<String>,
}

/// Returns the sentences of a text that end a rule or correct a fact, if there is one with their
/// words.
pub(crate) fn list_settling(text: &str) -> impl Iterator<Item = &str> {
    let settles = |sentence: &&str| Withdrawal::parse(sentence).is_some() || may_correct(sentence);
    split_sentences(text).filter(settles)
}

/// Returns the sentences of a text that end a rule, if there is one with their words.
fn list_withdrawals(text: &str) -> impl Iterator<Item = &str> {
    split_sentences(text).filter(|sentence| Withdrawal::parse(sentence).is_some())
}

/// Returns whether a text has a sentence that ends a rule, if there is one with its words.
pub fn states_withdrawal(text: &str) -> bool {
    list_withdrawals(text).next().is_some()
}

/// Returns whether a sentence of one text ends a rule that the other one sets.
pub(crate) fn ends_rule_of(text: &str, other: &str) -> bool {
    let withdrawals: Vec<Withdrawal> = split_sentences(text)
        .filter_map(Withdrawal::parse)
        .collect();
    !withdrawals.is_empty()
        && split_sentences(other).any(|rule| {
            let mut ending = withdrawals.iter();
            (is_rule(rule) || is_decision(rule)) && ending.any(|one| one.ends(rule))
        })
}

impl Withdrawal {
    fn parse(sentence: &str) -> Option<Self> {
        if sentence.len() > SENTENCE_BYTES_MAX {
            return None;
        }
        let folded = fold(sentence);
        let first = first_clause(&folded);
        let behind = folded[first.len()..].trim_start_matches([',', ';', ':', '-', ' ']);
        let clauses = [first, first_clause(behind), behind, &folded];
        clauses.into_iter().find_map(|clause| {
            let words: Vec<&str> = split_parts(clause).collect();
            let effect = find_effect(clause, &words)?;
            let known = [
                RULES, ENDING, ALLOWED, COPULAS, MAY, NOW, PLAIN, FORBIDS, NEEDED, DROPPED,
            ];
            let is_topic = |word: &&&str| !known.iter().any(|list| is_in_words(list, word));
            let topic = words.iter().filter(is_topic).map(|word| stem(word));
            let topic: Vec<String> = topic.collect();
            (!topic.is_empty() && !is_question(sentence)).then_some(Self { effect, topic })
        })
    }

    /// Whether it ends a rule.
    fn ends(&self, rule: &str) -> bool {
        let folded = fold(rule);
        let words: Vec<&str> = split_parts(&folded).collect();
        let stems: Vec<String> = words.iter().map(|word| stem(word)).collect();
        let place = |topic: &String| stems.iter().position(|stem| is_same(topic, stem));
        let places: Vec<usize> = self.topic.iter().filter_map(place).collect();
        let denial = words.iter().position(|word| is_in_words(FORBIDS, word));
        let (found, all) = (places.len(), self.topic.len());
        match self.effect {
            Effect::EndsRule => found > 0 && found * 2 >= all,
            Effect::Allows => denial.is_some() && found > 0 && found * 3 >= all * 2,
            // Of "use pnpm, never npm" the second is no habit that could end.
            Effect::EndsHabit => {
                let is_denied = |at: &usize| denial.is_some_and(|denial| denial < *at);
                found > 0 && found * 3 >= all * 2 && !places.iter().any(is_denied)
            }
        }
    }
}

/// Splits a text into its words, each part of a compound by itself: "two-approvals".
fn split_parts(text: &str) -> impl Iterator<Item = &str> {
    split_words(text).flat_map(|word| word.split('-'))
}

/// Returns what a clause does to rules.
fn find_effect(clause: &str, words: &[&str]) -> Option<Effect> {
    let has = |list: &str| words.iter().any(|word| is_in_words(list, word));
    let padded = [" ", &words.join(" "), " "].concat();
    let has_phrase = |phrase: &str| padded.contains(phrase) || clause.contains(phrase);
    let ends = ENDING_PHRASES.iter().any(|phrase| has_phrase(phrase));
    let is_thing = THINGS.iter().any(|thing| clause.contains(thing));
    let is_dropped = is_thing && has(DROPPED);
    if (has(RULES) || is_thing) && (ends || is_dropped || has(ENDING)) {
        return Some(Effect::EndsRule);
    }
    // "Forget pnpm."
    let [verb, what @ ..] = words else {
        return None;
    };
    let is_forgotten = is_in_words(FORGOTTEN, verb)
        && !what.is_empty()
        && words.len() <= FORGOTTEN_WORDS_MAX
        && !what.iter().any(|word| is_in_words(ONE_TIME, word));
    // "Npm is gone".
    let is_out = matches!(
        words,
        [
            _,
            "is" | "are" | "ist" | "sind",
            "gone" | "out" | "dead" | "history" | "raus" | "weg"
        ]
    ) && !is_in_words(PLAIN, verb);
    if is_forgotten || is_out {
        return Some(Effect::EndsHabit);
    }
    let is_denied =
        has("not never don't nicht nie niemals kein keine only nur cannot can't isn't aren't");
    let since = has(NOW) || padded.contains(" from now on ");
    let is_allowed = has(ALLOWED) && has(COPULAS);
    let mut pairs = words.windows(2).take(8);
    let may = pairs.any(|two| {
        let [one, other] = two else { return false };
        let who = "you we everybody anyone people agents du ihr wir man jeder";
        is_in_words(who, one) && is_in_words(MAY, other)
            || is_in_words(MAY, one) && is_in_words(who, other)
    });
    if since && !is_denied && (is_allowed || may) {
        return Some(Effect::Allows);
    }
    let stops =
        words.first() == Some(&"stop") && words.get(1).is_some_and(|word| word.ends_with("ing"));
    let who = words
        .first()
        .is_some_and(|first| is_in_words("we i wir ich", first));
    // "You no longer need to run the formatter".
    let is_free = ends && has(NEEDED);
    (stops || is_free || ends && (who || has("wir"))).then_some(Effect::EndsHabit)
}

/// Returns a plain stem of a word without umlauts: "ausgerollt" and "ausrollen" have the same.
fn stem(word: &str) -> String {
    let particles = ["aus", "ein", "auf", "an", "ab", "um", "hoch"];
    let participle = particles.iter().find_map(|particle| {
        let rest = word.strip_prefix(particle)?.strip_prefix("ge")?;
        (rest.len() >= 3).then(|| [*particle, rest].concat())
    });
    let word = participle.as_deref().unwrap_or(word);
    let endings = ["ings", "ing", "ed", "en", "es", "er", "s", "e", "t", "n"];
    let base = endings.iter().find_map(|ending| {
        let base = word.strip_suffix(ending)?;
        (base.len() >= 3).then_some(base)
    });
    base.unwrap_or(word).to_owned()
}

/// Whether two stems are of one word.
fn is_same(one: &str, other: &str) -> bool {
    let mut same = SAME.iter();
    begin_alike(one, other, COMMON_SHARE)
        || same.any(|same| is_in_words(same, one) && is_in_words(same, other))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences, and a rule that each ends.
    const ENDS: [(&str, &str); 23] = [
        (
            "A deploy on Friday is allowed now.",
            "Never deploy on Fridays.",
        ),
        ("You may deploy on Fridays again.", "No deploys on Fridays."),
        ("It's ok to use lodash now.", "Do not use lodash here."),
        (
            "forget the rule about pnpm, we use bun now",
            "always use pnpm in this repo, never npm",
        ),
        (
            "The rule about pnpm no longer applies.",
            "we always use pnpm here",
        ),
        (
            "The ban on default exports is lifted.",
            "Don't use default exports in this project.",
        ),
        ("We no longer use pnpm.", "We always use pnpm here."),
        ("Stop using pnpm", "We always use pnpm here."),
        (
            "Die Regel mit pnpm gilt nicht mehr, wir nehmen jetzt bun",
            "Wir nutzen hier immer pnpm, nie npm",
        ),
        (
            "Du darfst jetzt am Freitag ausrollen.",
            "Bitte nie am Freitag ausrollen.",
        ),
        (
            "Deploys am Freitag sind wieder erlaubt.",
            "Bei uns wird nie am Freitag ausgerollt.",
        ),
        (
            "Vergiss die Regel zu den Commits.",
            "Commits immer auf Englisch.",
        ),
        (
            "Wir nutzen pnpm nicht mehr.",
            "Wir nutzen hier immer pnpm, nie npm",
        ),
        (
            "Thanks for that, but you no longer have to sign the tags.",
            "Always sign the tags of a release.",
        ),
        (
            "we dont need a ticket in the branch name anymroe",
            "Branch names always need a ticket.",
        ),
        (
            "Oh, and the thing about squashing, forget that.",
            "We always squash a branch before a merge.",
        ),
        (
            "Das mit den Labels koennen wir uns ab heute sparen.",
            "Jeder PR braucht Labels.",
        ),
        (
            "Labels brauchen wir nicht mehr.",
            "Jeder PR braucht Labels.",
        ),
        ("The rule for labels is history.", "Every PR needs labels."),
        (
            "The labels-rule is dead.",
            "Every PR needs labels and a milestone.",
        ),
        (
            "We send over QUIC from today, UDP is out.",
            "Always send snapshots over UDP.",
        ),
        ("We moved to bun. Forget pnpm.", "We always use pnpm here."),
        (
            "from now on we use pnpm here, npm is gone.",
            "We decided to stay on npm.",
        ),
    ];

    /// Sentences, and a rule that each leaves.
    const LEAVES: [(&str, &str); 13] = [
        (
            "Is a deploy on Friday allowed now?",
            "Never deploy on Fridays.",
        ),
        (
            "A deploy on Friday is not allowed now.",
            "Never deploy on Fridays.",
        ),
        ("You can run the tests again.", "Never deploy on Fridays."),
        ("You may use tabs now.", "Never deploy on Fridays."),
        (
            "We no longer use npm.",
            "always use pnpm in this repo, never npm",
        ),
        ("forget the rule about tabs", "we always use pnpm here"),
        (
            "The login test is ok now.",
            "Tests must never use the network.",
        ),
        (
            "Die Regel mit pnpm gilt weiter.",
            "Wir nutzen hier immer pnpm, nie npm",
        ),
        (
            "I no longer have the error with the tags.",
            "Never deploy on Fridays.",
        ),
        ("forget the tests", "Run the tests before each merge."),
        (
            "The release is out, npm is fast.",
            "Every release needs notes in npm.",
        ),
        (
            "The thing about the login is odd.",
            "The login must never be cached.",
        ),
        (
            "Der Test ist jetzt in Ordnung.",
            "Keine Deploys am Freitag!",
        ),
    ];

    #[test]
    fn a_sentence_ends_the_rules_that_have_its_words() {
        for (sentence, rule) in ENDS {
            assert!(ends_rule_of(sentence, rule), "{sentence} | {rule}");
        }
        for (sentence, rule) in LEAVES {
            assert!(!ends_rule_of(sentence, rule), "{sentence} | {rule}");
        }
    }
}
