//! How a session ended, in the words of its last answer: what was done, and what is left to do.

use reprise_knowledge::{fold_umlauts, says_something};

/// Words of a sentence that says how something ended.
const WORDS_MIN: usize = 5;
/// Words of a sentence that says what is left: `next: verify the signature`.
const LEFT_WORDS_MIN: usize = 4;
/// Words at the beginning of a sentence among which it says who did something.
const DOER_WORDS: usize = 6;

/// How a sentence begins that promises, offers, asks for or orders something.
const PROMISES: [&str; 41] = [
    "i'll",
    "i will",
    "i'm going",
    "i am going",
    "i can",
    "i could",
    "i would",
    "let me",
    "let's",
    "let us",
    "now i",
    "next",
    "first",
    "shall",
    "should",
    "would you",
    "do you",
    "can you",
    "could you",
    "you can",
    "you should",
    "please",
    "make sure",
    "run ",
    "try ",
    "feel free",
    "ich werde",
    "ich kann",
    "ich koennte",
    "lass mich",
    "lass uns",
    "soll ich",
    "sollen wir",
    "moechtest du",
    "als naechstes",
    "zuerst",
    "bitte",
    "fuehre ",
    "starte ",
    "du kannst",
    "du solltest",
];
/// How a sentence begins that only takes note of what was asked for.
const NOTED: [&str; 26] = [
    "understood",
    "got it",
    "noted",
    "will do",
    "sure",
    "of course",
    "certainly",
    "absolutely",
    "okay",
    "ok",
    "alright",
    "all right",
    "agreed",
    "from now on",
    "verstanden",
    "alles klar",
    "klar",
    "gut",
    "in ordnung",
    "notiert",
    "gerne",
    "natuerlich",
    "einverstanden",
    "ab jetzt",
    "ab sofort",
    "das mache ich",
];
/// How a sentence begins that offers more work, and leaves none.
const OFFERS: [&str; 21] = [
    "let me know",
    "shall",
    "should i",
    "would you",
    "do you",
    "can you",
    "could you",
    "i can",
    "i could",
    "if you",
    "feel free",
    "tell me",
    "soll ich",
    "sollen wir",
    "moechtest du",
    "wenn du",
    "falls du",
    "sag mir",
    "sag bescheid",
    "gib bescheid",
    "ich kann",
];
/// Phrases, each between blanks, that say what is left to do.
const LEFT: [&str; 66] = [
    " still fail",
    " still open",
    " still missing",
    " still to ",
    " still need",
    " still has to ",
    " still have to ",
    " still broken",
    " still wrong",
    " still red",
    " still hang",
    " still crash",
    " still flaky",
    " is left",
    " are left",
    " left to ",
    " left: ",
    " left is ",
    " left open",
    " todo ",
    " todo: ",
    " to do: ",
    " remaining: ",
    " remaining work",
    " remaining step",
    " remaining task",
    " remaining part",
    " remaining fail",
    " is remaining",
    " are remaining",
    " remains ",
    " remain ",
    " not done yet",
    " not finished",
    " not yet ",
    " yet to ",
    " next: ",
    " next step",
    " next up",
    " next time",
    " continue with",
    " continue there",
    " continue here",
    " open: ",
    " noch offen",
    " offen: ",
    " offen ist ",
    " offen bleib",
    " bleibt offen",
    " bleibt noch",
    " bleiben noch",
    " fehlt noch",
    " fehlen noch",
    " noch zu tun",
    " noch zu erledigen",
    " noch nicht ",
    " steht noch aus",
    " stehen noch aus",
    " als naechstes",
    " naechster schritt",
    " naechste schritte",
    " noch fehl",
    " weiterhin fehl",
    " muss noch ",
    " muessen noch ",
    " il reste ",
];
/// Phrases that say the contrary: nothing is left.
const NOTHING_LEFT: [&str; 16] = [
    " nothing ",
    " none ",
    " no failure",
    " no test",
    " no open ",
    " no remaining ",
    " no more ",
    " i left ",
    " we left ",
    " if i should ",
    " no other ",
    " no longer ",
    " nichts ",
    " keine offenen ",
    " kein test ",
    " alles erledigt ",
];
/// Verbs of what was done whose past does not end in "ed".
const DONE_VERBS: &str = "\
    began broke brought built chose cut did drew found gave kept left let lost made met moved put \
    ran rebuilt redid replaced rewrote rewritten sent set shut split spent swapped took taught undid \
    written wrote";
/// Words ending in "ed" that say what is so, and not what was done.
const STATES: &str = "\
    need looked checked wanted tried noticed assumed used expected supposed based caused related failed named called limited required broken \
    indeed red bed speed feed seed embed";

/// Words of a German sentence that says what was done: who has done it, or that it was done.
const DOING_GERMAN: &str = "habe haben hab wurde wurden worden";
/// German participles of what was seen or tried, and not done.
const STATES_GERMAN: &str = "\
    gesehen geschaut angeschaut angesehen geprueft bemerkt versucht gefunden gedacht erwartet \
    verstanden begonnen";

/// Returns a sentence in lower case between blanks, without marks around it and without umlauts.
fn fold_sentence(sentence: &str) -> String {
    let folded = sentence.to_lowercase().replace('\u{2019}', "'");
    let folded = fold_umlauts(&folded);
    let plain: String = folded
        .trim_matches(|c: char| "*_#->. ".contains(c))
        .to_owned();
    format!(" {plain} ")
}

fn count_words(sentence: &str) -> usize {
    sentence.split_whitespace().count()
}

fn begins_with_any(folded: &str, beginnings: &[&str]) -> bool {
    let text = folded.trim_start();
    beginnings.iter().any(|word| text.starts_with(word))
}

/// Returns the first sentence that says something was done; of an answer in which none does, the
/// first that says how something ended.
pub(super) fn find_done_sentence(text: &str) -> Option<&str> {
    let told = || split_sentences(text).filter(|sentence| tells_an_end(sentence));
    told()
        .find(|sentence| says_done(sentence) && !says_left(sentence))
        .or_else(|| told().find(|sentence| !says_left(sentence)))
        .or_else(|| told().next())
}

/// Returns the first sentence that says what is left to do, with the one behind it if that says so,
/// too: "`test_refund` still fails. Next: read the raw body."
pub(super) fn find_left_sentence(text: &str) -> Option<&str> {
    let is_left = |sentence: &&str| says_left(sentence) && says_something(sentence);
    let first = split_sentences(text).find(is_left)?;
    let begin = text.find(first)?;
    let behind = text.get(begin + first.len()..).unwrap_or_default();
    let next = split_sentences(behind).find(|sentence| !sentence.is_empty());
    let both = next.filter(is_left).and_then(|next| {
        let end = begin + first.len() + behind.find(next)? + next.len();
        text.get(begin..end)
    });
    Some(both.unwrap_or(first))
}

/// Whether a sentence says how something ended, and asks or promises nothing.
fn tells_an_end(sentence: &str) -> bool {
    let promises = begins_with_any(&fold_sentence(sentence), &PROMISES);
    count_words(sentence) >= WORDS_MIN
        && !promises
        && !only_takes_note(sentence)
        && !sentence.ends_with(['?', ':'])
        && says_something(sentence)
}

/// Whether a sentence takes note of what was asked for, and does not go on with what was done.
fn only_takes_note(sentence: &str) -> bool {
    let folded = fold_sentence(sentence);
    let text = folded.trim_start();
    let rest = NOTED.iter().find_map(|noted| {
        let rest = text.strip_prefix(noted)?;
        (!rest.starts_with(char::is_alphanumeric)).then_some(rest)
    });
    let rest = rest.map(|rest| rest.trim_matches(|c: char| !c.is_alphanumeric()));
    rest.is_some_and(|rest| begins_with_any(rest, &PROMISES) || !says_done(rest))
}

fn says_left(sentence: &str) -> bool {
    let folded = fold_sentence(sentence);
    let has = |phrases: &[&str]| phrases.iter().any(|phrase| folded.contains(phrase));
    count_words(sentence) >= LEFT_WORDS_MIN
        && !sentence.ends_with(['?', ':'])
        && !begins_with_any(&folded, &OFFERS)
        && has(&LEFT)
        && !has(&NOTHING_LEFT)
}

/// Whether a sentence says what somebody did: "I moved it", "we have rewritten it", "Moved it", "it
/// has been moved".
fn says_done(sentence: &str) -> bool {
    let folded = fold_sentence(sentence);
    let words: Vec<&str> = folded
        .split(|c: char| !c.is_alphanumeric() && c != '\'')
        .filter(|word| !word.is_empty())
        .collect();
    let is_done = |word: &&str| {
        let is_past = word.ends_with("ed") || is_in_list(DONE_VERBS, word);
        is_past && !is_in_list(STATES, word)
    };
    let fills =
        |word: &&&str| ["have", "now", "also", "then", "just", "already", "all"].contains(*word);
    let beginning = words.iter().take(DOER_WORDS).enumerate();
    let mut doers = beginning.filter(|(_, word)| ["i", "we", "i've", "we've"].contains(*word));
    let does = |at: usize| {
        let after = words.get(at..).unwrap_or_default();
        after.iter().find(|word| !fills(word)).is_some_and(is_done)
    };
    let passive = |pair: &[&str]| match pair {
        ["been", done] => is_done(done),
        _ => false,
    };
    doers.any(|(at, _)| does(at + 1))
        || does(0)
        || words.windows(2).any(passive)
        || says_done_in_german(&words)
}

/// Whether words say what somebody did in German: "ich habe das Schema umgestellt".
fn says_done_in_german(words: &[&str]) -> bool {
    let begin = words.iter().take(DOER_WORDS);
    let mut begin = begin.filter(|word| is_in_list(DOING_GERMAN, word));
    let is_done = |word: &&str| {
        let ends = word.ends_with('t') || word.ends_with("en");
        let prefixes = ["ge", "ver", "ent", "zer", "er", "be", "ueber", "um"];
        let begins = prefixes.iter().any(|prefix| word.starts_with(prefix));
        let is_long = word.len() >= 6;
        is_long
            && ends
            && (begins || word.contains("ge") || word.ends_with("iert"))
            && !is_in_list(STATES_GERMAN, word)
    };
    begin.next().is_some() && words.iter().any(is_done)
}

fn is_in_list(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// The sentences of a text, each with its mark; a line ends one too.
pub(super) fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split('\n').flat_map(|line| {
        let mut last = ' ';
        let is_end = move |c: char| {
            let before = std::mem::replace(&mut last, c);
            c == ' ' && matches!(before, '.' | '!' | '?')
        };
        line.split_inclusive(is_end).map(str::trim)
    })
}
