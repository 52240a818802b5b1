//! The question that `setup` asks of what came in: about a decision, a lesson or an open failure,
//! in a person's words. A question that somebody asked before would only find itself.

use reprise_knowledge::CommandRun;
use reprise_operations::operations::lessons::{ExtractLearnings, ExtractLearningsArguments};
use reprise_operations::operations::recall::{Recall, RecallArguments, Recalled};
use reprise_operations::operations::records::list::{Arguments as ListArguments, List};
use reprise_operations::{Filter, RecallAnswer};
use reprise_types::{RecordType, RelevanceVerdict};

use crate::cli::prelude::*;

/// Results that the question prints, and of how many they are chosen.
const RESULTS: usize = 3;
const CANDIDATES: usize = 12;
/// Newest answers whose sessions are read for what was learned in them, and how many sessions.
const ANSWERS: usize = 100;
const SESSIONS: usize = 8;
/// Most questions that are tried, and runs of tests that are read for one.
const QUESTIONS: usize = 8;
const TESTS: usize = 50;
/// Most words of a topic that say what it is about, and fewest letters of them.
const TOPIC_WORDS: usize = 3;
const TOPIC_LETTERS_MIN: usize = 4;
/// Words before a thing that a question says with it.
const ARTICLES: [&str; 3] = ["the", "our", "their"];

/// How a sentence begins that says what was decided or learned.
const CUES: [&str; 24] = [
    "decided to ",
    "decided on ",
    "decided that ",
    "agreed to ",
    "agreed on ",
    "root cause was that ",
    "root cause was ",
    "root cause is ",
    "turned out that ",
    "turns out that ",
    "the fix was to ",
    "the fix is to ",
    "the fix was ",
    "the fix is ",
    "caused by ",
    "because ",
    "lesson: ",
    "learned that ",
    "the trick is to ",
    "make sure to ",
    "note that ",
    "remember to ",
    "always ",
    "never ",
];
/// Words that no topic begins or ends with.
const PLAIN_WORDS: &str = "\
    a about across add added after against all also an and are as at be been before both but by call called can do does \
    drop each end every find for from get had has have hold how if in into is it its keep let make \
    move moved need not now of on once only or our over per put run set should so start stop store still \
    take than that the their them then there this to too turn until use used uses using very via was \
    we were when which will with within without write under between during";

/// A question with what answers it.
#[derive(Debug)]
pub(super) struct AskedExample {
    pub(super) question: String,
    pub(super) answer: RecallAnswer,
}

/// Finds a question about what came in that has an answer, about the project of this folder before
/// any other, and one that is surely answered before one that may be; `None` if there is none yet.
pub(super) fn find_example(context: &Context, user: &UserId) -> Option<AskedExample> {
    let own = project::find_own_repository(context);
    let mut unsure = None;
    for place in own.iter().map(Some).chain([None]) {
        let place = place.map(String::as_str);
        let known = list_known_things(context, user, place);
        let about = known.iter().filter_map(KnownThing::to_question);
        let mut asked = BTreeSet::new();
        let about = about.filter(|(question, _)| asked.insert(question.clone()));
        for (question, text) in about.take(QUESTIONS) {
            let answer = ask_question(context, user, place, &question);
            let has_it = |answer: &RecallAnswer| {
                let mut results = answer.results.iter();
                results.any(|hit| hit.text.contains(text) || text.contains(&hit.text))
            };
            let Some(answer) = answer.filter(has_it) else {
                continue;
            };
            let is_sure = answer.verdict == RelevanceVerdict::Relevant;
            let example = AskedExample { question, answer };
            if is_sure {
                return Some(example);
            }
            unsure.get_or_insert(example);
        }
    }
    if unsure.is_some() {
        return unsure;
    }
    // What was done is told by its time.
    let times = [
        "today",
        "this week",
        "last week",
        "this month",
        "last month",
    ];
    times.iter().find_map(|time| {
        let question = format!("what did we do {time}");
        let answer = ask_question(context, user, None, &question)?;
        Some(AskedExample { question, answer })
    })
}

/// Something that a person may want to know again.
#[derive(Debug)]
struct KnownThing {
    what: RecordType,
    text: String,
}

impl KnownThing {
    /// Returns a question that a person would ask for it, and its text.
    fn to_question(&self) -> Option<(String, &str)> {
        let text = self.text.as_str();
        let question = match self.what {
            RecordType::Test => "which test still fails".to_owned(),
            RecordType::Decision => format!("what did we decide about {}", find_topic(text)?),
            _ => format!("what did we learn about {}", find_topic(text)?),
        };
        Some((question, text))
    }
}

/// Lists what is known: decisions, lessons, and tests that failed. While sessions are still coming
/// in, their lessons are not stored yet, and are read from what was said. With a project, only its.
fn list_known_things(context: &Context, user: &UserId, project: Option<&str>) -> Vec<KnownThing> {
    let mut known = Vec::new();
    for what in [RecordType::Decision, RecordType::Lesson] {
        known.extend(list_texts(context, user, project, (what, QUESTIONS)));
    }
    if known.is_empty() {
        known = read_lessons(context, user, project);
    }
    known.sort_by_key(|thing| thing.what != RecordType::Decision);
    known.extend(
        list_texts(context, user, project, (RecordType::Test, TESTS))
            .into_iter()
            .filter(is_open()),
    );
    known
}

/// Returns a filter of runs of tests, the newest first: the last run of each command decides
/// whether it is open.
fn is_open() -> impl FnMut(&KnownThing) -> bool {
    let mut later: BTreeSet<String> = BTreeSet::new();
    move |test: &KnownThing| {
        let ran = CommandRun::parse(&test.text);
        ran.is_some_and(|ran| later.insert(ran.command.to_owned()) && !ran.passed)
    }
}

fn list_texts(
    context: &Context,
    user: &UserId,
    project: Option<&str>,
    (what, limit): (RecordType, usize),
) -> Vec<KnownThing> {
    let records = list_newest(context, user, project, (what, limit));
    let texts = records.iter().filter_map(|record| record["text"].as_str());
    let known = texts.map(|text| KnownThing {
        what,
        text: text.to_owned(),
    });
    known.collect()
}

fn list_newest(
    context: &Context,
    user: &UserId,
    project: Option<&str>,
    (what, limit): (RecordType, usize),
) -> Vec<Value> {
    let asked = ListArguments {
        filter: Filter {
            record_type: vec![what],
            project: project.map(str::to_owned),
            ..Filter::default()
        },
        limit: Some(limit),
        ..ListArguments::default()
    };
    let listed = output::call::<List>(context, user, asked);
    listed.map(|listed| listed.records).unwrap_or_default()
}

/// Reads what the newest sessions say that was learned.
fn read_lessons(context: &Context, user: &UserId, project: Option<&str>) -> Vec<KnownThing> {
    let answers = list_newest(context, user, project, (RecordType::Answer, ANSWERS));
    let mut sessions: Vec<&str> = Vec::new();
    for session in answers.iter().filter_map(|one| one["session_id"].as_str()) {
        if !sessions.contains(&session) {
            sessions.push(session);
        }
    }
    let lessons = sessions.into_iter().take(SESSIONS).filter_map(|session| {
        let asked = ExtractLearningsArguments {
            session: session.to_owned(),
            dry_run: true,
            ..ExtractLearningsArguments::default()
        };
        Some(
            output::call::<ExtractLearnings>(context, user, asked)
                .ok()?
                .learnings,
        )
    });
    let known = lessons.flatten().filter_map(|lesson| {
        let what = match lesson["category"].as_str() {
            Some("decision") => RecordType::Decision,
            _ => RecordType::Lesson,
        };
        let text = lesson["fact"].as_str()?.to_owned();
        Some(KnownThing { what, text })
    });
    known.collect()
}

/// Asks memory a question, with a project only of that; returns what answers it, if anything does.
fn ask_question(
    context: &Context,
    user: &UserId,
    project: Option<&str>,
    question: &str,
) -> Option<RecallAnswer> {
    let asked = RecallArguments {
        query: question.to_owned(),
        filter: Filter {
            project: project.map(str::to_owned),
            ..Filter::default()
        },
        limit: Some(CANDIDATES),
        ..RecallArguments::default()
    };
    match output::call::<Recall>(context, user, asked) {
        Ok(Recalled::Answer(answer)) if answer.verdict != RelevanceVerdict::Nothing => {
            leave_answers(*answer)
        }
        _ => None,
    }
}

/// Leaves of the results those that say something, and no prompt; `None` if that is none.
fn leave_answers(mut answer: RecallAnswer) -> Option<RecallAnswer> {
    answer
        .results
        .retain(|hit| hit.shown && hit.about.record_type != RecordType::Prompt);
    answer.results.truncate(RESULTS);
    (!answer.results.is_empty()).then_some(answer)
}

/// Finds what a sentence is about, as short as a person would name it: the first thing after the
/// words that say that it was decided or learned; `None` if there is none.
fn find_topic(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    // A letter may have another length in lower case.
    let lower = if lower.len() == text.len() {
        lower
    } else {
        text.to_owned()
    };
    let cues = CUES
        .iter()
        .filter_map(|cue| Some(lower.find(cue)? + cue.len()));
    let begin = cues.min().unwrap_or(0);
    let told = text.get(begin..)?;
    // Behind "to" comes what is done, and then to what.
    let does = text.get(..begin).is_some_and(|cue| cue.ends_with(" to "));
    let is_plain = |word: &str| {
        let word = word.to_lowercase();
        PLAIN_WORDS.split_whitespace().any(|plain| plain == word)
    };
    let (mut topic, mut article): (Vec<&str>, Option<String>) = (Vec::new(), None);
    for word in told.split_whitespace().skip(usize::from(does)) {
        let bare = word.trim_matches(|c: char| ",;:.!?\"'`*()[]{}<>".contains(c));
        // Code is no word of a question, and a shell would read its signs.
        if bare.contains(|c: char| !(c.is_alphanumeric() || "-.'".contains(c))) {
            break;
        }
        if bare.is_empty() {
            continue;
        }
        if is_plain(bare) {
            if !topic.is_empty() {
                break;
            }
            article = Some(bare.to_lowercase());
            continue;
        }
        topic.push(bare);
        if word.ends_with([',', ';', ':', '.', '!', '?']) || topic.len() == TOPIC_WORDS {
            break;
        }
    }
    let letters: usize = topic.iter().map(|word| word.len()).sum();
    let article = article.filter(|word| ARTICLES.contains(&word.as_str()));
    let words = article.as_deref().into_iter().chain(topic);
    let words: Vec<&str> = words.collect();
    (letters >= TOPIC_LETTERS_MIN).then(|| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_is_a_persons_and_asks_for_what_came_in() {
        for (what, text, question) in [
            (
                RecordType::Decision,
                "We decided to keep the cart in Redis for both shops.",
                Some("what did we decide about the cart"),
            ),
            (
                RecordType::Decision,
                "We decided to send snapshots over UDP; chat and login stay on TCP.",
                Some("what did we decide about snapshots"),
            ),
            (
                RecordType::Decision,
                "From now on always keep money as integer cents.",
                Some("what did we decide about money"),
            ),
            (
                RecordType::Decision,
                "Decided that the free shipping threshold is in the table shop_settings.",
                Some("what did we decide about the free shipping threshold"),
            ),
            (
                RecordType::Decision,
                "We decided to keep the threshold in the table shop_settings",
                Some("what did we decide about the threshold"),
            ),
            (
                RecordType::Lesson,
                "It turned out that a long-running analytics query holds a lock on users.",
                Some("what did we learn about long-running analytics query"),
            ),
            (
                RecordType::Lesson,
                "The root cause was that `discount()` rounds lines, not the sum.",
                Some("what did we learn about discount rounds lines"),
            ),
            (
                RecordType::Lesson,
                "The fix is `SET lock_timeout='5s'` and retry in the migration job.",
                None,
            ),
            (
                RecordType::Test,
                "`cargo test cart` failed",
                Some("which test still fails"),
            ),
            (RecordType::Lesson, "Always do it so.", None),
        ] {
            let text = text.to_owned();
            let known = KnownThing { what, text };
            let asked = known.to_question().map(|(question, _)| question);
            assert_eq!(asked.as_deref(), question, "{}", known.text);
        }
    }

    #[test]
    fn a_test_is_open_if_its_last_run_failed() {
        let texts = [
            "`cargo test mail` failed",
            "`cargo test cart` passed",
            "`cargo test cart` failed",
        ];
        let runs = texts.map(|text| KnownThing {
            what: RecordType::Test,
            text: text.to_owned(),
        });
        let open: Vec<KnownThing> = runs.into_iter().filter(is_open()).collect();
        let texts: Vec<&str> = open.iter().map(|one| one.text.as_str()).collect();
        assert_eq!(texts, ["`cargo test mail` failed"]);
    }

    #[test]
    fn a_question_is_no_answer_to_itself() {
        let hit = |what: &str, shown: bool| {
            json!({ "id": "01ARZ3NDEKTSV4RRFFQ69G5FAV", "type": what, "external_id": null,
                "session_id": "s", "text": "why is the total wrong", "score": 0.97,
                "sona_score": 0.97, "kind": "episode", "source": "user_input",
                "timestamp": "2026-02-02T09:00:00Z", "shown": shown,
                "why": reprise_types::RankExplanation::default() })
        };
        let leave = |hits: Vec<Value>| {
            let answer = json!({ "query_id": null, "recall_id": "01ARZ3NDEKTSV4RRFFQ69G5FAV",
                "degraded": [], "elapsed_ms": 1.0, "nothing_relevant": false, "results": hits });
            let answer = serde_json::from_value(answer).expect("an answer");
            leave_answers(answer).map(|left| left.results.len())
        };
        assert_eq!(leave(vec![hit("prompt", true)]), None);
        assert_eq!(leave(vec![hit("answer", false)]), None);
        assert_eq!(
            leave(vec![hit("prompt", true), hit("answer", true)]),
            Some(1)
        );
    }
}
