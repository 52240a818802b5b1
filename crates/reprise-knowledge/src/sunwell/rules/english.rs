//! How a rule is set in English.

use super::Sentence;
use crate::values::is_in_words;

/// Words before the adverb that say who follows the rule.
const WHO: &str = "we i you everybody everyone people";
/// Adverbs of a rule, and of one that forbids something.
const ALWAYS: &str = "always never only";
/// What is done on purpose. Of other verbs "always" and "never" say how something behaves: "we
/// never get an answer", "we always see it fail".
const ON_PURPOSE: &str = "\
    add answer ask avoid branch build call cap catch check close comment commit compile confirm \
    create define delete deploy disable document edit enable escape execute export expose fix \
    follow force format generate go handle hardcode import include indent inject inline install \
    keep let lint log make merge mix mock modify move name open pass pick pin prefer publish \
    push put quote rebase release reply require respect respond return review rewrite run save \
    send set ship sign skip sort spell squash start stick stop store switch tag target test \
    throw touch translate treat upgrade use validate verify version want wrap write";
/// How a sentence begins that sets a rule whatever its verb is, or is told to be remembered.
const BEGINNINGS: &str = "\
    as a rule|by convention|our convention|the convention is|the convention here|our rule|\
    the rule is|the rule here|house rule|new rule|rule:|convention:|our policy|remember:|\
    remember that our|remember that we|please remember:|keep in mind:";
/// Phrases that make an order of one piece of work one of all work to come.
const LASTING_PHRASES: &str = "\
    from now on|from here on|from today on|going forward|starting now|henceforth|\
    under no circumstances|without exception|no exceptions|at all times";
/// What is before a rule and says nothing of it, the longest first.
const LEAD_INS: &str = "\
    i would like you to|i'd like you to|i want you to|i need you to|make sure that you|\
    make sure you|make sure to|be sure to|remember to|try to|you have to|you need to|you should|\
    you must|you are to|we have to|we need to|we should|we must|please|also|and|so|ok|okay|hey|\
    btw|note:";
/// How a sentence tells what is done in one place: "in this repo".
const PLACES: &str = "repo repository project codebase team";
/// Orders that hold for all work in such a place. Others, such as "fix", are for one piece of work.
const LASTING: &str = "use prefer keep avoid write name always never";
/// Words before the one who follows a rule that make a cause of it: "it fails because we never
/// save it".
const CAUSES: &str = "because since when if that but why as so until though";
/// Words that demand something of what is always or never done.
const DEMANDS: &str = "must shall may";
/// Participles of what is done on purpose that do not end in "ed".
const DONE: &str = "built done kept made named put read run sent set split written";
/// Verbs of what a ban forbids for all work: "don't use default exports".
const BANNED: &str = "\
    add commit create deploy edit hardcode import introduce log mix mock modify name push put \
    touch use write";
/// Words that point at one thing, which no rule is about: "use the handler of the refunds".
const POINTING: &str = "\
    the this that these those it its them your his her their a an one both neither none option \
    version variant not me us him anything something so too";
/// Words of what is done once.
const ONCE: &str = "now today yet first this that time once again here";
/// Verbs of what somebody does in one way, words before that way, and the most words of it.
const CUSTOMS: &str = "\
    name write keep store indent format prefix squash rebase sign tag version deploy release document \
    spell sort";
const CUSTOM_WAYS: &str = "in with as after by before on under into to per";
const RULE_WORDS_MAX: usize = 14;
/// Most words of a sentence that chooses one of two things: "use tabs, not spaces".
const CHOICE_WORDS_MAX: usize = 10;
/// Work that rules are about, without the ending of a plural.
const ACTIVITIES: &str = "\
    deploy deployment release rollout merge commit push force-push rebase migration upgrade hotfix \
    branch branche secret credential password review refactoring refactor export dependency \
    dependencie pr squash shortcut";
/// Words that go wrong: no rule is about them.
const FAILURES: &str =
    "fail fails failed failing hang hangs break breaks broken crash crashes wrong";
/// Verbs of a sentence that says what is so: "no tests are run".
const STATES: &str = "\
    is are was were has have had does did do can could would will get gets got shows found exists \
    works matches happened";
/// Words before a time, a place or a condition.
const PREPOSITIONS: &str = "on in without before after during outside into for with within over at";
/// Words behind "always" or "never" that order nothing.
const NO_VERBS: &str = "\
    mind again seen been found happen happy nice good bad red green slow late early sure true there \
    here when if as from to of at or and but i we you they he she enough quite really see get know \
    hear feel look appear find lose fail miss";
/// What is missing where something goes wrong: "no answer on api.example.org".
const NO_THINGS: &str = "\
    answer response reply output connection result results data access sign trace idea problem need";
const DAYS: &str = "monday tuesday wednesday thursday friday saturday sunday weekend";
/// Words that a demand on all things of a kind has.
const REQUIRES: &str = "must shall should needs need gets requires require";

/// Returns whether a sentence sets a rule in a form in which other sentences order one piece of
/// work: "I want you to always answer in German".
pub(super) fn is_certain(sentence: &Sentence<'_>) -> bool {
    let lower = sentence.lower;
    let begins = BEGINNINGS.split('|').any(|one| begins_with(lower, one));
    let lasts = LASTING_PHRASES.split('|').any(|one| {
        let mut found = lower.match_indices(one);
        found.any(|(at, _)| {
            let before = lower
                .get(..at)
                .and_then(|before| before.chars().next_back());
            let behind = lower.get(at..).unwrap_or_default();
            before.is_none_or(|c| !c.is_alphanumeric()) && begins_with(behind, one)
        })
    });
    let words = skip_lead_ins(&sentence.words);
    let led = words.len() < sentence.words.len();
    begins || lasts || led && is_ordered_always(words)
}

/// Returns whether a sentence that orders no single piece of work sets a rule.
pub(super) fn is_rule(sentence: &Sentence<'_>) -> bool {
    let asked = sentence.words.first() == Some(&"please");
    let words = sentence.words.get(usize::from(asked)..).unwrap_or_default();
    is_habit(words)
        || is_local_habit(words)
        || is_lasting_order(words, sentence.lower)
        || is_demand(words)
        || is_demand_on_all(words)
        || is_order_for_place(words)
        || is_ban(words)
        || is_prohibition(words, sentence.lower)
        || is_condition(words)
        || is_custom(words)
        || is_practice(words)
        || is_choice(words, sentence.lower)
        || is_preference(words)
}

/// Returns whether a text begins with a phrase, which no letter follows.
fn begins_with(text: &str, phrase: &str) -> bool {
    let rest = text.strip_prefix(phrase);
    rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
}

/// Returns the words behind what says nothing of a rule.
fn skip_lead_ins<'s, 'w>(mut words: &'s [&'w str]) -> &'s [&'w str] {
    let behind = |words: &'s [&'w str]| {
        let lead_ins = LEAD_INS.split('|').map(|lead_in| {
            let parts = lead_in.trim_end_matches(':').split(' ');
            parts.collect::<Vec<&str>>()
        });
        let found = lead_ins
            .filter(|lead_in| words.starts_with(lead_in))
            .map(|lead_in| lead_in.len());
        found.max().and_then(|count| words.get(count..))
    };
    while let Some(rest) = behind(words) {
        words = rest;
    }
    words
}

/// Whether words begin with an order that holds always: "always use pnpm", "never ever push".
pub(super) fn is_ordered_always(words: &[&str]) -> bool {
    let (Some(first), Some(second)) = (words.first(), words.get(1)) else {
        return false;
    };
    let verb = if *second == "ever" {
        words.get(2)
    } else {
        Some(second)
    };
    ["always", "never"].contains(first) && verb.is_some_and(|verb| is_bare_verb(verb))
}

/// Whether a word may be the verb of an order: "mutate", and not "works", "loaded" or "on".
pub(super) fn is_bare_verb(word: &str) -> bool {
    let is_finite = word.ends_with("ed") || word.ends_with("ing");
    let is_third = word.ends_with('s') && !word.ends_with("ss");
    let others = [POINTING, PREPOSITIONS, STATES, FAILURES, NO_VERBS];
    !is_finite && !is_third && !others.iter().any(|list| is_in_words(list, word))
}

/// Whether somebody always or never does something on purpose: "we never merge on Fridays", or
/// does not: "we don't deploy on Fridays".
fn is_habit(words: &[&str]) -> bool {
    let told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let told = words.get(..told.count()).unwrap_or_default();
    let always = told.windows(3).any(|three| {
        let [who, adverb, verb] = three else {
            return false;
        };
        is_in_words(WHO, who) && is_in_words(ALWAYS, adverb) && is_purpose(verb, words)
    });
    let ([
        "we" | "you",
        "don't" | "dont" | "mustn't" | "shouldn't" | "won't",
        behind_not @ ..,
    ]
    | [
        "we" | "you",
        "do" | "must" | "should" | "shall",
        "not",
        behind_not @ ..,
    ]) = told
    else {
        return always;
    };
    let is_denied = match behind_not {
        [verb, behind, ..] => {
            is_purpose(verb, words)
                && !is_in_words(POINTING, behind)
                && !is_of_one_work(behind_not.get(1..).unwrap_or_default())
        }
        _ => false,
    };
    let forbids = words
        .get(1)
        .is_some_and(|word| ["must", "mustn't", "shall"].contains(word));
    let is_forbidden = forbids
        && behind_not
            .first()
            .is_some_and(|verb| is_purpose(verb, words));
    always || is_denied || is_forbidden && !is_of_one_work(behind_not)
}

/// Whether a sentence tells what is done in one place: "in this repo we squash every merge".
fn is_local_habit(words: &[&str]) -> bool {
    let [before, which, place, first, second, ..] = words else {
        return false;
    };
    let is_here = ["in", "for"].contains(before) && is_in_words("this our", which);
    let does = match *first {
        "we" | "i" => is_purpose(second, words) || *second == "only",
        _ => is_in_words(LASTING, first),
    };
    is_here && is_in_words(PLACES, place) && does
}

/// Whether a verb is one of what is done on purpose; "we never run into it" is not.
fn is_purpose(verb: &str, words: &[&str]) -> bool {
    let behind = words.iter().skip_while(|word| **word != verb).nth(1);
    let happens = behind.is_some_and(|word| ["into", "out"].contains(word));
    is_in_words(ON_PURPOSE, verb) && !happens
}

/// Whether a sentence orders something for all work: "always use pnpm", "use pnpm, never npm",
/// "use pnpm for every package", or tells what somebody does in place of something else: "we indent
/// with tabs, never spaces".
fn is_lasting_order(words: &[&str], lower: &str) -> bool {
    let [first, second, ..] = words else {
        return false;
    };
    let lasts = |word: &&&str| ["always", "never"].contains(*word);
    let mut told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let who = is_in_words(WHO, first);
    let orders =
        is_in_words("use prefer keep", first) || who && is_in_words("use prefer keep", second);
    let [chosen, ..] = words.get(1 + usize::from(who)..).unwrap_or_default() else {
        return false;
    };
    let is_contrast = who
        && is_purpose(second, words)
        && !is_in_words(POINTING, chosen)
        && lower.contains(", never ");
    let for_all = [
        " for all ",
        " for every ",
        " for each ",
        " for any ",
        " in all ",
        " in every ",
    ];
    let is_for_all = is_in_words("use prefer write keep name put store", first)
        && !is_in_words(POINTING, chosen)
        && for_all.iter().any(|all| lower.contains(all));
    is_ordered_always(words) || is_contrast || is_for_all || orders && told.any(|word| lasts(&word))
}

/// Whether a sentence demands that something is always or never done: "prices must always be stored
/// in cents", "the lock file must not be edited".
fn is_demand(words: &[&str]) -> bool {
    let told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let told = words.get(..told.count()).unwrap_or_default();
    let demands = |at: usize| {
        let word = |at: usize| told.get(at).copied().unwrap_or_default();
        let is_done = word(at + 2) == "be"
            && (word(at + 3).ends_with("ed") || is_in_words(DONE, word(at + 3)));
        let adverb = word(at + 1);
        let lasts = ["always", "never", "only"].contains(&adverb);
        let denies = adverb == "not" && word(at) == "must";
        let does = lasts && word(at + 2) != "be" && is_bare_verb(word(at + 2));
        is_in_words(DEMANDS, word(at))
            && (lasts || denies)
            && (is_done || does || is_purpose(word(at + 2), words))
    };
    !is_in_words(POINTING, told.first().copied().unwrap_or_default())
        && (1..told.len()).any(demands)
        || told.first() == Some(&"the") && (2..told.len()).any(demands)
}

/// Whether a sentence demands something of all things of a kind: "every migration needs a
/// rollback".
fn is_demand_on_all(words: &[&str]) -> bool {
    let [first, _, rest @ ..] = words else {
        return false;
    };
    let has_pair = |one: &str, other: &str| {
        words.windows(2).any(|two| {
            let [first, second] = two else { return false };
            is_in_words(one, first) && is_in_words(other, second)
        })
    };
    // "All of them must have timed out" supposes something.
    let supposes = words.windows(3).any(|three| {
        let [verb, have, done] = three else {
            return false;
        };
        let is_done = done.ends_with("ed") || is_in_words(DONE, done) || *done == "been";
        is_in_words("must should may", verb) && *have == "have" && is_done
    });
    let early = words.iter().skip(2).take(6);
    let requires = early.copied().any(|word| is_in_words(REQUIRES, word));
    let demands = (requires || has_pair("has have", "to")) && !supposes && !is_of_one_work(rest);
    let is_placed = words
        .iter()
        .take(4)
        .any(|word| is_in_words("goes belongs lives", word));
    let of_all = is_in_words("every each all any everything nothing", first);
    let is_thing = first.ends_with("thing");
    of_all
        && (demands || is_thing && is_placed)
        && !words.iter().any(|word| is_in_words(FAILURES, word))
}

/// Whether a sentence orders or forbids something for all work in one place: "don't use default
/// exports in this project".
fn is_order_for_place(words: &[&str]) -> bool {
    let in_place = words.windows(3).any(|three| {
        let [before, which, place] = three else {
            return false;
        };
        is_in_words("in for within across", before)
            && is_in_words("this our the whole", which)
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

/// Whether a sentence forbids something, or orders to keep to something, in plain words: "don't use
/// lodash here", "avoid default exports", "stick to British spelling".
fn is_ban(words: &[&str]) -> bool {
    let words = match words {
        ["do", "not", "ever", rest @ ..] | ["don't" | "dont", "ever", rest @ ..] => {
            return rest.first().is_some_and(|verb| is_purpose(verb, rest));
        }
        ["do", "not", rest @ ..] | ["don't" | "dont", rest @ ..] => {
            let is_banned = rest.first().is_some_and(|verb| is_in_words(BANNED, verb));
            match rest.get(1..) {
                Some(rest) if is_banned => rest,
                _ => return false,
            }
        }
        ["avoid", rest @ ..] | ["stick", "to" | "with", rest @ ..] => rest,
        _ => return false,
    };
    // "here" is the place of the rule at the end of it.
    let what = words.strip_suffix(&["here"]).unwrap_or(words);
    what.first()
        .is_some_and(|first| !is_in_words(POINTING, first))
        && !is_of_one_work(what)
}

/// Whether a sentence forbids something by a noun: "no deploys on Fridays".
fn is_prohibition(words: &[&str], lower: &str) -> bool {
    let ["no", what @ ..] = words else {
        return false;
    };
    let is_activity = what.iter().take(2).any(|word| is_activity(word));
    let has = |list: &str| what.iter().any(|word| is_in_words(list, word));
    let of_day = what
        .iter()
        .any(|word| is_in_words(DAYS, word.trim_end_matches('s')));
    let is_here = what.last() == Some(&"here")
        || what.windows(2).any(|two| {
            let [which, place] = two else { return false };
            is_in_words("this our", which) && is_in_words(PLACES, place)
        });
    let is_of_code = has(PREPOSITIONS) && names_code(lower) && !has(NO_THINGS);
    (is_activity && has(PREPOSITIONS)
        || of_day
        || is_here
        || is_of_code
        || what.contains(&"without"))
        && words.len() <= CHOICE_WORDS_MAX
        && !lower.starts_with("no,")
        && !has(STATES)
        && !has(FAILURES)
}

/// Whether a text names code: `console.log`, `snake_case`.
fn names_code(text: &str) -> bool {
    text.split_whitespace().any(|word| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '`');
        word.contains(['.', '_', '`', '(']) && word.contains(char::is_alphabetic)
    })
}

/// Whether a word names work that rules are about.
fn is_activity(word: &str) -> bool {
    is_in_words(ACTIVITIES, word.trim_end_matches('s'))
}

/// Whether somebody says how they do something: "we name feature branches after the ticket", or
/// orders it for all of a kind: "keep all SQL in the repositories folder".
fn is_custom(words: &[&str]) -> bool {
    let told = words.iter().take_while(|word| !is_in_words(CAUSES, word));
    let told = words.get(..told.count()).unwrap_or_default();
    let (what, rest) = match told {
        ["we", verb, what, rest @ ..] if is_in_words(CUSTOMS, verb) => (what, rest),
        [verb, "all" | "every" | "each", what, rest @ ..]
            if is_in_words("use keep put store write name", verb) =>
        {
            (what, rest)
        }
        _ => return false,
    };
    told.len() <= RULE_WORDS_MAX
        && ![POINTING, CUSTOM_WAYS]
            .iter()
            .any(|list| is_in_words(list, what))
        && rest.iter().any(|word| is_in_words(CUSTOM_WAYS, word))
        && !is_of_one_work(rest)
}

/// Whether a sentence orders that something is done on one condition: "only merge after a review".
fn is_condition(words: &[&str]) -> bool {
    let ["only", verb, rest @ ..] = words else {
        return false;
    };
    let mut conditions = rest.iter();
    is_purpose(verb, words)
        && conditions
            .any(|word| is_in_words("after when if via through from with without on in", word))
        && !is_in_words(POINTING, rest.first().copied().unwrap_or_default())
        && !is_of_one_work(rest)
}

/// Whether a sentence says how some work is always done: "deploys happen on Tuesdays only".
fn is_practice(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    let has = |list: &str| words.iter().any(|word| is_in_words(list, word));
    let of_work = first.ends_with('s') && is_activity(first) && has(ALWAYS) && has(PREPOSITIONS);
    // What is pointed at has a fault that it always has: "the tests always need two runs".
    let gets = words.windows(2).take(4).any(|two| {
        let [adverb, verb] = two else { return false };
        *adverb == "always" && is_in_words("need require belong start live carry have", verb)
    });
    let is_plural = words.iter().take(3).any(|word| word.ends_with('s'));
    let of_kind = gets && is_plural && !is_in_words(POINTING, first) && !is_in_words(WHO, first);
    (of_work || of_kind) && !has(FAILURES)
}

/// Whether a sentence chooses one of two things for all work: "use tabs, not spaces".
fn is_choice(words: &[&str], lower: &str) -> bool {
    let who = words.first().is_some_and(|first| is_in_words(WHO, first));
    let Some([verb, chosen, rest @ ..]) = words.get(usize::from(who)..) else {
        return false;
    };
    // "Here" is the place of the rule.
    let rest: Vec<&str> = rest
        .iter()
        .copied()
        .filter(|word| *word != "here")
        .collect();
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
        && !is_of_one_work(&rest)
}

/// Whether words tell of one piece of work: "I prefer Redis for this".
fn is_of_one_work(words: &[&str]) -> bool {
    let has_digit = |word: &str| word.contains(|c: char| c.is_ascii_digit());
    let mut words = words.iter();
    words.any(|word| is_in_words(ONCE, word) || has_digit(word))
}

/// Whether somebody says what they prefer: "I prefer small pull requests".
fn is_preference(words: &[&str]) -> bool {
    let ["i" | "we", "prefer", what, rest @ ..] = words else {
        return false;
    };
    let behind = rest.first().copied().unwrap_or_default();
    let is_plain = match *what {
        "to" => is_purpose(behind, words) && !is_in_words(POINTING, rest.get(1).unwrap_or(&"")),
        what => what.len() > 1 && !is_in_words(POINTING, what),
    };
    is_plain && !is_of_one_work(rest)
}
