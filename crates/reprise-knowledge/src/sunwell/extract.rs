//! Extracts learnings from the words of a session.

use reprise_types::RecordType;

use super::rules::{fold_umlauts, is_rule};
use super::sentences::{OFFERS, SENTENCE, SpokenBy, classify_sentence};
use super::{LearningCategory, SunwellLearning, list_settling, states_correction};
use crate::own_words::says_something;
use crate::prelude::*;
use crate::requests::{asks_for_work, split_sentences};

/// Most learnings of one session besides the rules that a person sets and what one corrects: of
/// those none is left out.
const EXTRACTED_MAX: usize = 8;
/// Confidence of a sentence that nobody marked as worth keeping.
const EXTRACTED_CONFIDENCE: f64 = 0.6;

/// Fewest words of a cause that says enough alone: "the cause was the encoding" does not.
const CAUSE_WORDS_MIN: usize = 9;

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
