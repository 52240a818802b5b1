//! Extracts learnings from the words of a session.

use reprise_types::RecordType;

use super::rules::{fold_umlauts, is_rule, split_words};
use super::{LearningCategory, SunwellLearning, list_settling, states_correction};
use crate::own_words::says_something;
use crate::prelude::*;
use crate::requests::{asks_for_work, split_sentences};
use crate::values::is_in_words;

/// Words that begin a sentence worth keeping, with the category of that sentence, in English and in
/// German without umlauts.
const CUES: [(LearningCategory, &[&str]); 5] = [
    (
        LearningCategory::Decision,
        &[
            "we decided",
            "decided to",
            "decision:",
            "we chose",
            "chose to",
            "we will use",
            "we use ",
            "we agreed ",
            "we settled on",
            "we opted for",
            "we went with",
            "we are going with",
            "we're going with",
            "we go with ",
            "we'll go with ",
            "let's go with ",
            "agreed, ",
            "agreed: ",
            "einverstanden, ",
            "wir bleiben bei ",
            "we stay with ",
            "we stay on ",
            "wir haben entschieden",
            "haben uns entschieden",
            "haben wir entschieden",
            "wir haben beschlossen",
            "haben wir beschlossen",
            "entscheidung:",
            "wir entscheiden uns",
            "wir einigten uns",
            "haben uns geeinigt",
        ],
    ),
    (
        LearningCategory::Fix,
        &[
            "fixed by",
            "fixed it by",
            "the fix is",
            "the fix was",
            "solved by",
            "the solution is",
            "works after",
            "it works once",
            "did the trick",
            "hat geholfen",
            "abhilfe schafft",
            "behoben, indem",
            "behoben durch",
            "behoben habe ich",
            "geloest, indem",
            "geloest durch",
            "die loesung ist",
            "die loesung war",
            "der fix ist",
            "der fix war",
        ],
    ),
    (
        LearningCategory::Failure,
        &[
            "root cause",
            "failed because",
            "fails because",
            "does not work because",
            "broke because",
            "was caused by",
            "is caused by",
            "the problem was",
            "the issue was",
            "the culprit was",
            "the reason was",
            "dead end",
            "die ursache war",
            "die ursache ist",
            "ursache:",
            "der grund war",
            "der grund ist",
            "das problem war",
            "schuld war",
            "lag daran, dass",
            "liegt daran, dass",
            "lag an einem",
            "lag an einer",
            "verursacht durch",
            "wurde verursacht",
            "scheiterte, weil",
            "scheitert, weil",
            "schlug fehl, weil",
            "fehl, weil",
            "sackgasse",
        ],
    ),
    (
        LearningCategory::Pattern,
        &[
            "turned out",
            "turns out",
            "the trick is",
            "lesson:",
            "learned that",
            "always ",
            "never ",
            "must be ",
            "make sure",
            "note that",
            "remember to",
            "instead of ",
            "stellte sich heraus",
            "hat sich herausgestellt",
            "der trick ist",
            "lektion:",
            "beachte, dass",
            "zu beachten ist",
            "wichtig ist, dass",
        ],
    ),
    (
        LearningCategory::Api,
        &[
            "the endpoint",
            "the api returns",
            "the api expects",
            "the api takes",
            "the header",
            "der endpunkt",
            "die api liefert",
            "die api erwartet",
        ],
    ),
];

/// Length of a sentence that is kept as a learning, in characters.
const SENTENCE: std::ops::RangeInclusive<usize> = 30..=400;
/// Fewest characters and words of a decision of a person: "we decided to use kelvin".
const DECISION_CHARS_MIN: usize = 18;
const DECISION_WORDS_MIN: usize = 4;
/// Most learnings of one session besides the rules that a person sets and what one corrects: of
/// those none is left out.
const EXTRACTED_MAX: usize = 8;
/// Confidence of a sentence that nobody marked as worth keeping.
const EXTRACTED_CONFIDENCE: f64 = 0.6;

/// Extracts the sentences of a session's records that tell what was learned, word for word: each as
/// a new record, with the one that it comes from, whose visibility it gets. No sentence is made up.
pub fn extract_learnings<'a>(
    records: impl IntoIterator<Item = &'a MemoryRecord>,
) -> Vec<(&'a MemoryRecord, NewRecord)> {
    let (mut found, mut known, mut room) = (Vec::new(), BTreeSet::new(), EXTRACTED_MAX);
    let own = records.into_iter().filter(|record| is_first_hand(record));
    let all = own
        .flat_map(|record| split_sentences(&record.text).map(move |sentence| (record, sentence)));
    for (record, sentence) in all {
        let by = SpokenBy::of(record);
        let Some(category) = classify_sentence(sentence, by) else {
            continue;
        };
        let is_set = by == SpokenBy::Person && (is_rule(sentence) || states_correction(sentence));
        if room == 0 && !is_set {
            continue;
        }
        let sentence = match category {
            LearningCategory::Failure => add_what_was_done(&record.text, sentence),
            _ => sentence,
        };
        if known.insert(sentence.to_lowercase()) {
            room -= usize::from(!is_set);
            found.push((record, extract_sentence(record, sentence, category)));
        }
    }
    found
}

/// Returns a cause with the sentence behind it in its line, if it says too little alone: "the cause
/// was the encoding. The list comes as cp1252, and is read so now."
fn add_what_was_done<'a>(text: &'a str, cause: &'a str) -> &'a str {
    if cause.split_whitespace().count() >= CAUSE_WORDS_MIN {
        return cause;
    }
    let line = text
        .lines()
        .find_map(|line| Some((line, line.find(cause)?)));
    let Some((line, at)) = line else { return cause };
    let behind = line.get(at + cause.len()..).unwrap_or_default();
    let next = split_sentences(behind).next().unwrap_or_default();
    let tells = says_something(next) && !asks_for_work(next) && !next.ends_with(':');
    let offers = OFFERS
        .iter()
        .any(|offer| fold_umlauts(&next.to_lowercase()).starts_with(offer));
    let whole = behind
        .find(next)
        .and_then(|from| line.get(at..at + cause.len() + from + next.len()));
    let whole = whole.filter(|whole| whole.chars().count() <= *SENTENCE.end());
    whole.filter(|_| tells && !offers).unwrap_or(cause)
}

/// Extracts the sentences of a person that end a rule or correct a fact, as [`extract_learnings`]
/// does. They teach something only where a rule or a fact has their words.
pub fn extract_withdrawals<'a>(
    records: impl IntoIterator<Item = &'a MemoryRecord>,
) -> Vec<(&'a MemoryRecord, NewRecord)> {
    let said = records
        .into_iter()
        .filter(|record| SpokenBy::of(record) == SpokenBy::Person);
    let found = said.flat_map(|record| list_settling(&record.text).map(move |one| (record, one)));
    let new = found.filter(|(_, one)| classify_sentence(one, SpokenBy::Person).is_none());
    new.map(|(record, one)| {
        (
            record,
            extract_sentence(record, one, LearningCategory::Pattern),
        )
    })
    .take(EXTRACTED_MAX)
    .collect()
}

/// Makes a new record of a sentence.
fn extract_sentence(
    record: &MemoryRecord,
    sentence: &str,
    category: LearningCategory,
) -> NewRecord {
    let learning = SunwellLearning {
        confidence: EXTRACTED_CONFIDENCE,
        source: Some(record.session_id.clone()).filter(|session| !session.is_empty()),
        source_type: "session".to_owned(),
        metadata: Map::from_iter([("extracted_from".to_owned(), json!(record.id))]),
        ..SunwellLearning::new(sentence, category, record.timestamp)
    };
    to_record_like(record, &learning)
}

/// Whether a record is no summary or extract of other records.
fn is_first_hand(record: &MemoryRecord) -> bool {
    let form = detail_word(record, "type");
    let is_first_hand_type = |form: &str| {
        let record_type = form.parse::<RecordType>().ok();
        record_type.is_some_and(|record_type| {
            !matches!(record_type, RecordType::Decision | RecordType::Lesson)
        })
    };
    form.is_none_or(is_first_hand_type)
        && record.source != MemorySource::TrajectoryOutcome
        && !record.is_receipt()
}

/// Converts a learning into a new record with the session, tags and visibility of its source.
fn to_record_like(source: &MemoryRecord, learning: &SunwellLearning) -> NewRecord {
    let mut record = learning.to_record();
    record.session_id.clone_from(&source.session_id);
    record.tags.clone_from(&source.tags);
    record.visibility = source.visibility;
    record
        .provenance
        .run_id
        .clone_from(&source.provenance.run_id);
    record.timestamp = Some(source.timestamp);
    record
}

/// Who says a sentence.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SpokenBy {
    /// Somebody who asks for something, and says what goes wrong.
    Person,
    Agent,
}

impl SpokenBy {
    fn of(record: &MemoryRecord) -> Self {
        if record.record_type() == RecordType::Prompt {
            Self::Person
        } else {
            Self::Agent
        }
    }
}

/// Words that say how something behaves as often as how it is to be done: "it never loads", "in
/// cents instead of euros".
const WEAK_CUES: [&str; 4] = ["always ", "never ", "must be ", "instead of "];
/// Verbs of what is done on purpose, which make a rule of what is done instead of something.
const ON_PURPOSE: &str = "\
    use uses used using prefer take takes call calls set write run read keep pass store send choose \
    chose pick build do";

/// Verbs of what made something work, and what they are said of.
const CURED: &str = "fixed fixes solved solves resolved resolves cured behoben geloest repariert";
const TROUBLE: &str = "it that this them the es das den die";
/// Who does something, which alone is no lesson: "I fixed it".
const DOERS: &str = "i i've we we've you they ich wir du";
/// Words that begin what is only imagined.
const IMAGINED: [&str; 6] = [
    "if ",
    "suppose ",
    "assuming ",
    "wenn ",
    "falls ",
    "angenommen",
];
/// Words of a sentence that imagines.
const WOULD: &str = "would could might wuerde wuerden koennte koennten waere waeren haette haetten";
/// Fewest words of a cause that says enough alone: "the cause was the encoding" does not.
const CAUSE_WORDS_MIN: usize = 9;

/// How a sentence begins that offers or announces work.
const OFFERS: [&str; 26] = [
    "please ",
    "let me",
    "let us",
    "let's",
    "i will",
    "i'll",
    "i can ",
    "i could ",
    "i would ",
    "i'm going to",
    "i am going to",
    "we can ",
    "next ",
    "next, ",
    "if you like",
    "if you want",
    "bitte ",
    "lass ",
    "ich werde ",
    "ich kann ",
    "ich koennte ",
    "als naechstes ",
    "wenn du ",
    "soll ich ",
    "moechtest du ",
    "wir koennen ",
];

/// Whether a cue in a sentence makes a rule of it. In a prompt a rule begins with its cue, or with
/// what is done on purpose.
fn makes_rule(cue: &str, lower: &str, by: SpokenBy) -> bool {
    let is_weak = WEAK_CUES.contains(&cue);
    if !is_weak || by == SpokenBy::Agent && cue != "instead of " {
        return true;
    }
    // What a person always wants is a rule, and what always happens is none.
    if ["always ", "never "].contains(&cue) {
        return false;
    }
    let before = lower.split(cue).next().unwrap_or_default();
    let mut before = before.split(|c: char| !c.is_alphanumeric());
    let is_on_purpose = match by {
        SpokenBy::Person => is_in_words(ON_PURPOSE, before.next().unwrap_or_default()),
        SpokenBy::Agent => before.any(|word| is_in_words(ON_PURPOSE, word)),
    };
    lower.starts_with(cue) || is_on_purpose
}

/// Whether a sentence says what made something work: "pinning openssl fixed it", "das Update hat den
/// Fehler behoben".
fn names_cure(lower: &str) -> bool {
    let clauses = lower.split([',', ';', ':']);
    let mut clauses = clauses.map(|clause| split_words(clause).collect::<Vec<_>>());
    clauses.any(|words| {
        let Some(at) = words.iter().position(|word| is_in_words(CURED, word)) else {
            return false;
        };
        let doer = words.first().is_none_or(|word| is_in_words(DOERS, word));
        let next = words.get(at + 1).copied().unwrap_or_default();
        let is_german = words.contains(&"hat") && at + 1 == words.len();
        let is_denied = words
            .iter()
            .any(|word| is_in_words("not nicht never didn't", word));
        at > 0 && !doer && !is_denied && (is_in_words(TROUBLE, next) || is_german)
    })
}

/// Whether a sentence only imagines something: "if we decided to use Kafka, we would need a broker".
fn imagines(lower: &str, category: LearningCategory) -> bool {
    let begins = IMAGINED.iter().any(|one| lower.starts_with(one));
    let would = split_words(lower).any(|word| is_in_words(WOULD, word));
    begins && (would || category == LearningCategory::Decision)
}

/// Whether two words of a German decision stand apart: "wir haben uns fuer X entschieden".
fn decides_in_german(lower: &str) -> bool {
    let words: Vec<&str> = split_words(lower).collect();
    let is_ours = ["haben uns", "haben wir uns"]
        .iter()
        .any(|one| lower.contains(one));
    is_ours
        && words
            .iter()
            .any(|word| is_in_words("entschieden geeinigt", word))
}

/// Returns whether a sentence says what was decided.
pub(super) fn is_decision(sentence: &str) -> bool {
    let found = classify_sentence(sentence, SpokenBy::Agent);
    found == Some(LearningCategory::Decision)
        || classify_sentence(sentence, SpokenBy::Person) == Some(LearningCategory::Decision)
}

fn classify_sentence(sentence: &str, by: SpokenBy) -> Option<LearningCategory> {
    if by == SpokenBy::Person && (is_rule(sentence) || states_correction(sentence)) {
        return Some(LearningCategory::Pattern);
    }
    let length = sentence.chars().count();
    // Questions, orders, offers and code are no learnings.
    let plain = length <= *SENTENCE.end() && !sentence.contains("```");
    let lower = fold_umlauts(&sentence.to_lowercase());
    let offers = OFFERS.iter().any(|offer| lower.starts_with(offer));
    if !plain || offers || asks_for_work(sentence) {
        return None;
    }
    let starts = |cue: &&str| {
        lower.match_indices(*cue).any(|(at, _)| {
            let before = lower
                .get(..at)
                .and_then(|before| before.chars().next_back());
            before.is_none_or(|c| !c.is_alphanumeric())
        })
    };
    let is_cue = |cue: &&str| starts(cue) && makes_rule(cue, &lower, by);
    let found = CUES.iter().find(|(_, cues)| cues.iter().any(is_cue));
    let found = found.map(|(category, _)| *category);
    let is_decided = || decides_in_german(&lower).then_some(LearningCategory::Decision);
    let is_cured = || names_cure(&lower).then_some(LearningCategory::Fix);
    let category = found.or_else(is_decided).or_else(is_cured)?;
    if imagines(&lower, category) {
        return None;
    }
    let is_short_decision = by == SpokenBy::Person
        && category == LearningCategory::Decision
        && length >= DECISION_CHARS_MIN
        && sentence.split_whitespace().count() >= DECISION_WORDS_MIN;
    (length >= *SENTENCE.start() || is_short_decision).then_some(category)
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, Visibility};

    use super::*;
    use crate::record_for_tests::record_from_new;

    /// Sentences, and whether each is a lesson.
    const SPOKEN: &[(SpokenBy, &str, bool)] = &[
        (
            SpokenBy::Person,
            "The checkout page shows prices in cents instead of euros.",
            false,
        ),
        (
            SpokenBy::Agent,
            "The checkout page shows prices in cents instead of euros.",
            false,
        ),
        (
            SpokenBy::Person,
            "The login page never loads on a slow connection.",
            false,
        ),
        (
            SpokenBy::Person,
            "The refund test always fails on the second run.",
            false,
        ),
        (
            SpokenBy::Person,
            "Always clear the cookie jar between two logins.",
            true,
        ),
        (
            SpokenBy::Person,
            "Use the bank's clock instead of the system's in tests.",
            true,
        ),
        (
            SpokenBy::Agent,
            "I used the bank's clock instead of the system's in tests.",
            true,
        ),
        (
            SpokenBy::Agent,
            "The pool must be closed before the runtime is dropped.",
            true,
        ),
        (
            SpokenBy::Person,
            "We decided to keep the cart in Redis for both shops.",
            true,
        ),
        (SpokenBy::Person, "we decided to use kelvin", true),
        (
            SpokenBy::Person,
            "Wir haben uns f\u{fc}r kurze Namen entschieden",
            true,
        ),
        (SpokenBy::Person, "agreed, UDP for all snapshots", true),
        (
            SpokenBy::Agent,
            "If we decided to use Kafka, we would need a broker.",
            false,
        ),
        (
            SpokenBy::Agent,
            "It crashed at the start; setting the locale fixed it.",
            true,
        ),
        (
            SpokenBy::Agent,
            "Das Update des Treibers hat den Fehler behoben.",
            true,
        ),
        (
            SpokenBy::Agent,
            "I fixed the typo in the footer of the shop.",
            false,
        ),
        (
            SpokenBy::Person,
            "Always this error when I start the server on Windows.",
            false,
        ),
        (
            SpokenBy::Person,
            "Wir haben entschieden, alle Gewichte in Gramm zu speichern.",
            true,
        ),
        (
            SpokenBy::Agent,
            "Die Ursache war ein Off-by-one im Index der Waben.",
            true,
        ),
        (
            SpokenBy::Agent,
            "Der Fehler lag daran, dass der Cache zu alt war.",
            true,
        ),
        (
            SpokenBy::Agent,
            "Es stellte sich heraus, dass der Proxy den Header entfernt.",
            true,
        ),
        (
            SpokenBy::Agent,
            "Ich habe das behoben, indem ich abrunde.",
            true,
        ),
        (
            SpokenBy::Agent,
            "Soll ich pr\u{fc}fen, ob die Ursache: der Cache ist",
            false,
        ),
        (
            SpokenBy::Person,
            "Haben wir entschieden, in welcher Einheit wir speichern?",
            false,
        ),
    ];

    #[test]
    fn what_goes_wrong_is_no_lesson_and_what_is_done_on_purpose_is_one() {
        for (by, sentence, is_lesson) in SPOKEN {
            let found = classify_sentence(sentence, *by);
            assert_eq!(found.is_some(), *is_lesson, "{by:?}: {sentence}");
        }
    }

    #[test]
    fn a_question_an_order_and_an_offer_teach_nothing_though_they_have_the_words_of_a_lesson() {
        use SpokenBy::{Agent, Person};
        for (by, sentence) in [
            (
                Person,
                "Can you make sure that the login works on every browser",
            ),
            (Person, "Should we always run the tests on Windows as well"),
            (
                Person,
                "Could the root cause be the cookie in the session store",
            ),
            (
                Person,
                "Make sure the login test is green on the build server.",
            ),
            (Person, "Now please make sure the tests pass on Windows."),
            (
                Person,
                "I want you to make sure the header is set on the answer",
            ),
            (
                Person,
                "Rename the module, note that the tests use its old name",
            ),
            (
                Agent,
                "I can make sure that the tests run on the build server.",
            ),
            (
                Agent,
                "Would you like me to always run the tests on Windows",
            ),
            (
                Agent,
                "Shall I make sure that the header is set on the answer",
            ),
            (
                Agent,
                "If you like, I make sure that the tests are run nightly.",
            ),
            (
                Agent,
                "Next I make sure that the header is set on the answer.",
            ),
        ] {
            let found = classify_sentence(sentence, by);
            assert!(found.is_none(), "{by:?}: {sentence}: {found:?}");
        }
        let asked = "Can you fix the login? It turned out that the cookie is stale after an hour.";
        let mut record = NewRecord::new(asked, MemorySource::UserInput, MemoryKind::Episode);
        record.session_id = "s1".to_owned();
        let record = record_from_new(record, 1);
        let found = extract_learnings([&record]);
        let texts: Vec<&str> = found.iter().map(|(_, one)| one.text.as_str()).collect();
        assert_eq!(
            texts,
            ["It turned out that the cookie is stale after an hour."]
        );
    }

    #[test]
    fn a_cause_that_says_little_alone_is_kept_with_what_was_done() {
        let cause = "Die Ursache war die Kodierung.";
        let done = "Die Liste kommt als cp1252, und wird jetzt so gelesen.";
        let long = "The root cause was that each line item was rounded before it was summed.";
        for (text, expected) in [
            (
                format!("{cause} {done} Alle Tests laufen."),
                [cause, done].join(" "),
            ),
            (
                format!("{cause} Soll ich den Test anpassen?"),
                cause.to_owned(),
            ),
            (format!("{cause}\n{done}"), cause.to_owned()),
            (format!("{long} I sum first now."), long.to_owned()),
        ] {
            let mut record = NewRecord::new(text, MemorySource::WorkerResult, MemoryKind::Episode);
            record.session_id = "s1".to_owned();
            let record = record_from_new(record, 1);
            let found = extract_learnings([&record]);
            let texts: Vec<&str> = found.iter().map(|(_, one)| one.text.as_str()).collect();
            assert_eq!(texts, [expected.as_str()]);
        }
    }

    #[test]
    fn what_a_session_taught_is_taken_word_for_word_and_stays_where_it_stood() {
        let texts = [
            "Can you fix the login? It fails.",
            "I looked at it. The root cause was caused by a stale cookie in the session store. ok",
            "- Always clear the cookie jar between two logins of one test.\n```\nalways true here is \
             code\n```",
            "It turned out that the proxy strips the header, so that tokens are lost.",
            "Always clear the cookie jar between two logins of one test.",
            "I always wonder?",
        ];
        let records = (1..).zip(texts).map(|(number, text)| {
            let source = MemorySource::WorkerResult;
            let mut record = NewRecord::new(text, source, MemoryKind::Episode);
            record.session_id = "s1".to_owned();
            record.tags = vec!["project:shop".to_owned()];
            record.visibility = Visibility::Workspace;
            record_from_new(record, number)
        });
        let mut records: Vec<MemoryRecord> = records.collect();
        // What was learned already is not learned from.
        let learned = SunwellLearning::new(
            "Never log in twice with one cookie jar in a test.",
            LearningCategory::Pattern,
            records[0].timestamp,
        );
        records.push(record_from_new(learned.to_record(), 9));
        let found = extract_learnings(&records);
        let learnings: Vec<(LearningCategory, String)> = found
            .iter()
            .map(|(source, one)| {
                let learning = SunwellLearning::of(&record_from_new(one.clone(), 10)).unwrap();
                assert!(source.text.contains(&learning.fact));
                assert_eq!(learning.metadata["extracted_from"], json!(source.id));
                assert_eq!(
                    (learning.source.as_deref(), learning.source_type.as_str()),
                    (Some("s1"), "session")
                );
                assert_eq!(
                    (&one.tags, one.visibility, one.confidence),
                    (&source.tags, Visibility::Workspace, Some(0.6))
                );
                (learning.category, learning.fact)
            })
            .collect();
        let expected = [
            (
                LearningCategory::Failure,
                "The root cause was caused by a stale cookie in the session store.",
            ),
            (
                LearningCategory::Pattern,
                "Always clear the cookie jar between two logins of one test.",
            ),
            (
                LearningCategory::Pattern,
                "It turned out that the proxy strips the header, so that tokens are lost.",
            ),
        ];
        assert_eq!(
            learnings,
            expected.map(|(category, fact)| (category, fact.to_owned()))
        );
    }
}
