//! Tells whether a person's sentence sets a rule for all work to come: "we always use pnpm here".

use crate::requests::{asks_for_work, split_sentences};
use crate::values::is_in_words;

/// Length of a rule, in characters, and the fewest words of one.
const RULE: std::ops::RangeInclusive<usize> = 12..=400;
const WORDS_MIN: usize = 3;
/// Words before the adverb that say who follows the rule.
const WHO: &str = "we i you everybody everyone people";
/// Adverbs of a rule, and of one that forbids something.
const ALWAYS: &str = "always never only";
/// What is done on purpose. Of other verbs "always" and "never" say how something behaves: "we
/// never get an answer", "we always see it fail".
const ON_PURPOSE: &str = "\
    add ask avoid branch build call cap catch check close commit compile create define delete deploy \
    document edit escape export expose fix follow force format generate go handle hardcode import \
    indent inject inline install keep let lint log make merge mix mock move name open pass pick pin \
    prefer push put quote rebase release require respect return review rewrite run save send set \
    ship sign skip sort spell squash start stick stop store switch tag target test throw touch treat \
    use validate version want wrap write";
/// How a sentence begins that sets a rule whatever its verb is, or is told to be remembered.
const BEGINNINGS: [&str; 27] = [
    "from now on",
    "from here on",
    "as a rule",
    "by convention",
    "our convention",
    "the convention is",
    "the convention here",
    "our rule",
    "the rule is",
    "the rule here",
    "house rule",
    "rule:",
    "convention:",
    "our policy",
    "ab jetzt",
    "ab sofort",
    "unsere regel",
    "regel:",
    "bei uns gilt",
    "remember:",
    "remember that our",
    "remember that we",
    "please remember:",
    "keep in mind:",
    "merk dir:",
    "merke dir:",
    "merke:",
];
/// How a sentence begins that tells what is done in one place: "in this repo".
const PLACES: &str = "repo repository project codebase team projekt";
/// Orders that hold for all work in such a place. Others, such as "fix", are for one piece of work.
const LASTING: &str = "use prefer keep avoid write name always never";
/// Words before the one who follows a rule that make a cause of it: "it fails because we never
/// save it".
const CAUSES: &str = "because since when if that but why as so until though";
/// Words of a German rule: who, then the verb, then one of these adverbs.
const WHO_GERMAN: &str = "wir ich man hier";
const ALWAYS_GERMAN: &str = "immer nie niemals nur grunds\u{e4}tzlich ausschlie\u{df}lich";
/// Verbs of what is done on purpose.
const ON_PURPOSE_GERMAN: &str = "\
    benutzen benutze benutzt nutzen nutze verwenden verwende verwendet nehmen nehme schreiben schreibe \
    machen mache testen teste mergen merge committen committe bauen baue speichern speichere \
    formatieren deployen deploye pushen pushe lassen lasse setzen setze halten halte pr\u{fc}fen \
    schreib nutz nimm pr\u{fc}fe";
/// Words behind `immer` with which it tells no rule: "immer noch".
const NO_RULE_GERMAN: &str = "noch wieder weiter wenn mehr";
/// Words that demand something of what is always or never done.
const DEMANDS: &str = "must shall may";
/// Participles of what is done on purpose that do not end in "ed".
const DONE: &str = "built done kept made named put read run sent set split written";
/// Verbs of what a ban forbids for all work: "don't use default exports".
const BANNED: &str = "\
    add commit create hardcode import introduce mix mock name push put use write";
/// Words that point at one thing, which no rule is about: "use the handler of the refunds".
const POINTING: &str = "\
    the this that these those it its them your his her their a an one both neither none option \
    version variant not";
/// Words of what is done once.
const ONCE: &str = "\
    now today yet first this that time once again here jetzt heute erst diesmal hier";
/// Most words of a sentence that chooses one of two things: "use tabs, not spaces".
const CHOICE_WORDS_MAX: usize = 10;

/// Returns whether a text has a sentence that sets a rule.
pub fn states_rule(text: &str) -> bool {
    split_sentences(text).any(is_rule)
}

/// Whether a person's sentence sets a rule for all work to come.
pub(super) fn is_rule(sentence: &str) -> bool {
    let lower = sentence.to_lowercase().replace('\u{2019}', "'");
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-');
    let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
    let is_plain = RULE.contains(&sentence.chars().count()) && words.len() >= WORDS_MIN;
    if !is_plain || asks_for_work(sentence) || sentence.contains("```") {
        return false;
    }
    let begins = BEGINNINGS.iter().any(|begins| {
        let rest = lower.strip_prefix(begins);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    });
    let asked = words
        .first()
        .is_some_and(|first| is_in_words("please bitte", first));
    let words = words.get(usize::from(asked)..).unwrap_or_default();
    begins
        || is_habit(words)
        || is_german_habit(words)
        || is_local_habit(words)
        || is_lasting_order(words)
        || is_demand(words)
        || is_order_for_place(words)
        || is_choice(words, &lower)
        || is_preference(words)
        || is_german_order(words, asked)
}

/// Whether somebody always or never does something on purpose: "we never merge on Fridays".
fn is_habit(words: &[&str]) -> bool {
    let told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let told = words.get(..told.count()).unwrap_or_default();
    told.windows(3).any(|three| {
        let [who, adverb, verb] = three else {
            return false;
        };
        is_in_words(WHO, who) && is_in_words(ALWAYS, adverb) && is_purpose(verb, words)
    })
}

/// Whether a sentence tells what is done in one place: "in this repo we squash every merge".
fn is_local_habit(words: &[&str]) -> bool {
    let [before, which, place, first, second, ..] = words else {
        return false;
    };
    let is_here = ["in", "for"].contains(before) && is_in_words("this our diesem", which);
    let does = match *first {
        "we" | "i" => is_purpose(second, words),
        _ => is_in_words(LASTING, first),
    };
    let does_german = is_in_words(ON_PURPOSE_GERMAN, first) && is_in_words(WHO_GERMAN, second);
    is_here && is_in_words(PLACES, place) && (does || does_german)
}

/// Whether a verb is one of what is done on purpose; "we never run into it" is not.
fn is_purpose(verb: &str, words: &[&str]) -> bool {
    let behind = words.iter().skip_while(|word| **word != verb).nth(1);
    let happens = behind.is_some_and(|word| ["into", "out"].contains(word));
    is_in_words(ON_PURPOSE, verb) && !happens
}

/// Whether a sentence does so in German: "wir benutzen immer pnpm".
fn is_german_habit(words: &[&str]) -> bool {
    words.windows(3).any(|three| {
        let [who, verb, adverb] = three else {
            return false;
        };
        let swapped = is_in_words(WHO_GERMAN, verb) && is_in_words(ON_PURPOSE_GERMAN, who);
        let plain = is_in_words(WHO_GERMAN, who) && is_in_words(ON_PURPOSE_GERMAN, verb);
        (swapped || plain) && is_in_words(ALWAYS_GERMAN, adverb)
    })
}

/// Whether a sentence orders something for all work: "always use pnpm", "use pnpm, never npm", or
/// tells what somebody does in place of something else: "we use pnpm, never npm".
fn is_lasting_order(words: &[&str]) -> bool {
    let [first, second, ..] = words else {
        return false;
    };
    let lasts = |word: &&&str| ["always", "never"].contains(*word);
    let begins = lasts(&first) && is_purpose(second, words);
    let mut told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let orders = is_in_words("use prefer keep", first)
        || is_in_words(WHO, first) && is_in_words("use prefer keep", second);
    begins || orders && told.any(|word| lasts(&word))
}

/// Whether a sentence demands that something is always or never done: "prices must always be stored
/// in cents".
fn is_demand(words: &[&str]) -> bool {
    let told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let told = words.get(..told.count()).unwrap_or_default();
    let demands = |at: usize| {
        let word = |at: usize| told.get(at).copied().unwrap_or_default();
        let is_done = word(at + 2) == "be"
            && (word(at + 3).ends_with("ed") || is_in_words(DONE, word(at + 3)));
        is_in_words(DEMANDS, word(at))
            && ["always", "never"].contains(&word(at + 1))
            && (is_done || is_purpose(word(at + 2), words))
    };
    !is_in_words(POINTING, told.first().copied().unwrap_or_default())
        && (1..told.len()).any(demands)
        || told.first() == Some(&"the") && (2..told.len()).any(demands)
}

/// Whether a sentence orders or forbids something for all work in one place: "don't use default
/// exports in this project".
fn is_order_for_place(words: &[&str]) -> bool {
    let in_place = words.windows(3).any(|three| {
        let [before, which, place] = three else {
            return false;
        };
        is_in_words("in for within across", before)
            && is_in_words("this our the whole diesem", which)
            && is_in_words(PLACES, place)
    });
    let (is_order, behind) = match words {
        ["do", "not", verb, behind, ..] | ["don't" | "dont", verb, behind, ..] => {
            (is_in_words(BANNED, verb), behind)
        }
        [verb, behind, ..] => (is_in_words(LASTING, verb), behind),
        _ => return false,
    };
    in_place && is_order && !is_in_words(POINTING, behind)
}

/// Whether a sentence chooses one of two things for all work: "use tabs, not spaces".
fn is_choice(words: &[&str], lower: &str) -> bool {
    let who = words.first().is_some_and(|first| is_in_words(WHO, first));
    let Some([verb, chosen, rest @ ..]) = words.get(usize::from(who)..) else {
        return false;
    };
    let behind = [", not ", " instead of ", " rather than "];
    let other = behind
        .iter()
        .find_map(|than| Some(lower.split_once(than)?.1));
    let names = other.is_some_and(|other| {
        let first = other.split(|c: char| !c.is_alphanumeric()).next();
        let first = first.unwrap_or_default();
        !first.is_empty() && !first.ends_with("ing") && !is_in_words(POINTING, first)
    });
    is_in_words("use prefer", verb)
        && !is_in_words(POINTING, chosen)
        && words.len() <= CHOICE_WORDS_MAX
        && names
        && !is_of_one_work(rest)
}

/// Whether words tell of one piece of work: "I prefer Redis for this".
fn is_of_one_work(words: &[&str]) -> bool {
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let mut words = words.iter();
    words.any(|word| is_in_words(ONCE, word) || has_digit(word))
}

/// Whether somebody says what they prefer: "I prefer small pull requests".
fn is_preference(words: &[&str]) -> bool {
    let [who, verb, what, rest @ ..] = words else {
        return false;
    };
    let prefers = is_in_words("i we", who) && *verb == "prefer"
        || is_in_words("ich wir", who) && is_in_words("bevorzuge bevorzugen", verb);
    let behind = rest.first().copied().unwrap_or_default();
    let is_plain = match *what {
        "to" => is_purpose(behind, words) && !is_in_words(POINTING, rest.get(1).unwrap_or(&"")),
        what => what.len() > 1 && !is_in_words(POINTING, what) && !is_in_words("der die das", what),
    };
    prefers && is_plain && !is_of_one_work(rest)
}

/// Whether a sentence orders something for all work in German: "schreibe Commits immer auf
/// Deutsch", or `asked` for with "bitte": "nie am Freitag ausrollen".
fn is_german_order(words: &[&str], asked: bool) -> bool {
    let always = |at: &usize| {
        let next = words.get(at + 1).copied().unwrap_or_default();
        let word = words.get(*at).copied().unwrap_or_default();
        word != "nur" && is_in_words(ALWAYS_GERMAN, word) && !is_in_words(NO_RULE_GERMAN, next)
    };
    let first = words.first().copied().unwrap_or_default();
    let is_order = is_in_words(ON_PURPOSE_GERMAN, first) && (1..words.len()).any(|at| always(&at));
    let is_infinitive = words.last().is_some_and(|last| last.ends_with("en"));
    is_order || asked && is_infinitive && always(&0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rule_is_told_from_what_happens_and_from_what_is_asked_for() {
        for rule in [
            "we always use pnpm in this repo",
            "We always use pnpm, never npm.",
            "use pnpm, never npm",
            "we use the bank's clock for interest, never the machine's",
            "Always use tabs in Makefiles",
            "Never commit to main.",
            "We never merge on Fridays",
            "In this repo we squash every merge",
            "From now on tests go next to the code",
            "our convention is snake case for files",
            "in this repo, use pnpm",
            "Wir benutzen immer pnpm",
            "in diesem Repo schreiben wir Tests zuerst",
            "Hier verwenden wir nie Tabs",
            "Bitte schreibe Commit-Messages immer auf Deutsch.",
            "Bitte nie am Freitag ausrollen.",
            "prices must always be stored as integers in cents",
            "The lock file must never be edited by hand.",
            "Tests must never use the network.",
            "Don't use any default exports in this project.",
            "Do not commit generated files in this repo.",
            "Use conventional commits in this project.",
            "use tabs, not spaces",
            "Use pnpm instead of npm.",
            "We use tabs, not spaces.",
            "I prefer small pull requests",
            "I prefer to keep functions short.",
            "Ich bevorzuge kleine Commits.",
            "please never use tabs",
            "remember: our staging URL is https://staging.example.org",
            "Remember that our staging server is called heron.",
        ] {
            assert!(is_rule(rule), "{rule}");
        }
        for other in [
            "we never get an answer from the server",
            "we always see this test fail on Windows",
            "The login page never loads on a slow connection.",
            "we never run into this on Linux",
            "should we always use pnpm?",
            "can you always use pnpm",
            "use the handler of the refunds",
            "Add a handler for the refunds",
            "I never tested this on Windows",
            "it always uses the wrong cache",
            "never mind",
            "we use a cache, but it never answers",
            "it fails because we never save the cookie",
            "in this repo, fix the login",
            "in this repo we have a bug in the login",
            "wir sehen das immer auf Windows",
            "Bitte schreibe den Test noch einmal auf Deutsch.",
            "Schreibe nur den Test um",
            "Mach immer weiter mit dem Parser",
            "Bitte immer noch den alten Port nehmen",
            "The prices must be wrong on this page.",
            "this must never have worked on Windows",
            "The button should always be visible but is not",
            "Don't use the cache for this request.",
            "don't push this yet",
            "Don't add a test for it in this project.",
            "Use the existing handler in this project.",
            "use the old handler, not the new one",
            "use port 8081, not 8080",
            "Use mocks, not working without them",
            "use pnpm instead of npm for this build",
            "I prefer the second one",
            "I prefer option B",
            "I prefer not to change the API",
            "I prefer Redis for this",
            "we prefer to wait for the review",
            "remember the bug from yesterday",
            "Remember that flaky login test",
            "Do the tests pass in this repo",
        ] {
            assert!(!is_rule(other), "{other}");
        }
    }

    #[test]
    fn a_text_states_a_rule_in_any_of_its_sentences() {
        assert!(states_rule("Add a handler. We always use pnpm here!"));
        assert!(!states_rule("Add a handler. It never answers."));
    }
}
