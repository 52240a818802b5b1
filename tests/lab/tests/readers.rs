//! Every published format, from small files with our own text; no data set is included.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use reprise_lab::{Corpus, EvalError, Format, Gold, Protocol, Question, read, read_with_protocol};
use reprise_types::{ExternalId, MemoryKind, MemorySource, NewRecord, parse_timestamp};

fn fixture_path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data")
        .join(name)
}

/// As much of the ingest format as the fixtures use.
fn parse_record(line: &str) -> Result<NewRecord, String> {
    let value: serde_json::Value = serde_json::from_str(line).map_err(|e| e.to_string())?;
    let text = |key: &str| value[key].as_str().map(str::to_owned).ok_or(key.to_owned());
    let mut record = NewRecord::new(text("text")?, MemorySource::UserInput, MemoryKind::Episode);
    record.session_id = text("session_id")?;
    record.timestamp = parse_timestamp(&text("timestamp")?).ok();
    record.external_ids = vec![ExternalId::new(ExternalId::BATCH, text("external_id")?)];
    Ok(record)
}

fn read_corpora(format: Format, name: &str) -> Vec<Corpus> {
    read(format, &fixture_path(name), parse_record)
        .unwrap()
        .corpora
}

fn external_id(record: &NewRecord) -> &str {
    &record.external_ids[0].id
}

fn list_gold(question: &Question) -> Vec<&str> {
    let ids = question.gold.iter().flat_map(|Gold(ids)| ids);
    ids.map(String::as_str).collect()
}

fn list_gold_sessions(question: &Question) -> Vec<&str> {
    question.gold_sessions.iter().map(String::as_str).collect()
}

#[test]
fn a_locomo_conversation_is_read_in_the_order_of_its_sessions() {
    let corpora = read_corpora(Format::Locomo, "locomo10.json");
    let [corpus] = corpora.as_slice() else {
        panic!("one conversation");
    };
    let ids: Vec<&str> = corpus.records.iter().map(external_id).collect();
    assert_eq!(
        ids,
        ["D1:1", "D1:2", "D1:3", "D2:1", "D2:2", "D10:1", "D10:2"]
    );
    let photo = &corpus.records[2];
    assert_eq!(
        photo.text,
        "Ida: She is called Pepper, look. [shares a photo of a grey dog on a sofa]"
    );
    assert_eq!(photo.session_id, "session_1");
    assert_eq!(
        photo.timestamp,
        parse_timestamp("2023-05-08T13:57:00Z").ok()
    );
    assert_eq!(
        corpus.records[5].timestamp,
        parse_timestamp("2024-03-02T00:05:00Z").ok()
    );
    let asked: Vec<(&str, Vec<&str>, bool)> = corpus
        .questions
        .iter()
        .map(|q| (q.category.as_str(), list_gold(q), q.is_judged()))
        .collect();
    assert_eq!(
        asked,
        [
            ("4", vec!["D1:1", "D1:3"], true),
            ("2", vec!["D2:1"], true),
            ("1", vec!["D10:1", "D2:2"], true),
            ("3", vec![], false),
            ("5", vec!["D1:3"], false),
        ]
    );
    assert_eq!(
        list_gold_sessions(&corpus.questions[2]),
        ["session_10", "session_2"]
    );
    assert!(corpus.questions[3].answerable && !corpus.questions[4].answerable);
}

#[test]
fn beam_chats_are_found_in_their_folders_in_the_order_of_numbers() {
    let corpora = read_corpora(Format::Beam, "beam");
    let names: Vec<&str> = corpora.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["2", "10"]);
    let cottage = &corpora[0];
    let ids: Vec<&str> = cottage.records.iter().map(external_id).collect();
    assert_eq!(ids, ["0", "1", "2", "3", "4", "5"]);
    assert_eq!(
        cottage.records[0].text,
        "My cottage needs a new roof before winter."
    );
    assert_eq!(cottage.records[0].source, MemorySource::UserInput);
    assert_eq!(cottage.records[1].source, MemorySource::WorkerResult);
    assert_eq!(
        cottage.records[3].timestamp,
        parse_timestamp("2024-03-15T00:02:40Z").ok()
    );
    assert_eq!(
        cottage.records[4].timestamp,
        parse_timestamp("2024-04-02T00:00:40Z").ok()
    );
    assert_eq!(cottage.records[4].session_id, "batch-2");
    let asked: Vec<(&str, Vec<&str>, bool)> = cottage
        .questions
        .iter()
        .map(|q| (q.category.as_str(), list_gold(q), q.answerable))
        .collect();
    assert_eq!(
        asked,
        [
            ("abstention", vec![], false),
            ("contradiction_resolution", vec!["0", "4", "5"], true),
            ("event_ordering", vec!["0", "2", "4"], true),
            ("instruction_following", vec!["2"], true),
        ]
    );
    assert_eq!(
        list_gold_sessions(&cottage.questions[2]),
        ["batch-1", "batch-2"]
    );
    let barn = &corpora[1];
    assert_eq!(barn.records[0].session_id, "plan-1/batch-1");
    assert_eq!(barn.records[4].session_id, "plan-2/batch-1");
}

#[test]
fn a_longmemeval_haystack_keeps_its_turns_apart() {
    let corpora = read_corpora(Format::LongMemEval, "longmemeval_s_cleaned.json");
    let [cello, bicycle] = corpora.as_slice() else {
        panic!("two questions, two stores");
    };
    let ids: Vec<&str> = cello.records.iter().map(external_id).collect();
    assert_eq!(
        ids,
        ["s_b/0", "s_b/1", "s_answer/0", "s_answer/1", "s_b~1/0"]
    );
    assert_eq!(
        cello.records[3].timestamp,
        parse_timestamp("2023-05-30T23:40:30Z").ok()
    );
    assert_eq!(
        cello.records[4].timestamp,
        parse_timestamp("2023-06-01").ok()
    );
    let question = &cello.questions[0];
    assert_eq!(list_gold(question), ["s_answer/0"]);
    assert_eq!(
        question.asked_at,
        parse_timestamp("2023-06-30T09:15:00Z").ok()
    );
    assert_eq!(cello.sessions["s_b~1/0"], "s_b");
    assert!(question.answerable && !bicycle.questions[0].answerable);
    assert_eq!(list_gold_sessions(&bicycle.questions[0]), ["s_answer"]);
}

fn read_corpora_under(protocol: Protocol, format: Format, name: &str) -> Vec<Corpus> {
    read_with_protocol(protocol, format, &fixture_path(name), parse_record)
        .unwrap()
        .corpora
}

#[test]
fn a_session_is_one_document_where_others_count_so() {
    let file = "longmemeval_s_cleaned.json";
    let whole = read_corpora_under(Protocol::Sessions, Format::LongMemEval, file);
    let texts: Vec<(&str, &str)> = whole[0]
        .records
        .iter()
        .map(|record| (external_id(record), record.text.as_str()))
        .collect();
    assert_eq!(
        texts,
        [
            (
                "s_b",
                "user: How long do lentils cook?\nassistant: Twenty minutes."
            ),
            (
                "s_answer",
                "user: I bought a cello at the flea market.\nassistant: A cello! Enjoy it.\nuser:   "
            ),
            ("s_b~1", "user: How long do lentils cook?"),
        ]
    );
    assert_eq!(list_gold(&whole[0].questions[0]), ["s_answer"]);
    assert_eq!(whole[0].sessions["s_b~1"], "s_b");
    let users = read_corpora_under(Protocol::UserSessions, Format::LongMemEval, file);
    assert_eq!(
        users[1].records[0].text,
        "I bought a cello at the flea market."
    );
    let counted = read_corpora_under(
        Protocol::Sessions,
        Format::LongMemEval,
        "longmemeval_types.json",
    );
    let question = &counted[0].questions[0];
    assert_eq!(question.answer.as_deref(), Some("2"));
    // One of two sessions: any of them is there, half of them are.
    let rated = counted[0]
        .measure_answer(question, &["s_red", "s_soup"])
        .session;
    assert_eq!((rated.any[1], rated.recall[1]), (1.0, 0.5));
}

#[test]
fn a_round_is_one_document_and_scores_by_the_rules_of_its_script() {
    let corpora = read_corpora_under(Protocol::Rounds, Format::Beam, "beam");
    let cottage = &corpora[0];
    let ids: Vec<&str> = cottage.records.iter().map(external_id).collect();
    assert_eq!(ids, ["round 1", "round 2", "round 3"]);
    assert_eq!(
        cottage.records[1].text,
        "User: Please always answer with prices in francs. ->-> 1,2\n\
         Assistant: Understood: prices in francs."
    );
    let recall_at_5 = |category: &str, found: &[&str]| {
        let mut questions = cottage.questions.iter();
        let question = questions.find(|one| one.category == category).unwrap();
        format!(
            "{:.3}",
            cottage.measure_answer(question, found).turn.unwrap().recall[1]
        )
    };
    // 0 and 4 are in these rounds; `[5]`, a list within a list, is never found.
    let both = ["round 1", "round 3"];
    assert_eq!(recall_at_5("contradiction_resolution", &both), "0.667");
    // Of 0, [2], 2 and 4: one round holds one.
    assert_eq!(recall_at_5("event_ordering", &["round 1"]), "0.250");
    assert_eq!(recall_at_5("instruction_following", &["round 2"]), "1.000");
    assert_eq!(recall_at_5("abstention", &[]), "1.000");
    let error = read_with_protocol(
        Protocol::Rounds,
        Format::Locomo,
        &fixture_path("beam"),
        parse_record,
    )
    .unwrap_err();
    assert!(error.to_string().contains("its own: turns"), "{error}");
}

#[test]
fn devbench_tags_become_gold_and_never_reach_the_store() {
    let corpora = read_corpora(Format::DevBench, "devbench_dataset.json");
    let corpus = &corpora[0];
    assert_eq!(corpus.records[0].tags, ["release"]);
    assert!(
        corpus
            .records
            .iter()
            .flat_map(|r| &r.tags)
            .all(|t| !t.starts_with("bench:"))
    );
    assert_eq!(
        corpus.records[0].timestamp,
        parse_timestamp("2026-01-03T10:00:00Z").ok()
    );
    assert_eq!(corpus.records[1].timestamp, None);
    let port = Gold(BTreeSet::from(["1".to_owned(), "2".to_owned()]));
    assert_eq!(corpus.questions[0].gold, std::slice::from_ref(&port));
    assert_eq!(corpus.questions[1].gold, [port, Gold::from_id("0")]);
    assert!(!corpus.questions[2].answerable);
}

#[test]
fn our_own_folders_are_read_one_user_each() {
    let corpora = read_corpora(Format::Jsonl, "jsonl");
    let names: Vec<&str> = corpora.iter().map(|c| c.name.as_str()).collect();
    assert_eq!(names, ["anna", "bo"]);
    // The query that gold.jsonl does not know is not asked.
    assert_eq!(corpora[0].questions.len(), 7);
    let judged = corpora[0].questions.iter().filter(|q| q.is_judged());
    assert_eq!(judged.count(), 5);
    assert_eq!(corpora[0].sessions["D2:3"], "session_2");
    assert_eq!(corpora[1].sessions["2"], "2");
    let one = read(Format::Jsonl, &fixture_path("jsonl/bo"), parse_record).unwrap();
    assert_eq!(one.corpora.len(), 1);
}

#[test]
fn what_is_missing_or_of_another_form_is_said() {
    let folder = tempfile::tempdir().unwrap();
    for format in Format::ALL {
        let error = read(format, folder.path(), parse_record).unwrap_err();
        assert!(
            matches!(error, EvalError::Nothing { .. } | EvalError::Clone { .. }),
            "{format:?}: {error}"
        );
        let error = read(format, &folder.path().join("gone"), parse_record).unwrap_err();
        assert!(matches!(error, EvalError::File(_)), "{format:?}: {error}");
    }
    let other = fixture_path("devbench_dataset.json");
    for format in [Format::Locomo, Format::LongMemEval] {
        let error = read(format, &other, parse_record).unwrap_err().to_string();
        assert!(error.contains("devbench_dataset.json"), "{error}");
    }
    let broken = folder.path().join("records.jsonl");
    std::fs::write(&broken, "{\"text\":1}\n").unwrap();
    std::fs::write(folder.path().join("queries.jsonl"), "").unwrap();
    std::fs::write(folder.path().join("gold.jsonl"), "").unwrap();
    let error = read(Format::Jsonl, folder.path(), parse_record)
        .unwrap_err()
        .to_string();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn a_limit_keeps_the_first_questions_and_their_stores() {
    let mut set = read(Format::Beam, &fixture_path("beam"), parse_record).unwrap();
    set.keep_first_questions(3);
    assert_eq!(set.corpora.len(), 1);
    assert_eq!(set.corpora[0].questions.len(), 3);
}
