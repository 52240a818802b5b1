//! `locomo10.json`: a list of conversations, each with numbered sessions of turns and questions
//! whose evidence names turns (`D1:3` is turn 3 of session 1).

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use chrono::{NaiveDateTime, TimeDelta};
use reprise_types::{ExternalId, MemorySource, NewRecord};
use serde::Deserialize;
use serde_json::Value;

use super::{make_episode, read_json};
use crate::dataset::{Corpus, Question};
use crate::error::{EvalError, EvalResult};
use crate::ranking_metrics::Gold;

const EXPECTED: &str = "a LoCoMo file (a list of {sample_id, conversation, qa})";

/// The set dates sessions, not turns: turns follow each other at this distance.
const TURN_SECONDS: i64 = 30;

/// Questions built so that the conversation holds no answer.
const ADVERSARIAL: u64 = 5;

#[derive(Deserialize)]
struct Sample {
    #[serde(rename = "sample_id")]
    name: String,
    conversation: BTreeMap<String, Value>,
    qa: Vec<LocomoQuestion>,
}

#[derive(Deserialize)]
struct Turn {
    speaker: String,
    dia_id: String,
    #[serde(default)]
    text: String,
    blip_caption: Option<String>,
}

#[derive(Deserialize)]
struct LocomoQuestion {
    question: String,
    #[serde(default)]
    evidence: Vec<String>,
    category: u64,
}

pub(super) fn read(path: &Path) -> EvalResult<Vec<Corpus>> {
    let samples: Vec<Sample> = read_json(path, EXPECTED)?;
    samples
        .into_iter()
        .map(|sample| {
            build_corpus(sample).map_err(|why| EvalError::wrong_shape(path, EXPECTED, &why))
        })
        .collect()
}

fn build_corpus(sample: Sample) -> EvalResult<Corpus, String> {
    let records = build_records(&sample.conversation)?;
    let known: BTreeSet<&str> = records
        .iter()
        .filter_map(|record| record.find_external_id(ExternalId::BATCH))
        .collect();
    let questions = sample.qa.into_iter().enumerate().map(|(number, asked)| {
        let named: BTreeSet<String> = asked
            .evidence
            .iter()
            .flat_map(|e| list_evidence_turns(e))
            .collect();
        let gold = named.into_iter().filter(|id| known.contains(id.as_str()));
        Question {
            id: format!("{}/q{number}", sample.name),
            text: asked.question,
            category: asked.category.to_string(),
            gold: gold.map(Gold::from_id).collect(),
            answerable: asked.category != ADVERSARIAL,
            ..Question::default()
        }
    });
    let questions = questions.collect();
    Ok(Corpus::new(sample.name, records, questions).with_sessions_of_gold())
}

fn build_records(conversation: &BTreeMap<String, Value>) -> EvalResult<Vec<NewRecord>, String> {
    let number = |key: &str| key.strip_prefix("session_")?.parse::<u32>().ok();
    let mut sessions: Vec<(u32, &String, &Value)> = conversation
        .iter()
        .filter_map(|(key, value)| Some((number(key)?, key, value)))
        .collect();
    sessions.sort_by_key(|(number, ..)| *number);
    let mut records = Vec::new();
    for (_, name, turns) in sessions {
        let turns = Vec::<Turn>::deserialize(turns).map_err(|e| format!("{name}: {e}"))?;
        let date = conversation.get(&format!("{name}_date_time"));
        let began = date.and_then(Value::as_str).map(parse_date).transpose()?;
        for (place, turn) in (0..).zip(turns) {
            let said = format!("{}: {}", turn.speaker, turn.text);
            let text = match turn.blip_caption {
                Some(caption) => format!("{said} [shares a photo of {caption}]"),
                None => said,
            };
            let mut record = make_episode(&turn.dia_id, text, MemorySource::UserInput, name);
            record.timestamp =
                began.map(|at| at.and_utc() + TimeDelta::seconds(TURN_SECONDS * place));
            record
                .metadata
                .insert("speaker".to_owned(), turn.speaker.into());
            records.push(record);
        }
    }
    Ok(records)
}

/// `1:56 pm on 8 May, 2023`.
fn parse_date(text: &str) -> EvalResult<NaiveDateTime, String> {
    NaiveDateTime::parse_from_str(text.trim(), "%I:%M %p on %d %B, %Y")
        .map_err(|error| format!("`{text}` is not a session date: {error}"))
}

/// The turns that a piece of evidence names, in any of its spellings: `D1:3`, `D8:6; D9:17`,
/// `D:11:26`, `D30:05`.
fn list_evidence_turns(evidence: &str) -> Vec<String> {
    let pieces = evidence.split(|c: char| c.is_whitespace() || matches!(c, ';' | ','));
    pieces
        .filter_map(|piece| {
            let numbers = piece.strip_prefix('D')?.trim_start_matches(':');
            let (session, turn) = numbers.split_once(':')?;
            let (session, turn): (u32, u32) = (session.parse().ok()?, turn.parse().ok()?);
            Some(format!("D{session}:{turn}"))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dirty_evidence_names_its_turns() {
        assert_eq!(list_evidence_turns("D1:3"), ["D1:3"]);
        assert_eq!(list_evidence_turns("D8:6; D9:17"), ["D8:6", "D9:17"]);
        assert_eq!(
            list_evidence_turns("D9:1 D4:4 D4:6"),
            ["D9:1", "D4:4", "D4:6"]
        );
        assert_eq!(list_evidence_turns("D:11:26"), ["D11:26"]);
        assert_eq!(list_evidence_turns("D30:05"), ["D30:5"]);
        assert_eq!(list_evidence_turns("D"), Vec::<String>::new());
        assert_eq!(list_evidence_turns(""), Vec::<String>::new());
    }

    #[test]
    fn session_dates_are_read() {
        let date = parse_date("1:56 pm on 8 May, 2023").unwrap();
        assert_eq!(date.to_string(), "2023-05-08 13:56:00");
        let date = parse_date("12:09 am on 13 September, 2023").unwrap();
        assert_eq!(date.to_string(), "2023-09-13 00:09:00");
        assert!(parse_date("some day").is_err());
    }
}
