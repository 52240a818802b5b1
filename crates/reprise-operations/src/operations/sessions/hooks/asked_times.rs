//! Whether a prompt asks for memories of the time that it names. A task that names one (`users are
//! logged out since the last release`) says when something began; what helps with it may be older.

use crate::prelude::*;

/// Words with which a question begins whose answer is of the time that it names.
const ASKING_WORDS: [&str; 24] = [
    "what",
    "what's",
    "which",
    "who",
    "whom",
    "whose",
    "where",
    "was",
    "welche",
    "welcher",
    "welches",
    "wer",
    "wen",
    "wo",
    "quoi",
    "quel",
    "quelle",
    "quels",
    "quelles",
    "qui",
    "que",
    "qu\u{e9}",
    "cu\u{e1}l",
    "qui\u{e9}n",
];
/// Words of an order whose answer is of the time that it names.
const RECAP_WORDS: [&str; 6] = [
    "recap",
    "summarise",
    "summarize",
    "remind",
    "recapitulate",
    "recall",
];
/// Words with which a question about the past begins that yes or no may answer, or that asks
/// when it was.
const PAST_QUESTION_WORDS: [&str; 14] = [
    "did",
    "have",
    "has",
    "had",
    "were",
    "any",
    "when",
    "haben",
    "hat",
    "hatten",
    "gab",
    "wann",
    "cu\u{e1}ndo",
    "quand",
];
/// Words of a sentence among which it says that it asks: `and remind me what`.
const FIRST_WORDS: usize = 4;

/// Adds the times to the request of a prompt for whose memories it asks. The other times that it
/// names are words like others.
pub(super) fn restrict_to_asked_times(
    request: RecallRequest,
    calendar: &Calendar,
) -> RecallRequest {
    let mut timed = request.clone().with_times_from_query(calendar);
    let text = &request.query;
    timed
        .query_times
        .retain(|named| asks_for_time(text, &named.phrase));
    if timed.query_times.is_empty() {
        request
    } else {
        timed
    }
}

/// Returns whether the sentence with these words asks for what was at that time.
fn asks_for_time(text: &str, phrase: &str) -> bool {
    let Some(start) = text.find(phrase) else {
        return false;
    };
    let (before, rest) = text.split_at(start);
    let behind = rest.get(phrase.len()..).unwrap_or_default();
    let begin = find_sentence_start(before);
    let is_end = |c: char| matches!(c, '.' | '!' | '?' | '\n');
    let end = behind.find(is_end).unwrap_or(behind.len());
    let is_question = behind.get(end..).is_some_and(|end| end.starts_with('?'));
    let sentence = text.get(begin..start + phrase.len() + end);
    let lower = sentence.unwrap_or_default().to_lowercase();
    let words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
    let words: Vec<&str> = words
        .filter(|word| !word.is_empty())
        .take(FIRST_WORDS)
        .collect();
    let begins_with =
        |all: &[&str], most: usize| words.iter().take(most).any(|word| all.contains(word));
    begins_with(&ASKING_WORDS, FIRST_WORDS)
        || begins_with(&RECAP_WORDS, 2)
        || is_question && begins_with(&PAST_QUESTION_WORDS, 1)
        || is_question && words.starts_with(&["how", "did"])
}

/// Returns where the last sentence of a text begins. A dot within a word ends none.
fn find_sentence_start(text: &str) -> usize {
    let mut ends = text.char_indices().rev().peekable();
    let mut is_before_space = false;
    ends.find_map(|(at, c)| {
        let is_end = c == '\n' || (is_before_space && matches!(c, '.' | '!' | '?'));
        is_before_space = c.is_whitespace();
        is_end.then_some(at + c.len_utf8())
    })
    .unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use chrono::TimeZone as _;
    use reprise_types::Zone;

    use super::*;

    fn asked_times(text: &str) -> Vec<String> {
        let calendar = Calendar {
            now: Utc.with_ymd_and_hms(2026, 11, 30, 9, 0, 0).unwrap(),
            zone: Zone::Utc,
        };
        let request = restrict_to_asked_times(RecallRequest::new(text), &calendar);
        let times = request.query_times.into_iter();
        times.map(|named| named.phrase).collect()
    }

    #[test]
    fn a_task_that_says_since_when_something_fails_asks_for_no_time() {
        for task in [
            "Users are logged out at random since the last release, look at the token refresh",
            "since yesterday the token refresh logs users out, please fix it",
            "Fix the login. It is broken since the last deploy. Look at the refresh",
            "The build fails since last week. What could be wrong with the token refresh?",
            "Can you look at the token refresh that is broken since yesterday?",
            "why does the token refresh fail since the last release",
            "Why has the token refresh been failing since yesterday?",
            "How do we rotate the keys since the last release?",
            "after the upgrade to 2.8 of last week the token refresh fails",
            "the token refresh has failed since 2026-11-20; add a test for it",
            "Seit gestern werden Nutzer abgemeldet, bitte repariere das",
            "add a column for the users of last month",
        ] {
            assert_eq!(asked_times(task), Vec::<String>::new(), "{task}");
        }
    }

    #[test]
    fn who_asks_what_was_at_a_time_asks_for_that_time() {
        for question in [
            "what did we decide yesterday",
            "What did we decide about the token refresh since the last release?",
            "which tests failed last week",
            "Fix the login. And what did we change yesterday?",
            "remind me what we decided last week",
            "summarise the work of last week",
            "continue with what we did yesterday",
            "Continue where we stopped yesterday",
            "Did we change the token refresh last week?",
            "How did we fix the login last week?",
            "Was haben wir gestern entschieden?",
        ] {
            assert_ne!(asked_times(question), Vec::<String>::new(), "{question}");
        }
    }
}
