//! What a session taught, taken out of its own words (S58).

use reprise_types::RecordType;

use super::{Category, Learning};
use crate::prelude::*;

/// Words that begin what is worth keeping of a text, with the category that they speak of.
const CUES: [(Category, &[&str]); 5] = [
    (
        Category::Decision,
        &[
            "we decided",
            "decided to",
            "decision:",
            "we chose",
            "chose to",
            "we will use",
            "we use ",
        ],
    ),
    (
        Category::Fix,
        &[
            "fixed by",
            "fixed it by",
            "the fix is",
            "the fix was",
            "solved by",
            "the solution is",
            "works after",
            "it works once",
        ],
    ),
    (
        Category::Failure,
        &[
            "root cause",
            "failed because",
            "fails because",
            "does not work because",
            "broke because",
            "was caused by",
            "is caused by",
            "dead end",
        ],
    ),
    (
        Category::Pattern,
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
        ],
    ),
    (
        Category::Api,
        &[
            "the endpoint",
            "the api returns",
            "the api expects",
            "the api takes",
            "the header",
        ],
    ),
];

/// Characters of a sentence that is kept as a learning.
const SENTENCE: std::ops::RangeInclusive<usize> = 30..=400;
/// Learnings of one session.
const EXTRACTED_MAX: usize = 8;
/// How sure one is of a sentence that nobody marked as worth keeping.
const EXTRACTED_CONFIDENCE: f64 = 0.6;

/// The sentences of a session's records that say what was learned in it, word for word: each as a
/// record to be kept, with the one that it stands in. No sentence is made up, and none travels
/// further than its record may.
pub fn learnings_of_session<'a>(
    records: impl IntoIterator<Item = &'a MemoryRecord>,
) -> Vec<(&'a MemoryRecord, NewRecord)> {
    let (mut found, mut known) = (Vec::new(), BTreeSet::new());
    let own = records.into_iter().filter(|record| is_said(record));
    let all = own.flat_map(|record| sentences(&record.text).map(move |said| (record, said)));
    for (record, sentence) in all {
        if found.len() == EXTRACTED_MAX {
            break;
        }
        let Some(category) = category_of(sentence) else {
            continue;
        };
        if known.insert(sentence.to_lowercase()) {
            let learning = Learning {
                confidence: EXTRACTED_CONFIDENCE,
                source: Some(record.session_id.clone()).filter(|session| !session.is_empty()),
                source_type: "session".to_owned(),
                metadata: Map::from_iter([("extracted_from".to_owned(), json!(record.id))]),
                ..Learning::new(sentence, category, record.timestamp)
            };
            found.push((record, kept_beside(record, &learning)));
        }
    }
    found
}

/// Whether somebody said it: what was made of other records says nothing new.
fn is_said(record: &MemoryRecord) -> bool {
    let form = word_of(record, "type");
    let is_said = |form: &str| {
        let said = form.parse::<RecordType>().ok();
        said.is_some_and(|said| !matches!(said, RecordType::Decision | RecordType::Lesson))
    };
    form.is_none_or(is_said)
        && record.source != MemorySource::TrajectoryOutcome
        && !record.is_receipt()
}

/// The record of a learning, where the one that it comes from is.
fn kept_beside(source: &MemoryRecord, learning: &Learning) -> NewRecord {
    let mut record = learning.record();
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

fn category_of(sentence: &str) -> Option<Category> {
    let length = sentence.chars().count();
    // A question, a wish and a list say nothing that was learned.
    let plain = SENTENCE.contains(&length) && !sentence.ends_with('?') && !sentence.contains("```");
    let lower = sentence.to_lowercase();
    let asks = [
        "can you",
        "could you",
        "please ",
        "let me",
        "i will",
        "i'll",
    ];
    if !plain || asks.iter().any(|ask| lower.starts_with(ask)) {
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
    let found = CUES.iter().find(|(_, cues)| cues.iter().any(starts));
    found.map(|(category, _)| *category)
}

/// The sentences of a text, without the marks of a list before them; code between fences is none.
fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut in_code = false;
    let lines = text.lines().filter(move |line| {
        let is_fence = line.trim_start().starts_with("```");
        in_code ^= is_fence;
        !is_fence && !in_code
    });
    lines.flat_map(|line| {
        let line = line.trim().trim_start_matches(['-', '*', '#', '>', ' ']);
        line.split_inclusive(". ")
            .map(str::trim)
            .filter(|part| !part.is_empty())
    })
}

#[cfg(test)]
mod tests {
    use reprise_types::{MemoryKind, Visibility};

    use super::*;
    use crate::record_for_tests::kept;

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
            kept(record, number)
        });
        let mut records: Vec<MemoryRecord> = records.collect();
        // What was learned already is not learned from.
        let learned = Learning::new(
            "Never log in twice with one cookie jar in a test.",
            Category::Pattern,
            records[0].timestamp,
        );
        records.push(kept(learned.record(), 9));
        let found = learnings_of_session(&records);
        let told: Vec<(Category, String)> = found
            .iter()
            .map(|(source, one)| {
                let learning = Learning::of(&kept(one.clone(), 10)).unwrap();
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
                Category::Failure,
                "The root cause was caused by a stale cookie in the session store.",
            ),
            (
                Category::Pattern,
                "Always clear the cookie jar between two logins of one test.",
            ),
            (
                Category::Pattern,
                "It turned out that the proxy strips the header, so that tokens are lost.",
            ),
        ];
        assert_eq!(
            told,
            expected.map(|(category, fact)| (category, fact.to_owned()))
        );
    }
}
