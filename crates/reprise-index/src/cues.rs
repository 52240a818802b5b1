//! Cues of a text for the ranking: it mentions a time, it is a standing instruction, it only asks,
//! it is a prompt that states nothing.
//! The cues are computed once, when the text is pushed.

use std::sync::LazyLock;

use regex::Regex;
use reprise_types::{BinaryCodec, ByteReader, ByteWriter, RowCodec};

const SCANNED_BYTES_MAX: usize = 1500;
/// Most words of a thing before what is said of it.
const SUBJECT_WORDS_MAX: usize = 7;
/// Words that say how a thing is or must be.
const STATES: &str = "is are was were has have had must should shall cannot can't isn't aren't \
    doesn't don't won't needs belongs contains costs expires live lives means runs uses owns \
    manages maintains handles works sits stands speaks listens ends takes goes comes ships keeps \
    stores requires expects supports allows moved switched left ist sind hat haben muss m\u{fc}ssen \
    steht liegt l\u{e4}uft hei\u{df}t braucht geh\u{f6}rt kostet dauert gilt bleibt betreut arbeitet";
/// Words that are in no thing before what is said of it: they refer to something else, or begin
/// another clause.
const NO_SUBJECT: &str = "that which who if whether when while because so what how why where \
    whatever whenever wherever this these those it there here you he she they to not please as \
    until unless once after before wer wie wo warum wann welche dass wenn ob weil es er sie du ich \
    wir ihr das hier dort";
/// Words after an order: its object begins.
const OBJECT_STARTS: &str = "the a an all any every each our my your its their them me us some \
    everything anything";
/// Words before a comma that contradict, and say nothing else.
const CONTRADICTING: &str = "no nope wrong incorrect actually sorry wait right correction nein doch \
    falsch eigentlich halt stimmt non nee n\u{e3}o";
/// Most words before a colon that introduce what is said.
const LABEL_WORDS_MAX: usize = 6;
/// Orders that a thing without an article may follow.
const ORDERS: &str = "add adapt assert assume build bump call change check clean commit confirm \
    convert create debug delete deploy describe document drop ensure explain extract find fix \
    format generate give handle help implement improve install keep let list look make merge \
    migrate move open port print pull push put read refactor release remove rename replace report \
    restart return review rewrite run say search see set show sort split start stop summarise \
    summarize support tell test tidy try turn update upgrade use validate verify write";

/// The text mentions a time.
const DATED: u8 = 1;
/// The text is a standing instruction or preference.
const INSTRUCTION: u8 = 2;
/// Every sentence is a question.
const ONLY_ASKS: u8 = 4;
/// The text is a prompt that states nothing.
const BARE_PROMPT: u8 = 8;
/// The text is a prompt that also states something.
const INFORMATIVE_PROMPT: u8 = 16;

/// The cues of one text, one bit each, as stored in the file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Cues(u8);

impl BinaryCodec for Cues {
    fn encode(&self, out: &mut ByteWriter) {
        self.0.encode(out);
    }

    fn decode(r: &mut ByteReader<'_>) -> Option<Self> {
        Self::from_bits(r.read_u8()?)
    }
}

impl RowCodec for Cues {
    const WIDTH: usize = 1;
}

impl Cues {
    /// Detects the cues of a text. `is_prompt` means that a person sent it to an agent.
    pub(crate) fn from_text(text: &str, is_prompt: bool) -> Self {
        let scanned = &text[..text.floor_char_boundary(SCANNED_BYTES_MAX)];
        let mut bits = 0;
        if DATE_OR_TIME.as_ref().is_some_and(|p| p.is_match(scanned)) {
            bits |= DATED;
        }
        let is_foreign_rule =
            |sentence: &str| has_match(&FOREIGN_RULE, sentence) && !ends_as_question(sentence);
        if has_match(&STANDING_RULE, scanned) || split_sentences(scanned).any(is_foreign_rule) {
            bits |= INSTRUCTION;
        }
        let only_asks = || {
            split_sentences(scanned).next().is_some() && split_sentences(scanned).all(is_question)
        };
        let wants_cause = is_prompt && has_match(&WANTS_CAUSE, scanned);
        // A prompt that asks for a cause says what goes wrong, and answers nothing.
        let states =
            |sentence: &str| is_statement(sentence) && !(wants_cause && is_symptom(sentence));
        let has_statement = || bits & INSTRUCTION != 0 || split_sentences(scanned).any(states);
        bits |= if is_prompt {
            if has_statement() {
                INFORMATIVE_PROMPT
            } else {
                BARE_PROMPT
            }
        } else {
            u8::from(only_asks()) * ONLY_ASKS
        };
        Self(bits)
    }

    /// Returns the cues of stored bits; `None` for unknown bits.
    fn from_bits(bits: u8) -> Option<Self> {
        (bits & !(DATED | INSTRUCTION | ONLY_ASKS | BARE_PROMPT | INFORMATIVE_PROMPT) == 0)
            .then_some(Self(bits))
    }

    pub(crate) fn is_dated(self) -> bool {
        self.0 & DATED != 0
    }

    pub(crate) fn is_instruction(self) -> bool {
        self.0 & INSTRUCTION != 0
    }

    pub(crate) fn only_asks(self) -> bool {
        self.0 & ONLY_ASKS != 0
    }

    pub(crate) fn is_bare_prompt(self) -> bool {
        self.0 & BARE_PROMPT != 0
    }

    pub(crate) fn is_informative_prompt(self) -> bool {
        self.0 & INFORMATIVE_PROMPT != 0
    }
}

/// Splits a text into sentences, each with its end mark; a line break also ends one.
fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    let is_end = |c: char| matches!(c, '?' | '!' | '\n' | '\u{3002}' | '\u{ff1f}');
    let lines = text.split_inclusive(is_end);
    let parts = lines.flat_map(|line| line.split_inclusive(". "));
    parts.map(str::trim).filter(|part| !part.is_empty())
}

/// Whether a sentence only asks. `I am on Flask, how do I add a route?` states something first.
fn is_question(sentence: &str) -> bool {
    let is =
        |pattern: &LazyLock<Option<Regex>>| pattern.as_ref().is_some_and(|p| p.is_match(sentence));
    is(&QUESTION_START) || (sentence.ends_with(['?', '\u{ff1f}']) && !is(&STATEMENT))
}

/// Whether a sentence ends with a question mark, or with a word that makes it a question.
fn ends_as_question(sentence: &str) -> bool {
    let ends = [
        "?",
        "\u{ff1f}",
        "\u{61f}",
        "\u{5417}",
        "\u{5462}",
        "\u{304b}",
        "\u{304b}\u{3002}",
    ];
    ends.iter().any(|end| sentence.ends_with(end))
}

/// Whether a sentence of a prompt states a fact: the speaker does or has something, or a thing is
/// so. A request to the agent is no statement.
fn is_statement(sentence: &str) -> bool {
    let is = |pattern: &LazyLock<Option<Regex>>| has_match(pattern, sentence);
    if is_question(sentence) {
        return false;
    }
    // Who says that something is to be remembered states it, however politely.
    if !ends_as_question(sentence) && is(&TO_REMEMBER) {
        return true;
    }
    !is(&REQUEST) && list_clauses(sentence).any(|clause| states_fact(clause, sentence))
}

/// Whether a clause of a sentence states a fact.
fn states_fact(clause: &str, sentence: &str) -> bool {
    let is = |pattern: &LazyLock<Option<Regex>>| has_match(pattern, clause);
    let is_foreign = || is(&FOREIGN_STATEMENT) && !ends_as_question(sentence);
    let asks = || is(&REQUEST) || is_question(clause);
    (is(&STATEMENT) || is_foreign() || has_bare_subject(clause))
        && (clause.len() == sentence.len() || !asks())
}

/// Lists a sentence, and what it says behind a word that contradicts and behind a short clause:
/// `no, the rate is 120`, `that is wrong: the rate is 120`.
fn list_clauses(sentence: &str) -> impl Iterator<Item = &str> {
    let opening = find_behind(sentence, ", ", 1).filter(|end| {
        let word = sentence[..*end].trim_end_matches(", ").to_lowercase();
        CONTRADICTING.split_whitespace().any(|one| one == word)
    });
    let label = find_behind(sentence, ": ", LABEL_WORDS_MAX);
    let starts = [Some(0), opening, label].into_iter().flatten();
    starts.filter_map(|at| sentence.get(at..))
}

/// Finds the place behind a mark that at most so many words precede.
fn find_behind(text: &str, mark: &str, most: usize) -> Option<usize> {
    let (before, _) = text.split_once(mark)?;
    let count = before.split_whitespace().count();
    (1..=most)
        .contains(&count)
        .then_some(before.len() + mark.len())
}

/// Whether a sentence begins with a thing that has no article, and says how it is or must be:
/// `prices must be stored in cents`. An order begins with what is to be done.
fn has_bare_subject(sentence: &str) -> bool {
    if ends_as_question(sentence) {
        return false;
    }
    let is_one_of = |words: &str, word: &str| words.split_whitespace().any(|one| one == word);
    for (place, word) in sentence
        .split_whitespace()
        .take(SUBJECT_WORDS_MAX + 1)
        .enumerate()
    {
        let word = word.to_lowercase();
        let is_broken = match place {
            0 => is_one_of(ORDERS, &word),
            1 => is_one_of(OBJECT_STARTS, &word),
            _ => false,
        };
        if place > 0 && is_one_of(STATES, &word) {
            return true;
        }
        let ends = word.ends_with([',', ';', ':', '.', '!']);
        if ends || is_broken || is_one_of(NO_SUBJECT, &word) {
            return false;
        }
    }
    false
}

/// Whether a sentence says that something goes wrong, and not why.
fn is_symptom(sentence: &str) -> bool {
    has_match(&SYMPTOM, sentence) && !has_match(&CAUSE, sentence)
}

fn has_match(pattern: &LazyLock<Option<Regex>>, text: &str) -> bool {
    pattern.as_ref().is_some_and(|p| p.is_match(text))
}

/// Requests to find out why something goes wrong, or to end that.
static WANTS_CAUSE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:find out (?:why|what|where|how)|figure (?:it )?out|look into (?:it|this|that|why)",
        r"|investigate|debug (?:it|this|that)|track (?:it|this) down|get to the bottom",
        r"|(?:please|can you|could you) (?:fix|check|look|find)|fix (?:it|this|that)\b)",
    ))
});

/// States of what does not do what it should.
static SYMPTOM: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:flaky|fail(?:s|ed|ing|ure)?|broken|wrong|hangs?|hanging|stuck|crash(?:es|ed|ing)?",
        r"|errors?|slow|missing|off by|tim(?:es|ed|ing) out|leak(?:s|ing)?|panics?|lost",
        r"|(?:does|do|is|are)(?:n't| not)|won't|can't|cannot|instead of|red)\b",
    ))
});

/// Words before a cause, which answers.
static CAUSE: LazyLock<Option<Regex>> =
    LazyLock::new(|| compile_pattern(r"(?i)\b(?:because|since|due to|caused by|the cause)\b"));

/// Beginnings of a question, which may lack its question mark.
static QUESTION_START: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^(?:(?:and|so|but|ok|hey|hi|please),? )*(?:who|whom|whose|what|when|where|why|which",
        r"|how|did|does|do|is|are|was|were|can|could|will|would|should|have|has",
        r"|wer|was|wann|wo|warum|welche[rsmn]?|wie|qui|que|quoi|quand|o\u{f9}|pourquoi|comment",
        r"|quien|qu\u{e9}|qui\u{e9}n|cu\u{e1}ndo|d\u{f3}nde|c\u{f3}mo)\b",
    ))
});

/// Phrases of a request to the agent.
static REQUEST: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:i|we)(?:'d| would| want| need| wish)? (?:like|want|need|wish|to)\b",
        r"|^(?:please|let'?s|can|could|help|tell|show|explain|write|make|add|fix)\b",
    ))
});

/// A speaker with a verb at the start of a clause, or a thing with its state. A sentence that
/// begins with "this" or "it" depends on its context and states nothing by itself.
static STATEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)(?:^(?:\S+ ){0,3}|[,;:(] |\b(?:because|since|but|and) )",
        r"(?:i|we)(?:'m|'ve|'re|'ll|'d| \p{L}+)",
        r"|^(?:the|a|an|our|my|your|note|remember|fyi)\b.*",
        r"\b(?:is|are|was|were|has|have|needs?|uses?|lives?|runs?|must|should|cannot|can't",
        r"|doesn't|does not|won't)\b",
    ))
});

/// Requests to keep something in mind, with what it is: at the beginning, or after a greeting.
static TO_REMEMBER: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)(?:(?:^|[,;:.!\u{2013}\u{2014}-]\s+|\b(?:and|please|ok|okay|und|bitte|et|y|e) )\W*",
        r"(?:remember(?: that\b|[:,]| (?:the|a|an|our|my|your|we|i|this)\b)|note(?: that\b|[:,])",
        r"|(?:keep|bear) in mind|(?:don't|do not) forget|for the record|for your information|fyi",
        r"|just so you know|be aware",
        r"|merke?t? (?:dir|euch)|denke? (?:daran|dran)|beachte|notiere?|vergiss nicht|zur info",
        r"|nur damit du(?: es)? wei(?:\u{df}|ss)t|zu deiner information",
        r"|retiens|souviens-toi|rappelle-toi|n'oublie pas|notez? (?:que|bien)|sache que|pour info",
        r"|recuerda|ten (?:en cuenta|presente)|no olvides|apunta|anota|para que sepas",
        r"|lembr[ae](?:-te|-se)?|tenha em mente|n\u{e3}o esque\u{e7}as?|anote",
        r"|ricorda(?:ti)?|tieni (?:presente|a mente)|non dimenticare|annota",
        r"|onthoud|vergeet niet|noteer|ter info",
        r"|(?:za)?pami\u{119}taj|zanotuj|unutma|hat\u{131}rla|akl\u{131}nda",
        r"|\u{437}\u{430}\u{43f}\u{43e}\u{43c}\u{43d}\u{438}",
        r"|\u{43f}\u{43e}\u{43c}\u{43d}\u{438}|\u{443}\u{447}\u{442}\u{438}",
        r"|\u{438}\u{43c}\u{435}\u{439} \u{432} \u{432}\u{438}\u{434}\u{443}",
        r"|\u{437}\u{430}\u{43f}\u{430}\u{43c}'\u{44f}\u{442}\u{430}\u{439}",
        r"|\u{62a}\u{630}\u{643}\u{631}|\u{5d6}\u{5db}\u{5d5}\u{5e8}",
        r"|\u{5ea}\u{5d6}\u{5db}\u{5d5}\u{5e8}|\u{92f}\u{93e}\u{926} \u{930}\u{916}",
        r")\S*\W+(?:\S+\s+){2,}\S)",
        r"|(?:\u{8bb0}\u{4f4f}|\u{8a18}\u{4f4f}|\u{8bf7}\u{8bb0}|\u{8acb}\u{8a18}",
        r"|\u{8bb0}\u{5f97}|\u{8a18}\u{5f97}).{6,}",
        r"|.{6,}(?:\u{899a}\u{3048}\u{3066}|\u{ae30}\u{c5b5}\u{d574})",
        r"|\u{e08}\u{e33}\u{e44}\u{e27}\u{e49}.{6,}",
    ))
});

/// A thing with its state, in languages other than English.
static FOREIGN_STATEMENT: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^(?:der|die|das|ein|eine|unser\w*|mein\w*|euer|eure|alle)\b.+\b(?:ist|sind|war|waren",
        r"|hat|haben|braucht|brauchen|muss|m\u{fc}ssen|soll|sollen|hei\u{df}t|l\u{e4}uft|liegt",
        r"|geh\u{f6}rt|kostet|nutzt|nutzen|steht|stehen|liegen|laufen|dauert|gilt|gelten|bleibt",
        r"|betreut|arbeitet|wohnt|sitzt|kommt|schlie\u{df}t|\u{f6}ffnet)\b",
        r"|(?:^|, )(?:ich (?:bin|habe|nutze|arbeite|mag)",
        r"|wir (?:sind|haben|nutzen|arbeiten|verwenden))\b",
        r"|^(?:(?:le|la|les|un|une|notre|nos|mon|ma|mes|votre|vos)\b|l').+\b(?:est|sont",
        r"|\u{e9}tait|doit|doivent|utilise|utilisent|s'appelle|tourne)\b",
        r"|(?:^|, )(?:je suis|j'ai|j'utilise|nous (?:sommes|avons|utilisons)|on utilise)\b",
        r"|^(?:el|la|los|las|un|una|nuestr[oa]s?|mis?)\b.+\b(?:es|son|est\u{e1}n?|era|tienen?",
        r"|deben?|usan?|se llama)\b",
        r"|^(?:o|a|os|as|um|uma|nosso|nossa|meu|minha)\b.+\b(?:\u{e9}|s\u{e3}o|est\u{e1}",
        r"|tem|deve|devem|usa)\b",
        r"|^(?:il|lo|la|i|gli|le|un|una|nostro|nostra|mio|mia)\b.+\b(?:\u{e8}|sono|ha|hanno|deve",
        r"|devono|usa|usano|si chiama)\b",
        r"|^(?:de|het|een|onze|ons|mijn)\b.+\b(?:is|zijn|was|heeft|hebben|moet|moeten|gebruikt)\b",
        r"|^[^\u{8bf7}\u{8acb}\u{5e2e}\u{5e6b}]{2,}(?:\u{662f}|\u{4f4d}\u{4e8e})[^\u{5426}].+",
        r"|\u{306f}.+(?:\u{3067}\u{3059}|\u{3067}\u{3042}\u{308b}|\u{3060})\u{3002}?$",
        r"|(?:\u{c785}\u{b2c8}\u{b2e4}|\u{c774}\u{b2e4})\.?$",
    ))
});

/// Words and formats that date an event.
static DATE_OR_TIME: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)\b(?:yesterday|today|tonight|tomorrow|ago|recently|since|deadline|the other day",
        r"|(?:last|next|this) (?:night|morning|week|weekend|month|year|summer|winter|spring|fall",
        r"|autumn|few|past|monday|tuesday|wednesday|thursday|friday|saturday|sunday)",
        r"|january|february|march|april|may \d|june|july|august|september|october|november",
        r"|december|monday|tuesday|wednesday|thursday|friday|saturday|sunday",
        r"|(?:19|20)\d\d|\d{1,2}(?:st|nd|rd|th)|\d{4}-\d\d-\d\d",
        r"|(?:years?|months?|weeks?))\b",
    ))
});

/// Beginnings of a rule that holds from then on.
static STANDING_RULE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^\W*(?:please )?(?:always|never|whenever|from now on|remember (?:to|that)",
        r"|make sure (?:to|you)|do not|don't|i always|i never|i like to|only )",
        r"|\b(?:i prefer|i'd prefer|i would prefer|i'd rather|i would rather|from now on",
        r"|going forward)\b",
    ))
});

/// A rule that holds from then on, in languages other than English.
static FOREIGN_RULE: LazyLock<Option<Regex>> = LazyLock::new(|| {
    compile_pattern(concat!(
        r"(?i)^\W*(?:bitte |por favor,? |merci de )?(?:",
        r"immer|nie|niemals|ab jetzt|ab sofort|k\u{fc}nftig|keinesfalls|auf keinen fall",
        r"|toujours|ne jamais|jamais|d\u{e9}sormais|\u{e0} partir de maintenant",
        r"|il ne faut (?:pas|jamais)",
        r"|siempre|nunca|jam\u{e1}s|a partir de ahora|prohibido",
        r"|sempre|a partir de agora",
        r"|non \p{L}+ mai|d'ora in poi",
        r"|altijd|nooit",
        r"|zawsze|nigdy|zabronione",
        r"|\u{432}\u{441}\u{435}\u{433}\u{434}\u{430}",
        r"|\u{43d}\u{438}\u{43a}\u{43e}\u{433}\u{434}\u{430}",
        r"|\u{437}\u{430}\u{43f}\u{440}\u{435}\u{449}\u{435}\u{43d}\u{43e}",
        r"|\u{43d}\u{435}\u{43b}\u{44c}\u{437}\u{44f}",
        r"|\u{43e}\u{442}\u{43d}\u{44b}\u{43d}\u{435}",
        r"|\u{43e}\u{431}\u{44f}\u{437}\u{430}\u{442}\u{435}\u{43b}\u{44c}\u{43d}\u{43e}",
        r"|\u{437}\u{430}\u{432}\u{436}\u{434}\u{438}",
        r"|\u{43d}\u{456}\u{43a}\u{43e}\u{43b}\u{438}",
        r"|\u{437}\u{430}\u{431}\u{43e}\u{440}\u{43e}\u{43d}\u{435}\u{43d}\u{43e}",
        r"|\u{644}\u{627} \u{62a}\p{L}+|\u{62f}\u{627}\u{626}\u{645}\u{627}",
        r"|\u{62f}\u{627}\u{626}\u{645}\u{64b}\u{627}|\u{645}\u{645}\u{646}\u{648}\u{639}",
        r"|\u{64a}\u{62c}\u{628}",
        r"|\u{5dc}\u{5e2}\u{5d5}\u{5dc}\u{5dd} \u{5dc}\u{5d0}|\u{5ea}\u{5de}\u{5d9}\u{5d3}",
        r"|\u{5d0}\u{5e1}\u{5d5}\u{5e8}|\u{5dc}\u{5d0} \u{5dc}\p{L}+",
        r")(?:\W|$)|\b(?:darf (?:nicht|nie|niemals)|d\u{fc}rfen (?:nicht|nie|niemals)",
        r"|\u{43d}\u{435}\u{43b}\u{44c}\u{437}\u{44f})\b",
        r"|\u{7981}\u{6b62}|\u{4e0d}\u{5f97}|\u{4e0d}\u{51c6}|\u{4e0d}\u{5141}\u{8bb8}",
        r"|\u{4e0d}\u{8a31}|\u{5fc5}\u{987b}|\u{5fc5}\u{9808}|\u{52a1}\u{5fc5}",
        r"|\u{52d9}\u{5fc5}|\u{4e00}\u{5f8b}|\u{6c38}\u{8fdc}|\u{59cb}\u{7ec8}",
        r"|\u{5207}\u{52ff}|\u{8bf7}\u{52ff}|\u{8acb}\u{52ff}|\u{4e25}\u{7981}",
        r"|\u{56b4}\u{7981}|\u{4ece}\u{73b0}\u{5728}\u{8d77}|\u{4ee5}\u{540e}\u{90fd}",
        r"|\u{3057}\u{306a}\u{3044}\u{3067}",
        r"|\u{3057}\u{3066}\u{306f}\u{3044}\u{3051}\u{306a}\u{3044}",
        r"|\u{3057}\u{3066}\u{306f}\u{306a}\u{3089}\u{306a}\u{3044}|\u{5fc5}\u{305a}",
        r"|\u{7d76}\u{5bfe}\u{306b}|\u{4eca}\u{5f8c}\u{306f}|\u{ae08}\u{c9c0}",
        r"|\u{d558}\u{c9c0} \u{b9c8}|\u{d558}\u{c9c0} \u{b9d0}|\u{bc18}\u{b4dc}\u{c2dc}",
        r"|\u{c808}\u{b300}|\u{d544}\u{c218}|\u{c55e}\u{c73c}\u{b85c}\u{b294}",
        r"|\u{d56d}\u{c0c1}|\u{e2b}\u{e49}\u{e32}\u{e21}",
        r"|\u{915}\u{92d}\u{940} \u{928}\u{939}\u{940}\u{902}",
        r"|\u{939}\u{92e}\u{947}\u{936}\u{93e}|\u{928} \u{915}\u{930}\u{947}\u{902}",
        r"|\u{928} \u{91a}\u{932}\u{93e}\u{90f}\u{901}",
    ))
});

/// Compiles a constant pattern; the tests of this file prove that all compile.
fn compile_pattern(text: &str) -> Option<Regex> {
    Regex::new(text).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_that_tell_a_time_are_seen() {
        for text in [
            "We met YESTERDAY.",
            "in May 2023",
            "on the 3rd",
            "since then",
            "two weeks ago",
        ] {
            assert!(Cues::from_text(text, false).is_dated(), "{text}");
        }
        for text in ["You may go.", "The weekly", "port 5000", ""] {
            assert!(!Cues::from_text(text, false).is_dated(), "{text}");
        }
    }

    #[test]
    fn standing_instructions_are_seen() {
        for text in [
            "Always show the units.",
            "please never use tabs",
            "I prefer short answers",
        ] {
            assert!(Cues::from_text(text, false).is_instruction(), "{text}");
        }
        for text in ["It always rains here.", "What do you prefer?", "ever"] {
            assert!(!Cues::from_text(text, false).is_instruction(), "{text}");
        }
    }

    #[test]
    fn a_rule_is_one_in_every_language() {
        for text in [
            "\u{751f}\u{4ea7}\u{5e93}\u{7981}\u{6b62}\u{76f4}\u{63a5}\u{6539}",
            "\u{53d1}\u{5e03}\u{524d}\u{5fc5}\u{987b}\u{5907}\u{4efd}",
            "\u{bc30}\u{d3ec} \u{c804}\u{c5d0} \u{bc31}\u{c5c5} \u{d544}\u{c218}",
            "\u{5fc5}\u{305a}\u{66f8}\u{304f}",
            "Nie am Freitag deployen",
            "Die Produktion darf nie direkt ge\u{e4}ndert werden",
            "Ne jamais d\u{e9}ployer le vendredi",
            "Nunca desplegar los viernes",
            "\u{43d}\u{435}\u{43b}\u{44c}\u{437}\u{44f} \u{442}\u{430}\u{43a}",
            "\u{644}\u{627} \u{62a}\u{646}\u{634}\u{631}",
            "\u{e2b}\u{e49}\u{e32}\u{e21}\u{e41}\u{e01}\u{e49}",
        ] {
            let cues = Cues::from_text(text, true);
            assert!(
                cues.is_informative_prompt() && cues.is_instruction(),
                "{text}"
            );
        }
        for text in [
            "\u{751f}\u{4ea7}\u{5e93}\u{53ef}\u{4ee5}\u{76f4}\u{63a5}\u{6539}\u{5417}",
            "\u{8981}\u{4e0d}\u{8981}\u{90e8}\u{7f72}",
            "\u{53d1}\u{5e03}\u{524d}\u{5fc5}\u{987b}\u{5907}\u{4efd}\u{5417}",
            "Was immer das ist",
            "\u{bc30}\u{d3ec}\u{d574} \u{c918}",
            "\u{66f8}\u{3044}\u{3066}\u{304f}\u{3060}\u{3055}\u{3044}",
            "Wann darf nie deployt werden?",
        ] {
            assert!(!Cues::from_text(text, true).is_instruction(), "{text}");
        }
    }

    #[test]
    fn only_bits_with_a_meaning_are_read_back() {
        let cues = Cues::from_text("From now on we meet on Monday", false);
        assert_eq!(Cues::from_bits(cues.0), Some(cues));
        assert!(cues.is_dated() && cues.is_instruction());
        assert_eq!(Cues::from_bits(32), None);
    }

    #[test]
    fn what_only_asks_is_told_from_what_tells() {
        for text in [
            "Why did we leave Heroku?",
            "what did Ann paint last summer",
            "Hey, who has the key? And since when?",
            "\u{8c01}\u{6709}\u{94a5}\u{5319}\u{ff1f}",
        ] {
            assert!(Cues::from_text(text, false).only_asks(), "{text}");
        }
        for text in [
            "We left Heroku in May. Was that wise?",
            "I'm on Flask 2.3.1. How do I add a route?",
            "I am on Flask 2.3.1, how do I add a route?",
            "Fix the flaky test",
        ] {
            assert!(!Cues::from_text(text, false).only_asks(), "{text}");
        }
    }

    #[test]
    fn every_pattern_of_a_cue_compiles() {
        for pattern in [&TO_REMEMBER, &FOREIGN_STATEMENT] {
            assert!(pattern.is_some());
        }
    }

    #[test]
    fn a_prompt_that_tells_nothing_is_a_lead() {
        for text in [
            "why is the checkout total wrong with a coupon",
            "Fix the flaky login test in CI",
            "I want to add a route for carts. Please write a test for it.",
            "rename variable foo to bar",
            "Display folders even if we do not own them",
            "Add an option `--glob`. This is an alias that is useful on Windows",
            "the login test is flaky in CI, it fails one time in five. please find out why",
            "The checkout page shows the wrong total. Can you look into it?",
            "The refund job is stuck. Fix it",
        ] {
            assert!(Cues::from_text(text, true).is_bare_prompt(), "{text}");
            assert!(!Cues::from_text(text, false).is_bare_prompt(), "{text}");
        }
        for text in [
            "check prices are shown in cents",
            "Improve support for users, they are lost",
            "Refactor code which is slow",
            "remember this",
            "what must prices be stored as",
            "nothing to do here",
            "No, try it again",
            "Fix this: the tests are red",
            "No, what is the tick rate?",
            "Physics: what is the tick rate",
            "Kannst du die Tests laufen lassen?",
            "Merke dir das",
            "Do you remember that the ftp user of the warehouse is teeimport?",
            "Die Steuerberaterin ist Frau Yilmaz?",
            "Suche, wo das steht",
            "look who owns the billing module",
            "\u{8bf7}\u{4fee}\u{590d}\u{8fd9}\u{4e2a}\u{6d4b}\u{8bd5}",
        ] {
            assert!(Cues::from_text(text, true).is_bare_prompt(), "{text}");
        }
        for text in [
            "nice, remember that the ftp user of the warehouse is teeimport",
            "ok thanks! Keep in mind: the warehouse closes at noon",
            "Merke dir: die Steuerberaterin ist Frau Yilmaz.",
            "Super, vergiss nicht, dass das Lager um zwei schliesst",
            "Die Steuerberaterin ist Frau Yilmaz.",
            "Retiens que le serveur de test est 10.0.0.4",
            "recuerda que el servidor de pruebas es 10.0.0.4",
            "prices must always be stored as integers in cents",
            "staging deploys are done by Ada",
            "Tom owns the billing module now, Lena left",
            "Lena betreut die Suche.",
            "Der Mailserver steht in Frankfurt.",
            "No, the tick rate is 120 Hz, not 60 Hz.",
            "Physics: the tick rate is 60 Hz.",
            "You used the wrong table: claims live in schaden_2026.",
            "Nein, die Praemie ist erst am 5. faellig, nicht am 3.",
            "Nein, das ist falsch: Der Zebra-Drucker braucht UTF-16, nicht UTF-8 mit BOM.",
            "Orders from Austria have no shipping fee. Fix the total",
            "\u{8bb0}\u{4f4f}\u{ff0c}\u{6d4b}\u{8bd5}\u{670d}\u{52a1}\u{5668}\u{662f}staging-4",
            "\u{6d4b}\u{8bd5}\u{670d}\u{52a1}\u{5668}\u{662f}staging-4",
            "We use pnpm here. Fix the build",
            "The staging host is 10.0.0.4, deploy there",
            "from now on never push to main",
            "Retry it because we run behind a proxy",
            "The login test is flaky because the clock is not frozen. Please fix it",
            "The staging host is 10.0.0.4. The deploy fails, find out why",
        ] {
            let cues = Cues::from_text(text, true);
            assert!(
                cues.is_informative_prompt() && !cues.is_bare_prompt(),
                "{text}"
            );
        }
    }
}
