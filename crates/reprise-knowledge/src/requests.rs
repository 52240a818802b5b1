//! Tells whether a text asks for one piece of work, or asks a question: it is neither true nor
//! false, and teaches nothing. The words are of English, German, French and Spanish.

mod continued;

use std::borrow::Cow;

use crate::own_words::says_something;
use crate::values::is_in_words;
use continued::continues_sentence;
pub(crate) use continued::ends_for_all;

/// Verbs that begin a request for one piece of work.
const ORDER_VERBS: &str = "\
    add apply backport build bump change check clean commit continue create debug delete deploy \
    document draft drop explain extend extract find finish fix generate implement improve \
    inline install investigate list look make merge migrate move open port prepare publish push \
    rebase refactor release remove rename replace rerun restart revert review rewrite run \
    search set show split summarise summarize tell test try undo update upgrade write \
    f\u{fc}hre f\u{fc}hr starte mach mache l\u{f6}sche benenne schreib schreibe f\u{fc}ge \
    \u{e4}ndere behebe repariere pr\u{fc}fe teste erstelle baue zeig zeige erkl\u{e4}re \
    aktualisiere entferne installiere verschiebe ersetze suche lies such schau lance lancez \
    ex\u{e9}cute ex\u{e9}cutez corrige corrigez renomme renommez supprime supprimez ajoute \
    ajoutez montre montrez explique expliquez cr\u{e9}e cr\u{e9}ez teste testez v\u{e9}rifie \
    v\u{e9}rifiez \u{e9}cris \u{e9}crivez modifie modifiez fais faites mets mettez cherche \
    cherchez ejecuta ejecute arregla arregle corrige corrija renombra renombre borra borre \
    elimina a\u{f1}ade agrega muestra muestre explica explique crea prueba pruebe revisa revise \
    escribe cambia cambie haz busca mueve";
/// A verb behind a word of [`ORDER_VERBS`] makes a noun of it: `test results are kept`.
const VERBS_OF_NOUNS: &str = "\
    is are was were has have go goes live lives take takes must should runs need needs";
/// Words between such a noun and its verb.
const NOUN_WORDS_MAX: usize = 6;
/// What an order is about begins with one of these, and a noun of several words does not.
const DETERMINERS: &str = "the a an this that these those it them all my our your me us sure";
/// Words of a rule that holds for more than one piece of work.
const RULE_WORDS: &str = "\
    always never only every each must should before after when whenever until unless instead not \
    immer nie niemals nur jede jeden jedes jedem vor nach bevor nachdem sobald wenn statt nicht \
    toujours jamais chaque avant apr\u{e8}s quand seulement \
    siempre nunca jam\u{e1}s cada antes despu\u{e9}s cuando solo";
/// Words before the verb of a request.
const POLITE_WORDS: &str = "\
    please now then also can could would you let us let's kindly thanks thank ok okay yes and so \
    bitte jetzt dann danke und por favor ahora luego gracias y merci maintenant puis et";
/// Verbs that begin a question before [`ASKED_SUBJECTS`].
const ASKING_VERBS: &str = "\
    can could would will should shall may must do does did is are were has \
    kann k\u{f6}nnen k\u{f6}nnten k\u{f6}nnte soll sollen sollte sollten ist sind hat haben wird \
    werden darf d\u{fc}rfen muss m\u{fc}ssen";
const ASKED_SUBJECTS: &str = "\
    you we i it this that the they there he she somebody anyone my our your these those \
    du ihr wir ich man es das der die mir jemand";
/// Articles before the subject of a question: "is a deploy on friday allowed". "Do a rebase" and
/// "did a rebase" are no questions.
const ASKED_ARTICLES: &str = "a an any all every each some ein eine jeder jede jedes alle";
const VERBS_BEFORE_ARTICLES: &str = "\
    can could would will should shall may must does is are were kann soll sollte ist sind darf muss";
/// Verbs before the subject of a question that begins otherwise, and the most words before them.
const VERBS_BEFORE_SUBJECTS: &str = "\
    do does did should can could may must will would shall are is was were has have had";
const QUESTION_NOUN_WORDS_MAX: usize = 5;
/// Verbs that ask of any thing: "are deploys allowed"; and words behind them that are no thing.
const VERBS_BEFORE_THINGS: &str = "are does";
const NO_THINGS: &str = "not nothing be been only never always also just still already now";
/// Verbs and last words of a question whether something is so: "is friday ok".
const COPULAS: &str = "is are ist sind";
const ASKED_STATES: &str = "\
    ok okay allowed possible right true fine needed required necessary forbidden enough safe \
    erlaubt m\u{f6}glich n\u{f6}tig verboten";
/// Words before a question that say nothing.
const BEFORE_QUESTIONS: &str = "and but so hey hi ok okay hm hmm please well und aber y et";
/// Beginnings of what is asked, wondered about or in doubt.
const DOUBTS: [&str; 26] = [
    "what about",
    "how about",
    "what if",
    "what's",
    "how's",
    "where's",
    "who's",
    "any reason",
    "any chance",
    "any idea",
    "any objection",
    "i wonder",
    "i'm wondering",
    "wondering",
    "not sure",
    "i'm not sure",
    "i am not sure",
    "no idea",
    "is there",
    "let me know",
    "was ist mit",
    "wie w\u{e4}re",
    "was wenn",
    "ich frage mich",
    "et si",
    "y si",
];
/// Verbs in a form that only asks.
const ASKING_FORMS: &str = "\
    kannst k\u{f6}nntest k\u{f6}nnt k\u{f6}nntet w\u{fc}rdest willst magst \
    peux-tu peut-on pouvez-vous pourrais-tu pourriez-vous est-ce faut-il dois-je as-tu avez-vous \
    sais-tu savez-vous puedes podr\u{ed}as pod\u{e9}is podemos deber\u{ed}amos";
/// Words that ask and never only connect.
const ASKING_WORDS: &str = "\
    warum wieso weshalb why pourquoi qu\u{e9} c\u{f3}mo d\u{f3}nde cu\u{e1}ndo cu\u{e1}l qui\u{e9}n";
/// Words that ask where a verb follows them, and may connect clauses else: `how we deploy`.
const QUESTION_WORDS: &str = "\
    what how where who when whose was wie wo wer wann welche welcher welches quel quelle o\u{f9}";
const VERBS_OF_QUESTIONS: &str = "\
    is are was were do does did can could should would will has have had may might shall many \
    much long often ist sind hat haben kann k\u{f6}nnen muss soll sollen wird werden macht geht \
    heisst hei\u{df}t est sont faire peut puis dois";
/// Beginnings of a wish: what is wanted is still to be done.
const WISHES: [&str; 16] = [
    "i want you to ",
    "i need you to ",
    "i'd like you to ",
    "i would like you to ",
    "i want to ",
    "i'd like to ",
    "we need you to ",
    "go ahead ",
    "ich m\u{f6}chte, dass du ",
    "ich will, dass du ",
    "je veux que tu ",
    "j'aimerais que ",
    "merci de ",
    "s'il te pla\u{ee}t",
    "quiero que ",
    "necesito que ",
];

/// Returns whether a text asks for one piece of work: `write the changelog entry`, or asks a
/// question. An order that holds for all work, such as `run the tests before a merge`, is a rule
/// and says something.
pub fn asks_for_work(text: &str) -> bool {
    let lower = fold_for_requests(text);
    let words = split_request(&lower);
    is_question_in(&lower, &words)
        || WISHES.iter().any(|wish| lower.starts_with(wish))
        || orders_work(&words)
}

/// Most words of an order to run something.
const RUN_WORDS_MAX: usize = 10;
/// Verbs of such an order, and words that make another order of it.
const RUN_VERBS: &str = "\
    run rerun execute start launch build starte f\u{fc}hre f\u{fc}hr lass teste baue";
const RUN_THINGS: &str = "\
    test tests suite linter lint build typecheck benchmark benchmarks checks ci pipeline \
    migrations it them again everything all formatter tester alles nochmal testlauf";
const OTHER_ORDERS: &str =
    "fix repair why explain find debug change add write behebe repariere warum";

/// Returns whether a text only orders something to be run: how it ended before is no answer.
pub fn asks_to_run(text: &str) -> bool {
    let lower = fold_for_requests(text);
    let words = split_request(&lower);
    let before = words
        .iter()
        .take_while(|word| is_in_words(POLITE_WORDS, word));
    let at = before.count();
    let first = words.get(at).copied().unwrap_or_default();
    let is_asked = words.first() == Some(&"bitte");
    let behind = words.get(at + usize::from(!is_asked)..);
    let has = |list: &str| {
        let mut behind = behind.into_iter().flatten();
        behind.any(|word| is_in_words(list, word))
    };
    // `Bitte die Tests ausf\u{fc}hren`, `bitte die Tests laufen lassen`.
    let is_infinitive = words
        .last()
        .is_some_and(|last| is_in_words("ausf\u{fc}hren lassen starten bauen testen", last));
    words.len() <= RUN_WORDS_MAX
        && (is_in_words(RUN_VERBS, first) || is_asked && is_infinitive)
        && has(RUN_THINGS)
        && !has(OTHER_ORDERS)
}

/// Returns whether a text asks a question.
pub(crate) fn is_question(text: &str) -> bool {
    let lower = fold_for_requests(text);
    is_question_in(&lower, &split_request(&lower))
}

fn fold_for_requests(text: &str) -> String {
    let lower = text.trim().to_lowercase().replace('\u{2019}', "'");
    lower.trim_start_matches(['\u{bf}', '\u{a1}']).to_owned()
}

fn split_request(lower: &str) -> Vec<&str> {
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'' && c != '-');
    words.filter(|word| !word.is_empty()).collect()
}

fn is_question_in(lower: &str, words: &[&str]) -> bool {
    lower.ends_with(['?', '\u{ff1f}', '\u{61f}']) || asks_question(words)
}

/// Whether a text without a question mark begins as a question.
fn asks_question(words: &[&str]) -> bool {
    let before = words
        .iter()
        .take_while(|word| is_in_words(BEFORE_QUESTIONS, word));
    let words = words.get(before.count()..).unwrap_or_default();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    let is_por_que = word(0) == "por" && word(1) == "qu\u{e9}";
    is_in_words(ASKING_FORMS, word(0))
        || is_in_words(ASKING_WORDS, word(0))
        || is_por_que
        || is_in_words(ASKING_VERBS, word(0)) && is_in_words(ASKED_SUBJECTS, word(1))
        || is_in_words(QUESTION_WORDS, word(0)) && is_in_words(VERBS_OF_QUESTIONS, word(1))
        || is_in_words("which whose", word(0)) && is_in_words(VERBS_OF_QUESTIONS, word(2))
        || word(0) == "what"
            && !is_in_words(ASKED_SUBJECTS, word(1))
            && is_in_words("do does did", word(2))
        || asks_of_thing(words)
        || asks_with_subject(words)
        || DOUBTS.iter().any(|doubt| {
            let doubt: Vec<&str> = doubt.split(' ').collect();
            words.starts_with(&doubt)
        })
}

/// Whether a text asks with a verb before its subject: "which package manager do we use", "wie
/// bauen wir das".
fn asks_with_subject(words: &[&str]) -> bool {
    let first = words.first().copied().unwrap_or_default();
    let pairs = words.windows(2).skip(1).take(QUESTION_NOUN_WORDS_MAX);
    let mut pairs = pairs.map(|two| (two[0], two[1]));
    if is_in_words("which what whose how when where", first) {
        pairs.any(|(verb, subject)| {
            is_in_words(VERBS_BEFORE_SUBJECTS, verb) && is_in_words(ASKED_SUBJECTS, subject)
        })
    } else {
        let asks = first.starts_with("welche") || is_in_words("was wie wo wer wann", first);
        asks && pairs.any(|(_, subject)| is_in_words("wir ich man du ihr", subject))
    }
}

/// Whether a text asks whether something is so, beginning with the verb: "are deploys allowed".
fn asks_of_thing(words: &[&str]) -> bool {
    let [verb, subject, .., last] = words else {
        return false;
    };
    let is_thing = !is_in_words(NO_THINGS, subject) && !subject.ends_with("ed");
    is_in_words(VERBS_BEFORE_ARTICLES, verb) && is_in_words(ASKED_ARTICLES, subject)
        || is_in_words(VERBS_BEFORE_THINGS, verb) && is_thing
        || is_in_words(COPULAS, verb) && is_in_words(ASKED_STATES, last) && is_thing
}

/// Whether a text orders something to be done, once.
fn orders_work(words: &[&str]) -> bool {
    let polite = words
        .iter()
        .take_while(|word| is_in_words(POLITE_WORDS, word));
    let at = polite.count();
    let word = |at: usize| words.get(at).copied().unwrap_or_default();
    // `Bitte die Tests ausf\u{fc}hren`: what follows is an order in any form.
    let is_asked = words.first().is_some_and(|word| *word == "bitte") && at < words.len();
    let mut behind = (at + 1..=at + NOUN_WORDS_MAX).map(word);
    let is_noun = at == 0
        && !is_in_words(DETERMINERS, word(1))
        && behind.any(|word| is_in_words(VERBS_OF_NOUNS, word));
    let is_order = is_in_words(ORDER_VERBS, word(at)) && !is_noun;
    let holds_always = words.iter().any(|word| is_in_words(RULE_WORDS, word));
    (is_order || is_asked) && !holds_always
}

/// Returns a text without the sentences that ask for work or ask a question: those state nothing.
/// `None` if nothing is left.
pub(crate) fn keep_statements(text: &str) -> Option<Cow<'_, str>> {
    let all = || split_sentences(text);
    let states = |sentence: &&str| !asks_for_work(sentence);
    if all().all(|sentence| states(&sentence)) {
        return (!asks_for_work(text)).then_some(Cow::Borrowed(text));
    }
    let left: Vec<&str> = all().filter(states).collect();
    (!left.is_empty()).then(|| Cow::Owned(left.join(" ")))
}

/// Returns whether a text states something besides these sentences of it.
pub fn states_besides(text: &str, known: &[String]) -> bool {
    let is_known = |sentence: &str| known.iter().any(|one| one.contains(sentence));
    split_sentences(text)
        .any(|sentence| !is_known(sentence) && says_something(sentence) && !asks_for_work(sentence))
}

/// Splits a text into sentences, without list markers and without code between fences.
pub(crate) fn split_sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code
    });
    lines.flat_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
        let is_end = move |at: usize| {
            let before = &line.as_bytes()[..at];
            // `am 5. fertig`: a number of a day, and no end.
            let is_ordinal = || {
                let is_number = before.iter().rev().nth(1).is_some_and(u8::is_ascii_digit);
                is_number && line[at + 1..].starts_with(char::is_lowercase)
            };
            let is_mark = match before.last() {
                Some(b'.') => !is_ordinal(),
                Some(b'?' | b'!') => true,
                _ => false,
            };
            is_mark && !continues_sentence(&line[at + 1..])
        };
        let mut rest = 0;
        let ends = line
            .match_indices(' ')
            .map(|(at, _)| at)
            .filter(move |at| is_end(*at));
        let ends = ends.chain([line.len()]);
        ends.map(move |end| line[std::mem::replace(&mut rest, end)..end].trim())
            .filter(|part| !part.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_order_to_run_something_is_told_from_one_that_asks_for_more() {
        for text in [
            "run the tests please",
            "please run the tests again",
            "can you run the linter",
            "now rerun the whole suite",
            "build it again",
            "bitte lass die Tests laufen",
            "F\u{fc}hre die Tests aus",
            "Bitte die Tests ausf\u{fc}hren",
        ] {
            assert!(asks_to_run(text), "{text}");
        }
        for text in [
            "run the tests and fix what fails",
            "which tests fail",
            "how do I run the tests",
            "test results are kept for 30 days",
            "build a page that lists the invoices of a customer",
            "why do the tests run so slowly",
        ] {
            assert!(!asks_to_run(text), "{text}");
        }
    }

    const ASKING: &[&str] = &[
        // English
        "can you fix the login?",
        "Can you fix the login",
        "please run the tests",
        "rename this",
        "Now please make sure the tests pass on Windows.",
        "Make sure the login test is green",
        "could the root cause be the cookie in the session store",
        "Should we always run the tests on Windows, too",
        "how do I deploy the shop",
        "what is the port of the gateway",
        "why does the build never finish",
        "I want you to make sure the header is set",
        "I'd like you to rename the module",
        "go ahead and merge it",
        "thanks, now run the tests again",
        "what about the deploy on friday",
        "and what about the deploy on friday",
        "is a deploy on friday allowed",
        "which package manager do we always use here",
        "what kind of tests should we never run",
        "in welchem Repo ist das?",
        "welchen Paketmanager nutzen wir hier immer",
        "wie bauen wir hier immer das Paket",
        "so is a deploy on friday ok",
        "are deploys allowed on friday",
        "may we deploy on friday",
        "which port does the gateway have",
        "when may we deploy on friday",
        "not sure if we deploy on friday",
        "I wonder whether friday is fine",
        "any reason not to deploy on friday",
        "ist ein Deploy am Freitag erlaubt",
        // German
        "Kannst du den Login reparieren?",
        "kannst du bitte immer so kommentieren",
        "Bitte f\u{fc}hre die Tests aus",
        "F\u{fc}hre bitte die Tests aus.",
        "Benenne das um",
        "L\u{f6}sche die alte Tabelle",
        "Warum schl\u{e4}gt der Build fehl",
        "Wie kann ich den Shop ausrollen",
        "Mach weiter mit dem Parser",
        // French
        "Peux-tu corriger la connexion ?",
        "peux-tu corriger la connexion",
        "Lance les tests, s'il te pla\u{ee}t",
        "Renomme cette fonction",
        "Pourquoi le build \u{e9}choue",
        "Est-ce que le port est 8080",
        "Merci de corriger le test de connexion",
        // Spanish
        "\u{bf}Puedes arreglar el inicio de sesi\u{f3}n?",
        "puedes arreglar el inicio de sesi\u{f3}n",
        "Por favor, ejecuta las pruebas",
        "Renombra esto",
        "\u{bf}Por qu\u{e9} falla la compilaci\u{f3}n?",
        "por qu\u{e9} falla la compilaci\u{f3}n",
    ];
    const TELLING: &[&str] = &[
        "We use pnpm in this repository.",
        "Always clear the cookie jar between two logins.",
        "Run the tests before every merge.",
        "Never push to main.",
        "What we use is pnpm, not npm.",
        "How the tests are run is written in the docs.",
        "Wie wir deployen, steht in docs/deploy.md.",
        "When the build hangs, the cache is full.",
        "Can be fixed by clearing the cache.",
        "Does not work because the clock is frozen.",
        "How we deploy is written in docs/deploy.md.",
        "The question is whether the port is free.",
        "Please never use tabs.",
        "Test results are kept for 30 days.",
        "Build logs go to S3.",
        "Test coverage of the shop is 80 %.",
        "Go 1.22 is required.",
        "Has a retry limit of 3.",
        "Does nothing on Windows.",
        "Are fixed by a restart.",
        "A deploy on Friday is allowed now.",
        "So the port is 8081 now.",
        "Which is why the port changed.",
        "Wir nutzen pnpm in diesem Projekt.",
        "Immer zuerst die Tests ausf\u{fc}hren.",
        "Bitte nie am Freitag ausrollen.",
        "Wie besprochen bleibt der Warenkorb in Redis.",
        "Was wir nutzen, ist pnpm.",
        "Kann durch Leeren des Caches behoben werden.",
        "Nous utilisons pnpm dans ce projet.",
        "Ne jamais d\u{e9}ployer le vendredi.",
        "Lance toujours les tests avant une fusion.",
        "Quand le cache est plein, le build \u{e9}choue.",
        "Usamos pnpm en este proyecto.",
        "Nunca desplegar los viernes.",
        "Ejecuta siempre las pruebas antes de fusionar.",
        "Puede fallar cuando la cach\u{e9} est\u{e1} llena.",
    ];

    #[test]
    fn questions_and_orders_are_told_from_rules_and_statements_in_four_languages() {
        let missed = ASKING.iter().filter(|text| !asks_for_work(text));
        let missed: Vec<_> = missed.collect();
        let alarms = TELLING.iter().filter(|text| asks_for_work(text));
        let alarms: Vec<_> = alarms.collect();
        assert!(
            missed.is_empty() && alarms.is_empty(),
            "{missed:#?} {alarms:#?}"
        );
    }
}
