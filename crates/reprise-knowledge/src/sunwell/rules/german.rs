//! How a rule is set in German. Words are compared without umlauts: `ue` for `\u{fc}`.

use super::Sentence;
use crate::values::is_in_words;

/// How a sentence begins that sets a rule whatever its verb is, or is told to be remembered.
const BEGINNINGS: &str = "\
    ab jetzt|ab sofort|ab heute|von jetzt an|von nun an|kuenftig|in zukunft|fortan|\
    grundsaetzlich|unsere regel|regel:|neue regel|die regel lautet|bei uns gilt|hier gilt|\
    merk dir:|merke dir:|merke:|merk dir, dass|merke dir, dass|merk dir dass|denk daran, dass";
/// What is before a rule and says nothing of it.
const LEAD_INS: &str = "\
    ich moechte, dass du|ich will, dass du|achte darauf, dass du|bitte|und|also|ok|okay|hey";
/// Who follows a rule, and the adverbs of one.
const WHO: &str = "wir ich man hier";
const ALWAYS: &str = "immer nie niemals nur grundsaetzlich ausschliesslich stets";
/// Adverbs that tell a rule of any verb.
const ALWAYS_OF_ANY: &str = "immer nie niemals grundsaetzlich ausschliesslich stets";
/// Verbs of what is done on purpose.
const ON_PURPOSE: &str = "\
    benutzen benutze benutzt nutzen nutze nutzt verwenden verwende verwendet nehmen nehme nimmt \
    nimm schreiben schreibe schreibt schreib machen mache mach testen teste testet mergen merge \
    mergt committen committe committet bauen baue baut bau speichern speichere speichert \
    formatieren formatiere formatiert deployen deploye deployt deploy pushen pushe pusht push \
    lassen lasse laesst lass setzen setze setzt setz halten halte haelt halt pruefen pruefe \
    prueft pruef nutz fass aendern aendere loeschen loesche loescht loesch loggen logge loggt \
    log benennen benenne nenne nennen importieren importiere antworte antworten starte starten \
    fuehre fuehren sortiere lege legen leg ruehre ruehr achte achten fuege fueg lauf \
    veroeffentliche committet checke frage frag";
/// Verbs of what happens to somebody: no rule is about them.
const HAPPENS: &str = "\
    sehen kriegen bekommen haben sind finden erhalten kommen verlieren vergessen wissen hoeren \
    merken warten scheitern brauchen muessen koennen wollen sollen werden duerfen moegen \
    haetten waren hatten landen stossen laufen";
/// Words behind an adverb with which it tells no rule: "immer noch".
const NO_RULE: &str = "noch wieder weiter wenn mehr oefter haeufiger";
/// Modal verbs of a demand, and those that deny one with "nicht": "du musst nicht" is none.
const MODALS: &str = "\
    sollst sollt sollen soll solltest sollten darfst duerft duerfen darf musst muesst muessen muss";
const MODALS_WITH_NOT: &str = "sollst sollt sollen soll darfst duerft duerfen darf";
/// Work that rules are about.
const ACTIVITIES: &str = "\
    deploy deploys deployment deployments release releases merge merges commit commits push pushes \
    migration migrationen rollout rollouts auslieferung auslieferungen veroeffentlichung \
    veroeffentlichungen ausrollen passwoerter geheimnisse secrets abkuerzungen umlaute kommentare \
    branches rebase rebases hotfixes upgrades abhaengigkeiten";
/// Words before a time, a place or a condition.
const PREPOSITIONS: &str = "\
    am im in an auf ohne vor nach waehrend bei ausserhalb mit ueber per zu zum vom von fuer";
const DAYS: &str = "\
    montag dienstag mittwoch donnerstag freitag samstag sonntag wochenende montags dienstags \
    mittwochs donnerstags freitags samstags sonntags wochenenden";
/// Words of what goes wrong, or is so.
const STATES: &str = "\
    ist sind war waren hat haben wird werden kaputt rot fehlerhaft leer langsam falsch fehl \
    funktioniert klappt geht kommt";
/// Words that a demand on all things of a kind has.
const REQUIRES: &str = "\
    muss muessen braucht brauchen bekommt bekommen soll sollen gehoert gehoeren darf duerfen";
/// Words of what is done once.
const ONCE: &str = "jetzt heute erst diesmal wieder gerade";
/// Words that point at one thing.
const POINTING: &str = "der die das den dem des dies diese diesen dieser dieses es sie er ihn";
/// Where a rule holds.
const PLACES: &str = "repo repository projekt team codebasis";
/// Most words of a short form of a rule: "Commits immer auf Englisch".
const SHORT_WORDS_MAX: usize = 10;

/// Returns whether a sentence sets a rule in a form in which other sentences order one piece of
/// work: "Ich will, dass du immer auf Deutsch antwortest".
pub(super) fn is_certain(sentence: &Sentence<'_>) -> bool {
    let begins = |phrases: &str| {
        phrases.split('|').find_map(|phrase| {
            let rest = sentence.folded.strip_prefix(phrase)?;
            (!rest.starts_with(char::is_alphanumeric)).then_some(rest)
        })
    };
    let always = |rest: &str| {
        let mut words = super::split_words(rest);
        words
            .next()
            .is_some_and(|word| is_in_words(ALWAYS_OF_ANY, word))
            && !words.next().is_some_and(|word| is_in_words(NO_RULE, word))
    };
    let imagines = ["koennte", "waere", "wuerde"]
        .iter()
        .any(|word| sentence.folded.contains(word));
    begins(BEGINNINGS).is_some() && !imagines
        || begins(LEAD_INS).is_some_and(always) && is_at_an_end(sentence)
}

/// Returns whether a sentence that orders no single piece of work sets a rule.
pub(super) fn is_rule(sentence: &Sentence<'_>) -> bool {
    let asked = sentence.folded_words.first() == Some(&"bitte");
    let words = sentence
        .folded_words
        .get(usize::from(asked)..)
        .unwrap_or_default();
    let folded = sentence.folded;
    is_habit(words)
        || is_local_habit(words)
        || is_contrast(words, folded)
        || is_order(words)
        || is_infinitive(words, sentence, asked)
        || is_demand(words)
        || is_demand_on_all(words)
        || is_prohibition(words)
        || is_short_form(words)
        || is_practice(words)
        || is_passive(words, sentence)
        || is_avoided(words)
        || is_preference(words)
}

/// Whether a word is the verb of an order.
pub(super) fn is_order_verb(word: &str) -> bool {
    is_in_words(ON_PURPOSE, word)
}

/// Whether the last word of a sentence is written small, as a verb is.
fn is_at_an_end(sentence: &Sentence<'_>) -> bool {
    let last = sentence.written.split_whitespace().next_back();
    last.is_some_and(|last| last.starts_with(char::is_lowercase))
}

/// Whether a word at a place is an adverb of a rule.
fn is_always(words: &[&str], at: usize, adverbs: &str) -> bool {
    let next = words.get(at + 1).copied().unwrap_or_default();
    let word = words.get(at).copied().unwrap_or_default();
    is_in_words(adverbs, word) && !is_in_words(NO_RULE, next)
}

/// Whether somebody always does something: "wir benutzen hier immer pnpm".
fn is_habit(words: &[&str]) -> bool {
    words.windows(2).enumerate().any(|(at, two)| {
        let [one, other] = two else { return false };
        let (who, verb) = if is_in_words(WHO, one) {
            (one, other)
        } else {
            (other, one)
        };
        let adverbs = if is_in_words(ON_PURPOSE, verb) {
            ALWAYS
        } else if *who == "wir" && verb.ends_with("en") && !is_in_words(HAPPENS, verb) {
            ALWAYS_OF_ANY
        } else {
            return false;
        };
        is_in_words(WHO, who) && (at + 2..at + 6).any(|at| is_always(words, at, adverbs))
    })
}

/// Whether a sentence tells what is done in one place: "in diesem Repo schreiben wir Tests zuerst".
fn is_local_habit(words: &[&str]) -> bool {
    let ["in" | "fuer", which, place, verb, who, ..] = words else {
        return false;
    };
    is_in_words("diesem dieses unserem unser", which)
        && is_in_words(PLACES, place)
        && is_in_words(ON_PURPOSE, verb)
        && is_in_words(WHO, who)
}

/// Whether somebody does one thing in place of another: "wir verwenden Tabs, keine Leerzeichen".
fn is_contrast(words: &[&str], folded: &str) -> bool {
    let (Some(first), Some(second)) = (words.first(), words.get(1)) else {
        return false;
    };
    let does = is_in_words("wir man", first) && is_in_words(ON_PURPOSE, second)
        || is_in_words("nutze nutz verwende benutze nimm nehmt verwendet", first);
    let other = [", kein", ", nicht ", ", nie ", ", niemals ", " statt "];
    does && words.len() <= SHORT_WORDS_MAX
        && other.iter().any(|other| folded.contains(other))
        && !words.iter().any(|word| is_in_words(ONCE, word))
        && !words
            .get(1..4)
            .unwrap_or_default()
            .iter()
            .any(|word| is_in_words(POINTING, word))
}

/// Whether a sentence orders something for all work: "schreibe Commits immer auf Deutsch".
fn is_order(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    is_in_words(ON_PURPOSE, first) && (1..words.len()).any(|at| is_always(words, at, ALWAYS_OF_ANY))
}

/// Whether an infinitive orders something for all work: "nie am Freitag ausrollen".
fn is_infinitive(words: &[&str], sentence: &Sentence<'_>, asked: bool) -> bool {
    let is_verb = words
        .last()
        .is_some_and(|last| last.ends_with("en") || last.ends_with("rn"));
    let begins = is_always(words, 0, ALWAYS_OF_ANY)
        || words.first().is_some_and(|word| word.starts_with("kein")) && asked;
    is_verb && begins && is_at_an_end(sentence)
}

/// Whether a sentence demands or forbids something: "du sollst nie auf main pushen".
fn is_demand(words: &[&str]) -> bool {
    let [one, other, rest @ ..] = words else {
        return false;
    };
    let (who, modal) = if is_in_words(MODALS, one) {
        (other, one)
    } else {
        (one, other)
    };
    let lasts = (0..rest.len()).any(|at| is_always(rest, at, ALWAYS));
    let denies = rest
        .iter()
        .any(|word| *word == "nicht" || word.starts_with("kein"));
    is_in_words("du wir ihr man niemand keiner es", who)
        && is_in_words(MODALS, modal)
        && (lasts || denies && is_in_words(MODALS_WITH_NOT, modal))
        && !rest
            .iter()
            .any(|word| is_in_words("vergessen wieder noch", word))
}

/// Whether a sentence demands something of all things of a kind: "jede Migration braucht einen
/// Rollback".
fn is_demand_on_all(words: &[&str]) -> bool {
    let [first, _, rest @ ..] = words else {
        return false;
    };
    is_in_words("jede jeder jedes jeden alle saemtliche", first)
        && rest.iter().take(5).any(|word| is_in_words(REQUIRES, word))
        && !rest.iter().any(|word| is_in_words(ONCE, word))
}

/// Whether a sentence forbids something by a noun: "keine Deploys am Freitag".
fn is_prohibition(words: &[&str]) -> bool {
    let [first, what @ ..] = words else {
        return false;
    };
    let has = |list: &str| what.iter().any(|word| is_in_words(list, word));
    let is_activity = what
        .iter()
        .take(2)
        .any(|word| is_in_words(ACTIVITIES, word));
    let in_place = what.windows(2).any(|two| {
        let [which, place] = two else { return false };
        is_in_words("diesem unserem", which) && is_in_words(PLACES, place)
    });
    is_in_words("kein keine keinen keinerlei", first)
        && (is_activity && has(PREPOSITIONS) || has(DAYS) || in_place || what.contains(&"ohne"))
        && words.len() <= SHORT_WORDS_MAX
        && !has(STATES)
}

/// Whether a sentence says how some work is done without a verb: "Commits immer auf Englisch".
fn is_short_form(words: &[&str]) -> bool {
    let [what, _, before, ..] = words else {
        return false;
    };
    let of_who = is_in_words(WHO, what) || is_in_words(POINTING, what) || is_in_words(STATES, what);
    is_always(words, 1, ALWAYS)
        && is_in_words(PREPOSITIONS, before)
        && !of_who
        && words.len() <= SHORT_WORDS_MAX
        && !words.iter().any(|word| is_in_words(STATES, word))
}

/// Whether a sentence says what all things of a kind always have: "neue Endpunkte bekommen immer
/// einen Test".
fn is_practice(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    let of_who = is_in_words(WHO, first) || is_in_words(POINTING, first);
    let has = (1..3).any(|at| {
        let verb = words.get(at).copied().unwrap_or_default();
        is_in_words(
            "bekommen brauchen gehoeren heissen liegen stehen enden beginnen",
            verb,
        ) && is_always(words, at + 1, ALWAYS_OF_ANY)
    });
    has && !of_who
}

/// Whether a sentence says what is always done here: "bei uns wird nie am Freitag ausgerollt".
fn is_passive(words: &[&str], sentence: &Sentence<'_>) -> bool {
    let begins = [
        "bei uns",
        "hier wird",
        "hier werden",
        "es wird",
        "in diesem",
        "in unserem",
    ];
    let is_place = begins
        .iter()
        .any(|begins| sentence.folded.starts_with(begins));
    let done = words
        .last()
        .is_some_and(|last| last.ends_with('t') || last.ends_with("en"));
    is_place
        && words.iter().any(|word| is_in_words("wird werden", word))
        && (0..words.len()).any(|at| is_always(words, at, ALWAYS))
        && done
}

/// Whether a sentence orders to do without something: "vermeide Abkuerzungen".
fn is_avoided(words: &[&str]) -> bool {
    let (["vermeide" | "vermeidet" | "meide", what, ..]
    | ["verzichte" | "verzichtet", "auf", what, ..]) = words
    else {
        return false;
    };
    !is_in_words(POINTING, what) && !words.iter().any(|word| is_in_words(ONCE, word))
}

/// Whether somebody says what they prefer: "ich bevorzuge kleine Commits".
fn is_preference(words: &[&str]) -> bool {
    let ["ich" | "wir", "bevorzuge" | "bevorzugen", what, rest @ ..] = words else {
        return false;
    };
    !is_in_words(POINTING, what) && !rest.iter().any(|word| is_in_words(ONCE, word))
}
